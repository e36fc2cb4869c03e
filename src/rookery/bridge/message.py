"""Seed 004's data: a message as one recipient has it, and the context of a handoff. Times are naive and local."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from rookery.core import errors, text, times


class MessageType(Enum):
    REQUEST = "request"
    RESPONSE = "response"
    NOTIFICATION = "notification"
    HANDOFF = "handoff"
    ESCALATION = "escalation"


class MessagePriority(Enum):
    LOW = 1
    NORMAL = 2
    HIGH = 3
    URGENT = 4


class MessageStatus(Enum):
    UNREAD = "unread"
    READ = "read"
    PROCESSING = "processing"
    COMPLETED = "completed"
    ARCHIVED = "archived"
    FAILED = "failed"


_MOMENTS = ("created_at", "expires_at", "read_at", "completed_at")
_CHOICES = ("type", "priority", "status")
_MARKS = {MessagePriority.HIGH: "[HIGH]", MessagePriority.URGENT: "[URGENT]"}


@dataclass
class Message:
    """One message in one mailbox."""

    id: str
    from_agent: str
    to_agent: str
    swarm_name: str | None
    type: MessageType
    subject: str
    body: str
    payload: dict[str, Any]
    priority: MessagePriority
    created_at: datetime
    expires_at: datetime | None
    status: MessageStatus = MessageStatus.UNREAD
    read_at: datetime | None = None
    completed_at: datetime | None = None
    reply_to: str | None = None
    thread_id: str | None = None
    context: dict[str, Any] = field(default_factory=lambda: {})
    attachments: list[str] = field(default_factory=lambda: [])
    tags: list[str] = field(default_factory=lambda: [])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, in the order of the fields, as they stand in a file."""
        written = dict(vars(self))
        for name in _CHOICES:
            written[name] = written[name].value
        for name in _MOMENTS:
            written[name] = written[name].isoformat() if written[name] else None
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Message":
        """The opposite of `to_dict`. What has a default may be left out."""
        moments = {name: datetime.fromisoformat(data[name]) if data.get(name) else None for name in _MOMENTS}
        given = {name: data[name] for name in _OPTIONAL if name in data}
        return cls(
            **{name: data[name] for name in _TEXTS},
            swarm_name=data.get("swarm_name"),
            type=MessageType(data["type"]),
            priority=MessagePriority(data["priority"]),
            payload=data.get("payload", {}),
            created_at=datetime.fromisoformat(data["created_at"]),
            expires_at=moments["expires_at"],
            status=MessageStatus(data.get("status", MessageStatus.UNREAD.value)),
            read_at=moments["read_at"],
            completed_at=moments["completed_at"],
            **given,
        )

    def to_markdown(self) -> str:
        """The message as an agent or a person reads it; nothing in it can steer a terminal."""
        title = " ".join(("##", _MARKS.get(self.priority, ""), self.subject)).strip()
        lines = [title, "", *self._head(), "", "---", "", self.body]
        if self.context:
            lines += ["", "### Context", "", *_listed(self.context)]
        if self.attachments:
            lines += ["", "### Attachments", "", *(f"- `{path}`" for path in self.attachments)]
        if self.payload:
            lines += ["", "### Payload", "", "```json", json.dumps(self.payload, indent=2), "```"]
        return text.plain("\n".join(lines))

    def _head(self) -> list[str]:
        told = {
            "From": self.from_agent,
            "Type": self.type.value,
            "Priority": self.priority.name,
            "Sent": self.created_at.strftime("%Y-%m-%d %H:%M"),
            "Thread": self.thread_id,
            "Swarm": self.swarm_name,
        }
        return [f"**{title}:** {value}" for title, value in told.items() if value]


_TEXTS = ("id", "from_agent", "to_agent", "subject", "body")
_OPTIONAL = ("reply_to", "thread_id", "context", "attachments", "tags")


def _listed(context: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for key, value in context.items():
        if isinstance(value, list):
            lines += [f"- **{key}:**", *(f"  - {item}" for item in value)]
        else:
            lines.append(f"- **{key}:** {value}")
    return lines


@dataclass
class HandoffContext:
    """What whoever takes over needs to know."""

    work_completed: str
    files_modified: list[str] = field(default_factory=lambda: [])
    files_created: list[str] = field(default_factory=lambda: [])
    current_state: str = ""
    state_file: str | None = None
    next_steps: list[str] = field(default_factory=lambda: [])
    blockers: list[str] = field(default_factory=lambda: [])
    dependencies: list[str] = field(default_factory=lambda: [])
    related_escalations: list[str] = field(default_factory=lambda: [])
    job_id: str | None = None
    notes: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def body(self, sender: str, recipient: str, notes: str = "") -> str:
        """The handoff in words, as Markdown."""
        lines = [
            f"Work handoff from {sender} to {recipient}.",
            *("", f"**Work Completed:** {self.work_completed}"),
            *("", f"**Current State:** {self.current_state}"),
        ]
        for title, items in (("Next Steps", self.next_steps), ("Blockers", self.blockers)):
            if items:
                lines += ["", f"**{title}:**", *(f"- {item}" for item in items)]
        if notes:
            lines += ["", "**Notes:**", notes]
        return "\n".join(lines)


# -- from the ledger ---------------------------------------------------------------------------------------------


def of_card(card: Mapping[str, Any], recipient: str) -> Message:
    """A verb's message as that recipient has it. Its first message names a thread, and has no `thread_id` itself."""
    id = card.get("copy", card["id"])
    return Message(
        id=id, from_agent=card["from"], to_agent=recipient, swarm_name=card["group"], type=MessageType(card["type"]),
        subject=card["subject"], body=card["body"], payload=card["payload"],
        priority=MessagePriority[card["priority"].upper()], created_at=local(card["created_at"]),
        expires_at=_local_or_none(card["expires_at"]), status=_status(card),
        read_at=_local_or_none(card.get("read_at")), completed_at=_local_or_none(card.get("completed_at")),
        reply_to=card["reply_to"],
        thread_id=None if card["thread"] == id else card["thread"], context=card["context"],
        attachments=card["attachments"], tags=card["tags"],
    )  # fmt: skip


def _status(card: Mapping[str, Any]) -> MessageStatus:
    """There is no word here for expired: `expires_at` says it."""
    state = card.get("state", "unread")
    if state == "expired":
        return MessageStatus.READ if card["read_at"] else MessageStatus.UNREAD
    return MessageStatus(state)


def local(iso: str) -> datetime:
    try:
        return datetime.fromisoformat(iso).astimezone().replace(tzinfo=None)
    except (OverflowError, ValueError):
        return datetime.max  # the last hours of the year 9999, seen from a zone where they lie beyond it


def _local_or_none(iso: str | None) -> datetime | None:
    return local(iso) if iso else None


def milliseconds(moment: datetime) -> int:
    """Since the epoch; a naive time is local."""
    try:
        ms = (moment.astimezone() - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    except (OverflowError, ValueError):
        ms = -1
    if not 0 <= ms <= times.LAST_MS:
        raise errors.BadInput(f"{moment} lies before 1970 or after 9999.", "Give a nearer time.", code="BAD_TIME")
    return ms
