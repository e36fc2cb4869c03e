"""Landing, for the keeper that does it: what is due, what is taken, and what came of it.

Everything is owned with a lease, and every word about a landing is fenced by its owner. Where the branch stood and
what it is to become is written by `moving`, before the branch moves; `done` is written after it has.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from rookery.core import artifacts as outputs
from rookery.core import errors, landing, names, tasks, text
from rookery.core.landing import Entry, State, Step
from rookery.store.port import Row

from . import artifacts, held, items, unlocking
from .landing import find, terms_of
from .questions import decider
from .reviews import AUTHOR_FIRST_MS
from .tx import Tx
from .verbs import Arg
from .world import World

LINE = 1_000  # landings of a machine that are looked at
KEPT_CHECKS = 20
MOST = 1_000  # that are spoken of at once
TAIL_LINES, TAIL_CHARACTERS = 40, 4_000
Owner = Annotated[str, Arg("who lands: its machine, pid and start time")]
Ids = Annotated[list[str], Arg("the landings, in the order of their chain")]


def _some(ids: list[str]) -> list[str]:
    if not 1 <= len(ids) <= MOST:
        raise errors.BadInput(f"1 to {MOST} landings, not {len(ids)}.", "Those that were taken together.")
    return ids


# -- whose turn it is ------------------------------------------------------------------------------------------------


def teams(tx: Tx) -> dict[str, Any]:
    """Teams in which something waits to land on this machine."""
    return {"teams": [row["name"] for row in tx.all("store_teams_landing", machine=tx.world.host)]}


def due(tx: Tx, owner: Owner) -> dict[str, Any]:
    """The branches of this machine on which something can be done now; and when to look again."""
    found: list[dict[str, str]] = []
    later: list[int] = []
    for (root, branch), line in _lines(tx).items():
        turn = _turn(tx, line, owner)
        if turn.kind:
            found.append({"root": root, "branch": branch})
        elif turn.after is not None:
            later.append(turn.after)
    return {"branches": found, "next_ms": max(0, min(later) - tx.now) if later else None}


def _lines(tx: Tx) -> dict[tuple[str, str], list[Row]]:
    lines: dict[tuple[str, str], list[Row]] = {}
    for row in tx.all("open_landings", machine=tx.world.host, limit=LINE):
        lines.setdefault((row["root"], row["branch"]), []).append(row)
    return lines


def _turn(tx: Tx, line: Sequence[Row], owner: str) -> landing.Turn:
    entries = [
        Entry(row["n"], row["state"], row["step"], row["owner"], row["owned_to"], row["not_before"]) for row in line
    ]
    return landing.turn(entries, owner, tx.now, tx.settings["land.batch"], lambda other: _is_gone(tx, other))


def _is_gone(tx: Tx, owner: str) -> bool:
    """A process of this machine can be looked at: whoever was killed needs no lease to run out."""
    where, _, started = owner.rpartition(":")
    host, _, pid = where.rpartition(":")
    if host != tx.world.host or not pid.isdecimal():
        return False
    return tx.world.prober.state(int(pid), started) == "dead"


def take(
    tx: Tx,
    owner: Owner,
    root: Annotated[str, Arg("the working copy")],
    branch: Annotated[str, Arg("the branch")],
) -> dict[str, Any]:
    """Be the one that lands on this branch; what is to be done, and all that is needed for it."""
    if not owner or len(owner) > 200:
        raise errors.BadInput("Whoever lands has a name of 1 to 200 characters.", "Its machine, pid and start time.")
    line = _lines(tx).get((root, branch), [])
    turn = _turn(tx, line, owner)
    rows = [row for row in line if row["n"] in turn.members]
    check = _check(tx, rows[0]) if rows else []
    if turn.kind == "land":
        rows = _alike(tx, rows, check)
    for row in rows:
        _own(tx, row, owner, turn.kind)
    return {
        "kind": turn.kind, "root": root, "branch": branch, "lease_ms": _lease(tx),
        "strategy": tx.settings["land.strategy"],
        "check": check, "check_ms": tx.settings.ms("land.check_s"), "retry_ms": tx.settings.ms("land.retry_s"),
        "slot": landing.slot_of(branch), "landings": [_job(tx, row) for row in rows],
    }  # fmt: skip


def _check(tx: Tx, row: Row) -> list[str]:
    """By its crew's terms, else by the settings of whoever runs the keeper."""
    said: Any = terms_of(tx, row["crew"]).get("check")
    given = cast("list[Any]", said) if isinstance(said, list) else []
    return [str(word) for word in given] or tx.settings["land.check"]


