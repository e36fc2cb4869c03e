"""The shapes of what is answered about delivery: to keepers, mostly."""

from collections.abc import Mapping
from typing import Any, TypedDict

from .shapes_mail import Words


class Way(TypedDict):
    channel: str
    how: str
    works: bool
    circuit: str
    tries: int
    reason: str
    detail: str


class Woken(TypedDict):
    name: str
    waiting: int
    ways: list[Way]
    kept: bool


class Job(TypedDict):
    agent: str
    channel: str
    address: dict[str, Any]
    program: str
    live: bool
    pid: int | None
    started: str | None
    phase: str
    gate: str
    waiting: int
    transcript: str
    clear: bool
    interrupt: bool


class Jobs(TypedDict):
    due: list[Job]
    next_ms: int | None


class Phase(TypedDict):
    phase: str
    gate: str
    live: bool


class Text(TypedDict):
    agent: str
    text: str
    shown: Words
    upto: int
    count: int
    files: Words


class WholeLetter(TypedDict):
    id: str
    text: str


class Seen(TypedDict):
    agent: str
    seen: Words


class Owned(TypedDict):
    owned: bool
    lease_ms: int


class LetGo(TypedDict):
    left: bool


class Handed(TypedDict):
    agent: str
    handed_over: Words
    announced: int
    channel: str


class Failed(TypedDict):
    agent: str
    next_ms: int
    circuit: str
    dead: Words


class ReachedTeams(TypedDict):
    teams: Words


class Ways(TypedDict):
    ways: list[Words]


class Chased(TypedDict):
    escalated: Words


_Dead = TypedDict("_Dead", {
    "id": str, "to": str, "from": str, "subject": str, "state": str, "reason": str, "attempts": int, "at": str,
})  # fmt: skip


class Dead(TypedDict):
    letters: list[_Dead]


class Tried(TypedDict):
    at: str
    channel: str
    reason: str
    detail: str


class _DeadShown(_Dead):
    tried: list[Tried]


DeadShown = TypedDict(
    "DeadShown", {"id": str, "subject": str, "from": str, "letters": list[_DeadShown]}
)  # fmt: skip


class Resent(TypedDict):
    id: str
    resent: Words


class Dropped(TypedDict):
    id: str
    dropped: Words


class Untold(TypedDict):
    team: str
    way: str


class UntoldTeams(TypedDict):
    untold: list[Untold]


class ToldItem(TypedDict):
    id: str
    kind: str
    subject: str
    worker: str
    title: str


class NotifyDigest(TypedDict):
    team: str
    count: int
    items: list[ToldItem]
    upto: int


class NotifyTold(TypedDict):
    told: bool


RESULTS: Mapping[str, Any] = {
    "notify.teams": UntoldTeams, "notify.take": NotifyDigest, "notify.done": NotifyTold,
    "notify.failed": NotifyTold,
    "delivery.due": Jobs, "delivery.phase": Phase, "delivery.offer": Text, "delivery.own": Owned,
    "delivery.leave": LetGo, "delivery.teams": ReachedTeams, "delivery.done": Handed, "delivery.failed": Failed,
    "delivery.ways": Ways, "delivery.letter": WholeLetter, "delivery.seen": Seen,
    "wake": Woken, "dead": Dead, "dead.show": DeadShown, "dead.resend": Resent,
    "dead.drop": Dropped, "chase": Chased,
}  # fmt: skip
