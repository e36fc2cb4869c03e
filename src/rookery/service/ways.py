"""The ways to an agent, as rows: which can be used from here, how they stand, and what a sender is told of them."""

import json
from collections.abc import Sequence
from typing import Any

from rookery.core import delivery
from rookery.core.delivery import Channel, Circuit, Standing, Way
from rookery.store.port import Row

from .tx import Tx

CHANNELS = tuple(Channel)


def limits(tx: Tx) -> delivery.Limits:
    ms = tx.settings.ms
    return delivery.Limits(
        ms("delivery.retry_s"), ms("delivery.retry_most_s"), tx.settings["delivery.tries"], ms("delivery.patience_s"),
        tx.settings["delivery.failures"], ms("delivery.pause_s"), ms("delivery.grace_s"),
    )  # fmt: skip


def works(tx: Tx, end: Row) -> bool:
    """Can it be used from this machine? Whether it then succeeds is another matter, and told with a reason."""
    if end["host"] != tx.world.host:
        return False
    if end["channel"] == Channel.RESUME:
        return tx.settings["delivery.resume"]
    if end["channel"] in (Channel.DOOR, Channel.TERMINAL) and end["boot"] != tx.world.boot:
        return False
    if end["channel"] != Channel.DOOR:
        return True
    address = json.loads(end["address"])
    return tx.world.prober.state(address.get("pid", 0), address.get("started", "")) == "running"


def way_of(tx: Tx, end: Row, row: Row | None = None) -> Way:
    """A way as the law sees it. What keeps from a moment that is over is forgotten: the program came to rest since."""
    next_at = end["next_at"]
    if row is not None and row["phase"] == "idle" and end["reason"] in delivery.OF_THE_MOMENT:
        tried_at = next_at - delivery.backoff_ms(end["tries"], limits(tx))
        next_at = 0 if row["phase_at"] >= tried_at else next_at
    return Way(end["channel"], works(tx, end), next_at, Circuit(end["failures"], end["open_until"]))


def told(tx: Tx, rows: Sequence[Row], *, live: bool, kept: bool) -> dict[str, str]:
    """What whoever has just sent is told of a recipient with ways to it; nothing, if none of them can be used."""
    standing = Standing(bool(rows[0]["program"]), rows[0]["phase"], live)
    how = delivery.told([Way(row["channel"], works(tx, row)) for row in rows], standing, kept=kept)
    return {"state": "live" if live else "queued", "how": how} if how else {}


def described(tx: Tx, row: Row) -> list[dict[str, Any]]:
    """The ways to an agent as people and programs see them, best first."""
    ends = sorted(tx.all("endpoints_of", agent=row["id"]), key=lambda end: CHANNELS.index(Channel(end["channel"])))
    return [
        {
            "channel": end["channel"], "how": delivery.HOW[end["channel"]], "works": works(tx, end),
            "circuit": Circuit(end["failures"], end["open_until"]).state(tx.now), "tries": end["tries"],
            "reason": end["reason"], "detail": end["detail"],
        }
        for end in ends
    ]  # fmt: skip
