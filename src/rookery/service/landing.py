"""The merge queue, for people and for the verbs that finish work: what stands in line, and who puts it there.

What is done about it is a keeper's (`lander.py`). A task whose work stands in line is not what others wait for yet:
they begin at the tip of the branch, and it is not there (`unmet_deps`).
"""

import json
from typing import Annotated, Any

from rookery.core import errors, landing, tasks, text, times
from rookery.core.docket import Action
from rookery.core.landing import Approval, Basis, State
from rookery.store.port import Row

from . import changes, conflicts, decide, deliverables, held, items, policies, unlocking
from .mailbox import checked_limit
from .tx import Tx
from .verbs import Arg

PREFIX = "land-"
Id = Annotated[str, Arg("the landing", positional=True, metavar="ID")]
Reason = Annotated[str, Arg("why", flag="-m")]


# -- by itself -------------------------------------------------------------------------------------------------------


def after_done(tx: Tx, task: str, basis: Basis = Basis.OPTION) -> None:
    """A task was completed: its change set stands in line, if it lands by itself and nobody has to judge it first.
    Asked before those who wait for the task are let go."""
    rows = tx.all("changes_of_task", task=task, limit=1)
    if not rows:
        return
    row, change = held.find(tx, task), changes.find(tx, rows[0]["id"])
    if change["epoch"] != row["epoch"] or not change["branch"] or change["root"] is None:
        return
    if policies.keeps_from_landing(tx, change["worker"]):
        return
    if not tasks.is_met(tasks.Status(row["status"]), row["review"]):
        return
    if landing.is_approved(approval(tx, change, basis)):
        _enqueue(tx, change, change["branch"])


def after_ship(tx: Tx, task: str) -> None:
    """A review was passed by whoever calls."""
    after_done(tx, task, Basis.REVIEW)


def approval(tx: Tx, change: Row, basis: Basis, rule: str = "") -> Approval:
    """What the ledger knows for the one decision, `core.landing.is_approved`."""
    if basis is Basis.RULE:
        return Approval(basis, has_rule=any(row["active"] and row["name"] == rule for row in tx.all("rules")))
    if basis is Basis.VERDICT:
        return Approval(basis, by_user=decide.is_user(tx))
    wanted = is_wanted(tx, change)
    if basis is Basis.OPTION or not wanted:
        return Approval(basis, is_wanted=wanted)
    return Approval(
        basis, by_user=decide.is_user(tx), is_wanted=wanted, by_reviewer=_is_assigned(tx, change),
        is_own=decide.is_own_work(tx, change["agent"]),
    )  # fmt: skip


def _is_assigned(tx: Tx, change: Row) -> bool:
    """Is the caller the worker that the crew of this change started to review its task?"""
    worker = tx.one("worker_of_agent", agent=tx.me()["id"])
    return (
        worker is not None and worker["role"] == "review" and bool(worker["crew"])
        and worker["crew"] == change["crew"] and worker["task"] == change["task"]
    )  # fmt: skip


def is_wanted(tx: Tx, row: Row) -> bool:
    """`row` has the `crew` of its worker."""
    return landing.is_wanted(terms_of(tx, row["crew"]), tx.settings["land.auto"])


def terms_of(tx: Tx, crew: str | None) -> dict[str, Any]:
    found = tx.one("crew_terms", id=crew) if crew else None
    return json.loads(found["terms"]) if found else {}


def _enqueue(tx: Tx, change: Row, branch: str) -> str:
    """The landing of a change set; one that failed goes back into the line, any other is the same as before."""
    me = tx.me()
    known = tx.one("landing_of_change", change=change["id"])
    if known is not None:
        if known["state"] == State.FAILED and tx.run("requeue_landing", id=known["id"], branch=branch):
            _queued(tx, known["id"], me["name"], change, branch)
        deliverables.lands(tx, change["id"])
        return known["id"]
    number = tx.one("raise_counter", name="land")
    assert number is not None
    id = f"{PREFIX}{number['value']:04d}"
    tx.run(
        "new_landing", n=number["value"], id=id, change=change["id"], task=change["task"], worker=change["worker"],
        machine=change["machine"], root=change["root"], branch=branch, head=change["head"], asked_by=me["id"],
        at=tx.wall,
    )  # fmt: skip
    _queued(tx, id, me["name"], change, branch)
    return id


def _queued(tx: Tx, id: str, by: str, change: Row, branch: str) -> None:
    what = change["title"] or change["id"]
    tx.event("land.queued", by, target=branch, ref=id, preview=what, change=change["id"], task=change["task"])
    items.close(tx, id)  # that it did not land before
    deliverables.lands(tx, change["id"])
    tx.ring(landing.KEEPER)


# -- by hand ---------------------------------------------------------------------------------------------------------


