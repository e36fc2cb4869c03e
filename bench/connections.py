"""Two thousand connections that ask nothing, or never finish asking; and whoever does ask beside them."""

import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from rookery.runtime import descriptors

from . import http_home
from .helper import Helper
from .http_load import Wire, exchange, request
from .http_sides import Running, ours
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import median

TASKS = 100
CROWD = 2_000
DESCRIPTORS = 1024  # what a daemon may have open where nobody raised that
STAYS = at_most(5)
HALF = b"GET /v1/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Unfinished: "


def measure(place: Scene, sizes: Sizes) -> Section:
    rows: list[Row] = []
    for limit in (0, DESCRIPTORS):
        home = place.home(f"connections-{limit}")
        http_home.load(home, TASKS)
        with ours(place, home, descriptors=limit) as running:
            alone = _asked(running, sizes.crowd_calls)
            for kind, said in (("idle", b""), ("half-open", HALF)):
                with _crowd(running, said):
                    beside = _asked(running, sizes.crowd_calls)
                name = f"{kind}{f', {limit} descriptors' if limit else ''}"
                rows.append(Row(name, beside, alone, "ms", STAYS))
    return Section(f"GET /healthz beside {CROWD:,} connections", "none", rows)


def _asked(running: Running, calls: int) -> float | None:
    """The usual time of a request on a connection of its own; None if one of them was not answered."""
    asked, took = request("GET", "/healthz", running.address), list[float]()
    for _ in range(calls):
        try:
            wire = Wire(running.address)
            answered = exchange([wire], [asked])
        except OSError:
            return None
        if answered.answers[0][0] != 200:
            return None
        took.append(answered.seconds * 1000)
        wire.close()
    return median(took)


@contextmanager
def _crowd(running: Running, said: bytes) -> Generator[None]:
    with Helper(hold, running.address, CROWD, said) as crowd:
        crowd.hear()
        yield


def hold(pipe: Any, address: str, count: int, said: bytes) -> None:
    """A process of its own: opens connections, says something on each, and keeps them until the pipe is closed."""
    descriptors.raise_limit(count + 100)
    host, _, port = address.rpartition(":")
    kept: list[socket.socket] = []
    for _ in range(count):
        kept.append(socket.create_connection((host, int(port))))
        kept[-1].sendall(said)
    pipe.send("ready")
    try:
        pipe.recv()
    except EOFError:
        for each in kept:
            each.close()
