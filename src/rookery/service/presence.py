"""Who is here: presence as it is computed when someone looks, never as it was once written."""

from collections.abc import Mapping
from typing import Annotated, Any

from rookery.core import names, presence, times
from rookery.store.port import Row

from . import cards
from .tx import REACHED, Tx
from .verbs import Arg

_UNSEEN: Row = {"phase": "", "gate": "", "finding": "", "cpu": None, "memory": None}


def who(
    tx: Tx,
    *,
    all: Annotated[bool, Arg("also those who left or are offline")] = False,
    here: Annotated[bool | None, Arg("only those who work in this folder")] = None,
) -> dict[str, Any]:
    """Dead sessions are seen as dead at once: the process is looked at, not the word it left."""
    scoped = tx.settings["mesh.scope_to_folder"] if here is None else here
    recent, vitals = _recent(tx), _vitals(tx)
    agents = [
        _card(tx, row, recent.get(row["id"], {}), vitals.get(row["id"])) for row in tx.all("present", everyone=int(all))
    ]
    if not all:
        agents = [card for card in agents if card["status"] != "offline"]
    if scoped:
        agents = [card for card in agents if card["cwd"] == tx.caller.cwd]
    return {"team": tx.team, "agents": agents, "scoped": bool(scoped)}


def whois(tx: Tx, name: Annotated[str, Arg("the agent", positional=True)]) -> dict[str, Any]:
    me = tx.me()
    agent = tx.find_agent(names.check_address(name))
    if agent is None:
        raise tx.unknown(name)
    card = seen(tx, agent)
    numbers = [
        row["n"]
        for pair in ((agent["id"], me["id"]), (me["id"], agent["id"]))
        for row in tx.all("exchange", agent=pair[0], sender=pair[1], limit=5)
    ]
    card["exchange"] = [cards.brief(tx, n) for n in sorted(set(numbers))[-5:]]
    card["ways"] = _ways(tx, agent)
    card["unread_by_sender"] = {row["name"]: row["waiting"] for row in tx.all("unread_by_sender", agent=agent["id"])}
    card["unread_from_them"] = next(
        (row["waiting"] for row in tx.all("unread_by_sender", agent=me["id"]) if row["name"] == agent["name"]), 0
    )
    return card


def _ways(tx: Tx, agent: Row) -> list[dict[str, Any]]:
    if not tx.flags & REACHED:
        return []
    from . import ways

    return ways.described(tx, agent)


def seen(tx: Tx, agent: Row) -> dict[str, Any]:
    """One agent as `who` shows it."""
    row = tx.one("present_one", agent=agent["id"])
    if row is None:
        return {"name": agent["name"], "status": "offline", "session": None}
    return _card(tx, row, _recent(tx).get(row["id"], {}), _vitals(tx).get(row["id"]))


def _vitals(tx: Tx) -> dict[int, Row]:
    """What hooks told of each session, and what was seen of it by whoever watches over this machine."""
    return {row["agent"]: row for row in tx.all("vitals_shown")}


def _recent(tx: Tx) -> dict[int, dict[str, int]]:
    counts: dict[int, dict[str, int]] = {}
    for row in tx.all("recent_activity", since=tx.now - tx.settings.ms("mesh.recent_s")):
        counts.setdefault(row["agent"], {})[row["kind"]] = row["times"]
    return counts


def thresholds(tx: Tx) -> presence.Thresholds:
    return presence.Thresholds(
        tx.settings.ms("mesh.active_s"), tx.settings.ms("mesh.idle_s"), tx.settings.ms("mesh.stuck_s")
    )


def _card(tx: Tx, row: Row, recent: Mapping[str, int], vitals: Row | None) -> dict[str, Any]:
    if row["session"] is None:
        return {"name": row["name"], "role": row["role"], "is_human": bool(row["is_human"]), "status": "offline",
                "live": False, "session": None, "cwd": "", "unread": row["unread"], "message": ""}  # fmt: skip
    verdict = tx.liveness(row)
    live = verdict is not None and presence.is_live(verdict)
    automatic = tx.settings["mesh.auto_status"] and live
    vitals = vitals or _UNSEEN
    said = row["note"] or (
        presence.auto_status(joined_at=row["joined_at"], now=tx.now, recent=recent) if automatic else ""
    )
    return {
        "name": row["name"], "role": row["role"], "is_human": bool(row["is_human"]),
        "status": presence.status(
            live=live, activity_at=row["activity_at"], now=tx.now, has_work=bool(row["task"]), thresholds=thresholds(tx)
        ),
        "live": live, "liveness": verdict.value if verdict else None, "message": said, "task": row["task"],
        "spec": row["spec"],
        "unread": row["unread"], "program": row["program"], "model": row["model"], "branch": row["branch"],
        "cwd": row["cwd"], "host": row["host"], "pid": row["pid"], "started": row["started"], "boot": row["boot"],
        "session": row["session"], "epoch": row["epoch"], "coordination": row["coordination"],
        "joined_ago_s": (tx.now - row["joined_at"]) // 1000, "active_ago_s": (tx.now - row["activity_at"]) // 1000,
        "last_activity": times.iso(tx.wall - (tx.now - row["activity_at"])),
        "stats": {"sent": row["sent"], "tool_calls": row["tool_calls"], "tokens": row["tokens"],
                  "files_modified": row["files_modified"]},
        "phase": vitals["phase"], "gate": vitals["gate"], "finding": vitals["finding"],
        "cpu": vitals["cpu"] if live else None, "memory": vitals["memory"] if live else None,
    }  # fmt: skip
