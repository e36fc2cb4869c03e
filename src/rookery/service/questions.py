"""Questions of workers: asked of whoever started them, answered once, and bound to the words they were asked in (H35).

A worker that asked is `asking` until the last of its questions is answered or withdrawn. The answer is mail, so it
reaches a program that sleeps as any mail does.
"""

import json
from typing import Annotated, Any

from rookery.core import docket, errors, names, protocol, text, times, workers
from rookery.core.workers import Report, State
from rookery.store.port import Row

from . import decide, held, items
from .mailbox import checked_limit
from .tx import Tx
from .verbs import Arg
from .workers import of_agent

Run = Annotated[str, Arg("the run that speaks, as ROOK_RUN says", hidden=True)]
Id = Annotated[str, Arg("the question", positional=True, metavar="ID")]


def mine(tx: Tx, run: str) -> Row:
    """The worker that calls. A run that is over says nothing any more, whatever name it goes by."""
    me = tx.me()
    row = of_agent(tx, me)
    if row is None:
        raise protocol.not_a_worker(me["name"])
    if run and run != row["run"]:
        raise protocol.over(row["id"])
    if row["state"] == State.STARTING:
        raise protocol.starting(row["id"])
    return row


def shown(tx: Tx, row: Row, seq: int, word: str, said: str, **data: Any) -> None:
    """What a worker says of its work is evidence, too: under the number of the event that tells of it."""
    from rookery.core.evidence import Found

    from . import evidence

    title = f"{row['id']} {word}: {text.one_line(said, 150)}"
    found = Found("status", f"event:{seq}", title, said, {"word": word, **data}, word == "failed")
    evidence.put(tx, found, worker=row["id"], agent=row["agent"], task=row["task"], run=row["run"])


# -- asking ----------------------------------------------------------------------------------------------------------


def ask(
    tx: Tx,
    question: Annotated[str, Arg("what you need to know; - reads it from standard input", positional=True)],
    *,
    risk: Annotated[str, Arg("what a wrong answer would cost", choices=("", *protocol.Risk))] = "",
    options: Annotated[list[str] | None, Arg("an answer to choose from (repeatable)", flag="--option")] = None,
    recommendation: Annotated[str, Arg("what you would do, and why", flag="--recommend")] = "",
    plan: Annotated[bool, Arg("it is your plan, to be approved before you write")] = False,
    run: Run = "",
) -> dict[str, Any]:
    """The same words while they wait for an answer are the same question."""
    asked = protocol.question(question, risk=risk, options=options or [], advice=recommendation, plan=plan)
    row = mine(tx, run)
    if row["report"] in workers.SETTLED:
        raise protocol.settled(row["id"], row["report"], row["summary"])
    waiting = tx.all("open_questions_of", worker=row["id"])
    same = next((each for each in waiting if (each["question"], each["kind"]) == (asked.question, asked.kind)), None)
    tx.beat()
    if same is not None:
        return show(tx, same["id"]) | {"replayed": True}
    if len(waiting) >= protocol.OPEN:
        raise errors.Refused(
            f"{len(waiting)} questions of {row['id']} wait already.", "Wait for an answer: `rook wait`.",
            code="TOO_MANY_QUESTIONS",
        )  # fmt: skip
    return show(tx, _put(tx, row, asked))


