"""Workers as rows: asked for, begun, started, watched, ended; fenced by the run at every step."""

from typing import Any

import pytest

from rookery.core import errors
from tests.support.stage import SECOND, Build, Stage

OWNER = "here:1:t1"


@pytest.fixture
def stage(build: Build) -> Stage:
    return build()


def spawn(stage: Stage, assignment: str = "Parse the header", as_: str | None = None, **more: Any) -> dict[str, Any]:
    return stage.call("spawn", stage.caller(as_, tree="/work"), assignment=assignment, **more)


def begin(stage: Stage, id: str) -> dict[str, Any]:
    return stage.call("worker.begin", "system", id=id, owner=OWNER)["worker"]


def start(stage: Stage, id: str) -> tuple[str, tuple[int, str]]:
    run, process = begin(stage, id)["run"], stage.process()
    told = stage.call("worker.started", "system", id=id, run=run, pid=process[0], since=process[1], tree="/tree/w1")
    assert told["fenced"] is False
    return run, process


def due(stage: Stage) -> dict[str, Any]:
    return stage.call("worker.due", "system")


def card(stage: Stage, id: str = "w1") -> dict[str, Any]:
    return stage.call("worker.show", id=id)


def over(stage: Stage, id: str, run: str, reason: str = "crashed", **more: Any) -> dict[str, Any]:
    return stage.call("worker.ended", "system", id=id, run=run, reason=reason, **more)


def test_from_the_request_to_a_task_that_is_held(stage: Stage) -> None:
    made = spawn(stage)
    assert (made["id"], made["status"], made["task"]) == ("w1", "queued", "task-0001")
    assert due(stage)["begin"] == ["w1"]
    assert any("*workers" in names for names in stage.bell.rung)
    start(stage, "w1")
    task = stage.call("task.show", id="task-0001")
    assert (task["status"], task["lease"]["holder"]) == ("in_progress", made["name"])
    assert card(stage)["status"] == "thinking"
    assert [each["id"] for each in due(stage)["watch"]] == ["w1"]


def test_a_task_that_is_there_is_kept_for_its_worker(stage: Stage) -> None:
    stage.call("task.add", title="Parse")
    made = spawn(stage, "task-0001")
    stage.join("ada")
    assert stage.refused("task.claim", "ada", id="task-0001").code == "TASK_NOT_CLAIMABLE"
    assert stage.refused("spawn", stage.caller(tree="/work"), assignment="task-0001").code == "TASK_NOT_CLAIMABLE"
    assert stage.call("worker.show", id=made["name"])["id"] == "w1", "found by its name too"


def test_what_one_run_says_of_another_counts_for_nothing(stage: Stage) -> None:
    spawn(stage)
    run, _ = start(stage, "w1")
    assert begin(stage, "w1") is None, "it is begun once"
    before = stage.rows()
    assert stage.call("worker.started", "system", id="w1", run="run-x", pid=1, since="x")["fenced"] is True
    assert over(stage, "w1", "run-x")["fenced"] is True
    assert stage.call("worker.stopping", "system", id="w1", run="run-x")["changed"] is False
    assert stage.rows()["workers"] == before["workers"]
    assert over(stage, "w1", run)["fenced"] is False
    assert over(stage, "w1", run)["fenced"] is True, "a run ends once"


def test_a_worker_that_ends_without_a_word_gives_its_task_back_and_its_asker_is_told(stage: Stage) -> None:
    stage.join("ada")
    spawn(stage, as_="ada")
    run, _ = start(stage, "w1")
    over(stage, "w1", run, exit_code=3, tail="one\x1b[31m\ntwo")
    assert (card(stage)["status"], card(stage)["exit_code"]) == ("failed", 3)
    task = stage.call("task.show", id="task-0001")
    assert (task["status"], task["owner"]) == ("pending", None)
    letter = stage.inbox("ada")[0]
    assert "ended without a report" in letter["subject"]
    assert "\x1b" not in letter["body"]


def test_respawn_by_hand_hands_the_task_on_under_a_new_epoch(stage: Stage) -> None:
    spawn(stage)
    run, _ = start(stage, "w1")
    first = stage.call("task.show", id="task-0001")["lease"]["epoch"]
    stage.call("respawn", id="w1")
    assert over(stage, "w1", run, "killed")["state"] == "queued"
    stage.join("ada")
    assert stage.refused("task.claim", "ada", id="task-0001").code == "TASK_NOT_CLAIMABLE", "kept for it meanwhile"
    order = begin(stage, "w1")
    assert (order["n"], order["before"]["reason"]) == (2, "killed")
    process = stage.process()
    stage.call("worker.started", "system", id="w1", run=order["run"], pid=process[0], since=process[1])
    assert stage.call("task.show", id="task-0001")["lease"]["epoch"] > first


