"""Files for oneself: reserve, release, transfer, and who has what; and what a request that waits or is held needs."""

from collections.abc import Sequence
from typing import Annotated, Any

from rookery.core import errors, holding, patterns, presence, tasks, text
from rookery.store.port import Row

from . import decide, held, nearby, policies, post
from . import holding as holds
from .tx import Tx
from .verbs import Arg

PATHS_LIMIT = 100
MOST = 1_000

Paths = Annotated[list[str], Arg("files, folders/ or patterns", positional=True, metavar="PATH", kind="patterns")]
Some = Annotated[list[str] | None, Arg("the paths", positional=True, metavar="PATH", kind="patterns")]
Ttl = Annotated[int | None, Arg("lease in milliseconds", hidden=True)]
Bound = Annotated[bool, Arg("it is the calling process's, not the session's", hidden=True)]
Id = Annotated[str, Arg("the request", positional=True, metavar="ID")]


# -- taking --------------------------------------------------------------------------------------------------------


def reserve(
    tx: Tx,
    paths: Paths,
    *,
    shared: Annotated[bool, Arg("others may share it; nobody has it alone")] = False,
    reason: Annotated[str, Arg("what for: whoever is refused reads it", flag="-m")] = "",
    ttl_ms: Ttl = None,
    wait: Annotated[bool, Arg("take a place in line instead of a refusal", hidden=True)] = False,
    bound: Bound = False,
) -> dict[str, Any]:
    """All of them or none."""
    me = holds.able(tx)
    policies.check(tx, me)
    mode = holding.SHARED if shared else holding.EXCLUSIVE
    asked = holds.Request(_wants(paths), mode, lease_ttl(tx, ttl_ms), check_reason(reason), bound)
    tx.beat()
    for want in asked.wants:
        near = nearby.overlapping(tx, patterns.parse(want.text))
        holds.settle(tx, [row for row in near if row["agent"] != me["id"]])
    others = holds.in_the_way(tx, me["id"], asked)
    if not others:
        return _take(tx, me, asked)
    if not wait:
        told = [holds.other(tx, row) for row in others]
        raise holding.refusal(told, f"rook reserve {' '.join(want.text for want in asked.wants[:3])} --wait 300")
    return holds.wait(tx, me, asked, others)


def _wants(paths: Sequence[str]) -> list[holds.Want]:
    if not 1 <= len(paths) <= PATHS_LIMIT:
        raise errors.BadInput(f"Reserve 1 to {PATHS_LIMIT} paths at once.", "Name folders instead of files.")
    found = {pattern.text: pattern for pattern in map(parse, paths)}
    return [holds.Want("path", pattern.text, patterns.root(pattern)) for pattern in found.values()]


def parse(written: str) -> patterns.Pattern:
    return patterns.parse(text.composed(written))


def _take(tx: Tx, me: Row, asked: holds.Request) -> dict[str, Any]:
    """What this session has already is renewed, unless a process wants its own: asking twice is not having it twice."""
    mine = [] if asked.bound else _same(tx, me, asked)
    for row in mine:
        tx.run("renew_hold", id=row["id"], ttl_ms=asked.ttl_ms, reason=asked.reason)
    known = {row["pattern"] for row in mine}
    new = asked._replace(wants=[want for want in asked.wants if want.text not in known])
    if not new.wants:
        return holds.answer(tx, me, tx.all("request_rows", request=mine[0]["request"]))
    request = tx.new_id("res-")
    holds.insert(tx, me, new, request, holding.HELD, tx.now + asked.ttl_ms)
    return holds.granted(tx, me, request) | {"paths": [want.text for want in asked.wants]}


def _same(tx: Tx, me: Row, asked: holds.Request) -> list[Row]:
    """Of each path possibly several: what was waited for twice was granted twice."""
    like = ("path", holding.HELD, asked.mode, 0, held.session_of(me))
    wanted = {want.text for want in asked.wants}
    return [
        row
        for row in tx.all("holds_of_agent", agent=me["id"])
        if (row["kind"], row["state"], row["mode"], row["bound"], row["session"]) == like
        and row["pattern"] in wanted
        and holds.stands(tx, row)
    ]


