"""Upkeep: what expired is written down, what is past retention goes, and how well everything is.

Nothing has to run for this: a join sweeps when an hour has passed, a daemon on its own time. Reads never depend on it,
because they see lapsed things as lapsed. A sweep is one transaction that does a bounded amount of each kind, so any
number of processes may sweep: whoever comes second finds nothing left.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import errors, presence, times

from . import idempotency
from .tx import Tx
from .verbs import Arg
from .world import World

SWEEP_EVERY_MS = 3_600_000
DAY_MS = 86_400_000
ATTEMPTS_MS = 7 * DAY_MS
BATCH, MOST = 500, 10_000
LOOKED_AT = 2_000  # processes: a look is quick, and silent ones that live stay at the head of the list


def sweep_when_due(tx: Tx) -> None:
    position = tx.one("ledger_position")
    if position is not None and tx.now - position["swept_at"] >= SWEEP_EVERY_MS:
        sweep(tx)


def old_files(world: World, args: Mapping[str, Any]) -> dict[str, Any]:
    """Before the transaction: files on the shelf that are old enough to ask whether anything names them."""
    return {**args, "files": world.shelf.old(world.settings["artifacts.orphan_s"], BATCH)}


def sweep(
    tx: Tx,
    *,
    batch: Annotated[int, Arg("how much at once")] = BATCH,
    files: Annotated[list[str] | None, Arg("files that may belong to nothing", hidden=True)] = None,
) -> dict[str, Any]:
    if not 1 <= batch <= MOST:
        raise errors.BadInput(f"A batch of {batch} is out of range.", f"1 to {MOST}.")
    done = {
        "expired": _expire(tx, batch),
        "lapsed": _lapse(tx, batch),
        "sessions": _end_dead(tx, batch),
        "stuck": _tell_stuck(tx),
        "removed": len(removed := _remove_archived(tx, batch)),
        "events": _remove_events(tx, batch),
        "keys": tx.run("sweep_idempotency", upto=idempotency.oldest(tx), limit=batch),
        "programs": tx.run("store_drop_programs", host=tx.world.host, boot=tx.world.boot),
        "attempts": tx.run("sweep_attempts", before=tx.now - ATTEMPTS_MS, limit=batch),
        "files": _remove_orphans(tx, files or []),
        "runs": _remove_runs(tx, batch),
        "bundles": _remove_bundles(tx, batch),
        "evidence": _remove_evidence(tx, batch),
    }
    if max(done.values()) < batch:  # otherwise there is more, and the next one need not wait
        tx.run("sweep_ended")
    if any(done.values()):
        tx.event("swept", "system", counts=done, messages=removed)
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


def _end_dead(tx: Tx, batch: int) -> int:
    """Sessions whose process is gone from this machine end; what they held was given back before.

    Silence alone ends nobody: an agent elsewhere may think for long and then go on.
    """
    silent = tx.now - tx.settings.ms("mesh.lease_s")
    rows = tx.all("silent_sessions", host=tx.world.host, before=silent, limit=LOOKED_AT)
    dead = [row for row in rows if row["boot"] != tx.world.boot or tx.liveness(row) is presence.Liveness.DEAD][:batch]
    for row in dead:
        tx.run("end_session", session=row["session"], reason="died")
        tx.event("leave", row["name"], preview="its process is gone", session=row["session"])
    return len(dead)


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


def _remove_archived(tx: Tx, batch: int) -> list[str]:
    """Which messages went: never what is unread, in a conversation that goes on, or spoken of by an open escalation."""
    rows = tx.all("removable_messages", before=tx.now - tx.settings["retention.archive_days"] * DAY_MS, limit=batch)
    for row in rows:
        for query in ("remove_deliveries", "remove_receipts", "remove_message"):
            tx.run(query, n=row["n"])
    return [row["id"] for row in rows]


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


def _remove_orphans(tx: Tx, files: Sequence[str]) -> int:
    """Files that a crash left without a row, and those whose rows went. Most names are given once, so what is old and
    unknown stays unknown; one that is the hash of its content may be given again, and is not as old then."""
    orphans = [file for file in files if tx.one("named_file", file=file) is None]
    age_s = tx.settings["artifacts.orphan_s"]
    for file in orphans:
        tx.after.append(lambda _heard, file=file: tx.world.shelf.remove(file, age_s))
    return len(orphans)


def _remove_evidence(tx: Tx, batch: int) -> int:
    from . import evidence

    return evidence.let_go(tx, batch)


def _remove_runs(tx: Tx, batch: int) -> int:
    """What was kept of old runs of workers: rows now, and their files once that is certain."""
    rows = tx.all("old_runs", before=tx.now - tx.settings["worker.keep_runs_days"] * DAY_MS, limit=batch)
    for row in rows:
        tx.run("remove_artifact", n=row["n"])
        tx.after.append(lambda _heard, file=row["file"]: tx.world.shelf.remove(file))
    return len(rows)


def _remove_bundles(tx: Tx, batch: int) -> int:
    before = tx.now - tx.settings["bundles.keep_days"] * DAY_MS
    rows = tx.all("bundles_past", before=before, limit=batch)
    if rows:
        from . import bundles  # few sweeps find one

        bundles.forget(tx, rows)
    return len(rows)


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


def allow_whole(tx: Tx) -> dict[str, Any]:
    """Asked by commands that touch more than the ledger. Only the user passes the mark of such a verb."""
    return {"allowed": True, "by": tx.me()["name"]}