@pytest.mark.parametrize(("more", "ways"), [
    ({"host": "claude"}, ["terminal"]), ({"host": "script", "program": ["sh"]}, []),
])  # fmt: skip
def test_a_plain_program_is_never_typed_into(stage: Stage, more: dict[str, Any], ways: list[str]) -> None:
    """Mail for it waits until it looks: tried at its terminal, it would have been given up after a while."""
    name, (pid, since) = spawn(stage, **more)["name"], stage.process()
    pane = {"kind": "tmux", "socket": "/x/s", "pane": "%1"}
    run = begin(stage, "w1")["run"]
    keeper = stage.caller("system", process=stage.process())
    stage.call("worker.started", keeper, id="w1", run=run, pid=pid, since=since, terminal=pane)
    assert [way["channel"] for way in stage.call("whois", name=name)["ways"]] == ways
    assert card(stage)["state"] == "running"


def test_limits_are_counted_when_a_run_begins(build: Build) -> None:
    stage = build(worker__limit=2)
    for _ in range(3):
        spawn(stage)
    assert due(stage)["begin"] == ["w1", "w2"]
    run, _ = start(stage, "w1")
    start(stage, "w2")
    assert begin(stage, "w3") is None, "whatever someone thought was due"
    stage.call("slot.set", name="workers", capacity=3)
    assert due(stage)["begin"] == ["w3"]
    stage.call("slot.set", name="workers", capacity=2)
    assert due(stage)["begin"] == []
    over(stage, "w1", run)
    assert due(stage)["begin"] == ["w3"]


def test_a_worker_that_lost_its_task_is_stopped_and_told(stage: Stage) -> None:
    name = spawn(stage)["name"]
    run, _ = start(stage, "w1")
    assert stage.call("worker.beat", "system", runs={"w1": run})["lost"] == []
    stage.call("task.cancel", id="task-0001")
    assert stage.call("worker.beat", "system", runs={"w1": run})["lost"] == ["w1"]
    assert card(stage)["wish"] == "stop"
    assert "Stop: your lease is lost" in stage.subjects(name)
    assert stage.call("worker.beat", "system", runs={"w1": run})["lost"] == [], "told once"


def test_leases_live_as_long_as_the_worker_is_seen_running(stage: Stage) -> None:
    spawn(stage)
    run, _ = start(stage, "w1")
    for _ in range(10):
        stage.clock.pass_time(200 * SECOND)
        stage.call("worker.beat", "system", runs={"w1": run})
    assert stage.call("task.show", id="task-0001")["status"] == "in_progress"


def test_stopping_asks_first_and_is_for_whoever_started_it(stage: Stage) -> None:
    stage.join_all("ada", "bob")
    name = spawn(stage, as_="ada")["name"]
    start(stage, "w1")
    assert isinstance(stage.refused("stop", "bob", id="w1"), errors.NotYours)
    stage.call("stop", "ada", id="w1", reason="enough")
    assert due(stage)["watch"][0]["wish"] == "stop"
    assert stage.subjects(name) == ["Wrap up"]
    stage.call("stop", "ada", id="w1")
    assert stage.subjects(name) == ["Wrap up"], "asked once"


def test_one_that_waits_is_taken_away(stage: Stage) -> None:
    spawn(stage)
    assert stage.call("stop", id="w1")["state"] == "ended"
    assert due(stage)["begin"] == []
    assert stage.call("task.show", id="task-0001")["owner"] is None


def test_wrong_requests_leave_nothing(stage: Stage) -> None:
    here = stage.caller(tree="/work")
    assert stage.refused("spawn", here).message == "What is it for?"
    assert stage.refused("spawn", stage.caller(), assignment="x").code == "NO_ROOT"
    assert stage.refused("spawn", here, assignment="x", backend="screen").code == "BAD_BACKEND"
    assert stage.refused("spawn", here, assignment="x", kind="../x").code == "BAD_NAME"
    assert stage.refused("spawn", here, assignment="x", seed=True).code == "NO_SEED"
    stage.join("ada")
    assert stage.refused("spawn", here, assignment="x", name="Ada").code == "NAME_TAKEN"
    assert stage.refused("worker.show", id="w9").code == "UNKNOWN_WORKER"
    spawn(stage)
    assert stage.refused("delete", id="w1").code == "WORKER_LIVES"
