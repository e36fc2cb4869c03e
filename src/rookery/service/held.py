"""What a claim holds: its lease. Shared by every verb that takes, keeps or ends one."""

from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core import errors, holding, names, presence, tasks, text
from rookery.store.port import Row

from . import nearby
from .tx import Tx

MAX_EXTENSIONS = holding.EXTENSIONS  # a lapsed lease whose holder still runs is extended up to so many times its TTL


def hold_of(row: Row) -> tasks.Hold:
    return tasks.Hold(tasks.Status(row["status"]), row["holder"], row["epoch"], row["lease_until"])


def find(tx: Tx, id: str) -> Row:
    row = tx.one("task_hold", id=id)
    if row is None:
        raise errors.UnknownName(
            f"No task {text.one_line(id, 40)}.", "`rook task list` shows them.", code="UNKNOWN_TASK"
        )
    return row


def fenced(tx: Tx, query: str, row: Row, epoch: int | None, **params: Any) -> int:
    """Write under the caller's lease. The statement carries the fence; when it changes nothing, core says why."""
    me = tx.me()
    given = _epoch(tx, row, epoch)
    if row["holder"] == me["id"] and row["status"] == tasks.Status.IN_PROGRESS and row["lease_until"] <= tx.now:
        extend(tx, row)  # nobody took it meanwhile, and its process ran: a long silence of its own costs nothing
    if not tx.run(query, id=row["id"], holder=me["id"], epoch=given, **params):
        refusal = tasks.lease_refusal(hold_of(find(tx, row["id"])), me["id"], given, tx.now)
        raise refusal or errors.Refused("The task changed meanwhile.", "Look again: `rook task show ID`.")
    return given


def _epoch(tx: Tx, row: Row, epoch: int | None) -> int:
    """Without a number the session is the fence: whoever claimed in this session writes under that claim."""
    if epoch is not None:
        return epoch
    another = row["holder"] == tx.me()["id"] and row["session"] != session_of(tx.me())
    return row["epoch"] - 1 if another else row["epoch"]


def session_of(agent: Row) -> str | None:
    return agent["session"] if agent["session"] and agent["ended_at"] is None else None


# -- lapsing -------------------------------------------------------------------------------------------------------


def settle(tx: Tx, row: Row) -> Row:
    """A task as it stands now: a lapsed lease is extended if its holder's process runs, otherwise written down."""
    if row["status"] != tasks.Status.IN_PROGRESS:
        return row
    if stands(tx, row):
        if row["lease_until"] > tx.now:
            return row
        extend(tx, row)
    else:
        full = tx.one("task", id=row["id"])
        assert full is not None
        lapse(tx, full, "its lease ran out" if row["lease_until"] <= tx.now else "its process is gone")
    return find(tx, row["id"])


def settle_all(tx: Tx, limit: int) -> int:
    """Every lapsed lease, and every one whose holder died; how many were written down."""
    rows = [*tx.all("lapsed_tasks", limit=limit), *tx.all("live_leases", limit=limit)]
    return sum(settle(tx, row)["status"] != tasks.Status.IN_PROGRESS for row in rows)


def extend(tx: Tx, row: Row) -> bool:
    """A lapsed lease goes on while its holder's process runs here, up to a limit after it was last renewed."""
    if not stands(tx, row):
        return False
    until = min(tx.now + row["ttl_ms"], row["renewed_at"] + MAX_EXTENSIONS * row["ttl_ms"])
    tx.run("extend_lapsed", id=row["id"], epoch=row["epoch"], until=until)
    tx.run("renew_task_reservations", task=row["id"], until=until)
    return True


def stands(tx: Tx, row: Row) -> bool:
    """Is it held: by a lease that lives and whose holder is not dead, or one that would be extended?"""
    if row["status"] != tasks.Status.IN_PROGRESS:
        return False
    holder, state = _holder(tx, row)
    if row["lease_until"] > tx.now:
        return state is not presence.Liveness.DEAD
    limit = row["renewed_at"] + MAX_EXTENSIONS * row["ttl_ms"]
    return holder is not None and tx.is_local(holder) and state is presence.Liveness.LIVE and tx.now < limit


def holder_state(tx: Tx, row: Row) -> presence.Liveness | None:
    """How the holder of a task in progress is; None if nobody holds it, or only the lease's time decides."""
    return _holder(tx, row)[1] if row["status"] == tasks.Status.IN_PROGRESS else None


def _holder(tx: Tx, row: Row) -> tuple[Row | None, presence.Liveness | None]:
    """The session a lease was taken in, and how it is."""
    holder = tx.one("agent_by_session", session=row["session"]) if row["session"] else None
    if holder is None:
        return None, None
    newest = tx.one("agent_by_session", session=holder["session"]) if holder["ended_at"] is not None else None
    died = _has_died(tx, holder) and holder["end_reason"] != "taken over"  # whoever takes over has the task's epoch
    if died or (newest is not None and _has_died(tx, newest)):
        return holder, presence.Liveness.DEAD
    return holder, tx.liveness(holder)


def _has_died(tx: Tx, session: Row) -> bool:
    """Is the process of this session gone? A session that a later join or a sweep ended died all the same."""
    running = {**session, "session": session["asked"], "ended_at": None}
    return session["end_reason"] == "died" or tx.liveness(running) is presence.Liveness.DEAD


