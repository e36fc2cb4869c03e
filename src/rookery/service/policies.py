"""What keeps an agent from writing at all: a worker whose kind only reads, or whose plan was not agreed to (H34).

Where no worker was ever made, which the team's row tells, this costs nothing.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rookery.core import errors
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from .tx import WORKED, Tx
from .world import WritePolicy

if TYPE_CHECKING:
    from rookery.core.kinds import Kind


class Bound(NamedTuple):
    """A live worker, as its kind was when it was made."""

    worker: str
    kind: "Kind"
    depth: int
    plan_ok: bool


def worker_of(tx: Tx, agent: Row) -> Bound | None:
    """None for an agent that is no worker, or is one no longer."""
    row = tx.one("kind_of_worker", agent=agent["id"]) if tx.flags & WORKED else None
    return _bound(row) if row is not None else None


def _bound(row: Row) -> Bound:
    from rookery.core import kinds  # before every tool of every agent; few of them are workers

    kind = kinds.from_data({"name": row["kind"], **json.loads(row["profile"])})
    return Bound(row["id"], kind, row["depth"], bool(row["plan_ok"]))


class WorkerPolicy:
    def refusal(self, tx: Tx, agent: Row) -> str:
        bound = worker_of(tx, agent)
        if bound is None:
            return ""
        from rookery.core import kinds

        return kinds.write_refusal(bound.kind, plan_ok=bound.plan_ok)


POLICIES: Sequence[WritePolicy] = (WorkerPolicy(),)


def refusal(tx: Tx, agent: Row) -> str:
    return next((why for policy in tx.world.policies if (why := policy.refusal(tx, agent))), "")


def keeps_from_landing(tx: Tx, worker: str) -> str:
    """Why nothing of a worker lands, live or not; "" if nothing is against it."""
    row = tx.one("kind_of_worker_id", id=worker)
    if row is None:
        return ""
    from rookery.core import kinds

    bound = _bound(row)
    return kinds.write_refusal(bound.kind, plan_ok=bound.plan_ok)


def check(tx: Tx, agent: Row) -> None:
    """Refused, with the reason, to whoever may write nothing: for verbs that make room for writing."""
    if why := refusal(tx, agent):
        raise errors.NotYours(f"{agent['name']}: {why}.", code="READ_ONLY")
