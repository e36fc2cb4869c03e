"""Which agent programs' hooks were heard of: one that is never run looks like one that has nothing to say."""

from typing import Any

from .tx import Tx


def by_host(tx: Tx) -> dict[str, Any]:
    """The last sign of life from each agent program whose hooks began a session."""
    rows = tx.all("hosts_heard")
    return {"hosts": [{"host": row["host"], "at": tx.shown(row["at"])} for row in rows]}
