"""Readers of the ledger: the feed for people, the events for programs."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

from rookery.core import errors, names, text, times
from rookery.core import feed as words
from rookery.store.port import Row

from .tx import Tx
from .verbs import Arg

PAGE = 500
# A rare type may lie far back. The feed looks this far and says so, instead of reading a whole history.
LOOK_BACK = 20_000
MAX_EVENTS = 10_000


def feed(
    tx: Tx,
    *,
    types: Annotated[list[str] | None, Arg("only this type (repeatable)", flag="--type")] = None,
    agent: Annotated[str, Arg("only what this agent did or what concerns it")] = "",
    since: Annotated[int | None, Arg("only newer: 2h ago as 2h, or a time", kind="past")] = None,
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    count = tx.settings["feed.limit"] if limit is None else limit
    if not 1 <= count <= MAX_EVENTS:
        raise errors.BadInput(f"A limit of {count} is out of range.", f"1 to {MAX_EVENTS}.")
    shown = _types(tx, types or [])
    if agent:
        names.check_address(agent)
    position = tx.one("ledger_position") or {"seq": 0, "horizon": 0}
    floor = max(0, position["seq"] - LOOK_BACK)
    found: list[Row] = []
    for row in _backwards(tx, position["seq"] + 1, floor):
        if since is not None and row["at"] < since:
            break
        if row["type"] in shown and (not agent or words.concerns(row["actor"], row["target"], agent)):
            found.append(row)
            if len(found) == count:
                break
    return {"team": tx.team, "events": [event(row) for row in reversed(found)], "cursor": position["seq"]}


def _types(tx: Tx, asked: list[str]) -> frozenset[str]:
    for word in asked:
        known = (*words.FEED, *words.TASKS_MORE, *words.GUARD_MORE, *words.TEAM, *words.LEDGER)
        if word not in known:
            near = names.did_you_mean(word, known) or f"One of: {', '.join(known)}."
            raise errors.BadInput(f"No event type {text.one_line(word, 40)!r}.", near)
    return frozenset(asked or words.shown(crew_events=tx.settings["feed.crew_events"]))


def _backwards(tx: Tx, before: int, floor: int) -> Iterator[Row]:
    while before > floor + 1:
        rows = tx.all("events_newest", before=before, floor=floor, limit=PAGE)
        yield from rows
        if len(rows) < PAGE:
            return
        before = rows[-1]["seq"]


def events(
    tx: Tx,
    *,
    after: Annotated[int, Arg("the cursor: the last event number you have seen")] = 0,
    limit: Annotated[int, Arg("how many at most", flag="-n")] = 500,
) -> dict[str, Any]:
    if not 1 <= limit <= MAX_EVENTS or after < 0:
        raise errors.BadInput("A cursor is not negative, and a limit is 1 to 10000.", "Start with --after 0.")
    position = tx.one("ledger_position") or {"seq": 0, "horizon": 0}
    if after and after < position["horizon"]:
        raise errors.CursorTooOld(
            f"Events up to {position['horizon']} may be gone; your cursor is {after}.",
            f"Go on from --after {position['horizon']}, or start over with --after 0 for what is left.",
            horizon=position["horizon"],
        )
    rows = tx.all("events_after", cursor=after, limit=limit)
    return {
        "events": [event(row) for row in rows],
        "cursor": rows[-1]["seq"] if rows else after,
        "newest": position["seq"],
        "horizon": position["horizon"],
    }


def event(row: Row) -> dict[str, Any]:
    return {
        "seq": row["seq"], "at": times.iso(row["at"]), "type": row["type"], "actor": row["actor"],
        "target": row["target"], "ref": row["ref"], "preview": row["preview"], "data": json.loads(row["data"]),
        "caller": json.loads(row["caller"]),
    }  # fmt: skip
