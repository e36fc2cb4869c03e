"""The paths that come with a claim: all of them or none, and free when the claim is over."""

import json

from rookery.core import errors, holding, patterns, text
from rookery.store.port import Row

from . import held, nearby
from . import holding as holds
from .tx import Tx


def conflict(tx: Tx, pattern: patterns.Pattern, agent: int) -> Row | None:
    """Who is in the way of a claim, wherever they work. It only looks, so that a read may ask."""
    found = holds.paths_in_the_way(tx, agent, pattern, holding.EXCLUSIVE, anywhere=True)
    return found[0] if found else None


def take_paths(tx: Tx, task: Row, agent: Row, epoch: int, until: int) -> None:
    for n, written in enumerate(json.loads(task["resources"])):
        pattern = patterns.parse(written)
        holds.settle(tx, [row for row in nearby.overlapping(tx, pattern) if row["agent"] != agent["id"]])
        found = conflict(tx, pattern, agent["id"])
        if found is not None:
            raise _refusal(tx, written, found)
        tx.run(
            "new_reservation", id=f"{task['id']}.{epoch}.{n}", kind="path", state=holding.HELD, request="", turn=0,
            pattern=pattern.text, root=patterns.root(pattern), mode=holding.EXCLUSIVE, agent=agent["id"],
            session=held.session_of(agent), task=task["id"], epoch=epoch, reason=task["title"][:120], at=tx.wall,
            expires_at=until, ttl_ms=0, bound=0, tree=tx.caller.tree, **holds.keeper_of(tx, None),
        )  # fmt: skip


def _refusal(tx: Tx, written: str, row: Row) -> errors.Refused:
    other = holds.other(tx, row)
    if row["state"] == holding.WAITING:
        told = f"{other.told()}."
    else:
        why = f" ({text.one_line(other.reason, 60)})" if other.reason else ""
        told = f"{written} is held by {other.name} until {other.until}{why}."
    return errors.Refused(told, f"{holding.ask(other.name)}, or `rook task claim --next`.", code="RESOURCE_HELD")
