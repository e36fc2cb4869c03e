"""`rook` on a Unix that is not Linux: the names that only Linux has are hidden, and /proc is not there.

`psutil`, which Rookery needs elsewhere, is stood in for by what the tests need of it.
"""

import contextlib
import os
import signal
import socket
import sys
import types
from collections.abc import Iterator
from typing import Any

HIDDEN = {
    socket: ("SO_PEERCRED", "SOCK_CLOEXEC", "SOCK_NONBLOCK", "AF_NETLINK", "MSG_CMSG_CLOEXEC", "SO_PASSCRED",
             "AF_VSOCK", "AF_ALG", "TCP_USER_TIMEOUT", "TCP_DEFER_ACCEPT"),
    os: ("pidfd_open", "sched_getaffinity", "memfd_create", "eventfd", "O_TMPFILE", "O_PATH", "splice", "getrandom",
         "copy_file_range", "posix_fadvise", "fdatasync", "setns", "unshare"),
    signal: ("pidfd_send_signal", "sigtimedwait", "SIGRTMIN", "SIGPWR"),
}  # fmt: skip


class NoSuchProcess(Exception):
    """Of this stand-in, as all errors of psutil are."""


class Process:
    def __init__(self, pid: int) -> None:
        self._folder = f"/proc/{pid}"
        try:
            with open(f"{self._folder}/stat", "rb") as stat:
                self._fields = stat.read().rpartition(b")")[2].split()
        except OSError as error:
            raise NoSuchProcess(pid) from error

    def _words(self, name: str) -> list[str]:
        try:
            with open(f"{self._folder}/{name}", "rb") as found:
                return [os.fsdecode(each) for each in found.read().split(b"\0") if each]
        except OSError as error:
            raise NoSuchProcess(self._folder) from error

    @contextlib.contextmanager
    def oneshot(self) -> Iterator[None]:
        yield

    def create_time(self) -> float:
        return int(self._fields[19]) / 100

    def status(self) -> str:
        return {"T": "stopped", "Z": "zombie", "X": "dead"}.get(self._fields[0].decode(), "sleeping")

    def ppid(self) -> int:
        return int(self._fields[1])

    def name(self) -> str:
        return (self.cmdline() or ["?"])[0].rpartition("/")[2]

    def cmdline(self) -> list[str]:
        return self._words("cmdline")

    def exe(self) -> str:
        return self.cmdline()[0]

    def terminal(self) -> str | None:
        return "/dev/tty" if int(self._fields[4]) else None

    def environ(self) -> dict[str, str]:
        parts = [each.partition("=") for each in self._words("environ")]
        return {name: value for name, _, value in parts}


def stand_in() -> types.ModuleType:
    made: Any = types.ModuleType("psutil")
    made.Process, made.Error, made.NoSuchProcess = Process, NoSuchProcess, NoSuchProcess
    made.AccessDenied = type("AccessDenied", (NoSuchProcess,), {})
    made.STATUS_STOPPED, made.STATUS_ZOMBIE, made.STATUS_DEAD = "stopped", "zombie", "dead"
    made.boot_time = lambda: 1_000_000.0
    made.pids = lambda: [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    return made


def hide() -> None:
    """Before anything of Rookery is imported."""
    import _socket
    import sysconfig

    sysconfig.get_config_vars()  # of the interpreter that really runs
    for module, names in HIDDEN.items():
        for name in names:
            for each in (module, _socket) if module is socket else (module,):
                if hasattr(each, name):
                    delattr(each, name)
    sys.platform = "freebsd14"  # not darwin: the standard library would ask for modules that are only there
    sys.modules["psutil"] = stand_in()
    from rookery.runtime import peers, process

    process.PROC = peers.PROC = "/no/proc/here"


if __name__ == "__main__":
    hide()
    from rookery.front.cli.main import main

    sys.exit(main())
