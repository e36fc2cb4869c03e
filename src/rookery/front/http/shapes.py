"""What the verbs answer with, as types: the description of the API is drawn from these.

A field that is always there is required; an answer may hold more than is told here. Whether all of this is so is found
out by asking (tests/http/test_schema.py): nothing here is used to make an answer.
"""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from rookery.core import tasks

from . import (
    shapes_bundles,
    shapes_crews,
    shapes_delivery,
    shapes_docket,
    shapes_evidence,
    shapes_guard,
    shapes_kinds,
    shapes_landing,
    shapes_mail,
    shapes_monitor,
    shapes_protocol,
    shapes_runs,
    shapes_turns,
    shapes_workers,
)
from . import shapes_team as of
from .shapes_guard import Lease
from .shapes_mail import Counts, Words
from .shapes_team import Team

# -- tasks -----------------------------------------------------------------------------------------------------------


class Timestamps(TypedDict):
    createdAt: str
    startedAt: str | None
    completedAt: str | None
    failedAt: str | None


class _TaskHeading(TypedDict):
    id: str
    title: str
    status: tasks.Status
    owner: str | None
    ownerState: str
    priority: str
    plan: str | None
    kind: str
    epoch: int
    milestone: bool
    review: str
    attempts: int
    why: str
    resources: Words
    deps: Words


class Task(_TaskHeading):
    schemaVersion: str
    description: str
    spec: str
    lease: Lease | None
    author: str | None
    createdBy: str | None
    result: dict[str, Any]
    tokens: int
    maxTokens: int | None
    timestamps: Timestamps


class TaskLine(_TaskHeading):
    pass


class Note(TypedDict):
    at: str
    kind: str
    by: str
    note: str


class Review(TypedDict):
    verdict: tasks.Verdict
    reviewer: str
    feedback: str
    epoch: int
    commit: str
    at: str


class TaskShown(Task):
    notes: list[Note]
    reviews: list[Review]
    dependents: Words


class TaskAdded(Task):
    replayed: NotRequired[bool]


class TaskStepped(Task):
    """The task itself, and, as seed 002's own server has it, the task inside."""

    taskId: str
    task: Task


class TaskList(TypedDict):
    tasks: list[TaskLine | Task]
    next: int | None


class TaskRecords(TypedDict):
    tasks: list[Task]
    next: int | None


class TaskMade(TypedDict):
    task: Task


class TaskOpened(TypedDict):
    task: TaskShown


class TaskEnded(TypedDict):
    taskId: str
    task: Task


class Claimed(TypedDict):
    taskId: str
    task: Task
    lease: Lease | None
    ttlMs: int


class NothingReady(TypedDict):
    taskId: None
    task: None
    lease: None


class Progress(TypedDict):
    id: str
    note: str


class ProgressStepped(Progress):
    taskId: str
    task: Progress


class TaskCanceled(Task):
    canceled: Words


class TaskReset(Task):
    reset: Words


class TaskRevised(Task):
    revised: Words


class TaskSplit(Task):
    parts: Words


class Deleted(TypedDict):
    id: str
    deleted: bool


class SpecClaim(TypedDict):
    spec: str
    item: str
    agent: str
    state: str
    reason: str
    at: str
    completedAt: str | None
    summary: str | None


class SpecClaims(TypedDict):
    claims: list[SpecClaim]


class SpecClaimed(TypedDict):
    spec: str
    item: str
    holder: str


class SpecDone(TypedDict):
    spec: str
    item: str
    completed: bool


class SpecReleased(TypedDict):
    spec: str
    item: str
    released: bool


class PlanLine(TypedDict):
    id: str
    goal: str
    status: str
    owner: str
    strict: bool
    review: bool
    at: str
    counts: Counts
    total: int
    done: int


class Plan(PlanLine):
    tasks: list[TaskLine]
    ready: Words
    critical: Words
    spec: str


class PlanCanceled(Plan):
    canceled: Words


class Plans(TypedDict):
    plans: list[PlanLine]


class Drawn(TypedDict):
    id: str
    format: str
    graph: str


# -- discussions -----------------------------------------------------------------------------------------------------

Said = TypedDict("Said", {
    "schemaVersion": str, "id": str, "threadId": str, "from": str, "to": Words, "body": str, "ts": str, "seq": int,
    "replayed": NotRequired[bool],
})  # fmt: skip


class Found(Said):
    snippet: str


class Thread(TypedDict):
    schemaVersion: str
    id: str
    threadId: str
    title: str
    createdBy: str
    createdAt: str
    updatedAt: str
    participants: Words
    taskId: str | None
    tasks: Words
    message: NotRequired[Said]
    replayed: NotRequired[bool]


class ThreadTail(Thread):
    messages: list[Said]


class Threads(TypedDict):
    threads: list[Thread]


