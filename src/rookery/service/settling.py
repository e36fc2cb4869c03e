"""What a resident process does on its own: is anything due, and leases that ran out.

Safe to run in several processes at once: each step is one transaction, and a lease is settled under its epoch. Nothing
depends on it either: whoever looks at a lapsed lease sees it as lapsed.
"""

from typing import Annotated, Any

from . import chasing, held, holding
from .tx import Tx
from .upkeep import SWEEP_EVERY_MS
from .verbs import Arg

LEASES = 100  # a lapse writes mail and events: not too many at once


def due(tx: Tx) -> dict[str, Any]:
    """Asked often, so it looks at no more than the first of each."""
    position = tx.one("ledger_position")
    waited = position is not None and tx.now - position["swept_at"] >= SWEEP_EVERY_MS
    lapsed = tx.all("lapsed_tasks", limit=1) or tx.all("lapsed_holds", limit=1)
    return {
        "sweep": waited or bool(tx.all("overdue", limit=1)), "leases": bool(lapsed), "unanswered": chasing.is_due(tx)
    }  # fmt: skip


def settle(tx: Tx, *, batch: Annotated[int, Arg("how many at once")] = LEASES) -> dict[str, Any]:
    """Extended where their holder still works; otherwise written down, and told to whoever held them."""
    rows = tx.all("lapsed_tasks", limit=max(1, min(batch, LEASES)))
    for row in rows:
        held.settle(tx, row)
    over = holding.settle_due(tx, LEASES)
    return {"settled": [row["id"] for row in rows], "holds": over}
