"""The law of landing: whose turn it is, what a crash left, which of several is guilty, and who may decide.

    queued ──take──> working: merging ──> checking ──> moving ──the branch has it──> landed ──> undoing ──> undone
      ^                 │                                 │ where the branch stood and what it is to become is written
      └── begun anew ───┴── conflict, red check ──> failed   before it moves; whoever goes on looks where it stands now

Only rows are believed, and the branch. What a landing was to move is a chain of commits, one for each of its members:
the first begins where the branch stood, each of the others where the one before it ends.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any

from rookery.core.record import NamedTuple

from . import errors
from .holding import SLOT_LIMIT
from .tasks import Status, Verdict

REFS = "refs/rookery"  # what holds on to commits that are on no branch yet
KEEPER = ":land"  # what whoever lands listens under; no agent can be called so


class State(StrEnum):
    QUEUED = "queued"
    WORKING = "working"
    LANDED = "landed"
    FAILED = "failed"
    UNDOING = "undoing"
    UNDONE = "undone"
    DROPPED = "dropped"


class Step(StrEnum):
    NONE = ""
    MERGING = "merging"
    CHECKING = "checking"
    MOVING = "moving"


class Strategy(StrEnum):
    MERGE = "merge"
    REBASE = "rebase"
    SQUASH = "squash"


OPEN = frozenset((State.QUEUED, State.WORKING, State.UNDOING))


def keep_under(team: str, worker: str) -> str:
    """The refs that hold on to a worker's commits. A name that can not be a part of a ref is spelt out."""
    return f"{REFS}/{_part(team)}/{_part(worker)}"


def _part(name: str) -> str:
    odd = ".." in name or name.endswith((".lock", ".")) or name.startswith(".")
    return f"x-{name.encode().hex()}" if odd else name


SLOT = "land:"  # what the names of these slots begin with: the user and the leader may stop a merge queue with them


def slot_of(branch: str) -> str:
    """What is held while a check runs. Whoever takes it keeps the branch from moving by landings."""
    plain = "".join(each if each.isascii() and (each.isalnum() or each in "_./@-") else "_" for each in branch)
    return f"{SLOT}{plain}"[:SLOT_LIMIT]


# -- whose turn it is ------------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """A landing in the line of its branch, as the law looks at it."""

    n: int
    state: str
    step: str = ""
    owner: str = ""
    owned_to: int = 0
    not_before: int = 0


class Turn(NamedTuple):
    """What one of those who land may do now: `land`, `resume` or `undo` these; nothing, and look again at `after`."""

    kind: str = ""
    members: tuple[int, ...] = ()
    after: int | None = None


def turn(line: Sequence[Entry], owner: str, now: int, most: int, is_gone: Callable[[str], bool]) -> Turn:
    """The line of one branch, oldest first. One has it at a time; what someone left who is gone comes first."""
    held = [each for each in line if each.owner and each.state in (State.WORKING, State.UNDOING)]
    others = [each for each in held if each.owner != owner and each.owned_to > now and not is_gone(each.owner)]
    if others:
        return Turn(after=max(each.owned_to for each in others))
    moving = [each for each in line if each.state == State.WORKING and each.step == Step.MOVING]
    if moving:  # all of it or nothing, and nothing else before it
        later = max(each.not_before for each in moving)
        return Turn(after=later) if later > now else Turn("resume", tuple(each.n for each in moving))
    ready = [each for each in line if each.not_before <= now]
    undoing = [each for each in ready if each.state == State.UNDOING]
    if undoing:
        return Turn("undo", (undoing[0].n,))
    begun = [each for each in ready if each.state == State.WORKING]
    waiting = [each for each in ready if each.state == State.QUEUED]
    chosen = tuple(each.n for each in [*begun, *waiting][: max(1, most)])
    if chosen:
        return Turn("land", chosen)
    later = [each.not_before for each in line]
    return Turn(after=min(later) if later else None)


# -- where the branch is ---------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """One look at the branch, for a chain that was to be moved to."""

    tip: str
    has_result: bool  # the branch contains what it was to become
    exists: bool = True  # that commit is in the repository


class Next(StrEnum):
    LANDED = "landed"  # the branch has it: write that down
    MOVE = "move"
    ANEW = "anew"  # the branch went elsewhere, or what was made is gone


def next_move(expected: str, result: str, seen: Seen) -> Next:
    if result and seen.has_result:
        return Next.LANDED
    return Next.MOVE if result and seen.exists and seen.tip == expected else Next.ANEW


def is_chain(links: Sequence[tuple[str, str]]) -> bool:
    """Does each begin where the one before it ends?"""
    joined = all(after[0] == before[1] for before, after in pairwise(links))
    return bool(links) and joined and all(expected and result for expected, result in links)


# -- which one is guilty ---------------------------------------------------------------------------------------------


class Search(NamedTuple):
    """So many of the first members passed together, and so many did not: the guilty one lies between."""

    good: int
    bad: int

    @property
    def found(self) -> bool:
        return self.bad == self.good + 1

    def probe(self) -> int:
        """How many of the first members to check next."""
        return (self.good + self.bad) // 2

    def told(self, count: int, passed: bool) -> "Search":
        return self._replace(good=count) if passed else self._replace(bad=count)


