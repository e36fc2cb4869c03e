"""What a worker says of its work: progress, done, fail. (Questions: `questions`; the law: `core.protocol`.)

A result is looked at before it counts. What its words lack is told at once; what it names as evidence is looked up, and
what lies in its worktree is captured, before the transaction (`gathered`); then its task ends, under its lease, in the
transaction that settles the report. The same report again is answered again.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import docket, errors, protocol, tasks, text, times, workers
from rookery.core.workers import Report
from rookery.store.port import Row

from . import changes, deliverables, held, items, leases, questions, results
from .questions import Run, mine
from .tx import Tx
from .verbs import Arg, Ask
from .workers import of_agent
from .world import World

SHOWN = 2_000  # characters of a summary in a message


# -- who calls -------------------------------------------------------------------------------------------------------


def who_am_i(
    tx: Tx, *, artifacts: Annotated[list[str] | None, Arg("look up whether these are there", hidden=True)] = None
) -> dict[str, Any]:
    """`worker` is null for everyone else: doors tell by it whose words `done` and the others are."""
    me = tx.me()
    row = of_agent(tx, me)
    if row is None:
        return {"agent": me["name"], "worker": None}
    gone = [id for id in artifacts or [] if tx.one("artifact", id=id) is None and tx.one("bundle", id=id) is None]
    told = ("id", "name", "task", "role", "report", "run", "state", "machine", "root", "tree", "base", "title")
    return {
        "agent": me["name"],
        "worker": {name: row[name] for name in told} | {"writes": writes(row), "gone": gone},
    }


def writes(row: Row) -> bool:
    """Is it there to change something? Who judges, plans or only looks is not."""
    return row["role"] not in ("review", "plan") and not json.loads(row["profile"]).get("read_only", False)


# -- progress --------------------------------------------------------------------------------------------------------


def progress(
    tx: Tx,
    steps: Annotated[
        list[str] | list[dict[str, Any]] | None,
        Arg("your steps, all of them, as `doing: the parser` (todo, doing, done)", positional=True, metavar="STEP"),
    ] = None,
    *,
    note: Annotated[str, Arg("what was achieved, for the task's log", flag="-m")] = "",
    run: Run = "",
) -> dict[str, Any]:
    """The board is replaced; nothing is decided by it. Said again it changes nothing."""
    if steps is None and not note.strip():
        raise errors.BadInput("What is the progress?", "Steps as `doing: the parser`, or -m NOTE.")
    shown = protocol.board(steps) if steps is not None else None
    said = protocol.limited(note, "the note", protocol.NOTE_LIMIT).strip()
    row = mine(tx, run)
    changed = shown is not None and bool(tx.run("set_board", id=row["id"], board=json.dumps(shown)))
    if said and row["task"] and not _is_noted(tx, row, said):
        held.note(tx, row["task"], "progress", row["name"], said)
        changed = True
    if changed:
        far = _how_far(shown if shown is not None else json.loads(row["board"]))
        seq = tx.event("worker.progress", row["name"], target=row["name"], ref=row["id"], preview=said[:120] or far,
                       far=far)  # fmt: skip
        questions.shown(tx, row, seq, "progress", said or far, far=far)
    tx.beat()
    return {"id": row["id"], "board": shown if shown is not None else json.loads(row["board"]), "note": said,
            "changed": changed}  # fmt: skip


def _is_noted(tx: Tx, row: Row, said: str) -> bool:
    """What it said last, said again."""
    last = tx.all("task_notes", task=row["task"], limit=1)
    return bool(last) and (last[0]["kind"], last[0]["by"], last[0]["note"]) == ("progress", row["name"], said)


def _how_far(board: Sequence[Mapping[str, str]]) -> str:
    done = sum(each["state"] == protocol.Stage.DONE for each in board)
    doing = next((each["text"] for each in board if each["state"] == protocol.Stage.DOING), "")
    return f"{done} of {len(board)}{f': {doing}' if doing else ''}"


# -- done ------------------------------------------------------------------------------------------------------------


def gathered(world: World, args: Mapping[str, Any], ask: Ask) -> dict[str, Any]:
    """Before the transaction: is this a result, is its evidence there, and what did it change?"""
    said = _said(args)
    asked = ask("worker.self", {"artifacts": list(said.evidence.artifacts)})
    own: dict[str, Any] | None = asked["worker"]
    if own is None:
        raise protocol.not_a_worker(asked["agent"])
    _refuse_early(own, args.get("run", ""))
    found: dict[str, Any] = {"worker": own["id"], "run": own["run"], "change": None}
    if own["report"] in workers.SETTLED:
        return {**args, "found": found}  # said before: the transaction tells whether it was the same
    if lacks := protocol.missing(said):
        raise protocol.turned_back(lacks)
    if own["machine"] != world.host:
        raise errors.Refused(f"{own['id']} works on {own['machine']}.", "Report from there.", code="OTHER_MACHINE")
    lacking = _not_there(world, own, said.evidence)
    if lacking:  # before anything is committed for it
        raise protocol.turned_back([*lacking])
    change = _captured(world, own, f"{own['title'] or own['task']}\n\n{said.summary}".strip(), ask)
    changed = _is_changed(own, said.evidence, change)
    if lacks := protocol.missing(said, protocol.Around(own["writes"], changed)):
        raise protocol.turned_back(lacks)
    return {**args, "found": found | {"change": change}}


def _said(args: Mapping[str, Any]) -> protocol.Result:
    evidence, commits, tests = (args.get(name) or () for name in ("evidence", "commits", "tests"))
    said, unchanged = args.get("summary", ""), args.get("unchanged", "")
    return protocol.result(args.get("outcome", ""), said, evidence, commits, tests, unchanged)


def _refuse_early(own: Mapping[str, Any], run: str) -> None:
    if run and run != own["run"]:
        raise protocol.over(own["id"])
    if own["state"] == workers.State.STARTING:
        raise protocol.starting(own["id"])
    if own["role"] == "review":
        raise errors.Refused(
            f"{own['id']} reviews: its result is a verdict.",
            f"`rook task review {own['task']} SHIP|NEEDS_WORK|MAJOR_RETHINK -m FEEDBACK`; with tools, `done` with the "
            "verdict as outcome.", code="VERDICT_WANTED",
        )  # fmt: skip


def _not_there(world: World, own: Mapping[str, Any], evidence: protocol.Evidence) -> list[str]:
    """Evidence that is named and can not be found, each with a word about it."""
    where = own["tree"] or own["root"]
    commits = world.workspaces.unknown_commits(where, evidence.commits) if evidence.commits else []
    files = [each for each in evidence.files if not world.workspaces.has_file(where, each)]
    return [
        *(f"artifacts that are there: {each} is not (`rook artifacts`)" for each in own["gone"]),
        *(f"commits that are there: {each} is not in the repository" for each in commits),
        *(f"evidence that can be looked up: there is no file {text.quoted(each)} in {where}" for each in files),
    ]


def _captured(world: World, own: Mapping[str, Any], message: str, ask: Ask) -> dict[str, Any] | None:
    """What lies in a worktree of its own, committed and told apart from what others did."""
    return changes.captured(world, own, message, ask=ask) if own["tree"] else None


def _is_changed(own: Mapping[str, Any], evidence: protocol.Evidence, change: Mapping[str, Any] | None) -> bool:
    """In a tree of its own that can be seen; where it works among others, by what it names."""
    if own["tree"]:
        return bool(change and change["paths"])
    return bool(evidence.commits or evidence.files)


def done(
    tx: Tx,
    outcome: Annotated[str, Arg("completed, findings, proposal or no_evidence")] = "",
    summary: Annotated[str, Arg("what was done, where, and how you know; - reads standard input", flag="-m")] = "",
    *,
    evidence: Annotated[list[str] | None, Arg("an artifact, a commit or a file that shows it (repeatable)")] = None,
    commits: Annotated[list[str] | None, Arg("a commit that belongs to it (repeatable)", flag="--commit")] = None,
    tests: Annotated[list[str] | None, Arg("a test run, as `pytest -q: 12 passed` (repeatable)", flag="--test")] = None,
    unchanged: Annotated[str, Arg("why nothing had to be changed")] = "",
    run: Run = "",
    found: Annotated[dict[str, Any] | None, Arg("what was looked up before", hidden=True)] = None,
) -> dict[str, Any]:
    assert found is not None, "gathered before"
    said = protocol.result(outcome, summary, evidence or [], commits or [], tests or [], unchanged)
    row = mine(tx, run)
    if row["report"] in workers.SETTLED:
        return _again(tx, row, Report.DONE, said.outcome, said.summary)
    if (found["worker"], found["run"]) != (row["id"], row["run"]):
        raise protocol.over(row["id"])
    questions.withdraw(tx, row, "its worker reported without the answer")
    change, epoch = _complete(tx, row, said, found["change"])
    if not tx.run("settle_report", id=row["id"], run=row["run"], report=Report.DONE, outcome=said.outcome,
                  summary=said.summary):  # fmt: skip
        raise protocol.over(row["id"])
    _sums_up(tx, row, said.summary)
    items.goes_on(tx, row["id"])
    version = deliverables.write(tx, row, said, change, epoch)
    _told(tx, row, "done", said.summary, outcome=said.outcome, change=change, evidence=said.evidence._asdict(),
          version=version["version"])  # fmt: skip
    results.reported(tx, row, version)
    tx.beat()
    return _reported(tx, row["id"])


def _sums_up(tx: Tx, row: Row, summary: str) -> None:
    """Was it to sum up a bundle?"""
    if tx.one("bundle_of_summarizer", worker=row["id"]):
        from . import bundles

        bundles.summarized(tx, row["id"], summary)


def _complete(tx: Tx, row: Row, said: protocol.Result, captured: Mapping[str, Any] | None) -> tuple[str, int]:
    """Its task ends under the claim of this run; the change set, if there is any, and which completion it is. A task
    that it completed before, and that nobody took up since, has ended."""
    task = held.find(tx, row["task"]) if row["task"] else None
    if captured and said.outcome != protocol.Outcome.COMPLETED:
        captured = {**captured, "branch": ""}  # kept to be looked at: what is no completed work does not land by itself
    epoch = task["epoch"] if task else 0
    change = changes.record(tx, row, captured, row["task"], epoch) if captured else ""
    if task is None or (task["status"] == tasks.Status.COMPLETED and task["author"] == row["agent"]):
        return change, epoch
    shown = said.evidence
    notes = [*shown.artifacts, *shown.files, *([f"unchanged: {said.unchanged}"[:500]] if said.unchanged else [])]
    evidence = {"commits": shown.commits, "tests": shown.tests, "prs": (), "notes": notes}
    leases.complete(tx, task, said.summary, evidence, epoch=epoch)
    return change, epoch


# -- fail ------------------------------------------------------------------------------------------------------------


def fail(
    tx: Tx, reason: Annotated[str, Arg("what stood in the way, and what you tried", flag="-m")], *, run: Run = ""
) -> dict[str, Any]:
    why = protocol.reason(reason)
    row = mine(tx, run)
    if row["report"] in workers.SETTLED:
        return _again(tx, row, Report.FAILED, "", why)
    questions.withdraw(tx, row, "its worker gave up")
    knows = ""
    if row["task"] and row["role"] != "review":
        task = held.find(tx, row["task"])
        leases.give_up(tx, task, why, epoch=task["epoch"])
        knows = held.owner_of(tx, task)["name"]  # whose task fails is told of that
    elif not row["crew"]:
        items.ask(tx, items.Asked(
            "failure", row["id"], f"{row['id']} ({row['name']}) failed: {why}", questions.decider(tx, row)["id"],
            f"{row['id']} is forgotten after a while", detail=why, worker=row["id"],
            subject=docket.run_of(row["id"], row["runs"]),
        ))  # fmt: skip
    if not tx.run("settle_report", id=row["id"], run=row["run"], report=Report.FAILED, outcome="", summary=why):
        raise protocol.over(row["id"])
    _told(tx, row, "failed", why, knows=knows)
    tx.beat()
    return _reported(tx, row["id"])


# -- a turn that ends without a word ---------------------------------------------------------------------------------


def is_silent(tx: Tx, row: Row) -> bool:
    """Does its turn end with nothing said, and nobody to wait for? It may wait for workers of its own."""
    return protocol.wants_nudge(row["state"], row["report"], row["wish"], bool(row["task"]), bool(row["nudged"])) and (
        tx.one("working_child", parent=row["id"]) is None
    )


# -- judged ----------------------------------------------------------------------------------------------------------


def judged(tx: Tx, row: Row, verdict: str, feedback: str) -> None:
    """A verdict is the result of a worker that reviews."""
    if row["report"] in workers.SETTLED:
        return
    questions.withdraw(tx, row, "its worker gave its verdict")
    summary = f"{verdict}: {feedback}" if feedback else verdict
    tx.run("settle_report", id=row["id"], run=row["run"], report=Report.DONE, outcome=protocol.Outcome.FINDINGS,
           summary=summary[: protocol.SUMMARY_LIMIT])  # fmt: skip
    seq = tx.event("worker.done", row["name"], target=row["name"], ref=row["id"], preview=text.one_line(summary, 120),
                   outcome=protocol.Outcome.FINDINGS, task=row["task"])  # fmt: skip
    questions.shown(tx, row, seq, "done", summary, outcome=protocol.Outcome.FINDINGS)
    tx.ring(workers.KEEPER)


# -- what they share -------------------------------------------------------------------------------------------------


def _again(tx: Tx, row: Row, report: Report, outcome: str, summary: str) -> dict[str, Any]:
    if (row["report"], row["outcome"], row["summary"]) != (report, outcome, summary):
        raise protocol.settled(row["id"], row["report"], row["summary"])
    tx.beat()
    return _reported(tx, row["id"]) | {"replayed": True}


def _told(tx: Tx, row: Row, word: str, summary: str, *, outcome: str = "", knows: str = "", **more: Any) -> None:
    """In the log, and to whoever waits for it: the worker above, or who asked. A crew tells of its own."""
    to = questions.decider(tx, row)
    seq = tx.event(f"worker.{word}", row["name"], target=to["name"], ref=row["id"], preview=text.one_line(summary, 120),
                   outcome=outcome, task=row["task"], run=row["run"], **more)  # fmt: skip
    questions.shown(tx, row, seq, word, summary, outcome=outcome)
    tx.ring(workers.KEEPER)
    if (row["crew"] and not row["parent"]) or to["name"] == knows:
        return
    what = f"{word} ({outcome})" if outcome else word
    look = f"\n\n`rook task show {row['task']}` tells the rest." if row["task"] else ""
    held.tell(
        tx, [to["name"]], f"{row['id']} ({row['name']}) {what}: {row['title']}"[:500],
        f"In its words:\n{text.fence(text.cut(summary, SHOWN)[0])}{look}",
        priority="normal" if word == "done" else "high", tags=("worker", "result"),
    )  # fmt: skip


def _reported(tx: Tx, id: str) -> dict[str, Any]:
    row = tx.one("worker", id=id)
    assert row is not None
    task = tx.one("task_hold", id=row["task"]) if row["task"] else None
    return {
        "id": id, "name": row["name"], "report": row["report"], "outcome": row["outcome"], "summary": row["summary"],
        "task": row["task"] or None, "status": task["status"] if task else None,
        "review": task["review"] if task else "", "change": _change(tx, row), "version": _version(tx, row),
        "at": tx.shown(row["reported_at"]) if row["reported_at"] else times.iso(tx.wall),
    }  # fmt: skip


def _version(tx: Tx, row: Row) -> str | None:
    """What is judged of it, as the docket names it."""
    last = tx.one("last_version", worker=row["id"]) if row["report"] == Report.DONE else None
    return docket.result_of(row["id"], last["version"]) if last else None


def _change(tx: Tx, row: Row) -> str | None:
    """The change set of this report."""
    if row["report"] != Report.DONE:
        return None
    asked = {"task": row["task"]} if row["task"] else {"worker": row["id"]}
    found = tx.all("changes_of_task" if row["task"] else "changes_of_worker", **asked, limit=1)
    return found[0]["id"] if found and found[0]["worker"] == row["id"] else None