def _put(tx: Tx, row: Row, asked: protocol.Question) -> str:
    decides = decider(tx, row)
    id = tx.new_id(protocol.QUESTION)
    title = f"{row['id']} ({row['name']}) {'has a plan' if asked.kind == protocol.PLAN else 'asks'}"
    item = _item(tx, row, asked, decides, title)
    tx.run(
        "new_question", id=id, worker=row["id"], kind=asked.kind, question=asked.question, risk=asked.risk,
        options=json.dumps(asked.options), advice=asked.advice, asked_of=decides["id"], item=item, at=tx.wall,
    )  # fmt: skip
    if not tx.run("set_report", id=row["id"], run=row["run"], report=Report.ASKING):
        raise protocol.over(row["id"])
    seq = tx.event("worker.asked", row["name"], target=decides["name"], ref=id, worker=row["id"], about=asked.kind,
                   preview=text.one_line(asked.question, 120), risk=asked.risk)  # fmt: skip
    shown(tx, row, seq, "asks", asked.question, question=id, about=asked.kind, risk=asked.risk)
    urgent = asked.risk == protocol.Risk.HIGH
    held.tell(
        tx, [decides["name"]], f"{title}: {text.one_line(asked.question, 120)}", _letter(row, id, asked),
        priority="urgent" if urgent else "high", tags=("worker", "question"), payload={"question": id},
    )  # fmt: skip
    tx.ring(workers.KEEPER)
    return id


def _item(tx: Tx, row: Row, asked: protocol.Question, decides: Row, title: str) -> str:
    before = tx.one("questions_counted", worker=row["id"])
    waits = "only reads until it is approved" if asked.kind == protocol.PLAN else "waits for the answer"
    return items.ask(tx, items.Asked(
        "question", row["id"], f"{title}: {text.one_line(asked.question, 200)}", decides["id"], f"{row['id']} {waits}",
        detail=asked.question, subject=docket.question_of(row["id"], (before["times"] if before else 0) + 1),
        worker=row["id"], rank=docket.Rank.NEEDS_INPUT, risk=docket.RISKS[asked.risk],
    ), by=row["agent"])  # fmt: skip


def _letter(row: Row, id: str, asked: protocol.Question) -> str:
    """What the worker wrote is marked, line by line; every other line is ours."""
    lines = [f"{row['id']} ({row['name']}) works on {row['task'] or 'nothing yet'} and waits for an answer to {id}."]
    if asked.risk:
        lines.append(f"It calls the risk {asked.risk}.")
    lines += ["", text.fence(asked.question)]
    for at, option in enumerate(asked.options, 1):
        lines.append(f"Option {at}:\n{text.fence(option)}")
    if asked.advice:
        lines.append(f"It recommends:\n{text.fence(asked.advice)}")
    if asked.kind == protocol.PLAN:
        lines += ["", f"`rook answer {id} --approve`, or `rook answer {id} --reject TEXT`. Until then it only reads."]
    else:
        option = f", or `rook answer {id} --option N`" if asked.options else ""
        lines += ["", f"`rook answer {id} TEXT`{option}. A reply to this message is an answer, too."]
    return "\n".join(lines)


def decider(tx: Tx, row: Row) -> Row:
    """Who decides about a worker: the nearest one above it that still runs, else whoever asked for it, else whoever
    leads, else the person."""
    asked_by, parent = row["asked_by"], row["parent"]
    while parent:
        above = tx.one("worker", id=parent)
        if above is None:  # it was forgotten, and with it who asked for it
            asked_by, parent = 0, ""
        elif above["state"] == State.ENDED:
            asked_by, parent = above["asked_by"], above["parent"]
        else:
            asked_by, parent = above["agent"], ""
    found = tx.one("agent_by_id", id=asked_by)
    if found is not None and found["name"] != names.SYSTEM and found["id"] != row["agent"]:
        return found
    leader = tx.leader()
    chief = tx.find_agent(leader) if leader else None
    if chief is not None and chief["id"] != row["agent"]:
        return chief
    return tx.find_agent(names.PERSON) or tx.make_agent(names.PERSON)


# -- answering -------------------------------------------------------------------------------------------------------


