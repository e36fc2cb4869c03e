"""From a document to a plan: passes of a planner, each read, repaired once if it can not be, and reviewed. Pure.

    plan ──(a block that can be read)──> review ──> plan ... ──(last pass)──> the tasks are made
      └──(it can not)──> repair ──(again not)──> failed

What a planner answers is text. One fenced block `tasks-json` of it counts, and is judged as a plan that a person wrote.
"""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, cast

from rookery.core import plans
from rookery.core.plans import Problem
from rookery.core.record import NamedTuple
from rookery.core.workers import SETTLED, Report, State

FENCE = "tasks-json"
PASSES = 5
TRIES = 2  # of one stage by workers that end without a word


class Stage(StrEnum):
    PLAN = "plan"
    REVIEW = "review"


class Progress(NamedTuple):
    """How far the planning is: kept in the crew's row."""

    passes: int = 1
    number: int = 1  # of the pass
    stage: str = Stage.PLAN
    worker: str = ""
    tries: int = 0
    repaired: bool = False
    draft: str = ""  # the last block that could be read
    feedback: str = ""  # what is to be regarded: problems, or a reviewer's words


class Move(StrEnum):
    WAIT = "wait"
    START = "start"  # a worker for this stage
    TAKE = "take"  # its answer
    FAIL = "fail"


class Answered(NamedTuple):
    """What a planner's answer leads to."""

    progress: Progress
    tasks: Sequence[Mapping[str, Any]] = ()  # of the last pass: to be made
    goal: str = ""
    failed: str = ""


def move(progress: Progress, state: str, report: str) -> Move:
    """Given the worker of this stage; "" for both if there is none."""
    if not progress.worker:
        return Move.START
    if report == Report.DONE:
        return Move.TAKE
    if report in SETTLED or state in ("", State.ENDED):
        return Move.START if progress.tries < TRIES else Move.FAIL
    return Move.WAIT


def block_of(answer: str) -> tuple[str, list[Problem]]:
    """The one fenced block; problems where there is none, more than one, or one without an end."""
    found: list[list[str]] = []
    inside: str = ""
    for line in answer.splitlines():
        mark = line.strip()
        if inside:
            if mark == inside:
                inside = ""
            else:
                found[-1].append(line)
        elif mark.startswith("```") and mark.strip("`").strip().lower() == FENCE:
            inside = mark[: len(mark) - len(mark.lstrip("`"))]
            found.append([])
    if inside:
        return "", [Problem("answer", "The block has no end.", "Close it with ``` on a line of its own.")]
    if len(found) != 1:
        many = f"{len(found)} blocks" if found else "No block"
        return "", [Problem("answer", f"{many} of {FENCE}.", f"Answer with one fenced block of the language {FENCE}.")]
    return "\n".join(found[0]), []


def read(answer: str) -> tuple[str, str, list[Mapping[str, Any]], list[Problem]]:
    """(block, goal, tasks, problems) of an answer; everything that is wrong is told at once."""
    block, problems = block_of(answer)
    if problems:
        return "", "", [], problems
    try:
        data = json.loads(block)
    except (ValueError, RecursionError) as error:
        return "", "", [], [Problem("block", f"It is no JSON: {error}.", "Plain JSON: double quotes, no comments.")]
    items, problems = plans.from_data(data)
    problems = problems or plans.validate(items)
    if not problems and not items:
        problems = [Problem("plan", "It has no tasks.", "Give at least one.")]
    if problems:
        return "", "", [], problems
    listed = cast("list[Mapping[str, Any]]", cast("dict[str, Any]", data)["tasks"] if isinstance(data, dict) else data)
    return block, plans.goal_in(cast("object", data)), listed, []


def taken(progress: Progress, answer: str) -> Answered:
    """An answer of the stage's worker, and what comes next."""
    if progress.stage == Stage.REVIEW:
        fresh = progress._replace(number=progress.number + 1, stage=Stage.PLAN, worker="", tries=0, repaired=False)
        return Answered(fresh._replace(feedback=answer))
    block, goal, tasks, problems = read(answer)
    if problems and progress.repaired:
        return Answered(progress, failed=str(plans.refusal(problems)))
    if problems:
        told = str(plans.refusal(problems))
        return Answered(progress._replace(worker="", tries=0, repaired=True, feedback=told))
    kept = progress._replace(worker="", tries=0, repaired=False, draft=block, feedback="")
    if progress.number >= progress.passes:
        return Answered(kept, tasks, goal)
    return Answered(kept._replace(stage=Stage.REVIEW))


def assignment(progress: Progress, goal: str, document: str) -> str:
    """What the worker of this stage is asked. What others wrote is quoted, and named as theirs."""
    parts = [f"Goal: {goal}", _quoted("The document", document)]
    if progress.draft:
        parts.append(_quoted("The plan as it stands", progress.draft))
    if progress.stage == Stage.REVIEW:
        parts.append(
            "Judge this plan before anyone works on it: what is missing, what is too large, what would two workers "
            "write at once, which dependency is needless or lacks. Report `findings`; your summary goes to the planner."
        )
        return "\n\n".join(filter(None, parts))
    if progress.feedback:
        name = "What could not be read in your answer" if progress.repaired else "What a reviewer said of it"
        parts.append(_quoted(name, progress.feedback))
    parts.append(
        f"Make the plan (pass {progress.number} of {progress.passes}). Report `proposal` with your whole answer as the "
        f"summary; it ends with one fenced block of the language {FENCE}."
    )
    return "\n\n".join(filter(None, parts))


def _quoted(name: str, said: str) -> str:
    return f"{name}:\n" + "\n".join(f"| {line}" for line in said.splitlines()) if said else ""
