"""What reservations and slots share: who is in the way, granting, waiting, lapsing, giving up.

A hold belongs to its session and ends with it; one that is *bound* belongs to the process that took it instead (a
Python block, a command run under a slot), which alone renews it. One without either is held by its lease alone.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from rookery.core import errors, holding, patterns, presence, text
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from . import held, nearby
from .tx import Tx

REASON_LIMIT = 300


class Want(NamedTuple):
    """One path or slot that is asked for."""

    kind: str
    text: str  # the pattern as people write it, or the slot's name
    root: str


class Request(NamedTuple):
    wants: Sequence[Want]
    mode: str
    ttl_ms: int
    reason: str
    bound: bool
    turn: int | None = None  # its place in line; None when it has none yet


# -- looking -------------------------------------------------------------------------------------------------------


def lease_of(row: Row) -> holding.Lease:
    return holding.Lease(row["expires_at"], row["renewed_at"], row["ttl_ms"])


def able(tx: Tx) -> Row:
    """The caller, if it can hold anything: what the dead hold is free at once. (Whoever never joined holds by time.)"""
    me = tx.me()
    if tx.liveness(me) in (presence.Liveness.DEAD, presence.Liveness.ENDED):
        raise errors.Refused(
            f"{me['name']}'s session is over: its process has ended, and what it holds would be free at once.",
            f"`rook join {me['name']}` from the shell or program that goes on.", code="NOT_JOINED",
        )  # fmt: skip
    return me


def keeper(tx: Tx, row: Row) -> presence.Liveness | None:
    """How whoever answers for it is: its own process, else its session; None if there is neither."""
    if row["session"] is not None and row["ended_at"] is not None:
        return presence.Liveness.ENDED
    if row["pid"] is None and row["session"] is None:
        return None
    if not tx.is_local(row):
        # Another machine's process can not be seen, and what it holds it holds by its lease.
        return presence.Liveness.LAPSED
    return tx.liveness({**row, "session": row["session"] or "", "heartbeat_at": row["heartbeat_at"] or 0})


def stands(tx: Tx, row: Row) -> bool:
    """Does it keep others out? A task's paths live exactly as long as its claim. It only looks: a read may ask."""
    if row["task"]:
        task = held.find(tx, row["task"])
        return task["epoch"] == row["epoch"] and held.stands(tx, task)
    return holding.stands(lease_of(row), tx.now, keeper(tx, row), tx.is_local(row))


def waits(tx: Tx, row: Row) -> bool:
    return holding.waits(row["expires_at"], tx.now, keeper(tx, row))


def is_live(tx: Tx, row: Row) -> bool:
    return waits(tx, row) if row["state"] == holding.WAITING else stands(tx, row)


def apart(tx: Tx, row: Row) -> bool:
    """Taken in another working tree than the caller's, as far as both are known?"""
    if not (tx.caller.tree and row["tree"]):
        return False
    far = bool(tx.caller.host and row["host"]) and tx.caller.host != row["host"]
    return far or tx.caller.tree != row["tree"]


def in_the_way(tx: Tx, agent: int, asked: Request) -> list[Row]:
    found: dict[str, Row] = {}
    for want in asked.wants:
        found |= {row["id"]: row for row in _in_the_way_of(tx, agent, asked, want)}
    return list(found.values())


def _in_the_way_of(tx: Tx, agent: int, asked: Request, want: Want) -> list[Row]:
    if want.kind == "slot":
        return _before_in_slot(tx, asked, want.root)
    return paths_in_the_way(tx, agent, patterns.parse(want.text), asked.mode, asked.turn)


