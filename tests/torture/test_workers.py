"""Workers and their supervisor killed at moments nobody chose: none lost, none doubled, nothing left behind."""

import os
import random
import signal
from collections.abc import Generator
from contextlib import ExitStack

import pytest

from tests.support.doors import Running
from tests.support.panes import until
from tests.support.supervised import PROGRAM, Site, site
from tests.support.trusting import trust_repository

pytestmark = [pytest.mark.torture, pytest.mark.tmux, pytest.mark.timeout(900)]

KILLS, DAEMON_KILLS, WORKERS = 25, 8, 6
BACKENDS = ("headless", "tmux", "pty")
# It works for a while in small steps, and says how often it was begun; a kind that is started anew after a crash.
STEADY = PROGRAM.replace('echo "hello', 'sleep 1000 & echo "hello')
KIND = """\
---
name: steady
description: goes on
respawn:
  policy: on-crash
  limit: 1000
  backoff_s: 0
---
Go on.
"""


@pytest.fixture
def here() -> Generator[Site]:
    with site(ROOK_WORKER_LIMIT=str(WORKERS), ROOK_WORKER_TERM_S="5") as made:
        made.program("program", text=STEADY)
        (made.repo / ".rook" / "kinds").mkdir(parents=True)
        (made.repo / ".rook" / "kinds" / "steady.md").write_text(KIND)
        trust_repository(made.repo, made.house.environ)
        yield made


class Daemons:
    """One daemon at a time; killed, another takes its place."""

    def __init__(self, here: Site, stack: ExitStack) -> None:
        self._here = here
        self._stack = stack
        self.now: Running = stack.enter_context(here.up())

    def replace(self) -> None:
        self.now.process.kill()
        self.now.wait()
        self.now = self._stack.enter_context(self._here.up())


def one_process_each(here: Site, ids: list[str]) -> bool:
    """Every worker runs in exactly one run, the one that the ledger says."""
    cards = [here.card(id) for id in ids]
    if any(card["state"] != "running" for card in cards):
        return False
    known = {card["runs"][0]["id"] for card in cards}
    return {run_of(pid) for pid in here.processes()} == known


def killed_one(here: Site, chance: random.Random) -> bool:
    """A program, or the shell that waits for it: not the small commands that it runs."""
    victims = sorted(pid for pid, command in here.processes().items() if "sleep" not in command.split()[:1])
    if not victims:
        return False
    try:
        os.kill(chance.choice(victims), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def run_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            said = [each for each in file.read().split(b"\0") if each.startswith(b"ROOK_RUN=")]
        return said[0].partition(b"=")[2].decode() if said else ""
    except OSError:
        return ""


def test_kills_of_workers_and_daemons_lose_and_double_nothing(here: Site) -> None:
    chance = random.Random(6)
    ids: list[str] = []
    with ExitStack() as stack:
        daemons = Daemons(here, stack)
        for number in range(WORKERS):
            ids.append(here.spawn(backend=BACKENDS[number % 3], kind="steady"))
        daemon_at = set(chance.sample(range(KILLS), DAEMON_KILLS))
        for number in range(KILLS):
            until(lambda: killed_one(here, chance), "nobody to kill", 120)
            if number in daemon_at:
                daemons.replace()
        until(
            lambda: one_process_each(here, ids), lambda: ([here.card(id)["state"] for id in ids], here.processes()), 180
        )
        runs = [run for id in ids for run, _ in here.starts(id)]
        assert len(runs) == len(set(runs)), "no run was begun twice"
        for id in ids:
            task = here.call("task.show", id=here.card(id)["task"])
            assert (task["status"], task["lease"]["holder"]) == ("in_progress", here.card(id)["name"])
        assert len(here.worktrees()) == WORKERS
        assert daemons.now.stop(signal.SIGUSR1)[0] == 0
    here.nothing_runs()
    assert {here.card(id)["state"] for id in ids} == {"ended"}
    assert not list(here.home.glob("teams/*/workers/*/token"))
    for id in ids:
        assert here.call("task.show", id=here.card(id)["task"])["lease"] is None
    with here.up(ROOK_WORKER_PRUNE_S="0", ROOK_WORKER_TIDY_S="0.1"):
        until(lambda: not here.worktrees(), here.worktrees)
    assert not list(here.home.glob("teams/*/workers/*"))
