"""One hundred readers of every event from the first on, and what others notice of them."""

import json
import select
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

from . import http_home
from .helper import Helper
from .http_load import Wire, exchange, request
from .http_sides import TOKEN, ours
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import at_quantile, median

READERS = 100
STAYS = at_most(5)
DEADLINE_S = 600.0
CHUNK = 1 << 18
SMALL_BUFFER = 4096  # of a reader that does not read, so that the daemon soon has to wait for it
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


def measure(place: Scene, sizes: Sizes) -> Section:
    home = place.home("readers")
    http_home.load(home, sizes.readers_events)
    with ours(place, home) as running, Helper(read_all) as readers:
        readers.hear()
        address = running.address
        probe = Probe(address)
        idle = probe.repeat(sizes.readers_calls, lambda: False)
        readers.tell((address, READERS, sizes.readers_events, 0))
        readers.hear()
        loaded = probe.repeat(sizes.readers_calls, readers.has_said)
        took = readers.hear()
        readers.tell((address, READERS, sizes.readers_events, SMALL_BUFFER))
        readers.hear()
        stalled = probe.repeat(sizes.readers_calls, lambda: False)
        readers.tell(None)
        probe.close()
    note = f"{READERS} readers got {sizes.readers_events:,} events each in {took:.1f} s." if took else ""
    return Section("100 readers of all events", "nobody reads", [
        _row("GET /healthz, median", median(loaded["health"]), median(idle["health"]), note),
        _row("GET /healthz, p95", at_quantile(loaded["health"], 0.95), at_quantile(idle["health"], 0.95), note),
        _row("POST /v1/tasks, median", median(loaded["create"]), median(idle["create"]), note),
        _row("GET /healthz, none of them reads", median(stalled["health"]), median(idle["health"])),
        _row("POST /v1/tasks, none of them reads", median(stalled["create"]), median(idle["create"])),
    ])  # fmt: skip


def _row(name: str, ours: float, floor: float, note: str = "") -> Row:
    return Row(name, ours, floor, "ms", STAYS, note)


class Probe:
    """Asks over one kept connection, as any other client would."""

    def __init__(self, address: str) -> None:
        self._wire = Wire(address)
        body = json.dumps({"title": "Beside the readers", "agentId": http_home.agent(0)}).encode()
        self._asks = {
            "health": request("GET", "/healthz", address),
            "create": request("POST", "/v1/tasks", address, AUTHORIZED, body),
        }

    def repeat(self, calls: int, is_over: Callable[[], bool]) -> dict[str, list[float]]:
        """The milliseconds of each call, until so many were made or it is over."""
        took: dict[str, list[float]] = {name: [] for name in self._asks}
        for _ in range(calls):
            for name, asked in self._asks.items():
                answered = exchange([self._wire], [asked])
                if answered.answers[0][0] not in (200, 201):
                    raise AssertionError(f"{name} was answered with {answered.answers[0]}")
                took[name].append(answered.seconds * 1000)
            if is_over():
                break
        return took

    def close(self) -> None:
        self._wire.close()


def read_all(pipe: Any) -> None:
    """A process of its own: told (address, readers, last event, receive buffer), says when all are connected and, of
    readers without a small buffer, how long they took. With one they do not read until the next order comes."""
    pipe.send("ready")
    streams: list[socket.socket] = []
    try:
        while order := pipe.recv():
            address, count, last, buffer = order
            began = time.monotonic()
            streams = [_connected(address, buffer) for _ in range(count)]
            pipe.send("connected")
            if not buffer:
                _drain(streams, b"\nid: %d\n" % last)
                pipe.send(time.monotonic() - began)
    except EOFError:
        pass
    finally:
        for stream in streams:
            stream.close()


def _connected(address: str, buffer: int) -> socket.socket:
    host, _, port = address.rpartition(":")
    stream = socket.socket()
    if buffer:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    stream.connect((host, int(port)))
    stream.sendall(request("GET", "/v1/events?after=0", address, {**AUTHORIZED, "Accept": "text/event-stream"}))
    return stream


def _drain(streams: Sequence[socket.socket], last: bytes) -> None:
    """Read each stream until its last event came."""
    ready = select.poll()
    left = {stream.fileno(): (stream, b"") for stream in streams}
    for number in left:
        ready.register(number, select.POLLIN)
    until = time.monotonic() + DEADLINE_S
    while left:
        if time.monotonic() > until:
            raise TimeoutError(f"{len(left)} readers did not get the last event")
        for number, _ in ready.poll(1000):
            stream, tail = left[number]
            got = stream.recv(CHUNK)
            if not got:
                raise ConnectionError(f"closed after {tail!r}")
            seen = tail + got
            if last in seen:
                ready.unregister(number)
                stream.close()
                del left[number]
            else:
                left[number] = (stream, seen[-100:])
