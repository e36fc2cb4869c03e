"""The connections of a holder: for one request each, or for a person who watches and types."""

import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

from rookery import door

PIECE = 1 << 14
OUTPUT_LIMIT = 1 << 20  # bytes for a person who does not read
REQUEST_LIMIT = 4 << 20
LINES_LIMIT = 64
REQUEST_S = 10.0  # for a request to come whole, and its answer to be taken


class Line:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.ends = time.monotonic() + REQUEST_S
        self.inbox = bytearray()
        self.outbox = bytearray()
        self.watches = False  # a person
        self.missed = False  # so much that the screen is painted anew
        self.last = False  # to be closed once everything is sent

    @property
    def is_open(self) -> bool:
        return self.sock.fileno() >= 0


class Lines:
    def __init__(self, painted: Callable[[], bytes], closed: Callable[[Line], None]) -> None:
        self._painted = painted
        self._closed = closed
        self.all: dict[int, Line] = {}

    def accept(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        if len(self.all) >= LINES_LIMIT or not is_ours(sock):
            sock.close()
            return
        sock.setblocking(False)
        self.all[sock.fileno()] = Line(sock)

    @property
    def watching(self) -> list[Line]:
        return [line for line in self.all.values() if line.watches]

    @property
    def busy(self) -> bool:
        """Is anything left to be sent?"""
        return any(line.outbox or line.missed for line in self.all.values())

    def soonest(self) -> float:
        return min((line.ends for line in self.all.values()), default=float("inf"))

    def close_late(self) -> None:
        now = time.monotonic()
        for line in [each for each in self.all.values() if now >= each.ends]:
            self.close(line)

    def close(self, line: Line) -> None:
        if self.all.pop(line.sock.fileno(), None):
            self._closed(line)
            line.sock.close()

    def receive(self, line: Line) -> bytes:
        """What came; nothing where the line is closed by now."""
        try:
            data = line.sock.recv(PIECE)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            self.close(line)
        return data

    def request(self, line: Line, data: bytes) -> bytes | None:
        """The request that is whole with this."""
        line.inbox += data
        size = int.from_bytes(line.inbox[: door.HEAD], "big")
        if len(line.inbox) < door.HEAD:
            return None
        if size > REQUEST_LIMIT:
            self.answer(line, {"error": f"a request has at most {REQUEST_LIMIT} bytes"})
            return None
        if len(line.inbox) < door.HEAD + size:
            return None
        whole = bytes(line.inbox[door.HEAD : door.HEAD + size])
        line.inbox.clear()
        return whole

    def answer(self, line: Line, answer: Mapping[str, Any]) -> None:
        line.outbox += door.framed(json.dumps(answer).encode())
        line.last = not line.watches
        self.send(line)

    def show(self, data: bytes) -> None:
        for line in self.watching:
            if line.missed or len(line.outbox) + len(data) > OUTPUT_LIMIT:
                line.missed = True
                line.outbox.clear()
            else:
                line.outbox += data
            self.send(line)

    def end_watching(self) -> None:
        for line in self.watching:
            line.last = True
            self.send(line)

    def send(self, line: Line) -> None:
        while line.is_open and (line.outbox or line.missed):
            if not line.outbox:
                line.missed = False
                line.outbox += self._painted()
            try:
                del line.outbox[: line.sock.send(line.outbox)]
            except BlockingIOError:
                return
            except OSError:
                self.close(line)
        if line.last:
            self.close(line)


def is_ours(sock: socket.socket) -> bool:
    """The same user; elsewhere than on Linux the modes of folder and socket alone say so."""
    return not hasattr(socket, "SO_PEERCRED") or door.peer_of(sock)[1] == os.geteuid()
