"""The owner's hand on tasks: assign, cancel, unblock, reset, revise, split, delete. No lease is asked for; the epoch
rises, so whoever held the task is fenced. The leader, the person, whoever made the task and the owner of its plan may
do this."""

import json
from typing import Annotated, Any

from rookery.core import errors, mail, tasks, text

from . import held, items, unlocking
from . import tasks as things
from .tx import Tx
from .verbs import Arg

Id = Annotated[str, Arg("the task", positional=True, metavar="ID")]
Reason = Annotated[str, Arg("why", flag="-m")]


def _steered(tx: Tx, id: str) -> Any:
    row = held.find(tx, id)
    if not held.steers(tx, row):
        raise errors.NotYours(
            f"Only the leader, the person, or who made {id} or owns its plan may do that.",
            "`rook escalate` puts it before them.",
            code="NOT_OWNER",
        )
    return row


def assign(
    tx: Tx, id: Id, to: Annotated[str, Arg("who shall do it; empty for anyone", positional=True)] = ""
) -> dict[str, Any]:
    row = _steered(tx, id)
    if row["status"] in tasks.FINISHED:
        raise errors.Refused(
            f"{id} is {row['status']}.", f"`rook task reset {id}` opens it again.", code="TASK_FINISHED"
        )
    agent = tx.agent(to) if to else None
    unlocking.move(
        tx, row, tasks.Status.PENDING, why=row["why"], assignee=agent["id"] if agent else None, assigned_until=None
    )
    tx.event("task.assigned", tx.me()["name"], target=agent["name"] if agent else "", ref=id, preview=row["title"])
    if agent:
        held.tell(
            tx,
            [agent["name"]],
            f"Assigned: {id} {row['title']}",
            f"`rook task claim {id}` takes it.",
            priority="normal",
        )
    tx.beat()
    return things.card(tx, id)


def cancel(
    tx: Tx, id: Id, reason: Reason = "", *, tree: Annotated[bool, Arg("and everything that waits for it")] = False
) -> dict[str, Any]:
    row = _steered(tx, id)
    if row["status"] in (tasks.Status.COMPLETED, tasks.Status.CANCELED):
        raise errors.Refused(f"{id} is {row['status']}.", "There is nothing to cancel.", code="TASK_FINISHED")
    found = [row, *(held.find(tx, each) for each in _waiting(tx, id))] if tree else [row]
    chosen = [task for task in found if task is row or task["status"] not in tasks.FINISHED]
    for task in chosen:
        unlocking.move(tx, task, tasks.Status.CANCELED, why=text.check_text(reason, "the reason")[:300], ended=tx.wall)
        tx.event("task.canceled", tx.me()["name"], ref=task["id"], preview=reason or task["title"])
    unlocking.tell_setback(tx, row, "was canceled", reason, ask=False)
    for plan in dict.fromkeys(task["plan"] for task in chosen):
        unlocking.finish_plan(tx, plan)
    tx.beat()
    return things.card(tx, id) | {"canceled": [task["id"] for task in chosen]}


def _waiting(tx: Tx, id: str) -> list[str]:
    """Everything that waits for a task, directly or not, nearest first."""
    found: dict[str, None] = {}
    todo = [id]
    while todo:
        for row in tx.all("dependents_of", dep=todo.pop(0)):
            if row["id"] not in found:
                found[row["id"]] = None
                todo.append(row["id"])
    return list(found)


def unblock(tx: Tx, id: Id, reason: Reason = "") -> dict[str, Any]:
    row = _steered(tx, id)
    if row["status"] != tasks.Status.BLOCKED or not row["why"]:
        unmet = [dep["id"] for dep in tx.all("unmet_deps", task=id)]
        told = f"it waits for {', '.join(unmet)}" if unmet else f"it is {row['status']}"
        raise errors.Refused(
            f"Nobody blocked {id}: {told}.",
            "`rook task revise ID --dep ...` changes what it waits for.",
            code="NOT_BLOCKED",
        )
    unlocking.move(tx, row, tasks.Status.PENDING, attempts=0)
    held.note(tx, id, "unblock", tx.me()["name"], reason or "unblocked")
    tx.event("task.unblock", tx.me()["name"], ref=id, preview=reason or row["title"])
    unlocking.refresh(tx, id)
    tx.beat()
    return things.card(tx, id)


def reset(
    tx: Tx,
    id: Id,
    reason: Reason = "",
    *,
    tree: Annotated[bool, Arg("and everything that waits for it", flag="--cascade")] = False,
) -> dict[str, Any]:
    """Back to the start: pending or blocked as its dependencies say, attempts forgotten, whoever held it fenced."""
    _steered(tx, id)
    chosen = [id, *_waiting(tx, id)] if tree else [id]
    for each in chosen:
        task = held.find(tx, each)
        unlocking.move(tx, task, tasks.Status.PENDING, attempts=0, rounds=0)
        tx.event("task.reset", tx.me()["name"], ref=each, preview=reason or task["title"])
    if not tree:
        _close_again(tx, id)
    for each in chosen:
        unlocking.refresh(tx, each)
    tx.beat()
    return things.card(tx, id) | {"reset": chosen}


def _close_again(tx: Tx, id: str) -> None:
    """Dependents that were open because of it, and that nobody has started, wait again."""
    for row in tx.all("dependents_of", dep=id):
        if row["status"] == tasks.Status.PENDING:
            unlocking.reopen(tx, row)


