"""The shapes of what is answered about sessions and how they are: to keepers, and to whoever asks for health."""

from collections.abc import Mapping
from typing import Any, TypedDict

from .shapes_mail import Words


class Teams(TypedDict):
    teams: Words


class Watched(TypedDict):
    agent: str
    session: str
    pid: int
    started: str
    dead: bool
    terminal: dict[str, Any]
    program: str
    cwd: str


class Sessions(TypedDict):
    sessions: list[Watched]


class News(TypedDict):
    sessions: Words


class Reported(TypedDict):
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


class Pending(TypedDict):
    id: str
    to: str
    waited_s: int


class Store(TypedDict):
    path: str
    bytes: int | None
    wal_bytes: int | None
    whole: bool | None
    seen: str


class Resident(TypedDict):
    scope: str
    state: str
    pid: int
    url: str
    answers: bool


class Log(TypedDict):
    path: str
    wanted: bool
    bytes: int | None
    errors: int
    last_error: str


class Disk(TypedDict):
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
    oldest_pending: Pending | None
    store: Store | None
    daemons: list[Resident]
    logs: list[Log]
    recent_errors: int
    disk: Disk | None


RESULTS: Mapping[str, Any] = {
    "health": Health, "monitor.teams": Teams, "monitor.sessions": Sessions, "monitor.news": News,
    "monitor.report": Reported,
}  # fmt: skip