class ThreadMade(TypedDict):
    thread: Thread


class ThreadLinked(TypedDict):
    thread: Thread


class ThreadRead(TypedDict):
    thread: Thread
    messages: list[Said]


class MessageMade(TypedDict):
    message: Said


class ThreadsAbout(TypedDict):
    query: str
    threads: list[Thread]


class ThreadsFound(TypedDict):
    query: str
    messages: list[Found]
    threads: list[Thread]


# -- teams, the log --------------------------------------------------------------------------------------------------


class HeardHost(TypedDict):
    host: str
    at: str


class Heard(TypedDict):
    hosts: list[HeardHost]


class Notice(TypedDict):
    id: str
    seq: int
    type: str
    ts: str
    actor: str
    summary: str
    payload: dict[str, Any]
    content: NotRequired[str]
    taskId: NotRequired[str]
    threadId: NotRequired[str]


class Notices(TypedDict):
    events: list[Notice]
    nextSince: int
    more: bool
    opened: bool


class InboxOpened(TypedDict):
    opened: bool


class InboxEvent(Notice):
    schemaVersion: str
    cursor: int
    teamId: str
    agentId: str


class InboxPage(TypedDict):
    events: list[InboxEvent]
    nextSince: str
    more: bool


class Event(TypedDict):
    seq: int
    at: str
    type: str
    actor: str
    target: str
    ref: str
    preview: str
    data: dict[str, Any]
    caller: dict[str, Any]  # the session, run, process or token that really called


class Feed(TypedDict):
    team: str
    events: list[Event]
    cursor: int


class Events(TypedDict):
    events: list[Event]
    cursor: int
    newest: int
    horizon: int


# -- upkeep ----------------------------------------------------------------------------------------------------------


class Stats(TypedDict):
    team: str
    events: int
    agents: int
    deliveries: Counts
    types: Counts
    senders: Counts


class Swept(TypedDict):
    expired: int
    lapsed: int
    stuck: int
    removed: int
    events: int
    attempts: int
    runs: int
    bundles: int
    evidence: int


class Due(TypedDict):
    sweep: bool
    leases: bool
    unanswered: bool


class Settled(TypedDict):
    settled: Words
    holds: int


Services = shapes_monitor.Services


class Alive(TypedDict):
    status: str
    version: str


class SettingPut(TypedDict):
    """A setting of the store, as it is now."""

    name: str
    value: str


RESULTS: Mapping[str, Any] = {
    **shapes_mail.RESULTS, **shapes_guard.RESULTS, **shapes_turns.RESULTS, **shapes_bundles.RESULTS,
    **shapes_kinds.RESULTS, **shapes_delivery.RESULTS, **shapes_landing.RESULTS, **shapes_monitor.RESULTS,
    **shapes_runs.RESULTS, **shapes_protocol.RESULTS, **shapes_workers.RESULTS, **shapes_crews.RESULTS,
    **shapes_docket.RESULTS,
    **shapes_evidence.RESULTS,
    "task.add": TaskAdded, "task.list": TaskList, "task.show": TaskShown, "task.claim": Claimed | NothingReady,
    "task.renew": Claimed, "task.release": Task, "task.done": Task, "task.fail": Task, "task.block": Task,
    "task.progress": Progress, "task.assign": Task, "task.cancel": TaskCanceled, "task.unblock": Task,
    "task.reset": TaskReset, "task.revise": TaskRevised, "task.split": TaskSplit, "task.delete": Deleted,
    "task.review": Task, "task.claims": SpecClaims, "spec.claim": SpecClaimed, "spec.done": SpecDone,
    "spec.release": SpecReleased, "plan.new": Plan, "plan.list": Plans, "plan.show": Plan, "plan.graph": Drawn,
    "plan.cancel": PlanCanceled,
    "thread.new": Thread, "thread.post": Said, "thread.list": Threads, "thread.tail": ThreadTail,
    "thread.search": ThreadsFound, "thread.about": ThreadsAbout, "thread.link": Thread,
    "turn.heard": Heard,
    "team.list": of.Teams, "team.show": Team, "team.new": of.TeamMade,
    "team.set": of.TeamMade, "budget": of.Budget, "budget.set": of.Budget, "usage_report": of.Reported,
    "artifacts.add": of.Artifact, "artifacts.show": of.ArtifactShown,
    "token.new": of.TokenMade, "token.list": of.Tokens, "token.revoke": of.TokenRevoked,
    "config.set": SettingPut,
    "trust.look": of.TrustLook, "trust.accept": of.TrustAccepted, "trust.revoke": of.TrustRevoked,
    "notices": Notices, "notices.open": InboxOpened, "feed": Feed, "events": Events,
    "stats": Stats, "sweep": Swept, "due": Due, "settle": Settled,
}  # fmt: skip
