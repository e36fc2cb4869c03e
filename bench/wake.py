"""From just before a send to the message in the hand of a process that was waiting, against commit + datagram + read.

One process waits (`agent.wait`, woken by the bell), this one sends. The floor does the least that can wake anyone
durably: a bare apsw commit here, a datagram, a bare read of the row there. CLOCK_MONOTONIC is the same in both.
"""

import os
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from rookery.wake.datagram import DatagramBell

from . import scene
from .floor import Floor
from .helper import Helper
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import at_quantile, median

BOUND = at_most(3.0)
WRITER, READER = "writer", "reader"
SIDES = ("ours", "floor")
SETTLE_S = 0.004  # from "about to wait" to asleep in it: the reader still binds its socket and looks once
PATIENCE_S = 30.0


def measure(place: Scene, sizes: Sizes) -> Section:
    homes = {side: place.home(f"wake-{side}") for side in SIDES}
    path = place.home("wake.sock")
    with ExitStack() as stack:
        reader = stack.enter_context(Helper(wait_for_mail, homes, path))
        reader.hear()
        calls = _senders(stack, homes, path)
        quiet = _times(reader, calls, sizes.wakes)
        bell = DatagramBell(homes["ours"])
        for number in range(sizes.listeners):
            stack.enter_context(bell.listen(scene.TEAM, f"other-{number}"))
        crowded = _times(reader, calls, sizes.wakes)
    many = f"{sizes.listeners} other listeners"
    rows = [*_rows("one listener", quiet, bounded=True), *_rows(many, crowded, bounded=False)]
    return Section("Wake, from send to mail in hand", "bare wake", rows)


def _senders(stack: ExitStack, homes: dict[str, str], path: str) -> dict[str, Callable[[], object]]:
    me = stack.enter_context(scene.team(homes["ours"])).join(WRITER)
    bare = Floor(homes["floor"], WRITER, READER)
    stack.callback(bare.close)
    ringer = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))

    def commit_and_ring() -> None:
        bare.send()
        ringer.sendto(b"!", path)

    return {"ours": lambda: me.send(READER, scene.SUBJECT, scene.BODY), "floor": commit_and_ring}


def _times(reader: Helper, calls: dict[str, Callable[[], object]], count: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    for _ in range(count):
        for side in SIDES:
            reader.tell(side)
            reader.hear()
            time.sleep(SETTLE_S)
            before = time.monotonic()
            calls[side]()
            times[side].append((reader.hear() - before) * 1000)
    return times


def _rows(name: str, times: dict[str, list[float]], *, bounded: bool) -> list[Row]:
    ours, floor = (times[side] for side in SIDES)
    return [
        Row(f"{name}: p50", median(ours), median(floor), "ms", BOUND if bounded else None),
        Row(f"{name}: p99", at_quantile(ours, 0.99), at_quantile(floor, 0.99), "ms"),
    ]


# -- the reader's process ------------------------------------------------------------------------------------------


def wait_for_mail(pipe: Any, homes: dict[str, str], path: str) -> None:
    with ExitStack() as stack:
        me = stack.enter_context(scene.team(homes["ours"])).join(READER)
        bare_wait = _bare_reader(stack, homes["floor"], path)
        pipe.send("ready")
        while True:
            try:
                side = pipe.recv()
            except EOFError:
                return
            pipe.send("about to wait")
            message: Any = me.wait(timeout=PATIENCE_S)[0] if side == "ours" else bare_wait()
            pipe.send(time.monotonic())
            if side == "ours":
                message.ack()  # so that the next wait begins with an empty inbox


def _bare_reader(stack: ExitStack, home: str, path: str) -> Callable[[], Any]:
    stack.enter_context(scene.team(home)).join(READER)
    connection = Floor(home, "looker", READER).connection
    stack.callback(connection.close)
    ear = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    ear.bind(path)
    stack.callback(os.unlink, path)
    seen = 0

    def wait() -> Any:
        nonlocal seen
        ear.recv(16)
        execute: Any = connection.execute
        row = execute("SELECT n, id, subject, body FROM messages WHERE n > ? ORDER BY n LIMIT 1", (seen,)).fetchall()[0]
        seen = row[0]
        return row

    return wait
