"""What the verbs of the mesh and of mail answer with, as types: see shapes.py."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from rookery.core import mail, mesh, presence

Words = list[str]
Counts = dict[str, int]


# -- mesh ------------------------------------------------------------------------------------------------------------


class Joined(TypedDict):
    name: str
    team: str
    session: str
    epoch: int
    arrival: mesh.Arrival
    unread: int
    peers: Words
    inherited: int


class Left(TypedDict):
    name: str
    unread: int


class Renamed(TypedDict):
    name: str
    was: str


class Beat(TypedDict):
    name: str
    lease_s: float


class Activity(TypedDict):
    name: str
    kind: str
    at: str


class Agent(TypedDict):
    name: str
    status: str
    session: str | None
    role: NotRequired[str]
    is_human: NotRequired[bool]
    live: NotRequired[bool]
    liveness: NotRequired[presence.Liveness | None]
    unread: NotRequired[int]
    message: NotRequired[str]
    cwd: NotRequired[str]
    pid: NotRequired[int | None]
    stats: NotRequired[Counts]
    phase: NotRequired[str]
    gate: NotRequired[str]
    finding: NotRequired[str]
    cpu: NotRequired[int | None]
    memory: NotRequired[int | None]


class Known(Agent):
    exchange: list["Brief"]
    unread_by_sender: Counts
    ways: list[dict[str, Any]]
    unread_from_them: int


class Agents(TypedDict):
    team: str
    agents: list[Agent]
    scoped: bool


# -- mail ------------------------------------------------------------------------------------------------------------

Brief = TypedDict("Brief", {
    "id": str, "from": str, "to": str, "type": mail.Type, "subject": str, "created_at": str, "preview": str,
})  # fmt: skip

_Heading = TypedDict("_Heading", {
    "id": str, "seq": int, "from": str, "to": str, "type": mail.Type, "priority": str, "subject": str, "thread": str,
    "reply_to": str | None, "asks": bool, "group": str | None, "created_at": str, "expires_at": str | None,
    "tags": Words, "attachments": Words, "payload": dict[str, Any], "context": dict[str, Any],
    "label": NotRequired[str], "cut": NotRequired[int], "state": NotRequired[mail.State], "copy": NotRequired[str],
    "read_at": NotRequired[str | None], "completed_at": NotRequired[str | None],
    "answered_at": NotRequired[str | None], "first_contact": NotRequired[dict[str, str]],
})  # fmt: skip


class Lens(TypedDict):
    name: str
    text: str


class Message(_Heading):
    body: str
    lenses: NotRequired[list[Lens]]


class Hit(_Heading):
    snippet: str
    rank: float


class Letter(Message):
    recipient: str


class Recipient(TypedDict):
    name: str
    state: str
    how: str
    chosen: NotRequired[str]


class Spawned(TypedDict):
    id: str
    name: str
    kind: str


Sent = TypedDict("Sent", {
    "id": str, "seq": int, "thread": str, "status": str, "from": str, "recipients": list[Recipient],
    "replayed": NotRequired[bool], "closed": NotRequired[str], "escalation": NotRequired[str],
    "notes": NotRequired[Words], "spawned": NotRequired[list[Spawned]],
})  # fmt: skip


class SentApart(TypedDict):
    messages: list[Sent]


class Escalated(Sent):
    level: str
    to: str


class Escalation(TypedDict):
    id: str
    title: str
    reason: str
    level: str
    priority: str
    by: str
    state: str
    message: str
    answer: str | None
    at: str


class Escalations(TypedDict):
    escalations: list[Escalation]


class Inbox(TypedDict):
    agent: str
    messages: list[Message]
    more: bool
    next: list[int] | None


class Step(TypedDict):
    id: str
    state: mail.State
    changed: bool
    next: NotRequired[str]
    round: NotRequired[int]
    of: NotRequired[int]


class KnownLens(TypedDict):
    name: str
    title: str
    source: str


class KnownLenses(TypedDict):
    lenses: list[KnownLens]


class Steps(TypedDict):
    messages: list[Step]


class Conversation(TypedDict):
    thread: str
    participants: Words
    messages: list[Message]


class Stage(TypedDict):
    stage: str
    at: str
    channel: NotRequired[str]
    detail: NotRequired[str]


class Delivery(TypedDict):
    name: str
    state: mail.State
    reason: str
    receipts: list[Stage]


Receipts = TypedDict("Receipts", {"id": str, "from": str, "subject": str, "recipients": list[Delivery]})


class Pending(TypedDict):
    agent: str
    low: int
    normal: int
    high: int
    urgent: int
    total: int


class Context(Pending):
    text: str


class Exported(TypedDict):
    letters: list[Letter]
    after: list[int] | None


class Allowed(TypedDict):
    allowed: bool
    by: str


class Imported(TypedDict):
    imported: int
    skipped: int


RESULTS: Mapping[str, Any] = {
    "join": Joined, "leave": Left, "rename": Renamed, "status": Agent, "heartbeat": Beat, "activity": Activity,
    "who": Agents, "whois": Known,
    "drop": Sent, "lenses": KnownLenses,
    "send": Sent, "broadcast": Sent | SentApart, "reply": Sent, "handoff": Sent, "escalate": Escalated,
    "escalations": Escalations, "inbox": Inbox, "read": Message, "ack": Steps, "archive": Steps,
    "thread": Conversation, "receipts": Receipts, "pending": Pending, "context": Context,
    "export_mail": Exported, "letters": Exported, "import_mail": Imported, "store.backup": Allowed,
    "daemon.stop": Allowed, "worker.attach": Allowed,
}  # fmt: skip
