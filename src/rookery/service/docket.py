"""The docket: what needs somebody, in order; and the card of one item, with all that is needed to decide.

Everything that is shown was written down before: a look computes nothing and is bounded, however much there is. A
transcript is never shown. What a card is of is its `subject`, and a verdict has to name that (`verdicts.py`).
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from rookery.core import docket, errors, text, times, workers
from rookery.core.docket import About, Action, Matter, Rank, Subject
from rookery.core.protocol import Outcome
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from . import conflicts, decisions, deliverables
from . import questions as asking
from . import workers as working
from .mailbox import checked_limit
from .tx import Tx
from .verbs import Arg

SHOWN = 50
RECENT = 5
LATELY_MS = 3_600_000
FILES, LINES, TAIL, SUMMARY, QUESTION = 20, 10, 15, 4_000, 4_000
Named = Annotated[
    str, Arg("what is judged: w3/q1, w3/x2, w3/2, e3, item-...; or a worker", positional=True, metavar="SUBJECT")
]


class Item(NamedTuple):
    """One item with what it is about, read once."""

    row: Row
    subject: Subject
    matter: Matter
    worker: Row | None
    question: Row | None = None
    result: Row | None = None

    @property
    def is_open(self) -> bool:
        return self.row["state"] == "open"


# -- the queue -------------------------------------------------------------------------------------------------------


def queue(
    tx: Tx,
    *,
    all: Annotated[bool, Arg("also what others are asked")] = False,
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    """What is asked of the caller: what comes first first."""
    me, most = tx.me(), checked_limit(limit, SHOWN)
    all = all or not me["id"]  # nobody is asked anything: it looks at the whole docket
    rows = tx.all("docket_open", of=0 if all else me["id"], limit=most)
    counted = tx.all("docket_counted", of=me["id"])
    recent = tx.all("decisions", after=0, since=0, limit=RECENT)
    owed = tx.one("debt_counted")
    return {
        "of": me["name"], "items": [line(tx, row) for row in rows],
        "waiting": sum(row["times"] if all else row["mine"] or 0 for row in counted),
        "others": 0 if all else sum(row["times"] - (row["mine"] or 0) for row in counted),
        "counts": {docket.Rank(row["rank"]).name.lower(): row["times"] if all else row["mine"] or 0 for row in counted},
        "lately": _lately(tx), "recent": [decisions.card(row) for row in recent], "debt": owed["times"] if owed else 0,
    }  # fmt: skip


def _lately(tx: Tx) -> list[dict[str, Any]]:
    """What failed and what was changed just now, newest first: it asks nobody anything unless somebody pins it."""
    more = {"since": tx.wall - LATELY_MS, "form": "", "limit": RECENT}
    failed = tx.all("evidence_that_failed", kind="", **more)
    edited = tx.all("evidence_of_kind", kind="edit", **more)
    found = [*((Rank.ERROR, row) for row in failed), *((Rank.FILE, row) for row in edited if not row["failed"])]
    return [
        {"id": row["id"], "rank": rank.name.lower(), "kind": row["kind"], "title": row["title"],
         "worker": row["worker"] or None, "by": row["agent_name"], "at": times.iso(row["at"])}
        for rank, row in found if not row["pinned"]
    ]  # fmt: skip


def line(tx: Tx, row: Row) -> dict[str, Any]:
    """An item in a line: what is asked, and what happens if nobody answers."""
    return {
        "subject": row["subject"] or row["id"], "item": row["id"], "rank": docket.Rank(row["rank"]).name.lower(),
        "kind": row["kind"], "ref": row["ref"], "worker": row["worker"] or None, "title": row["title"],
        "otherwise": row["otherwise"], "risk": docket.risk_name(row["risk"]), "pinned": bool(row["pinned"]),
        "askedOf": row["decider"] or "", "askedBy": row["asker"] or "", "ageMs": max(0, tx.now - row["created_at"]),
        "at": times.iso(row["at"]),
    }  # fmt: skip


def pin(tx: Tx, subject: Named, *, off: Annotated[bool, Arg("no longer")] = False) -> dict[str, Any]:
    """Before all others; nothing is decided by it."""
    found = find(tx, subject)
    if not found.is_open:
        raise docket.stale(subject, "is not asked any more", "", None)
    changed = bool(tx.run("pin_item", id=found.row["id"], pinned=int(not off)))
    tx.beat()
    return {"subject": found.row["subject"], "pinned": not off, "changed": changed}


# -- finding ---------------------------------------------------------------------------------------------------------


def find(tx: Tx, written: str) -> Item:
    """The item that a word names. A worker's name stands for what is asked about it first."""
    named = docket.subject(written)
    if not named.is_exact:
        return _about_worker(tx, named)
    worker = _worker_id(tx, named)
    exact = named.text if not worker else f"{worker}/{named.text.partition('/')[2]}"
    row = tx.one("item", id=exact) if named.about is About.ITEM else tx.one("item_of_subject", subject=exact)
    if row is None:
        row = _unasked(tx, named._replace(text=exact, worker=worker))
    return whole(tx, row)


