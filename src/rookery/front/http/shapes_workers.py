"""The shapes of what is answered about workers: to people, and to the keeper that makes them true."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from rookery.core import workers

from .shapes_guard import Lease
from .shapes_mail import Counts, Sent, Words


class UsedTokens(TypedDict):
    input: int
    output: int


class Worker(TypedDict):
    id: str
    name: str
    kind: str
    host: str
    backend: str
    model: str
    status: workers.Shown
    state: workers.State
    report: workers.Report
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
    wish: workers.Wish
    why: str
    kept: str | None
    pid: int | None
    terminal: dict[str, Any] | None
    exit_code: int | None
    ending: str
    tokens: UsedTokens
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
    tokens: UsedTokens
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
    notes: NotRequired[Words]


class WorkerDeleted(TypedDict):
    id: str
    deleted: bool


# -- for keepers -----------------------------------------------------------------------------------------------------


class WorkerTeams(TypedDict):
    teams: Words


class Watched(TypedDict):
    id: str
    name: str
    run: str
    n: int
    state: workers.State
    wish: workers.Wish
    wish_ms: int
    report: workers.Report
    phase: str
    host: str
    backend: str
    pid: int | None
    started: str
    boot: str
    terminal: dict[str, Any]
    tree: str
    root: str
    task: str
    transcript: str
    owner: str
    mine: bool
    age_ms: int
    max_ms: int
    nudged: bool


class WorkersDue(TypedDict):
    begin: Words
    watch: list[Watched]
    next_ms: int | None
    terms: Counts


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


class OfRun(TypedDict):
    id: str
    fenced: bool  # another run is meant


class WorkerStarted(OfRun):
    """The lease is told once, to the first that says so."""

    lease: NotRequired[Lease | None]


class WorkerEnded(OfRun):
    state: NotRequired[workers.State]


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


class WorkerHeld(TypedDict):
    id: str
    held: bool
    open: Words  # commits that are still needed when it is forgotten


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
    "worker.used": OfRun, "worker.stopping": WorkerStopping, "worker.ended": WorkerEnded, "worker.down": WorkersDown,
    "worker.left": WorkersLeft, "worker.evict": WorkersEvicted, "worker.forget": WorkerForgotten,
    "worker.keep": WorkerKept, "worker.trees": WorkersReclaimable, "worker.reclaim": WorkerReclaimed,
    "worker.away": WorkerHeld,
}  # fmt: skip
