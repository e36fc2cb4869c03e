"""What `rook up` takes while a hundred agents wait in a hundred terminals and nothing is pending."""

import os
import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rookery import app
from rookery.runtime import process, tmux

from . import scene
from .door import daemon
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes

PANES = 100
EVERY_S, OFTEN_S, NEVER_S = 30.0, 1.0, 86_400.0  # between two looks: as it is set, as it is measured, and without any
ALLOWED_MS = 20.0  # per second: two percent of a core
TITLE, AGAINST = "100 agents in tmux panes, nothing pending", "2 % of a core"


def measure(place: Scene, sizes: Sizes) -> Section:
    if not shutil.which("tmux"):
        return Section(TITLE, AGAINST, [_row(None, "tmux is not there")])
    home = place.home("panes")
    with _crew(home):
        # A look is so rare that a short measurement would miss it: it is taken thirty times as often, and counted once.
        resting = _taken_ms(place, home, NEVER_S, sizes.idle_s)
        watching = _taken_ms(place, home, OFTEN_S, sizes.idle_s)
        missed = PANES - _looked_at(home)
    look = max(0.0, watching - resting) * OFTEN_S
    note = f"{missed} of {PANES} sessions were not looked at" if missed else ""
    return Section(TITLE, AGAINST, [
        _row(None if missed else resting + look / EVERY_S, note),
        Row("the same without its watcher", resting, ALLOWED_MS, "ms"),
        Row(f"one look at all {PANES}, every {EVERY_S:.0f} s", look, None, "ms"),
    ])  # fmt: skip


def _row(ours: float | None, note: str) -> Row:
    return Row("processor time per second", ours, ALLOWED_MS, "ms", at_most(1.0), note)


# -- the crew --------------------------------------------------------------------------------------------------------


@contextmanager
def _crew(home: str) -> Generator[None]:
    """A private tmux server with a waiting program in every pane, each joined as an agent that is reached there."""
    folder = tempfile.mkdtemp(prefix="rook-bench-tmux-")
    socket = os.path.join(folder, "s")
    try:
        panes = [_pane(socket) for _ in range(PANES)]
        server = int(tmux.run(socket, ["display-message", "-p", "#{pid}"]).out)
        house = app.open_house(cwd=os.path.dirname(home), environ={"ROOK_HOME": home, "ROOK_TEAM": scene.TEAM})
        for number, (pane, pid) in enumerate(panes):
            _join(house, f"agent{number}", pid, tmux.address(socket, server, pane))
        house.close()
        yield
    finally:
        tmux.run(socket, ["kill-server"])
        shutil.rmtree(folder)


def _pane(socket: str) -> tuple[str, int]:
    words = ["-f", "/dev/null", "new-session", "-d", "-P", "-F", "#{pane_id} #{pane_pid}", "cat"]
    said = tmux.run(socket, words)
    if said.code:
        raise AssertionError(said.err)
    pane, pid = said.out.split()
    return pane, int(pid)


def _join(house: app.House, name: str, pid: int, terminal: dict[str, str] | None) -> None:
    bound = process.identify(pid)
    if bound is None or terminal is None:
        raise AssertionError(f"the process of {name} can not be looked at")
    house.client.call("join", {"name": name, "terminal": terminal}, house.caller(None, process=tuple(bound)))


def _looked_at(home: str) -> int:
    with scene.team(home) as team:
        return sum(bool(agent["memory"]) for agent in team.call("who")["agents"])


# -- what it takes ---------------------------------------------------------------------------------------------------


def _taken_ms(place: Scene, home: str, every_s: float, idle_s: float) -> float:
    with daemon(place.environment(home) | {"ROOK_MONITOR_EVERY_S": str(every_s)}) as told:
        time.sleep(1.5 * OFTEN_S)  # what a daemon does when it begins is not what it does while nothing happens
        before = cpu_ms(told)
        time.sleep(idle_s)  # the thing measured
        return (cpu_ms(told) - before) / idle_s


def cpu_ms(told: dict[str, Any]) -> float:
    """Of its threads, to the nanosecond, and of the programs it ran, to the tick."""
    threads = Path(f"/proc/{told['pid']}/task").iterdir()
    own = sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1_000_000
    fields = Path(f"/proc/{told['pid']}/stat").read_text().rpartition(")")[2].split()
    return own + (int(fields[13]) + int(fields[14])) * 1000 / os.sysconf("SC_CLK_TCK")