def _worker_id(tx: Tx, named: Subject) -> str:
    """`ada/2` is `w3/2`; one that is forgotten is still known by its number."""
    if not named.worker or docket.subject(named.worker).about is About.WORKER:
        return named.worker
    return working.find(tx, named.worker)["id"]


def _about_worker(tx: Tx, named: Subject) -> Item:
    question = tx.one("question", id=named.text) if named.text.startswith(docket.QUESTION) else None
    if question is not None and (row := tx.one("item", id=question["item"])) is not None:
        return whole(tx, row)
    worker = working.find(tx, named.text)
    rows = tx.all("items_of_worker", worker=worker["id"], limit=1)
    if rows:
        return whole(tx, rows[0])
    last = tx.one("last_version", worker=worker["id"])
    if last is None:
        raise nothing_asked(worker["id"], worker["name"])
    return whole(tx, _unasked(tx, docket.subject(docket.result_of(worker["id"], last["version"]))))


def nothing_asked(id: str, name: str) -> errors.Refused:
    return errors.Refused(
        f"Nothing is asked about {id} ({name}), and it has reported nothing.",
        f"`rook worker show {id}` tells how it is.", code="NOTHING_ASKED",
    )  # fmt: skip


def _unasked(tx: Tx, named: Subject) -> Row:
    """A result that nobody was asked about: a rule or a reviewer decided, or it landed by itself."""
    if named.about is not About.RESULT:
        raise docket.unknown(named.text)
    row = deliverables.find(tx, named.worker, named.number)
    return {
        "id": "", "subject": named.text, "worker": row["worker"], "kind": "result", "ref": row["task"] or row["worker"],
        "title": text.one_line(row["summary"], 200), "detail": "", "otherwise": "", "state": "resolved", "pinned": 0,
        "rank": int(docket.Rank.CHANGE if row["change"] else docket.Rank.READY), "risk": 0, "asked_of": 0,
        "decider": "", "asker": row["author"], "created_at": row["created_at"], "at": row["at"], "closed_at": None,
    }  # fmt: skip


def whole(tx: Tx, row: Row) -> Item:
    named = docket.subject(row["subject"] or row["id"])
    worker = tx.one("worker_card", id=row["worker"]) if row["worker"] else None
    question = result = None
    if named.about is About.QUESTION:
        known = tx.one("question_of_item", worker=row["worker"], item=row["id"])
        question = tx.one("question", id=known["id"]) if known else None
    elif named.about is About.RESULT:
        result = deliverables.find(tx, row["worker"], named.number)
    matter = docket.matter(named.about, row["ref"], row["rank"], plan=bool(question and question["kind"] == "plan"))
    return Item(row, named, matter, worker, question, result)


def lives(found: Item) -> bool:
    return found.worker is not None and found.worker["state"] != workers.State.ENDED


def actions(found: Item) -> tuple[Action, ...]:
    if not found.is_open:
        return ()
    can = docket.allowed(found.matter, lives=lives(found) or found.matter is Matter.SESSION)
    if found.matter is Matter.CHANGE and found.result is not None and found.result["outcome"] != Outcome.COMPLETED:
        can = (Action.ACCEPT, *can)  # what was found out is good, and what was tried for it need not land
    return tuple(
        each for each in can if each is not Action.RETRY or found.worker is not None or not found.row["worker"]
    )


# -- the card --------------------------------------------------------------------------------------------------------


def card(tx: Tx, subject: Named) -> dict[str, Any]:
    return shown(tx, find(tx, subject))


def shown(tx: Tx, found: Item) -> dict[str, Any]:
    """All that is needed to decide, and a bounded piece of each."""
    row, result = found.row, found.result
    last = tx.one("last_decision_of", subject=found.subject.text)
    return {
        **line(tx, row), "matter": found.matter, "state": _state(found), "detail": text.cut(row["detail"], SUMMARY)[0],
        "worker": row["worker"] or None, "about": _about(tx, found.worker), "question": _question(tx, found.question),
        "result": _result(result), "change": _change(tx, result["change"]) if result else None,
        "conflicts": conflicts.of_change(tx, result["change"], LINES) if result and result["change"] else [],
        "checks": json.loads(result["checks"]) if result else [], "evidence": _evidence(tx, found),
        "budget": _budget(tx, found.worker), "tail": _tail(found),
        "actions": [_action(found, each) for each in actions(found)],
        "decision": decisions.card(last) if last else None, "earlier": _earlier(tx, row["worker"], last),
    }  # fmt: skip


