"""A crew killed while it works, daemon and workers alike: every task is completed once, lands once, and nothing is left
behind (ADR 0035)."""

import os
import random
import signal
import subprocess

import pytest

from tests.support import ledger
from tests.support.crew_program import STEPS
from tests.support.crewrun import CrewRun, crew_run
from tests.support.panes import until
from tests.unit.gitrepo import git

SEED = int(os.environ.get("TORTURE_SEED", "6"))
DAEMONS, WORKERS, AT_LEAST = 10, 27, 25  # the last ones may find nobody any more
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
        assert sum(crew.worker_kills.values()) >= AT_LEAST, "it was over before: this shows little"
        assert len(crew.worker_kills) >= 4, "at steps of all sorts"


@pytest.mark.torture
def test_daemons_and_workers_are_killed_in_the_same_run() -> None:
    with crew_run(15) as crew:
        killed(crew, DAEMONS // 2, WORKERS // 3, SEED)
        ends_well(crew)
        assert crew.daemon_kills
        assert crew.worker_kills


# -- without what makes it so ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_daemon_that_knows_only_whom_it_started_leaves_them_behind() -> None:
    """The control: of a crew whose daemon is replaced by such a one, the same checks find what is wrong."""
    with crew_run(4) as crew:
        crew.start()
        until(lambda: any(crew.at(step) for step in STEPS), crew.story)
        crew.replace_daemon("tests.support.forgetful", FORGETS="workers")
        until(lambda: crew.lost() and not crew.here.processes(), crew.story)
        crew.daemon.stop()
        assert not crew.is_over()
        assert any(each.startswith("runs: ") for each in crew.left_behind())
        assert crew.problems() != []


@pytest.mark.slow
def test_a_landing_that_is_told_before_the_branch_moves_is_none() -> None:
    """The control: one that dies in between loses the work, and the same checks see it."""
    with crew_run(4, "tests.support.forgetful", FORGETS="landing") as crew:
        crew.start()
        crew.daemon.wait()
        crew.replace_daemon()
        crew.finish()
        assert [each for each in crew.problems() if "did not land once" in each]


BROKEN = {
    "completed in": "INSERT INTO events (team, seq, at, type, actor, ref) "
    "SELECT team, max(seq) + 1, max(at), 'task.done', 'system', 'task-0001' FROM events",
    "is pending": "UPDATE tasks SET status = 'pending' WHERE id = 'task-0002'",
    "landed,dropped": "INSERT INTO landings (team, id, n, change, task, worker, machine, root, branch, head, state, "
    "asked_by, created_at, at) SELECT team, 'land-9', 99, change, task, worker, machine, root, branch, head, "
    "'dropped', asked_by, created_at, at FROM landings LIMIT 1",
    "leases: ": "UPDATE tasks SET status = 'in_progress', holder = 1 WHERE id = 'task-0001'",
    "runs: ": "UPDATE runs SET ended_at = NULL",
    "live tokens: ": "UPDATE tokens SET revoked_at = NULL",
    "workers: ": "UPDATE workers SET state = 'running'",
}


@pytest.mark.slow
def test_what_is_broken_is_seen() -> None:
    """The control of the checks themselves: whatever is put wrong by hand in a crew that ended well, they tell."""
    with crew_run(2) as crew:
        crew.start()
        ends_well(crew)
        repo, path = crew.here.repo, str(crew.here.home / "rookery.db")

        def told() -> str:
            return "\n".join([*crew.problems(), *crew.left_behind()])

        for word, statement in BROKEN.items():
            assert word not in told()
            with ledger.writing(path) as connection:
                connection.execute(statement)
            assert word in told()
        git("worktree", "add", "-q", "--detach", str(crew.here.home / "stray"), cwd=repo)
        git("update-ref", "refs/rookery/x/w1/0", "HEAD", cwd=repo)
        (repo / "work" / "1.txt").write_text("twice\n")
        git("commit", "-qam", "Land change-0001: Task 1", cwd=repo)
        stray = {**crew.daemon.environ, "ROOK_RUN": "run-stray"}
        with subprocess.Popen(["sleep", "1000"], env=stray) as process:
            for word in ("worktrees: ", "refs: ", "did not land once", "does not fit", "the branch has", "processes: "):
                assert word in told()
            process.kill()