def lease_ttl(tx: Tx, ttl_ms: int | None) -> int:
    ms = tx.settings.ms
    return tasks.check_ttl(ttl_ms, default=ms("guard.ttl_s"), low=ms("guard.ttl_low_s"), high=ms("guard.ttl_high_s"))


def check_reason(reason: str) -> str:
    return text.check_text(reason, "the reason").strip()[: holds.REASON_LIMIT]


# -- a request that waits or is held ---------------------------------------------------------------------------------


def look(tx: Tx, id: Id) -> dict[str, Any]:
    """Would it be granted now? Asked by whoever waits, so it only looks."""
    me, rows = tx.me(), tx.all("request_rows", request=id)
    if not rows or rows[0]["agent"] != me["id"] or not holds.is_live(tx, rows[0]):
        return {"id": id, "state": "gone", "ready": False, "renew": False, "others": []}
    if rows[0]["state"] == holding.HELD:
        return {"id": id, "state": holding.HELD, "ready": True, "renew": False, "others": []}
    others = holds.in_the_way(tx, me["id"], holds.request_of(rows))
    half = rows[0]["expires_at"] < tx.now + tx.settings.ms("guard.waiter_s") // 2
    told = [holds.other(tx, row).as_dict() for row in others[:20]]
    return {"id": id, "state": holding.WAITING, "ready": not others, "renew": half, "others": told}


def take(tx: Tx, id: Id) -> dict[str, Any]:
    """What was waited for, if its turn has come; otherwise its place in line is kept."""
    me, rows = tx.me(), tx.all("request_rows", request=id)
    if not rows or rows[0]["agent"] != me["id"]:
        raise holding.place_lost()
    if rows[0]["state"] == holding.HELD:
        return holds.answer(tx, me, rows)
    if not holds.waits(tx, rows[0]):
        raise holding.place_lost()
    asked = holds.request_of(rows)
    for row in rows:
        holds.settle(tx, [near for near in nearby.rows_like(tx, row) if near["agent"] != me["id"]])
    others = holds.in_the_way(tx, me["id"], asked)
    tx.beat()
    if others:
        tx.run("keep_place", request=id, until=tx.now + tx.settings.ms("guard.waiter_s"))
        return holds.answer(tx, me, tx.all("request_rows", request=id), others)
    tx.run("grant_request", request=id, at=tx.wall)
    return holds.granted(tx, me, id)


def renew(tx: Tx, id: Id, *, ttl_ms: Ttl = None) -> dict[str, Any]:
    """Kept for longer; a process that calls with its own identity keeps it from now on."""
    me, rows = tx.me(), tx.all("request_rows", request=id)
    if not rows or rows[0]["agent"] != me["id"] or rows[0]["state"] != holding.HELD or not _renewable(tx, rows[0]):
        raise holding.lost(", ".join(row["pattern"] for row in rows) or id)
    ttl = lease_ttl(tx, ttl_ms if ttl_ms is not None else rows[0]["ttl_ms"])
    if not tx.run("renew_request", request=id, agent=me["id"], ttl_ms=ttl, extensions=holding.EXTENSIONS):
        raise holding.lost(", ".join(row["pattern"] for row in rows))
    if tx.caller.process:
        pid, started = tx.caller.process
        tx.run("rebind_request", request=id, pid=pid, started=started, boot=tx.caller.boot, host=tx.caller.host)
    tx.beat()
    return holds.answer(tx, me, tx.all("request_rows", request=id))


def _renewable(tx: Tx, row: Row) -> bool:
    """It stands; or its time is over, nobody took it, and its keeper calls: a silence of its own costs nothing."""
    return holds.stands(tx, row) and holds.keeper(tx, row) is not presence.Liveness.ENDED


# -- giving up -----------------------------------------------------------------------------------------------------


