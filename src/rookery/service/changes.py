"""Change sets: what a worker made, by commit. Captured before the transaction that reports it, a row in it.

`captured` is for a verb's `before`: it commits in the worker's worktree and puts the patch on the shelf. `record`
writes down what came of that, once for each commit, however often it is reported.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import errors, landing, text, times
from rookery.store.port import Row

from . import artifacts, conflicts
from .mailbox import checked_limit
from .tx import Tx
from .verbs import Arg, Ask
from .world import World

PREFIX = "change-"
FOLDER = "patches"
MESSAGE_LIMIT = 10_000


def captured(
    world: World, worker: Mapping[str, Any], message: str, *, branch: str = "", ask: Ask | None = None
) -> dict[str, Any]:
    """Before the transaction. `worker` has `id`, `tree`, `base`, `root` and `name`, as its row; `ask` looks up where
    the change sets of others begin."""
    limit = min(world.settings["changes.patch_limit"], world.settings["artifacts.limit"])
    found = world.workspaces.capture(
        worker["tree"], worker["base"], worker["name"], text.plain(message)[:MESSAGE_LIMIT], root=worker["root"],
        branch=branch or world.settings["land.branch"], keep=landing.keep_under(world.team, worker["id"]), limit=limit,
    )  # fmt: skip
    kept = world.shelf.keep(FOLDER, f"{found.head[:12]}.patch", found.patch) if found.patch else None
    touched = conflicts.captured(world, worker["tree"], found.base, found.head, ask) if found.paths else None
    own = {"patch": None, "tree": worker["tree"], "touched": touched, "kept": kept._asdict() if kept else None}
    return {**found._asdict(), **own}


def record(tx: Tx, worker: Row, captured: Mapping[str, Any], task: str = "", epoch: int = 0) -> str:
    """The id of the change set; "" if nothing was changed. The same commit reported again is the same change set."""
    if captured["tree"] != worker["tree"]:
        raise errors.Refused(
            f"{worker['id']} works in another tree by now.", "Report again from there.", code="OTHER_TREE"
        )
    if not captured["paths"]:
        return ""
    known = tx.one("change_of_head", worker=worker["id"], head=captured["head"])
    if known is not None:
        tx.run("change_again", id=known["id"], task=task, epoch=epoch, branch=captured["branch"])
        return known["id"]
    number = tx.one("raise_counter", name="change")
    assert number is not None
    id = f"{PREFIX}{number['value']:04d}"
    made = {name: captured[name] for name in ("base", "head", "branch", "paths", "added", "removed")}
    tx.run(
        "new_change", n=number["value"], id=id, worker=worker["id"], task=task, epoch=epoch, at=tx.wall,
        files=json.dumps(captured["files"]), patch=_patch(tx, id, captured, task), **made,
    )  # fmt: skip
    _show_commits(tx, worker, captured.get("commits") or (), id, task)
    counted = f"{captured['paths']} files, +{captured['added']} -{captured['removed']}"
    tx.event("change", tx.me()["name"], target=worker["id"], ref=id, preview=counted, task=task, head=captured["head"])
    conflicts.record(tx, worker, id, captured["touched"], captured["base"], task)
    return id


def _show_commits(tx: Tx, worker: Row, commits: Sequence[Mapping[str, str]], change: str, task: str) -> None:
    """Each is evidence, by the name that git gave it when it was made: one that was seen then is known."""
    from rookery.core.evidence import Found

    from . import evidence

    for each in reversed(commits):
        found = Found(
            "commit", f"git:{each['short']}", f"{each['short']} {each['subject']}", "",
            {"sha": each["sha"], "change": change},
        )  # fmt: skip
        evidence.put(tx, found, worker=worker["id"], agent=tx.me()["id"], task=task, run=worker.get("run", ""))


def _patch(tx: Tx, id: str, captured: Mapping[str, Any], task: str) -> str:
    kept = captured["kept"]
    return artifacts.add(tx, f"{id}.patch", "", kind="patch", task=task, kept=dict(kept))["id"] if kept else ""


# -- looking ---------------------------------------------------------------------------------------------------------


def listed(
    tx: Tx,
    *,
    task: Annotated[str, Arg("only of this task", flag="-t")] = "",
    worker: Annotated[str, Arg("only of this worker")] = "",
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    most = checked_limit(limit, 50)
    if task:
        rows = tx.all("changes_of_task", task=task, limit=most)
    else:
        rows = tx.all("changes_of_worker", worker=worker, limit=most) if worker else tx.all("changes", limit=most)
    return {"changes": [card(row) for row in rows]}


def show(tx: Tx, id: Annotated[str, Arg("the change set", positional=True, metavar="ID")]) -> dict[str, Any]:
    row = find(tx, id)
    lands = tx.one("landing_of_change", change=row["id"])
    return card(row) | {
        "files": json.loads(row["files"]), "checks": json.loads(row["checks"]),
        "landing": {"id": lands["id"], "state": lands["state"]} if lands else None,
    }  # fmt: skip


def find(tx: Tx, id: str) -> Row:
    row = tx.one("change", id=id)
    if row is None:
        raise errors.UnknownName(
            f"No change set {text.one_line(id, 40)}.", "`rook changes` lists them.", code="UNKNOWN_CHANGE"
        )
    return row


def newest(tx: Tx, row: Row) -> str:
    """The change set that counts for the same task, or, without one, of the same worker."""
    rows = (
        tx.all("changes_of_task", task=row["task"], limit=1)
        if row["task"]
        else tx.all("changes_of_worker", worker=row["worker"], limit=1)
    )
    return rows[0]["id"] if rows else row["id"]


def card(row: Row) -> dict[str, Any]:
    return {
        "id": row["id"], "worker": row["worker"], "author": row["author"] or "", "task": row["task"],
        "title": row["title"] or "", "epoch": row["epoch"], "base": row["base"], "head": row["head"],
        "branch": row["branch"], "paths": row["paths"], "added": row["added"], "removed": row["removed"],
        "patch": row["patch"], "at": times.iso(row["at"]),
    }  # fmt: skip
