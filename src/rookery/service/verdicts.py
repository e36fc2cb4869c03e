"""Verdicts: one decision about exactly what was looked at, with its effect, in one transaction.

    the subject names what is open ──> may this one decide, and so? ──> the effect ──> the decision, and the item closes
              └── it moved: refused, with the card of what is there now (H35)

What an action does is done by the functions that the other verbs use. If any of it is refused nothing of it happened,
the log among it (H37). Said again by the same one in the same words it is answered again.
"""

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from rookery.core import docket, errors, protocol, tasks, text, workers
from rookery.core.docket import Action, Matter, Standing
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from . import (
    changes,
    conflicts,
    decide,
    decisions,
    deliverables,
    held,
    items,
    landing,
    questions,
    results,
    reviews,
    steering,
    unlocking,
)
from . import docket as cards
from . import workers as working
from .docket import Item
from .tx import Tx
from .verbs import Arg


class Words(NamedTuple):
    said: str = ""
    option: int | None = None
    branch: str = ""
    rule: str = ""  # the rule that decides instead of a caller


Effect = Mapping[str, Any]


def verdict(
    tx: Tx,
    subject: cards.Named,
    action: Annotated[str, Arg("what is decided", positional=True, choices=tuple(Action), metavar="ACTION")],
    said: Annotated[str, Arg("in words; - reads them from standard input", positional=True, metavar="TEXT")] = "",
    *,
    option: Annotated[int | None, Arg("the option that you choose, from 1", flag="-o", metavar="N")] = None,
    branch: Annotated[str, Arg("of promote: another branch than the one its worker began at")] = "",
) -> dict[str, Any]:
    chosen = docket.action(action)
    words = Words(protocol.limited(said, "the words", protocol.NOTE_LIMIT).strip(), option, branch)
    found = cards.find(tx, subject)
    _refuse_vague(tx, subject, found)
    again = _given_before(tx, found, chosen, words)
    if again is not None:
        tx.beat()
        return again
    _refuse_moved(tx, found)
    _refuse_others(tx, found)
    docket.check(chosen, found.matter, cards.actions(found), words.said, option)
    if chosen is Action.CHAT:  # nothing is decided by it
        return _answer(found, chosen, {"command": f"rook attach {found.row['worker']}"}, "")
    effect = _DEEDS[found.matter, chosen](tx, found, words)
    made = _record(tx, found, chosen, words, effect)
    if chosen not in docket.OPEN_ENDED:
        tx.run("close_review_item", item=found.row["id"])
    tx.beat()
    return _answer(found, chosen, effect, made)


def _answer(found: Item, action: Action, effect: Effect, decision: str) -> dict[str, Any]:
    return {
        "subject": found.subject.text, "action": action, "effect": dict(effect), "decision": decision or None,
        "worker": found.row["worker"] or None, "open": action in docket.OPEN_ENDED,
    }  # fmt: skip


def _record(tx: Tx, found: Item, action: Action, words: Words, effect: Effect, rule: str = "") -> str:
    result = found.result
    return decisions.record(tx, decisions.Decided(
        action, found.subject.text, found.row["worker"], _task(found), result["head"] if result else "",
        str(words.option or ""), words.said, cards.refs(tx, found), effect, rule,
    ), found.row if found.row["id"] else None)  # fmt: skip


def _task(found: Item) -> str:
    if found.result is not None:
        return found.result["task"]
    ref: str = found.row["ref"]
    return ref if ref.startswith(docket.TASK) else found.worker["task"] if found.worker else ""


# -- whether it may --------------------------------------------------------------------------------------------------


def _refuse_vague(tx: Tx, written: str, found: Item) -> None:
    """A worker's name is good enough to look by, never to decide by."""
    if not docket.subject(written).is_exact:
        raise docket.say_which(text.one_line(written, 60), found.subject.text, cards.shown(tx, found))


def _given_before(tx: Tx, found: Item, action: Action, words: Words) -> dict[str, Any] | None:
    """The same decision by the same caller about the same item. A subject that is asked about again is a new item."""
    last = tx.one("last_decision_of", subject=found.subject.text)
    if last is None or last["actor"] != tx.me()["id"] or last["item"] != found.row["id"]:
        return None
    if (last["verb"], last["said"], last["choice"]) != (action, words.said[: decisions.SAID], str(words.option or "")):
        return None
    return _answer(found, action, json.loads(last["effect"]), last["id"]) | {"replayed": True}


