"""Real processes for tests: started with an environment of their own, spoken to in lines, and always ended.

A child runs one function of an importable module (`tests.support.deeds`) with JSON arguments. It says lines of JSON on
its standard output and hears lines on its standard input, so that test and child wait for each other and never sleep
(`tests.support.inside`).
"""

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.inside import environment, hear, say

__all__ = [
    "ABOVE",
    "PATIENCE_S",
    "ROOT",
    "Child",
    "Silent",
    "child",
    "children",
    "digest",
    "environment",
    "hear",
    "say",
    "start_together",
]

ROOT = Path(__file__).parents[2]
# A program of its own above a command, as an agent has: below one program there is one agent.
ABOVE = [sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]
PATIENCE_S = 60.0  # a child that says nothing for so long hangs


class Silent(AssertionError):
    """A child ended or hung where it should have said something."""


class Child:
    def __init__(self, deed: Callable[..., Any], environ: dict[str, str] | None = None, /, **args: Any) -> None:
        place = f"{deed.__module__}:{deed.__qualname__}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.inside", place, json.dumps(args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ or environment(),
            cwd=ROOT,
        )
        self.pid = self._process.pid
        self._rest = b""

    def hear(self) -> Any:
        """The next thing the child says."""
        while b"\n" not in self._rest:
            if not (more := self._read()):
                raise Silent(f"the child said no more; {self._last_words()}")
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def say(self, word: str = "go") -> None:
        assert self._process.stdin
        self._process.stdin.write(word.encode() + b"\n")
        self._process.stdin.flush()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def stop(self) -> None:
        """SIGSTOP, and it has stopped."""
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)

    def kill(self) -> list[Any]:
        """SIGKILL, and everything it had said that was not heard yet. A line cut short was not said."""
        self._process.kill()
        return self._drain()

    def kill_said(self) -> list[Any]:
        """What it says until it dies by SIGKILL, as it was set up to do."""
        said = self._drain()
        if self._process.returncode != -signal.SIGKILL:
            raise AssertionError(f"it was not killed but ended with {self._process.returncode}; {self._last_words()}")
        return said

    def finish(self) -> list[Any]:
        """Everything it says until it ends of itself, which it must do well."""
        assert self._process.stdin
        self._process.stdin.close()
        said = self._drain()
        if self._process.returncode:
            raise AssertionError(f"the child ended with {self._process.returncode}; {self._last_words()}")
        return said

    def wait(self) -> int:
        return self._process.wait(PATIENCE_S)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe and not pipe.closed:
                with suppress(BrokenPipeError):
                    pipe.close()
        self._process.wait()

    def _read(self) -> bytes:
        assert self._process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(PATIENCE_S):
                raise Silent(f"the child has said nothing for {PATIENCE_S:.0f} s")
        return os.read(self._process.stdout.fileno(), 1 << 16)

    def _drain(self) -> list[Any]:
        while more := self._read():
            self._rest += more
        self._process.wait(PATIENCE_S)
        whole, _, self._rest = self._rest.rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()]

    def _last_words(self) -> str:
        self._process.kill()
        self._process.wait()
        assert self._process.stderr
        return os.read(self._process.stderr.fileno(), 1 << 16).decode(errors="replace")[-3000:]


@contextmanager
def children(*started: Child) -> Generator[tuple[Child, ...]]:
    """Children that do not outlive the block."""
    try:
        yield started
    finally:
        for child in started:
            child.close()


@contextmanager
def child(deed: Callable[..., Any], environ: dict[str, str] | None = None, /, **args: Any) -> Generator[Child]:
    with children(Child(deed, environ, **args)) as (started,):
        yield started


def start_together(started: Iterable[Child]) -> None:
    """Let children begin that have each said "ready"."""
    waiting = list(started)
    for one in waiting:
        assert one.hear() == "ready"
    for one in waiting:
        one.say()


def digest(path: str | os.PathLike[str]) -> str:
    """What is in a file, read by another process: closing a database file in this one drops SQLite's locks (H39)."""
    command = [sys.executable, "-S", "-c", _DIGEST, os.fspath(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment()).stdout


_DIGEST = "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())"
