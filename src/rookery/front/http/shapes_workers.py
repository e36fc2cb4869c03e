"""The shapes of what is answered about workers: to people, and to the keeper that makes them true."""

from collections.abc import Mapping
from typing import Any, TypedDict

from .shapes_mail import Sent, Words


class WorkerTokens(TypedDict):
    input: int
    output: int


class Worker(TypedDict):
    id: str
    name: str
    kind: str
    host: str
    backend: str
    model: str
    status: str
    state: str
    report: str
    stale: bool
    warning: str
    task: str | None
    title: str
    outcome: str
    summary: str
    parent: str | None
    depth: int
    crew: str | None
    role: str
    tree: str | None
    machine: str
    crashes: int
    wish: str
    why: str
    kept: str | None
    pid: int | None
    terminal: dict[str, Any] | None
    exit_code: int | None
    ending: str
    tokens: WorkerTokens
    at: str
    moved: str
    since: str


class WorkerCard(Worker):
    runs: int


class Workers(TypedDict):
    workers: list[WorkerCard]


class Run(TypedDict):
    id: str
    n: int
    at: str
    reason: str
    exit_code: int | None
    ended_at: str | None
    model: str
    tokens: WorkerTokens
    session: str


class WorkerShown(Worker):
    assignment: str
    root: str
    base: str
    extra: dict[str, Any]
    profile: dict[str, Any]
    board: list[Any]
    tail: str
    run_count: int
    runs: list[Run]


class WorkerDeleted(TypedDict):
    id: str
    deleted: bool


# -- for keepers -----------------------------------------------------------------------------------------------------


class WorkerTeams(TypedDict):
    teams: Words


class WorkersDue(TypedDict):
    begin: Words
    watch: list[dict[str, Any]]
    next_ms: int | None
    terms: dict[str, int]


class TaskNote(TypedDict):
    kind: str
    by: str
    note: str


class RunBefore(TypedDict):
    reason: str
    exit_code: int | None
    tail: str
    board: list[Any]
    notes: list[TaskNote]


class Order(TypedDict):
    """Everything that is needed to start a worker."""

    id: str
    name: str
    kind: str
    profile: dict[str, Any]
    host: str
    backend: str
    model: str
    root: str
    tree: str
    base: str
    seed: str
    extra: dict[str, Any]
    task: str
    title: str
    assignment: str
    description: str
    spec: str
    resources: Words
    role: str
    crew: str
    parent: str
    asked_by: str
    plan_ok: bool
    before: RunBefore
    lenses: list[Words]
    run: str
    n: int
    token: str


class WorkerBegun(TypedDict):
    worker: Order | None


class _Fenced(TypedDict):
    id: str
    fenced: bool


class WorkerStarted(_Fenced, total=False):
    lease: dict[str, Any] | None


class WorkerEnded(_Fenced, total=False):
    state: str


class WorkersBeaten(TypedDict):
    lost: Words


class WorkerStopping(TypedDict):
    id: str
    changed: bool


class WorkersDown(TypedDict):
    stopping: Words


class WorkersLeft(TypedDict):
    evict: bool
    forget: list[dict[str, str]]


class WorkersEvicted(TypedDict):
    evicted: Words


class WorkerForgotten(TypedDict):
    id: str
    forgotten: bool


class WorkerKept(TypedDict):
    id: str
    kept: bool


class WorkersReclaimable(TypedDict):
    ids: Words


class WorkerReclaimed(TypedDict):
    id: str
    root: str
    keep: str
    author: str
    landed: Words
    open: Words


RESULTS: Mapping[str, Any] = {
    "spawn": WorkerShown, "workers": Workers, "worker.show": WorkerShown, "tell": Sent, "stop": WorkerShown,
    "respawn": WorkerShown, "delete": WorkerDeleted, "worker.teams": WorkerTeams, "worker.due": WorkersDue,
    "worker.begin": WorkerBegun, "worker.started": WorkerStarted, "worker.beat": WorkersBeaten,
    "worker.used": _Fenced, "worker.stopping": WorkerStopping, "worker.ended": WorkerEnded, "worker.down": WorkersDown,
    "worker.left": WorkersLeft, "worker.evict": WorkersEvicted, "worker.forget": WorkerForgotten,
    "worker.keep": WorkerKept, "worker.trees": WorkersReclaimable, "worker.reclaim": WorkerReclaimed,
}  # fmt: skip
