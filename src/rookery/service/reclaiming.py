"""Worktrees of workers that are over: whose is done with, before the worker itself is forgotten.

A worktree is needed while its task may still come back to it: to be judged, to land, or to be done again. Once the task
has landed, whoever did it, the worktrees of all who worked on it may go; what is in one and nowhere else is kept under
a name of the repository first, until its worker is forgotten.

Whoever takes files of a worker away holds it while they do (`hold`). It can be asked for anew meanwhile, and then it is
in line; it begins once its keeper is done or is gone, so a worktree that is taken away is never the new one.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from rookery.core import landing, names, tasks
from rookery.core.landing import State as Land
from rookery.core.workers import KEEPER, State, Wish
from rookery.store.port import Row

from . import supervising
from .landing import terms_of
from .tx import Tx
from .verbs import Arg

LOOK = 1_000
AWAY_MS = 3_600_000  # more than git could take over it; a keeper that is gone holds nothing
OVER = (tasks.Status.COMPLETED, tasks.Status.CANCELED)


def done_with(tx: Tx, ids: Annotated[list[str], Arg("workers that have a worktree here")]) -> dict[str, Any]:
    """Of these, the ones whose worktree nobody needs any more."""
    rows = [tx.one("worker", id=id) for id in ids[:LOOK]]
    return {"ids": [row["id"] for row in rows if row is not None and _is_done_with(tx, row, _landings(tx, row))]}


def _landings(tx: Tx, row: Row) -> Sequence[Row]:
    return tx.all("landings_of_task", task=row["task"]) if row["task"] else ()


def _is_done_with(tx: Tx, row: Row, landings: Sequence[Row]) -> bool:
    if row["state"] != State.ENDED or row["machine"] != tx.world.host:
        return False
    states = [each["state"] for each in landings]
    if any(state in landing.OPEN for state in states):
        return False
    task = tx.one("task_hold", id=row["task"]) if row["task"] else None
    if task is not None and (task["status"] not in OVER or task["review"] == tasks.REVIEW_PENDING):
        return False
    if tx.one("discarded_last", worker=row["id"]) is not None:
        return True
    # Where nothing lands by itself, what was made lies in the worktree until somebody looked at it.
    return Land.LANDED in states or bool(row["crew"] and terms_of(tx, row["crew"]).get("land"))


def hold(
    tx: Tx,
    id: Annotated[str, Arg("the worker")],
    *,
    owner: Annotated[str, Arg("who takes its files away")],
    forget: Annotated[bool, Arg("all of them: only if it may be forgotten")] = False,
    over: Annotated[bool, Arg("that is done")] = False,
) -> dict[str, Any]:
    """Nothing is begun for this worker while its files are taken away. Not held: they are needed after all."""
    row = tx.one("worker", id=id)
    free: dict[str, Any] = {"id": id, "held": False, "open": []}
    if row is None:
        return free | {"held": not over}  # its number is given to nobody else
    if over:
        if tx.run("let_begin", id=id, owner=owner):
            tx.ring(KEEPER)
        return free
    if supervising.is_held(tx, row, owner) or (forget and not supervising.may_forget(tx, row)):
        return free
    if not tx.run("hold_files", id=id, owner=owner, until=tx.now + AWAY_MS):
        return free
    return {"id": id, "held": True, "open": _undecided(tx, row) if forget else []}


def _undecided(tx: Tx, row: Row) -> list[str]:
    """Commits that are still to land, or that nobody has decided about: their names outlive the worker. One that a
    person deletes has no undecided ones."""
    landed = any(each["state"] == Land.LANDED for each in _landings(tx, row))
    kept: list[str] = []
    for change in tx.all("changes_of_worker", worker=row["id"], limit=LOOK):
        states = [each["state"] for each in tx.all("landings_of_change", change=change["id"])]
        undecided = not states and row["wish"] != Wish.DELETE and not (landed and change["task"] == row["task"])
        if undecided or any(state in landing.OPEN or state == Land.FAILED for state in states):
            kept.append(change["head"])
    return kept


def reclaim(tx: Tx, id: Annotated[str, Arg("the worker")]) -> dict[str, Any]:
    """From now on it has no worktree; what is needed to take that away. `root` is empty if it is needed after all."""
    row = tx.one("worker", id=id)
    landings: Sequence[Row] = _landings(tx, row) if row is not None else ()
    if row is None or not _is_done_with(tx, row, landings):
        return {"id": id, "root": "", "keep": "", "author": "", "landed": [], "open": []}
    if tx.run("reclaim_tree", id=id):
        tx.event("worker.reclaimed", names.SYSTEM, target=row["name"], ref=id, task=row["task"])
    landed = [each["head"] for each in landings if each["state"] == Land.LANDED]
    made = tx.all("changes_of_worker", worker=id, limit=LOOK)
    return {
        "id": id, "root": row["root"], "keep": landing.keep_under(tx.team, id), "author": row["name"],
        "landed": landed, "open": [each["head"] for each in made if not landed or each["task"] != row["task"]],
    }  # fmt: skip
