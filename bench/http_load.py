"""Requests over kept connections, as fast as they are answered: by hand, so that what is measured is the other side."""

import select
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

PATIENCE_S = 60.0
CHUNK = 1 << 16


class Answered(NamedTuple):
    seconds: float
    answers: list[tuple[int, bytes]]  # status and body, in the order of the requests


def request(
    method: str, path: str, address: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> bytes:
    head = {"Host": address, **(headers or {})}
    if body is not None:
        head |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    return "\r\n".join((*lines, "", "")).encode() + (body or b"")


def drive(pipe: Any) -> None:
    """A process of its own: told (address, how many connections, the requests), answers with what came back."""
    kept: dict[tuple[str, int], list[Wire]] = {}
    pipe.send("ready")
    try:
        while True:
            address, count, requests = pipe.recv()
            wires = kept.setdefault((address, count), [])
            wires += [Wire(address) for _ in range(count - len(wires))]
            pipe.send(exchange(wires, requests))
    except EOFError:
        for wires in kept.values():
            for wire in wires:
                wire.close()


def exchange(wires: Sequence["Wire"], requests: Sequence[bytes]) -> Answered:
    """Every connection takes the next request as soon as its last one was answered."""
    answers: list[tuple[int, bytes]] = [(0, b"")] * len(requests)
    waiting = iter(enumerate(requests))
    ready = select.poll()
    by_number = {wire.fileno(): wire for wire in wires}
    start = time.perf_counter()
    busy = sum(_next(wire, waiting) for wire in wires)
    for number in by_number:
        ready.register(number, select.POLLIN)
    while busy:
        happened = ready.poll(PATIENCE_S * 1000)
        if not happened:
            raise TimeoutError("no answer")
        for number, _ in happened:
            wire = by_number[number]
            if (answer := wire.read()) is not None:
                answers[wire.asked] = answer
                busy -= 1 - _next(wire, waiting)
    seconds = time.perf_counter() - start
    return Answered(seconds, answers)


def _next(wire: "Wire", waiting: Iterator[tuple[int, bytes]]) -> int:
    """1 if there was a request left to send."""
    for index, asked in waiting:
        wire.send(index, asked)
        return 1
    return 0


class Wire:
    """One connection with one request under way."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._got = b""
        self.asked = 0
        self.head = b""  # of the last answer

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, index: int, asked: bytes) -> None:
        self.asked = index
        self._socket.sendall(asked)

    def read(self) -> tuple[int, bytes] | None:
        """The answer, once all of it is here."""
        self._got += self.receive()
        head, found, body = self._got.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return None
        self._got, self.head = b"", head
        return int(head[9:12]), body

    def receive(self) -> bytes:
        """What comes next, whole or not."""
        data = self._socket.recv(CHUNK)
        if not data:
            raise ConnectionError(f"closed after {self._got[:200]!r}")
        return data

    def close(self) -> None:
        self._socket.close()


def _length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    if not found:
        raise ConnectionError(f"no length: {head[:200]!r}")
    return int(rest.partition(b"\r\n")[0])
