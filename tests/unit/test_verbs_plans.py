"""Plans: a goal and a graph of tasks, made at once or not at all."""

import xml.etree.ElementTree as ET
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rookery.core import errors
from tests.support.chores import TTL, add, best, claim, finish, show, status, stop
from tests.support.described import Described
from tests.support.stage import Stage

TASKS: list[dict[str, Any]] = [
    {"id": "test", "title": "Test it", "deps": ["build"]},  # before what it waits for: order does not matter
    {"id": "design", "title": "Design it", "priority": "high", "resources": ["docs/"], "kind": "architect"},
    {"id": "build", "title": "Build it", "deps": ["design"], "description": "All of it"},
    {"id": "notes", "title": "Write notes"},
    {"id": "alpha", "title": "Alpha", "deps": ["test", "notes"], "milestone": True},
]


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    stage = Described(tmp_path / "ledger.db", leader="lea")
    stage.join_all("ada", "bob", "cat")
    yield stage
    stage.close()


def new(stage: Stage, tasks: list[dict[str, Any]] | None = None, as_: str | None = "cat", **args: Any) -> Any:
    """The plan, and the ids of its tasks by their titles."""
    plan = stage.call("plan.new", as_, goal="Ship it", tasks=TASKS if tasks is None else tasks, **args)
    return plan["id"], {task["title"]: task["id"] for task in plan["tasks"]}


def plan_of(stage: Stage, id: str) -> dict[str, Any]:
    return stage.call("plan.show", id=id)


def titles(stage: Stage, ids: list[str]) -> list[str]:
    return [show(stage, id)["title"] for id in ids]


# --- making ----------------------------------------------------------------------------------------------------------


def test_a_plan_with_its_tasks(stage: Stage) -> None:
    id, ids = new(stage, spec="# Why")
    plan = plan_of(stage, id)
    assert (plan["id"], plan["goal"], plan["owner"], plan["status"]) == ("plan-0001", "Ship it", "cat", "active")
    assert (plan["spec"], plan["strict"], plan["review"]) == ("# Why", True, False)
    assert (plan["counts"], plan["total"], plan["done"]) == ({"blocked": 3, "pending": 2}, 5, 0)
    assert titles(stage, plan["ready"]) == ["Design it", "Write notes"]
    assert titles(stage, plan["critical"]) == ["Design it", "Build it", "Test it", "Alpha"]
    design = show(stage, ids["Design it"])
    assert (design["plan"], design["priority"], design["resources"], design["kind"]) == (
        id, "high", ["docs/"], "architect",
    )  # fmt: skip
    assert show(stage, ids["Build it"])["deps"] == [ids["Design it"]]
    assert [p["id"] for p in stage.call("plan.list")["plans"]] == [id]
    assert stage.events("plan.start")[0]["ref"] == id


def test_a_goal_without_tasks(stage: Stage) -> None:
    id, _ = new(stage, tasks=[])
    plan = plan_of(stage, id)
    assert (plan["status"], plan["tasks"], plan["ready"], plan["critical"]) == ("active", [], [], [])
    first = add(stage, "First", "ada", plan=id)
    assert plan_of(stage, id)["ready"] == [first]


BAD: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([{"id": "a", "title": "A", "deps": ["b"]}, {"id": "b", "title": "B", "deps": ["a"]}], ["circular", "a -> b -> a"]),
    ([{"id": "a", "title": "A", "deps": ["zz"]}, {"id": "b", "title": ""}], ["zz", "no title", "2 problems"]),
    ([{"id": "a", "title": "A"}, {"id": "a", "title": "B"}], ["taken"]),
    ([{"id": "a", "title": "A", "resources": ["../x"]}], ["task a"]),
    ([{"id": "a", "title": "A", "priority": "asap"}], ["task a"]),
    ([{"id": "a", "title": "A", "colour": "red"}], ["colour"]),
    ([{"id": "a", "title": "\x1b[31mA"}], ["title"]),
]


@pytest.mark.parametrize(("tasks", "words"), BAD)
def test_every_problem_is_told_and_nothing_is_made(stage: Stage, tasks: list[dict[str, Any]], words: list[str]) -> None:
    before = stage.seq()
    with pytest.raises(errors.BadInput) as caught:
        stage.call("plan.new", "cat", goal="Ship it", tasks=tasks)
    for word in words:
        assert word in caught.value.message
    assert caught.value.code == "BAD_PLAN"
    assert stage.seq() == before
    assert stage.call("plan.list")["plans"] == stage.call("task.list")["tasks"] == []
    assert new(stage)[0] == "plan-0001"


@pytest.mark.parametrize("goal", ["", " ", "x" * 301])
def test_a_goal_is_a_line(stage: Stage, goal: str) -> None:
    assert isinstance(stage.refused("plan.new", "cat", goal=goal), errors.BadInput)


def test_what_was_done_before_the_import(stage: Stage) -> None:
    id, ids = new(stage, [
        {"id": "a", "title": "A", "done": True},
        {"id": "b", "title": "B", "deps": ["a"]},
        {"id": "m", "title": "M", "deps": ["a"], "milestone": True},
        {"id": "c", "title": "C", "deps": ["m"]},
    ], review=True)  # fmt: skip
    assert status(stage, *ids.values()) == ["completed", "pending", "completed", "pending"]
    assert plan_of(stage, id)["done"] == 2


