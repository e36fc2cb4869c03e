"""Deliverables: what a worker reported, as numbered versions that are never written again.

A version is numbered and written in the transaction of the report, which a worker can make once (`settle_report`); the
team is locked, so no two get one number. Its file is a product: written after the commit, whole, under a name that says
which version it is, and made again when it is missing. What lies there and is not that version is told and left alone.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import docket, errors, protocol, text, times
from rookery.core.docket import About, Standing
from rookery.store.port import Row

from . import items
from .mailbox import checked_limit
from .tx import Tx
from .verbs import Arg

FOLDER = "deliverables"
CHECKS, REFS = 20, 50
SAID = ("worker", "version", "task", "epoch", "run", "agent", "outcome", "summary", "change", "head", "evidence",
        "checks", "provenance")  # fmt: skip
_PARTS = ("evidence", "checks", "provenance")


# -- a report --------------------------------------------------------------------------------------------------------


def write(tx: Tx, worker: Row, said: protocol.Result, change: str, epoch: int) -> Row:
    """The next version, with everything that is known of it now. Those before it, for the same task, are no longer
    what is judged."""
    made = tx.one("change", id=change) if change else None
    checks = [*recorded(tx, worker), *(_claimed(each) for each in said.evidence.tests)]
    last = tx.one("last_version", worker=worker["id"])
    version = (last["version"] if last else 0) + 1
    values: dict[str, Any] = {
        "worker": worker["id"], "version": version, "task": worker["task"], "epoch": epoch, "run": worker["run"],
        "agent": worker["agent"], "outcome": said.outcome, "summary": said.summary, "change": change,
        "head": made["head"] if made else "", "evidence": _refs(said, checks), "checks": checks,
        "provenance": _provenance(tx, worker, made),
    }  # fmt: skip
    supersede(tx, worker["id"], worker["task"])
    written = {name: json.dumps(value) if name in _PARTS else value for name, value in values.items()}
    tx.run("new_deliverable", digest=digest(values), file=_file(tx, worker["id"], version), at=tx.wall, **written)
    row = find(tx, worker["id"], version)
    tx.after.append(lambda _heard: _made(tx, row))
    return row


def recorded(tx: Tx, worker: Row) -> list[dict[str, Any]]:
    """The last recorded run of each test command in this run of the worker, with what really came of it."""
    edited = tx.one("edited_after", worker=worker["id"], run=worker["run"])
    last_edit = (edited["n"] or 0) if edited else 0
    found: dict[str, dict[str, Any]] = {}
    for row in tx.all("test_runs_of", worker=worker["id"], run=worker["run"], limit=200):
        told = json.loads(row["data"])
        command = str(told.get("command") or row["title"])
        if command not in found and len(found) < CHECKS:
            counts = {
                name: told[name] for name in ("passed", "failed", "skipped", "errors") if type(told.get(name)) is int
            }
            found[command] = {"command": text.one_line(command, 200), "passed": not row["failed"], "claimed": False,
                              "stale": row["n"] < last_edit, "ref": row["id"], "counts": counts}  # fmt: skip
    return list(found.values())


def _claimed(written: str) -> dict[str, Any]:
    """What a worker says of a test run is shown as that, and never as a check that passed."""
    command, _, came = written.rpartition(": ")
    return {"command": text.one_line(command, 200), "said": text.one_line(came, 200), "claimed": True, "ref": ""}


def checks_of(row: Row) -> list[docket.Check]:
    """Those that were recorded."""
    told: list[dict[str, Any]] = json.loads(row["checks"])
    return [docket.Check(each["command"], each["passed"], each["stale"]) for each in told if not each["claimed"]]


def _refs(said: protocol.Result, checks: Sequence[Mapping[str, Any]]) -> list[str]:
    shown = said.evidence
    named = [*(each["ref"] for each in checks if each["ref"]), *shown.artifacts, *shown.commits, *shown.files]
    return list(dict.fromkeys(named))[:REFS]


def _provenance(tx: Tx, worker: Row, change: Row | None) -> dict[str, Any]:
    used = tx.one("used_by_worker", worker=worker["id"])
    run = tx.one("run", id=worker["run"])
    assert used is not None
    return {
        "kind": worker["kind"], "host": worker["host"], "machine": worker["machine"],
        "model": (run["model"] if run else "") or worker["model"], "base": change["base"] if change else worker["base"],
        "patch": change["patch"] if change else "", "tokens": {"input": used["input"], "output": used["output"]},
        "runs": used["runs"], "ms": tx.now - used["since"] if used["since"] is not None else 0,
    }  # fmt: skip


def digest(values: Mapping[str, Any]) -> str:
    import hashlib

    said = {name: values[name] for name in SAID}
    return hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def said_by(row: Row) -> dict[str, Any]:
    """What a version says: what its digest is of, and its file."""
    return {name: json.loads(row[name]) if name in _PARTS else row[name] for name in SAID}


# -- what becomes of it ----------------------------------------------------------------------------------------------


def settle(tx: Tx, row: Row, standing: Standing) -> bool:
    """Once, and what was asked about it is settled with it."""
    if not tx.run("settle_deliverable", worker=row["worker"], version=row["version"], state=standing):
        return False
    items.close_subject(tx, docket.result_of(row["worker"], row["version"]))
    if standing is not Standing.UNJUDGED:
        tx.run("paid", worker=row["worker"])
    return True


def supersede(tx: Tx, worker: str, task: str) -> None:
    for row in tx.all("deliverables_of_worker", worker=worker, limit=20):
        if row["state"] == Standing.OPEN and row["task"] == task:
            settle(tx, row, Standing.SUPERSEDED)


def task_moves_on(tx: Tx, task: str, standing: Standing = Standing.SUPERSEDED) -> None:
    """A task goes on without what was delivered for it."""
    for row in tx.all("open_deliverables_of_task", task=task):
        settle(tx, row, standing)


def lands(tx: Tx, change: str) -> None:
    """Its change set stands in line: whoever put it there has decided."""
    found = tx.one("open_deliverable_of_change", change=change)
    if found is not None:
        settle(tx, found, Standing.PROMOTED)


# -- its file --------------------------------------------------------------------------------------------------------


def _file(tx: Tx, worker: str, version: int) -> str:
    return tx.world.shelf.place(FOLDER, worker, f"{version}.json")


def _content(row: Row) -> bytes:
    return (json.dumps({**said_by(row), "digest": row["digest"]}, indent=2, ensure_ascii=False) + "\n").encode()


def _made(tx: Tx, row: Row) -> None:
    _publish(tx, row)  # what stands in its way is told by whoever looks at the version


def _publish(tx: Tx, row: Row) -> str:
    """`written`, `whole` (it was there), `corrupt` (something else was, and was left), or why it could not be. A
    product that can not be made now fails no report."""
    try:
        return tx.world.shelf.publish(row["file"], _content(row))
    except errors.StoreCorrupt:
        return "corrupt"
    except errors.RookError as error:
        return f"not written: {error.message}"


def whole(row: Row) -> Row:
    """A version whose row says what was reported. One that does not is not judged, and not mended."""
    if digest(said_by(row)) != row["digest"]:
        named = docket.result_of(row["worker"], row["version"])
        raise errors.StoreCorrupt(
            f"{named} is not what was reported.", "`rook doctor` looks at the store; a backup may have it.", id=named
        )
    return row


# -- looking ---------------------------------------------------------------------------------------------------------


def find(tx: Tx, worker: str, version: int) -> Row:
    row = tx.one("deliverable", worker=worker, version=version)
    if row is None:
        known = tx.one("last_version", worker=worker)
        raise errors.UnknownName(
            f"{worker} has no version {version}." if known else f"No worker {worker} has reported anything.",
            f"`rook deliverables {worker}` lists them." if known else "`rook docket` shows what is asked.",
            code="UNKNOWN_DELIVERABLE",
        )  # fmt: skip
    return row


def listed(
    tx: Tx,
    subject: Annotated[str, Arg("a worker, a task, or one version (w3/2)", positional=True, metavar="SUBJECT")] = "",
    *,
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    """Versions, the newest first; one alone with all it says, and whether its file is as it was written."""
    most = checked_limit(limit, 50)
    if not subject:
        rows = tx.all("deliverables", limit=most)
    elif subject.startswith(docket.TASK):
        rows = tx.all("deliverables_of_task", task=subject, limit=most)
    else:
        named = docket.subject(subject)
        if named.about is About.RESULT:
            return {"deliverables": [_whole_card(tx, find(tx, _worker(tx, named.worker), named.number))]}
        rows = tx.all("deliverables_of_worker", worker=_worker(tx, named.worker or named.text), limit=most)
    return {"deliverables": [card(row) for row in rows]}


def _worker(tx: Tx, written: str) -> str:
    """By id also when it is forgotten: its results are not."""
    from . import workers

    return written if docket.subject(written).about is About.WORKER else workers.find(tx, written)["id"]


def _whole_card(tx: Tx, row: Row) -> dict[str, Any]:
    shown = card(row) | {"file": row["file"], "fileState": ""}
    tx.after.append(lambda _heard: shown.update(fileState=_publish(tx, row)))
    return shown


def card(row: Row) -> dict[str, Any]:
    return {
        "id": docket.result_of(row["worker"], row["version"]), "worker": row["worker"], "version": row["version"],
        "author": row["author"] or "", "task": row["task"] or None, "outcome": row["outcome"],
        "summary": row["summary"], "change": row["change"] or None, "head": row["head"],
        "evidence": json.loads(row["evidence"]), "checks": json.loads(row["checks"]),
        "provenance": json.loads(row["provenance"]), "digest": row["digest"], "state": row["state"],
        "corrupt": digest(said_by(row)) != row["digest"], "at": times.iso(row["at"]),
    }  # fmt: skip
