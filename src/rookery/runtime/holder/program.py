"""A program, first of a session of its own, and the pty that is its terminal."""

import fcntl
import json
import os
import signal
import struct
import subprocess
import termios
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rookery.runtime import process
from rookery.runtime.ptys import VARIABLE

TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}  # what `vt` understands, and what people have
OTHERS_VARIABLES = ("TMUX", "TMUX_PANE", "STY", "LINES", "COLUMNS")  # of the terminal that the starter was in
READ = 1 << 14
INPUT_LIMIT = 1 << 20  # bytes for a program that does not read
BY_SIGNAL = 128  # as shells tell it


class Program:
    def __init__(self, spec: Mapping[str, Any], size: tuple[int, int]) -> None:
        self._master, slave = os.openpty()
        try:
            self.resize(*size)
            self._program = _started(spec, slave)
        finally:
            os.close(slave)
        os.set_blocking(self._master, False)
        self.pid = self._program.pid
        self.first = process.identify(self.pid)  # not reaped yet, and so it can be looked at
        self.code: int | None = None
        self._unread = bytearray()

    def fileno(self) -> int:
        return self._master

    @property
    def unread(self) -> int:
        """Bytes that it was given and that found no room yet."""
        return len(self._unread)

    def read(self) -> bytes | None:
        """A piece of what it wrote; None if there is nothing now, and b"" if nobody has the terminal open."""
        try:
            return os.read(self._master, READ)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def give(self, data: bytes) -> bool:
        """Type it; all of it, or, where there is no room, nothing."""
        if self.code is not None or len(self._unread) + len(data) > INPUT_LIMIT:
            return False
        self._unread += data
        self.flush()
        return True

    def flush(self) -> None:
        try:
            del self._unread[: os.write(self._master, self._unread[:READ])]
        except BlockingIOError:
            return
        except OSError:
            self._unread.clear()

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def has_ended(self) -> bool:
        """Looked at before it is reaped: until then its number, and that of its group, are its own."""
        if not hasattr(os, "waitid"):
            return self._program.poll() is not None
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def reap(self) -> None:
        code = self._program.wait()
        self.code = code if code >= 0 else BY_SIGNAL - code
        self._unread.clear()

    def signal(self, number: int) -> None:
        """To its group, and to the one that has the terminal, if that is another. Never once it is reaped."""
        if self._program.returncode is not None:
            return
        groups = {self.pid}
        with suppress(OSError):
            groups.add(os.tcgetpgrp(self._master))
        for group in groups - {0, os.getpgrp()}:
            with suppress(OSError):
                os.killpg(group, number)

    def ask_to_end(self) -> None:
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)  # one that is stopped would not hear it

    def close(self) -> None:
        with suppress(OSError):
            os.close(self._master)


def _started(spec: Mapping[str, Any], slave: int) -> subprocess.Popen[bytes]:
    environ = {name: value for name, value in spec["environ"].items() if name not in OTHERS_VARIABLES}
    environ |= {VARIABLE: json.dumps(spec["address"], separators=(",", ":")), **TERMINAL}
    return subprocess.Popen(
        spec["argv"], env=environ, cwd=spec["cwd"], stdin=slave, stdout=slave, stderr=slave,
        preexec_fn=lambda: os.login_tty(0),  # we are one thread, so that this is safe
    )  # fmt: skip
