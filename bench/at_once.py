"""Embedded commands started together: all of them succeed. The floor is as many processes that start and do nothing.

Without a queue of writers 32 to 117 of 200 gave up with "busy". One command that fails leaves the row without a number,
which no bound forgives.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence

from . import scene
from .report import Row, Section, at_least
from .scene import Scene
from .sizes import Sizes

ROOK = os.path.join(os.path.dirname(sys.executable), "rook")
NOTHING = (sys.executable, "-c", "pass")
BOUND = at_least(0.04)


def measure(place: Scene, sizes: Sizes) -> Section:
    home = place.home("at-once")
    environment = place.environment(home)
    count = sizes.at_once
    with scene.team(home) as team:
        team.join("me")
        taken, failed = _together([[ROOK, "task", "add", f"Task {n}"] for n in range(count)], environment)
        idle, _ = _together([NOTHING] * count, environment)
        kept = len(team.call("task.list", limit=1_000)["tasks"])
    name, floor = f"{count} embedded commands at once, all succeed", count / idle
    if failed or kept != count:
        reason = f"{len(failed)} of {count} failed, {kept} tasks were kept: {failed[:1]}"[:200]
        return _section(Row(name, None, floor, "/s", BOUND, reason))
    return _section(Row(name, count / taken, floor, "/s", BOUND))


def _section(row: Row) -> Section:
    return Section("Commands at once", "python -c pass", [row])


def _together(commands: Sequence[Sequence[str]], environment: dict[str, str]) -> tuple[float, list[str]]:
    """How long all of them took, and what those that failed said."""
    began = time.monotonic()
    running = [
        subprocess.Popen(
            command, env=environment, cwd=environment["HOME"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )
        for command in commands
    ]  # fmt: skip
    said = [(each.communicate()[1], each.returncode) for each in running]
    return time.monotonic() - began, [told for told, code in said if code]
