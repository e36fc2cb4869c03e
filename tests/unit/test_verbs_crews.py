"""A crew in the ledger: steps make worker rows, and whatever is repeated or killed in between makes none twice."""

from pathlib import Path
from typing import Any

import pytest

from rookery.core import crews
from rookery.keeper import crews as keeper_crews
from rookery.runtime import repository
from tests.support.stage import Build, Stage
from tests.unit.gitrepo import repository as new_repository

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


def started(stage: Stage, **more: str) -> dict[str, tuple[str, str]]:
    """Everyone that may begin does; run and name of each."""
    found: dict[str, tuple[str, str]] = {}
    for id in stage.call("worker.due", "system")["begin"]:
        order, process = stage.call("worker.begin", "system", id=id, owner=OWNER)["worker"], stage.process()
        stage.call("worker.started", "system", id=id, run=order["run"], pid=process[0], since=process[1], **more)
        stage._joined[order["name"].lower()] = process  # pyright: ignore[reportPrivateUsage]
        found[id] = (order["run"], order["name"])
    return found


def report(stage: Stage, name: str) -> None:
    said = "Read the lexer from top to bottom, wrote down what it does, and ran its tests."
    stage.call("done", name, outcome="findings", summary=said, tests=["pytest -q: 3 passed"])


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
        report(stage, name)
    assert step(stage) == ["stop w1"]


def test_verdicts_come_from_reviewers(stage: Stage) -> None:
    stage.call("plan.new", goal="Reviewed", review=True, tasks=[{"key": "a", "title": "Lexer"}])
    id = stage.call("plan.list")["plans"][0]["id"]
    stage.call("crew.run", stage.caller(tree="/work"), plan=id)
    assert step(stage) == ["spawn task-0004"]
    [(_, name)] = started(stage).values()
    report(stage, name)
    assert "review task-0004" in step(stage)
    reviewers = [(worker, name) for worker, (_, name) in started(stage).items()]
    assert len(reviewers) == 1
    assert step(stage) == []
    assert stage.call("docket", all=True)["items"] == [], "what reviewers judge asks nobody else"
    stage.call("task.review", reviewers[0][1], id="task-0004", verdict="NEEDS_WORK", feedback="No tests.")
    assert step(stage), "the worker that did it goes on"
    (decided,) = stage.call("decisions")["decisions"]
    assert (decided["verb"], decided["by"], decided["subject"]) == ("revise", reviewers[0][1], "w1/1")


def test_a_kind_that_names_its_program_has_it_whatever_the_crew_has(stage: Stage) -> None:
    stage.call("kind.add", written="---\nname: reviewer\nhost: codex\nread_only: true\n---\nJudge it.\n")
    stage.call("plan.new", goal="Reviewed", review=True, tasks=[{"key": "a", "title": "Lexer"}])
    id = stage.call("plan.list")["plans"][0]["id"]
    stage.call("crew.run", stage.caller(tree="/work"), plan=id, host="script", program=["/bin/worker"])
    step(stage)
    [(_, name)] = started(stage).values()
    report(stage, name)
    step(stage)
    one, two = (stage.call("worker.show", id=id) for id in ("w1", "w2"))
    assert (one["host"], one["extra"]) == ("script", {"program": ["/bin/worker"]})
    assert (two["host"], two["extra"]) == ("codex", {}), "what starts one program does not start another"


PLANNED = """What I found, and why it is cut so.

```tasks-json
{"goal": "A parser", "tasks": [{"key": "a", "title": "Lexer"}, {"key": "b", "title": "Parser", "deps": ["a"]}]}
```
"""


def answers(stage: Stage, said: str, outcome: str = "proposal") -> None:
    [(_, name)] = started(stage).values()
    stage.call("done", name, outcome=outcome, summary=f"Read the document and the repository first. {said}",
               tests=["ls src: 3 passed"])  # fmt: skip


