"""A document turned into a plan by a planner, pass by pass: the first part of a crew. The law: `core.planning`."""

import json
from typing import Any

from rookery.core import names, planning, text
from rookery.core.planning import Move, Progress, Stage
from rookery.store.port import Row

from . import plans
from . import workers as crewing
from .tx import Tx


def progress_of(crew: Row) -> Progress | None:
    told = json.loads(crew["terms"]).get("planning")
    return Progress(**told) if told else None


def due(tx: Tx, crew: Row, progress: Progress) -> Move:
    worker = tx.one("worker", id=progress.worker) if progress.worker else None
    return planning.move(progress, worker["state"] if worker else "", worker["report"] if worker else "")


def step(tx: Tx, crew: Row, progress: Progress) -> tuple[list[str], str]:
    """(what was done, why the planning failed)."""
    move = due(tx, crew, progress)
    if move is Move.START:
        return [_start(tx, crew, progress)], ""
    if move is Move.TAKE:
        return _take(tx, crew, progress)
    if move is Move.FAIL:
        return [], _fail(tx, crew, f"no answer in {progress.tries} tries")
    return [], ""


def _start(tx: Tx, crew: Row, progress: Progress) -> str:
    plan = plans.find(tx, crew["plan"])
    terms = json.loads(crew["terms"])
    starter = tx.find_agent(crew["starter"])
    assert starter is not None
    extra = {name: terms[name] for name in ("program",) if terms[name]}
    kind = "planner" if progress.stage == Stage.PLAN else "reviewer"
    id = crewing.make(
        tx, starter, planning.assignment(progress, plan["goal"], plan["spec"]), kind=kind, host=terms["host"],
        backend=terms["backend"], crew=crew["id"], role="plan", root=crew["root"], extra=extra,
    )  # fmt: skip
    if not progress.tries and not progress.repaired:
        what = "plan.pass.start" if progress.stage == Stage.PLAN else "plan.review.start"
        tx.event(
            what, names.SYSTEM, ref=crew["plan"], preview=f"pass {progress.number} of {progress.passes}", worker=id
        )
    keep(tx, crew, progress._replace(worker=id, tries=progress.tries + 1))
    return f"{progress.stage} {id}"


def _take(tx: Tx, crew: Row, progress: Progress) -> tuple[list[str], str]:
    worker = crewing.find(tx, progress.worker)
    answered = planning.taken(progress, worker["summary"])
    what = "plan.review.done" if progress.stage == Stage.REVIEW else "plan.pass.done"
    if answered.failed:
        return [], _fail(tx, crew, answered.failed)
    if not answered.progress.repaired:
        tx.event(what, worker["name"], ref=crew["plan"], preview=text.one_line(worker["summary"], 120))
    if not answered.tasks:
        keep(tx, crew, answered.progress)
        return [f"took {progress.stage}"], ""
    plan = plans.find(tx, crew["plan"])
    plans.fill(
        tx, plan["id"], list(map(dict, answered.tasks)), strict=bool(plan["strict"]), review=bool(plan["review"]),
        may_skip_review=False,
    )  # fmt: skip
    keep(tx, crew, None)
    count = len(answered.tasks)
    tx.event(
        "plan.done", names.SYSTEM, ref=plan["id"], preview=f"planned: {count} tasks", stage="planning", tasks=count
    )
    return [f"made {count} tasks"], ""


def _fail(tx: Tx, crew: Row, why: str) -> str:
    tx.event("plan.failed", names.SYSTEM, ref=crew["plan"], preview=text.one_line(why, 200))
    keep(tx, crew, None)
    return f"no plan came of it: {text.one_line(why, 200)}"


def keep(tx: Tx, crew: Row, progress: Progress | None) -> None:
    terms: dict[str, Any] = json.loads(crew["terms"])
    terms["planning"] = progress._asdict() if progress else None
    tx.run("set_crew_terms", id=crew["id"], terms=json.dumps(terms))