def listed(
    tx: Tx,
    *,
    state: Annotated[str, Arg("only those", choices=("", *State))] = "",
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    if state not in ("", *State):
        raise errors.BadInput(f"No state {text.quoted(state)}.", f"One of: {', '.join(State)}.")
    rows = tx.all("landings", state=state, limit=checked_limit(limit, 50))
    return {"landings": [card(row) for row in rows]}


def add(
    tx: Tx,
    change: Annotated[str, Arg("the change set", positional=True, metavar="CHANGE")],
    *,
    branch: Annotated[str, Arg("on which branch; left out: the one its worker began at")] = "",
) -> dict[str, Any]:
    """Put in line by hand; asking twice is asking once."""
    row = changes.find(tx, change)
    delivered = tx.one("open_deliverable_of_change", change=row["id"])
    id = put(tx, row, branch)
    if delivered is not None:
        _decided(tx, deliverables.find(tx, delivered["worker"], delivered["version"]), id)
    tx.beat()
    return card(find(tx, id)) | {"warnings": conflicts.warnings(conflicts.of_change(tx, row["id"]))}


def _decided(tx: Tx, delivered: Row, id: str) -> None:
    """Whoever puts a result in line has judged it, card or no card."""
    from . import decisions, results

    said = results.decided(tx, delivered, Action.PROMOTE, effect={"landing": id})
    decisions.about(tx, decisions.Decided(**said))


def put(tx: Tx, row: Row, branch: str, rule: str = "") -> str:
    """Put a change in the merge queue, if the user or a rule of theirs says so."""
    change, me = row["id"], tx.me()
    _require_approval(tx, row, rule)
    policies.check(tx, me)
    if why := policies.keeps_from_landing(tx, row["worker"]):
        raise errors.Refused(f"{change} does not land: {why}.", code="READ_ONLY")
    onto = _checked_branch(branch or row["branch"])
    refusal = landing.add_refusal(
        landing.Judged(
            id=row["id"], by_author=row["agent"] == me["id"], may_steer=tx.may_steer(me), has_task=bool(row["task"]),
            status=row["status"] or "", review=row["review"] or "", newest=changes.newest(tx, row), branch=onto,
        )
    )  # fmt: skip
    if refusal is not None:
        raise refusal
    if row["root"] is None:
        raise errors.Refused(f"The worker of {change} is gone, and with it where its repository is.", code="NO_WORKER")
    return _enqueue(tx, row, onto)


def _require_approval(tx: Tx, change: Row, rule: str = "") -> None:
    basis = Basis.RULE if rule else Basis.VERDICT
    if landing.is_approved(approval(tx, change, basis, rule)):
        return
    decide.require_user(tx, "land a change")
    raise errors.NotYours(
        f"{change['id']} does not land: there is no rule {text.quoted(rule, 40)}.", "`rook rule list`."
    )


def _checked_branch(name: str) -> str:
    """Only what can not be an option or lead elsewhere; whether there is such a branch is seen later."""
    odd = name.startswith(("-", "/", ".")) or name.endswith(("/", ".", ".lock")) or ".." in name or "//" in name
    if odd or len(name) > 200 or any(each in " ~^:?*[\\" or not each.isprintable() for each in name):
        raise errors.BadInput(f"{text.quoted(name)} is no branch.", "A branch of the repository, as main.")
    return name


def retry(tx: Tx, id: Id) -> dict[str, Any]:
    """Once more, as it is: a check that failed for reasons of its own, or a wait that can be over."""
    row = find(tx, id)
    refusal = landing.retry_refusal(id, row["state"], row["task"], row["status"] or "")
    if refusal is not None:
        raise refusal
    change = changes.find(tx, row["change"])
    _require_approval(tx, change)
    tx.run("requeue_landing", id=id, branch=row["branch"])
    _queued(tx, id, tx.me()["name"], change, row["branch"])
    tx.beat()
    return card(find(tx, id))


def undo(tx: Tx, id: Id) -> dict[str, Any]:
    """What landed is taken back by a commit of its own. Its task stays as it is."""
    row = find(tx, id)
    refusal = landing.undo_refusal(id, row["state"], row["expected"], row["result"])
    if refusal is not None:
        raise refusal
    me = tx.me()
    tx.run("undo_landing", id=id, asked_by=me["id"])
    tx.event("land.undo-asked", me["name"], target=row["branch"], ref=id, preview=row["title"] or row["change"])
    tx.ring(landing.KEEPER)
    tx.beat()
    return card(find(tx, id))


def drop(tx: Tx, id: Id, reason: Reason = "") -> dict[str, Any]:
    """Out of the line, for good: whoever waits for its task waits no longer."""
    decide.require_user(tx, "drop a landing")
    row = find(tx, id)
    refusal = landing.drop_refusal(id, row["state"], row["step"], row["reason"])
    if refusal is not None:
        raise refusal
    why = text.one_line(reason, 300)
    tx.run("drop_landing", id=id, reason=why)
    items.close(tx, id)
    tx.event(
        "land.dropped", tx.me()["name"], target=row["branch"], ref=id, preview=why or row["title"] or row["change"]
    )
    if row["task"] and row["status"] == tasks.Status.COMPLETED:
        held.note(tx, row["task"], "land", tx.me()["name"], f"{id} was dropped: {why}" if why else f"{id} was dropped")
        unlocking.after_completion(tx, row["task"])
    tx.ring(landing.KEEPER)
    tx.beat()
    return card(find(tx, id))


def find(tx: Tx, id: str) -> Row:
    row = tx.one("landing", id=id)
    if row is None:
        raise errors.UnknownName(f"No landing {text.one_line(id, 40)}.", "`rook land list`.", code="UNKNOWN_LANDING")
    return row


def card(row: Row) -> dict[str, Any]:
    return {
        "id": row["id"], "change": row["change"], "task": row["task"], "title": row["title"] or "",
        "worker": row["worker"], "author": row["author"] or "", "branch": row["branch"], "head": row["head"],
        "state": row["state"], "step": row["step"], "expected": row["expected"], "result": row["result"],
        "undo": row["undo"], "reason": row["reason"], "log": row["log"], "tries": row["tries"],
        "askedBy": row["asker"] or "", "at": times.iso(row["at"]),
        "landedAt": times.iso(row["landed_at"]) if row["landed_at"] is not None else None,
    }  # fmt: skip