def paths_in_the_way(
    tx: Tx, agent: int, pattern: patterns.Pattern, mode: str, turn: int | None = None, *, anywhere: bool = False
) -> list[Row]:
    """Live holds of others, and places in line before this one. What lies within a hold of one's own waits for nobody:
    everyone in line for it waits for that hold already. `anywhere`: whatever the rule about working trees says."""
    near = nearby.overlapping(tx, pattern)
    own = [row for row in near if row["agent"] == agent and row["state"] == holding.HELD]
    covered = any(_includes(row, pattern, mode) and stands(tx, row) for row in own)
    ignored = tx.settings["guard.worktrees"] == "off" and not anywhere
    return [
        row
        for row in near
        if row["agent"] != agent
        and holding.clash(mode, row["mode"])
        and not (ignored and not row["task"] and apart(tx, row))
        and not (row["state"] == holding.WAITING and (covered or (turn is not None and row["turn"] >= turn)))
        and is_live(tx, row)
    ]


def _includes(row: Row, pattern: patterns.Pattern, mode: str) -> bool:
    return patterns.within(pattern, patterns.parse(row["pattern"])) and row["mode"] in (holding.EXCLUSIVE, mode)


def _before_in_slot(tx: Tx, asked: Request, name: str) -> list[Row]:
    rows = [row for row in tx.all("slot_rows", name=name) if is_live(tx, row)]
    taken = [row for row in rows if row["state"] == holding.HELD]
    before = [
        row for row in rows if row["state"] == holding.WAITING and (asked.turn is None or row["turn"] < asked.turn)
    ]
    return [] if holding.fits(capacity(tx, name), len(taken), len(before)) else [*taken, *before]


def capacity(tx: Tx, name: str) -> int:
    """Set by hand, else in the settings, else one."""
    row = tx.one("slot", name=name)
    return row["capacity"] if row else int(tx.settings["slots"].get(name, 1))


def other(tx: Tx, row: Row) -> holding.Other:
    ends = row["expires_at"] if row["task"] else holding.ends_at(lease_of(row), tx.now)
    return holding.Other(
        name=row["name"], what=row["pattern"], state=row["state"], reason=row["reason"],
        since=tx.shown(row["created_at"]), until=tx.shown(ends), place=row["cwd"] or row["tree"],
        host=row["host"] or "", branch=row["branch"] or "", task=row["task"] or "",
    )  # fmt: skip


# -- settling ------------------------------------------------------------------------------------------------------


def settle(tx: Tx, rows: Iterable[Row]) -> int:
    """Written down as it is: what goes on is extended, what is over is told and freed; how many were over."""
    over: list[Row] = []
    for row in rows:
        if row["task"]:  # whoever lost its paths has lost its task, and is told so
            held.settle(tx, held.find(tx, row["task"]))
        elif not is_live(tx, row):
            over.append(row)
        elif row["expires_at"] <= tx.now:
            tx.run("extend_hold", id=row["id"], until=holding.ends_at(lease_of(row), tx.now))
    for row in over:
        tx.run("drop_hold", id=row["id"])
    lapse(tx, [row for row in over if row["state"] == holding.HELD])
    nearby.ring_waiting(tx, over)
    return len(over)


def lapse(tx: Tx, rows: Sequence[Row], because: str = "") -> None:
    """An event and a message for each request that lost something: no hold ends in silence (H25)."""
    by_request: dict[str, list[Row]] = {}
    for row in rows:
        by_request.setdefault(row["request"], []).append(row)
    for request, lost in by_request.items():
        first, what = lost[0], ", ".join(row["pattern"] for row in lost)
        why = because or _why(tx, first)
        tx.event(_word(first, "lapsed"), "system", target=first["name"], ref=request, preview=f"{what}: {why}")
        tell(
            tx,
            first["name"],
            f"No longer yours: {text.one_line(what, 100)}",
            f"You no longer hold {what} ({why}). Others may take it: look with `rook reservations` before you write, "
            f"and ask for it again if you still need it.",
        )


def _why(tx: Tx, row: Row) -> str:
    state = keeper(tx, row)
    if state is presence.Liveness.ENDED:
        return "its session ended"
    return "its process is gone" if state is presence.Liveness.DEAD else "its time was over"