def _alike(tx: Tx, rows: Sequence[Row], check: Sequence[str]) -> list[Row]:
    """Those of the first that are checked in the same way."""
    cut = next((place for place, row in enumerate(rows) if _check(tx, row) != check), len(rows))
    return list(rows[:cut])


def _lease(tx: Tx) -> int:
    return tx.settings.ms("land.lease_s")


def _own(tx: Tx, row: Row, owner: str, kind: str) -> None:
    until = tx.now + _lease(tx)
    if kind != "land":
        tx.run("own_landing", id=row["id"], owner=owner, until=until)
        return
    tx.run("take_landing", id=row["id"], owner=owner, until=until)
    if row["state"] == State.QUEUED:
        tx.event("land.started", names.SYSTEM, target=row["branch"], ref=row["id"], task=row["task"])


def _job(tx: Tx, row: Row) -> dict[str, Any]:
    full = find(tx, row["id"])
    author, title = full["author"] or names.SYSTEM, text.one_line(full["title"] or "", 200)
    subject = f"Land {full['change']}: {title}" if title else f"Land {full['change']}"
    about = " ".join(filter(None, (full["task"], f"by {author}", f"({full['worker']})")))
    return {
        "id": full["id"], "change": full["change"], "worker": full["worker"], "author": author, "head": full["head"],
        "expected": full["expected"], "result": full["result"], "undo": full["undo"], "step": full["step"],
        "undone": any(each["state"] == State.UNDONE for each in tx.all("landings_of_change", change=full["change"])),
        "message": f"{subject}\n\n{about}\n", "keep": landing.keep_under(tx.team, full["worker"]),
        **{name: full[name] for name in ("base", "paths", "added", "removed", "patch")},
        "files": json.loads(full["files"]),
    }  # fmt: skip


def keep(
    tx: Tx, owner: Owner, ids: Ids, *, step: Annotated[str, Arg("what is done now", choices=tuple(Step))] = ""
) -> dict[str, Any]:
    """Go on having them. Those that were dropped or taken meanwhile are not kept."""
    until = tx.now + _lease(tx)
    kept = [id for id in ids if tx.run("keep_landing", id=id, owner=owner, until=until, step=_step(step))]
    return {"kept": kept}


def _step(step: str) -> str:
    if step not in tuple(Step):
        raise errors.BadInput(f"No step {text.quoted(step)}.", f"One of: {', '.join(filter(None, Step))}.")
    return step


# -- what was seen ---------------------------------------------------------------------------------------------------


def shelve(world: World, args: Mapping[str, Any]) -> dict[str, Any]:
    """Before the transaction: what a check said becomes a file."""
    data = outputs.decode(args["output"], "base64", world.settings["artifacts.limit"])
    kept = world.shelf.keep("reports", "check.log", data)
    return {**args, "output": "", "kept": kept._asdict(), "tail": _tail(data)}


def _tail(data: bytes) -> str:
    lines = text.plain(data.decode("utf-8", "replace")).rstrip().splitlines()[-TAIL_LINES:]
    return "\n".join(lines)[-TAIL_CHARACTERS:]


