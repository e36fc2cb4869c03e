"""Workers that messages ask for: followed where that is switched on, by whom it is allowed, so many in a minute.

That it was asked for is an event whatever becomes of it. A request that is not followed takes nothing from its message:
it is delivered, what was refused is written down, and the sender is told; by mail once in a minute, however often.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core import errors, kinds, routes, spawning, text
from rookery.store.port import Row

from . import held, limits, policies
from . import workers as working
from .tx import Tx


def follow(
    tx: Tx, me: Row, request: Mapping[str, Any], refs: Sequence[str], result: dict[str, Any], subject: str, by: str = ""
) -> None:
    """What a message that was just sent asks for. The answer says what became of it: `spawned`, or a note."""
    asked = str(request.get("mesh") or request.get("kind") or "")
    tx.event("spawn.requested", me["name"], target=asked, ref=result["id"], preview=str(request.get("reason") or ""),
             spawn=dict(request), refs=list(refs), by=by)  # fmt: skip
    if not tx.settings["spawn.by_message"]:
        note(result, "The worker it asks for is recorded; spawning by message is off (spawn.by_message).")
        return
    try:
        orders = tx.attempt(lambda: _orders(tx, me, request, by))
    except errors.RookError as refusal:
        _refuse(tx, me, asked, result, refusal)
        return
    _make(tx, me, orders, request, refs, result, subject, by)


def _orders(tx: Tx, me: Row, request: Mapping[str, Any], by: str) -> list[Any]:
    wanted = spawning.wanted(request, tx.settings["spawn.meshes"])
    allow(tx, me, by, len(wanted))
    return [order(tx, me, kind) for kind in wanted]


# -- whether ---------------------------------------------------------------------------------------------------------


def allow(tx: Tx, me: Row, by: str, count: int) -> None:
    bound = policies.worker_of(tx, me)
    if bound is not None:
        refusal = kinds.spawn_refusal(bound.kind, bound.depth, tx.settings["worker.depth"])
        if refusal is not None:
            raise refusal
    elif not _is_sender(tx, me, by):
        raise errors.NotYours(
            f"{me['name']} may not ask for workers by message.",
            "`rook spawn` asks for one by name; whoever owns this machine lists senders in spawn.senders.",
            code="MAY_NOT_SPAWN",
        )
    if tx.is_limited():
        limits.allow_spawn(tx, me)
    most = tx.settings["spawn.by_message_per_minute"]
    if _lately(tx, me)["made"] + count > most:
        raise errors.Refused(
            f"Messages have asked for {most} workers in the last minute, and no more are made of them now.",
            "Ask again in a minute: spawn.by_message_per_minute.", code="TOO_MANY_SPAWNS",
        )  # fmt: skip


def _is_sender(tx: Tx, me: Row, by: str) -> bool:
    """A file proves no more than that someone may write to a folder: what the leader may, its name alone may not."""
    if tx.may_steer(me) and not by:
        return True
    party = routes.Party(me["name"], me["role"] or "", me["program"] or "")
    return routes.covered(tx.settings["spawn.senders"], party, "spawn.senders")


def _lately(tx: Tx, me: Row) -> Row:
    row = tx.one("spawn_asks_since", sender=me["id"], after=tx.now - spawning.WINDOW_MS)
    assert row is not None
    return row


def order(tx: Tx, me: Row, kind: str) -> working.Asked:
    return working.settled(tx, me, working.of_agent(tx, me), kind=kind)


# -- what becomes of it ----------------------------------------------------------------------------------------------


def _make(
    tx: Tx, me: Row, orders: Sequence[working.Asked], request: Mapping[str, Any], refs: Sequence[str],
    result: dict[str, Any], subject: str, by: str,
) -> None:  # fmt: skip
    words = spawning.assignment(request, subject)
    kept = spawning.extra(request, result["id"], refs, by, len(orders))
    made = [working.write(tx, me, words, order, extra=kept) for order in orders]
    count(tx, me, result["id"], len(made))
    cards = [working.find(tx, id) for id in made]
    result["spawned"] = [{"id": row["id"], "name": row["name"], "kind": row["kind"]} for row in cards]
    listed = ", ".join(f"{row['id']} ({row['name']}, {row['kind']})" for row in cards)
    body = (
        f"{result['id']} asked for {'a worker' if len(made) == 1 else f'{len(made)} workers'}: {listed}.\n"
        f"`rook workers` shows how they are, `rook tell {made[0]} TEXT` speaks to one; each reports to you."
    )
    held.tell(tx, [me["name"]], f"Spawned: {text.one_line(words, 80)}", body, priority="normal", tags=("worker",))


def _refuse(tx: Tx, me: Row, asked: str, result: dict[str, Any], refusal: errors.RookError) -> None:
    told = bool(_lately(tx, me)["refused"])
    count(tx, me, result["id"], 0)
    tx.event("spawn.refused", me["name"], target=asked, ref=result["id"], preview=refusal.message, code=refusal.code)
    note(result, f"No worker was made: {refusal.message} {refusal.hint}")
    if not told:
        subject = f"No worker was made for {result['id']}"
        held.tell(tx, [me["name"]], subject, f"{refusal.message}\n{refusal.hint}", tags=("worker",))


def count(tx: Tx, me: Row, message: str, made: int) -> None:
    tx.run("forget_spawn_asks", before=tx.now - spawning.WINDOW_MS)
    tx.run("note_spawn_ask", message=message, sender=me["id"], made=made)


def note(result: dict[str, Any], said: str) -> None:
    result["notes"] = [*result.get("notes", ()), said]
