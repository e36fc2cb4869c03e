"""Processes that Rookery starts itself. Argument vectors only; ended by their own handle, never by name."""

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress

from rookery.core.errors import Refused

# What is meant for a command that runs in our place. The terminal's own signals reach it without us.
PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT, signal.SIGQUIT)
BY_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
NOT_FOUND, NOT_ALLOWED, BY_SIGNAL = 127, 126, 128  # exit codes as shells give them
TOOK_TOO_LONG = -1
ENDED = -2


class Foreground:
    """A command in our place: our terminal, streams and process group, our signals, and its exit code as ours."""

    def __init__(self, argv: Sequence[str], *, environ: Mapping[str, str], cwd: str) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._before = {number: signal.signal(number, self._pass_on) for number in PASSED_ON}
        try:
            self._process = subprocess.Popen(list(argv), env=dict(environ), cwd=cwd)
        except OSError as error:
            self._restore()
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_ALLOWED
            raise Refused(
                f"{argv[0]} can not be run: {error.strerror}.", "Give a program and its arguments.", code="NOT_STARTED",
                exit=code,
            ) from error  # fmt: skip
        self.pid = self._process.pid
        for number in self._early:
            self.send(number)

    def _pass_on(self, number: int, _frame: object) -> None:
        if number in BY_TERMINAL and _is_foreground():
            return  # the terminal sent it to the whole group
        self.send(number)

    def send(self, number: int) -> None:
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)  # to one that has ended, nothing is sent

    def finished(self) -> int:
        """Its exit code, once it has one."""
        assert self._process is not None
        try:
            code = self._process.wait()
        finally:
            self._restore()
        return code if code >= 0 else BY_SIGNAL - code

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def _is_foreground() -> bool:
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:  # no terminal
        return False


def end_as_interrupted() -> None:
    """From now on whoever ends this process interrupts it, so that it tidies up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


@contextmanager
def undisturbed() -> Generator[None]:
    """Whoever interrupts or ends this process waits until the block is over. Only in the main thread."""
    late: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _frame: late.append(number))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if late:
        signal.raise_signal(late[0])


def detached(
    module: str, *args: str, environ: Mapping[str, str], cwd: str, log: str, wait_s: float, given: str = ""
) -> str:
    """Start a module that outlives us; the first line it says. Its complaints go to a log. What it is given on its
    standard input is shown in no list of processes."""
    complaints = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    before = os.fstat(complaints).st_size
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *args], env=dict(environ), cwd=cwd,
            stdin=subprocess.PIPE if given else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints,
            start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(complaints)
    if process.stdin is not None:
        with suppress(BrokenPipeError), process.stdin as pipe:  # it ended before it read: the log tells why
            pipe.write(given.encode())
    assert process.stdout is not None
    with process.stdout as pipe:
        ready, _, _ = select.select([pipe], [], [], wait_s)
        said = pipe.readline().decode() if ready else ""
    if not said:
        process.kill()
        process.wait()
        with open(log, encoding="utf-8", errors="replace") as file:
            file.seek(before)
            told = file.read(2000).strip()
        raise Refused(f"It did not start. {told}", f"{log} tells more.", code="NOT_STARTED")
    process.returncode = 0  # it is on its own now: nobody here waits for it
    return said


def answer(
    argv: Sequence[str], given: str, *, environ: Mapping[str, str], cwd: str, limit_s: float
) -> tuple[int, str, str]:
    """(exit code, what it said, what it complained of) of a program that is given a text; TOOK_TOO_LONG."""
    return Program(argv, given, environ=environ, cwd=cwd, limit_s=limit_s).answer()


class Program:
    """A program that is given a text and waited for. `end` may be called by any thread, at any time."""

    def __init__(
        self, argv: Sequence[str], given: str, *, environ: Mapping[str, str], cwd: str, limit_s: float
    ) -> None:
        self._argv = list(argv)
        self._given = given
        self._environ = dict(environ)
        self._cwd = cwd
        self._limit_s = limit_s
        self._mutex = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._is_over = False

    def answer(self) -> tuple[int, str, str]:
        """(exit code, what it said, what it complained of); TOOK_TOO_LONG; ENDED if `end` came first."""
        with self._mutex:
            if self._is_over:
                return ENDED, "", ""
            process = self._process = subprocess.Popen(
                self._argv, env=self._environ, cwd=self._cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
        try:
            said, complaint = process.communicate(self._given, timeout=self._limit_s)
            return process.returncode, said, complaint
        except subprocess.TimeoutExpired:
            return TOOK_TOO_LONG, "", ""
        finally:
            _end_group(process)

    def end(self) -> None:
        """With its process group. `answer` returns soon after, and starts nothing any more."""
        with self._mutex:
            self._is_over = True
            process = self._process
        # Without a return code it is not reaped: it still leads its group, and nobody else has its id.
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _end_group(process: "subprocess.Popen[str]") -> None:
    """With all that it started. Nobody waits for what a program left behind, and no pipe is held open by it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)  # it leads the group, and is not reaped yet: nobody else has its id
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None and not pipe.closed:
            pipe.close()
