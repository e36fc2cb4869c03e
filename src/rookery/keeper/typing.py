"""Text put into the terminal of an agent program, when and only when that is safe, and looked after.

    lock ── ready, line empty, still for a while ── compose ── look again ── paste ── it shows ── Enter ── it went
      │          │    ▲                                            │            │                   │
      │          │    └──────────── the line changed ──────────────┘            └─ injection-failed ┘
      └──────────┴─ session-not-found, busy, user-typing, blocked

Always: nothing is pasted into a line that holds text (H11), nor while a busy marker is to be seen (H10); Enter is
pressed only while the line holds our text and nothing else. Known weaknesses: keys that a person pressed, and the
program has not shown yet, are not seen; at worst our text stands behind theirs, and then it is not submitted. A text
that a person deletes in the moment in which the program begins to work on something else is taken for submitted.
"""

from collections.abc import Awaitable, Callable

from rookery.core.delivery import Outcome, Reason
from rookery.core.ports import Pace, Screen, Spot, Terminal
from rookery.core.screen import (
    Patterns,
    Rules,
    State,
    View,
    Watch,
    holds_more,
    is_left,
    is_ours,
    read,
    ruling,
    seen,
    traces,
)
from rookery.core.text import plain

GONE, FAILED = Reason.SESSION_NOT_FOUND, Reason.INJECTION_FAILED
ENTERS = 3  # a program may take the first one for a part of the paste


Compose = Callable[[], Awaitable[str]]
Phase = Callable[[], Awaitable[str]]


async def put(
    terminal: Terminal, compose: Compose, patterns: Patterns, rules: Rules, pace: Pace, *,
    phase: Phase | None = None, interrupt: bool = False, clear_first: bool = False,
) -> Outcome:  # fmt: skip
    """Type what `compose` gives, once the program can take it. `compose` is asked last, when everything else is well.

    `phase` says what the program's hooks told last: busy, idle, blocked or nothing. With `interrupt` a busy program is
    stopped first, with `clear_first` it is made to forget.
    """
    return await _Typing(terminal, patterns, rules, pace, phase).put(compose, interrupt, clear_first)