def test_reviewers_that_end_without_a_verdict_are_asked_for_three_times_and_then_a_person_is(stage: Stage) -> None:
    stage.call("plan.new", goal="Reviewed", review=True, tasks=[{"key": "a", "title": "Lexer"}])
    run(stage, no_worktree=True)
    step(stage)
    [(_, name)] = started(stage).values()
    report(stage, name)
    for _ in range(crews.REVIEWS):
        assert "review task-0004" in step(stage)
        [(id, (run_id, _))] = started(stage).items()
        stage.call("worker.ended", "system", id=id, run=run_id, reason="crashed", exit_code=-9)
    assert "review task-0004" not in step(stage)
    assert status(stage)["waits"]
    (item,) = stage.call("docket")["items"]
    assert (item["subject"], item["otherwise"]) == ("w1/1", "what waits for task-0004 goes on waiting")
    stage.call("verdict", subject="w1/1", action="accept")
    assert stage.call("task.show", id="task-0004")["review"] == "SHIP"


def test_what_a_stopped_crew_leaves_unjudged_is_put_before_a_person(stage: Stage) -> None:
    stage.call("plan.new", goal="Reviewed", review=True, tasks=[{"key": "a", "title": "Lexer"}])
    run(stage, no_worktree=True)
    step(stage)
    [(id, (run_id, name))] = started(stage).items()
    report(stage, name)
    assert stage.call("docket", all=True)["items"] == []
    stage.call("crew.stop", id="crew-0001")
    step(stage)
    stage.call("worker.ended", "system", id=id, run=run_id, reason="stopped")
    step(stage)
    assert [each["subject"] for each in stage.call("docket")["items"]] == ["w1/1"]


def test_a_document_is_planned_reviewed_and_then_worked_off(stage: Stage) -> None:
    id = stage.call("plan.new", goal="A parser", spec="# PRD\nIt parses.")["id"]
    stage.call("crew.run", stage.caller(tree="/work"), plan=id, passes=2)
    assert step(stage) == ["plan w1"]
    answers(stage, PLANNED)
    assert step(stage)[0] == "took plan"
    answers(stage, "The second task should wait for nothing at all.", "findings")
    assert step(stage)[0] == "took review"
    assert "wait for nothing" in stage.call("worker.show", id="w3")["assignment"]
    answers(stage, "I forgot the block, which everybody knows is needed here.")
    assert step(stage)[0] == "took plan", "it is asked once more"
    assert "No block" in stage.call("worker.show", id="w4")["assignment"]
    answers(stage, PLANNED)
    assert "made 2 tasks" in step(stage)
    assert [task["title"] for task in stage.call("plan.show", id=id)["tasks"]] == ["Lexer", "Parser"]
    told = [event["type"] for event in stage.events() if event["type"].startswith("plan.")][-8:]
    assert told == ["plan.start", "plan.pass.start", "plan.pass.done", "plan.review.start", "plan.review.done",
                    "plan.pass.start", "plan.pass.done", "plan.done"]  # fmt: skip


@pytest.mark.parametrize("review", [False, True])
def test_a_planner_takes_no_review_away(stage: Stage, review: bool) -> None:
    id = stage.call("plan.new", goal="A parser", spec="# PRD\nIt parses.", review=review)["id"]
    stage.call("crew.run", stage.caller(tree="/work"), plan=id, passes=1)
    step(stage)
    answers(stage, PLANNED.replace('"title": "Lexer"', '"title": "Lexer", "review": false'))
    step(stage)
    tasks = [task["id"] for task in stage.call("plan.show", id=id)["tasks"]]
    assert [stage.call("task.show", id=task)["review"] for task in tasks] == ["wanted", "wanted"]


