"""Verdicts on finished tasks: SHIP, NEEDS_WORK, MAJOR_RETHINK; bound to the completion that was judged."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from rookery.core import authority, errors, names, tasks, text
from rookery.core.docket import Action, Standing
from rookery.store.port import Row

from . import decide, deliverables, held, landing, results, unlocking
from . import tasks as things
from .tx import Tx
from .verbs import Arg

JUDGES: Mapping[tasks.Verdict, tuple[Action, Standing | None]] = {
    tasks.Verdict.SHIP: (Action.APPROVE, None),  # what becomes of it then is for whoever promotes it
    tasks.Verdict.NEEDS_WORK: (Action.REVISE, Standing.REVISED),
    tasks.Verdict.MAJOR_RETHINK: (Action.REJECT, Standing.REJECTED),
}
AUTHOR_FIRST_MS = 600_000  # how long sent-back work is kept for whoever did it


def review(
    tx: Tx,
    id: Annotated[str, Arg("the task", positional=True, metavar="ID")],
    verdict: Annotated[str, Arg("the verdict", positional=True, choices=tuple(tasks.Verdict))],
    feedback: Annotated[str, Arg("what must change, or why it ships", flag="-m")] = "",
    *,
    epoch: Annotated[int | None, Arg("the completion you judged; the current one when left out")] = None,
    commit: Annotated[str, Arg("the commit you judged")] = "",
) -> dict[str, Any]:
    row = held.find(tx, id)
    delivered = tx.all("open_deliverables_of_task", task=id)
    judge(tx, row, verdict, feedback, row["epoch"] if epoch is None else epoch, commit)
    for each in delivered:
        _decided(tx, each, verdict, feedback)
    if verdict == tasks.Verdict.SHIP and delivered:
        results.shipped(tx, id)
    tx.beat()
    return things.card(tx, id)


def _decided(tx: Tx, delivered: Row, verdict: str, feedback: str) -> None:
    """Who reviews a worker's result decides about it: that is in the log as a verdict would be."""
    from . import decisions

    action, standing = JUDGES[tasks.Verdict(verdict)]
    said = results.decided(tx, delivered, action, said=feedback, effect={"review": verdict})
    decisions.about(tx, decisions.Decided(**said))
    if standing is not None:
        deliverables.settle(tx, delivered, standing)


def judge(tx: Tx, row: Row, verdict: str, feedback: str, judged: int, commit: str = "") -> None:
    """A verdict on that completion, and all that follows from it."""
    id, me = row["id"], tx.me()
    _check(tx, row, judged, verdict, feedback, commit)
    feedback = text.check_text(feedback, "the feedback")[:10_000]
    outcome = tasks.review_outcome(tasks.Verdict(verdict), row["rounds"], feedback)
    back = outcome.status is tasks.Status.PENDING
    kept = row["assignee"]  # whoever it is assigned to keeps it; otherwise its author has it first
    done = tx.run(
        "judge_task",
        id=id,
        epoch=judged,
        status=held.opening(tx, row) if back else outcome.status,
        review=outcome.review,
        why=outcome.why,
        rounds=row["rounds"] + (verdict != tasks.Verdict.SHIP),
        assignee=row["author"] if back and kept is None else kept,
        until=tx.now + AUTHOR_FIRST_MS if back and kept is None else None,
    )
    if not done:
        raise _moved(row, judged)
    tx.run(
        "new_review",
        task=id,
        epoch=judged,
        reviewer=me["id"],
        verdict=verdict,
        feedback=feedback,
        revision=commit[:100],
        at=tx.wall,
    )
    held.note(tx, id, "review", me["name"], f"{verdict}: {feedback}"[:2000])
    tx.event("task.review", me["name"], ref=id, preview=f"{verdict} {row['title']}", verdict=verdict, epoch=judged)
    _tell(tx, row, verdict, feedback, outcome)
    _settle_reviewer(tx, me, id, verdict, feedback)


def _check(tx: Tx, row: Any, epoch: int, verdict: str, feedback: str, commit: str) -> None:
    if verdict not in tuple(tasks.Verdict):
        raise errors.BadInput(f"No verdict {text.one_line(verdict, 40)!r}.", f"One of: {', '.join(tasks.Verdict)}.")
    if verdict != tasks.Verdict.SHIP and not feedback.strip():
        raise errors.BadInput(f"{verdict} needs feedback.", "-m says what must change.")
    if row["status"] != tasks.Status.COMPLETED or row["review"] != tasks.REVIEW_PENDING:
        raise errors.Refused(
            f"{row['id']} waits for no review: it is {row['status']}.", "`rook task show ID`.", code="NO_REVIEW_DUE"
        )
    if row["author"] and decide.is_own_work(tx, row["author"]):
        raise errors.NotYours(
            "Nobody reviews their own work.", "Ask another agent: `rook send any:reviewer`.", code="OWN_WORK"
        )
    _refuse_unasked(tx, row["id"], row["epoch"])
    if epoch != row["epoch"]:
        raise _moved(row, epoch)
    full = tx.one("task", id=row["id"])
    commits: list[str] = json.loads(full["result"]).get("evidence", {}).get("commits", []) if full else []
    if commit and commits and commit not in commits:
        raise errors.Refused(
            f"{row['id']} was completed with {', '.join(commits)}, not {text.one_line(commit, 40)}.",
            "Judge what was delivered.",
            code="COMMIT_MISMATCH",
        )


def _refuse_unasked(tx: Tx, task: str, epoch: int) -> None:
    """A task of a crew is judged by its reviewer, the leader and the user: any other verdict would end the review."""
    crew = tx.one("crew_of_task", task=task)
    me = tx.me()
    if crew is None or me["name"] in (names.PERSON, tx.leader()):
        return
    worker = tx.one("worker_of_agent", agent=me["id"])
    asked = ("review", crew["crew"], task, epoch)
    if worker is None or tuple(worker[name] for name in ("role", "crew", "task", "judges")) != asked:
        what = f"{task} belongs to {crew['crew']}, which has a reviewer of its own."
        hint = "Tell the user what you found: `rook escalate`."
        raise tx.refuse(errors.NotYours(what, hint, code="NOT_REVIEWER", attempt=authority.DECIDE))


def _settle_reviewer(tx: Tx, me: Row, task: str, verdict: str, feedback: str) -> None:
    """Of a worker that was started to judge this, the verdict is the report."""
    worker = tx.one("worker_of_agent", agent=me["id"])
    if worker is not None and worker["role"] == "review" and worker["task"] == task:
        from . import protocol  # most who judge are no workers

        protocol.judged(tx, worker, verdict, feedback)


def _moved(row: Any, epoch: int) -> errors.Refused:
    return errors.Refused(
        f"You judged completion {epoch} of {row['id']}; it is at {row['epoch']} now.",
        "Look again before you decide.",
        code="EPOCH_MISMATCH",
    )


def _tell(tx: Tx, row: Any, verdict: str, feedback: str, outcome: tasks.ReviewOutcome) -> None:
    author = tx.one("agent_by_id", id=row["author"]) if row["author"] else None
    if author:
        held.tell(tx, [author["name"]], f"{verdict}: {row['id']} {row['title']}", feedback or verdict)
    if verdict == tasks.Verdict.SHIP:
        landing.after_ship(tx, row["id"])
        unlocking.after_completion(tx, row["id"])
    if outcome.ask_owner:
        held.ask_owner(tx, row, f"{verdict}: {row['id']} {row['title']}", feedback)
