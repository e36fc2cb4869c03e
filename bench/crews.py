"""Workers and crews: how soon one acts, what fifty cost, and what a crew adds to the work itself."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import rookery

from . import scene
from .door import daemon
from .panes import cpu_ms
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import median

MANY, ROUNDS, CREW = 50, 5, 4
ALLOWED_MS = 20.0  # per second: two percent of a core
PATIENCE_S = 300.0
TITLE, AGAINST = "Workers and crews", "bare processes, 2 % of a core, the ideal"
# Its first action: to write down when. Then it stays until it is ended.
ACTS = '#!/bin/sh\ndate +%s%N > "$1/$ROOK_WORKER.$$"\nexec sleep 100000\n'
BARE = '#!/bin/sh\ndate +%s%N > "$1/$ROOK_WORKER.$$"\n'
WAITS = """
import sys, time
import rookery.worker

me = rookery.worker.here()
while me.next() is not None:
    time.sleep(float(sys.argv[1]))
    me.done("findings", "Slept for as long as the task said, and looked at the clock again.", tests=["sleep: 1 passed"])
"""
WRITES = """
import sys, time
import rookery.worker

me = rookery.worker.here()
time.sleep(float(sys.argv[1]))
with open(f"{me.task}.txt", "w") as file:
    file.write(me.task)
me.done("completed", "Wrote the file of the task, with its name in it, and read it again.", evidence=[f"{me.task}.txt"])
"""


def measure(place: Scene, sizes: Sizes) -> Section:
    root = _repository(Path(place.home("crews-repo")))
    return Section(TITLE, AGAINST, [*_starting(place, root, sizes), *_working(place, root, sizes)])


def _repository(root: Path) -> Path:
    root.mkdir()
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@rookery.invalid"]
    for words in (["init", "--quiet"], [*identity, "commit", "--quiet", "--allow-empty", "-m", "Nothing yet"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


def _program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o700)
    return path


# -- starting --------------------------------------------------------------------------------------------------------


def _starting(place: Scene, root: Path, sizes: Sizes) -> list[Row]:
    home = place.home("workers")
    marks = Path(place.home("marks"))
    marks.mkdir()
    acts, bare = _program(marks.parent, "acts", ACTS), _program(marks.parent, "bare", BARE)
    environ = place.environment(home) | {"ROOK_WORKER_LIMIT": str(2 * MANY), "ROOK_WORKER_GRACE_S": "0"}
    with daemon(environ) as told, scene.team(home) as team:
        empty_mib = _memory_mib(told)
        one = median([_spawned_ms(team, root, marks, acts, 1) for _ in range(ROUNDS)])
        one_bare = median([_bare_ms(marks, bare, 1) for _ in range(ROUNDS)])
        many, many_bare = _spawned_ms(team, root, marks, acts, MANY), _bare_ms(marks, bare, MANY)
        time.sleep(1.0)  # what a start leaves to do is not what is measured next
        before = cpu_ms(told)
        time.sleep(sizes.idle_s)  # the thing measured
        used = (cpu_ms(told) - before) / sizes.idle_s
        full_mib = _memory_mib(told)
        _end_all(team)
    return [
        Row("spawn to first action", one, one_bare, "ms"),
        Row(f"{MANY} asked for at once, until the last acts", many, many_bare, "ms"),
        Row(f"each of {MANY}, against one alone", many / MANY, one, "ms", at_most(1.0)),
        Row(f"processor time per second, {MANY} workers running", used, ALLOWED_MS, "ms", at_most(1.0)),
        Row(f"memory of the daemon with {MANY} workers, against none", full_mib, empty_mib, "MiB", at_most(1.5)),
    ]


def _spawned_ms(team: rookery.Team, root: Path, marks: Path, program: Path, count: int) -> float:
    """From before the first request until the last of them has acted."""
    there = len(list(marks.iterdir()))
    began = time.time_ns()
    for _ in range(count):
        team.call("spawn", assignment="Act", host="script", backend="headless", no_worktree=True, root=str(root),
                  program=[str(program), str(marks)])  # fmt: skip
    return (_last_mark(marks, there + count) - began) / 1e6


def _bare_ms(marks: Path, program: Path, count: int) -> float:
    there = len(list(marks.iterdir()))
    began = time.time_ns()
    started = [
        subprocess.Popen([str(program), str(marks)], env={**os.environ, "ROOK_WORKER": f"bare{n}"})
        for n in range(count)
    ]
    last = _last_mark(marks, there + count)
    for each in started:
        each.wait()
    return (last - began) / 1e6


def _last_mark(marks: Path, count: int) -> int:
    ends = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends:
        written = [path.read_text() for path in marks.iterdir()]
        if len(written) >= count and all(written):
            return max(map(int, written))
        time.sleep(0.005)
    raise AssertionError(f"{len(list(marks.iterdir()))} of {count} acted")


def _memory_mib(told: dict[str, Any]) -> float:
    """What is its own, of the daemon's process."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{told['pid']}/smaps_rollup").read_text().splitlines()[1:])
    return (int(fields["Private_Clean"].split()[0]) + int(fields["Private_Dirty"].split()[0])) / 1024


