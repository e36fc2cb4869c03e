"""What a command costs through the fast door of a running daemon, against an interpreter that only starts."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from . import scene
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .start import NOTHING, ROOK, refusal, run
from .timing import median, once_ms

BOUND = at_most(1.6)
INBOX, SEND, ALONE = "rook inbox --json", "rook send --json", "rook inbox --json, not through the door"
THROUGH = {
    INBOX: (ROOK, "inbox", "--json"),
    SEND: (ROOK, "send", "reader", "-s", scene.SUBJECT, "-m", scene.BODY, "--json"),
}
COMMANDS = THROUGH | {ALONE: (sys.executable, "-m", "rookery.front.cli.main", "inbox", "--json")}
DAEMON = (sys.executable, "-m", "rookery", "up", "--port", "0", "--json")
TITLE, AGAINST = "Command line, with a daemon", "python -c pass"


def measure(place: Scene, sizes: Sizes) -> Section:
    home = place.home("door")
    with scene.team(home) as team:
        me, _ = team.join("me"), team.join("reader")
        team.agent("reader").send(me.name, scene.SUBJECT, scene.BODY)
        environment = place.environment(home) | {"ROOK_AGENT": me.name}
        with daemon(environment) as told:
            if reason := next(filter(None, (refusal(command, environment) for command in COMMANDS.values())), ""):
                return Section(TITLE, AGAINST, [Row(INBOX, None, None, "ms", BOUND, reason)])
            before = commands_run(told)
            times = _taken(environment, sizes.starts)
            through = commands_run(told) - before
    return Section(TITLE, AGAINST, rows(times, through))


def rows(times: dict[str, list[float]], through: int) -> list[Row]:
    """`through`: how many commands the daemon says it ran. One that went another way would be another measurement."""
    floor = median(times[""])
    asked = sum(len(times[name]) for name in THROUGH)
    if through != asked:
        return [Row(INBOX, None, floor, "ms", BOUND, f"{asked} commands were run, {through} of them by the daemon")]
    return [
        Row(name, median(times[name]), floor, "ms", BOUND if name == INBOX else None) for name in (INBOX, SEND, ALONE)
    ]


def _taken(environment: dict[str, str], starts: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in ("", *COMMANDS)}
    for _ in range(starts):
        for name, taken in times.items():
            taken.append(once_ms(lambda name=name: run(COMMANDS.get(name, NOTHING), environment)))
    return times


@contextmanager
def daemon(environment: dict[str, str]) -> Generator[dict[str, Any]]:
    """`rook up`; what it says about where it is."""
    with subprocess.Popen(
        DAEMON, env=environment, cwd=environment["HOME"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def commands_run(told: dict[str, Any]) -> int:
    asked = urllib.request.Request(told["url"] + "/metrics", headers={"Authorization": f"Bearer {told['token']}"})
    with urllib.request.urlopen(asked) as answer:
        lines = answer.read().decode().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("rook_commands_total ")))
