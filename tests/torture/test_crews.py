"""A crew killed while it works, daemon and workers alike: every task is completed once, lands once, and nothing is left
behind (ADR 0035)."""

import random
import signal

import pytest

from tests.support.crewrun import CrewRun, crew_run

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


def kill_daemons(crew: CrewRun, times: int, seed: int) -> None:
    chance = random.Random(seed)
    crew.start()
    for _ in range(times):
        if not crew.kill_daemon(chance):
            break


def kill_workers(crew: CrewRun, times: int, seed: int) -> None:
    chance = random.Random(seed)
    crew.start()
    for _ in range(times):
        if not crew.kill_worker(chance):
            break


@pytest.mark.torture
def test_the_daemon_is_killed_again_and_again() -> None:
    with crew_run(30) as crew:
        kill_daemons(crew, 12, seed=6)
        ends_well(crew)
        assert crew.daemon_kills >= 6, "it was over before: this shows little"
        assert crew.crashed() == [], "workers do not notice"


@pytest.mark.torture
def test_workers_are_killed_again_and_again() -> None:
    with crew_run(30) as crew:
        kill_workers(crew, 25, seed=6)
        ends_well(crew)
        assert sum(crew.worker_kills.values()) == 25