def _refuse_moved(tx: Tx, found: Item) -> None:
    """Is what was looked at still what is asked?"""
    if found.is_open:
        return
    last = tx.one("last_decision_of", subject=found.subject.text)
    why = f"was decided: {last['verb']} by {last['by']}" if last else _became(found)
    now = _current(tx, found)
    raise docket.stale(found.subject.text, why, now.subject.text if now else "", cards.shown(tx, now) if now else None)


def _became(found: Item) -> str:
    if found.result is not None:
        return f"is {found.result['state']}"
    return f"was {found.question['state']}" if found.question is not None else "is not asked any more"


def _current(tx: Tx, found: Item) -> Item | None:
    """What is asked about the same worker instead."""
    rows = tx.all("items_of_worker", worker=found.row["worker"], limit=1) if found.row["worker"] else []
    return cards.whole(tx, rows[0]) if rows else None


def _refuse_others(tx: Tx, found: Item) -> None:
    """Whoever was asked decides, whoever started the worker, its parent, the leader, the person; never its author."""
    me, worker = tx.me(), found.worker
    author = found.result["agent"] if found.result else worker["agent"] if worker else 0
    if author and decide.is_own_work(tx, author):
        raise docket.own_work(found.subject.text)
    if me["id"] == found.row["asked_of"] or tx.may_steer(me):
        return
    parent = tx.one("worker", id=worker["parent"]) if worker and worker["parent"] else None
    if worker is None or me["id"] not in (worker["asked_by"], parent["agent"] if parent else 0):
        raise docket.not_asked(found.subject.text, found.row["decider"] or "the person")


# -- questions and plans ---------------------------------------------------------------------------------------------


def _answered(tx: Tx, found: Item, words: Words, *, approve: bool = False, reject: bool = False) -> Effect:
    row = found.question
    assert row is not None
    given = protocol.answer(row["kind"], json.loads(row["options"]), words.said, words.option, approve, reject)
    questions.give(tx, row, tx.me(), given)
    return {"question": row["id"]}


def _approved(tx: Tx, found: Item, words: Words) -> Effect:
    return _answered(tx, found, words, approve=True)


def _plan_sent_back(tx: Tx, found: Item, words: Words) -> Effect:
    return _answered(tx, found, words, reject=True)


def _stopped(tx: Tx, found: Item, words: Words) -> Effect:
    worker = _worker(found)
    questions.withdraw(tx, worker, "it is being stopped")
    working.end(tx, worker, workers.Wish.STOP, words.said[:300])
    return {"stopping": worker["id"]}


def _steered(tx: Tx, found: Item, words: Words) -> Effect:
    if found.worker is not None:
        sent = working.tell(tx, found.worker["id"], words.said)
    else:
        from . import post

        sent = post.send(tx, [found.row["asker"]], text.one_line(words.said, 80), words.said, priority="high")
    return {"message": sent["id"]}


def _worker(found: Item) -> Row:
    if found.worker is None:
        raise errors.Refused(f"{found.row['worker']} is forgotten.", "It can only be dismissed.", code="NO_WORKER")
    return found.worker


# -- results ---------------------------------------------------------------------------------------------------------


def _result(found: Item) -> Row:
    assert found.result is not None
    return deliverables.whole(found.result)


def _ship(tx: Tx, row: Row, said: str) -> Effect:
    """Where a review is due, the verdict is one."""
    task = tx.one("task_hold", id=row["task"]) if row["task"] else None
    if task is None or task["review"] != tasks.REVIEW_PENDING:
        return {}
    reviews.judge(tx, task, tasks.Verdict.SHIP, said, row["epoch"])
    return {"review": tasks.Verdict.SHIP}


def _promoted(tx: Tx, found: Item, words: Words) -> Effect:
    """That very commit: a change set that has another by now is not what was judged."""
    row = _result(found)
    change = changes.find(tx, row["change"])
    if change["head"] != row["head"]:
        raise docket.stale(found.subject.text, f"is not {row['change']} any more", found.subject.text, None)
    review = _ship(tx, row, words.said)
    lands = landing.put(tx, changes.find(tx, row["change"]), words.branch, words.rule)
    warned = conflicts.warnings(conflicts.of_change(tx, row["change"]))
    return {"landing": lands, "head": row["head"], "change": row["change"], **review,
            **({"warnings": warned} if warned else {})}  # fmt: skip


def _accepted(tx: Tx, found: Item, words: Words) -> Effect:
    row = _result(found)
    effect = _ship(tx, row, words.said)
    deliverables.settle(tx, row, Standing.ACCEPTED)
    return {"accepted": found.subject.text, **effect}


