"""Change sets and the merge queue as verbs: who may put what in line, who waits for it, and what its fate means."""

import json
from pathlib import Path
from typing import Any

import pytest

from rookery.core import kinds
from rookery.core.caller import Caller
from tests.support import workers
from tests.support.crew_rows import Worker, insert, landings
from tests.support.fakes import BOOT, HOST
from tests.support.stage import Build, Stage
from tests.unit.gitrepo import repository

OWNER = f"{HOST}:77:a"
COMMITS = ("e" * 40, "f" * 40)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build(land__auto=True)
    made.prober.states[(77, "a")] = "running"
    return made


def keeper(stage: Stage, verb: str, **args: Any) -> Any:
    caller = Caller(agent="system", host=HOST, boot=BOOT, open_addresses=True)
    return stage.call(verb, caller, owner=OWNER, **args)


def taken(stage: Stage, root: Path) -> list[str]:
    told = keeper(stage, "land.take", root=str(root), branch="main")
    return [each["id"] for each in told["landings"]]


def land(stage: Stage, root: Path) -> None:
    """What a lander tells of one that goes well."""
    for id in taken(stage, root):
        keeper(stage, "land.moving", ids=[id], links=[list(COMMITS)])
        keeper(stage, "land.done", ids=[id])


def fail(stage: Stage, root: Path, why: str = "it conflicts in a") -> None:
    (id,) = taken(stage, root)
    keeper(stage, "land.failed", id=id, reason=why)


def status(stage: Stage, task: str) -> str:
    return stage.call("task.show", id=task)["status"]


def new_task(stage: Stage, title: str = "T", **more: Any) -> str:
    return stage.call("task.add", title=title, **more)["id"]


# --- change sets ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_change_set_is_recorded_once_for_each_commit(stage: Stage, root: Path) -> None:
    worker = Worker(stage, root, "ada")
    worker.write(a__txt="x\n")
    first = worker.report()
    assert worker.report() == first
    (listed,) = stage.call("changes")["changes"]
    assert (listed["id"], listed["author"], listed["added"], listed["branch"]) == ("change-0001", "ada", 1, "main")
    shown = stage.call("changes.show", id=first)
    assert shown["files"] == [{"path": "a.txt", "added": 1, "removed": 0, "status": "A"}]
    assert stage.call("artifacts.show", id=listed["patch"])["content"].startswith("diff --git a/a.txt b/a.txt")
    worker.write(b__txt="x\n")
    assert worker.report() == "change-0002"
    assert [each["id"] for each in stage.call("changes", worker=worker.id)["changes"]] == ["change-0002", "change-0001"]


def test_nothing_changed_is_no_change_set(stage: Stage, root: Path) -> None:
    assert Worker(stage, root, "ada").report() == ""
    assert stage.call("changes")["changes"] == []


def test_a_long_patch_is_left_out_and_the_change_set_is_not(build: Build, root: Path) -> None:
    stage = build(changes__patch_limit=50)
    worker = Worker(stage, root, "ada")
    worker.write(a__txt="x\n" * 100)
    worker.report()
    (listed,) = stage.call("changes")["changes"]
    assert (listed["patch"], listed["added"]) == ("", 100)


def test_an_unknown_one_is_refused_with_where_to_look(stage: Stage) -> None:
    assert stage.refused("changes.show", id="change-9\x1b[31m").code == "UNKNOWN_CHANGE"
    assert stage.refused("land.add", change="nothing").code == "UNKNOWN_CHANGE"
    assert stage.refused("land.retry", id="land-9").code == "UNKNOWN_LANDING"


# --- who waits for it -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_dependents_wait_until_it_has_landed(stage: Stage, root: Path) -> None:
    first = new_task(stage)
    after = new_task(stage, deps=[first])
    Worker(stage, root, "ada").done(first, a__txt="x\n")
    assert status(stage, after) == "blocked"
    assert stage.refused("task.claim", "ada", id=after).message.startswith(f"It waits for {first}")
    land(stage, root)
    assert status(stage, after) == "pending"


def test_control_without_a_change_they_do_not(stage: Stage, root: Path) -> None:
    first = new_task(stage)
    after = new_task(stage, deps=[first])
    Worker(stage, root, "ada").done(first)
    assert status(stage, after) == "pending"


@pytest.mark.slow
def test_control_nor_when_nothing_lands_by_itself(build: Build, root: Path) -> None:
    stage = build()
    first = new_task(stage)
    after = new_task(stage, deps=[first])
    Worker(stage, root, "ada").done(first, a__txt="x\n")
    assert (status(stage, after), landings(stage)) == ("pending", {})