def release(
    tx: Tx,
    paths: Some = None,
    *,
    all: Annotated[bool, Arg("everything you hold or wait for, but the paths of your tasks")] = False,
    force: Annotated[bool, Arg("whoever holds it: the person may, and it is recorded")] = False,
    reason: Annotated[str, Arg("why", flag="-m")] = "",
    ids: Annotated[list[str] | None, Arg("these requests", hidden=True)] = None,
) -> dict[str, Any]:
    me = tx.me()
    reason = check_reason(reason)
    if force:
        return _force(tx, me, [parse(path) for path in paths or []], reason)
    mine = [row for row in tx.all("holds_of_agent", agent=me["id"]) if row["kind"] == "path" or ids]
    if all:
        chosen = mine
    elif ids:
        chosen = [row for row in mine if row["request"] in ids]
    else:
        chosen = chosen_by(tx, me, mine, paths)
    give_up(tx, me, chosen, reason)
    tx.beat()
    return {"released": [row["pattern"] for row in chosen], "agent": me["name"]}


def chosen_by(tx: Tx, me: Row, mine: Sequence[Row], paths: Sequence[str] | None) -> list[Row]:
    """What these paths name or contain, of what one has; a path that names nothing is a mistake worth telling."""
    if not paths:
        raise errors.BadInput("Release what?", "Give paths, or --all.")
    chosen: dict[str, Row] = {}
    for pattern in map(parse, paths):
        found = [
            row for row in mine if row["kind"] == "path" and patterns.within(patterns.parse(row["pattern"]), pattern)
        ]
        if not found:
            raise _not_held(tx, me, mine, pattern)
        chosen |= {row["id"]: row for row in found}
    return list(chosen.values())


def _not_held(tx: Tx, me: Row, mine: Sequence[Row], pattern: patterns.Pattern) -> errors.Refused:
    near = [row for row in nearby.overlapping(tx, pattern) if row["agent"] == me["id"]]
    task = next((row["task"] for row in near if row["task"]), None)
    if task:
        hint = f"It came with {task}: `rook task release {task}` gives both back."
    else:
        have = ", ".join(row["pattern"] for row in (near or mine)[:5])
        hint = f"You have {have}." if have else "`rook reservations` shows who has what."
    return errors.Refused(f"You hold nothing in {pattern.text}.", hint, code="NOT_HELD")


def give_up(tx: Tx, me: Row, rows: Sequence[Row], reason: str) -> None:
    for row in rows:
        tx.run("drop_hold", id=row["id"])
    holds.told_release(tx, me["name"], [row for row in rows if row["state"] == holding.HELD], reason)
    nearby.ring_waiting(tx, rows)


def _force(tx: Tx, me: Row, wanted: Sequence[patterns.Pattern], reason: str) -> dict[str, Any]:
    decide.require_user(tx, "release what others hold")
    if not wanted:
        raise errors.BadInput("Release what?", "Give the paths; --all is yours alone.")
    near = {row["id"]: row for pattern in wanted for row in nearby.overlapping(tx, pattern)}
    taken = [row for row in near.values() if row["state"] == holding.HELD and holds.stands(tx, row)]
    of_task = next((row["task"] for row in taken if row["task"]), None)
    if of_task:
        raise errors.Refused(
            f"It came with {of_task}.", f"`rook task release {of_task}` takes task and paths back.", code="OF_A_TASK"
        )
    if not taken:
        raise errors.Refused("Nobody holds anything there.", "`rook reservations` shows who has what.", code="NOT_HELD")
    _taken_from(tx, me, taken, reason)
    return {"released": [row["pattern"] for row in taken], "agent": me["name"],
            "holders": list(dict.fromkeys(row["name"] for row in taken))}  # fmt: skip


def _taken_from(tx: Tx, me: Row, taken: Sequence[Row], reason: str) -> None:
    for row in taken:
        tx.run("drop_hold", id=row["id"])
    for name in dict.fromkeys(row["name"] for row in taken):
        theirs = [row for row in taken if row["name"] == name]
        what = ", ".join(row["pattern"] for row in theirs)
        holds.told_release(tx, me["name"], theirs, reason, forced=True, holder=name)
        if name != me["name"]:
            why = f" ({reason})" if reason else ""
            holds.tell(
                tx,
                name,
                f"Taken from you: {text.one_line(what, 100)}",
                f"The person released {what}, which you held{why}. Stop writing there; ask before you take it again.",
            )
    nearby.ring_waiting(tx, taken)


# -- passing on ----------------------------------------------------------------------------------------------------


