"""Is everything well: one look at the ledger, and what a look at the machine said right before it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import health as law
from rookery.core import presence, times, vitals
from rookery.core.delivery import Circuit
from rookery.core.health import concern
from rookery.store.port import Row

from . import monitor
from .tx import REACHED, Tx
from .verbs import Arg
from .world import World

DAY_MS = 86_400_000
NAMED = 5  # agents in a line
MANY_TRIES = 10  # of one way, since it last worked
LOOK = 500


def look_around(world: World, args: Mapping[str, Any]) -> dict[str, Any]:
    """Before the transaction: what no ledger knows."""
    return {**args, "machine": world.machine.look()}


def health(
    tx: Tx, *, machine: Annotated[dict[str, Any] | None, Arg("what the machine is like", hidden=True)] = None
) -> dict[str, Any]:
    """healthy, degraded (something wants a look) or unhealthy (something is failing)."""
    around = machine or {}
    counts, concerns = _sessions(tx)
    retries, breakers = _retries(tx)
    mail = {row["state"]: row["times"] for row in tx.all("count_mail")}
    pending = _oldest(tx)
    buried = tx.one("counted_dead") or {"times": 0}
    opened = tx.all("escalations", state="open", limit=100)
    concerns += [
        *_of_mail(mail, pending, buried["times"], len(opened)), *_of_ways(retries, breakers),
        *_of_nobody(tx, around), *law.of_machine(around),
    ]  # fmt: skip
    return {
        "status": law.status(concerns).value, "team": tx.team, "live": counts["live"], "unread": mail.get("unread", 0),
        "failed": mail.get("failed", 0), "open_escalations": len(opened), "concerns": concerns, "sessions": counts,
        "retries": _told(tx, retries), "breakers": breakers, "dead_letters": buried["times"],
        "oldest_pending": pending, **law.shown(around),
    }  # fmt: skip


# -- sessions --------------------------------------------------------------------------------------------------------


def _sessions(tx: Tx) -> tuple[dict[str, int], list[law.Concern]]:
    """How many are how, and those that want a look."""
    found: dict[str, list[str]] = {}
    gone: list[str] = []
    live = 0
    for row in tx.all("present", everyone=0):
        is_live = tx.liveness(row) is presence.Liveness.LIVE
        live += is_live
        gone += [] if is_live else [row["name"]]
    for row in monitor.watched(tx):
        if row["ended_at"] is None and (finding := monitor.as_it_stands(tx, row)):
            found.setdefault(finding, []).append(row["name"])
    found.pop(vitals.Finding.DIED, None)  # counted among those that are gone, wherever they ran
    others = [each.value for each in vitals.FOUND if each is not vitals.Finding.DIED]
    counts = {"live": live, "dead": len(gone), **{name: len(found.get(name, ())) for name in others}}
    concerns = [
        concern(f"{finding}: {', '.join(names[:NAMED])}", f"rook whois {names[0]}") for finding, names in found.items()
    ]
    if gone:
        left = concern(f"gone without leaving: {', '.join(gone[:NAMED])}", f"rook --as {gone[0]} leave")
        concerns.insert(0, left)
    return counts, concerns


# -- mail ------------------------------------------------------------------------------------------------------------


def _oldest(tx: Tx) -> dict[str, Any] | None:
    row = tx.one("oldest_waiting")
    if row is None:
        return None
    return {"id": row["id"], "to": row["name"], "waited_s": max(0, tx.now - row["created_at"]) // 1000}


def _of_mail(mail: Mapping[str, int], pending: Mapping[str, Any] | None, dead: int, opened: int) -> list[law.Concern]:
    found: list[law.Concern] = []
    if mail.get("failed"):
        found.append(concern(f"failed messages: {mail['failed']}", "rook inbox --open shows yours"))
    if pending and pending["waited_s"] * 1000 > DAY_MS:
        waited = times.ago(pending["waited_s"] * 1000)
        what = f"{pending['id']} has waited {waited} for {pending['to']}"
        found.append(concern(what, f"rook receipts {pending['id']}"))
    if dead:
        found.append(concern(f"dead letters: {dead}", "rook dead"))
    if opened:
        found.append(concern(f"open escalations: {opened}", "rook escalate --list"))
    return found


# -- ways ------------------------------------------------------------------------------------------------------------


def _retries(tx: Tx) -> tuple[Sequence[Row], list[dict[str, Any]]]:
    """Ways that were tried in vain, and those of them that rest."""
    rows = tx.all("retrying", limit=LOOK) if tx.flags & REACHED else []
    breakers = [
        {"agent": row["name"], "channel": row["channel"], "failures": row["failures"], "reason": row["reason"],
         "state": Circuit(row["failures"], row["open_until"]).state(tx.now)}
        for row in rows if row["open_until"]
    ]  # fmt: skip
    return [row for row in rows if row["tries"]], breakers


def _told(tx: Tx, rows: Sequence[Row]) -> dict[str, Any]:
    """As seed 001 has it: how many tries in all, how many for whom, and since when."""
    by: dict[str, int] = {}
    for row in rows:
        by[row["name"]] = by.get(row["name"], 0) + row["tries"]
    oldest = min((row["oldest"] for row in rows if row["oldest"] is not None), default=None)
    return {
        "total": sum(by.values()),
        "bySession": by,
        "oldestRetry": times.iso(oldest) if oldest is not None else None,
    }


def _of_ways(retries: Sequence[Row], breakers: Sequence[Mapping[str, Any]]) -> list[law.Concern]:
    resting = [
        concern(f"{each['agent']}: {each['channel']} rests after {each['failures']} failures ({each['reason']})",
                f"rook wake {each['agent']}")
        for each in breakers[:NAMED]
    ]  # fmt: skip
    tired = [row for row in retries if row["tries"] >= MANY_TRIES and not row["open_until"]]
    return resting + [
        concern(f"{row['name']}: {row['tries']} tries in vain ({row['reason']})", f"rook whois {row['name']}")
        for row in tired[:NAMED]
    ]


def _of_nobody(tx: Tx, machine: Mapping[str, Any]) -> list[law.Concern]:
    """Mail for whoever could be woken, and nobody who wakes. Where no daemon was looked for, that is not known."""
    daemons = machine.get("daemons")
    if daemons is None or any(each["state"] == "running" for each in daemons) or not tx.flags & REACHED:
        return []
    waiting = [row["name"] for row in tx.all("reachable", agent=0, limit=LOOK)]
    if not waiting:
        return []
    return [concern(f"mail waits for {', '.join(waiting[:NAMED])}, and no daemon delivers it", "rook up --detach")]
