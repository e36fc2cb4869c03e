"""Decisions that belong to the user: who may take them, whose work a result is, and a record of refused attempts."""

from rookery.core import authority, errors, locality, names
from rookery.store.port import Row

from . import caller_tree
from .tx import Attempt, Tx

AGAIN_MS = 60_000  # the same attempt within this time is recorded once
LOOK_BACK = 2_000  # events
DEPTH = 20  # agent programs started below each other, and workers by workers


def require_user(tx: Tx, what: str, *, writes: bool = True) -> None:
    """Refuse, and record, unless the user calls: from a terminal outside every agent tree, or as an operator. What
    only the user may look at needs no terminal."""
    if (refusal := _refusal(tx, what, writes)) is not None:
        raise tx.refuse(refusal)


def is_user(tx: Tx) -> bool:
    """May this caller decide for the user?"""
    return _refusal(tx, "decide", True) is None


def _refusal(tx: Tx, what: str, writes: bool) -> errors.NotYours | None:
    tree = tx.tree
    refusal = authority.decision_refusal(
        tx.caller, what, tree_agent=None if tree is None else next(iter(tree.names), ""),
        terminal_rule=writes and has_terminal_rule(tx),
    )  # fmt: skip
    if refusal is None and tx.me()["name"] != names.PERSON:
        return authority.as_agent(what, tx.me()["name"])
    return refusal


def require_proof(tx: Tx, what: str) -> None:
    """Refuse, and record, whoever is known by nothing but a name."""
    if not authority.is_proven(tx.caller, by_process=_is_proven_here(tx), terminal_rule=has_terminal_rule(tx)):
        raise tx.refuse(authority.unproven(what))


def _is_proven_here(tx: Tx) -> bool:
    """Does the caller run below the process that its session is bound to: an agent program, a script, a shell?"""
    if tx.tree is not None:
        return tx.tree.proven
    return is_session_of_caller(tx, tx.me())


def is_session_of_caller(tx: Tx, agent: Row) -> bool:
    """Is this agent's session, which goes on, bound to a process above the caller? A session that was begun over HTTP
    names its process, and counts if the caller's own processes are known."""
    origin, here = tx.caller.origin, tx.world.host
    is_here = agent["boot"] == tx.world.boot and agent["host"] in (here, f"{locality.REMOTE}{here}")
    return (
        origin is not None and is_here and agent["ended_at"] is None
        and (agent["pid"], agent["started"]) in origin.chain
    )  # fmt: skip


def has_terminal_rule(tx: Tx) -> bool:
    return caller_tree.has_terminal_rule(tx.one)


# -- whose work it is ------------------------------------------------------------------------------------------------


def is_own_work(tx: Tx, author: int) -> bool:
    """Is the caller the author of this work, another name of its program, or something that program started?

    Outside every agent tree it is the user's shell, which may play several agents.
    """
    me = tx.me()
    if me["id"] == author or _is_child(tx, me, author):
        return True
    if tx.tree is None or tx.caller.origin is None:
        return False
    above, mine = set(tx.caller.origin.chain), tx.tree.program
    return any(
        (bound := (row["pid"], row["started"])) in above or (mine is not None and mine in _programs_above(tx, bound))
        for row in tx.all("sessions_of_agent", agent=author)
        if row["boot"] == tx.world.boot and row["host"] == tx.world.host
    )


def _programs_above(tx: Tx, process: tuple[int, str]) -> list[tuple[int, str]]:
    """The agent programs that one was started below, nearest first."""
    found: list[tuple[int, str]] = []
    while len(found) < DEPTH:
        row = tx.one("store_program", pid=process[0], started=process[1], boot=tx.world.boot, host=tx.world.host)
        pid, _, started = (row["above"] if row else "").partition(":")
        if not pid.isdecimal():
            break
        process = (int(pid), started)
        found.append(process)
    return found


def _is_child(tx: Tx, me: Row, author: int) -> bool:
    """Did the author start the worker that calls, or one above it? Of a crew's worker: did it start the crew?"""
    worker = tx.one("worker_of_agent", agent=me["id"])
    for _ in range(DEPTH):
        if worker is None:
            break
        crew = tx.one("crew", id=worker["crew"]) if worker["crew"] else None
        if crew is not None:
            starter = tx.one("worker_of_agent", agent=crew["started_by"])
            if crew["started_by"] == author:
                return True
            worker = starter
            continue
        parent = tx.one("worker", id=worker["parent"]) if worker["parent"] else None
        if author in (worker["asked_by"], parent["agent"] if parent else 0):
            return True
        worker = parent
    return False


# -- recording -------------------------------------------------------------------------------------------------------


def note_program(tx: Tx, how: str) -> None:
    """The process that a join binds is an agent program: whatever runs below it acts as its agent."""
    program, origin = tx.caller.process, tx.caller.origin
    if program is None or (origin is not None and origin.typed_at):
        return  # a hook that was called by hand: a shell at which the user types is not an agent program
    pid, started = program
    if origin is not None and has_terminal_rule(tx):
        tx.after.append(lambda _heard: tx.world.machine.mark_program(program))
    above = tx.tree.program if tx.tree and tx.tree.program != program else None
    tx.run(
        "store_note_program", host=tx.caller.host, boot=tx.caller.boot, pid=pid, started=started, how=how,
        above=f"{above[0]}:{above[1]}" if above else "",
    )  # fmt: skip


def record_attempt(tx: Tx, attempt: Attempt, verb: str) -> None:
    """In a transaction of its own: the refused verb left nothing behind."""
    actor = attempt.actor or names.SYSTEM
    floor = (tx.one("ledger_position") or {"seq": 0})["seq"] - LOOK_BACK
    known = tx.one("recent_refusal", actor=actor, ref=verb, target=attempt.asked, floor=floor, since=tx.wall - AGAIN_MS)
    if known is None:
        asked = f"as {attempt.asked}" if attempt.asked else ""
        tx.event("authority.refused", actor, target=attempt.asked, ref=verb, preview=f"{verb} {asked}".strip(),
                 attempt=attempt.what)  # fmt: skip
