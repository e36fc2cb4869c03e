"""A terminal and a time that exist only in memory: what happens in it is a list of moments, and an hour costs nothing.

Every look, paste and key takes a moment too, so that something may happen between any two of them.
"""

from collections.abc import Sequence

from rookery.core.ports import GONE, Screen, Spot
from rookery.hosts.screens import CLAUDE
from rookery.keeper.typing import put

CALL_S = 0.01
HEIGHT = 30
RULE = "─" * 40
__all__ = ["CLAUDE", "FakeTerminal", "put"]


class FakeTerminal:
    """Also the pace. `events` are (second, word): busy, idle, dialog, type:TEXT, enter, clear, die, other, free."""

    def __init__(
        self, events: Sequence[tuple[float, str]] = (), *, deaf: bool = False, slow: int = 0, leaves: bool = False
    ) -> None:
        self._clock = 0.0
        self._events = sorted(events, key=lambda event: event[0])
        self._deaf = deaf  # Enter does nothing
        self._slow = slow  # so many presses of Enter do nothing
        self._leaves = leaves  # Enter ends it, and its last screen stays for a while
        self.state = "idle"
        self.line = ""
        self.conversation: list[str] = []
        self.submitted: list[str] = []
        self.answered: list[str] = []
        self.interrupted = 0
        self.looks = 0
        self.locked_by = ""
        self.pasted = ""
        self.erased = False  # a person deleted what was pasted
        self.unsafe: list[str] = []

    # -- the pace ------------------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self._clock

    async def sleep(self, seconds: float) -> None:
        self._pass(seconds)

    def _pass(self, seconds: float) -> None:
        self._clock += seconds
        while self._events and self._events[0][0] <= self._clock:
            self._happen(self._events.pop(0)[1])

    def _happen(self, event: str) -> None:
        word, _, text = event.partition(":")
        if word == "type":
            self.line += text
        elif word == "clear":
            self.erased = self.erased or bool(self.pasted and self.pasted in self.line)
            self.line = ""
        elif word == "enter":
            self._submit("a person")
        elif word == "other":
            self.locked_by = self.locked_by or "other"
        elif word == "free":
            self.locked_by = self.locked_by.replace("other", "")
        elif self.state != "dead":
            self.state = "dead" if word == "die" else word

    # -- the terminal --------------------------------------------------------------------------------------------------

    async def look(self) -> Screen:
        self._pass(CALL_S)
        self.looks += 1
        return GONE if self.state == "dead" else self._screen()

    def _screen(self) -> Screen:
        rows = [*self.conversation[-10:], ""]
        if self.state == "busy":
            rows.append("✽ Pondering…")
        if self.state == "dialog":
            rows += [RULE, " Do you want to proceed?", " ❯ 1. Yes", "", " Esc to cancel"]
            at = (1, len(rows) - 3)
        else:
            lines = self.line.split("\n")
            at = (2 + len(lines[-1]), len(rows) + len(lines))
            rows += [RULE, f"❯ {lines[0]}", *(f"  {line}" for line in lines[1:]), RULE, "  ? for shortcuts"]
            at = (0, len(rows)) if self.state == "left" else at
        whole = tuple(rows)
        return Screen(whole, whole, *at, pid=1)

    def _is_at(self, at: Spot | None) -> bool:
        there = self._screen()
        return self.state != "dead" and (at is None or at == (there.column, there.row))

    async def paste(self, text: str, at: Spot | None = None) -> bool:
        self._pass(CALL_S)
        if not self._is_at(at):
            return False
        if self.line or self.state != "idle":
            self.unsafe.append(f"pasted while {self.state}, into {self.line!r}")
        self.line += text
        self.pasted = text
        return True

    async def press(self, key: str, at: Spot | None = None) -> bool:
        self._pass(CALL_S)
        if not self._is_at(at):
            return False
        if self.state == "dialog":
            self.answered.append(key)
        elif key == "escape":
            self.interrupted += 1
            self.state = "idle"
        elif key == "enter" and self._leaves:
            self.state = "left"
        elif key == "enter" and not self._deaf:
            self._slow -= 1
            if self._slow < 0:
                self._submit("us")
        return True

    def _submit(self, who: str) -> None:
        if self.line and self.state in ("idle", "busy"):
            self.submitted.append(f"{who}: {self.line}")
            self.conversation += [f"❯ {line}" for line in self.line.split("\n")]
            self.line = ""

    async def lock(self) -> bool:
        self._pass(CALL_S)
        if self.locked_by:
            return False
        self.locked_by = "us"
        return True

    async def unlock(self) -> None:
        assert self.locked_by == "us"
        self.locked_by = ""

    async def left(self) -> str:
        self._pass(CALL_S)
        return self.pasted

    async def forget(self) -> None:
        self.pasted = ""
