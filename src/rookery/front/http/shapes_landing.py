"""The shapes of what is answered about change sets and landings: to people, and to keepers."""

from collections.abc import Mapping
from typing import Any, TypedDict

from .shapes_mail import Words


class ChangeSet(TypedDict):
    id: str
    worker: str
    author: str
    task: str
    title: str
    epoch: int
    base: str
    head: str
    branch: str
    paths: int
    added: int
    removed: int
    patch: str
    at: str


class Changes(TypedDict):
    changes: list[ChangeSet]


class LandsAs(TypedDict):
    id: str
    state: str


class ChangeShown(ChangeSet):
    files: list[dict[str, Any]]
    checks: list[dict[str, Any]]
    landing: LandsAs | None


class Landing(TypedDict):
    id: str
    change: str
    task: str
    title: str
    worker: str
    author: str
    branch: str
    head: str
    state: str
    step: str
    expected: str
    result: str
    undo: str
    reason: str
    log: str
    tries: int
    askedBy: str
    at: str
    landedAt: str | None


class LandingAdded(Landing):
    warnings: Words


class Landings(TypedDict):
    landings: list[Landing]


class Meeting(TypedDict):
    path: str
    grade: str
    lines: str


class Conflict(TypedDict):
    change: str
    worker: str
    other: str
    otherWorker: str
    author: str
    task: str
    title: str
    landed: bool
    grade: str
    paths: list[Meeting]
    hints: Words


class Conflicts(TypedDict):
    of: str
    conflicts: list[Conflict]


class Bases(TypedDict):
    bases: Words


# -- for keepers -----------------------------------------------------------------------------------------------------


class LandingTeams(TypedDict):
    teams: Words


class Branch(TypedDict):
    root: str
    branch: str


class LandingDue(TypedDict):
    branches: list[Branch]
    next_ms: int | None


class LandingJob(TypedDict):
    id: str
    change: str
    worker: str
    author: str
    head: str
    expected: str
    result: str
    undo: str
    step: str
    message: str
    keep: str
    base: str
    paths: int
    added: int
    removed: int
    patch: str
    files: list[dict[str, Any]]


class Work(TypedDict):
    kind: str
    root: str
    branch: str
    lease_ms: int
    strategy: str
    check: Words
    check_ms: int
    retry_ms: int
    slot: str
    landings: list[LandingJob]


class Kept(TypedDict):
    kept: Words


class Checked(TypedDict):
    log: str
    tail: str


class Moving(TypedDict):
    moving: Words


class Waiting(TypedDict):
    waiting: Words


class Again(TypedDict):
    again: Words


class Done(TypedDict):
    done: Words


RESULTS: Mapping[str, Any] = {
    "changes": Changes, "changes.show": ChangeShown, "land.list": Landings, "conflicts": Conflicts,
    "conflicts.bases": Bases, "land.add": LandingAdded, "land.retry": Landing,
    "land.undo": Landing, "land.drop": Landing, "land.teams": LandingTeams, "land.due": LandingDue, "land.take": Work,
    "land.keep": Kept, "land.checked": Checked, "land.moving": Moving, "land.waits": Waiting, "land.again": Again,
    "land.done": Done, "land.failed": LandsAs,
}  # fmt: skip
