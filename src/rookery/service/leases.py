"""Taking a task, keeping it, and ending it: claim, renew, release, done, fail, block, progress."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import errors, patterns, tasks, text
from rookery.core.workers import State
from rookery.store.port import Row

from . import artifacts, held, items, landing, limits, nearby, resources, unlocking
from . import tasks as cards_of
from .tx import Tx
from .verbs import Arg

CANDIDATES = 50
LOOKED_AT = 500  # holders whose processes are looked at when nothing is ready

Id = Annotated[str, Arg("the task", positional=True, metavar="ID")]
Epoch = Annotated[int | None, Arg("the claim you write under; this session's own when left out")]
Ttl = Annotated[int | None, Arg("lease in milliseconds", metavar="MS")]


def claim(
    tx: Tx,
    id: Annotated[str, Arg("the task; with --next the best that is ready", positional=True, metavar="ID")] = "",
    *,
    next: Annotated[bool, Arg("the best ready task: priority, then critical path, then age")] = False,
    plan: Annotated[str, Arg("with --next: only of this plan")] = "",
    kind: Annotated[str, Arg("with --next: only of this kind")] = "",
    ttl_ms: Ttl = None,
) -> dict[str, Any]:
    me = tx.me()
    tx.beat()
    ttl = lease_ttl(tx, ttl_ms)
    worker = _worker(tx, me)
    own = tx.one("task_hold", id=worker["task"]) if worker and id in ("", worker["task"]) else None
    if own and own["status"] == tasks.Status.IN_PROGRESS and own["holder"] == me["id"]:
        return leased(tx, own["id"], own["ttl_ms"])  # it was claimed for it when it started
    if id:
        taken = take(tx, me, held.settle(tx, held.find(tx, id)), ttl)
        if own and worker:
            tx.run("reopen_report", id=worker["id"])  # its work came back: it will report anew
        return taken
    if not next:
        raise errors.BadInput("Which task?", "Give its id, or --next.")
    if tx.is_limited():
        limits.allow_claim(tx, me)
    found = _best(tx, me, plan, kind, ttl)
    return found or {"taskId": None, "task": None, "lease": None}


def _worker(tx: Tx, me: Row) -> Row | None:
    """The worker that this agent is, if it has a task of its own."""
    row = tx.one("worker_of_agent", agent=me["id"])
    return row if row is not None and row["state"] != State.ENDED and row["task"] and row["role"] != "review" else None


def _refuse_worker(tx: Tx, id: str, word: str) -> None:
    """What a worker makes of its own task, it reports: the law of results is not to be walked around (H33)."""
    worker = _worker(tx, tx.me())
    if worker is not None and worker["task"] == id and worker["state"] != State.QUEUED:
        raise errors.Refused(
            f"{id} is what {worker['id']} was started for: its end is a report.", f"`rook {word}`; --help tells how.",
            code="REPORT_WANTED",
        )  # fmt: skip


def lease_ttl(tx: Tx, ttl_ms: int | None) -> int:
    setting = tx.settings.ms
    return tasks.check_ttl(
        ttl_ms, default=setting("tasks.ttl_s"), low=setting("tasks.ttl_low_s"), high=setting("tasks.ttl_high_s")
    )


def _best(tx: Tx, me: Row, plan: str, kind: str, ttl: int) -> dict[str, Any] | None:
    """The first ready task whose paths are free. Lapsed leases are settled first, so that they count as ready; dead
    holders are looked for only when nothing else is."""
    for row in tx.all("lapsed_tasks", limit=CANDIDATES):
        held.settle(tx, row)
    task = _first_free(tx, me, plan, kind)
    if task is None and held.settle_all(tx, LOOKED_AT):
        task = _first_free(tx, me, plan, kind)
    return take(tx, me, task, ttl) if task else None


def _first_free(tx: Tx, me: Row, plan: str, kind: str) -> Row | None:
    taken: dict[str, bool] = {}
    skip = 0
    while rows := tx.all("ready_tasks", agent=me["id"], kind=kind, plan=plan, limit=CANDIDATES, skip=skip):
        for row in rows:
            task = held.find(tx, row["id"])
            if tx.is_limited() and not limits.is_person(me) and limits.is_spent(tx, task):
                continue
            if not any(is_taken(tx, written, me["id"], taken) for written in json.loads(task["resources"])):
                return task
        skip += len(rows)
    return None


def is_taken(tx: Tx, written: str, agent: int, known: dict[str, bool]) -> bool:
    if written not in known:
        known[written] = resources.conflict(tx, patterns.parse(written), agent) is not None
    return known[written]


def take(tx: Tx, me: Row, task: Row, ttl: int) -> dict[str, Any]:
    if tx.is_limited():
        limits.allow_claim(tx, me, task)
    against = refusal(tx, me, task)
    if against is not None:
        raise against
    done = tx.run(
        "claim_task",
        id=task["id"],
        epoch=task["epoch"],
        holder=me["id"],
        session=held.session_of(me),
        ttl_ms=ttl,
        at=tx.wall,
    )
    if not done:
        raise refusal(tx, me, held.find(tx, task["id"])) or errors.Refused(
            "The task changed meanwhile.", code="TASK_NOT_CLAIMABLE"
        )
    epoch = task["epoch"] + 1
    nearby.free_task(tx, task["id"])
    resources.take_paths(tx, task, me, epoch, tx.now + ttl)
    tx.event("task.start", me["name"], ref=task["id"], preview=task["title"], epoch=epoch)
    tx.ring(me["name"])
    return leased(tx, task["id"], ttl)


def refusal(tx: Tx, me: Row, task: Row) -> errors.Refused | None:
    full = tx.one("task", id=task["id"])
    assert full is not None
    kept = full["assigned_until"] is None or full["assigned_until"] > tx.now
    other = full["assignee_name"] if full["assignee"] not in (None, me["id"]) and kept else None
    if task["milestone"]:
        return errors.Refused("A milestone completes by itself.", "Claim what it waits for.", code="TASK_NOT_CLAIMABLE")
    return tasks.claim_refusal(
        held.hold_of(task),
        tx.now,
        assignee=other,
        why=task["why"],
        unmet=[row["id"] for row in tx.all("unmet_deps", task=task["id"])],
        holder=full["holder_name"] or "",
        until=held.clock(tx, task["lease_until"]),
    )


def leased(tx: Tx, id: str, ttl: int) -> dict[str, Any]:
    task = cards_of.card(tx, id)
    return {"taskId": id, "task": task, "lease": task["lease"], "ttlMs": ttl}


def renew(tx: Tx, id: Id, *, epoch: Epoch = None, ttl_ms: Ttl = None) -> dict[str, Any]:
    row = held.find(tx, id)
    ttl = lease_ttl(tx, ttl_ms if ttl_ms is not None else row["ttl_ms"])
    held.fenced(tx, "renew_task", row, epoch, ttl_ms=ttl)
    tx.run("renew_task_reservations", task=id, until=tx.now + ttl)
    tx.beat()
    return leased(tx, id, ttl)


def done(
    tx: Tx,
    id: Id,
    summary: Annotated[str, Arg("what was done", flag="-m")] = "",
    *,
    commits: Annotated[list[str] | None, Arg("a commit that belongs to it (repeatable)", flag="--commit")] = None,
    tests: Annotated[list[str] | None, Arg("a test run and its result (repeatable)", flag="--test")] = None,
    prs: Annotated[list[str] | None, Arg("a pull request (repeatable)", flag="--pr")] = None,
    evidence: Annotated[list[str] | None, Arg("anything else that shows it, as artifact-0001 (repeatable)")] = None,
    epoch: Epoch = None,
) -> dict[str, Any]:
    _refuse_worker(tx, id, "done")
    shown = {"commits": commits or [], "tests": tests or [], "prs": prs or [], "notes": evidence or []}
    return complete(tx, held.find(tx, id), summary, shown, epoch=epoch)


def complete(
    tx: Tx, row: Row, summary: str, evidence: Mapping[str, Sequence[str]], *, epoch: int | None
) -> dict[str, Any]:
    """A task ends well, under its lease."""
    id, me = row["id"], tx.me()
    shown = tasks.check_evidence(evidence)
    artifacts.check_named(tx, evidence["notes"])
    review = tasks.REVIEW_PENDING if row["review"] in (tasks.REVIEW_WANTED, tasks.REVIEW_PENDING) else ""
    result = json.dumps(
        {"summary": text.check_text(summary, "the summary")[:10_000], "evidence": shown, "epoch": row["epoch"]}
    )
    held.fenced(
        tx,
        "end_task",
        row,
        epoch,
        status=tasks.Status.COMPLETED,
        ended=tx.wall,
        result=result,
        why="",
        review=review,
        author=me["id"],
    )
    nearby.free_task(tx, id)
    items.close(tx, id)
    tx.event("task.done", me["name"], ref=id, preview=text.one_line(summary or row["title"], 120), review=review)
    if review:
        owner = held.owner_of(tx, row)
        held.tell(
            tx,
            [owner["name"]],
            f"Review wanted: {id} {row['title']}",
            f"`rook task review {id} SHIP|NEEDS_WORK|MAJOR_RETHINK`",
            priority="low" if crew_judges(tx, row) else "high",
        )
    landing.after_done(tx, id)
    unlocking.after_completion(tx, id)
    tx.beat()
    return cards_of.card(tx, id)


def crew_judges(tx: Tx, row: Row) -> bool:
    """A reviewer of its crew will be asked: its owner may judge it, and need not."""
    crew = tx.one("crew_of_plan", plan=row["plan"]) if row["plan"] else None
    return crew is not None and crew["state"] == "running" and bool(json.loads(crew["terms"])["reviewer"])


def fail(tx: Tx, id: Id, reason: Annotated[str, Arg("why", flag="-m")] = "", *, epoch: Epoch = None) -> dict[str, Any]:
    _refuse_worker(tx, id, "fail")
    return give_up(tx, held.find(tx, id), reason, epoch=epoch)


def give_up(tx: Tx, row: Row, reason: str, *, epoch: int | None) -> dict[str, Any]:
    """A task does not end well, under its lease."""
    id, me = row["id"], tx.me()
    reason = text.check_text(reason, "the reason")[:2000]
    status = tasks.after_setback(row["attempts"], tx.settings["tasks.attempts"], tasks.Status.FAILED)
    why = f"failed {row['attempts']} times: {reason}"[:300] if status is tasks.Status.BLOCKED else reason[:300]
    held.fenced(
        tx,
        "end_task",
        row,
        epoch,
        status=status,
        ended=tx.wall if status is tasks.Status.FAILED else None,
        result=json.dumps({"error": reason, "epoch": row["epoch"]}),
        why=why,
        review=row["review"],
        author=me["id"],
    )
    nearby.free_task(tx, id)
    held.note(tx, id, "fail", me["name"], reason or "failed")
    tx.event("task.failed", me["name"], ref=id, preview=text.one_line(reason or row["title"], 120))
    unlocking.tell_setback(tx, row, f"failed (attempt {row['attempts']})", reason, ask=True)
    tx.beat()
    return cards_of.card(tx, id)


def release(
    tx: Tx, id: Id, reason: Annotated[str, Arg("why it is given back", flag="-m")] = "", *, epoch: Epoch = None
) -> dict[str, Any]:
    """By its holder under the lease; by the leader or the person at any time."""
    row = held.find(tx, id)
    me = tx.me()
    if row["holder"] == me["id"] or not tx.may_steer(me):
        held.fenced(tx, "fence_task", row, epoch)
    elif row["status"] != tasks.Status.IN_PROGRESS:
        raise errors.Refused(
            f"{id} is {row['status']}; nobody holds it.",
            "`rook task show` tells its history.",
            code="TASK_NOT_IN_PROGRESS",
        )
    unlocking.move(tx, row, tasks.Status.PENDING, attempts=max(0, row["attempts"] - 1))
    held.note(tx, id, "release", me["name"], reason or "given back")
    tx.event("task.released", me["name"], ref=id, preview=reason or row["title"])
    tx.beat()
    return cards_of.card(tx, id)


def block(
    tx: Tx, id: Id, reason: Annotated[str, Arg("what is in the way", flag="-m")], *, epoch: Epoch = None
) -> dict[str, Any]:
    """Blocking ends the lease: nobody sits on what nobody can do."""
    row = held.find(tx, id)
    me = tx.me()
    reason = text.check_text(reason, "the reason").strip()[:2000]
    if not reason:
        raise errors.BadInput("A block needs a reason.", "-m tells what is in the way.")
    if row["holder"] != me["id"] and tx.may_steer(me):
        row = held.settle(tx, row)
    if row["status"] in (tasks.Status.PENDING, tasks.Status.BLOCKED) and tx.may_steer(me):
        unlocking.move(tx, row, tasks.Status.BLOCKED, why=reason[:300])
    else:
        held.fenced(
            tx,
            "end_task",
            row,
            epoch,
            status=tasks.Status.BLOCKED,
            ended=None,
            result="{}",
            why=reason[:300],
            review=row["review"],
            author=None,
        )
    nearby.free_task(tx, id)
    held.note(tx, id, "block", me["name"], reason)
    tx.event("task.block", me["name"], ref=id, preview=text.one_line(reason, 120))
    held.ask_owner(tx, row, f"Blocked: {id} {row['title']}", reason, kind="question")
    tx.beat()
    return cards_of.card(tx, id)


def progress(
    tx: Tx, id: Id, said: Annotated[str, Arg("what was achieved", flag="-m", positional=False)], *, epoch: Epoch = None
) -> dict[str, Any]:
    row = held.find(tx, id)
    held.fenced(tx, "fence_task", row, epoch)
    said = text.check_text(said, "the note").strip()[:10_000]
    if not said:
        raise errors.BadInput("A progress note needs words.", "-m TEXT.")
    held.note(tx, id, "progress", tx.me()["name"], said)
    tx.beat()
    return {"id": id, "note": said}
