"""Plans: a goal and a graph of tasks, made at once or not at all."""

from typing import Annotated, Any

from rookery.core import draw, errors, graph, plans, tasks, text, times
from rookery.store.port import Row

from . import held, unlocking
from . import tasks as things
from .tx import Tx
from .verbs import Arg

Id = Annotated[str, Arg("the plan", positional=True, metavar="ID")]


def new(
    tx: Tx,
    goal: Annotated[str, Arg("what shall be reached", positional=True)],
    *,
    tasks: Annotated[
        list[dict[str, Any]] | None, Arg("the tasks: id, title, deps, resources, kind and more", hidden=True)
    ] = None,
    spec: Annotated[str, Arg("the plan's document, in Markdown", flag="-m")] = "",
    advisory: Annotated[bool, Arg("dependencies advise, they do not bind")] = False,
    review: Annotated[bool, Arg("every task is reviewed before its dependents start")] = False,
) -> dict[str, Any]:
    me = tx.me()
    number = tx.one("raise_counter", name="plan")
    assert number is not None
    id = f"plan-{number['value']:04d}"
    tx.run(
        "new_plan",
        id=id,
        goal=things.check_title(goal),
        spec=things.check_long(tx, spec),
        owner=me["id"],
        strict=int(not advisory),
        review=int(review),
        at=tx.wall,
    )
    tx.event("plan.start", me["name"], ref=id, preview=goal)
    if tasks:
        fill(tx, id, tasks, strict=not advisory, review=review)
    tx.beat()
    return show(tx, id)


def fill(
    tx: Tx, plan: str, data: list[dict[str, Any]], *, strict: bool, review: bool, may_skip_review: bool = True
) -> None:
    """All tasks in an order in which each one's dependencies exist already. A planner's answer, which is an agent's,
    may not take a review away."""
    items, problems = plans.from_data(data)
    problems += plans.validate(items)
    if problems:
        raise plans.refusal(problems)
    by_key = {item.key: item for item in items}
    made: dict[str, str] = {}
    for key in graph.order({item.key: item.deps for item in items}):
        item = by_key[key]
        made[key] = things.create(
            tx,
            item.title,
            description=item.description,
            deps=[made[dep] for dep in item.deps],
            resources=item.resources,
            kind=item.kind,
            priority=item.priority,
            milestone=item.milestone,
            plan=plan,
            strict=strict,
            review=review if item.review is None or (review and not may_skip_review) else item.review,
        )
    for key, id in made.items():
        if by_key[key].done:
            tx.run("task_was_done", id=id, at=tx.wall)
            unlocking.after_completion(tx, id)


def listed(tx: Tx) -> dict[str, Any]:
    return {"plans": [_summary(tx, row) for row in tx.all("plans")]}


def _summary(tx: Tx, row: Row) -> dict[str, Any]:
    counts = {each["status"]: each["times"] for each in tx.all("count_tasks", plan=row["id"])}
    total = sum(counts.values())
    return {
        "id": row["id"],
        "goal": row["goal"],
        "status": row["status"],
        "owner": row["owner_name"],
        "strict": bool(row["strict"]),
        "review": bool(row["review"]),
        "at": times.iso(row["at"]),
        "counts": counts,
        "total": total,
        "done": counts.get("completed", 0) + counts.get("canceled", 0),
    }


def find(tx: Tx, id: str) -> Row:
    row = tx.one("plan", id=id)
    if row is None:
        raise errors.UnknownName(
            f"No plan {text.one_line(id, 40)}.", "`rook plan list` shows them.", code="UNKNOWN_PLAN"
        )
    return row


def show(tx: Tx, id: Id) -> dict[str, Any]:
    row = find(tx, id)
    lines = _tasks(tx, id)
    deps = {line["id"]: line["deps"] for line in lines}
    status = {line["id"]: line["status"] for line in lines}
    finished = {"completed", "canceled"}
    return _summary(tx, row) | {
        "tasks": lines,
        "ready": [line["id"] for line in lines if line["status"] == tasks.Status.PENDING and not line["milestone"]],
        "critical": graph.critical_path(deps, lambda _: 1, lambda each: status.get(each) not in finished),
        "spec": row["spec"],
    }


def _tasks(tx: Tx, plan: str) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    after = 0
    while True:
        page = things.listed(tx, plan=plan, after=after, limit=things.MAX_LIMIT)
        lines += page["tasks"]
        if page["next"] is None:
            return lines
        after = page["next"]


def drawn(
    tx: Tx, id: Id, *, format: Annotated[str, Arg("how", choices=("text", "mermaid", "svg"))] = "text"
) -> dict[str, Any]:
    plan = show(tx, id)
    nodes = [draw.Node(t["id"], t["title"], t["status"], t["owner"] or "") for t in plan["tasks"]]
    deps = {t["id"]: [d for d in t["deps"]] for t in plan["tasks"]}
    picture = {
        "text": lambda: draw.text(nodes, deps),
        "mermaid": lambda: draw.mermaid(nodes, deps),
        "svg": lambda: draw.svg(nodes, deps, plan["critical"]),
    }.get(format)
    if picture is None:
        raise errors.BadInput(f"No format {text.one_line(format, 20)!r}.", "text, mermaid or svg.")
    return {"id": id, "format": format, "graph": picture()}


def cancel(tx: Tx, id: Id, reason: Annotated[str, Arg("why", flag="-m")] = "") -> dict[str, Any]:
    row = find(tx, id)
    me = tx.me()
    if row["owner"] != me["id"] and not tx.may_steer(me):
        raise errors.NotYours(
            f"{id} is {row['owner_name']}'s.", "`rook escalate` puts it before the leader.", code="NOT_OWNER"
        )
    if not tx.run("end_plan", id=id, status="canceled"):
        raise errors.Refused(f"{id} is {row['status']}.", "`rook plan list`.", code="PLAN_FINISHED")
    canceled: list[str] = []
    for line in _tasks(tx, id):
        if line["status"] not in tasks.FINISHED:
            task = held.find(tx, line["id"])
            unlocking.move(tx, task, tasks.Status.CANCELED, why=reason[:300], ended=tx.wall)
            canceled.append(line["id"])
    tx.event("plan.cancel", me["name"], ref=id, preview=reason or row["goal"], tasks=len(canceled))
    tx.beat()
    return show(tx, id) | {"canceled": canceled}
