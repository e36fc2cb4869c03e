"""Hazards of workers: how systems that start agents were seen to break, and that this one does not."""

import os
import signal
import subprocess
from collections.abc import Generator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from rookery.runtime import process, repository, runs
from rookery.runtime.changesets import Worktrees
from tests.support.panes import until
from tests.support.supervised import Site, site
from tests.unit.gitrepo import git
from tests.unit.gitrepo import repository as new_repository

# --- H38: a worker's change set is its own ----------------------------------------------------------------------------


def captured_beside_another(tmp_path: Path, shared: bool) -> list[str]:
    """The files of ada's change set, while bob works on the same repository and ada takes in the branch."""
    root = new_repository(tmp_path / "repo")
    base = repository.commit_of(str(root))
    ada, bob = (root, root) if shared else (tmp_path / "ada", tmp_path / "bob")
    for tree in {ada, bob} - {root}:
        repository.add_worktree(str(root), str(tree), base)
    (bob / "bob.txt").write_text("by bob\n")
    git("add", "-A", cwd=bob)
    git("commit", "-qm", "by bob", cwd=bob)
    (root / "person.txt").write_text("by a person\n")
    git("add", "person.txt", cwd=root)
    git("commit", "-qm", "by a person", cwd=root)
    (ada / "ada.txt").write_text("by ada\n")
    git("add", "-A", cwd=ada)
    git("commit", "-qm", "by ada", cwd=ada)
    if not shared:
        git("merge", "-q", "--no-edit", "main", cwd=ada)
        (ada / "more.txt").write_text("by ada\n")
    branch = "" if not shared else "no-such-branch"
    found = Worktrees().capture(str(ada), base, "ada", "done", root=str(root), branch=branch)
    return sorted(each["path"] for each in found.files)


def test_h38_a_change_set_is_its_own_workers_though_others_work_and_it_merged_the_branch(tmp_path: Path) -> None:
    assert captured_beside_another(tmp_path, shared=False) == ["ada.txt", "more.txt"]


def test_control_in_a_shared_tree_it_includes_what_others_committed(tmp_path: Path) -> None:
    assert captured_beside_another(tmp_path, shared=True) == ["ada.txt", "bob.txt", "person.txt"]


def test_h38_a_second_attempt_that_goes_on_from_the_first_has_both_and_nothing_else(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "repo")
    first, second = tmp_path / "first", tmp_path / "second"
    base = repository.commit_of(str(root))
    repository.add_worktree(str(root), str(first), base)
    (first / "one.txt").write_text("x\n")
    head = Worktrees().capture(str(first), base, "ada", "first", root=str(root)).head
    (root / "other.txt").write_text("x\n")
    git("add", "-A", cwd=root)
    git("commit", "-qm", "another one landed", cwd=root)
    repository.add_worktree(str(root), str(second), head)
    (second / "two.txt").write_text("x\n")
    found = Worktrees().capture(str(second), head, "ada", "second", root=str(root))
    assert sorted(each["path"] for each in found.files) == ["one.txt", "two.txt"]


# --- real programs, supervised ----------------------------------------------------------------------------------------


@pytest.fixture
def here() -> Generator[Site]:
    with site() as made:
        yield made


@pytest.mark.tmux
@pytest.mark.slow
def test_h16_three_concurrent_spawns_get_three_panes(here: Site) -> None:
    with here.up():
        ids = [here.spawn(backend="tmux") for _ in range(3)]
        assert ids == ["w1", "w2", "w3"]
        cards = [here.becomes("running", id) for id in ids]
        panes = [card["terminal"]["pane"] for card in cards]
        assert len(set(panes)) == 3
        listed = {pane: (int(first), run) for pane, first, run in (line.split() for line in here.windows())}
        assert {pane: listed[pane][0] for pane in panes} == {c["terminal"]["pane"]: c["pid"] for c in cards}
        assert [listed[pane][1] for pane in panes] == [card["runs"][0]["id"] for card in cards]
        here.finish(0)
        for id in ids:
            here.becomes("ended", id)
        here.nothing_runs()


def test_h36_a_worker_killed_without_a_word_holds_nothing(here: Site) -> None:
    with here.up(ROOK_WORKER_LIMIT="1"):
        name = here.call("worker.show", id=here.spawn())["name"]
        here.spawn()
        here.begun("w1")
        card = here.becomes("running", "w1")
        assert here.starts("w2") == [], "there is room for one"
        os.kill(card["pid"], signal.SIGKILL)
        assert here.becomes("ended", "w1")["ending"] == "crashed"
        assert here.call("task.show", id="task-0001")["status"] == "pending"
        assert here.call("whois", name=name)["liveness"] == "ended"
        here.begun("w2")
        assert here.processes(card["runs"][0]["id"]) == {}, "nor do its children go on"


def test_h28_work_longer_than_its_lease_keeps_it_and_a_lost_lease_ends_the_work(here: Site) -> None:
    with here.up(ROOK_TASKS_TTL_S="1", ROOK_WORKER_GRACE_S="0"):
        here.spawn()
        here.begun()
        here.becomes("running")
        first = here.call("task.show", id="task-0001")["lease"]
        until(lambda: here.call("task.show", id="task-0001")["lease"]["expiresAt"] > later(first["expiresAt"], 2))
        assert here.call("task.show", id="task-0001")["lease"]["epoch"] == first["epoch"]
        here.call("task.cancel", id="task-0001")
        card = here.becomes("ended")
        assert card["ending"] == "stopped"
        assert [each["ref"] for each in here.events("worker.lost")] == ["w1"]
        here.nothing_runs()


def later(stamp: str, seconds: int) -> str:
    return (datetime.fromisoformat(stamp) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def test_h14_h18_only_the_very_process_that_was_seen_is_signalled() -> None:
    victim, bystander = (subprocess.Popen(["sleep", "1000"], env={"PATH": os.environ["PATH"]}) for _ in range(2))
    try:
        seen = process.identify(victim.pid)
        assert seen
        assert not runs.send(seen._replace(started=f"{seen.started}0"), signal.SIGKILL), "its number, another's start"
        assert not runs.send(seen._replace(pid=bystander.pid), signal.SIGKILL)
        assert victim.poll() is bystander.poll() is None
        assert runs.send(seen, signal.SIGKILL), "a control: it can be hit"
        assert victim.wait(30) == -signal.SIGKILL
        assert bystander.poll() is None
    finally:
        for each in (victim, bystander):
            each.kill()
            each.wait()


def test_h14_only_what_carries_a_run_is_ended_with_it() -> None:
    base, run = {"PATH": os.environ["PATH"]}, f"run-{os.getpid()}"
    mine = subprocess.Popen(["sh", "-c", "sleep 1000 & wait"], env={**base, "ROOK_RUN": run}, start_new_session=True)
    others = [
        subprocess.Popen(["sleep", "1000"], env=each, start_new_session=True)
        for each in (
            base,
            {**base, "ROOK_RUN": f"{run}0"},
            {**base, "NOT_ROOK_RUN": run},
            {**base, "X": f"ROOK_RUN={run}"},
        )
    ]
    try:
        until(lambda: len(runs.members(run)) == 2)
        done = runs.end(run, process.identify(mine.pid), 5.0, reap=mine.poll)
        assert (done.killed, done.left) == (0, 0)
        assert runs.members(run) == []
        assert [each.poll() for each in others] == [None] * 4
        assert runs.end("", None, 0.0) == runs.Ended(), "no run is nobody's"
    finally:
        for each in (mine, *others):
            each.kill()
            each.wait()
