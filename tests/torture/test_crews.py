"""A crew killed while it works, daemon and workers alike: every task is completed once, lands once, and nothing is left
behind (ADR 0035)."""

import os
import random
import signal

import pytest

from tests.support.crewrun import CrewRun, crew_run

SEED = int(os.environ.get("TORTURE_SEED", "6"))
DAEMONS, WORKERS = 10, 25
pytestmark = [pytest.mark.tmux, pytest.mark.timeout(900)]


def ends_well(crew: CrewRun) -> None:
    crew.finish()
    assert crew.problems() == []
    code, complaints = crew.daemon.stop(signal.SIGUSR1)
    assert (code, complaints) == (0, "")
    assert crew.left_behind() == []


@pytest.mark.slow
def test_nobody_is_killed() -> None:
    """What the others are measured by."""
    with crew_run(6) as crew:
        crew.start()
        ends_well(crew)


def killed(crew: CrewRun, daemons: int, workers: int, seed: int) -> None:
    """So many of each, in an order that nobody chose."""
    chance = random.Random(seed)
    crew.start()
    kills = [crew.kill_daemon] * daemons + [crew.kill_worker] * workers
    chance.shuffle(kills)
    for kill in kills:
        if not kill(chance):
            return


@pytest.mark.slow
def test_a_few_are_killed() -> None:
    with crew_run(8) as crew:
        killed(crew, 2, 4, seed=1)
        ends_well(crew)


@pytest.mark.torture
def test_the_daemon_is_killed_again_and_again() -> None:
    with crew_run(30) as crew:
        killed(crew, DAEMONS, 0, SEED)
        ends_well(crew)
        assert crew.daemon_kills >= DAEMONS // 2, "it was over before: this shows little"
        assert crew.crashed() == [], "workers do not notice"


@pytest.mark.torture
def test_workers_are_killed_again_and_again() -> None:
    with crew_run(30) as crew:
        killed(crew, 0, WORKERS, SEED)
        ends_well(crew)
        assert sum(crew.worker_kills.values()) >= WORKERS - 1, "it was over before: this shows little"
        assert len(crew.worker_kills) >= 4, "at steps of all sorts"


@pytest.mark.torture
def test_daemons_and_workers_are_killed_in_the_same_run() -> None:
    with crew_run(30) as crew:
        killed(crew, DAEMONS, WORKERS, SEED)
        ends_well(crew)
        assert crew.daemon_kills
        assert crew.worker_kills