def _sent_back(tx: Tx, found: Item, words: Words) -> Effect:
    """Its worker goes on with the words, in its worktree; its task is its own again."""
    row, worker = _result(found), _worker(found)
    deliverables.settle(tx, row, Standing.REVISED)
    task = held.find(tx, row["task"]) if row["task"] else None
    if task is not None and task["review"] == tasks.REVIEW_PENDING:
        reviews.judge(tx, task, tasks.Verdict.NEEDS_WORK, words.said, row["epoch"])
    elif task is not None:
        _reopen(tx, task, worker, words.said)
    return _goes_on(tx, worker, row["task"], words.said)


def _reopen(tx: Tx, task: Row, worker: Row, said: str) -> None:
    """Its task is kept for it; what was said stands in its log."""
    unlocking.move(tx, task, tasks.Status.PENDING, attempts=max(0, task["attempts"] - 1), assignee=worker["agent"],
                   assigned_until=None)  # fmt: skip
    held.note(tx, task["id"], "review", tx.me()["name"], said[:2000] or "again")
    tx.event("task.reset", tx.me()["name"], ref=task["id"], preview=text.one_line(said, 120) or task["title"])


def _goes_on(tx: Tx, worker: Row, task: str, said: str) -> Effect:
    """With its program if that runs, else with a new run. A crew that is at work does that by itself."""
    if worker["crew"] and _crew_runs(tx, worker["crew"]):
        return {"worker": worker["id"], "how": "its crew goes on"}
    if worker["state"] == workers.State.ENDED:
        working.respawn(tx, worker["id"], reason=text.one_line(said, 300))
        return {"worker": worker["id"], "how": "a new run"}
    items.goes_on(tx, worker["id"])
    if task and worker["report"] in workers.SETTLED and held.find(tx, task)["status"] == tasks.Status.PENDING:
        from . import crews

        crews.hand(tx, worker, task)
    else:
        tx.run("reopen_report", id=worker["id"])
        held.tell(tx, [worker["name"]], f"Sent back: {worker['title']}"[:500], text.fence(said), tags=("worker",))
    return {"worker": worker["id"], "how": "it goes on"}


def _crew_runs(tx: Tx, id: str) -> bool:
    crew = tx.one("crew", id=id)
    return crew is not None and crew["state"] == "running"


def _rejected(tx: Tx, found: Item, words: Words) -> Effect:
    """It is not wanted: its task is canceled, and its worker has nothing more to do."""
    row = _result(found)
    deliverables.settle(tx, row, Standing.REJECTED)
    return {"rejected": found.subject.text, **_give_up(tx, row["task"], words.said), **_let_go(tx, found, False)}


def _discarded(tx: Tx, found: Item, words: Words) -> Effect:
    """And nothing of it is kept: its change does not land, and its worktree may go."""
    effect: dict[str, Any] = {"discarded": found.subject.text}
    if found.result is not None:
        row = _result(found)
        deliverables.settle(tx, row, Standing.DISCARDED)
        effect.update(_give_up(tx, row["task"], words.said))
    return {**effect, **_let_go(tx, found, True)}


def _give_up(tx: Tx, id: str, said: str) -> Effect:
    task = tx.one("task_hold", id=id) if id else None
    if task is None or task["status"] == tasks.Status.CANCELED:
        return {}
    unlocking.move(tx, task, tasks.Status.CANCELED, why=said[:300], ended=tx.wall)
    tx.event("task.canceled", tx.me()["name"], ref=id, preview=text.one_line(said, 120) or task["title"])
    unlocking.tell_setback(tx, task, "was rejected", said, ask=False)
    unlocking.finish_plan(tx, task["plan"])
    return {"canceled": id}


def _let_go(tx: Tx, found: Item, forget: bool) -> Effect:
    worker = found.worker
    if worker is None:
        return {}
    if worker["state"] != workers.State.ENDED:
        working.end(tx, worker, workers.Wish.STOP, f"{found.subject.text} is not wanted")
        return {"stopping": worker["id"]}
    if not forget:
        return {}
    tx.run("let_go_of_worker", id=worker["id"])
    tx.ring(workers.KEEPER)
    return {"forgotten": worker["id"]}


def _bundled(tx: Tx, found: Item, words: Words) -> Effect:
    """A result, or a piece of evidence, by itself; of a run that failed, the most telling of it."""
    from . import bundles

    exact = found.result is not None or found.matter in (Matter.ERROR, Matter.FILE)
    refs, worker = ([found.subject.text], "") if exact else ([], found.row["worker"])
    return {"bundle": bundles.save(tx, refs, title=text.one_line(words.said, 100), worker=worker)["id"]}


