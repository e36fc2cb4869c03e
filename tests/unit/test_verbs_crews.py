"""A crew in the ledger: steps make worker rows, and whatever is repeated or killed in between makes none twice."""

from typing import Any

import apsw
import pytest

from tests.support.stage import Build, Stage

OWNER = "here:1:t1"


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.call("plan.new", goal="Parser", tasks=[
        {"key": "a", "title": "Lexer"}, {"key": "b", "title": "Parser", "deps": ["a"]}, {"key": "c", "title": "Docs"},
    ])  # fmt: skip
    return made


def plan(stage: Stage) -> str:
    return stage.call("plan.list")["plans"][0]["id"]


def run(stage: Stage, **more: Any) -> dict[str, Any]:
    return stage.call("crew.run", stage.caller(tree="/work"), plan=plan(stage), **more)


def step(stage: Stage) -> list[str]:
    """As its keeper does, to the end."""
    done: list[str] = []
    while due := stage.call("crew.due", "system")["crews"]:
        told = stage.call("crew.step", "system", id=due[0])
        done += told["done"]
        if not told["done"]:
            break
    return done


def started(stage: Stage) -> dict[str, tuple[str, str]]:
    """Everyone that may begin does; run and name of each."""
    found: dict[str, tuple[str, str]] = {}
    for id in stage.call("worker.due", "system")["begin"]:
        order, process = stage.call("worker.begin", "system", id=id, owner=OWNER)["worker"], stage.process()
        stage.call("worker.started", "system", id=id, run=order["run"], pid=process[0], since=process[1])
        stage._joined[order["name"].lower()] = process  # pyright: ignore[reportPrivateUsage]
        found[id] = (order["run"], order["name"])
    return found


def reported(stage: Stage, id: str, report: str) -> None:
    """What a report leaves in the row."""
    with apsw.Connection(stage.store.location) as other:
        other.execute("UPDATE workers SET report = ?, reported_at = 1 WHERE id = ?", (report, id)).fetchall()


def done(stage: Stage, name: str) -> None:
    """A worker reports, where nobody can look at its files."""
    stage.call(
        "done", name, outcome="completed", summary="The lexer splits numbers, names and strings; its table has tests.",
        tests=["pytest -q: 4 passed"], unchanged="there is no working copy in this test",
    )  # fmt: skip


def status(stage: Stage) -> dict[str, Any]:
    return stage.call("crew.status", id="crew-0001")


def test_a_step_asks_for_workers_and_a_second_one_for_none(stage: Stage) -> None:
    run(stage)
    assert step(stage) == ["spawn task-0001", "spawn task-0003"]
    assert step(stage) == []
    assert [(each["id"], each["task"]) for each in status(stage)["workers"]] == [
        ("w1", "task-0001"),
        ("w2", "task-0003"),
    ]
    assert status(stage)["counts"]["total"] == 3


def test_a_crew_a_plan(stage: Stage) -> None:
    run(stage)
    assert stage.refused("crew.run", stage.caller(tree="/work"), plan=plan(stage)).code == "CREW_RUNS"
    assert stage.refused("crew.run", stage.caller(tree="/work"), plan="plan-9999").code == "UNKNOWN_PLAN"


def test_crashed_workers_lose_nothing(stage: Stage) -> None:
    run(stage, workers=1)
    step(stage)
    for _ in range(2):
        [(id, (run_id, _))] = started(stage).items()
        stage.call("worker.ended", "system", id=id, run=run_id, reason="crashed", exit_code=-9)
        assert step(stage) == ["spawn task-0001"]
    assert [each["state"] for each in stage.call("workers", all=True)["workers"]] == ["queued", "ended", "ended"]


def test_scaled_and_stopped(stage: Stage) -> None:
    run(stage, workers=1)
    assert step(stage) == ["spawn task-0001"]
    stage.call("crew.scale", workers=5)
    assert step(stage) == ["spawn task-0003"]
    stage.call("crew.stop")
    step(stage)
    assert status(stage)["state"] == "stopped", "nobody had begun"
    assert stage.refused("crew.stop").code == "WHICH_CREW"
    assert "crew-0001 stopped" in stage.subjects("user")


def test_a_waiting_worker_takes_one_task_after_another(stage: Stage) -> None:
    run(stage, workers=1, lobby=1, no_worktree=True, no_review=True)
    assert step(stage) == ["wait"]
    [(_, name)] = started(stage).values()
    for task in ("task-0001", "task-0002", "task-0003"):
        assert step(stage) == [f"give {task}"]
        assert stage.call("task.show", id=task)["lease"]["holder"] == name
        assert stage.subjects(name)[-1].startswith(f"Yours: {task}")
        done(stage, name)
    assert step(stage) == ["stop w1"]


def test_verdicts_come_from_reviewers(stage: Stage) -> None:
    stage.call("plan.new", goal="Reviewed", review=True, tasks=[{"key": "a", "title": "Lexer"}])
    id = stage.call("plan.list")["plans"][0]["id"]
    stage.call("crew.run", stage.caller(tree="/work"), plan=id)
    assert step(stage) == ["spawn task-0004"]
    [(_, name)] = started(stage).values()
    done(stage, name)
    assert "review task-0004" in step(stage)
    reviewers = [(worker, name) for worker, (_, name) in started(stage).items()]
    assert len(reviewers) == 1
    assert step(stage) == []
    stage.call("task.review", reviewers[0][1], id="task-0004", verdict="NEEDS_WORK", feedback="No tests.")
    assert step(stage), "the worker that did it goes on"
