"""Search: artifacts, messages, tasks and decisions of this team, by their words. Nothing of another team is looked at.

Of artifacts the newest that match are ranked, by their words, by what they are, and by whether they failed or were
pinned. Mail is the caller's own; the user finds all of it.
"""

import json
from typing import Annotated, Any

from rookery.core import errors, text, times
from rookery.core import evidence as law
from rookery.core import search as searching
from rookery.store.port import Row

from . import evidence
from .mailbox import checked_limit, found_in_mail
from .tx import Tx
from .verbs import Arg

PLACES = ("artifacts", "messages", "tasks", "decisions")
LOOKED_AT = 2_000  # artifacts that match, newest first
COLUMNS = "title body"


def search(
    tx: Tx,
    query: Annotated[list[str], Arg('words, "a phrase" or a prefix*', positional=True, metavar="QUERY")],
    *,
    places: Annotated[
        list[str] | None, Arg(f"only there: {', '.join(PLACES)} (repeatable, or with commas)", flag="--in")
    ] = None,
    kind: Annotated[str, Arg("only artifacts of this kind", flag="-k", choices=("", *law.KINDS))] = "",
    worker: Annotated[str, Arg("only what this worker did", flag="-w")] = "",
    task: Annotated[str, Arg("only of this task", flag="-t")] = "",
    failed: Annotated[bool, Arg("only artifacts that did not succeed")] = False,
    since: Annotated[int | None, Arg("only newer: 2h ago as 2h, or a time", kind="past")] = None,
    everyone: Annotated[bool, Arg("the whole team's mail, for the user only")] = False,
    limit: Annotated[int | None, Arg("how many of each at most", flag="-n")] = None,
) -> dict[str, Any]:
    """A filter that only some of the four know leaves the others out."""
    terms = searching.parse(" ".join(query))
    most = checked_limit(limit, 20)
    if kind:
        law.check_kind(kind)
    if worker:
        from . import workers

        worker = workers.find(tx, worker)["id"]
    inside = _inside(places, kind=bool(kind or failed), work=bool(worker or task), since=since is not None)
    match = tx.match(terms, COLUMNS)
    asked = {"match": match, "since": since or 0, "limit": most}
    of = {"worker": worker, "task": task}
    found: dict[str, Any] = {"query": " ".join(query)} | {place: [] for place in PLACES}
    if "artifacts" in inside:
        found["artifacts"] = _artifacts(tx, terms, asked | of | {"kind": kind, "failed": int(failed)})
    if "messages" in inside:
        found["messages"] = found_in_mail(tx, terms, everyone, most)
    if "tasks" in inside:
        found["tasks"] = _tasks(tx, terms, asked)
    if "decisions" in inside:
        found["decisions"] = _decisions(tx, terms, asked | of)
    return found


def _inside(places: list[str] | None, *, kind: bool, work: bool, since: bool) -> set[str]:
    asked = [word for each in places or PLACES for word in each.split(",") if word]
    for word in asked:
        if word not in PLACES:
            raise errors.BadInput(f"Nothing is searched in {text.quoted(word)}.", f"One of: {', '.join(PLACES)}.")
    known = {"artifacts"} if kind else {"artifacts", "decisions"} if work else {*PLACES}
    return {word for word in asked if word in known and not (since and word == "messages")}


def _artifacts(tx: Tx, terms: list[searching.Term], asked: dict[str, Any]) -> list[dict[str, Any]]:
    rows = tx.all(
        "search_evidence", weights=json.dumps(dict(law.WEIGHTS)), failed_weight=law.FAILED_WEIGHT,
        pinned_weight=law.PINNED_WEIGHT, looked=LOOKED_AT, **asked,
    )  # fmt: skip
    hits: list[dict[str, Any]] = []
    for row in rows:
        piece = tx.one("evidence_by_number", n=row["n"])
        if piece is not None:
            shown = searching.snippet(f"{piece['title']}\n{piece['body']}", terms)
            hits.append(evidence.card(piece) | {"snippet": shown, "rank": round(row["rank"], 4)})
    return hits


def _came(result: str) -> str:
    """What came of a task, in the words that were said."""
    told: dict[str, Any] = json.loads(result or "{}")
    shown: dict[str, Any] = told.get("evidence") or {}
    words = [told.get("summary"), told.get("error"), *(each for part in shown.values() for each in part or ())]
    return " ".join(each for each in words if isinstance(each, str))


def _tasks(tx: Tx, terms: list[searching.Term], asked: dict[str, Any]) -> list[dict[str, Any]]:
    def said(row: Row) -> str:
        return f"{row['title']} {row['description']} {row['why']} {_came(row['result'])}"

    return [
        {
            "id": row["id"], "title": row["title"], "status": row["status"], "at": times.iso(row["at"]),
            "snippet": searching.snippet(said(row), terms), "rank": round(row["rank"], 4),
        }
        for row in tx.all("search_tasks", **asked)
    ]  # fmt: skip


def _decisions(tx: Tx, terms: list[searching.Term], asked: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": row["id"], "verb": row["verb"], "subject": row["subject"], "by": row["actor_name"],
            "at": times.iso(row["at"]), "rank": round(row["rank"], 4),
            "snippet": searching.snippet(f"{row['choice']} {row['said']} {row['rule']}".strip(), terms),
        }
        for row in tx.all("search_decisions", **asked)
    ]  # fmt: skip
