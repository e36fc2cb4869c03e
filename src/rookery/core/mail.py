"""The law of mail: types, priorities, the life of a delivery, and what may be sent.

A delivery is one message in one mailbox. Its life:

    unread ──read──> read ──process──> processing ──complete──> completed ──archive──> archived
       │              │                    │  ▲                     ▲
       └──expire──────┴──> expired         └──┴──fail──> failed ────┘ (process again, or complete)
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Any, cast

from rookery.core.record import NamedTuple

from . import errors, text


class Type(StrEnum):
    REQUEST = "request"
    RESPONSE = "response"
    NOTIFICATION = "notification"
    HANDOFF = "handoff"
    ESCALATION = "escalation"


class Priority(IntEnum):
    LOW = 1
    NORMAL = 2
    HIGH = 3
    URGENT = 4


class State(StrEnum):
    UNREAD = "unread"
    READ = "read"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    ARCHIVED = "archived"
    EXPIRED = "expired"


_TYPES = {str(kind): kind for kind in Type}

ASK_HUMAN = "ask-human"

# Words of TX (seed 001) for a message; the word itself is kept as the message's label.
TX_TYPES: Mapping[str, Type] = {
    "task": Type.REQUEST,
    "prompt": Type.REQUEST,
    "update": Type.NOTIFICATION,
    "task-complete": Type.RESPONSE,
    ASK_HUMAN: Type.ESCALATION,
}

# Which types want an answer unless the sender says otherwise.
ASKING = frozenset((Type.REQUEST, Type.HANDOFF, Type.ESCALATION))

# How many messages one session may send, by how much talk its kind is meant to make.
COORDINATION: Mapping[str, int | None] = {"none": 0, "minimal": 2, "moderate": 5, "chatty": 10, "unlimited": None}

# What each step starts from. A step that is already taken is no error and changes nothing.
STEPS: Mapping[str, tuple[frozenset[State], State]] = {
    "read": (frozenset((State.UNREAD,)), State.READ),
    "process": (frozenset((State.UNREAD, State.READ, State.FAILED)), State.PROCESSING),
    "complete": (frozenset((State.UNREAD, State.READ, State.PROCESSING, State.FAILED)), State.COMPLETED),
    "fail": (frozenset((State.UNREAD, State.READ, State.PROCESSING)), State.FAILED),
    "archive": (frozenset((State.READ, State.COMPLETED, State.FAILED, State.EXPIRED)), State.ARCHIVED),
}
EXPIRING = frozenset((State.UNREAD, State.READ))

# A reader may stand deep in a program of its own when it parses a payload, and Python's stack has an end.
NESTING = 100


def parse_type(word: str) -> tuple[Type, str]:
    """The type and, where it was another system's word, that word."""
    folded = word.strip().lower()
    if folded in TX_TYPES:
        return TX_TYPES[folded], folded
    if folded not in _TYPES:
        known = ", ".join([*Type, *TX_TYPES])
        raise errors.BadInput(f"No message type {text.one_line(word, 40)!r}.", f"One of: {known}.")
    return _TYPES[folded], ""


def parse_priority(word: str | int) -> Priority:
    try:
        return Priority(word) if isinstance(word, int) else Priority[word.strip().upper()]
    except (KeyError, ValueError):
        raise errors.BadInput(
            f"No priority {text.one_line(str(word), 40)!r}.", "One of: low, normal, high, urgent."
        ) from None


def effective(state: State, expires_at: int | None, now: int) -> State:
    """A delivery past its time is expired whether or not a sweep has written it down."""
    if expires_at is not None and expires_at <= now and state in EXPIRING:
        return State.EXPIRED
    return state


def transition(state: State, step: str, *, expires_at: int | None, now: int) -> State:
    """The state after a step, the same state if the step was taken before, or the refusal."""
    sources, after = STEPS[step]
    current = effective(state, expires_at, now)
    if current == after:
        return current
    if step == "read" and current != State.UNREAD:
        return current  # reading again, or reading what is over, changes nothing
    if current in sources:
        return after
    raise refusal(current, step)


def refusal(current: State, step: str) -> errors.Refused:
    if current == State.EXPIRED:
        return errors.Refused(
            "This message expired before it was handled.",
            "Ask its sender whether it still matters: `rook reply ID -m ...`.",
            code="MESSAGE_EXPIRED",
        )
    if step == "archive" and current in (State.UNREAD, State.PROCESSING):
        return errors.Refused(
            f"This message is {current}; only what has been dealt with is archived.",
            "`rook ack ID` completes it first.",
            code="NOT_ARCHIVABLE",
        )
    return errors.Refused(
        f"This message is {current} already; it can not be changed to {STEPS[step][1]}.",
        "`rook receipts ID` tells its history.",
        code="MESSAGE_CLOSED",
    )


