"""`python -m bench [--ci] [--out FILE] [--record] [--only NAME ...]`"""

import argparse
import os
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import apsw
from rich.console import Console

from rookery.version import VERSION

from . import (
    at_once,
    connections,
    crews,
    daemon,
    delivery,
    docket,
    door,
    flat,
    guard,
    hook,
    http,
    inbox,
    joins,
    memory,
    panes,
    peer,
    readers,
    report,
    scene,
    search,
    send,
    start,
    wake,
)
from .sizes import CI, FULL

# The inbox is last: its million messages keep the disk busy for a while after they are there.
MEASUREMENTS = {
    "send": send, "wake": wake, "delivery": delivery, "start": start, "door": door, "hook": hook, "daemon": daemon,
    "panes": panes, "crews": crews, "docket": docket, "http": http, "flat": flat, "readers": readers,
    "connections": connections, "memory": memory, "peer": peer, "guard": guard, "search": search,
    "joins": joins, "at_once": at_once, "inbox": inbox,
}  # fmt: skip


def main(argv: list[str]) -> int:
    asked = _arguments(argv)
    sizes = CI if asked.ci else FULL
    console = Console(width=report.WIDTH)
    began = datetime.now(UTC)
    sections: list[report.Section] = []
    with scene.Scene() as place:
        where = scene.file_system(place.folder) or "unknown"
        for name in asked.only or MEASUREMENTS:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            before = time.monotonic()
            section = MEASUREMENTS[name].measure(place, sizes)
            sections.append(report.timed(section, time.monotonic() - before))
    about = {"size": sizes.name, "began": began.strftime("%Y-%m-%dT%H:%M:%SZ"), "rookery": VERSION,
             "python": platform.python_version(), "sqlite": apsw.sqlite_lib_version(), "cores": os.cpu_count(),
             "file_system": where}  # fmt: skip
    out = asked.out or scene.RESULTS / f"{began:%Y%m%dT%H%M%SZ}.json"
    readings = report.read_readings()
    report.show(sections, console, readings)
    report.write(out, sections, about)
    console.print(f"written to {out}", style="dim", highlight=False, soft_wrap=True)
    if asked.record:
        report.record(sections)
    return report.exit_code(sections, readings)


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Rookery against floors and a peer.")
    parser.add_argument("--ci", action="store_true", help="small sizes, for every change")
    parser.add_argument("--out", type=Path, help="where the JSON goes (default: bench/results/TIME.json)")
    parser.add_argument("--record", action="store_true", help="add the ratios to bench/readings.json")
    parser.add_argument("--only", action="append", choices=MEASUREMENTS, help="just this measurement (repeatable)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