def checked(
    tx: Tx,
    owner: Owner,
    ids: Ids,
    on: Annotated[str, Arg("the commit that was checked")],
    argv: Annotated[list[str], Arg("the command")],
    exit: Annotated[int, Arg("how it ended")],
    ms: Annotated[int, Arg("how long it took")],
    output: Annotated[str, Arg("the end of what it said, in base64")],
    *,
    timed_out: Annotated[bool, Arg("it took too long and was ended")] = False,
    kept: Annotated[dict[str, Any] | None, Arg("the file it became", hidden=True)] = None,
    tail: Annotated[str, Arg("its last lines", hidden=True)] = "",
) -> dict[str, Any]:
    """A check was run on what these would become together."""
    assert kept is not None, "shelved before"
    rows = [_mine(tx, owner, id) for id in _some(ids)]
    first = rows[0]
    log = artifacts.add(tx, f"{first['id']}-check.log", "", kind="report", task=first["task"], kept=kept)["id"]
    said = {"on": on, "argv": argv[:50], "exit": exit, "ms": ms, "timedOut": timed_out, "log": log, "at": tx.wall,
            "with": list(ids)}  # fmt: skip
    for row in rows:
        before: list[Any] = json.loads(row["checks"])
        tx.run("note_checks", id=row["change"], checks=json.dumps([*before, said][-KEPT_CHECKS:]))
        tx.run("landing_log", id=row["id"], log=log)
    return {"log": log, "tail": tail}


def moving(
    tx: Tx,
    owner: Owner,
    ids: Ids,
    links: Annotated[list[list[str]], Arg("of each: where the branch is before it, and after it")],
) -> dict[str, Any]:
    """Written before the branch moves; refused for all if one of them is no longer the caller's."""
    pairs = [(str(link[0]), str(link[1])) for link in links if len(link) == 2]
    if len(pairs) != len(ids) or not landing.is_chain(pairs):
        raise errors.BadInput("These are no chain.", "Each begins where the one before it ends.")
    until = tx.now + _lease(tx)
    for id, (expected, result) in zip(ids, pairs, strict=True):
        undoing = _mine(tx, owner, id)["state"] == State.UNDOING
        more = {} if undoing else {"expected": expected}
        if not tx.run(
            "moving_undo" if undoing else "moving_landing", id=id, owner=owner, result=result, until=until, **more
        ):
            raise _lost(id)
    return {"moving": list(ids)}


def _mine(tx: Tx, owner: str, id: str) -> Row:
    row = find(tx, id)
    if row["owner"] != owner or row["state"] not in (State.WORKING, State.UNDOING):
        raise _lost(id)
    return row


def _lost(id: str) -> errors.Refused:
    return errors.LeaseLost(f"{id} is no longer yours.", "It was dropped, or another lands it.", code="LAND_LOST")


def waits(tx: Tx, owner: Owner, ids: Ids, reason: Annotated[str, Arg("what is in the way")]) -> dict[str, Any]:
    """All is ready, and the branch can not be moved yet: a person is told, once."""
    why, until = text.one_line(reason, 500), tx.now + _lease(tx)
    for id in ids:
        row = _mine(tx, owner, id)
        tx.run("landing_waits", id=id, owner=owner, reason=why, told=why, until=until)
        if row["told"] != why and id == ids[0]:
            _tell_person(tx, row, why)
    return {"waiting": list(ids)}


def _tell_person(tx: Tx, row: Row, why: str) -> None:
    person = tx.find_agent(names.PERSON) or tx.make_agent(names.PERSON)
    tx.event("land.waits", names.SYSTEM, target=row["branch"], ref=row["id"], preview=why)
    held.tell(
        tx, [person["name"]], f"{row['id']} waits to land on {row['branch']}",
        f"{row['change']} ({row['title'] or row['worker']}) is ready, but {why}.\n\nIt is tried again until that is "
        f"settled. Commit or stash what is there, or take it out of the line: `rook land drop {row['id']}`.",
        tags=("land",),
    )  # fmt: skip


