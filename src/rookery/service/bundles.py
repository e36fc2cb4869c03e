"""Bundles: evidence that was chosen, introduced and saved, for whoever goes on with it.

A bundle is a row. Its Markdown and the list beside it are products of that row, written once it is committed; one that
is missing, or says something else, is told of and made again (ADR 0046). What is in it was written down when it was
saved, so the files stay the same whatever becomes of the evidence, which is not let go of while a bundle names it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import bundles, errors, names, text, times
from rookery.core import evidence as law
from rookery.core.ports import Shelf
from rookery.store.port import Row

from . import evidence, held, workers
from .mailbox import checked_limit
from .tx import Tx
from .verbs import Arg

FOLDER, BUNDLE = "bundles", "bundle"
LOOKED_AT = 500  # of the newest evidence, to choose from
LISTED = 50

Id = Annotated[str, Arg("the bundle", positional=True, metavar="ID")]
Refs = Annotated[list[str] | None, Arg("what goes into it, as e3, f12 or w3/2", positional=True, metavar="REF")]
Worker = Annotated[str, Arg("of this worker", flag="-w", metavar="ID")]
Task = Annotated[str, Arg("of this task", flag="-t", metavar="ID")]
Limit = Annotated[int | None, Arg("how many at most", flag="-n")]


# -- choosing --------------------------------------------------------------------------------------------------------


def candidates(
    tx: Tx, refs: Refs = None, *, worker: Worker = "", task: Task = "", limit: Limit = None
) -> dict[str, Any]:
    """What would go into a bundle, and how that would introduce itself."""
    made = _drafted(tx, refs or [], worker, task, limit)
    return {"worker": made["worker"], "task": made["task"], "header": made["header"], "candidates": made["items"]}


def _drafted(tx: Tx, refs: Sequence[str], worker: str, task: str, limit: int | None) -> dict[str, Any]:
    row = workers.find(tx, worker) if worker else None
    task = task or ""
    goal = held.find(tx, task)["title"] if task else ""
    found = [entry_of(tx, word) for word in dict.fromkeys(refs)] if refs else best_of(tx, row, task, limit)
    bundles.check_count(found)
    if row is not None and row["task"] and not task:
        task, goal = row["task"], row["title"]
    header = bundles.header(
        found,
        by=tx.me()["name"],
        worker=row["id"] if row else "",
        name=row["name"] if row else "",
        task=task,
        goal=goal,
    )
    return {"worker": row["id"] if row else "", "task": task, "header": header, "items": found, "goal": goal}


def best_of(tx: Tx, worker: Row | None, task: str = "", limit: int | None = None) -> list[dict[str, Any]]:
    """The most telling evidence of a worker, of a task, or lately."""
    count = min(checked_limit(limit, bundles.CANDIDATES), bundles.ITEMS)
    rows = [row for row in _looked_at(tx, worker, task) if row["kind"] != BUNDLE]
    return [entry(row) for row in bundles.ranked(rows, count)]


def _looked_at(tx: Tx, worker: Row | None, task: str) -> Sequence[Row]:
    every: dict[str, Any] = {"since": 0, "form": "", "limit": LOOKED_AT}
    if worker is not None:
        return tx.all("evidence_of_worker", worker=worker["id"], task=task, kind="", failed=0, **every)
    if task:
        return tx.all("evidence_of_task", task=task, kind="", failed=0, **every)
    return tx.all("evidence_listed", **every)


def entry_of(tx: Tx, word: str) -> dict[str, Any]:
    """What is there under such a name, as a bundle keeps it."""
    row = result(tx, word)
    return result_entry(row) if row is not None else entry(evidence.find(tx, word))


def result(tx: Tx, word: str) -> Row | None:
    """The version of a worker's result that is meant by w3/2; None if the word means something else."""
    worker, slash, version = word.partition("/")
    if not (slash and version.isascii() and version.isdigit() and len(version) <= 9):
        return None
    return tx.one("bundle_result", worker=worker, version=int(version))


def result_entry(row: Row) -> dict[str, Any]:
    id = f"{row['worker']}/{row['version']}"
    return {
        "ref": id, "id": id, "kind": "result", "title": text.one_line(f"{row['outcome']}: {row['summary']}", 200),
        "by": row["agent_name"], "worker": row["worker"], "task": row["task"], "at": times.iso(row["at"]),
        "failed": False, "path": "", "result": "", "excerpt": bundles.excerpt(result_text(row)),
    }  # fmt: skip


def result_text(row: Row) -> str:
    refs: list[str] = json.loads(row["evidence"])
    facts = [row["summary"], f"Change set: {row['change']} at {row['head']}" if row["change"] else "",
             f"Evidence: {', '.join(map(str, refs))}" if refs else ""]  # fmt: skip
    return "\n\n".join(filter(None, facts))


