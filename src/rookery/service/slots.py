"""Slots: named things of which there are only so many (a port, a test database, two builds). Held like reservations."""

from typing import Annotated, Any

from rookery.core import errors, holding, landing, names
from rookery.store.port import Row

from . import holding as holds
from . import reserving
from .tx import Tx
from .verbs import Arg

Name = Annotated[str, Arg("the slot: build, port:3000, db:test", positional=True, metavar="NAME")]


def take(
    tx: Tx,
    name: Name,
    *,
    reason: Annotated[str, Arg("what for: whoever is refused reads it", flag="-m")] = "",
    ttl_ms: reserving.Ttl = None,
    wait: Annotated[bool, Arg("take a place in line instead of a refusal", hidden=True)] = False,
    bound: reserving.Bound = False,
) -> dict[str, Any]:
    """One of them. Taking it twice is having two: a slot is counted, whoever has it."""
    me = holds.able(tx)
    wants = [holds.Want("slot", holding.check_slot(name), name)]
    if name.startswith(landing.SLOT) and me["name"] != names.SYSTEM and not tx.may_steer(me):
        raise errors.NotYours(
            f"{name} stops the merge queue: only the user and the leader take it.", 'Ask them: `rook escalate "WHY"`.'
        )
    ttl = reserving.lease_ttl(tx, ttl_ms)
    asked = holds.Request(wants, holding.EXCLUSIVE, ttl, reserving.check_reason(reason), bound)
    tx.beat()
    holds.settle(tx, tx.all("slot_rows", name=name))
    others = holds.in_the_way(tx, me["id"], asked)
    if not others:
        request = tx.new_id("res-")
        holds.insert(tx, me, asked, request, holding.HELD, tx.now + ttl)
        return holds.granted(tx, me, request)
    if not wait:
        raise holding.refusal([holds.other(tx, row) for row in others], f"rook slot take {name} --wait 300")
    return holds.wait(tx, me, asked, others)


def give(
    tx: Tx,
    name: Name,
    *,
    all: Annotated[bool, Arg("every one you have of it")] = False,
    reason: Annotated[str, Arg("why", flag="-m")] = "",
) -> dict[str, Any]:
    """The newest one you have of it; whoever else has some keeps theirs."""
    me = tx.me()
    mine = [row for row in tx.all("slot_rows", name=holding.check_slot(name)) if row["agent"] == me["id"]]
    mine = [row for row in mine if holds.is_live(tx, row)]
    if not mine:
        raise errors.Refused(f"You do not have {name}.", "`rook slot list` shows who has.", code="NOT_HELD")
    chosen = mine if all else [max(mine, key=lambda row: (row["state"] == holding.HELD, row["created_at"], row["id"]))]
    reserving.give_up(tx, me, chosen, reserving.check_reason(reason))
    tx.beat()
    return {"released": [row["pattern"] for row in chosen], "agent": me["name"]}


def put(
    tx: Tx,
    name: Name,
    capacity: Annotated[int, Arg("how many there are; 0 takes it from the settings again", positional=True)],
) -> dict[str, Any]:
    """By the person or the leader: whoever needs a slot does not make it larger. Those who have one keep it."""
    me = tx.me()
    if not tx.may_steer(me):
        raise errors.NotYours("Only the leader or the person changes how many there are.", "`rook escalate` asks them.")
    holding.check_slot(name)
    if capacity:
        tx.run("set_slot", name=name, capacity=holding.check_capacity(capacity), agent=me["id"], at=tx.wall)
    else:
        tx.run("unset_slot", name=name)
    now = holds.capacity(tx, name)
    tx.event("slot.set", me["name"], target=name, preview=f"{name}: {now}", capacity=now)
    for row in tx.all("slot_rows", name=name):
        if row["state"] == holding.WAITING:
            tx.ring(row["name"])
    tx.beat()
    return _card(tx, name)


def listed(
    tx: Tx,
    name: Annotated[str, Arg("only this one", positional=True, metavar="NAME")] = "",
) -> dict[str, Any]:
    """Those that were set up, and those that someone has or waits for."""
    if name:
        return {"slots": [_card(tx, holding.check_slot(name))]}
    known = {*tx.settings["slots"], *(row["name"] for row in tx.all("slots"))}
    used = {
        row["root"]
        for row in tx.all("list_holds", kind="slot", agent=0, limit=reserving.MOST)
        if holds.is_live(tx, row)
    }
    return {"slots": [_card(tx, each) for each in sorted(known | used)]}


def _card(tx: Tx, name: str) -> dict[str, Any]:
    rows = [row for row in tx.all("slot_rows", name=name) if holds.is_live(tx, row)]
    taken = [_user(tx, row) for row in rows if row["state"] == holding.HELD]
    line = [_user(tx, row) for row in rows if row["state"] == holding.WAITING]
    return {"name": name, "capacity": holds.capacity(tx, name), "free": max(0, holds.capacity(tx, name) - len(taken)),
            "holders": taken, "waiting": line}  # fmt: skip


def _user(tx: Tx, row: Row) -> dict[str, Any]:
    other = holds.other(tx, row)
    return {"id": row["request"], "agent": row["name"], "reason": row["reason"], "since": other.since,
            "expiresAt": other.until, "host": other.host}  # fmt: skip
