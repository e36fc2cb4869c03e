"""The owner's hand on tasks, and verdicts on what was completed."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rookery.core import errors
from tests.support.chores import TTL, add, best, claim, done, finish, items, reserved, show, status, stop
from tests.support.described import Described
from tests.support.stage import MINUTE, Stage


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    stage = Described(tmp_path / "ledger.db", leader="lea")
    stage.join_all("ada", "bob", "cat", "lea")
    yield stage
    stage.close()


# --- who may ---------------------------------------------------------------------------------------------------------

STEERING: dict[str, dict[str, Any]] = {
    "task.assign": {"to": "bob"},
    "task.cancel": {},
    "task.reset": {},
    "task.revise": {"title": "Better"},
    "task.split": {"titles": ["one", "two"]},
}


@pytest.mark.parametrize("verb", STEERING)
def test_who_may_steer(stage: Stage, verb: str) -> None:
    """The leader, the person and whoever made it; nobody else, not even its holder."""
    for who in ("lea", None, "ada"):
        id = add(stage, "Theirs", "ada")
        claim(stage, "bob", id)
        for stranger in ("bob", "cat"):
            error = stage.refused(verb, stranger, id=id, **STEERING[verb])
            assert (error.code, error.http_status) == ("NOT_OWNER", 403)
        stage.call(verb, who, id=id, **STEERING[verb])


def test_the_owner_of_a_plan_steers_what_others_added_to_it(stage: Stage) -> None:
    plan = stage.call("plan.new", "cat", goal="Ship")["id"]
    id = add(stage, "Theirs", "ada", plan=plan)
    assert stage.refused("task.reset", "bob", id=id).code == "NOT_OWNER"
    claim(stage, "bob", id)
    stage.call("task.fail", "bob", id=id, reason="no")
    assert stage.subjects("cat") == [f"{id} failed (attempt 1)"], "it is the owner who is asked"
    stage.call("task.reset", "cat", id=id)


@pytest.mark.parametrize("verb", ["task.assign", "task.cancel", "task.reset", "task.release", "task.split"])
def test_steering_fences_whoever_held_it_and_tells_them(stage: Stage, verb: str) -> None:
    id = add(stage, "Work", resources=["src/"])
    epoch = claim(stage, "ada", id)
    after = stage.call(verb, "lea", id=id, **STEERING.get(verb, {}))
    assert after["epoch"] > epoch
    assert reserved(stage) == []
    for write, args in (("task.renew", {}), ("task.done", {}), ("task.progress", {"said": "x"})):
        assert stage.refused(write, "ada", id=id, epoch=epoch, **args).code == "TASK_NOT_IN_PROGRESS"
    assert stage.subjects("ada") == [f"Taken from you: {id} Work"]


def test_only_the_leader_or_a_person_takes_a_task_from_its_holder(stage: Stage) -> None:
    id = add(stage, "Work", "bob")
    claim(stage, "ada", id)
    assert stage.refused("task.release", "bob", id=id).code == "LEASE_HOLDER_MISMATCH"
    stage.call("task.release", "lea", id=id)
    assert stage.refused("task.release", "lea", id=id).code == "TASK_NOT_IN_PROGRESS"
    assert stage.refused("task.release", id=id).code == "TASK_NOT_IN_PROGRESS"


# --- assign ----------------------------------------------------------------------------------------------------------


def test_assigning(stage: Stage) -> None:
    id = add(stage, "Work")
    card = stage.call("task.assign", id=id, to="bob")
    assert (card["owner"], card["status"]) == ("bob", "pending")
    assert stage.subjects("bob") == [f"Assigned: {id} Work"]
    assert stage.events("task.assigned")[-1]["target"] == "bob"
    assert stage.refused("task.claim", "ada", id=id).code == "TASK_NOT_CLAIMABLE"
    stage.call("task.assign", id=id)
    claim(stage, "ada", id)
    assert stage.refused("task.assign", id=id, to="nobody").code == "UNKNOWN_AGENT"
    done(stage, "ada", id)
    assert stage.refused("task.assign", id=id, to="bob").code == "TASK_FINISHED"


def test_assigning_opens_nothing_that_waits(stage: Stage) -> None:
    a = add(stage)
    b, c = add(stage, deps=[a]), add(stage)
    stage.call("task.block", id=c, reason="not yet")
    for id in (b, c):
        assert stage.call("task.assign", id=id, to="bob")["status"] == "blocked"
    assert show(stage, c)["why"] == "not yet"


# --- cancel ----------------------------------------------------------------------------------------------------------


def test_canceling_tells_dependents_and_owner(stage: Stage) -> None:
    a = add(stage, "Base", "bob")
    b = add(stage, "Above", "cat", deps=[a])
    card = stage.call("task.cancel", "lea", id=a, reason="not needed")
    assert (card["status"], card["why"], card["canceled"]) == ("canceled", "not needed", [a])
    for name in ("bob", "cat"):
        (message,) = stage.call("inbox", name, whole=True)["messages"]
        assert message["subject"] == f"{a} was canceled"
        assert f"rook task cancel {a} --tree" in message["body"]
        assert "not needed" in message["body"]
    assert status(stage, b) == ["blocked"], "it waits until its owner decides"
    assert stage.refused("task.cancel", id=a).code == "TASK_FINISHED"
    stage.call("task.revise", "cat", id=b, no_deps=True)
    assert status(stage, b) == ["pending"]


def test_canceling_a_tree(stage: Stage) -> None:
    a = add(stage, "A", "bob")
    b, c = add(stage, "B", deps=[a]), add(stage, "C")
    d = add(stage, "D", deps=[b, c])
    finish(stage, c)
    other = add(stage, "other")
    result = stage.call("task.cancel", "lea", id=a, tree=True)
    assert result["canceled"] == [a, b, d]
    assert status(stage, a, b, c, d, other) == ["canceled", "canceled", "completed", "canceled", "pending"]
    assert [e["ref"] for e in stage.events("task.canceled")] == [a, b, d]
    assert stage.subjects("bob") == [f"{a} was canceled"]


def test_a_failed_task_can_be_given_up_with_what_waits_for_it(stage: Stage) -> None:
    a = add(stage)
    b = add(stage, deps=[a])
    claim(stage, "ada", a)
    stage.call("task.fail", "ada", id=a, reason="no")
    assert stage.call("task.cancel", id=a, tree=True)["canceled"] == [a, b]
    assert {state for _, _, state in items(stage)} == {"resolved"}


# --- unblock, reset --------------------------------------------------------------------------------------------------


def test_unblocking_what_nobody_blocked(stage: Stage) -> None:
    a = add(stage)
    b = add(stage, deps=[a])
    error = stage.refused("task.unblock", id=b)
    assert error.code == "NOT_BLOCKED"
    assert a in error.message
    assert stage.refused("task.unblock", id=a).code == "NOT_BLOCKED"


def test_resetting(stage: Stage) -> None:
    a = add(stage, review=True)
    b, c = add(stage, deps=[a]), add(stage, deps=[a])
    finish(stage, a, summary="done", commits=["abc"])
    stage.call("task.review", "bob", id=a, verdict="SHIP")
    assert status(stage, a, b, c) == ["completed", "pending", "pending"]
    claim(stage, "ada", c)
    result = stage.call("task.reset", id=a, reason="wrong branch")
    assert result["reset"] == [a]
    assert (result["status"], result["attempts"], result["review"]) == ("pending", 0, "wanted")
    assert status(stage, b, c) == ["blocked", "in_progress"], "who has begun is not interrupted"
    assert stage.events("task.reset")[-1]["preview"] == "wrong branch"


def test_resetting_with_all_that_waits(stage: Stage) -> None:
    a = add(stage, "A")
    b = add(stage, "B", deps=[a])
    m = add(stage, "M", deps=[b], milestone=True)
    d = add(stage, "D", deps=[a, m])
    for id in (a, b):
        finish(stage, id)
    epoch = claim(stage, "ada", d)
    result = stage.call("task.reset", "lea", id=a, tree=True)
    assert set(result["reset"]) == {a, b, m, d}
    assert status(stage, a, b, m, d) == ["pending", "blocked", "blocked", "blocked"]
    assert stage.refused("task.done", "ada", id=d, epoch=epoch).code == "TASK_NOT_IN_PROGRESS"
    for id in (a, b):
        finish(stage, id)
    assert status(stage, a, b, m, d) == ["completed", "completed", "completed", "pending"]


def test_resetting_a_milestone_whose_parts_are_done(stage: Stage) -> None:
    a = add(stage)
    m = add(stage, deps=[a], milestone=True)
    finish(stage, a)
    stage.call("task.reset", id=m)
    assert status(stage, m) == ["completed"], "there is nothing to wait for"


# --- revise ----------------------------------------------------------------------------------------------------------


def test_revising(stage: Stage) -> None:
    id = add(stage, "Old", description="old", spec="# Old", resources=["a/"], kind="coder")
    card = stage.call(
        "task.revise", id=id, title="New", description="", spec="# New", resources=["b/"], priority="urgent", kind=""
    )
    told = {name: card[name] for name in ("title", "description", "spec", "resources", "priority", "kind")}
    assert told == {
        "title": "New", "description": "", "spec": "# New", "resources": ["b/"], "priority": "urgent", "kind": "",
    }  # fmt: skip
    assert stage.events("task.revise")[-1]["ref"] == id
    assert stage.call("task.revise", id=id)["title"] == "New", "what is left out stays"


def test_paths_that_are_taken_are_not_revised(stage: Stage) -> None:
    id = add(stage, resources=["a/"])
    claim(stage, "ada", id)
    assert stage.refused("task.revise", id=id, resources=["b/"]).code == "TASK_HELD"
    stage.call("task.revise", id=id, title="Other words")
    assert status(stage, id) == ["in_progress"]
    stop(stage, "ada")
    stage.clock.pass_time(TTL)
    stage.call("task.revise", id=id, resources=["b/"])
    assert reserved(stage) == []


def test_revising_what_it_waits_for(stage: Stage) -> None:
    a, b, c = add(stage), add(stage), add(stage)
    stage.call("task.revise", id=c, deps=[a, b])
    assert (show(stage, c)["deps"], status(stage, c)) == ([a, b], ["blocked"])
    finish(stage, a)
    stage.call("task.revise", id=c, deps=[a])
    assert status(stage, c) == ["pending"]
    stage.call("task.revise", id=c, deps=[b])
    assert status(stage, c) == ["blocked"]
    stage.call("task.revise", id=c, no_deps=True)
    assert (show(stage, c)["deps"], status(stage, c)) == ([], ["pending"])


def test_a_revised_tree_is_done_again(stage: Stage) -> None:
    a = add(stage, "A", review=True)
    b = add(stage, "B", deps=[a], review=True)
    c, d = add(stage, "C", deps=[b]), add(stage, "D", deps=[b])
    for id in (a, b):
        finish(stage, id)
        stage.call("task.review", "bob", id=id, verdict="SHIP")
    claim(stage, "ada", c)
    result = stage.call("task.revise", id=a, spec="# Another", tree=True)
    assert set(result["revised"]) == {a, b, c, d}
    assert status(stage, a, b, c, d) == ["pending", "blocked", "in_progress", "blocked"]
    assert [show(stage, id)["notes"][-1]["note"] for id in (b, c, d)] == [f"{a} was revised"] * 3
    assert stage.events("task.revise-tree")[-1]["ref"] == a
    finish(stage, a)
    assert show(stage, a)["review"] == "pending", "what was judged on the old words is judged again"
    stage.call("task.review", "bob", id=a, verdict="SHIP")
    assert status(stage, b) == ["pending"]


# --- split, delete ---------------------------------------------------------------------------------------------------


def test_splitting(stage: Stage) -> None:
    before = add(stage, "Before")
    id = add(stage, "Big", deps=[before], priority="high", kind="coder", resources=["src/"], review=True)
    after = add(stage, "After", deps=[id])
    result = stage.call("task.split", id=id, titles=["Read", "Write"])
    read, write = result["parts"]
    assert (result["milestone"], result["deps"]) == (True, [read, write])
    for part in (read, write):
        card = show(stage, part)
        assert (card["status"], card["deps"], card["priority"], card["kind"]) == ("blocked", [before], "high", "coder")
    finish(stage, before)
    for part in (read, write):
        finish(stage, part)
        assert status(stage, id, after) == ["blocked", "blocked"]
        stage.call("task.review", "bob", id=part, verdict="SHIP")
    assert status(stage, id, after) == ["completed", "pending"]
    assert stage.events("task.split")[-1]["ref"] == id


def test_splitting_into_a_chain(stage: Stage) -> None:
    id = add(stage)
    one, two, three = stage.call("task.split", id=id, titles=["1", "2", "3"], chain=True)["parts"]
    assert status(stage, one, two, three) == ["pending", "blocked", "blocked"]
    assert show(stage, three)["deps"] == [two]
    other = add(stage)
    assert best(stage) == one, "a longer chain hangs on it"
    assert best(stage) == other


@pytest.mark.parametrize("titles", [[], ["good", ""], ["x" * 301]])
def test_a_bad_split_leaves_nothing_behind(stage: Stage, titles: list[str]) -> None:
    id = add(stage)
    assert isinstance(stage.refused("task.split", id=id, titles=titles), errors.BadInput)
    finish(stage, id)
    assert stage.refused("task.split", id=id, titles=["a"]).code == "TASK_FINISHED"


def test_deleting(stage: Stage) -> None:
    a = add(stage, "A")
    b = add(stage, "B", deps=[a])
    error = stage.refused("task.delete", id=a)
    assert error.code == "TASK_NEEDED"
    assert b in error.message
    stage.call("task.revise", id=b, no_deps=True)
    claim(stage, "ada", a)
    assert stage.refused("task.delete", id=a).code == "TASK_HELD"
    stage.call("task.release", "ada", id=a)
    assert stage.call("task.delete", id=a)["deleted"] is True
    assert stage.refused("task.show", id=a).code == "UNKNOWN_TASK"
    assert stage.events("task.delete")[-1]["ref"] == a
    assert add(stage, "C") == "task-0003", "a number is never given twice"


# --- reviews ---------------------------------------------------------------------------------------------------------


def review(stage: Stage, id: str, verdict: str, who: str | None = "bob", **args: Any) -> dict[str, Any]:
    return stage.call("task.review", who, id=id, verdict=verdict, **({"feedback": "because"} | args))


def test_ship(stage: Stage) -> None:
    id = add(stage, "Work", "cat", review=True)
    after = add(stage, deps=[id])
    card = finish(stage, id, commits=["abc"])
    assert (card["status"], card["review"]) == ("completed", "pending")
    assert stage.subjects("cat") == [f"Review wanted: {id} Work"]
    assert status(stage, after) == ["blocked"], "its dependents wait for SHIP"
    card = review(stage, id, "SHIP", epoch=1, commit="abc")
    assert (card["status"], card["review"]) == ("completed", "SHIP")
    assert status(stage, after) == ["pending"]
    (judged,) = show(stage, id)["reviews"]
    assert (judged["verdict"], judged["reviewer"], judged["epoch"], judged["commit"]) == ("SHIP", "bob", 1, "abc")
    assert stage.subjects("ada") == [f"SHIP: {id} Work"]
    assert stage.events("task.review")[-1]["actor"] == "bob"
    assert stage.refused("task.review", "bob", id=id, verdict="SHIP").code == "NO_REVIEW_DUE"


def test_what_waits_for_no_review(stage: Stage) -> None:
    plain, wanted = add(stage), add(stage, review=True)
    for id in (plain, wanted):
        assert stage.refused("task.review", "bob", id=id, verdict="SHIP").code == "NO_REVIEW_DUE"
    finish(stage, plain)
    assert stage.refused("task.review", "bob", id=plain, verdict="SHIP").code == "NO_REVIEW_DUE"


@pytest.mark.parametrize("who", ["ada", "user"])
def test_nobody_reviews_their_own_work(stage: Stage, who: str) -> None:
    id = add(stage, review=True)
    finish(stage, id, who=who)
    error = stage.refused("task.review", who, id=id, verdict="SHIP")
    assert (error.code, error.http_status) == ("OWN_WORK", 403)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"epoch": 0}, "EPOCH_MISMATCH"),
        ({"epoch": 2}, "EPOCH_MISMATCH"),
        ({"commit": "fff"}, "COMMIT_MISMATCH"),
        ({"verdict": "LGTM"}, "BAD_INPUT"),
        ({"verdict": "NEEDS_WORK", "feedback": " "}, "BAD_INPUT"),
        ({"verdict": "MAJOR_RETHINK", "feedback": ""}, "BAD_INPUT"),
    ],
)
def test_a_verdict_is_bound_to_what_was_completed(stage: Stage, args: dict[str, Any], code: str) -> None:
    id = add(stage, review=True)
    finish(stage, id, commits=["abc"])
    assert stage.refused("task.review", "bob", id=id, **({"verdict": "SHIP"} | args)).code == code


def test_a_verdict_on_a_completion_that_is_gone(stage: Stage) -> None:
    id = add(stage, review=True)
    finish(stage, id)
    stage.call("task.reset", id=id)
    finish(stage, id)
    assert stage.refused("task.review", "bob", id=id, verdict="SHIP", epoch=1).code == "EPOCH_MISMATCH"
    assert review(stage, id, "SHIP", epoch=3)["review"] == "SHIP"


def test_needs_work_goes_to_its_author_first(stage: Stage) -> None:
    id = add(stage, "Work", review=True)
    finish(stage, id)
    card = review(stage, id, "NEEDS_WORK", feedback="names are unclear")
    assert (card["status"], card["owner"], card["review"]) == ("pending", "ada", "wanted")
    assert stage.subjects("ada") == [f"NEEDS_WORK: {id} Work"]
    assert show(stage, id)["notes"][-1]["note"] == "NEEDS_WORK: names are unclear"
    assert best(stage, "cat") is None
    assert stage.refused("task.claim", "cat", id=id).code == "TASK_NOT_CLAIMABLE"
    assert best(stage, "ada") == id
    stage.call("task.release", "ada", id=id)
    assert best(stage, "cat") == id, "first is not for ever"
    stage.call("task.release", "cat", id=id)
    assert show(stage, id)["owner"] is None


def test_after_a_while_anyone_may_do_it(stage: Stage) -> None:
    id = add(stage, review=True)
    finish(stage, id)
    review(stage, id, "NEEDS_WORK")
    stage.clock.pass_time(10 * MINUTE - 1)
    assert best(stage, "cat") is None
    stage.clock.pass_time(1)
    claim(stage, "cat", id)
    stage.call("task.release", "cat", id=id)
    claim(stage, "bob", id)


def test_an_assignment_outlasts_a_review(stage: Stage) -> None:
    id = add(stage, review=True, assignee="ada")
    finish(stage, id)
    review(stage, id, "NEEDS_WORK")
    stage.clock.pass_time(60 * MINUTE)
    assert stage.refused("task.claim", "cat", id=id).code == "TASK_NOT_CLAIMABLE"
    claim(stage, "ada", id)


def test_the_third_time_the_owner_is_asked(stage: Stage) -> None:
    id = add(stage, "Work", "cat", review=True)
    card: dict[str, Any] = {}
    for turn in range(3):
        finish(stage, id)
        card = review(stage, id, "NEEDS_WORK", feedback=f"no. {turn}")
        assert card["status"] == ("blocked" if turn == 2 else "pending")
    assert "no. 2" in card["why"]
    assert (id, "failure", "open") in items(stage)
    assert f"NEEDS_WORK: {id} Work" in stage.subjects("cat")
    assert [r["verdict"] for r in show(stage, id)["reviews"]] == ["NEEDS_WORK"] * 3
    stage.call("task.unblock", "cat", id=id)
    finish(stage, id)
    assert review(stage, id, "SHIP")["review"] == "SHIP"


def test_a_rethink_blocks(stage: Stage) -> None:
    id = add(stage, "Work", "cat", review=True)
    after = add(stage, deps=[id])
    finish(stage, id)
    card = review(stage, id, "MAJOR_RETHINK", feedback="wrong idea")
    assert card["status"] == "blocked"
    assert "wrong idea" in card["why"]
    assert (id, "failure", "open") in items(stage)
    assert f"MAJOR_RETHINK: {id} Work" in stage.subjects("cat")
    assert stage.refused("task.claim", "ada", id=id).code == "TASK_NOT_CLAIMABLE"
    assert status(stage, after) == ["blocked"]


def test_work_that_was_sent_back_did_not_fail(stage: Stage) -> None:
    """Of five attempts that fail, completed ones are none."""
    id = add(stage, review=True)
    for _ in range(2):
        finish(stage, id)
        review(stage, id, "NEEDS_WORK")
    claim(stage, "ada", id)
    assert show(stage, id)["attempts"] == 1
