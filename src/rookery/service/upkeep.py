"""Upkeep: what expired is written down, what is past retention goes, and how well everything is.

Nothing has to run for this: a join sweeps when an hour has passed, and a daemon will sweep on its own time. Reads
never depend on it, because they see lapsed things as lapsed.
"""

from typing import Annotated, Any

from rookery.core import errors, presence, times

from .tx import Tx
from .verbs import Arg

SWEEP_EVERY_MS = 3_600_000
DAY_MS = 86_400_000
KEYS_KEPT_DAYS = 7
BATCH, MOST = 500, 10_000


def sweep_when_due(tx: Tx) -> None:
    position = tx.one("ledger_position")
    if position is not None and tx.now - position["swept_at"] >= SWEEP_EVERY_MS:
        sweep(tx)


def sweep(tx: Tx, *, batch: Annotated[int, Arg("how much at once")] = BATCH) -> dict[str, Any]:
    if not 1 <= batch <= MOST:
        raise errors.BadInput(f"A batch of {batch} is out of range.", f"1 to {MOST}.")
    tx.run("sweep_begun")
    done = {
        "expired": _expire(tx, batch),
        "lapsed": _lapse(tx, batch),
        "stuck": _tell_stuck(tx),
        "removed": _remove_archived(tx, batch),
        "events": _remove_events(tx, batch),
    }
    tx.run("sweep_idempotency", before=tx.now - KEYS_KEPT_DAYS * DAY_MS)
    if any(done.values()):
        tx.event("swept", "system", counts=done)
    return done


def _expire(tx: Tx, batch: int) -> int:
    rows = tx.all("overdue", limit=batch)
    for row in rows:
        tx.run("expire_delivery", agent=row["agent"], message=row["n"])
        seq = tx.event("mail.expired", "system", target=row["name"], ref=row["id"])
        tx.run(
            "add_receipt",
            message=row["n"],
            agent=row["agent"],
            seq=seq,
            at=tx.wall,
            stage="expired",
            channel="",
            detail="",
        )
    return len(rows)


def _lapse(tx: Tx, batch: int) -> int:
    from . import held, holding  # most joins sweep nothing

    return held.settle_all(tx, batch) + holding.settle_all(tx, batch)


def _tell_stuck(tx: Tx) -> int:
    rows = tx.all("stuck_candidates", before=tx.now - tx.settings.ms("mesh.stuck_s"))
    told = 0
    for row in rows:
        agent = tx.find_agent(row["name"])
        if agent is not None and tx.liveness(agent) is presence.Liveness.LIVE:
            quiet = times.ago(tx.now - row["activity_at"])
            tx.event("stuck", row["name"], preview=f"silent for {quiet} with: {row['task']}")
            tx.run("told_stuck", session=row["id"])
            told += 1
    return told


def _remove_archived(tx: Tx, batch: int) -> int:
    """Never what is unread, in a conversation that goes on, or spoken of by an open escalation."""
    rows = tx.all("removable_messages", before=tx.now - tx.settings["retention.archive_days"] * DAY_MS, limit=batch)
    for row in rows:
        for query in ("remove_deliveries", "remove_receipts", "remove_message"):
            tx.run(query, n=row["n"])
    return len(rows)


def _remove_events(tx: Tx, batch: int) -> int:
    position = tx.one("ledger_position")
    assert position is not None
    boundary = tx.one(
        "sweep_boundary", horizon=position["horizon"], newest=position["seq"] - tx.settings["retention.events"],
        before=tx.wall - tx.settings["retention.days"] * DAY_MS, batch=batch * 10,
    )  # fmt: skip
    if boundary is None or boundary["upto"] is None:
        return 0
    removed = tx.run("sweep_events", upto=boundary["upto"], horizon=position["horizon"])
    tx.run("raise_horizon", upto=boundary["upto"])
    return removed


def stats(tx: Tx) -> dict[str, Any]:
    position = tx.one("ledger_position") or {"seq": 0, "horizon": 0}
    return {
        "team": tx.team,
        "events": position["seq"],
        "agents": len(tx.all("agent_names")),
        "deliveries": {row["state"]: row["times"] for row in tx.all("count_mail")},
        "types": {row["type"]: row["times"] for row in tx.all("count_types")},
        "senders": {row["name"]: row["times"] for row in tx.all("busiest_senders")},
    }


def health(tx: Tx) -> dict[str, Any]:
    """healthy, degraded (something wants a look) or unhealthy (something is failing)."""
    oldest = tx.one("oldest_waiting")
    states = {row["state"]: row["times"] for row in tx.all("count_mail")}
    live = [row for row in tx.all("present", everyone=0) if tx.liveness(row) is presence.Liveness.LIVE]
    gone = [row["name"] for row in tx.all("present", everyone=0) if tx.liveness(row) is not presence.Liveness.LIVE]
    concerns: list[dict[str, str]] = []
    if states.get("failed"):
        concerns.append({"what": f"failed messages: {states['failed']}", "do": "rook inbox --open shows yours"})
    if gone:
        concerns.append({"what": f"gone without leaving: {', '.join(gone[:5])}", "do": f"rook --as {gone[0]} leave"})
    if oldest and tx.now - oldest["created_at"] > DAY_MS:
        waited = times.ago(tx.now - oldest["created_at"])
        concerns.append(
            {"what": f"{oldest['id']} has waited {waited} for {oldest['name']}", "do": f"rook receipts {oldest['id']}"}
        )
    opened = tx.all("escalations", state="open", limit=100)
    if opened:
        concerns.append({"what": f"open escalations: {len(opened)}", "do": "rook escalate --list"})
    return {
        "status": "degraded" if concerns else "healthy", "team": tx.team, "live": len(live),
        "unread": states.get("unread", 0), "failed": states.get("failed", 0), "open_escalations": len(opened),
        "concerns": concerns,
    }  # fmt: skip
