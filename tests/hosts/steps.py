"""One command at a time, none of which can hang: each has a limit of its own, and all of them together have another.

What a command says goes to a file and not to a pipe, and it leads a process group that ends with it: neither a child
that it left behind nor a full pipe can keep the caller waiting.
"""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

TAIL_LINES = 20
TELL_EVERY_S = 10.0


class Failed(Exception):
    """A step failed, with the tool's own words."""


class Step(NamedTuple):
    name: str
    command: Sequence[str]
    cwd: Path
    environ: Mapping[str, str]
    limit_s: float


class Steps:
    def __init__(self, deadline_s: float) -> None:
        self._ends = time.monotonic() + deadline_s

    def run(self, step: Step, progress: Callable[[], str] | None = None) -> str:
        """What it said. `progress` is told now and then while it runs."""
        limit_s = min(step.limit_s, max(0.0, self._ends - time.monotonic()))
        with tempfile.TemporaryFile() as said:
            try:
                code = self._wait(step, said, limit_s, progress)
            except OSError as error:
                raise Failed(f"{step.name} could not be started: {error}") from error
            said.seek(0)
            text = said.read().decode(errors="replace")
        if code is None:
            raise Failed(f"{step.name} was ended after {limit_s:.0f} s.\n{tail(text)}")
        if code:
            raise Failed(f"{step.name} failed with {code}.\n{tail(text)}")
        return text

    def _wait(self, step: Step, said: IO[bytes], limit_s: float, progress: Callable[[], str] | None) -> int | None:
        started = time.monotonic()
        process = subprocess.Popen(
            step.command,
            cwd=step.cwd,
            env=step.environ,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        try:
            while (left_s := started + limit_s - time.monotonic()) > 0:
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(min(left_s, TELL_EVERY_S))
                if progress:
                    print(f"  {step.name}: {progress()} after {time.monotonic() - started:.0f} s", flush=True)
            return None
        finally:
            end_group(process)


def tail(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-TAIL_LINES:])


def end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