class Draft(NamedTuple):
    """A message as its sender wrote it, checked."""

    type: Type
    label: str
    priority: Priority
    subject: str
    body: str
    payload: str
    context: str
    attachments: str
    tags: str
    expires_at: int | None
    asks: bool


def draft(
    *,
    type: str,
    priority: str | int,
    subject: str,
    body: str,
    payload: Mapping[str, Any],
    context: Mapping[str, Any],
    attachments: Sequence[str],
    tags: Sequence[str],
    expires_at: int | None,
    asks: bool | None,
    now: int,
    limit: int,
) -> Draft:
    """Check everything about a message that does not depend on who gets it."""
    kind, label = parse_type(type)
    if not subject.strip():
        raise errors.BadInput("A message needs a subject.", "One line that says what it is about: -s SUBJECT.")
    subject = one_subject(subject)
    if expires_at is not None and expires_at <= now:
        raise errors.BadInput(
            "The message would be expired when sent.", "Give a time that lies ahead, e.g. 2h.", code="BAD_TIME"
        )
    written = Draft(
        type=kind,
        label=label,
        priority=parse_priority(priority),
        subject=subject,
        body=text.check_text(body, "the body"),
        payload=as_json(payload, "the payload"),
        context=as_json(context, "the context"),
        attachments=as_json([text.check_text(a, "an attachment") for a in attachments], "the attachments"),
        tags=as_json(check_tags(tags), "the tags"),
        expires_at=expires_at,
        asks=kind in ASKING if asks is None else asks,
    )
    check_size(written, limit)
    return written


def one_subject(subject: str) -> str:
    """A subject is one line; what a newline would smuggle into a list stays on it."""
    folded = " ".join(text.check_text(subject, "the subject").split())
    if len(folded) > 500:
        raise errors.TooLarge(
            f"The subject has {len(folded)} characters; 500 are allowed.", "Put the rest into the body: -m BODY."
        )
    return folded


def reference(word: str, what: str) -> str:
    """The name of something that need not be here (a conversation, a group): one line, at most 200 characters."""
    if len(word) > 200 or not word.isprintable():
        raise errors.BadInput(
            f"{what.capitalize()} {text.quoted(word, 40)} can not be used.", "At most 200 characters on one line."
        )
    return word


def check_tags(tags: Sequence[str]) -> list[str]:
    for tag in tags:
        if not tag.strip() or len(tag) > 100:
            raise errors.BadInput(f"Not a tag: {text.one_line(tag, 40)!r}.", "1 to 100 characters.")
        text.check_text(tag, "a tag")
    return list(dict.fromkeys(tags))


def check_size(written: Draft, limit: int) -> None:
    parts = (written.payload, written.context, written.attachments, written.tags)
    if 4 * (len(written.body) + sum(map(len, parts))) <= limit:  # in any encoding; the usual case
        return
    size = max(len(written.body.encode()), sum(len(part.encode()) for part in parts))
    if size > limit:
        raise errors.TooLarge(
            f"The message has {size:,} bytes; {limit:,} are allowed.",
            "Put the long part in a file and name it with --attach, or raise mail.body_limit.",
        )


def as_json(value: Any, what: str) -> str:
    """Compact JSON, or a refusal that says what cannot be written."""
    if not value:
        return "{}" if isinstance(value, Mapping) else "[]"
    import json

    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.BadInput(
            f"{what.capitalize()} can not be written as JSON: {error}.",
            "Use plain objects, lists, strings and numbers.",
        ) from None
    if written.count("{") + written.count("[") > NESTING and _is_deeper(value, NESTING):
        raise errors.BadInput(
            f"{what.capitalize()} has more than {NESTING} levels.", "Send it as text, or as a file with --attach."
        )
    return text.check_text(written, what)


def _is_deeper(value: Any, levels: int) -> bool:
    if isinstance(value, Mapping):
        value = list(cast("Mapping[Any, Any]", value).values())
    inner = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()
    return levels < 0 or any(_is_deeper(each, levels - 1) for each in inner)


def budget_refusal(coordination: str, sent: int, wanted: int) -> errors.BudgetSpent | None:
    """None while this session may still send that many messages."""
    allowed = COORDINATION[coordination]
    if allowed is None or sent + wanted <= allowed:
        return None
    return errors.BudgetSpent(
        f"This session may send {allowed} messages (coordination: {coordination}) and has sent {sent}.",
        "Finish with what you have, or `rook escalate` if you are blocked: that is always allowed.",
    )
