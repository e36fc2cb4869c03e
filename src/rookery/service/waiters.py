"""Processes that wait beside idle agent programs, to hand them what comes.

A waiter is the `door` among the ways to its session: an address that says which process it is. The one that came last
counts; the ones before see that their place is taken, and leave. It looks whenever the bell rings for its agent, and
looking writes nothing and is no sign of life of the agent. What it finds is mail that the session was not shown, and
only while the program is idle: in the middle of a turn the program's hooks bring it. Both go by the same cursor.
"""

from typing import Annotated, Any

from rookery.core import errors
from rookery.core.hooks import Phase
from rookery.store.port import Row

from . import endpoints, mesh, turns
from .tx import Tx
from .verbs import Arg

Pid = Annotated[int, Arg("the waiting process")]
Started = Annotated[str, Arg("when it started, as the machine writes it")]


def wait(
    tx: Tx, pid: Pid, started: Started, *, over: Annotated[bool, Arg("it waits no longer")] = False
) -> dict[str, Any]:
    """From now on this process hands over what comes for the calling agent while it is idle."""
    me = mesh.my_agent(tx)
    address = _address(pid, started)
    if over:
        tx.run(
            "endpoint_drop", agent=me["id"], session=me["session"], channel=endpoints.DOOR,
            address=endpoints.written(address),
        )  # fmt: skip
    else:
        endpoints.register(tx, me, me["session"], endpoints.DOOR, address, tx.caller.host, tx.caller.boot)
        tx.ring(me["name"])  # whoever waited here before
    return {"agent": me["name"], "session": me["session"]}


def idle(
    tx: Tx,
    pid: Pid,
    started: Started,
    *,
    limit: Annotated[int, Arg("characters of text at most")] = 4_000,
) -> dict[str, Any]:
    """What to put before the calling agent, which is idle; or that another process waits there now."""
    tx.quiet = True
    me = mesh.my_agent(tx)
    told: dict[str, Any] = {"agent": me["name"], "leave": not _is_mine(tx, me, _address(pid, started)), "text": "",
                            "shown": [], "upto": 0}  # fmt: skip
    turn = tx.one("turn", session=me["session"])
    if told["leave"] or turn is None or turn["phase"] != Phase.IDLE:
        return told
    waiting = turns.fresh(tx, me, turn["handed_to"])
    if not _wakes(tx, me, waiting, turn["handed_to"]):
        return told
    return told | turns.summed(tx, me, waiting, turns.checked(limit))


def _address(pid: int, started: str) -> dict[str, Any]:
    if pid <= 0 or not 0 < len(started) <= 100:
        raise errors.BadInput("That is no process.", "Give its pid and when it started.")
    return {"pid": pid, "started": started}


def _is_mine(tx: Tx, me: Row, address: dict[str, Any]) -> bool:
    found = tx.one("endpoint_row", agent=me["id"], channel=endpoints.DOOR)
    return found is not None and (found["session"], found["address"]) == (me["session"], endpoints.written(address))


def _wakes(tx: Tx, me: Row, waiting: turns.Waiting, after: int) -> bool:
    rule = tx.settings["hook.wake"]
    if rule == "urgent":
        new = {row["n"] for row in waiting.rows}
        return any(row["n"] in new for row in turns.pressing(tx, me, after))
    return rule == "all" and bool(waiting.rows)
