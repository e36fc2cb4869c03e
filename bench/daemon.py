"""What a resident process costs: until it answers, in memory, and while nothing happens; against a bare one."""

import time
from contextlib import ExitStack
from pathlib import Path

from . import http_home
from .http_sides import Running, floor, ours
from .report import Row, Section
from .scene import Scene
from .sizes import Sizes
from .timing import median

SIDES = {"ours": ours, "floor": floor}
TASKS = 100


def measure(place: Scene, sizes: Sizes) -> Section:
    homes = {name: place.home(f"daemon-{name}") for name in SIDES}
    for home in homes.values():
        http_home.load(home, TASKS)
    took: dict[str, list[float]] = {name: [] for name in SIDES}
    for _ in range(sizes.daemon_starts):
        for name, start in SIDES.items():
            with start(place, homes[name]) as running:
                took[name].append(running.ready_s * 1000)
    with ExitStack() as stack:
        both = [stack.enter_context(start(place, homes[name])) for name, start in SIDES.items()]
        before = [_cpu_ms(each) for each in both]
        time.sleep(sizes.idle_s)  # the thing measured: what both do while nothing happens
        idle = [(_cpu_ms(each) - was) / sizes.idle_s for each, was in zip(both, before, strict=True)]
        memory = [resident_mib(each) for each in both]
    return Section("The daemon itself", "bare starlette", [
        Row("from its start to its first answer", median(took["ours"]), median(took["floor"]), "ms"),
        Row("resident memory", memory[0], memory[1], "MiB"),
        Row("idle: processor time per second", idle[0], idle[1], "ms"),
    ])  # fmt: skip


def _cpu_ms(running: Running) -> float:
    """Of all its threads, to the nanosecond: the usual clock ticks are coarser than what an idle process takes."""
    threads = Path(f"/proc/{running.pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1_000_000


def resident_mib(running: Running) -> float:
    lines = Path(f"/proc/{running.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024