@pytest.mark.slow
def test_milestones_and_plans_wait_too(stage: Stage, root: Path) -> None:
    plan = stage.call("plan.new", goal="G", tasks=[{"title": "A"}, {"title": "All", "deps": ["1"], "milestone": True}])
    (task, milestone) = [each["id"] for each in stage.call("plan.show", id=plan["id"])["tasks"]]
    Worker(stage, root, "ada").done(task, a__txt="x\n")
    assert status(stage, milestone) != "completed"
    assert stage.call("plan.show", id=plan["id"])["status"] == "active"
    land(stage, root)
    assert status(stage, milestone) == "completed"
    assert stage.call("plan.show", id=plan["id"])["status"] == "completed"


@pytest.mark.slow
def test_one_that_failed_is_open_for_another_attempt_and_lets_nobody_go(stage: Stage, root: Path) -> None:
    first = new_task(stage)
    after = new_task(stage, deps=[first])
    worker = Worker(stage, root, "ada")
    worker.done(first, a__txt="x\n")
    fail(stage, root)
    assert (status(stage, first), status(stage, after)) == ("pending", "blocked")
    worker.done(first, a__txt="y\n")
    assert landings(stage) == {"change-0001": "failed", "change-0002": "queued"}
    assert status(stage, after) == "blocked"
    land(stage, root)
    assert status(stage, after) == "pending"


@pytest.mark.slow
def test_the_same_commit_reported_again_goes_back_into_the_line(stage: Stage, root: Path) -> None:
    task, worker = new_task(stage), Worker(stage, root, "ada")
    worker.done(task, a__txt="x\n")
    fail(stage, root, "a flaky check")
    worker.done(task)
    assert landings(stage) == {"change-0001": "queued"}


@pytest.mark.slow
def test_one_that_was_dropped_lets_them_go(stage: Stage, root: Path) -> None:
    first = new_task(stage)
    after = new_task(stage, deps=[first])
    Worker(stage, root, "ada").done(first, a__txt="x\n")
    stage.call("land.drop", id="land-0001", reason="by hand")
    assert (status(stage, first), status(stage, after)) == ("completed", "pending")


@pytest.mark.slow
def test_a_failed_one_that_lands_after_all_completes_its_task(stage: Stage, root: Path) -> None:
    first = new_task(stage)
    after = new_task(stage, deps=[first])
    Worker(stage, root, "ada").done(first, a__txt="x\n")
    fail(stage, root, "a flaky check")
    stage.call("land.retry", id="land-0001")
    land(stage, root)
    assert (status(stage, first), status(stage, after)) == ("completed", "pending")


@pytest.mark.slow
def test_what_is_being_worked_on_again_is_not_retried(stage: Stage, root: Path) -> None:
    task = new_task(stage)
    Worker(stage, root, "ada").done(task, a__txt="x\n")
    fail(stage, root)
    stage.call("task.claim", "ada", id=task)
    assert stage.refused("land.retry", id="land-0001").code == "TASK_HELD"


# --- review -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_to_be_judged_lands_when_it_ships_and_dependents_wait_for_both(stage: Stage, root: Path) -> None:
    first = new_task(stage, review=True)
    after = new_task(stage, deps=[first])
    Worker(stage, root, "ada").done(first, a__txt="x\n")
    stage.join("rev")
    assert landings(stage) == {}
    stage.call("task.review", id=first, verdict="SHIP")
    assert landings(stage) == {"change-0001": "queued"}
    assert status(stage, after) == "blocked"
    land(stage, root)
    assert status(stage, after) == "pending"


@pytest.mark.slow
def test_what_is_sent_back_does_not_land(stage: Stage, root: Path) -> None:
    task = new_task(stage, review=True)
    Worker(stage, root, "ada").done(task, a__txt="x\n")
    stage.join("rev")
    stage.call("task.review", "rev", id=task, verdict="NEEDS_WORK", feedback="no")
    assert landings(stage) == {}


@pytest.mark.slow
def test_nobody_lands_their_own_unjudged_work(stage: Stage, root: Path) -> None:
    task = new_task(stage, review=True)
    change = Worker(stage, root, "ada").done(task, a__txt="x\n")
    stage.join_all("rev", "eve")
    assert stage.refused("land.add", "ada", change=change).code == "NOT_YOURS"
    assert stage.refused("land.add", "eve", change=change).code == "NOT_YOURS"
    assert stage.call("land.add", change=change)["state"] == "queued", "the person decides"