# --- working ---------------------------------------------------------------------------------------------------------


def test_a_plan_is_worked_off(stage: Stage) -> None:
    id, ids = new(stage)
    order: list[str] = []
    while (task := best(stage, plan=id)) is not None:
        order.append(show(stage, task)["title"])
        stage.call("task.done", "ada", id=task)
    assert order == ["Design it", "Build it", "Test it", "Write notes"], "priority, then the longest chain, then age"
    plan = plan_of(stage, id)
    assert (plan["status"], plan["done"], plan["critical"], plan["ready"]) == ("completed", 5, [], [])
    assert status(stage, ids["Alpha"]) == ["completed"]
    assert [e["ref"] for e in stage.events("plan.done")] == [id]


def test_a_plan_that_asks_for_reviews_waits_for_the_last(stage: Stage) -> None:
    id, ids = new(stage, [{"id": "a", "title": "A"}, {"id": "b", "title": "B", "deps": ["a"]}], review=True)
    for title in ("A", "B"):
        finish(stage, ids[title])
        assert plan_of(stage, id)["status"] == "active"
        stage.call("task.review", "bob", id=ids[title], verdict="SHIP")
    assert plan_of(stage, id)["status"] == "completed"


def test_one_task_may_say_otherwise(stage: Stage) -> None:
    _, ids = new(stage, [{"id": "a", "title": "A", "review": False}, {"id": "b", "title": "B"}], review=True)
    assert [show(stage, ids[t])["review"] for t in ("A", "B")] == ["", "wanted"]
    extra = add(stage, "Extra", plan="plan-0001")
    assert show(stage, extra)["review"] == "wanted", "a plan's rule is for what comes later, too"


def test_dependencies_that_only_advise(stage: Stage) -> None:
    id, ids = new(stage, advisory=True)
    plan = plan_of(stage, id)
    assert plan["strict"] is False
    assert plan["counts"] == {"pending": 4, "blocked": 1}, "a milestone is waited for all the same"
    finish(stage, ids["Test it"])
    late = add(stage, "Late", plan=id, deps=[ids["Design it"]])
    assert status(stage, late) == ["pending"]
    for title in ("Build it", "Design it"):
        finish(stage, ids[title])
    assert status(stage, ids["Alpha"]) == ["blocked"]
    finish(stage, ids["Write notes"])
    assert status(stage, ids["Alpha"]) == ["completed"], "here too it completes by itself"
    finish(stage, late)
    assert plan_of(stage, id)["status"] == "completed"


def test_a_lapsed_lease_counts_as_pending(stage: Stage) -> None:
    id, ids = new(stage)
    claim(stage, "ada", ids["Design it"])
    assert plan_of(stage, id)["counts"] == {"in_progress": 1, "blocked": 3, "pending": 1}
    stop(stage, "ada")
    stage.clock.pass_time(TTL)
    plan = plan_of(stage, id)
    assert plan["counts"] == {"blocked": 3, "pending": 2}
    assert ids["Design it"] in plan["ready"]


def test_a_failure_keeps_a_plan_open_and_its_owner_decides(stage: Stage) -> None:
    id, ids = new(stage, [{"id": "a", "title": "A"}, {"id": "b", "title": "B"}])
    claim(stage, "ada", ids["A"])
    stage.call("task.fail", "ada", id=ids["A"], reason="no")
    assert stage.subjects("cat") == [f"{ids['A']} failed (attempt 1)"]
    finish(stage, ids["B"])
    assert plan_of(stage, id)["status"] == "active"
    stage.call("task.cancel", "cat", id=ids["A"])
    plan = plan_of(stage, id)
    assert (plan["status"], plan["done"], plan["total"]) == ("completed", 2, 2)


@pytest.mark.parametrize("how", ["reset", "add", "revise"])
def test_more_work_opens_a_plan_again(stage: Stage, how: str) -> None:
    id, ids = new(stage, [{"id": "a", "title": "A"}])
    finish(stage, ids["A"])
    assert plan_of(stage, id)["status"] == "completed"
    if how == "add":
        add(stage, "B", plan=id)
    else:
        stage.call(f"task.{how}", id=ids["A"], tree=True)
    assert plan_of(stage, id)["status"] == "active"
    while task := best(stage):
        stage.call("task.done", "ada", id=task)
    assert plan_of(stage, id)["status"] == "completed"


def test_deleting_the_last_open_task_ends_a_plan(stage: Stage) -> None:
    id, ids = new(stage, [{"id": "a", "title": "A"}, {"id": "b", "title": "B"}])
    finish(stage, ids["A"])
    stage.call("task.delete", "cat", id=ids["B"])
    assert plan_of(stage, id)["status"] == "completed"


