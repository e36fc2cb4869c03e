"""The law of tasks: one holder at a time, by a lease with an epoch; and what each step may start from.

    blocked ──deps met──> pending ──claim──> in_progress ──done──> completed
       ▲                    ▲  ▲                │   │  └──fail──> failed ──reset──> pending
       └──────block─────────┘  └──lapse,release─┘   └──cancel──> canceled ──reset──> pending

A lease that lapsed is seen as lapsed by everyone at once, whether or not a sweep has written it down: its task reads as
pending, and its last holder is told LEASE_EXPIRED until someone claims anew.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from rookery.core.record import NamedTuple

from . import errors, text


class Status(StrEnum):
    BLOCKED = "blocked"
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


class Verdict(StrEnum):
    SHIP = "SHIP"
    NEEDS_WORK = "NEEDS_WORK"
    MAJOR_RETHINK = "MAJOR_RETHINK"


FINISHED = frozenset((Status.COMPLETED, Status.FAILED, Status.CANCELED))
REVIEW_WANTED, REVIEW_PENDING = "wanted", "pending"
MAX_ROUNDS = 3


class Hold(NamedTuple):
    """What the law looks at: how a task is held."""

    status: Status
    holder: int | None
    epoch: int
    lease_until: int | None


def effective(hold: Hold, now: int) -> Status:
    """The status everyone sees: a lapsed lease holds nothing."""
    if hold.status is Status.IN_PROGRESS and (hold.lease_until is None or hold.lease_until <= now):
        return Status.PENDING
    return hold.status


def lease_refusal(hold: Hold, agent: int, epoch: int, now: int) -> errors.Refused | None:
    """Why this agent may not write under this epoch, in the order of the protocol; None if it may."""
    kept = hold.holder is not None and hold.lease_until is not None and hold.lease_until <= now
    written_down = kept and hold.status in (Status.PENDING, Status.BLOCKED)
    if written_down or effective(hold, now) is not hold.status:
        return errors.LeaseLost(
            "The lease on this task has expired.",
            "`rook task claim ID` to take it again, if it is free.",
            code="LEASE_EXPIRED",
        )
    if hold.status is not Status.IN_PROGRESS:
        return errors.LeaseLost(
            f"The task is {hold.status}, not in progress.",
            "`rook task show ID` tells its history.",
            code="TASK_NOT_IN_PROGRESS",
            http=409,
        )
    if hold.holder != agent:
        return errors.LeaseLost(
            "Someone else holds this task.", "`rook task show ID` tells who.", code="LEASE_HOLDER_MISMATCH"
        )
    if hold.epoch != epoch:
        return errors.LeaseLost(
            f"Epoch {epoch} is over; the task is at epoch {hold.epoch}.",
            "You held it under an older claim: stop, and look with `rook task show ID`.",
            code="EPOCH_MISMATCH",
            http=409,
        )
    return None


def claim_refusal(
    hold: Hold, now: int, *, assignee: str | None, why: str, unmet: Sequence[str], holder: str, until: str
) -> errors.Refused | None:
    """Why a task can not be claimed; None if it can. `assignee` names someone else it is kept for."""
    status = effective(hold, now)
    if status is Status.PENDING:
        if assignee:
            return _unclaimable(f"It is assigned to {assignee}.", f"`rook send {assignee}` to ask for it.")
        return None
    if status is Status.IN_PROGRESS:
        return _unclaimable(
            f"Held by {holder} until {until}.", f"`rook send {holder}` to ask, or `rook task claim --next`."
        )
    if status is Status.BLOCKED:
        waits = f"It waits for {', '.join(unmet[:5])}." if unmet else f"It is blocked: {text.one_line(why, 120)}."
        return _unclaimable(waits, "`rook task claim --next` takes one that is ready.")
    return _unclaimable(f"It is {status}.", "`rook task reset ID` opens it again.")


def _unclaimable(told: str, hint: str) -> errors.Refused:
    return errors.Refused(told, hint, code="TASK_NOT_CLAIMABLE")


def after_setback(attempts: int, limit: int, otherwise: Status) -> Status:
    """Where a task goes when an attempt did not end well: the last one allowed leaves it blocked for its owner."""
    return Status.BLOCKED if attempts >= limit else otherwise


def is_met(status: Status, review: str) -> bool:
    """Does a finished task release those who wait for it? One under review only once it ships."""
    return status is Status.COMPLETED and review in ("", Verdict.SHIP)


def opening(unmet: int, strict: bool, why: str = "") -> Status:
    """The status of a task nobody holds."""
    return Status.BLOCKED if why or (unmet and strict) else Status.PENDING


class ReviewOutcome(NamedTuple):
    status: Status
    review: str
    why: str
    ask_owner: bool


def review_outcome(verdict: Verdict, rounds: int, feedback: str) -> ReviewOutcome:
    """What a verdict makes of a completed task. `rounds` counts the NEEDS_WORK before this one."""
    if verdict is Verdict.SHIP:
        return ReviewOutcome(Status.COMPLETED, Verdict.SHIP, "", False)
    if verdict is Verdict.MAJOR_RETHINK:
        return ReviewOutcome(Status.BLOCKED, REVIEW_WANTED, f"needs a rethink: {feedback}"[:300], True)
    if rounds + 1 >= MAX_ROUNDS:
        return ReviewOutcome(Status.BLOCKED, REVIEW_WANTED, f"sent back {rounds + 1} times: {feedback}"[:300], True)
    return ReviewOutcome(Status.PENDING, REVIEW_WANTED, "", False)


def check_ttl(ttl_ms: int | None, *, default: int, low: int, high: int) -> int:
    ttl = default if ttl_ms is None else ttl_ms
    if not low <= ttl <= high:
        raise errors.BadInput(f"A lease of {ttl} ms is out of range.", f"{low} to {high} ms.", code="BAD_TTL")
    return ttl


def check_evidence(evidence: Mapping[str, Any]) -> dict[str, list[str]]:
    """Commits, tests, prs, notes: lists of short lines."""
    kinds = ("commits", "tests", "prs", "notes")
    checked: dict[str, list[str]] = {}
    for name, lines in evidence.items():
        if name not in kinds:
            raise errors.BadInput(f"No evidence of kind {text.one_line(name, 40)!r}.", f"One of: {', '.join(kinds)}.")
        given: Sequence[Any] = [lines] if isinstance(lines, str) else lines
        checked[name] = [text.check_text(str(line), "the evidence")[:500] for line in given][:100]
    return checked