@pytest.mark.slow
def test_asking_twice_is_asking_once(build: Build, root: Path) -> None:
    stage = build()
    worker = Worker(stage, root, "ada")
    worker.write(a__txt="x\n")
    change = worker.report()
    first = stage.call("land.add", change=change, branch="release/1")
    assert stage.call("land.add", change=change)["id"] == first["id"]
    assert (first["branch"], first["state"]) == ("release/1", "queued")


@pytest.mark.slow
@pytest.mark.parametrize("branch", ["-x", "../up", "a b", "a..b", "x.lock", "a:b", "a\x1bb", "a" * 300])
def test_a_branch_that_is_none_is_refused(build: Build, root: Path, branch: str) -> None:
    stage = build()
    worker = Worker(stage, root, "ada")
    worker.write(a__txt="x\n")
    assert stage.refused("land.add", change=worker.report(), branch=branch).code == "BAD_INPUT"


@pytest.mark.slow
def test_an_older_change_of_the_same_task_is_not_what_lands(build: Build, root: Path) -> None:
    stage = build()
    task, worker = new_task(stage), Worker(stage, root, "ada")
    worker.write(a__txt="x\n")
    old = worker.report(task, 1)
    worker.write(a__txt="y\n")
    worker.report(task, 1)
    refusal = stage.refused("land.add", change=old)
    assert (refusal.code, refusal.hint) == ("SUPERSEDED", "`rook land add change-0002`.")


@pytest.mark.slow
def test_agents_neither_drop_nor_undo_nor_retry(stage: Stage, root: Path) -> None:
    Worker(stage, root, "ada").done(new_task(stage), a__txt="x\n")
    for verb in ("land.drop", "land.undo", "land.retry"):
        assert stage.refused(verb, "ada", id="land-0001").code == "NOT_YOURS"


# --- a crew's own terms -----------------------------------------------------------------------------------------------


def crew(stage: Stage, **terms: Any) -> str:
    stage.join("boss")  # the team is there
    insert(
        stage.store.location, "crews", team=1, id="crew-0001", n=1, plan="", machine=HOST, root="", state="running",
        terms=json.dumps(terms), started_by=1, created_at=0, at=0,
    )  # fmt: skip
    return "crew-0001"


@pytest.mark.slow
@pytest.mark.parametrize(("terms", "wanted"), [({"land": True}, True), ({"land": False}, False), ({}, False)])
def test_a_crew_says_whether_its_work_lands(build: Build, root: Path, terms: dict[str, Any], wanted: bool) -> None:
    stage = build()
    worker = Worker(stage, root, "ada", crew=crew(stage, **terms))
    worker.done(new_task(stage), a__txt="x\n")
    assert bool(landings(stage)) is wanted


@pytest.mark.slow
def test_a_crew_says_what_is_checked_and_only_what_is_checked_alike_is_checked_together(
    build: Build, root: Path
) -> None:
    stage = build(land__auto=True, land__batch=5, land__check=["make", "test"])
    Worker(stage, root, "ada", crew=crew(stage, check=["true", "$(x)"])).done(new_task(stage), a__txt="x\n")
    Worker(stage, root, "bob").done(new_task(stage), b__txt="x\n")
    told = keeper(stage, "land.take", root=str(root), branch="main")
    assert (told["check"], [each["author"] for each in told["landings"]]) == (["true", "$(x)"], ["ada"])


# --- fences -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_word_of_one_that_has_it_no_longer_is_refused(stage: Stage, root: Path) -> None:
    Worker(stage, root, "ada").done(new_task(stage), a__txt="x\n")
    (id,) = taken(stage, root)
    stage.call("land.drop", id=id)
    system = Caller(agent="system", host=HOST, boot=BOOT, open_addresses=True)
    for verb, args in {
        "land.moving": {"ids": [id], "links": [list(COMMITS)]},
        "land.done": {"ids": [id]},
        "land.waits": {"ids": [id], "reason": "x"},
        "land.failed": {"id": id, "reason": "x"},
    }.items():
        assert stage.refused(verb, system, owner=OWNER, **args).code == "LAND_LOST"
    assert keeper(stage, "land.keep", ids=[id])["kept"] == []


@pytest.mark.slow
def test_nothing_is_done_that_was_not_written_down_before(stage: Stage, root: Path) -> None:
    Worker(stage, root, "ada").done(new_task(stage), a__txt="x\n")
    (id,) = taken(stage, root)
    system = Caller(agent="system", host=HOST, boot=BOOT, open_addresses=True)
    assert stage.refused("land.done", system, owner=OWNER, ids=[id]).code == "LAND_LOST"
    refused = stage.refused("land.moving", system, owner=OWNER, ids=[id], links=[["a", "b"], ["c", "d"]])
    assert refused.code == "BAD_INPUT"


