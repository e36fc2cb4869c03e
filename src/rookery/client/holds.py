"""Reservations and slots in Python: asked for, waited for in line, renewed while held, given back.

Waiting is listening: whoever gives something up rings those in line for it. The look now and then beneath the bell
finds what nobody could ring for (a holder that was killed), and keeps the place in line.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from rookery.core import errors, holding
from rookery.core.caller import Caller
from rookery.core.record import NamedTuple

from . import waiting
from .leases import Kept
from .port import Client


class Hold(Kept):
    """Paths or a slot, held by this process."""

    def __init__(self, client: Client, caller: Caller, granted: "Granted") -> None:
        answer = granted.answer
        super().__init__(client, caller, answer["ttlMs"], granted.asked_at)
        self.id: str = answer["id"]
        self.paths: Sequence[str] = answer["paths"]
        self.waiting: Sequence[str] = answer["waiting"]  # who was in line for it when it was granted
        self.what = ", ".join(self.paths)

    def __repr__(self) -> str:
        return f"<Hold {self.what}{' lost' if self.lost else ''}>"

    def renewal(self) -> tuple[str, dict[str, Any]]:
        return "hold.renew", {"id": self.id}

    def _learn(self, error: errors.RookError) -> None:
        """The ledger has forgotten what it was; this process has not."""
        super()._learn(error)
        if self.lost is error:
            self.lost = holding.lost(self.what)

    def renewed(self, answer: Any) -> None:
        if len(answer["paths"]) < len(self.paths):
            raise holding.lost(", ".join(set(self.paths) - set(answer["paths"])))

    def release(self, reason: str = "") -> None:
        answer = self._call("release", {"ids": [self.id], "reason": reason})
        self.finish()
        if len(answer["released"]) < len(self.paths):
            self.lost = holding.lost(self.what)
            raise self.lost

    def give_back(self, reason: str) -> object:
        return self.release("" if reason == "left unfinished" else reason)

    def pass_to(self, process: tuple[int, str]) -> None:
        """Another process keeps it from now on: it is free when that one is gone, not when this one is."""
        self._caller = self._caller._replace(process=process)
        self.renew()


class Granted(NamedTuple):
    answer: dict[str, Any]
    asked_at: float  # when the request that was granted set out: its lease is counted from there


def obtain(
    client: Client, caller: Caller, verb: str, args: Mapping[str, Any], *, wait_s: float | None, poll_s: float
) -> Granted:
    """What was asked for, as the ledger granted it; the refusal, if it was not to be had within the wait."""
    start = time.monotonic()
    asked = client.call(verb, {**args, "wait": bool(wait_s)}, caller)
    if asked["state"] == holding.HELD:
        return Granted(asked, start)
    try:
        often = min(poll_s, asked["placeMs"] / 3000)  # a place in line is kept by looking
        granted = _in_line(client, caller, asked, start + (wait_s or 0) - time.monotonic(), often)
    except BaseException:
        with suppress(errors.RookError):
            _leave_line(client, caller, asked)
        raise
    if granted is None:
        _leave_line(client, caller, asked)
        return obtain(client, caller, verb, args, wait_s=None, poll_s=poll_s)  # says who is in the way, if anyone is
    return granted


def _leave_line(client: Client, caller: Caller, asked: dict[str, Any]) -> None:
    client.call("release", {"ids": [asked["id"]]}, caller)


def _in_line(client: Client, caller: Caller, asked: dict[str, Any], left_s: float, poll_s: float) -> Granted | None:
    def look() -> Granted | None:
        seen = client.call("hold.look", {"id": asked["id"]}, caller)
        if seen["state"] == "gone":
            raise holding.place_lost()
        if not (seen["ready"] or seen["renew"]):
            return None
        asked_at = time.monotonic()
        answer = client.call("hold.take", {"id": asked["id"]}, caller)
        return Granted(answer, asked_at) if answer["state"] == holding.HELD else None

    with client.listen(asked["agent"]) as listener:
        return waiting.until(listener, look, timeout_s=left_s, poll_s=poll_s)