def test_a_milestone_across_plans(stage: Stage) -> None:
    first, ids = new(stage, [{"id": "a", "title": "A"}])
    second = stage.call("plan.new", "ada", goal="Second")["id"]
    add(stage, "M", "ada", plan=second, deps=[ids["A"]], milestone=True)
    finish(stage, ids["A"])
    assert [plan_of(stage, id)["status"] for id in (first, second)] == ["completed", "completed"]


@pytest.mark.slow
def test_a_plan_of_many_tasks_is_shown_whole(stage: Stage) -> None:
    id, _ = new(stage, [{"id": str(n), "title": f"T{n}"} for n in range(1_001)])
    assert len(plan_of(stage, id)["tasks"]) == 1_001


# --- canceling -------------------------------------------------------------------------------------------------------


def test_canceling_a_plan(stage: Stage) -> None:
    id, ids = new(stage)
    other = add(stage, "Other")
    finish(stage, ids["Design it"])
    epoch = claim(stage, "ada", ids["Build it"])
    error = stage.refused("plan.cancel", "ada", id=id)
    assert (error.code, error.http_status) == ("NOT_OWNER", 403)
    plan = stage.call("plan.cancel", "cat", id=id, reason="the goal changed")
    assert plan["status"] == "canceled"
    assert sorted(plan["canceled"]) == sorted(ids[t] for t in ("Build it", "Test it", "Write notes", "Alpha"))
    assert plan["counts"] == {"completed": 1, "canceled": 4}
    assert stage.refused("task.done", "ada", id=ids["Build it"], epoch=epoch).code == "TASK_NOT_IN_PROGRESS"
    assert stage.subjects("ada") == [f"Taken from you: {ids['Build it']} Build it"]
    assert stage.events("plan.cancel")[0]["preview"] == "the goal changed"
    assert status(stage, other) == ["pending"]
    assert stage.refused("plan.cancel", "cat", id=id).code == "PLAN_FINISHED"
    assert stage.refused("task.add", "cat", title="Late", plan=id).code == "PLAN_FINISHED"


@pytest.mark.parametrize("who", [None, "lea"])
def test_the_person_and_the_leader_may(stage: Stage, who: str | None) -> None:
    stage.join("lea")
    id, _ = new(stage)
    assert stage.call("plan.cancel", who, id=id)["status"] == "canceled"


def test_an_unknown_plan(stage: Stage) -> None:
    for verb in ("plan.show", "plan.graph", "plan.cancel"):
        assert stage.refused(verb, id="plan-9\x1b[2J").code == "UNKNOWN_PLAN"


# --- drawing ---------------------------------------------------------------------------------------------------------


def drawn(stage: Stage, id: str, format: str) -> str:
    return stage.call("plan.graph", id=id, format=format)["graph"]


def test_a_plan_as_pictures(stage: Stage) -> None:
    id, ids = new(stage)
    claim(stage, "ada", ids["Design it"])
    text = drawn(stage, id, "text")
    assert all(task in text for task in ids.values())
    assert "[>]" in text
    mermaid = drawn(stage, id, "mermaid")
    assert mermaid.startswith(("flowchart", "graph"))
    assert "Design it" in mermaid
    svg = ET.fromstring(drawn(stage, id, "svg"))
    words = "".join(svg.itertext())
    assert all(task in words for task in ids.values())
    assert stage.refused("plan.graph", id=id, format="png").code == "BAD_INPUT"


@pytest.mark.parametrize("format", ["text", "mermaid", "svg"])
def test_dependencies_outside_the_plan_are_no_trouble(stage: Stage, format: str) -> None:
    outside = add(stage, "Outside")
    id, _ = new(stage, tasks=[])
    inside = add(stage, "Inside", plan=id, deps=[outside])
    assert inside in drawn(stage, id, format)
    assert plan_of(stage, id)["critical"] == [inside]


@pytest.mark.parametrize("format", ["text", "mermaid", "svg"])
def test_an_empty_plan_can_be_drawn(stage: Stage, format: str) -> None:
    id, _ = new(stage, tasks=[])
    assert isinstance(drawn(stage, id, format), str)


HOSTILE = [
    "<script>alert(1)</script>", '"]; click A "javascript:alert(1)" %%', "a --> b", "]]></text><image href=x>",
    "& &amp; &#x3c;", "\u202etxet", "`rm -rf`", "end", "x" * 300, "日本語 🐦", "{{a}}:::b",
]  # fmt: skip


@pytest.mark.parametrize("title", HOSTILE)
def test_a_title_can_not_leave_its_place(stage: Stage, title: str) -> None:
    id, _ = new(stage, tasks=[])
    a = add(stage, title, plan=id)
    add(stage, "after", plan=id, deps=[a])
    svg = drawn(stage, id, "svg")
    tree = ET.fromstring(svg)
    names = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert not names & {"script", "image", "a", "foreignObject", "style", "use"}
    assert not any(name.startswith("on") or "href" in name for element in tree.iter() for name in element.attrib)
    mermaid = drawn(stage, id, "mermaid")
    assert "<script" not in mermaid
    assert len([line for line in mermaid.splitlines() if "-->" in line]) == 1
    text = drawn(stage, id, "text")
    assert text.replace("\n", "").isprintable()
