"""The shapes of what is answered about sessions and how they are: to keepers, and to whoever asks for health."""

from collections.abc import Mapping
from typing import Any, TypedDict

from .shapes_mail import Words


class WatchedTeams(TypedDict):
    teams: Words


class WatchedSession(TypedDict):
    agent: str
    session: str
    pid: int
    started: str
    dead: bool
    terminal: dict[str, Any]
    program: str
    cwd: str


class WatchedSessions(TypedDict):
    sessions: list[WatchedSession]


class SessionNews(TypedDict):
    sessions: Words


class SessionsReported(TypedDict):
    told: dict[str, str]


# -- health ----------------------------------------------------------------------------------------------------------


class Concern(TypedDict):
    what: str
    do: str
    level: str


class Retries(TypedDict):
    total: int
    bySession: dict[str, int]
    oldestRetry: str | None


class Breaker(TypedDict):
    agent: str
    channel: str
    failures: int
    reason: str
    state: str


class OldestPending(TypedDict):
    id: str
    to: str
    waited_s: int


class StoreSeen(TypedDict):
    path: str
    bytes: int | None
    wal_bytes: int | None
    whole: bool | None
    seen: str


class Service(TypedDict):
    name: str
    state: str
    parts: int
    jobs: int
    looks: int
    failures: int
    failures_in_row: int
    restarts: int
    failing: list[str]
    looking_s: float | None
    last_success: str | None
    last_error_at: str | None
    last_error: str


class Pool(TypedDict):
    name: str
    threads: int
    running: int
    waiting: int


class Services(TypedDict):
    services: list[Service]
    pools: list[Pool]
    unowned: Words


class DaemonSeen(TypedDict):
    scope: str
    state: str
    pid: int
    url: str
    answers: bool
    services: list[Service] | None


class LogSeen(TypedDict):
    path: str
    wanted: bool
    bytes: int | None
    errors: int
    last_error: str


class DiskSeen(TypedDict):
    free_bytes: int | None


class Health(TypedDict):
    status: str
    team: str
    live: int
    unread: int
    failed: int
    open_escalations: int
    concerns: list[Concern]
    sessions: dict[str, int]
    retries: Retries
    breakers: list[Breaker]
    dead_letters: int
    oldest_pending: OldestPending | None
    store: StoreSeen | None
    daemons: list[DaemonSeen]
    logs: list[LogSeen]
    recent_errors: int
    disk: DiskSeen | None


RESULTS: Mapping[str, Any] = {
    "health": Health, "monitor.teams": WatchedTeams, "monitor.sessions": WatchedSessions, "monitor.news": SessionNews,
    "monitor.report": SessionsReported,
}  # fmt: skip
