"""What one task's fate means for others: dependents open, milestones complete, setbacks are told."""

from typing import Any

from rookery.core import tasks
from rookery.store.port import Row

from . import held
from .tx import Tx


def after_completion(tx: Tx, id: str) -> None:
    """Those who waited for it may start; a milestone that waited completes, and so on outwards."""
    todo = [id]
    while todo:
        for row in tx.all("dependents_of", dep=todo.pop()):
            opened = row["status"] == tasks.Status.BLOCKED and reopen(tx, row)
            if opened and row["milestone"] and tx.run("milestone_done", id=row["id"], at=tx.wall):
                tx.event("task.done", "system", ref=row["id"], preview=row["title"])
                todo.append(row["id"])
        _finish_plan(tx, id)


def reopen(tx: Tx, row: Row) -> bool:
    """Blocked or pending, as its dependencies and its reason say; True when nothing holds it back any more."""
    unmet = tx.all("unmet_deps", task=row["id"])
    status = tasks.opening(len(unmet), is_strict(tx, row["plan"]), row["why"])
    if status is tasks.Status.PENDING and row["status"] == tasks.Status.BLOCKED:
        tx.run("open_task", id=row["id"], status=status)
        tx.event("task.unblock", "system", ref=row["id"], preview=row["title"])
        tx.ring("ready")
    return status is tasks.Status.PENDING


def is_strict(tx: Tx, plan: str | None) -> bool:
    row = tx.one("plan", id=plan) if plan else None
    return row is None or bool(row["strict"])


def _finish_plan(tx: Tx, id: str) -> None:
    task = tx.one("task_hold", id=id)
    if task is None or task["plan"] is None:
        return
    counts = {row["status"]: row["times"] for row in tx.all("count_tasks", plan=task["plan"])}
    open_ones = sum(counts.get(status, 0) for status in ("blocked", "pending", "in_progress", "failed"))
    waiting = tx.one("plan_awaits_review", plan=task["plan"])
    if (
        not open_ones
        and not (waiting and waiting["waiting"])
        and tx.run("end_plan", id=task["plan"], status="completed")
    ):
        tx.event("plan.done", "system", ref=task["plan"])


def move(tx: Tx, row: Row, status: tasks.Status, *, why: str = "", attempts: int | None = None, **more: Any) -> None:
    """The owner's hand: no lease is asked for; the epoch rises, so whoever held it is fenced."""
    if status is tasks.Status.PENDING:
        status = tasks.opening(len(tx.all("unmet_deps", task=row["id"])), is_strict(tx, row["plan"]), why)
    values = {
        "review": row["review"],
        "ended": None,
        "assignee": row["assignee"],
        "assigned_until": row["assigned_until"],
        "attempts": row["attempts"] if attempts is None else attempts,
        "rounds": row["rounds"],
    }
    tx.run("move_task", id=row["id"], epoch=row["epoch"], status=status, why=why, **(values | more))
    tx.run("drop_task_reservations", task=row["id"])
    tx.run("close_review_items", ref=row["id"])


def tell_setback(tx: Tx, row: Row, what: str, detail: str, *, ask: bool) -> None:
    """Dependents' holders and the owner learn of it, and of what they can do."""
    waiting = [
        other["id"] for other in tx.all("dependents_of", dep=row["id"]) if other["status"] == tasks.Status.BLOCKED
    ]
    told = f"{row['id']} ({row['title']}) {what}." + (
        f" {len(waiting)} wait for it: {', '.join(waiting[:10])}." if waiting else ""
    )
    for other in waiting:
        held.note(tx, other, "setback", "system", f"{row['id']} {what}: {detail}"[:500])
    if ask:
        held.ask_owner(tx, row, f"{row['id']} {what}", f"{told}\n\n{detail}")
    elif waiting:
        owner = held.owner_of(tx, row)
        held.tell(
            tx,
            [owner["name"]],
            f"{row['id']} {what}",
            f"{told}\n\n{detail}\n`rook task reset {row['id']}` retries, "
            "`rook task revise OTHER --dep NEW` replaces it, "
            f"`rook task cancel {row['id']} --tree` gives up what waits for it.",
        )