def _word(row: Row, deed: str) -> str:
    return f"slot.{deed}" if row["kind"] == "slot" else f"reserve.{deed}"


def settle_due(tx: Tx, limit: int) -> int:
    return settle(tx, tx.all("lapsed_holds", limit=limit))


def settle_all(tx: Tx, limit: int) -> int:
    """What is over, and what belongs to the dead."""
    rows = [row for row in tx.all("standing_holds", limit=limit) if not is_live(tx, row)]
    return settle_due(tx, limit) + settle(tx, rows)


def end_session(tx: Tx, agent: Row, because: str) -> None:
    """Whatever a session held or waited for is free when it is over. Called once it is."""
    rows = [row for row in tx.all("holds_of_agent", agent=agent["id"]) if row["session"] == agent["session"]]
    for row in rows:
        tx.run("drop_hold", id=row["id"])
    kept = [row for row in rows if row["state"] == holding.HELD]
    if because == "left":
        told_release(tx, agent["name"], kept, because)
    else:
        lapse(tx, kept, because)
    nearby.ring_waiting(tx, rows)


# -- taking --------------------------------------------------------------------------------------------------------


def insert(tx: Tx, agent: Row, asked: Request, request: str, state: str, until: int) -> None:
    session = held.session_of(agent)
    process = tx.caller.process if asked.bound or state == holding.WAITING else None
    for n, want in enumerate(asked.wants):
        tx.run(
            "new_reservation", id=f"{request}.{n}", kind=want.kind, state=state, request=request, turn=asked.turn or 0,
            pattern=want.text, root=want.root, mode=asked.mode, agent=agent["id"], session=session, task=None, epoch=0,
            reason=asked.reason, at=tx.wall, expires_at=until, ttl_ms=asked.ttl_ms, bound=int(asked.bound),
            tree=tx.caller.tree, **keeper_of(tx, process),
        )  # fmt: skip


def keeper_of(tx: Tx, process: tuple[int, str] | None) -> dict[str, Any]:
    pid, started = process or (None, "")
    return {"keeper_pid": pid, "keeper_started": started, "keeper_boot": tx.caller.boot if process else "",
            "keeper_host": tx.caller.host if process else ""}  # fmt: skip


def granted(tx: Tx, agent: Row, request: str) -> dict[str, Any]:
    """It is held from now on; the answer tells who waits for it meanwhile."""
    rows = tx.all("request_rows", request=request)
    what = ", ".join(row["pattern"] for row in rows)
    kind = "slot.take" if rows[0]["kind"] == "slot" else "reserve"
    tx.event(kind, agent["name"], target=what, ref=request, preview=rows[0]["reason"], mode=rows[0]["mode"])
    tx.ring(agent["name"])
    return answer(tx, agent, rows)


def wait(tx: Tx, agent: Row, asked: Request, others: Sequence[Row]) -> dict[str, Any]:
    """A place in line, behind everyone who asked before; whoever holds it is told, once."""
    _refuse_circle(tx, agent, others)
    request, seq = tx.new_id("res-"), tx.next_seq()
    insert(tx, agent, asked._replace(turn=seq), request, holding.WAITING, tx.now + tx.settings.ms("guard.waiter_s"))
    what = ", ".join(want.text for want in asked.wants)
    holders = dict.fromkeys(row["name"] for row in others)
    word = "slot.wait" if asked.wants[0].kind == "slot" else "reserve.wait"
    tx.event(word, agent["name"], seq=seq, target=", ".join(holders), ref=request, preview=what)
    _tell_holders(tx, agent, asked, others)
    return answer(tx, agent, tx.all("request_rows", request=request), others)