# -- who may decide --------------------------------------------------------------------------------------------------


class Basis(StrEnum):
    """On what ground a change may land. There is no other way onto a branch."""

    VERDICT = "verdict"  # the user said so: promote, land add, land retry
    RULE = "rule"  # a rule that the user set matches
    REVIEW = "review"  # a review was passed, and the user let passed work land
    OPTION = "option"  # the user let work land that nobody has to review


class Approval(NamedTuple):
    """What is known about the approval of a change."""

    basis: Basis
    by_user: bool = False  # the user calls, and has proven it
    has_rule: bool = False  # an active rule of the user's is named
    is_wanted: bool = False  # an option that the user set lets finished work land
    by_reviewer: bool = False  # the caller is the reviewer that the crew assigned to this task
    is_own: bool = False  # the caller is the author, or belongs to it


def is_approved(approval: Approval) -> bool:
    """The one decision whether a change may land, whichever verb, option or interface asks."""
    match approval.basis:
        case Basis.VERDICT:
            return approval.by_user
        case Basis.RULE:
            return approval.has_rule
        case Basis.REVIEW:
            return approval.is_wanted and not approval.is_own and (approval.by_user or approval.by_reviewer)
        case Basis.OPTION:
            return approval.is_wanted


def is_wanted(terms: Mapping[str, Any], auto: bool) -> bool:
    """Does a finished change land by itself: by its crew's terms, else by the setting?"""
    said = terms.get("land")
    return said if isinstance(said, bool) else auto


def option_of(terms: Mapping[str, Any], crew: str | None) -> str:
    """The option that lets work land by itself, as the decision log names it."""
    return f"option: landing of {crew}" if isinstance(terms.get("land"), bool) else "option: land.auto"


class Judged(NamedTuple):
    """What is known of a change by whoever wants it to land."""

    id: str
    by_author: bool  # its own author asks
    may_steer: bool  # the person or the leader asks
    has_task: bool
    status: str  # of its task
    review: str  # of its task: '', wanted, pending or the verdict
    newest: str  # the newest change of the same task or worker
    branch: str


def add_refusal(change: Judged) -> errors.Refused | None:
    """Why it may not be put in line by hand; None if it may. Nobody promotes what nobody else has looked at."""
    if change.newest != change.id:
        return errors.Refused(
            f"{change.newest} has taken the place of {change.id}.", f"`rook land add {change.newest}`.",
            code="SUPERSEDED",
        )  # fmt: skip
    if not change.branch:
        return errors.Refused(
            f"It is not known on which branch {change.id} should land: none was checked out where its worker began, or "
            "its result is no completed work.", "--branch NAME says which.", code="NO_BRANCH",
        )  # fmt: skip
    unjudged = change.has_task and change.review not in ("", Verdict.SHIP)
    if unjudged and change.by_author:
        return errors.NotYours(
            f"{change.id} is your own work, and nobody has judged it.",
            "Another agent reviews its task: `rook task review ID SHIP`.", code="OWN_WORK",
        )  # fmt: skip
    if change.may_steer:
        return None
    if unjudged:
        return errors.NotYours(
            f"The task of {change.id} waits for a review.", "`rook task review ID SHIP`, or ask the leader.",
            code="NOT_REVIEWED",
        )  # fmt: skip
    if change.has_task and change.status != Status.COMPLETED:
        return errors.Refused(
            f"The task of {change.id} is {change.status}.", "It lands once it is completed.", code="TASK_NOT_DONE"
        )
    return None


def undo_refusal(id: str, state: str, expected: str, result: str) -> errors.Refused | None:
    if state != State.LANDED:
        return errors.Refused(
            f"{id} is {state}: nothing of it is on the branch.", "`rook land list`.", code="NOT_LANDED"
        )
    if expected == result:
        return errors.Refused(
            f"All of {id} was on the branch before: it moved nothing.", "Revert the commits by hand.", code="NOT_LANDED"
        )
    return None


def retry_refusal(id: str, state: str, task: str, status: str) -> errors.Refused | None:
    if state not in (State.FAILED, State.QUEUED):
        return errors.Refused(f"{id} is {state}.", "Only what failed is tried again.", code="NOT_FAILED")
    if state == State.FAILED and status == Status.IN_PROGRESS:
        return errors.Refused(
            f"{task} is being worked on again.", "Its next change takes the place of this one.", code="TASK_HELD"
        )
    return None


def drop_refusal(id: str, state: str, step: str, reason: str) -> errors.Refused | None:
    if state not in (State.QUEUED, State.WORKING, State.FAILED):
        return errors.Refused(f"{id} is {state}.", "`rook land undo` takes back what landed.", code="NOT_QUEUED")
    if state == State.WORKING and step == Step.MOVING and not reason:
        return errors.Refused(
            f"The branch moves to {id} at this moment.", "`rook land undo` afterwards.", code="MOVING"
        )
    return None