def again(
    tx: Tx,
    owner: Owner,
    ids: Ids,
    *,
    reason: Annotated[str, Arg("what went wrong, if it is to be tried later")] = "",
) -> dict[str, Any]:
    """Back into the line: the branch moved meanwhile, or, with a reason, something of the machine is not well."""
    why = text.one_line(reason, 500)
    for id in ids:
        row = find(tx, id)
        if row["owner"] != owner:
            continue  # dropped, or another has it
        later = tx.now + tx.settings.ms("land.retry_s") * min(1 << min(row["tries"], 6), 60) if why else 0
        told = why or row["told"]
        if why and row["step"] == Step.MOVING:  # the branch may have moved: what was written stays true
            tx.run("landing_later", id=id, owner=owner, told=told, not_before=later)
        else:
            tx.run("landing_again", id=id, owner=owner, reason=why, told=told, not_before=later)
        if why and row["told"] != why and id == ids[0]:
            _tell_person(tx, row, why)
    tx.ring(landing.KEEPER)
    return {"again": list(ids)}


# -- what came of it -------------------------------------------------------------------------------------------------


def done(tx: Tx, owner: Owner, ids: Ids) -> dict[str, Any]:
    """The branch has it."""
    for id in ids:
        row = _mine(tx, owner, id)
        if row["state"] == State.UNDOING:
            _undone(tx, owner, row)
        else:
            _landed(tx, owner, row)
    tx.ring(landing.KEEPER)
    return {"done": list(ids)}


def _landed(tx: Tx, owner: str, row: Row) -> None:
    there = "all of it was there already" if row["expected"] == row["result"] else ""
    if not tx.run("landing_landed", id=row["id"], owner=owner, at=tx.wall, reason=there):
        raise _lost(row["id"])
    told = {"change": row["change"], "task": row["task"], "from": row["expected"], "to": row["result"]}
    items.close(tx, row["id"])
    tx.event("land.landed", row["author"] or names.SYSTEM, target=row["branch"], ref=row["id"],
             preview=row["title"] or row["change"], **told)  # fmt: skip
    if not row["task"] or row["status"] is None:
        return
    held.note(tx, row["task"], "land", names.SYSTEM, f"{row['id']} landed on {row['branch']} as {row['result'][:12]}")
    if row["status"] in (tasks.Status.PENDING, tasks.Status.BLOCKED) and row["task_epoch"] == row["epoch"] + 1:
        # It had failed, was put back for another attempt, and landed after all before anyone began one.
        tx.run("task_landed", id=row["task"], at=tx.wall)
        items.close(tx, row["task"])
        tx.event("task.done", names.SYSTEM, ref=row["task"], preview=row["title"])
    if held.find(tx, row["task"])["status"] == tasks.Status.COMPLETED:
        unlocking.after_completion(tx, row["task"])


def _undone(tx: Tx, owner: str, row: Row) -> None:
    if not tx.run("landing_undone", id=row["id"], owner=owner):
        raise _lost(row["id"])
    tx.event("land.undone", row["asker"] or names.SYSTEM, target=row["branch"], ref=row["id"],
             preview=row["title"] or row["change"], to=row["undo"], task=row["task"])  # fmt: skip
    if row["task"] and row["status"] is not None:
        said = f"{row['id']} was taken back by {row['undo'][:12]}; `rook task reset` if it is to be done again"
        held.note(tx, row["task"], "land", row["asker"] or names.SYSTEM, said)


def failed(
    tx: Tx,
    owner: Owner,
    id: Annotated[str, Arg("the landing")],
    reason: Annotated[str, Arg("why it can not land as it is")],
    *,
    tail: Annotated[str, Arg("the last lines of what the check said")] = "",
    code: Annotated[str, Arg("of a reason that the user is told of besides")] = "",
) -> dict[str, Any]:
    """It goes back to whoever made it, with the log, for another attempt; what was to be taken back stays."""
    row, why = _mine(tx, owner, id), text.one_line(reason, 500)
    if not tx.run("landing_failed", id=id, owner=owner, reason=why):
        raise _lost(id)
    if row["state"] == State.UNDOING:
        _stays(tx, row, why)
        return {"id": id, "state": State.LANDED.value}
    tx.event("land.failed", row["author"] or names.SYSTEM, target=row["branch"], ref=id, preview=why,
             change=row["change"], task=row["task"], log=row["log"], code=code)  # fmt: skip
    last = text.plain(tail)[-TAIL_CHARACTERS:]
    if not _send_back(tx, row, why, last):
        _ask(tx, row, why, last)
    if code:
        _warn_user(tx, row, why, code)
    tx.ring(landing.KEEPER)
    return {"id": id, "state": State.FAILED.value}