def answer(
    tx: Tx,
    id: Id,
    said: Annotated[str, Arg("the answer; - reads it from standard input", positional=True, metavar="TEXT")] = "",
    *,
    option: Annotated[int | None, Arg("the option that you choose, from 1", flag="-o", metavar="N")] = None,
    approve: Annotated[bool, Arg("the plan is good: it may write now")] = False,
    reject: Annotated[bool, Arg("the plan is not: say what must be otherwise")] = False,
) -> dict[str, Any]:
    row = find(tx, id)
    me = tx.me()
    refuse_others(tx, row, me)
    given = protocol.answer(row["kind"], json.loads(row["options"]), said, option, approve, reject)
    if row["state"] == protocol.ANSWERED and row["answered_by"] == me["id"] and _is_same(row, given):
        tx.beat()
        return _card(tx, row) | {"replayed": True}
    give(tx, row, me, given)
    _decided(tx, row, given)
    tx.beat()
    return show(tx, id)


def give(tx: Tx, row: Row, me: Row, given: protocol.Answer) -> None:
    """The answer, and the mail that carries it: both or nothing."""
    settle(tx, row, me, given)
    held.tell(
        tx, [row["asker"]], f"Answer to {row['id']}: {text.one_line(row['question'], 80)}",
        _answer_letter(row, me, given), tags=("worker", "answer"), payload={"answer_to": row["id"]},
    )  # fmt: skip


def _decided(tx: Tx, row: Row, given: protocol.Answer) -> None:
    """What is answered without looking at its card is in the log, too."""
    from . import decisions

    item = tx.one("item", id=row["item"])
    decisions.record(tx, decisions.Decided(
        verb_of(given), item["subject"] if item else row["id"], row["worker"], row["task"] or "",
        choice=str(given.choice or ""), said=given.words, effect={"question": row["id"]},
    ), item)  # fmt: skip


def verb_of(given: protocol.Answer) -> str:
    if given.approved is None:
        return docket.Action.ANSWER
    return docket.Action.APPROVE if given.approved else docket.Action.REVISE


def settle(tx: Tx, row: Row, me: Row, given: protocol.Answer) -> None:
    """The answer, once; the worker goes on when nothing else of it waits."""
    written = tx.run(
        "answer_question", id=row["id"], answer=given.words, choice=given.choice, by=me["id"],
        approved=None if given.approved is None else int(given.approved),
    )  # fmt: skip
    if not written:
        raise _not_open(tx, row)
    tx.run("close_review_item", item=row["item"])
    if given.approved:
        tx.run("open_plan_gate", id=row["worker"])
    if not tx.all("open_questions_of", worker=row["worker"]):
        tx.run("set_report", id=row["worker"], run=row["run"], report=Report.NONE)
    said = text.one_line(told(row, given), 120)
    tx.event("worker.answered", me["name"], target=row["asker"], ref=row["id"], preview=said, worker=row["worker"],
             choice=given.choice, approved=given.approved)  # fmt: skip
    tx.ring(row["asker"])


def answered_by_reply(tx: Tx, id: str, me: Row, body: str) -> str:
    """A reply to the message that carried a question is its answer, where words alone are one; what became of it."""
    row = find(tx, id)
    if row["kind"] == protocol.PLAN or row["state"] != protocol.OPENED:
        return row["state"]
    refuse_others(tx, row, me)
    given = protocol.answer(row["kind"], (), body[: protocol.NOTE_LIMIT], None, False, False)
    settle(tx, row, me, given)
    _decided(tx, row, given)
    return protocol.ANSWERED


def refuse_others(tx: Tx, row: Row, me: Row) -> None:
    if decide.is_own_work(tx, row["asker_id"]):
        raise errors.NotYours("Nobody answers their own question.", "`rook wait` waits for it.", code="OWN_QUESTION")
    above = tx.one("worker", id=row["parent"]) if row["parent"] else None
    if me["id"] not in (row["asked_of"], row["asked_by"], above["agent"] if above else 0) and not tx.may_steer(me):
        raise errors.NotYours(
            f"{row['id']} was asked of {row['decider']}.", f"`rook send {row['decider']}` says what you think of it.",
            code="NOT_ASKED",
        )  # fmt: skip


