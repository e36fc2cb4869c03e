"""The log of what was decided, by whom, on what, and how long it was waited for; and what nobody decided in time.

A decision is written in the transaction of its effect or not at all (H37). It is only ever added to. Debt is a result
or a failure that was put away before anybody judged it; whoever judges it after all has paid it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import docket, names, text, times, workers
from rookery.core.docket import Standing
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from . import deliverables, items
from .mailbox import checked_limit
from .tx import Tx
from .verbs import Arg

PREFIX = "decision-"
WINDOW_MS = 7 * 86_400_000
SAID = 2_000
COUNTED = 100_000


class Decided(NamedTuple):
    """What was decided, about exactly what."""

    verb: str
    subject: str
    worker: str = ""
    task: str = ""
    head: str = ""
    choice: str = ""
    said: str = ""
    evidence: Sequence[str] = ()
    effect: Mapping[str, Any] = {}
    rule: str = ""


def record(tx: Tx, decided: Decided, item: Row | None = None) -> str:
    """With its effect, in one transaction; its id."""
    me = tx.me()
    number = tx.one("raise_counter", name="decision")
    assert number is not None
    id = f"{PREFIX}{number['value']:04d}"
    said = decided._replace(said=decided.said[:SAID])._asdict()
    tx.run(
        "new_decision", n=number["value"], id=id, actor=me["id"], item=item["id"] if item else "",
        risk=docket.risk_name(item["risk"]) if item else "", waited_ms=tx.now - item["created_at"] if item else 0,
        at=tx.wall, **(said | {"evidence": json.dumps(list(decided.evidence)), "effect": json.dumps(decided.effect)}),
    )  # fmt: skip
    if decided.worker:
        tx.run("judged_worker", id=decided.worker)
        tx.run("paid", worker=decided.worker)
    preview = f"{decided.verb} {decided.subject}{f' by {decided.rule}' if decided.rule else ''}"
    tx.event("decision", me["name"], target=decided.worker, ref=id, preview=preview, subject=decided.subject,
             verb=decided.verb, task=decided.task, rule=decided.rule)  # fmt: skip
    return id


def about(tx: Tx, decided: Decided) -> str:
    """By a verb that is no verdict and decides all the same: an answer, a review, a landing by hand."""
    return record(tx, decided, tx.one("item_of_subject", subject=decided.subject))


# -- debt ------------------------------------------------------------------------------------------------------------


def owe(tx: Tx, worker: Row) -> None:
    """It leaves the list: what of it nobody has judged is counted. It can still be judged."""
    for row in tx.all("deliverables_of_worker", worker=worker["id"], limit=20):
        if row["state"] == Standing.OPEN and _is_asked(tx, docket.result_of(row["worker"], row["version"])):
            _owed(tx, worker, row["version"], row["summary"])
    failed = worker["report"] != workers.Report.DONE and worker["runs"]
    if failed and _is_asked(tx, docket.run_of(worker["id"], worker["runs"])):
        _owed(tx, worker, 0, worker["summary"] or "it ended without a report")


def _is_asked(tx: Tx, subject: str) -> bool:
    item = tx.one("item_of_subject", subject=subject)
    return item is not None and item["state"] == "open"


def _owed(tx: Tx, worker: Row, version: int, summary: str) -> None:
    if tx.run("owe", worker=worker["id"], version=version, task=worker["task"], summary=text.one_line(summary, 300),
              at=tx.wall):  # fmt: skip
        what = docket.result_of(worker["id"], version) if version else worker["id"]
        tx.event("debt", names.SYSTEM, target=worker["name"], ref=worker["id"], preview=f"nobody judged {what}")


def forgotten(tx: Tx, worker: Row) -> None:
    """It goes for good, and with it whatever was asked about it."""
    owe(tx, worker)
    for row in tx.all("deliverables_of_worker", worker=worker["id"], limit=20):
        if row["state"] == Standing.OPEN:
            deliverables.settle(tx, row, Standing.UNJUDGED)
    for item in tx.all("items_of_worker", worker=worker["id"], limit=100):
        tx.run("close_review_item", item=item["id"])
    items.close(tx, worker["id"])


def debt(tx: Tx, *, limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None) -> dict[str, Any]:
    """Results and failures that were put away unjudged, the oldest first."""
    rows = tx.all("debts", limit=checked_limit(limit, 100))
    counted = tx.one("debt_counted")
    return {
        "count": counted["times"] if counted else 0,
        "debt": [
            {"worker": row["worker"], "subject": docket.result_of(row["worker"], row["version"]) if row["version"] else
             row["worker"], "task": row["task"] or None, "summary": row["summary"], "at": times.iso(row["at"])}
            for row in rows
        ],
    }  # fmt: skip


# -- looking ---------------------------------------------------------------------------------------------------------


def listed(
    tx: Tx,
    *,
    worker: Annotated[str, Arg("only about this worker", flag="-w")] = "",
    window: Annotated[int | None, Arg("only of the last so long: 12h, 7d", kind="span", metavar="SPAN")] = None,
    after: Annotated[int, Arg("only after this number, oldest first", hidden=True)] = -1,
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    most, since = checked_limit(limit, 50), tx.now - window if window is not None else 0
    if worker:
        rows = tx.all("decisions_of_worker", worker=worker, limit=most)
    elif after >= 0:
        rows = tx.all("decisions_in_order", after=after, since=since, limit=most)
    else:
        rows = tx.all("decisions", after=0, since=since, limit=most)
    return {"decisions": [card(row) for row in rows]}


def summary(
    tx: Tx, *, window: Annotated[int | None, Arg("the last so long: 12h, 7d (default 7d)", kind="span")] = None
) -> dict[str, Any]:
    """What was decided over a window: how often, by whom, how quickly; and what is owed."""
    span = WINDOW_MS if window is None else window
    rows = tx.all("decisions_counted", since=tx.now - span)
    waits = [row["waited_ms"] for row in tx.all("waits_before_decisions", since=tx.now - span, limit=COUNTED)]
    owed = tx.one("debt_counted")
    return {
        "windowMs": span, "count": sum(row["times"] for row in rows), "verbs": _summed(rows, "verb"),
        "actors": _summed(rows, "by"), "rules": _summed([row for row in rows if row["rule"]], "rule"),
        "risks": _summed([row for row in rows if row["risk"]], "risk"), "automatic": _automatic(rows),
        "medianMs": waits[len(waits) // 2] if waits else 0, "longestMs": waits[-1] if waits else 0,
        "debt": owed["times"] if owed else 0,
    }  # fmt: skip


def _summed(rows: Sequence[Row], by: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        found[row[by] or ""] = found.get(row[by] or "", 0) + row["times"]
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def _automatic(rows: Sequence[Row]) -> int:
    return sum(row["times"] for row in rows if row["rule"])


def card(row: Row) -> dict[str, Any]:
    return {
        "id": row["id"], "n": row["n"], "verb": row["verb"], "by": row["by"] or "", "rule": row["rule"],
        "subject": row["subject"], "item": row["item"], "worker": row["worker"] or None, "task": row["task"] or None,
        "head": row["head"], "option": row["choice"], "said": row["said"], "risk": row["risk"],
        "evidence": json.loads(row["evidence"]), "effect": json.loads(row["effect"]), "waitedMs": row["waited_ms"],
        "at": times.iso(row["at"]),
    }  # fmt: skip