def entry(row: Row | Mapping[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(row["data"])
    path = data.get("path")
    return {
        "ref": row["ref"], "id": row["shared"] or row["id"], "kind": row["kind"],
        "title": text.one_line(row["title"], 200), "by": row["agent_name"], "worker": row["worker"],
        "task": row["task"], "at": times.iso(row["at"]), "failed": bool(row["failed"]),
        "path": text.one_line(path, 300) if isinstance(path, str) else "",
        "result": bundles.result_of(data), "excerpt": bundles.excerpt(row["body"]),
    }  # fmt: skip


# -- saving ----------------------------------------------------------------------------------------------------------


def save(
    tx: Tx,
    refs: Refs = None,
    *,
    title: Annotated[str, Arg("what to call it", flag="-s")] = "",
    worker: Worker = "",
    task: Task = "",
    limit: Limit = None,
    summarize: Annotated[str, Arg("have a worker of this kind sum it up", metavar="KIND")] = "",
) -> dict[str, Any]:
    """Exactly what is named, or else the most telling of the worker, the task or lately."""
    me = tx.me()
    made = _drafted(tx, refs or [], worker, task, limit)
    number = tx.one("raise_counter", name="bundle")
    assert number is not None
    id = f"{bundles.PREFIX}{number['value']:04d}"
    saved: dict[str, Any] = {
        "id": id, "title": bundles.check_title(title) or _untitled(made), "header": made["header"], "summary": "",
        "summarizer": _summarizer(tx, me, id, summarize), "by": me["name"], "worker": made["worker"],
        "task": made["task"], "at": times.iso(tx.wall), "items": made["items"],
    }  # fmt: skip
    _write_down(tx, me, number["value"], saved)
    tx.beat()
    card = card_of(tx, find(tx, id))
    tx.after.append(lambda _heard: card.update(_made(tx, card, new=True)))
    return card


def _write_down(tx: Tx, me: Row, number: int, saved: Mapping[str, Any]) -> None:
    id, items = saved["id"], saved["items"]
    tx.run(
        "new_bundle", n=number, id=id, title=saved["title"], header=saved["header"], worker=saved["worker"],
        task=saved["task"], made_by=me["id"], items=json.dumps([entry["ref"] for entry in items]),
        entries=json.dumps(items), file=f"{FOLDER}/{id}.md", sidecar=f"{FOLDER}/{id}.artifacts.json",
        digest=bundles.digest(saved), summarizer=saved["summarizer"], at=tx.wall,
    )  # fmt: skip
    found = law.Found(BUNDLE, f"{BUNDLE}:{id}", saved["title"], saved["header"], {BUNDLE: id, "items": len(items)})
    evidence.put(tx, found, agent=me["id"], worker=saved["worker"], task=saved["task"])
    tx.event("bundle.saved", me["name"], target=saved["task"], ref=id, preview=saved["title"], worker=saved["worker"],
             items=[entry["id"] for entry in items])  # fmt: skip


def _untitled(made: Mapping[str, Any]) -> str:
    return text.one_line(made["goal"], bundles.TITLE_LIMIT) or f"{len(made['items'])} of {made['worker'] or 'the team'}"


def _summarizer(tx: Tx, me: Row, id: str, kind: str) -> str:
    """A worker whose report becomes the summary."""
    if not kind:
        return ""
    told = (f"Sum up {id} for whoever goes on with this work: `rook bundle show {id}` lists what is in it, "
            f"`rook artifacts show REF` shows each. Change nothing. Report with `rook done --evidence {id}`: your "
            f"summary, at most {bundles.SUMMARY_LIMIT:,} characters, becomes the summary of {id}.")  # fmt: skip
    return workers.make(tx, me, told, kind=kind)


def summarized(tx: Tx, worker: str, summary: str) -> None:
    """A worker reported: if that was to sum up a bundle, it has."""
    found = tx.one("bundle_of_summarizer", worker=worker)
    said = text.cut(text.plain(summary).strip(), bundles.SUMMARY_LIMIT)[0]
    if found is None or not said:
        return
    card = card_of(tx, find(tx, found["id"])) | {"summary": said}
    if tx.run("sum_up_bundle", id=found["id"], summary=said, digest=bundles.digest(card)):
        tx.event("bundle.summarized", names.SYSTEM, ref=found["id"], preview=text.one_line(said, 120), worker=worker)
        tx.after.append(lambda _heard: card.update(_made(tx, card, new=True)))


# -- looking ---------------------------------------------------------------------------------------------------------


def listed(
    tx: Tx, *, all: Annotated[bool, Arg("also those that were consumed")] = False, limit: Limit = None
) -> dict[str, Any]:
    rows = tx.all("bundles_listed", every=int(all), limit=checked_limit(limit, LISTED))
    return {"bundles": [_line(tx, row) for row in rows]}


def show(tx: Tx, id: Id) -> dict[str, Any]:
    """All of it. Its files are looked at besides: what is not as the row says is told, and made again."""
    card = card_of(tx, find(tx, id))
    tx.after.append(lambda _heard: card.update(_made(tx, card)))
    return card


def find(tx: Tx, id: str) -> Row:
    row = tx.one("bundle", id=id)
    if row is None:
        raise errors.UnknownName(
            f"No bundle {text.one_line(id, 40)}.", "`rook bundle list --all` lists them.", code="UNKNOWN_BUNDLE"
        )
    if row["state"] == "deleted":
        raise errors.UnknownName(
            f"{row['consumer']} deleted {id} at {tx.shown(row['consumed_at'])}.", "`rook bundle list` lists others.",
            code="UNKNOWN_BUNDLE",
        )  # fmt: skip
    return row


def entries_of(row: Row) -> list[dict[str, Any]]:
    return json.loads(row["entries"])


def card_of(tx: Tx, row: Row) -> dict[str, Any]:
    more = {"header": row["header"], "summary": row["summary"], "items": entries_of(row), "file": row["file"],
            "sidecar": row["sidecar"], "remarks": list[str]()}  # fmt: skip
    return {**_line(tx, row), **more}


def _line(tx: Tx, row: Row) -> dict[str, Any]:
    used = {"by": row["consumer"], "at": tx.shown(row["consumed_at"])} if row["state"] == "consumed" else None
    return {
        "schemaVersion": bundles.SCHEMA, "id": row["id"], "title": row["title"], "state": row["state"],
        "count": len(json.loads(row["items"])), "worker": row["worker"], "task": row["task"], "by": row["maker"],
        "summarizer": row["summarizer"], "summarized": bool(row["summary"]), "consumed": used,
        "digest": row["digest"], "at": times.iso(row["at"]),
    }  # fmt: skip


def _made(tx: Tx, card: Mapping[str, Any], *, new: bool = False) -> dict[str, Any]:
    """After the commit: both files as the row says, and where they are. What was not so is told; the row stands
    whatever a disk does."""
    shelf = tx.world.shelf
    written = ((card["file"], bundles.markdown(card)), (card["sidecar"], bundles.sidecar(card)))
    remarks = [_remade(shelf, file, words.encode("utf-8", "replace"), new) for file, words in written]
    return {"file": shelf.beside(card["file"]), "sidecar": shelf.beside(card["sidecar"]),
            "remarks": [said for said in remarks if said]}  # fmt: skip


def _remade(shelf: Shelf, file: str, data: bytes, new: bool) -> str:
    name = file.rpartition("/")[2]
    try:
        why = "" if shelf.read(shelf.beside(file), len(data) + 1) == data else "was changed"
    except errors.RookError:
        why = "was missing"
    if not why:
        return ""
    try:
        shelf.put(file, data)
    except errors.RookError as error:
        return f"{name} could not be written: {error.message}"
    return "" if new else f"{name} {why}; it was made again"


# -- how it ends -----------------------------------------------------------------------------------------------------


def consume(tx: Tx, id: Id) -> dict[str, Any]:
    """Once: it leaves the list, and goes for good when it is old. Until then it can still be shown."""
    row, me = find(tx, id), tx.me()
    if not use_up(tx, me, row["id"]):
        raise bundles.consumed(row["id"], row["consumer"], tx.shown(row["consumed_at"]))
    tx.beat()
    return _line(tx, find(tx, id))


def use_up(tx: Tx, me: Row, id: str) -> bool:
    """Whether it was this that consumed it."""
    if not tx.run("consume_bundle", id=id, by=me["id"]):
        return False
    tx.event("bundle.consumed", me["name"], ref=id)
    return True


def delete(tx: Tx, id: Id) -> dict[str, Any]:
    """By who made it, the leader or the person. It stands in nobody's context any more, and its files go."""
    row, me = find(tx, id), tx.me()
    if me["id"] != row["made_by"] and not tx.may_steer(me):
        raise errors.NotYours(f"{row['maker']} saved {row['id']}.", "Its maker or the leader deletes it.",
                              code="NOT_YOUR_BUNDLE")  # fmt: skip
    unloaded = tx.run("unload_everywhere", source=row["id"])
    tx.run("delete_bundle", id=row["id"], by=me["id"])
    tx.event("bundle.deleted", me["name"], ref=row["id"], preview=row["title"], unloaded=unloaded)
    tx.after.append(lambda _heard: _remove_files(tx, row))
    tx.beat()
    return {"id": row["id"], "deleted": True, "unloaded": unloaded}


def forget(tx: Tx, rows: Sequence[Row]) -> None:
    """Those that were consumed or deleted long ago: rows now, and their files once that is certain."""
    for row in rows:
        tx.run("unload_everywhere", source=row["id"])
        tx.run("remove_bundle", n=row["n"])
        tx.event("bundle.swept", names.SYSTEM, ref=row["id"], was=row["state"])
        tx.after.append(lambda _heard, row=row: _remove_files(tx, row))


def _remove_files(tx: Tx, row: Row) -> None:
    shelf = tx.world.shelf
    for file in (row["file"], row["sidecar"]):
        shelf.remove(shelf.beside(file))
