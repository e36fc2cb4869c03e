"""A held terminal shown in a person's own, until they leave it with Ctrl-] or its program ends.

The person's terminal is made raw and switched to its other screen, and is given back as it was however this ends: by
the key, by a signal, by an error, by the death of either side. Of the program's output only what draws comes through.
"""

import fcntl
import os
import select
import signal
import socket
import struct
import sys
import termios
import tty
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any

from rookery.core.errors import BadInput, UnknownName
from rookery.runtime import ptys
from rookery.runtime.vt import SHARED_MODES

LEAVE = b"\x1d"  # Ctrl-]
DETACHED, ENDED = "detached", "ended"
OTHER_SCREEN = b"\x1b[?1049h\x1b[H\x1b[2J"
# Whatever was begun is given up, and every mode is as a terminal starts with.
MODES_OFF = "".join(f"\x1b[?{mode}l" for mode in SHARED_MODES if mode not in (7, 25))
AS_BEFORE = f"\x18\x1b\\{MODES_OFF}\x1b[m\x1b[r\x1b[4l\x1b(B\x0f\x1b>\x1b[?7h\x1b[?25h\x1b[?1049l".encode()
PIECE = 1 << 14


def attach(where: Mapping[str, str], stdin: IO[Any], stdout: IO[Any]) -> str:
    """How it ended: the person left it, or there is nothing to show any more."""
    keys, shown = stdin.fileno(), stdout.fileno()
    if not (os.isatty(keys) and os.isatty(shown)):
        raise BadInput("A terminal can only be shown in a terminal.", "Run this in a terminal, without a pipe.")
    with _opened(where) as line:
        if not _is_shown(line, size_of(shown)):
            return ENDED
        line.settimeout(None)
        with _raw(keys, shown), _resized(where, shown) as changes:
            return _pass_on(line, keys, shown, changes)


def _opened(where: Mapping[str, str]) -> socket.socket:
    try:
        return ptys.connected(where, ptys.ANSWER_S)
    except OSError:
        raise UnknownName("There is no such terminal any more.", code="NO_TERMINAL") from None


def _is_shown(line: socket.socket, size: tuple[int, int]) -> bool:
    try:
        return ptys.asked(line, {"op": "attach", "size": size})["done"]
    except (OSError, ValueError):
        return False


def size_of(terminal: int) -> tuple[int, int]:
    rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8)))
    return columns or 80, rows or 24


def _pass_on(line: socket.socket, keys: int, shown: int, changes: "_Changes") -> str:
    while True:
        ready, _, _ = select.select([line, keys, changes.woken], [], [])
        if changes.woken in ready:
            changes.follow()
        if line in ready:
            data = line.recv(PIECE)
            if not data:
                return ENDED
            _write(shown, data)
        if keys in ready:
            typed, left, _ = os.read(keys, PIECE).partition(LEAVE)
            with suppress(BrokenPipeError, ConnectionResetError):  # what it still said is read first
                line.sendall(typed)
            if left or not typed:
                return DETACHED


def _write(shown: int, data: bytes) -> None:
    while data:
        data = data[os.write(shown, data) :]


@contextmanager
def _raw(keys: int, shown: int) -> Generator[None]:
    before = termios.tcgetattr(keys)
    with _ended_in_order():
        try:
            tty.setraw(keys, termios.TCSADRAIN)
            _write(shown, OTHER_SCREEN)
            yield
        finally:
            with suppress(OSError):  # it may be the terminal that is gone
                _write(shown, AS_BEFORE)
            with suppress(termios.error):
                termios.tcsetattr(keys, termios.TCSADRAIN, before)


@contextmanager
def _ended_in_order() -> Generator[None]:
    """Signals that would end this process end it through the way out."""
    before: dict[int, Any] = {}

    def leave(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    with suppress(ValueError):  # not in a thread of its own
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            before[number] = signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Changes:
    """The person's terminal changes its size, and the held one follows."""

    def __init__(self, where: Mapping[str, str], shown: int) -> None:
        self._where = where
        self._shown = shown
        self.woken, self.waking = os.pipe()
        for end in (self.woken, self.waking):
            os.set_blocking(end, False)

    def note(self, _number: int, _frame: object) -> None:
        with suppress(BlockingIOError):
            os.write(self.waking, b"!")

    def follow(self) -> None:
        os.read(self.woken, PIECE)
        ptys.resize(self._where, size_of(self._shown))

    def close(self) -> None:
        os.close(self.woken)
        os.close(self.waking)


@contextmanager
def _resized(where: Mapping[str, str], shown: int) -> Generator[_Changes]:
    changes, before = _Changes(where, shown), None
    with suppress(ValueError):
        before = signal.signal(signal.SIGWINCH, changes.note)
    try:
        yield changes
    finally:
        if before is not None:
            signal.signal(signal.SIGWINCH, before)
        changes.close()