def test_a_plan_that_can_not_be_read_twice_fails_and_says_why(stage: Stage) -> None:
    id = stage.call("plan.new", goal="A parser", spec="# PRD")["id"]
    stage.call("crew.run", stage.caller(tree="/work"), plan=id, passes=1)
    for _ in range(2):
        step(stage)
        answers(stage, "There is no block in this answer, and there never will be.")
    step(stage)
    crew = stage.call("crew.status", id=id)
    assert (crew["state"], "No block" in crew["why"]) == ("stopping", True)
    assert [event["type"] for event in stage.events("plan.failed")] == ["plan.failed"]
    assert stage.refused("crew.run", stage.caller(tree="/work"), plan="plan-0001", passes=9).code == "BAD_INPUT"


@pytest.mark.slow
def test_work_sent_back_goes_on_where_it_was_left(build: Build, tmp_path: Path) -> None:
    """A worker of the lobby has done another task in its worktree since."""
    stage, root, tree = build(), new_repository(tmp_path / "repo"), tmp_path / "tree"
    tip = repository.commit_of(str(root))
    repository.add_worktree(str(root), str(tree), tip)
    stage.call("plan.new", goal="Reviewed", review=True, tasks=[{"key": "a", "title": "A"}, {"key": "b", "title": "B"}])
    stage.call("crew.run", stage.caller(tree=str(root)), plan=plan(stage), workers=1, lobby=1)
    assert step(stage) == ["wait"]
    [(_, name)] = started(stage, tree=str(tree), base=tip).values()
    for task in ("task-0001", "task-0002"):
        given = next(each for each in stage.call("crew.step", "system", id="crew-0001")["give"])
        assert (given["task"], given["start"]) == (task, "")
        keeper_crews._refreshed(str(root), str(tree), given["start"])  # pyright: ignore[reportPrivateUsage]
        stage.call("crew.give", "system", id="w1", task=task, base=tip)
        (tree / f"{task}.txt").write_text("done\n")
        said = "Wrote the file that the task asks for, with one line in it, and looked at it."
        stage.call("done", name, outcome="completed", summary=said, evidence=[f"{task}.txt"])
        stage.call("crew.scale", workers=2)  # one judges, the other goes on
    reviewers = [each for _, each in started(stage).values()]
    stage.call("task.review", reviewers[0], id="task-0001", verdict="NEEDS_WORK", feedback="Two lines.")
    (given,) = stage.call("crew.step", "system", id="crew-0001")["give"]
    (change,) = stage.call("changes", task="task-0001")["changes"]
    assert (given["task"], given["start"]) == ("task-0001", change["head"])
    assert not (tree / "task-0001.txt").exists(), "it is at the other task"
    keeper_crews._refreshed(str(root), str(tree), given["start"])  # pyright: ignore[reportPrivateUsage]
    assert (tree / "task-0001.txt").exists()
    assert not (tree / "task-0002.txt").exists()


@pytest.mark.parametrize(("kind", "code"), [("scout", "READ_ONLY"), ("implementer", "")])
def test_h34_a_worker_that_may_not_write_starts_no_program_that_could(stage: Stage, kind: str, code: str) -> None:
    stage.call(
        "kind.add", written=f"---\nname: leader\nread_only: {str(kind == 'scout').lower()}\ncan_spawn: true\n---\nx"
    )
    stage.call("spawn", stage.caller(tree="/work"), assignment="Look around", kind="leader", host="script")
    [(_, name)] = started(stage).values()
    for more in ({"program": ["sh"]}, {"check": ["sh"]}):
        caller = stage.caller(name, tree="/work")
        if code:
            assert stage.refused("crew.run", caller, plan=plan(stage), **more).code == code
        else:
            stage.call("crew.stop", id=stage.call("crew.run", caller, plan=plan(stage), **more)["id"])
            step(stage)


def test_a_program_that_nobody_knows_starts_no_worker(stage: Stage) -> None:
    refused = stage.refused("spawn", stage.caller(tree="/work"), assignment="x", host="claud")
    assert (refused.code, "claude" in refused.hint) == ("UNKNOWN_HOST", True)
    assert stage.call("workers")["workers"] == []
