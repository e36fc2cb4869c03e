"""The shapes of what is answered about reservations and slots, and whether a path may be written."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from .shapes_mail import Words


class Lease(TypedDict):
    holder: str
    epoch: int
    expiresAt: str


class Verdict(TypedDict):
    path: str
    allow: bool
    reason: str
    hint: NotRequired[str]
    warning: NotRequired[str]
    holder: NotRequired[str]
    holds: NotRequired[str]
    since: NotRequired[str]
    until: NotRequired[str]
    place: NotRequired[str]
    host: NotRequired[str]
    branch: NotRequired[str]
    task: NotRequired[str]
    why: NotRequired[str]
    outside: NotRequired[bool]
    bound: NotRequired[bool]
    covered: NotRequired[bool]


class WriteAnswer(Verdict):
    """Of GET /v1/can-write: the reason is a word for programs, the detail for people."""

    detail: str


class Verdicts(TypedDict):
    allow: bool
    reason: str
    paths: list[Verdict]
    warnings: Words
    strict: bool
    elsewhere: bool


class Other(TypedDict):
    """Someone in the way."""

    name: str
    what: str
    state: str
    since: str
    until: str
    reason: NotRequired[str]
    place: NotRequired[str]
    host: NotRequired[str]
    branch: NotRequired[str]
    task: NotRequired[str]


class Held(TypedDict):
    """A request, held or in line."""

    id: str
    state: str
    agent: str
    kind: str
    paths: Words
    mode: str
    reason: str
    ttlMs: int
    placeMs: int
    expiresAt: str
    others: list[Other]
    waiting: Words


class Looked(TypedDict):
    id: str
    state: str
    ready: bool
    renew: bool
    others: list[Other]


class Released(TypedDict):
    released: Words
    agent: str
    holders: NotRequired[Words]


class Transferred(TypedDict):
    id: str
    to: str
    paths: Words
    message: str


class Reservation(TypedDict):
    id: str
    path: str
    state: str
    mode: str
    agent: str
    reason: str
    since: str
    expiresAt: str
    task: str | None
    cwd: str
    host: str
    branch: str
    tree: str


class Reservations(TypedDict):
    reservations: list[Reservation]
    more: bool


class SlotUser(TypedDict):
    id: str
    agent: str
    reason: str
    since: str
    expiresAt: str
    host: str


class Slot(TypedDict):
    name: str
    capacity: int
    free: int
    holders: list[SlotUser]
    waiting: list[SlotUser]


class Slots(TypedDict):
    slots: list[Slot]


RESULTS: Mapping[str, Any] = {
    "reserve": Held, "release": Released, "transfer": Transferred, "reservations": Reservations,
    "can-write": Verdicts, "slot.take": Held, "slot.give": Released, "slot.list": Slots, "slot.set": Slot,
    "hold.look": Looked, "hold.take": Held, "hold.renew": Held,
}  # fmt: skip