def revise(
    tx: Tx,
    id: Id,
    *,
    title: Annotated[str, Arg("a new title")] = "",
    description: Annotated[str | None, Arg("a new description", flag="-m")] = None,
    spec: Annotated[str | None, Arg("a new specification")] = None,
    deps: Annotated[list[str] | None, Arg("what it waits for from now on (repeatable)", flag="--dep")] = None,
    no_deps: Annotated[bool, Arg("it waits for nothing")] = False,
    resources: Annotated[
        list[str] | None, Arg("the paths it needs from now on (repeatable)", flag="--file", kind="patterns")
    ] = None,
    priority: Annotated[str, Arg("how soon", flag="-p", choices=things.PRIORITIES)] = "",
    kind: Annotated[str | None, Arg("the kind of worker it is for")] = None,
    tree: Annotated[bool, Arg("tell everyone who waits for it, and reset what was finished on the old words")] = False,
) -> dict[str, Any]:
    row = held.settle(tx, _steered(tx, id))
    if row["status"] == tasks.Status.IN_PROGRESS and resources is not None:
        raise errors.Refused(
            f"{id} is being worked on; its paths are taken.", f"`rook task release {id}` first.", code="TASK_HELD"
        )
    full = tx.one("task", id=id)
    assert full is not None
    tx.run(
        "revise_task",
        id=id,
        title=things.check_title(title or full["title"]),
        description=full["description"] if description is None else things.check_long(tx, description),
        spec=full["spec"] if spec is None else things.check_long(tx, spec),
        priority=mail.parse_priority(priority) if priority else full["priority"],
        kind=full["kind"] if kind is None else things.check_kind(kind),
        resources=full["resources"] if resources is None else json.dumps(things.check_resources(resources)),
    )
    if deps is not None or no_deps:
        _replace_deps(tx, id, deps or [])
    touched = [id, *_waiting(tx, id)] if tree else []
    for each in touched:
        task = held.find(tx, each)
        if task["status"] in (tasks.Status.COMPLETED, tasks.Status.FAILED):
            unlocking.move(tx, task, tasks.Status.PENDING, attempts=0)
        held.note(tx, each, "revise", tx.me()["name"], f"{id} was revised")
    for each in touched:
        unlocking.refresh(tx, each)
    tx.event("task.revise-tree" if tree else "task.revise", tx.me()["name"], ref=id, preview=title or full["title"])
    tx.beat()
    return things.card(tx, id) | {"revised": touched or [id]}


def _replace_deps(tx: Tx, id: str, deps: list[str]) -> None:
    things.check_deps(tx, deps)
    things.check_circle(tx, id, deps)
    tx.run("drop_deps", task=id)
    for dep in dict.fromkeys(deps):
        tx.run("new_dep", task=id, dep=dep)
    things.raise_ranks(tx, id)
    unlocking.refresh(tx, id)


def split(
    tx: Tx,
    id: Id,
    titles: Annotated[list[str], Arg("the parts", positional=True, metavar="TITLE")],
    *,
    chain: Annotated[bool, Arg("each part waits for the one before")] = False,
) -> dict[str, Any]:
    """The task becomes a milestone that waits for its parts; whoever waited for it still does."""
    row = _steered(tx, id)
    if not titles:
        raise errors.BadInput("Split into what?", "Give the title of each part.")
    if row["status"] in (tasks.Status.COMPLETED, tasks.Status.CANCELED):
        raise errors.Refused(f"{id} is {row['status']}.", "Only open work can be split.", code="TASK_FINISHED")
    full = tx.one("task", id=id)
    assert full is not None
    before = [dep["id"] for dep in tx.all("deps_of", task=id)]
    parts: list[str] = []
    for title in titles:
        deps = [*before, *(parts[-1:] if chain else [])]
        parts.append(
            things.create(
                tx,
                title,
                deps=deps,
                kind=full["kind"],
                plan=full["plan"] or "",
                priority=mail.Priority(full["priority"]).name,
                resources=json.loads(full["resources"]),
                review=bool(full["review"]),
                strict=held.is_strict(tx, full["plan"]),
            )
        )
    unlocking.move(tx, row, tasks.Status.BLOCKED)
    tx.run("make_milestone", id=id)
    tx.run("drop_deps", task=id)
    for part in parts:
        tx.run("new_dep", task=id, dep=part)
    things.raise_ranks(tx, id)
    tx.event("task.split", tx.me()["name"], ref=id, preview=f"{row['title']}: {len(parts)} parts", parts=parts)
    tx.beat()
    return things.card(tx, id) | {"parts": parts}


def delete(tx: Tx, id: Id) -> dict[str, Any]:
    row = held.settle(tx, _steered(tx, id))
    waiting = [other["id"] for other in tx.all("dependents_of", dep=id)]
    if waiting:
        raise errors.Refused(
            f"{', '.join(waiting[:5])} wait for {id}.", "Revise those first, or cancel it instead.", code="TASK_NEEDED"
        )
    if tasks.effective(held.hold_of(row), tx.now) is tasks.Status.IN_PROGRESS:
        raise errors.Refused(f"{id} is being worked on.", f"`rook task release {id}` or cancel it.", code="TASK_HELD")
    concerned = tx.standing(id)
    concerned["status"] = "deleted"
    for query in ("drop_task_reservations", "drop_deps"):
        tx.run(query, task=id)
    tx.run("delete_task_log", id=id)
    tx.run("delete_task", id=id)
    items.close(tx, id)
    unlocking.finish_plan(tx, row["plan"])
    tx.event("task.delete", tx.me()["name"], ref=id, preview=row["title"], **concerned)
    tx.beat()
    return {"id": id, "deleted": True}
