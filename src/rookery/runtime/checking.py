"""A check that is run on a merged tree: in a group of its own, with a built environment, ended with all it started."""

import os
import signal
from collections.abc import Mapping, Sequence
from time import monotonic

from rookery.core.record import NamedTuple

from . import process

PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "LOGNAME", "SHELL", "XDG_CACHE_HOME")
MARK = "ROOK_LANDING"  # in the environment of a check and all it starts: whoever goes on finds what was left
TAIL = 1_000_000  # bytes of the output that are kept
LOOK_S = 0.05
NOT_RUN = 127


class Checked(NamedTuple):
    exit: int  # negative: a signal ended it
    ms: int
    output: bytes  # its end
    timed_out: bool = False


class Check:
    """One run. Whoever waits for it may be cancelled at any time: `end` leaves nothing of it running."""

    def __init__(self, argv: Sequence[str], tree: str, log: str, more: Mapping[str, str]) -> None:
        import subprocess

        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self._started = monotonic()
        self._log = log
        self._tree = tree
        self._why = b""
        self._process: subprocess.Popen[bytes] | None = None
        with open(log, "wb", opener=_private) as output:
            try:
                self._process = subprocess.Popen(
                    list(argv), cwd=tree, env={**kept, **more, MARK: tree}, stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                self._why = f"{argv[0]} can not be run: {os.strerror(error.errno or 0)}\n".encode()

    def finished(self, limit_s: float, cancelled: "Cancelled | None" = None) -> Checked:
        """When it has ended, took too long, or nobody wants to know any more; its group is gone then."""
        import subprocess

        timed_out = False
        while self._process is not None:
            try:
                self._process.wait(LOOK_S)
                break
            except subprocess.TimeoutExpired:
                timed_out = monotonic() - self._started > limit_s
                if timed_out or (cancelled and cancelled.yes):
                    break
        self.end()
        code = NOT_RUN if self._process is None else self._process.returncode
        ms = round((monotonic() - self._started) * 1000)
        return Checked(code, ms, self._why or _tail(self._log), timed_out)

    def end(self) -> None:
        """With all that it started and that carries its mark, in a group of its own or not."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)  # it leads the group, and is not reaped yet
            self._process.wait()
        end_strays(self._tree)


class Cancelled:
    yes = False


def end_strays(tree: str) -> int:
    """What a check left that was begun in this tree by someone who was killed; how many were ended."""
    found = 0
    for pid in _pids():
        seen = process.identify(pid)
        if seen and process.variables(pid, (MARK,)).get(MARK) == tree and process.identify(pid) == seen:
            found += _kill(pid)
    return found


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _pids() -> list[int]:
    try:
        mine = os.getpid()
        return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != mine]
    except FileNotFoundError:  # no such folder on this system: a stray check then ends by itself
        return []


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _tail(path: str) -> bytes:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - TAIL))
        return file.read(TAIL)