def _is_same(row: Row, given: protocol.Answer) -> bool:
    approved = None if row["approved"] is None else bool(row["approved"])
    return (row["answer"], row["choice"], approved) == tuple(given)


def told(row: Row, given: protocol.Answer) -> str:
    """The answer on one line."""
    parts = [] if given.approved is None else ["approved" if given.approved else "rejected"]
    if given.choice is not None:
        parts.append(f"option {given.choice}, {json.loads(row['options'])[given.choice - 1]}")
    return ": ".join(filter(None, ("; ".join(parts), given.words)))


def _answer_letter(row: Row, me: Row, given: protocol.Answer) -> str:
    lines = [f"{me['name']} answers your question {row['id']}:", text.fence(text.cut(row["question"], 1_000)[0])]
    if given.approved is not None:
        then = "approved. You may write now" if given.approved else "rejected. Change it, and `rook ask --plan` again"
        lines.append(f"Your plan is {then}.")
    if given.choice is not None:
        lines.append(f"Option {given.choice}:\n{text.fence(json.loads(row['options'])[given.choice - 1])}")
    if given.words:
        lines.append(f"In the words of {me['name']}:\n{text.fence(given.words)}")
    return "\n".join([*lines, "Go on from there; `rook done` when you are finished."])


# -- withdrawing -----------------------------------------------------------------------------------------------------


def withdraw(tx: Tx, row: Row, why: str) -> None:
    """Its worker reported without the answer, or is over."""
    for each in tx.all("open_questions_of", worker=row["id"]):
        tx.run("withdraw_question", id=each["id"], why=why)
        tx.run("close_review_item", item=each["item"])
        tx.event("worker.withdrew", row["name"], ref=each["id"], preview=why, worker=row["id"])
    if row["report"] == Report.ASKING:
        tx.run("set_report", id=row["id"], run=row["run"], report=Report.NONE)


# -- looking ---------------------------------------------------------------------------------------------------------


def find(tx: Tx, id: str) -> Row:
    row = tx.one("question", id=id)
    if row is None or row["asker_id"] is None:
        raise errors.UnknownName(
            f"No question {text.one_line(id, 40)}.", "`rook questions` lists those that wait.", code="UNKNOWN_QUESTION"
        )
    return row


def show(tx: Tx, id: Id) -> dict[str, Any]:
    return _card(tx, find(tx, id))


def listed(
    tx: Tx,
    *,
    worker: Annotated[str, Arg("everything that this worker asked", flag="-w")] = "",
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    most = checked_limit(limit, 50)
    if worker:
        from .workers import find as find_worker

        rows = tx.all("questions_of_worker", worker=find_worker(tx, worker)["id"], limit=most)
    else:
        rows = tx.all("questions_open", limit=most)
    return {"questions": [_card(tx, row) for row in rows]}


def _card(tx: Tx, row: Row) -> dict[str, Any]:
    return {
        "id": row["id"], "worker": row["worker"], "name": row["asker"] or "", "task": row["task"] or None,
        "kind": row["kind"], "question": row["question"], "risk": row["risk"], "options": json.loads(row["options"]),
        "recommendation": row["advice"], "askedOf": row["decider"] or "", "state": row["state"],
        "answer": row["answer"], "choice": row["choice"],
        "approved": None if row["approved"] is None else bool(row["approved"]), "answeredBy": row["answerer"],
        "at": times.iso(row["at"]), "answeredAt": tx.shown(row["answered_at"]) if row["answered_at"] else None,
    }  # fmt: skip


def _not_open(tx: Tx, row: Row) -> errors.Refused:
    now = find(tx, row["id"])
    given = protocol.Answer(now["answer"], now["choice"], None if now["approved"] is None else bool(now["approved"]))
    said = told(now, given) if now["state"] == protocol.ANSWERED else now["answer"]
    return protocol.not_open(
        row["id"], now["state"], now["answerer"] or "", tx.shown(now["answered_at"] or tx.now)[:16], said
    )
