"""The shapes of what is answered about a team: who belongs to it, what it may use, who may call, what it shares."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

# What a team.json may say, apart from whose it is.
DEFINITION: Mapping[str, Any] = {
    "agents": list[dict[str, Any]] | None,
    "leader": str | None,
    "strict": bool | None,
    "guard": str | None,
    "groups": dict[str, list[str] | None] | None,
    "budget": dict[str, int | bool | None] | None,
}


class TeamLine(TypedDict):
    teamId: str
    events: int
    tokens: int


class Teams(TypedDict):
    teams: list[TeamLine]


class Member(TypedDict):
    id: str
    role: str
    model: str


class Limits(TypedDict):
    maxTokens: int | None
    hardLimit: bool
    maxCostMicros: int | None
    agentMaxTokens: int | None
    agentMaxCostMicros: int | None
    taskMaxTokens: int | None
    taskMaxCostMicros: int | None
    warnPercent: int


class Team(TypedDict):
    schemaVersion: str
    teamId: str
    leader: str | None
    strict: bool
    guard: str
    agents: list[Member]
    groups: dict[str, Any]
    budget: Limits
    sources: dict[str, Any]


class TeamRecord(TypedDict):
    """A team of which nothing but its name may be known yet."""

    schemaVersion: str
    teamId: str
    agents: list[Member]


class TeamShown(TypedDict):
    team: TeamRecord


class TeamsShown(TypedDict):
    teams: list[TeamRecord]


class TeamMade(Team):
    created: bool


class Standing(TypedDict):
    tokens: int
    maxTokens: int | None
    costMicros: int
    maxCostMicros: int | None
    percent: int | None
    stage: str


class AgentStanding(Standing):
    agent: str


class TaskStanding(Standing):
    task: str
    title: str
    status: str


class Use(TypedDict):
    agent: str
    task: str | None
    model: str
    inputTokens: int
    outputTokens: int
    costMicros: int
    reports: int


class Budget(Standing):
    schemaVersion: str
    teamId: str
    unpricedTokens: int
    currency: str
    budget: Limits
    agents: list[AgentStanding]
    tasks: list[TaskStanding]
    usage: NotRequired[list[Use]]


class Reported(TypedDict):
    agent: str
    task: str | None
    model: str
    counted: bool
    inputTokens: int
    outputTokens: int
    costMicros: int | None
    currency: str
    standing: dict[str, Standing]


class TokenMade(TypedDict):
    id: str
    token: str
    kind: str
    agent: str | None
    team: str
    note: str
    expires_at: str | None


class Token(TypedDict):
    id: str
    kind: str
    agent: str | None
    note: str
    by: str
    at: str
    expires_at: str | None
    state: str


class Tokens(TypedDict):
    tokens: list[Token]


class TrustRequest(TypedDict):
    file: str
    key: str
    value: str
    allows: str
    digest: str
    accepted: bool
    in_force: bool


class TrustLook(TypedDict):
    repository: str
    requests: list[TrustRequest]


class TrustAccepted(TypedDict):
    accepted: int


class TrustRevoked(TypedDict):
    revoked: int


class TokenRevoked(TypedDict):
    id: str
    state: str
    changed: bool


class Artifact(TypedDict):
    schemaVersion: str
    id: str
    name: str
    kind: str
    taskId: str | None
    by: str
    bytes: int
    digest: str
    file: str
    at: str


class ArtifactShown(Artifact):
    content: str
    encoding: str