def _dismissed(tx: Tx, found: Item, words: Words) -> Effect:
    if found.result is not None:
        deliverables.settle(tx, found.result, Standing.DISMISSED)
    return {"dismissed": found.subject.text}


# -- what failed -----------------------------------------------------------------------------------------------------


def _run_again(tx: Tx, found: Item, words: Words) -> Effect:
    worker = _worker(found)
    task = tx.one("task_hold", id=worker["task"]) if worker["task"] else None
    if task is not None and task["status"] not in (tasks.Status.COMPLETED, tasks.Status.IN_PROGRESS):
        _reopen(tx, task, worker, words.said or "try again")
    return _goes_on(tx, worker, worker["task"], words.said or "Try again.")


def _land_again(tx: Tx, found: Item, words: Words) -> Effect:
    return {"landing": landing.retry(tx, found.row["ref"])["id"]}


def _landing_sent_back(tx: Tx, found: Item, words: Words) -> Effect:
    worker, lands = _worker(found), landing.find(tx, found.row["ref"])
    task = tx.one("task_hold", id=lands["task"]) if lands["task"] else None
    if task is not None and task["status"] not in (tasks.Status.COMPLETED, tasks.Status.IN_PROGRESS):
        _reopen(tx, task, worker, words.said)
    return _goes_on(tx, worker, lands["task"], words.said)


def _landing_dropped(tx: Tx, found: Item, words: Words) -> Effect:
    landing.drop(tx, found.row["ref"], words.said)
    return {"dropped": found.row["ref"]}


def _task_again(tx: Tx, found: Item, words: Words) -> Effect:
    return {"reset": steering.reset(tx, found.row["ref"], words.said)["reset"]}


def _task_canceled(tx: Tx, found: Item, words: Words) -> Effect:
    return {"canceled": steering.cancel(tx, found.row["ref"], words.said)["canceled"]}


Deed = Callable[[Tx, Item, Words], Effect]
_DEEDS: Mapping[tuple[Matter, Action], Deed] = {
    (Matter.QUESTION, Action.ANSWER): _answered,
    (Matter.QUESTION, Action.STOP): _stopped,
    (Matter.PLAN, Action.APPROVE): _approved,
    (Matter.PLAN, Action.REVISE): _plan_sent_back,
    (Matter.PLAN, Action.STOP): _stopped,
    (Matter.CHANGE, Action.PROMOTE): _promoted,
    (Matter.CHANGE, Action.ACCEPT): _accepted,
    (Matter.CHANGE, Action.REVISE): _sent_back,
    (Matter.CHANGE, Action.REJECT): _rejected,
    (Matter.CHANGE, Action.DISCARD): _discarded,
    (Matter.RESULT, Action.ACCEPT): _accepted,
    (Matter.RESULT, Action.REVISE): _sent_back,
    (Matter.RESULT, Action.REJECT): _rejected,
    (Matter.RUN, Action.RETRY): _run_again,
    (Matter.RUN, Action.DISCARD): _discarded,
    (Matter.LANDING, Action.RETRY): _land_again,
    (Matter.LANDING, Action.REVISE): _landing_sent_back,
    (Matter.LANDING, Action.DISCARD): _landing_dropped,
    (Matter.TASK, Action.RETRY): _task_again,
    (Matter.TASK, Action.REJECT): _task_canceled,
    **{(each, Action.STEER): _steered for each in Matter},
    **{(each, Action.BUNDLE): _bundled for each in Matter},
    **{(each, Action.DISMISS): _dismissed for each in Matter},
}


# -- by a rule -------------------------------------------------------------------------------------------------------


def by_rule(tx: Tx, worker: Row, row: Row, rule: str, risk: docket.Risk) -> None:
    """In the transaction of the report, in the name of the system; the decision names the rule."""
    tx.as_agent(results.system(tx), lambda: _by_rule(tx, row, rule, risk))


def _by_rule(tx: Tx, row: Row, rule: str, risk: docket.Risk) -> None:
    found = cards.find(tx, docket.result_of(row["worker"], row["version"]))
    action = Action.PROMOTE if row["change"] else Action.ACCEPT
    effect = _DEEDS[found.matter, action](tx, found, Words(rule=rule))
    said = results.decided(tx, row, action, effect=effect, rule=rule)
    decisions.record(tx, decisions.Decided(**said), {"id": "", "risk": int(risk), "created_at": tx.now})
