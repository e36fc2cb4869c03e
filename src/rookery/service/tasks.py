"""Tasks as things: add, list, show. What is done with them is in leases.py, steering.py and reviews.py."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from rookery.core import errors, graph, mail, names, patterns, tasks, text, times
from rookery.store.port import Row

from . import held, idempotency, unlocking
from .tx import LIMITED, Tx
from .verbs import Arg

PRIORITIES = tuple(p.name.lower() for p in mail.Priority)
MAX_LIMIT = 1_000
STATUSES = tuple(tasks.Status)


def add(
    tx: Tx,
    title: Annotated[str, Arg("one line: what is to be done", positional=True)],
    *,
    description: Annotated[str, Arg("more about it; - reads standard input", flag="-m")] = "",
    spec: Annotated[str, Arg("its specification, in Markdown")] = "",
    deps: Annotated[list[str] | None, Arg("a task it waits for (repeatable)", flag="--dep")] = None,
    resources: Annotated[
        list[str] | None,
        Arg("a path it needs for itself: src/io/, src/*.py (repeatable)", flag="--file", kind="patterns"),
    ] = None,
    priority: Annotated[str, Arg("how soon", flag="-p", choices=PRIORITIES)] = "normal",
    kind: Annotated[str, Arg("the kind of worker it is for")] = "",
    assignee: Annotated[str, Arg("only this agent may claim it", flag="--assign")] = "",
    milestone: Annotated[bool, Arg("completes by itself when all it waits for is complete")] = False,
    review: Annotated[bool, Arg("dependents wait until it is reviewed SHIP")] = False,
    plan: Annotated[str, Arg("the plan it belongs to")] = "",
    max_tokens: Annotated[int | None, Arg("tokens it may use")] = None,
    key: Annotated[str, Arg("idempotency key: a repeat gets the same answer")] = "",
) -> dict[str, Any]:
    asked = {
        "title": title, "description": description, "spec": spec, "deps": deps, "resources": resources,
        "priority": priority, "kind": kind, "assignee": assignee, "milestone": milestone, "review": review,
        "plan": plan, "max_tokens": max_tokens,
    }  # fmt: skip
    me = tx.me()
    if key and (before := idempotency.remembered(tx, me, key, asked)):
        return before
    strict, reviewed = _plan_rules(tx, plan)
    if plan:
        tx.run("reopen_plan", id=plan)
    id = create(
        tx, title, description=description, spec=spec, deps=deps or [], resources=resources or [], priority=priority,
        kind=kind, assignee=tx.agent(assignee)["id"] if assignee else None, milestone=milestone,
        review=review or reviewed, plan=plan, max_tokens=max_tokens, strict=strict,
    )  # fmt: skip
    if assignee:
        tx.event("task.assigned", me["name"], target=assignee, ref=id, preview=title)
        tx.ring(assignee)
    tx.beat()
    made = card(tx, id)
    if key:
        idempotency.remember(tx, me, key, asked, made)
    return made


def _plan_rules(tx: Tx, plan: str) -> tuple[bool, bool]:
    if not plan:
        return True, False
    row = tx.one("plan", id=plan)
    if row is None:
        raise errors.UnknownName(
            f"No plan {text.one_line(plan, 40)}.", "`rook plan list` shows them.", code="UNKNOWN_PLAN"
        )
    if row["status"] == "canceled":
        raise errors.Refused(f"{plan} was canceled.", "Start another: `rook plan new GOAL`.", code="PLAN_FINISHED")
    return bool(row["strict"]), bool(row["review"])


def create(
    tx: Tx,
    title: str,
    *,
    description: str = "",
    spec: str = "",
    deps: Sequence[str] = (),
    resources: Sequence[str] = (),
    priority: str = "normal",
    kind: str = "",
    assignee: int | None = None,
    milestone: bool = False,
    review: bool = False,
    plan: str = "",
    max_tokens: int | None = None,
    strict: bool = True,
    author: Row | None = None,
) -> str:
    """One task, its dependencies checked: unknown ones are refused (a new task can close no circle). Its author is the
    caller, where nobody else is said to be."""
    author = author or tx.me()
    check_deps(tx, deps)
    title = check_title(title)
    if max_tokens is not None and max_tokens < 1:
        raise errors.BadInput("A task may use at least one token.", "Leave it out for no limit.")
    number = tx.one("raise_counter", name="task")
    assert number is not None
    n = number["value"]
    id = f"task-{n:04d}"
    unmet = sum(1 for dep in deps if not _is_met(tx, dep))
    status = tasks.Status.BLOCKED if milestone else tasks.opening(unmet, strict)
    tx.run(
        "new_task", n=n, id=id, title=title, status=status, priority=mail.parse_priority(priority), rank=1,
        plan=plan or None, kind=check_kind(kind), milestone=int(milestone), assignee=assignee, created_by=author["id"],
        review=tasks.REVIEW_WANTED if review else "", at=tx.wall, max_tokens=max_tokens,
        resources=json.dumps(check_resources(resources)), description=check_long(tx, description),
        spec=check_long(tx, spec), why="",
    )  # fmt: skip
    if max_tokens is not None:
        tx.raise_flags(LIMITED)
    for dep in dict.fromkeys(deps):
        tx.run("new_dep", task=id, dep=dep)
    if deps:
        raise_ranks(tx, id)
    by = author["name"]
    known: dict[str, Any] = {} if assignee else {"for": [by], "status": str(status)}  # what a look would find
    tx.event("task.created", by, ref=id, preview=title, **known)
    if milestone:
        unlocking.refresh(tx, id)
    return id


def check_title(title: str) -> str:
    folded = " ".join(text.check_text(title, "the title").split())
    if not 1 <= len(folded) <= 300:
        raise errors.BadInput("A task's title has 1 to 300 characters.", "Put the rest into -m.")
    return folded


def check_long(tx: Tx, written: str) -> str:
    limit = tx.settings["mail.body_limit"]
    if len(written.encode("utf-8", "surrogatepass")) > limit:
        raise errors.TooLarge(f"More than {limit:,} bytes.", "Put it in a file and name that.")
    return text.check_text(written, "the text")


def check_kind(kind: str) -> str:
    return names.check_name(kind) if kind else ""


def check_resources(resources: Sequence[str]) -> list[str]:
    if len(resources) > 100:
        raise errors.BadInput("A task takes at most 100 paths.", "Name folders instead of files.")
    return list(dict.fromkeys(patterns.parse(text.composed(written)).text for written in resources))


def check_deps(tx: Tx, deps: Sequence[str]) -> None:
    for dep in deps:
        if tx.one("task_hold", id=dep) is None:
            raise errors.UnknownName(
                f"It would wait for {text.one_line(dep, 40)}, which does not exist.",
                "`rook task list` shows the ids.",
                code="UNKNOWN_DEP",
            )


def check_circle(tx: Tx, id: str, deps: Sequence[str]) -> None:
    """Refuse dependencies that lead back to the task, showing the way round."""
    edges: dict[str, list[str]] = {id: list(deps)}
    todo = list(deps)
    while todo:
        dep = todo.pop()
        if dep not in edges:
            edges[dep] = [row["id"] for row in tx.all("deps_of", task=dep)]
            todo += edges[dep]
    circle = graph.cycle(edges)
    if circle:
        raise errors.BadInput(
            f"Circular: {' -> '.join(circle)}.", "Leave one of these dependencies out.", code="CIRCULAR_DEPS"
        )


def _is_met(tx: Tx, dep: str) -> bool:
    row = tx.one("task_hold", id=dep)
    return row is not None and tasks.is_met(tasks.Status(row["status"]), row["review"])


def raise_ranks(tx: Tx, id: str) -> None:
    """What hangs on a task hangs on what it waits for as well. (Ranks only rise: a shortcut taken out is not seen.)"""
    row = tx.one("task_hold", id=id)
    todo = [(id, row["rank"] if row else 1)]
    while todo:
        task, rank = todo.pop()
        for row in tx.all("deps_of", task=task):
            if tx.run("raise_rank", id=row["id"], rank=rank + 1):
                todo.append((row["id"], rank + 1))


# -- looking -------------------------------------------------------------------------------------------------------


def listed(
    tx: Tx,
    *,
    status: Annotated[str, Arg("only with this status", choices=STATUSES)] = "",
    plan: Annotated[str, Arg("only of this plan")] = "",
    mine: Annotated[bool, Arg("only what you hold")] = False,
    after: Annotated[int, Arg("only after this number (paging)")] = 0,
    limit: Annotated[int, Arg("how many at most", flag="-n")] = 200,
    whole: Annotated[bool, Arg("whole records instead of lines", hidden=True)] = False,
) -> dict[str, Any]:
    if not 1 <= limit <= MAX_LIMIT:
        raise errors.BadInput(f"A limit of {limit} is out of range.", f"1 to {MAX_LIMIT}.")
    if status and status not in STATUSES:
        raise errors.BadInput(f"No status {text.one_line(status, 40)!r}.", f"One of: {', '.join(STATUSES)}.")
    filters = {"status": status, "holder": tx.me()["id"] if mine else 0, "after": after, "limit": limit}
    if whole:
        rows = tx.all("whole_tasks", plan=plan, **filters)
    else:
        rows = tx.all("list_plan_tasks", plan=plan, **filters) if plan else tx.all("list_tasks", **filters)
    shown = _record if whole else _line
    return {"tasks": [shown(tx, row) for row in rows], "next": rows[-1]["n"] if len(rows) == limit else None}


def _line(tx: Tx, row: Row) -> dict[str, Any]:
    hold = tasks.Hold(tasks.Status(row["status"]), row["holder"], row["epoch"], row["lease_until"])
    status = tasks.effective(hold, tx.now)
    return {
        "id": row["id"],
        "title": row["title"],
        "status": status.value,
        "owner": _owner(row, status),
        "ownerState": _owner_state(tx, row, status),
        "priority": mail.Priority(row["priority"]).name.lower(),
        "plan": row["plan"],
        "kind": row["kind"],
        "epoch": row["epoch"],
        "milestone": bool(row["milestone"]),
        "review": row["review"],
        "attempts": row["attempts"],
        "why": row["why"],
        "resources": json.loads(row["resources"]),
        "deps": [dep["id"] for dep in tx.all("deps_of", task=row["id"])],
    }


def _owner(row: Row, status: tasks.Status) -> str | None:
    """Who has it, who ended it, or for whom it is kept."""
    if status is tasks.Status.IN_PROGRESS:
        return row["holder_name"]
    ended = row["author_name"] if status in (tasks.Status.COMPLETED, tasks.Status.FAILED) else None
    return ended or row["assignee_name"]


def show(tx: Tx, id: Annotated[str, Arg("the task", positional=True, metavar="ID")]) -> dict[str, Any]:
    return card(tx, id) | {
        "notes": [
            {"at": times.iso(row["at"]), "kind": row["kind"], "by": row["by"], "note": row["note"]}
            for row in reversed(tx.all("task_notes", task=id, limit=100))
        ],
        "reviews": [
            {
                "verdict": row["verdict"],
                "reviewer": row["reviewer"],
                "feedback": row["feedback"],
                "epoch": row["epoch"],
                "commit": row["revision"],
                "at": times.iso(row["at"]),
            }
            for row in tx.all("reviews_of", task=id)
        ],
        "dependents": [row["id"] for row in tx.all("dependents_of", dep=id)],
    }


def card(tx: Tx, id: str) -> dict[str, Any]:
    """A task as every door shows it: seed 002's shape, and more."""
    row = tx.one("task", id=id)
    if row is None:
        raise errors.UnknownName(
            f"No task {text.one_line(id, 40)}.", "`rook task list` shows them.", code="UNKNOWN_TASK"
        )
    return _record(tx, row)