def _end_all(team: rookery.Team) -> None:
    for worker in team.call("workers", limit=1_000)["workers"]:
        if worker["state"] != "ended":
            team.call("stop", id=worker["id"], now=True)
    _until(lambda: all(each["state"] == "ended" for each in team.call("workers", all=True, limit=1_000)["workers"]))


def _until(condition: Any) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > ends:
            raise AssertionError("waited in vain")
        time.sleep(0.02)


# -- a plan worked off -----------------------------------------------------------------------------------------------


def _working(place: Scene, root: Path, sizes: Sizes) -> list[Row]:
    home = place.home("crews")
    folder = Path(place.folder)
    waits, writes = _program(folder, "waits.py", WAITS), _program(folder, "writes.py", WRITES)
    with daemon(place.environment(home)) as _, scene.team(home) as team:
        ideal = sizes.crew_tasks / CREW * sizes.crew_sleep_s
        words = {"lobby": CREW, "no_worktree": True, "no_review": True}
        bare = _crew_s(team, root, waits, sizes.crew_tasks, sizes.crew_sleep_s, **words)
        whole_ideal = sizes.crew_landed / CREW * sizes.crew_sleep_s
        whole = _crew_s(team, root, writes, sizes.crew_landed, sizes.crew_sleep_s, no_review=True, check=["true"])
    what = f"{sizes.crew_tasks} tasks of {sizes.crew_sleep_s:g} s on {CREW} waiting workers"
    full = f"{sizes.crew_landed} of them, each in a worktree by a new process, checked and landed"
    return [
        Row(what, bare * 1000, ideal * 1000, "ms", at_most(1.15)),
        Row(full, whole * 1000, whole_ideal * 1000, "ms"),
    ]


def _crew_s(team: rookery.Team, root: Path, program: Path, count: int, sleep_s: float, **words: Any) -> float:
    """From the first task that was taken to the end of the plan, by the ledger's own clock."""
    tasks = [{"title": f"Task {number}"} for number in range(count)]
    plan = team.call("plan.new", goal=f"{count} tasks", tasks=tasks)["id"]
    after = team.call("events", limit=1)["newest"]
    crew = team.call("crew.run", plan=plan, workers=CREW, host="script", backend="headless", root=str(root),
                     program=[sys.executable, str(program), str(sleep_s)], **words)["id"]  # fmt: skip
    _until(lambda: team.call("crew.status", id=crew)["state"] not in ("running", "stopping"))
    told = team.call("crew.status", id=crew)
    if told["state"] != "finished":
        raise AssertionError(json.dumps(told))
    events = _events(team, after)
    first = next(each["at"] for each in events if each["type"] == "task.start")
    last = next(each["at"] for each in reversed(events) if each["type"] == "plan.done")
    return _seconds(last) - _seconds(first)


def _events(team: rookery.Team, after: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while page := team.call("events", after=after, limit=1_000)["events"]:
        found += page
        after = page[-1]["seq"]
    return found


def _seconds(stamp: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(stamp).timestamp()
