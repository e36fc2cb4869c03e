"""A mailbox of JSON files beside ours: what a send and a look into the mailbox cost in either design."""

import time
from collections.abc import Callable
from contextlib import ExitStack

from . import bulk, scene
from .inbox import TOP
from .peer_mailbox import PeerMailbox
from .report import Row, Section
from .scene import Scene
from .sizes import Sizes
from .timing import hammer, median, once_ms

ROUNDS = 5
CHECKS = 10
SYNCED = "File and folder are synced: the durability of ours."
NOT_SYNCED = "Nothing is synced, as in the design: what was accepted last is lost with the power."
SCANNED = "JSON files: one process's memory is scanned; another process has to load every file first."


def measure(place: Scene, sizes: Sizes) -> Section:
    rows = [*_sends(place, sizes), *(_check(place, count) for count in sizes.peer_checks)]
    return Section("Beside a mailbox of files, 1 process", "JSON files", rows)


def _sends(place: Scene, sizes: Sizes) -> list[Row]:
    plain = PeerMailbox(place.home("peer-plain"))
    durable = PeerMailbox(place.home("peer-durable"), durable=True)
    with scene.team(place.home("peer-ours")) as team:
        me, to = team.join("sender"), team.join("reader").name
        calls: dict[str, Callable[[], object]] = {
            "ours": lambda: me.send(to, scene.SUBJECT, scene.BODY),
            "plain": lambda: plain.send("sender", to, scene.SUBJECT, scene.BODY),
            "durable": lambda: durable.send("sender", to, scene.SUBJECT, scene.BODY),
        }
        rates: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(ROUNDS):
            for name, call in calls.items():
                start = time.monotonic()
                rates[name].append(len(hammer(call, start, start + sizes.peer_round_s)) / sizes.peer_round_s)
    ours, plain_rate, durable_rate = (median(rates[name]) for name in ("ours", "plain", "durable"))
    return [
        Row("sends, JSON files with fsync", ours, durable_rate, "/s", notes=SYNCED),
        Row("sends, JSON files without", ours, plain_rate, "/s", notes=NOT_SYNCED),
    ]


def _check(place: Scene, count: int) -> Row:
    home = place.home(f"peer-{count}")
    bulk.load(home, count)
    peer = PeerMailbox(place.home(f"peer-files-{count}"))
    for number in range(count):
        peer.send("sender", bulk.reader(number % bulk.READERS), scene.SUBJECT, scene.BODY)
    with ExitStack() as stack:
        agent = stack.enter_context(scene.team(home)).agent(bulk.reader())
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(ROUNDS):  # by turns of several calls: a long scan leaves the other side cold caches
            ours += [once_ms(lambda: agent.call("inbox", limit=TOP)) for _ in range(CHECKS)]
            theirs += [once_ms(lambda: peer.check(agent.name)[:TOP]) for _ in range(CHECKS)]
    return Row(f"top {TOP} of {count:,} messages", median(ours), median(theirs), "ms", notes=SCANNED)