def _tell_holders(tx: Tx, agent: Row, asked: Request, others: Sequence[Row]) -> None:
    told: set[str] = set()
    for row in others:
        known = row["told"].split()
        if row["state"] == holding.WAITING or str(agent["id"]) in known:
            continue
        tx.run("note_told", id=row["id"], told=" ".join([*known, str(agent["id"])][-100:]))
        if row["name"] in told:
            continue
        told.add(row["name"])
        what, why = ", ".join(want.text for want in asked.wants), f": {asked.reason}" if asked.reason else "."
        tell(
            tx,
            row["name"],
            f"{agent['name']} waits for {text.one_line(row['pattern'], 100)}",
            f"{agent['name']} waits for {what}{why}\nYou hold {row['pattern']}; {_how_to_give(row)}",
        )


def _how_to_give(row: Row) -> str:
    if row["task"]:
        return f"it is free when {row['task']} ends (`rook task release {row['task']}` gives it back)."
    command = "rook slot give" if row["kind"] == "slot" else "rook release"
    return f"`{command} {row['pattern']}` when you are done."


def _refuse_circle(tx: Tx, agent: Row, others: Sequence[Row]) -> None:
    """Would those it waits for wait for it? Slots with room for several are left out: any of them may come free."""
    todo, seen = list(others), set[int]()
    while todo:
        row = todo.pop()
        if row["agent"] in seen or (row["kind"] == "slot" and capacity(tx, row["root"]) > 1):
            continue
        seen.add(row["agent"])
        for request in _waiting_requests(tx, row["agent"]):
            further = in_the_way(tx, row["agent"], request)
            mine = next((each for each in further if each["agent"] == agent["id"]), None)
            if mine is not None:
                raise holding.circle(row["name"], mine["pattern"])
            todo += further


def _waiting_requests(tx: Tx, agent: int) -> list[Request]:
    by_request: dict[str, list[Row]] = {}
    for row in tx.all("holds_of_agent", agent=agent):
        if row["state"] == holding.WAITING and waits(tx, row):
            by_request.setdefault(row["request"], []).append(row)
    return [request_of(rows) for rows in by_request.values()]


def request_of(rows: Sequence[Row]) -> Request:
    first = rows[0]
    wants = [Want(row["kind"], row["pattern"], row["root"]) for row in rows]
    return Request(wants, first["mode"], first["ttl_ms"], first["reason"], bool(first["bound"]), first["turn"] or None)


# -- telling -------------------------------------------------------------------------------------------------------


def tell(tx: Tx, name: str, subject: str, body: str) -> None:
    held.tell(tx, [name], subject, body, tags=("guard",))


def told_release(tx: Tx, by: str, rows: Sequence[Row], preview: str, **facts: Any) -> None:
    by_request: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        by_request.setdefault((row["request"], row["kind"]), []).append(row["pattern"])
    for (request, kind), what in by_request.items():
        word = "slot.give" if kind == "slot" else "release"
        tx.event(word, by, target=", ".join(what), ref=request, preview=preview, **facts)


def answer(tx: Tx, agent: Row, rows: Sequence[Row], others: Sequence[Row] = ()) -> dict[str, Any]:
    first = rows[0]
    return {
        "id": first["request"], "state": first["state"], "agent": agent["name"], "kind": first["kind"],
        "paths": [row["pattern"] for row in rows], "mode": first["mode"], "reason": first["reason"],
        "ttlMs": first["ttl_ms"], "placeMs": tx.settings.ms("guard.waiter_s"),
        "expiresAt": tx.shown(first["expires_at"]),
        "others": [other(tx, row).as_dict() for row in others[:20]],
        "waiting": _who_waits(tx, agent, rows) if first["state"] == holding.HELD else [],
    }  # fmt: skip


def _who_waits(tx: Tx, agent: Row, rows: Sequence[Row]) -> list[str]:
    if tx.one("anyone_waits") is None:
        return []
    near = [near for row in rows for near in nearby.rows_like(tx, row)]
    line = [row for row in near if row["state"] == holding.WAITING and row["agent"] != agent["id"] and waits(tx, row)]
    return list(dict.fromkeys(row["name"] for row in sorted(line, key=lambda row: row["turn"])))