def transfer(
    tx: Tx,
    to: Annotated[str, Arg("who takes over", positional=True, metavar="TO")],
    paths: Some = None,
    *,
    all: Annotated[bool, Arg("everything you hold, but the paths of your tasks")] = False,
    subject: Annotated[str, Arg("one line; made from the paths when left out", flag="-s")] = "",
    work_completed: Annotated[str, Arg("what was done", flag="--done")] = "",
    current_state: Annotated[str, Arg("where it stands", flag="--state")] = "",
    next_steps: Annotated[list[str] | None, Arg("what comes next (repeatable)", flag="--next")] = None,
    notes: Annotated[str, Arg("anything else", flag="-m")] = "",
) -> dict[str, Any]:
    """The paths and a handoff, in one step: nobody gets between. Those who wait go on waiting, for its new holder."""
    me, heir = tx.me(), _heir(tx, to)
    mine = [r for r in tx.all("holds_of_agent", agent=me["id"]) if r["state"] == holding.HELD and r["kind"] == "path"]
    mine = [row for row in mine if holds.stands(tx, row)]
    chosen = mine if all else chosen_by(tx, me, mine, paths)
    if not chosen:
        raise errors.Refused("You hold nothing.", "`rook reservations` shows who has what.", code="NOT_HELD")
    request, what = tx.new_id("res-"), [row["pattern"] for row in chosen]
    for row in chosen:
        tx.run("move_hold", id=row["id"], agent=heir["id"], session=held.session_of(heir), request=request)
    tx.event("reserve.transfer", me["name"], target=heir["name"], ref=request, preview=", ".join(what))
    sent = post.handoff(
        tx, [heir["name"]], subject or f"Yours now: {text.one_line(', '.join(what), 100)}",
        work_completed=work_completed or "see the notes",
        current_state=current_state or f"{', '.join(what)} passed to you",
        next_steps=next_steps or ["Go on, or `rook release` what you do not need"], notes=notes,
    )  # fmt: skip
    tx.beat()
    return {"id": request, "to": heir["name"], "paths": what, "message": sent["id"]}


def _heir(tx: Tx, name: str) -> Row:
    heir = tx.agent(name)
    if heir["id"] == tx.me()["id"]:
        raise errors.BadInput("You hold it already.", "Name someone else.")
    state = tx.liveness(heir)
    if state is not None and not presence.is_live(state):
        raise errors.Refused(
            f"{heir['name']} is not here ({state}), and would lose it at once.",
            "`rook who` shows who is.",
            code="NOT_HERE",
        )
    return heir


# -- who has what --------------------------------------------------------------------------------------------------


def listed(
    tx: Tx,
    paths: Annotated[
        list[str] | None, Arg("only what meets these", positional=True, metavar="PATH", kind="patterns")
    ] = None,
    *,
    agent: Annotated[str, Arg("only this agent's")] = "",
    limit: Annotated[int, Arg("how many at most", flag="-n")] = 200,
) -> dict[str, Any]:
    """What lapsed is seen as lapsed: it is not here."""
    if not 1 <= limit <= MOST:
        raise errors.BadInput(f"A limit of {limit} is out of range.", f"1 to {MOST}.")
    whose = tx.agent(agent)["id"] if agent else 0
    if paths:
        near = {row["id"]: row for path in paths for row in nearby.overlapping(tx, parse(path))}
        rows = [row for row in near.values() if not whose or row["agent"] == whose]
    else:
        rows = tx.all("list_holds", kind="path", agent=whose, limit=limit + 1)
    live = [card(tx, row) for row in rows[:limit] if holds.is_live(tx, row)]
    return {"reservations": live, "more": len(rows) > limit}


def card(tx: Tx, row: Row) -> dict[str, Any]:
    other = holds.other(tx, row)
    return {
        "id": row["request"] or row["id"], "path": row["pattern"], "state": row["state"], "mode": row["mode"],
        "agent": row["name"], "reason": row["reason"], "since": other.since, "expiresAt": other.until,
        "task": row["task"], "cwd": other.place, "host": other.host, "branch": other.branch, "tree": row["tree"],
    }  # fmt: skip