def _record(tx: Tx, row: Row) -> dict[str, Any]:
    hold = tasks.Hold(tasks.Status(row["status"]), row["holder"], row["epoch"], row["lease_until"])
    status = tasks.effective(hold, tx.now)
    live = status is tasks.Status.IN_PROGRESS
    return {
        "schemaVersion": "1.0.0",
        "id": row["id"],
        "title": row["title"],
        "description": row["description"],
        "spec": row["spec"],
        "status": status.value,
        "owner": _owner(row, status),
        "ownerState": _owner_state(tx, row, status),
        "deps": [dep["id"] for dep in tx.all("deps_of", task=row["id"])],
        "resources": json.loads(row["resources"]),
        "lease": lease(tx, row) if live else None,
        "epoch": row["epoch"],
        "priority": mail.Priority(row["priority"]).name.lower(),
        "plan": row["plan"],
        "kind": row["kind"],
        "milestone": bool(row["milestone"]),
        "review": row["review"],
        "why": row["why"],
        "attempts": row["attempts"],
        "author": row["author_name"],
        "createdBy": row["creator_name"],
        "result": json.loads(row["result"]),
        "tokens": row["tokens"],
        "maxTokens": row["max_tokens"],
        "costMicros": row["cost"],
        "maxCostMicros": row["max_cost"],
        "timestamps": {
            "createdAt": times.iso(row["at"]),
            "startedAt": times.iso_or_none(row["started"]),
            "completedAt": times.iso_or_none(row["ended"] if status is not tasks.Status.FAILED else None),
            "failedAt": times.iso_or_none(row["ended"] if status is tasks.Status.FAILED else None),
        },
    }


def _owner_state(tx: Tx, row: Row, status: tasks.Status) -> str:
    """How the session that holds it is: a dead holder's task is free, though nobody took it yet."""
    state = held.holder_state(tx, row) if status is tasks.Status.IN_PROGRESS else None
    return state.value if state else ""


def lease(tx: Tx, row: Row) -> dict[str, Any]:
    return {"holder": row["holder_name"], "epoch": row["epoch"], "expiresAt": tx.shown(row["lease_until"])}