def _warn_user(tx: Tx, row: Row, why: str, code: str) -> None:
    """Whatever else becomes of it: a record that is not true may be no mistake."""
    person = tx.find_agent(names.PERSON) or tx.make_agent(names.PERSON)
    held.tell(
        tx, [person["name"]], f"{row['id']} did not land: {code}",
        f"{row['change']} of {row['worker']} was not merged into {row['branch']}: {why}.\n\nIts worker may "
        f"have changed the repository since it reported. `rook changes show {row['change']}` shows the record; "
        f"`git diff {row['base'][:12]} {row['head'][:12]}` shows what the commit changes.", tags=("land",),
    )  # fmt: skip


def _ask(tx: Tx, row: Row, why: str, tail: str) -> None:
    """A crew goes on by itself, and asks when it is at its end; otherwise whoever asked for the worker decides."""
    worker = tx.one("worker", id=row["worker"])
    if worker is None or worker["crew"]:
        return
    asked_of = decider(tx, worker)
    items.ask(tx, items.Asked(
        "failure", row["id"], f"{row['id']} ({row['worker']}) did not land on {row['branch']}: {why}", asked_of["id"],
        f"{row['change']} stays off {row['branch']}", detail=f"{why}\n\n{tail}".strip(), worker=row["worker"],
    ))  # fmt: skip


def _stays(tx: Tx, row: Row, why: str) -> None:
    tx.event("land.not-undone", names.SYSTEM, target=row["branch"], ref=row["id"], preview=why)
    held.tell(
        tx, [row["asker"] or names.PERSON], f"{row['id']} could not be taken back",
        f"{row['change']} stays on {row['branch']}: {why}.\n\n`git revert {row['result'][:12]}` by hand, and resolve "
        "what conflicts.", tags=("land",),
    )  # fmt: skip


def _send_back(tx: Tx, row: Row, why: str, tail: str) -> bool:
    """As NEEDS_WORK does: with feedback, first to its author; after the last attempt its owner is asked. Was one?"""
    log = f"\n\nThe end of the log (all of it: `rook artifacts show {row['log']}`):\n\n{tail}" if tail else ""
    task = held.find(tx, row["task"]) if row["task"] and row["status"] is not None else None
    current = task is not None and task["status"] == tasks.Status.COMPLETED and task["epoch"] == row["epoch"]
    claim = f" (`rook task claim {row['task']}` first)" if current else ""
    if row["author"]:
        held.tell(
            tx, [row["author"]], f"Did not land: {row['task'] or row['change']} {row['title'] or ''}".strip(),
            f"{row['change']} can not land on {row['branch']}: {why}.\n\nIn your worktree: "
            f"`git merge {row['branch']}`, put right what is in the way, run the check yourself, and report it done "
            f"again{claim}.{log}", tags=("land",),
        )  # fmt: skip
    if task is None or not current:
        return False
    held.note(tx, task["id"], "land", names.SYSTEM, f"{row['id']} failed: {why}\n{tail}"[:2000])
    last = tasks.after_setback(task["attempts"], tx.settings["tasks.attempts"], tasks.Status.PENDING)
    given_up = f"did not land {task['attempts']} times: {why}"[:300] if last is tasks.Status.BLOCKED else ""
    free = last is tasks.Status.PENDING and task["assignee"] is None
    unlocking.move(
        tx, task, last, why=given_up,
        assignee=task["author"] if free else task["assignee"],
        assigned_until=tx.now + AUTHOR_FIRST_MS if free else task["assigned_until"],
    )  # fmt: skip
    tx.event("task.reset", names.SYSTEM, ref=task["id"], preview=f"did not land: {why}")
    if last is tasks.Status.BLOCKED:
        held.ask_owner(tx, task, f"{task['id']} did not land {task['attempts']} times", f"{why}\n\n{tail}".strip())
    return last is tasks.Status.BLOCKED
