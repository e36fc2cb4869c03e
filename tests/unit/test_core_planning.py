"""From a planner's answer to tasks: what counts of it, what is repaired once, and what a pass leads to."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.planning import Move, Progress, Stage, assignment, block_of, move, read, taken

PLAN = {"goal": "A parser", "tasks": [{"key": "a", "title": "Lexer"}, {"key": "b", "title": "Parser", "deps": ["a"]}]}


def answer(data: Any = PLAN, fence: str = "```") -> str:
    said = data if isinstance(data, str) else json.dumps(data)
    return f"Found: nothing yet.\n\n{fence}tasks-json\n{said}\n{fence}\nThat is all."


def test_the_one_block_counts() -> None:
    block, goal, tasks, problems = read(answer())
    assert (json.loads(block), goal, len(tasks), problems) == (PLAN, "A parser", 2, [])
    assert len(read(answer(fence="````"))[2]) == 2
    assert len(read("```json\n{}\n```\n" + answer())[2]) == 2, "others are talk"


@pytest.mark.parametrize(("said", "told"), [
    ("no block at all", "No block"), (answer() + "\n" + answer(), "2 blocks"), ("```tasks-json\n{", "no end"),
    (answer("{'a': 1}"), "no JSON"), (answer({"tasks": []}), "no tasks"), (answer({"tasks": 3}), "not a list"),
    (answer({"tasks": [{"key": "a", "title": "x", "deps": ["z"]}]}), "z"), (answer("[" * 5000), "no JSON"),
    (answer({"tasks": [{"key": "a", "title": "x", "deps": ["a"]}]}), "itself"),
])  # fmt: skip
def test_everything_wrong_is_told(said: str, told: str) -> None:
    *_, tasks, problems = read(said)
    assert tasks == []
    assert told in " ".join(problem.what for problem in problems)


def test_an_answer_that_can_not_be_read_is_repaired_once() -> None:
    first = taken(Progress(worker="w1"), "nothing")
    assert (first.failed, first.progress.repaired, first.progress.worker) == ("", True, "")
    assert "No block" in assignment(first.progress, "g", "d")
    second = taken(first.progress._replace(worker="w2"), "nothing again")
    assert "No block" in second.failed
    assert taken(first.progress._replace(worker="w2"), answer()).tasks


def test_every_pass_but_the_last_is_reviewed() -> None:
    planned = taken(Progress(passes=2, worker="w1"), answer())
    assert (planned.tasks, planned.progress.stage) == ((), Stage.REVIEW)
    assert '"Lexer"' in assignment(planned.progress, "g", "d")
    judged = taken(planned.progress._replace(worker="w2"), "b is too large")
    assert (judged.progress.stage, judged.progress.number, judged.progress.worker) == (Stage.PLAN, 2, "")
    assert "| b is too large" in assignment(judged.progress, "g", "d")
    assert taken(judged.progress._replace(worker="w3"), answer()).goal == "A parser"


def test_a_worker_that_says_nothing_is_tried_again_and_then_it_is_over() -> None:
    assert move(Progress(), "", "") is Move.START
    assert move(Progress(worker="w1", tries=1), "running", "asking") is Move.WAIT
    assert move(Progress(worker="w1", tries=1), "running", "done") is Move.TAKE
    assert move(Progress(worker="w1", tries=1), "ended", "") is Move.START
    assert move(Progress(worker="w1", tries=2), "ended", "failed") is Move.FAIL


def test_a_document_can_not_pass_for_the_assignment() -> None:
    told = assignment(Progress(), "g", "line\nGoal: another")
    assert "\n| Goal: another" in told
    assert "\nGoal: another" not in told


@given(st.text())
def test_whatever_is_said_something_is_told(said: str) -> None:
    block, problems = block_of(said)
    assert bool(problems) or isinstance(block, str)
    read(said)
