"""What a command costs in a process of its own, against an interpreter that starts and does nothing."""

import os
import subprocess
import sys
from collections.abc import Sequence

from . import scene
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import median, once_ms

BOUND = at_most(6.0)
ROOK = os.path.join(os.path.dirname(sys.executable), "rook")
NOTHING = (sys.executable, "-c", "pass")
COMMANDS = {
    "rook inbox --json": (ROOK, "inbox", "--json"),
    "rook send --json": (ROOK, "send", "reader", "-s", scene.SUBJECT, "-m", scene.BODY, "--json"),
}
TITLE, AGAINST = "Command line, a process each", "python -c pass"


def measure(place: Scene, sizes: Sizes) -> Section:
    home = place.home("start")
    with scene.team(home) as team:  # both live while this process does, as agents do while they call `rook`
        me, _ = team.join("me"), team.join("reader")
        team.agent("reader").send(me.name, scene.SUBJECT, scene.BODY)
        environment = place.environment(home) | {"ROOK_AGENT": me.name}
        if reason := next(filter(None, (refusal(command, environment) for command in COMMANDS.values())), ""):
            return Section(TITLE, AGAINST, [Row(name, None, None, "ms", BOUND, reason) for name in COMMANDS])
        times: dict[str, list[float]] = {name: [] for name in ("", *COMMANDS)}
        for _ in range(sizes.starts):
            for name, taken in times.items():
                taken.append(once_ms(lambda name=name: run(COMMANDS.get(name, NOTHING), environment)))
    floor = median(times.pop(""))
    return Section(TITLE, AGAINST, [Row(name, median(taken), floor, "ms", BOUND) for name, taken in times.items()])


def run(command: Sequence[str], environment: dict[str, str]) -> None:
    subprocess.run(command, env=environment, cwd=environment["HOME"], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip


def refusal(command: Sequence[str], environment: dict[str, str]) -> str:
    """Why a command cannot be measured: it is not there, or it fails. (The first call also writes its bytecode.)"""
    try:
        done = subprocess.run(command, env=environment, cwd=environment["HOME"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)  # fmt: skip
    except FileNotFoundError:
        return f"not there: {command[0]}"
    last = (done.stderr.strip().splitlines() or [""])[-1]
    return f"not there: it ended with {done.returncode}: {last}"[:120] if done.returncode else ""