class _Typing:
    def __init__(self, terminal: Terminal, patterns: Patterns, rules: Rules, pace: Pace, phase: Phase | None) -> None:
        self._terminal = terminal
        self._patterns = patterns
        self._rules = rules
        self._pace = pace
        self._phase = phase
        self._ends = pace.now() + rules.cap_s
        self._answered: set[str] = set()
        self._left = ""  # what someone before us pasted, and did not live to submit

    async def put(self, compose: Compose, interrupt: bool, clear_first: bool) -> Outcome:
        if clear_first and not self._patterns.clear:
            return Outcome(False, FAILED, f"no command is known that makes {self._patterns.name} forget")
        while not await self._terminal.lock():
            if (await self._terminal.look()).dead:
                return Outcome(False, GONE)
            if self._late():
                return Outcome(False, Reason.BUSY, "another process types there")
            await self._pace.sleep(self._rules.poll_s)
        try:
            return await self._put(compose, interrupt, clear_first)
        finally:
            await self._terminal.unlock()

    async def _put(self, compose: Compose, interrupt: bool, clear_first: bool) -> Outcome:
        while (not_yet := await self._ready(interrupt)) is None:
            interrupt = False
            if self._left:
                return await self._finish(compose)
            if clear_first:
                outcome = await self._submit(self._patterns.clear, leaves_trace=False)
                clear_first = outcome is None
                if outcome and not outcome.done:
                    return outcome
                continue
            text = plain(await compose(), keep_newlines=self._patterns.multiline).strip()
            if not text:
                return Outcome(False, nothing=True)
            if outcome := await self._submit(text):
                return outcome
            if self._late():
                return Outcome(False, Reason.USER_TYPING, "the line changed whenever it was about to be used")
        return not_yet

    def _late(self) -> bool:
        return self._pace.now() >= self._ends

    # -- before --------------------------------------------------------------------------------------------------------

    async def _ready(self, interrupt: bool) -> Outcome | None:
        """Wait until it may be typed into; else why it may not."""
        watch: Watch | None = None
        while True:
            screen = await self._terminal.look()
            if screen.dead:
                return Outcome(False, GONE)
            watch = seen(watch, self._patterns, screen, self._pace.now())
            now = ruling(watch, await self._told(), self._rules, self._pace.now())
            if not now.reason or (now.reason == Reason.USER_TYPING and await self._is_left(watch)):
                return None
            if (now.settled and not await self._answer(watch.view.gate)) or self._late():
                return Outcome(False, now.reason, now.detail)
            if interrupt and watch.view.state is State.BUSY:
                interrupt = False
                await self._press(self._patterns.interrupt)
            await self._pace.sleep(self._rules.poll_s)

    async def _is_left(self, watch: Watch) -> bool:
        """Does the line hold, untouched for a while, just what another process of ours pasted and did not submit?"""
        still = self._pace.now() - watch.since >= max(self._rules.stable_s, self._rules.quiet_s)
        if not still or watch.view.state is not State.READY or watch.read_back or watch.elsewhere:
            return False
        left = await self._terminal.left()
        self._left = left if left and is_left(self._patterns, watch.view.typed, left) else ""
        return bool(self._left)

    async def _finish(self, compose: Compose) -> Outcome:
        """Submit what was left; it is what we were asked for, unless more has come since."""
        left, self._left = self._left, ""
        same = plain(await compose(), keep_newlines=self._patterns.multiline).strip() == left
        outcome = await self._enter(left, leaves_trace=True)
        return (
            Outcome(False, Reason.BUSY, "what another process left in its line went first")
            if outcome.done and not same
            else outcome
        )

    async def _told(self) -> str:
        return await self._phase() if self._phase else ""

    async def _answer(self, gate: str) -> bool:
        """Agree to a dialog, once, if the settings say that this one is agreed to."""
        known = self._patterns.gates.get(gate)
        if not known or not known.answer or gate not in self._rules.answer_gates or gate in self._answered:
            return False
        self._answered.add(gate)
        return await self._press(known.answer)

    # -- the deed ------------------------------------------------------------------------------------------------------

    async def _submit(self, text: str, leaves_trace: bool = True) -> Outcome | None:
        """None: the line was not ours to use after all, and nothing was typed."""
        before = await self._terminal.look()
        view = read(self._patterns, before)
        unsafe = before.dead or before.read_back or before.elsewhere or view.state is not State.READY or not view.empty
        if unsafe or not await self._terminal.paste(text, (before.column, before.row)):
            return None
        await self._pace.sleep(self._rules.pause_s)
        return await self._enter(text, leaves_trace)

    async def _enter(self, text: str, leaves_trace: bool) -> Outcome:
        outcome = await self._entered(text, leaves_trace)
        if outcome.done or outcome.reason == Reason.USER_TYPING:
            await self._terminal.forget()
        return outcome

    async def _entered(self, text: str, leaves_trace: bool) -> Outcome:
        screen, failed = await self._shown(text)
        if failed:
            return failed
        line = read(self._patterns, screen).typed
        known = traces(self._patterns, screen, text, line)
        for _ in range(ENTERS):
            if await self._press(self._patterns.submit, (screen.column, screen.row)):
                outcome = await self._went(text, line, known if leaves_trace else -1)
                if outcome:
                    return outcome
            screen, failed = await self._shown(text)
            if failed:
                return failed
            if not self._holds(read(self._patterns, screen), text, line):
                return Outcome(False, Reason.USER_TYPING, "someone typed meanwhile; what stands in the line is theirs")
        return Outcome(False, FAILED, "the text stands in its line, and Enter does not submit it")

    def _holds(self, view: View, text: str, line: str) -> bool:
        """Our text still, and no less of it than was seen: a letter that a person typed is a part of most texts."""
        return is_ours(self._patterns, view.typed, text) and len(view.typed) >= len(line)

    async def _shown(self, text: str) -> tuple[Screen, Outcome | None]:
        """The screen with our text in its line, and nothing but our text; else what went wrong."""
        ends, failed = self._pace.now() + self._rules.verify_s, Outcome(False, FAILED, "the text did not show")
        while True:
            screen = await self._terminal.look()
            view = read(self._patterns, screen)
            if screen.dead:
                return screen, Outcome(False, GONE)
            if view.state is State.BLOCKED:
                failed = Outcome(False, Reason.BLOCKED, f"{view.gate}; the text stands in its line")
            elif is_ours(self._patterns, view.typed, text):
                return screen, None
            elif view.typed:
                failed = Outcome(False, Reason.USER_TYPING, "someone typed meanwhile; the text stands in their line")
            if self._pace.now() >= ends:
                return screen, failed
            await self._pace.sleep(self._rules.poll_s)

    async def _went(self, text: str, line: str, known: int) -> Outcome | None:
        """Whether the line let go of the text and the program took it; None if the line still has it."""
        began = self._pace.now()
        while True:
            screen = await self._terminal.look()
            if screen.dead:
                return Outcome(False, GONE, "it ended before it was seen to take the text")
            view = read(self._patterns, screen)
            held = self._holds(view, text, line) or holds_more(view.typed, line)
            if not held and await self._taken(screen, view, text, line, known):
                return Outcome(True)
            # Once the line is empty there is nothing left to do but to look, and some programs take their time.
            if self._pace.now() >= began + (self._rules.verify_s if held else self._rules.cap_s):
                return None if held else Outcome(False, FAILED, "the text left its line, and is nowhere to be seen")
            await self._pace.sleep(self._rules.poll_s)

    async def _taken(self, screen: Screen, view: View, text: str, line: str, known: int) -> bool:
        """It works, or shows the text outside of its line. Without a line there is no outside: it may have ended."""
        if view.state is State.BUSY or await self._told() == "busy":
            return True
        there = view.prompt or view.state is State.BLOCKED
        return there and traces(self._patterns, screen, text, line) > known

    async def _press(self, keys: tuple[str, ...], at: Spot | None = None) -> bool:
        """The first key only where the cursor was; the others follow it."""
        for number, key in enumerate(keys):
            if not await self._terminal.press(key, None if number else at):
                return False
        return True