@pytest.mark.slow
def test_while_the_branch_moves_it_can_not_be_dropped(stage: Stage, root: Path) -> None:
    Worker(stage, root, "ada").done(new_task(stage), a__txt="x\n")
    (id,) = taken(stage, root)
    keeper(stage, "land.moving", ids=[id], links=[list(COMMITS)])
    assert stage.refused("land.drop", id=id).code == "MOVING"
    keeper(stage, "land.waits", ids=[id], reason="a file of the person is in the way")
    assert stage.call("land.drop", id=id)["state"] == "dropped"


@pytest.mark.slow
def test_another_machine_is_given_nothing(stage: Stage, root: Path) -> None:
    Worker(stage, root, "ada", machine="elsewhere").done(new_task(stage), a__txt="x\n")
    assert keeper(stage, "land.due") == {"branches": [], "next_ms": None}
    assert stage.call("land.teams")["teams"] == []
    assert landings(stage) == {"change-0001": "queued"}


@pytest.mark.slow
def test_queueing_rings_whoever_lands_and_the_log_tells_all_of_it(stage: Stage, root: Path) -> None:
    Worker(stage, root, "ada").done(new_task(stage), a__txt="x\n")
    assert any(":land" in rung for rung in stage.bell.rung)
    land(stage, root)
    told = [event["type"] for event in stage.events() if event["type"].startswith("land.")]
    assert told == ["land.queued", "land.started", "land.landed"]
    shown = [each["type"] for each in stage.call("feed")["events"]]
    assert set(told) <= set(shown)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "lands"), [("scout", False), ("implementer", True)])
def test_h34_nothing_lands_of_a_worker_that_only_reads(stage: Stage, root: Path, kind: str, lands: bool) -> None:
    """However it came to have a change set: a worktree that was asked for by hand, an edit that no hook saw."""
    worker = Worker(stage, root, "ada")
    profile = json.dumps(kinds.as_data(workers.built_in(kind)))
    workers.change(stage.store.location, worker.id, kind=kind, profile=profile)
    change = worker.done(new_task(stage), a__txt="x\n")
    assert bool(landings(stage)) is lands
    if not lands:
        assert stage.refused("land.add", None, change=change).code == "READ_ONLY"
        assert stage.refused("land.add", change=change).code == "READ_ONLY"


# --- worktrees that nobody needs any more -----------------------------------------------------------------------------


def end(stage: Stage, worker: Worker, task: str = "") -> None:
    workers.change(stage.store.location, worker.id, state="ended", task=task, ended_at=1)


def done_with(stage: Stage, *those: Worker) -> list[str]:
    return stage.call("worker.trees", "system", ids=[each.id for each in those])["ids"]


@pytest.mark.slow
def test_a_worktree_is_done_with_once_its_task_landed_and_its_worker_is_over(stage: Stage, root: Path) -> None:
    task = new_task(stage)
    ada, bob = Worker(stage, root, "ada"), Worker(stage, root, "bob")
    end(stage, bob, task)  # it had the task before, and crashed
    change = ada.done(task, a__txt="x\n")
    head = stage.call("changes.show", id=change)["head"]
    assert done_with(stage, ada, bob) == [], "it waits to land"
    assert stage.call("worker.reclaim", "system", id=bob.id)["root"] == ""
    land(stage, root)
    assert done_with(stage, ada, bob) == [bob.id], "a worker that runs keeps it"
    end(stage, ada, task)
    assert done_with(stage, ada, bob) == [ada.id, bob.id]
    told = stage.call("worker.reclaim", "system", id=ada.id)
    assert (told["root"], told["landed"], told["open"], told["keep"]) == (str(root), [head], [], ada.keep)
    assert stage.call("worker.show", id=ada.id)["tree"] is None
    assert stage.call("worker.reclaim", "system", id=ada.id) == told, "whoever was killed over it goes on"


@pytest.mark.slow
def test_a_worktree_is_needed_while_its_task_may_come_back_or_nothing_lands(stage: Stage, root: Path) -> None:
    task, other = new_task(stage), new_task(stage)
    ada, bob, eve = (Worker(stage, root, name) for name in ("ada", "bob", "eve"))
    ada.done(task, a__txt="x\n")
    fail(stage, root)
    end(stage, ada, task)  # to be done again
    end(stage, bob, other)  # nobody did it yet
    end(stage, eve)
    assert done_with(stage, ada, bob, eve) == []