def _state(found: Item) -> str:
    if found.is_open:
        return "open"
    if found.result is not None:
        return found.result["state"]
    return found.question["state"] if found.question is not None else "resolved"


def _about(tx: Tx, row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    known = working.facts(row)
    return {
        "id": row["id"], "name": row["name"], "kind": row["kind"], "host": row["host"], "model": row["model"],
        "status": workers.shown(known), "task": row["task"] or None, "title": row["title"],
        "crew": row["crew"] or None, "run": row["run_n"], "ending": row["ending"], "exitCode": row["exit_code"],
    }  # fmt: skip


def _question(tx: Tx, row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    told = asking.show(tx, row["id"])
    return told | {"question": text.cut(told["question"], QUESTION)[0],
                   "recommendation": text.cut(told["recommendation"], QUESTION)[0]}  # fmt: skip


def _result(row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    told = deliverables.card(row)
    del told["checks"], told["evidence"]
    return told | {"summary": text.cut(row["summary"], SUMMARY)[0], "cut": len(row["summary"]) > SUMMARY}


def _change(tx: Tx, id: str) -> dict[str, Any] | None:
    row = tx.one("change", id=id) if id else None
    if row is None:
        return None
    lands = tx.one("last_landing_of_change", change=id)
    files: list[dict[str, Any]] = json.loads(row["files"])
    behind = tx.one("landed_since", root=row["root"] or "", branch=row["branch"], since=row["at"], change=id)
    return {
        "id": row["id"], "base": row["base"], "head": row["head"], "branch": row["branch"], "paths": row["paths"],
        "added": row["added"], "removed": row["removed"], "files": files[:FILES], "patch": row["patch"],
        "behind": behind["times"] if behind else 0, "landing": dict(lands) if lands else None,
    }  # fmt: skip


def _evidence(tx: Tx, found: Item) -> list[dict[str, Any]]:
    """What stands behind it: what was recorded of its run, and what it names itself."""
    run = found.result["run"] if found.result else found.worker["run"] if found.worker else ""
    rows = tx.all("evidence_lines_of", worker=found.row["worker"], run=run, limit=LINES) if run else []
    told = [{"ref": row["id"], "kind": row["kind"], "title": text.one_line(row["title"], 120),
             "failed": bool(row["failed"])} for row in rows]  # fmt: skip
    known = {each["ref"] for each in told}
    named: Sequence[str] = json.loads(found.result["evidence"]) if found.result else ()
    more = [{"ref": text.one_line(each, 120), "kind": "named", "title": "", "failed": False} for each in named]
    return (told + [each for each in more if each["ref"] not in known])[: 2 * LINES]


def refs(tx: Tx, found: Item) -> list[str]:
    """What stood on the card, for the log."""
    return [each["ref"] for each in _evidence(tx, found)]


def _budget(tx: Tx, worker: Row | None) -> dict[str, Any] | None:
    if worker is None:
        return None
    used = tx.one("used_by_worker", worker=worker["id"])
    task = tx.one("task_hold", id=worker["task"]) if worker["task"] else None
    assert used is not None
    ms = used["until"] - used["since"] if used["since"] is not None else 0
    return {"input": used["input"], "output": used["output"], "runs": used["runs"], "ms": max(0, ms),
            "maxTokens": task["max_tokens"] if task else None}  # fmt: skip


def _tail(found: Item) -> list[str]:
    """The last lines of a program that failed. What a worker at work shows is for `rook peek`."""
    if found.matter is not Matter.RUN or found.worker is None:
        return []
    lines = text.plain(found.worker["tail"]).strip().splitlines()[-TAIL:]
    return [text.one_line(each, 200) for each in lines]


def _action(found: Item, action: Action) -> dict[str, Any]:
    terms = docket.TERMS[action]
    wants = {docket.Needs.WORDS: " TEXT", docket.Needs.ANSWER: " TEXT", docket.Needs.MAY: " [TEXT]"}
    return {"action": action, "needs": terms.needs, "destructive": terms.destructive, "help": terms.help,
            "command": f"rook verdict {found.subject.text} {action}{wants.get(terms.needs, '')}"}  # fmt: skip


def _earlier(tx: Tx, worker: str, last: Row | None) -> list[dict[str, Any]]:
    rows = tx.all("decisions_of_worker", worker=worker, limit=RECENT + 1) if worker else []
    return [decisions.card(row) for row in rows if last is None or row["id"] != last["id"]][:RECENT]
