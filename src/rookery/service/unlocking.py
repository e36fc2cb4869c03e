"""What one task's fate means for others: dependents open, milestones complete, setbacks are told."""

from typing import Any

from rookery.core import tasks
from rookery.store.port import Row

from . import held, items, nearby
from .tx import WORKED, Tx


def after_completion(tx: Tx, id: str) -> None:
    """Those who waited for it may start; a milestone that waited completes, and so on outwards."""
    todo = [id]
    while todo:
        done = todo.pop()
        for row in tx.all("dependents_of", dep=done):
            if complete_milestone(tx, row):
                todo.append(row["id"])
            elif row["status"] == tasks.Status.BLOCKED:
                reopen(tx, row)
        task = tx.one("task_hold", id=done)
        finish_plan(tx, task["plan"] if task else None)


def reopen(tx: Tx, row: Row) -> None:
    """Blocked or pending, as its dependencies and its reason say."""
    status = held.opening(tx, row, row["why"])
    if status == row["status"]:
        return
    tx.run("open_task", id=row["id"], status=status)
    if status is tasks.Status.PENDING:
        tx.event("task.unblock", "system", ref=row["id"], preview=row["title"])
        tx.ring("ready")
    else:
        tx.event("task.block", "system", ref=row["id"], preview=f"waits again: {row['title']}")


def complete_milestone(tx: Tx, row: Row) -> bool:
    """True if it is a milestone, and all it waits for is now complete."""
    if not row["milestone"] or row["why"] or not tx.all("deps_of", task=row["id"]):
        return False
    if tx.all("unmet_deps", task=row["id"]) or not tx.run("milestone_done", id=row["id"], at=tx.wall):
        return False
    tx.event("task.done", "system", ref=row["id"], preview=row["title"])
    return True


def refresh(tx: Tx, id: str) -> None:
    """What a task waits for was changed, or it was put back: it may open, wait again, or complete by itself."""
    row = held.find(tx, id)
    if complete_milestone(tx, row):
        after_completion(tx, id)
    elif row["status"] in (tasks.Status.BLOCKED, tasks.Status.PENDING):
        reopen(tx, row)


def finish_plan(tx: Tx, plan: str | None) -> None:
    """A plan is done when nothing of it is left to do, to judge or to land."""
    if not plan or tx.one("plan_goes_on", plan=plan) or tx.one("plan_lands", plan=plan):
        return
    if tx.run("end_plan", id=plan, status="completed"):
        tx.event("plan.done", "system", ref=plan, stage="work")


def move(tx: Tx, row: Row, status: tasks.Status, *, why: str = "", attempts: int | None = None, **more: Any) -> None:
    """The owner's hand: no lease is asked for; the epoch rises, so whoever held it is fenced, and told."""
    if status is tasks.Status.PENDING:
        status = held.opening(tx, row, why)
    going_on = status not in tasks.FINISHED
    values = {
        "review": tasks.REVIEW_WANTED if row["review"] and going_on else row["review"],
        "ended": None,
        "assignee": row["assignee"],
        "assigned_until": row["assigned_until"],
        "attempts": row["attempts"] if attempts is None else attempts,
        "rounds": row["rounds"],
    }
    tx.run("move_task", id=row["id"], epoch=row["epoch"], status=status, why=why, **(values | more))
    nearby.free_task(tx, row["id"])
    items.close(tx, row["id"])
    if tx.flags & WORKED:
        from . import deliverables  # most tasks are nobody's who reports

        deliverables.task_moves_on(tx, row["id"])
    if going_on and row["plan"]:
        tx.run("reopen_plan", id=row["plan"])
    _tell_holder(tx, row, status)


def _tell_holder(tx: Tx, row: Row, status: tasks.Status) -> None:
    me = tx.me()
    if row["status"] != tasks.Status.IN_PROGRESS or row["holder"] in (None, me["id"]):
        return
    holder = tx.one("agent_by_id", id=row["holder"])
    assert holder is not None
    held.tell(
        tx,
        [holder["name"]],
        f"Taken from you: {row['id']} {row['title']}",
        f"{me['name']} decided about {row['id']}, which you held; it is {status} now. Stop, and do not write its "
        f"result. `rook task show {row['id']}` tells more.",
    )


def tell_setback(tx: Tx, row: Row, what: str, detail: str, *, ask: bool) -> None:
    """Whoever waits for it, and its owner, learn of it and of what they can do."""
    waiting = [other for other in tx.all("dependents_of", dep=row["id"]) if other["status"] == tasks.Status.BLOCKED]
    owner = held.owner_of(tx, row)["name"]
    told = f"{row['id']} ({row['title']}) {what}." + (
        f" {len(waiting)} wait for it: {', '.join(other['id'] for other in waiting[:10])}." if waiting else ""
    )
    others: list[str] = []
    for other in waiting:
        held.note(tx, other["id"], "setback", "system", f"{row['id']} {what}: {detail}"[:500])
        others += [held.owner_of(tx, other)["name"], other["assignee_name"] or ""]
    if ask:
        held.ask_owner(tx, row, f"{row['id']} {what}", f"{told}\n\n{detail}".strip(), why=detail)
    elif waiting or owner != tx.me()["name"]:
        others.append(owner)
    choices = (
        f"`rook task reset {row['id']}` retries, `rook task revise OTHER --dep NEW` replaces it, "
        f"`rook task cancel {row['id']} --tree` gives up what waits for it."
    )
    told_already = {owner} if ask else set[str]()
    held.tell(tx, [name for name in others if name not in told_already], f"{row['id']} {what}",
              f"{told}\n\n{detail}\n{choices}")  # fmt: skip