def lapse(tx: Tx, row: Row, because: str) -> None:
    """Back to pending, told to its former holder and in the log; blocked for its owner after the last attempt."""
    if row["lease_until"] > tx.now:
        tx.run("extend_lapsed", id=row["id"], epoch=row["epoch"], until=tx.now)
    status = tasks.after_setback(row["attempts"], tx.settings["tasks.attempts"], opening(tx, row))
    last = row["attempts"] >= tx.settings["tasks.attempts"]
    why = f"given up {row['attempts']} times" if last else ""
    if not tx.run("lapse_task", id=row["id"], epoch=row["epoch"], status=status, why=why):
        return
    nearby.free_task(tx, row["id"])
    note(tx, row["id"], "lapse", "system", f"{row['holder_name']} lost it: {because}")
    tx.event("task.lapsed", "system", target=row["holder_name"], ref=row["id"], preview=f"{row['title']}: {because}")
    tell(
        tx,
        [row["holder_name"]],
        f"Lease lost: {row['id']} {row['title']}",
        f"Your lease on {row['id']} ended ({because}). Do not write its result; "
        f"`rook task claim {row['id']}` if it is free.",
    )
    if last:
        ask_owner(tx, row, f"{row['id']} was given up {row['attempts']} times", because, by=row["holder"])


def opening(tx: Tx, row: Row, why: str = "") -> tasks.Status:
    """Where a task belongs that nobody holds: a milestone waits until it completes by itself."""
    if row["milestone"]:
        return tasks.Status.BLOCKED
    return tasks.opening(len(tx.all("unmet_deps", task=row["id"])), is_strict(tx, row["plan"]), why)


def is_strict(tx: Tx, plan: str | None) -> bool:
    row = tx.one("plan", id=plan) if plan else None
    return row is None or bool(row["strict"])


# -- telling -------------------------------------------------------------------------------------------------------


def note(tx: Tx, task: str, kind: str, by: str, said: str) -> int:
    seq = tx.next_seq()
    tx.run("add_task_note", task=task, seq=seq, at=tx.wall, kind=kind, by=by, note=said)
    tx.event("task.note", by, seq=seq, ref=task, preview=f"{kind}: {said}")
    return seq


def tell(
    tx: Tx, to: Sequence[str], subject: str, body: str, *, priority: str = "high", tags: Sequence[str] = ("task",),
    payload: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Mail from the system itself; it costs nobody's budget."""
    wanted = dict.fromkeys(name for name in to if name and name != names.SYSTEM)
    rows = [row for row in (tx.find_agent(name) for name in wanted) if row is not None]
    if not rows:
        return
    from rookery.core import mail  # most looks at what is held tell nobody

    from . import post
    from .recipients import Recipients

    sender = tx.find_agent(names.SYSTEM) or tx.make_agent(names.SYSTEM)
    written = mail.draft(
        type="notification",
        priority=priority,
        subject=subject[:500],
        body=body,
        payload=payload or {},
        context={},
        attachments=[],
        tags=list(tags),
        expires_at=None,
        asks=False,
        now=tx.now,
        limit=tx.settings["mail.body_limit"],
    )
    post.deliver(tx, sender, written, Recipients(rows, ", ".join(row["name"] for row in rows), "", {}))


def steers(tx: Tx, row: Row) -> bool:
    """The leader, the person, whoever made the task, and the owner of its plan decide about it."""
    me = tx.me()
    return tx.may_steer(me) or me["id"] in (row["created_by"], owner_of(tx, row)["id"])


def owner_of(tx: Tx, row: Row) -> Row:
    """Who decides about a task: its plan's owner, else whoever made it."""
    plan = tx.one("plan", id=row["plan"]) if row["plan"] else None
    owner = tx.one("agent_by_id", id=plan["owner"] if plan else row["created_by"])
    assert owner is not None
    return owner


def ask_owner(
    tx: Tx, row: Row, title: str, detail: str, *, kind: str = "failure", by: int | None = None, why: str = ""
) -> None:
    """One item for one setback: where it is a worker's run that failed, it is about that run. Its line says why."""
    from rookery.core import docket  # most looks at what is held ask nobody

    from . import items

    owner, who = owner_of(tx, row), by or tx.me()["id"]
    owner = tx.agent(names.PERSON) if owner["name"] == names.SYSTEM else owner  # the system answers nothing
    worker = items.failed_run(tx, row["id"], who) if kind == "failure" else None
    line = f"{title}: {why}" if why else title
    items.ask(tx, items.Asked(
        kind, row["id"], f"{worker['id']} ({worker['name']}): {line}" if worker else line, owner["id"],
        f"{row['id']} stays as it is, and what depends on it waits", detail=detail,
        subject=docket.run_of(worker["id"], worker["runs"]) if worker else "", worker=worker["id"] if worker else "",
        rank=docket.Rank.FAILED if kind == "failure" else docket.Rank.NEEDS_INPUT,
    ), by=who)  # fmt: skip
    tell(
        tx,
        [owner["name"]],
        title,
        f"{detail}\n\n`rook task reset {row['id']}` tries again, `rook task revise {row['id']}` changes it, "
        f"`rook task cancel {row['id']} --tree` gives it and what waits for it up.",
    )


def clock(tx: Tx, at: int | None) -> str:
    return f"{tx.shown(at)[11:16]}Z" if at is not None else ""
