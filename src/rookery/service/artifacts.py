"""Shared outputs (patches, summaries): a file on the shelf, and a row that names it with its hash.

Each of them is evidence as well, of kind `output`; the list is that of all evidence. The file is on the disk before the
transaction begins (`shelve`), and is read after it ends. A crash in between leaves a file that no row names; a sweep
takes it away when it is old.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import artifacts, errors, evidence, text, times
from rookery.store.port import Row

from . import held
from .tx import TASK, Tx
from .verbs import Arg
from .world import World

PREFIX = "artifact-"
Kind = Annotated[str, Arg("what it is", flag="-k", choices=artifacts.KINDS)]


def shelve(world: World, args: Mapping[str, Any]) -> dict[str, Any]:
    """Before the transaction: the content becomes a file, and the verb is told of that instead."""
    name, kind = artifacts.check_name(args["name"]), artifacts.check_kind(args.get("kind", "other"))
    data = artifacts.decode(args["content"], args.get("encoding", "text"), world.settings["artifacts.limit"])
    kept = world.shelf.keep(artifacts.FOLDERS[kind], name, data)
    content, encoding = artifacts.encode(data)
    found = evidence.shown(content, world.settings["evidence.body_limit"]) if encoding == "text" else ""
    return {**args, "content": found, "kept": kept._asdict()}


def add(
    tx: Tx,
    name: Annotated[str, Arg("what to call it", positional=True)],
    content: Annotated[str, Arg("what it holds")],
    *,
    kind: Kind = "other",
    task: Annotated[str, Arg("the task it belongs to", flag="-t")] = "",
    encoding: Annotated[str, Arg("how the content is written", choices=artifacts.ENCODINGS)] = "text",
    kept: Annotated[dict[str, Any] | None, Arg("the file it became", hidden=True)] = None,
) -> dict[str, Any]:
    assert kept is not None, "shelved before"
    me = tx.me()
    more: dict[str, Any] = {}
    if task:
        held.find(tx, task)
        more = {"task": task, "for": tx.standing(task)["for"]}
    id = write(tx, name, kind, task, me["id"], kept, content)
    tx.event("artifact", me["name"], target=task, ref=id, preview=f"{kind} {name}", digest=kept["digest"], **more)
    tx.beat()
    return _card(_find(tx, id))


def write(tx: Tx, name: str, kind: str, task: str, agent: int, kept: Mapping[str, Any], content: str = "") -> str:
    """The row of a file that is on the disk; its id. What is kept of a run is no evidence by itself."""
    number = tx.one("raise_counter", name="artifact")
    assert number is not None
    id = f"{PREFIX}{number['value']:04d}"
    tx.run("new_artifact", n=number["value"], id=id, name=name, kind=kind, task=task, agent=agent, at=tx.wall, **kept)
    if kind != artifacts.RUN:
        from .evidence import share

        share(tx, id, name, kind, task, agent, kept, content)
    return id


def kept_of_runs(tx: Tx, task: str, limit: int) -> list[dict[str, Any]]:
    """For a while, what workers' runs were told and said."""
    rows = tx.all("runs_kept_of_task", task=task, limit=limit) if task else tx.all("runs_kept", limit=limit)
    return [_card(row) for row in rows]


def show(tx: Tx, id: Annotated[str, Arg("the artifact", positional=True, metavar="ID")]) -> dict[str, Any]:
    """With its content, which must be what was put."""
    row = _find(tx, id)
    card = _card(row)
    tx.after.append(lambda _heard: card.update(content(tx, row)))
    return card


def check_named(tx: Tx, evidence: Sequence[str]) -> None:
    """Evidence that names an artifact names one that is there."""
    for word in evidence:
        if word.startswith(PREFIX):
            _find(tx, word)


def content(tx: Tx, row: Row) -> dict[str, str]:
    """Of a file that a row names: it must be what was put there."""
    import hashlib

    data = tx.world.shelf.read(row["file"], row["bytes"] + 1)
    if hashlib.sha256(data).hexdigest() != row["digest"]:
        raise errors.StoreCorrupt(
            f"The file of {row['id']} is not what was put there.", f"Look at {row['file']} in the home.", id=row["id"]
        )
    content, encoding = artifacts.encode(data)
    return {"content": content, "encoding": encoding}


def _find(tx: Tx, id: str) -> Row:
    row = tx.one("artifact", id=id)
    if row is None:
        raise errors.UnknownName(
            f"No artifact {text.one_line(id, 40)}.", "`rook artifacts` lists them.", code="UNKNOWN_ARTIFACT"
        )
    return row


def _card(row: Row) -> dict[str, Any]:
    return {
        "schemaVersion": "1.0.0", "id": row["id"], "name": row["name"], "kind": row["kind"],
        "taskId": row["task"] if row["task"].startswith(TASK) else None, "by": row["agent_name"], "bytes": row["bytes"],
        "digest": row["digest"], "file": row["file"], "at": times.iso(row["at"]),
    }  # fmt: skip
