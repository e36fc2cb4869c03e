"""Whom a result is put before: a rule decides, somebody else judges it, it lands by itself, or a person is asked.

Only a report gets here (`protocol.done`): a program that ended, however well, has earned nothing.
"""

import json
from typing import Any

from rookery.core import docket, landing, names, tasks, text
from rookery.core.crews import REVIEWS
from rookery.core.docket import Action, Rank, Standing
from rookery.core.overlap import Grade
from rookery.store.port import Row

from . import conflicts, deliverables, held, items, policies, questions, rules
from .tx import Tx


def reported(tx: Tx, worker: Row, row: Row) -> None:
    """A version was written, its task has ended, and its change set is recorded."""
    lands = tx.one("landing_of_change", change=row["change"]) if row["change"] else None
    if lands is not None and lands["state"] != landing.State.FAILED:
        deliverables.settle(tx, row, Standing.PROMOTED)  # it lands by itself: that was decided beforehand
        _record_option(tx, worker, row, lands["id"])
        return
    if worker["role"] == "plan":
        deliverables.settle(tx, row, Standing.ACCEPTED)  # its crew takes it from here
        return
    seen = look(tx, worker, row)
    if rule := _rule(tx, worker, row, seen):
        from . import verdicts

        verdicts.by_rule(tx, worker, row, rule, seen.risk)
    elif not _is_judged_by_crew(tx, row):
        ask(tx, worker, row, seen.risk)


def _record_option(tx: Tx, worker: Row, row: Row, lands: str) -> None:
    """The decision log names the option of the user's that let it land."""
    from . import decisions
    from . import landing as queue

    option = landing.option_of(queue.terms_of(tx, worker["crew"]), worker["crew"])
    said = decided(tx, row, Action.PROMOTE, effect={"landing": lands}, rule=option)
    tx.as_agent(system(tx), lambda: decisions.record(tx, decisions.Decided(**said)))


def shipped(tx: Tx, task: str) -> None:
    """A review was passed. What does not land by itself waits for whoever promotes it; what has nothing to land is
    accepted by that."""
    for row in tx.all("open_deliverables_of_task", task=task):
        worker = tx.one("worker", id=row["worker"])
        if not row["change"] or worker is None:
            deliverables.settle(tx, row, Standing.ACCEPTED)
        elif tx.one("item_of_subject", subject=docket.result_of(row["worker"], row["version"])) is None:
            ask(tx, worker, row, look(tx, worker, row).risk)


def unreviewed(tx: Tx, plan: str | None, task: str = "") -> None:
    """A crew is over, or its reviewers of a task all ended without a verdict: then a person is asked."""
    for row in tx.all("unasked_results", plan=plan) if plan else ():
        worker = tx.one("worker", id=row["worker"])
        if worker is not None and (not task or (row["task"] == task and row["reviews"] >= REVIEWS)):
            ask(tx, worker, row, look(tx, worker, row).risk)


def look(tx: Tx, worker: Row, row: Row) -> docket.Seen:
    """What is recorded of a result, for the law."""
    change = tx.one("change", id=row["change"]) if row["change"] else None
    files: list[dict[str, Any]] = json.loads(change["files"]) if change else []
    paths = [path for each in files for path in (each["path"], each.get("from", "")) if path]
    count, lines = (change["paths"], change["added"] + change["removed"]) if change else (0, 0)
    checks = deliverables.checks_of(row)
    gone = sum(each["status"] == "D" for each in files)
    binary = sum(bool(each.get("binary")) for each in files)
    size = docket.Size(count, lines, gone, any(map(docket.steers, paths)), binary)
    risk = docket.risk_of(size, checks, contested(tx, row["change"]), row["outcome"])
    return docket.Seen(
        worker["kind"], worker["host"], row["outcome"], paths, len(files) == count, count, lines, checks, risk,
        bool(change), binary,
    )  # fmt: skip


def contested(tx: Tx, change: str) -> int:
    """How many others touch the same lines, as far as they may still land."""
    met = conflicts.of_change(tx, change) if change else []
    return sum(each["grade"] == Grade.CONTESTED.word for each in met)


def _rule(tx: Tx, worker: Row, row: Row, seen: docket.Seen) -> str:
    """What could not be promoted by hand either is left to a person."""
    if row["change"]:
        change = tx.one("change", id=row["change"])
        if change is None or not change["branch"] or policies.keeps_from_landing(tx, worker["id"]):
            return ""
    return rules.first(tx, seen)


def _is_judged_by_crew(tx: Tx, row: Row) -> bool:
    task = tx.one("task_hold", id=row["task"]) if row["task"] else None
    if task is None or task["review"] != tasks.REVIEW_PENDING:
        return False
    from . import leases

    return leases.crew_judges(tx, task)


def ask(tx: Tx, worker: Row, row: Row, risk: docket.Risk) -> str:
    """Put it before whoever decides about its worker."""
    named = docket.result_of(row["worker"], row["version"])
    made = tx.one("change", id=row["change"]) if row["change"] else None
    wanted = f"promote {_size(made)}?" if made else f"accept this ({row['outcome']})?"
    return items.ask(tx, items.Asked(
        "result", row["task"] or worker["id"],
        f"{worker['id']} ({worker['name']}): {wanted} {text.one_line(row['summary'], 200)}",
        questions.decider(tx, worker)["id"], _otherwise(tx, worker, row), detail=row["summary"], subject=named,
        worker=worker["id"], rank=Rank.CHANGE if made else Rank.READY, risk=risk,
    ), by=worker["agent"])  # fmt: skip


def _size(made: Row) -> str:
    binary = sum(bool(each.get("binary")) for each in json.loads(made["files"]))
    files = f"{made['paths']} {'file' if made['paths'] == 1 else 'files'}"
    return f"{files}, +{made['added']} -{made['removed']}{f', {binary} binary' if binary else ''}"


def _otherwise(tx: Tx, worker: Row, row: Row) -> str:
    task = held.find(tx, row["task"]) if row["task"] else None
    if task is not None and task["review"] == tasks.REVIEW_PENDING:
        return f"what waits for {task['id']} goes on waiting"
    if row["change"]:
        return f"{row['head'][:12]} is not merged; it goes when {worker['id']} is forgotten"
    return f"it counts as unjudged once {worker['id']} is forgotten"


def decided(tx: Tx, row: Row, action: Action, **more: Any) -> dict[str, Any]:
    """What a decision about a result says of it."""
    return {"verb": action, "subject": docket.result_of(row["worker"], row["version"]), "worker": row["worker"],
            "task": row["task"], "head": row["head"], "evidence": json.loads(row["evidence"]), **more}  # fmt: skip


def system(tx: Tx) -> Row:
    return tx.find_agent(names.SYSTEM) or tx.make_agent(names.SYSTEM)
