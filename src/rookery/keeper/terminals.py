"""The hand that types into terminals: a pane by its address, the screen of its program, and the rules for both."""

from collections.abc import Callable, Mapping
from typing import Any

from rookery.core.delivery import Outcome, Reason
from rookery.core.ports import Pace, Terminal
from rookery.core.screen import Patterns, Rules

from . import typing
from .courier import Job

Opened = Callable[[Mapping[str, Any], int | None, str], Terminal]  # of an address, with the agent's process


class Hand:
    def __init__(self, opened: Opened, patterns_of: Callable[[str], Patterns | None], rules: Rules, pace: Pace) -> None:
        self._opened = opened
        self._patterns_of = patterns_of
        self._rules = rules
        self._pace = pace

    async def put(self, job: Job) -> Outcome:
        """A program of which no screen is known is never typed into: a shell would run what it is given."""
        if not job.live:
            return Outcome(False, Reason.SESSION_NOT_FOUND, "its program is gone")
        patterns = self._patterns_of(job.program)
        if patterns is None:
            return Outcome(False, Reason.INJECTION_FAILED, f"the screen of {job.program or 'its program'} is not known")
        terminal = self._opened(job.address, job.pid, job.started)
        return await typing.put(
            terminal,
            job.compose,
            patterns,
            self._rules,
            self._pace,
            phase=job.phase,
            interrupt=job.interrupt,
            clear_first=job.clear,
        )
