"""The shapes of what is answered about crews: to people, and to the keeper that takes their steps."""

from collections.abc import Mapping
from typing import Any, TypedDict

from rookery.core import crews, workers

from .shapes_mail import Counts, Words


class CrewLimits(TypedDict):
    workers: int
    lobby: int
    max_tokens: int | None


class CrewPlanning(TypedDict):
    passes: int
    number: int
    stage: str
    worker: str
    tries: int
    repaired: bool
    draft: str
    feedback: str


class CrewTerms(TypedDict):
    kind: str
    host: str
    backend: str
    program: Words
    no_worktree: bool
    reviewer: str
    review: bool
    land: bool
    check: Words
    autonomous: bool
    planning: CrewPlanning | None


class Crew(TypedDict):
    id: str
    plan: str
    state: crews.CrewState
    why: str
    by: str
    limits: CrewLimits
    terms: CrewTerms
    counts: Counts
    at: str
    elapsed_ms: int
    left_ms: int | None


class Crews(TypedDict):
    crews: list[Crew]


class CrewWorker(TypedDict):
    id: str
    name: str
    kind: str
    role: str
    task: str
    title: str
    state: workers.State
    report: workers.Report


class CrewStatus(Crew):
    workers: list[CrewWorker]
    landings: Counts
    waits: bool
    tokens: int


class CrewStarted(CrewStatus):
    warnings: Words


# -- for keepers -----------------------------------------------------------------------------------------------------


class CrewTeams(TypedDict):
    teams: Words


class CrewsDue(TypedDict):
    crews: Words


class ToGive(TypedDict):
    worker: str
    task: str
    tree: str
    root: str


class CrewStepped(TypedDict):
    id: str
    done: Words
    give: list[ToGive]


class Given(TypedDict):
    id: str
    task: str


RESULTS: Mapping[str, Any] = {
    "crew.run": CrewStarted, "crew.list": Crews, "crew.status": CrewStatus, "crew.scale": CrewStatus,
    "crew.stop": CrewStatus, "crew.teams": CrewTeams, "crew.due": CrewsDue, "crew.step": CrewStepped,
    "crew.give": Given,
}  # fmt: skip
