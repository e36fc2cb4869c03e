"""What a person was told of what needs them, by each way: the cursor moves after the hand-over.

At least once: whoever dies between hand-over and `done` leaves it to be told again, when its lease is over. Two who
would tell at the same time do not: one of them has it.
"""

from typing import Annotated, Any

from rookery.core import errors, notifying
from rookery.core.notifying import WAYS

from .tx import Tx
from .verbs import Arg

LEASE_MS = 60_000  # longer than any way may take
Way = Annotated[str, Arg("by which way")]
Owner = Annotated[str, Arg("who tells")]


def teams(tx: Tx, *, ways: Annotated[list[str], Arg("the ways that are set up")]) -> dict[str, Any]:
    """Where there is something that a person was not told of."""
    rows = [(row["name"], way) for way in ways for row in tx.all("store_teams_untold", way=_checked(way))]
    return {"untold": [{"team": team, "way": way} for team, way in rows]}


def take(tx: Tx, *, way: Way, owner: Owner) -> dict[str, Any]:
    """The digest that is due, for whoever tells it now; nothing if none is, or another has it."""
    known = tx.one("notified", way=_checked(way)) or {"cursor": 0, "due_at": 0}
    upto = tx.now - 1  # what another writes at this very moment is of the next digest
    found = tx.one("untold_count", cursor=known["cursor"], upto=upto)
    nothing: dict[str, Any] = {"team": tx.team, "count": 0, "items": [], "upto": 0}
    gather = tx.settings.ms("notify.gather_s")
    if not found or not found["count"] or not notifying.is_due(tx.now, found["oldest"], known["due_at"], gather):
        return nothing
    rows = tx.all("untold", cursor=known["cursor"], upto=upto, limit=notifying.SHOWN)
    tx.run("take_notifying", way=way, owner=owner, cursor=known["cursor"], until=tx.now + LEASE_MS, at=tx.wall)
    items = [{name: row[name] for name in ("id", "kind", "subject", "worker", "title")} for row in rows]
    return {"team": tx.team, "count": found["count"], "items": items, "upto": upto}


def done(tx: Tx, *, way: Way, owner: Owner, upto: Annotated[int, Arg("as `notify.take` said")]) -> dict[str, Any]:
    """It was told. Fenced: whoever lost it moves no cursor."""
    due = tx.now + tx.settings.ms("notify.interval_s")
    return {"told": bool(tx.run("told_notifying", way=way, owner=owner, upto=upto, due=due, at=tx.wall))}


def failed(tx: Tx, *, way: Way, owner: Owner) -> dict[str, Any]:
    """It could not be told; it is tried again, with what came meanwhile."""
    due = tx.now + tx.settings.ms("notify.retry_s")
    return {"told": not tx.run("untold_notifying", way=way, owner=owner, due=due, at=tx.wall)}


def _checked(way: str) -> str:
    if way not in WAYS:
        raise errors.BadInput("There is no such way.", f"One of: {', '.join(WAYS)}.")
    return way
