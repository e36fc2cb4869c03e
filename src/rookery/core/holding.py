"""The law of reservations and slots: who may have one, how long it lasts, and whose turn it is.

    asked ──nobody in the way──> held ──release, transfer──> given up
      │                          ▲  └──lapse: its time is over, or whoever kept it is gone
      └──in the way, will wait──> waiting ──its turn──┘ └──gone: it stopped saying that it waits

A hold lives by its lease. When the lease is over and the process that answers for it can be seen to run, it goes on, up
to `EXTENSIONS` times its length after it was last renewed; when that process is dead or its session has ended, it is
over at once. A place in line has a short lease of its own and no such grace: whoever waits can say so.

Nobody overtakes: a request stands behind everything that was asked for before it and that it can not share.
"""

from collections.abc import Sequence

from rookery.core.record import NamedTuple

from . import errors, names, text
from .presence import Liveness

EXTENSIONS = 6
EXCLUSIVE, SHARED = "exclusive", "shared"
HELD, WAITING = "held", "waiting"
SLOT_LIMIT = 100
CAPACITY_LIMIT = 10_000
_SLOT_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/@-")


class Lease(NamedTuple):
    """What the law looks at."""

    expires_at: int
    renewed_at: int
    ttl_ms: int


def stands(lease: Lease, now: int, keeper: Liveness | None, seen: bool) -> bool:
    """Does it keep others out? `keeper`: who answers for it, None if nobody does; `seen`: a process of this boot."""
    if keeper in (Liveness.DEAD, Liveness.ENDED):
        return False
    if lease.expires_at > now:
        return True
    return seen and keeper is Liveness.LIVE and now < limit(lease)


def limit(lease: Lease) -> int:
    return lease.renewed_at + EXTENSIONS * lease.ttl_ms


def ends_at(lease: Lease, now: int) -> int:
    """When it ends if nothing more is heard of its holder: one that is over and goes on is given another while."""
    return lease.expires_at if lease.expires_at > now else min(now + lease.ttl_ms, limit(lease))


def waits(expires_at: int, now: int, keeper: Liveness | None) -> bool:
    return expires_at > now and keeper not in (Liveness.DEAD, Liveness.ENDED)


def clash(mode: str, other: str) -> bool:
    """Only those who share can have the same."""
    return not (mode == other == SHARED)


def fits(capacity: int, taken: int, before: int) -> bool:
    """Is there room in a slot, with so many holding it and so many waiting before?"""
    return taken + before < capacity


# -- what may be asked for -----------------------------------------------------------------------------------------


def check_slot(name: str) -> str:
    if (
        not 1 <= len(name) <= SLOT_LIMIT
        or not _SLOT_CHARS.issuperset(name)
        or not (name[0].isalnum() or name[0] == "_")
    ):
        raise errors.BadInput(
            f"{text.quoted(name)} is no name of a slot.",
            "Letters, digits and _ . : / @ -, as in build, port:3000 or db:test.",
            code="BAD_NAME",
        )
    return name


def check_capacity(capacity: int) -> int:
    if not 1 <= capacity <= CAPACITY_LIMIT:
        raise errors.BadInput(f"A slot for {capacity} is out of range.", f"1 to {CAPACITY_LIMIT}.", code="BAD_CAPACITY")
    return capacity


# -- refusals ------------------------------------------------------------------------------------------------------


class Other(NamedTuple):
    """Someone in the way, in words."""

    name: str
    what: str  # the pattern or the slot
    state: str
    reason: str
    since: str  # ISO times
    until: str
    place: str = ""
    host: str = ""
    branch: str = ""
    task: str = ""

    def told(self) -> str:
        if self.state == WAITING:
            return f"{self.name} is before you in line for {self.what}, since {hour(self.since)}"
        why = f" ({text.one_line(self.reason, 60)})" if self.reason else ""
        return f"{self.what} is held by {self.name} until {hour(self.until)}{why}, since {hour(self.since)}"

    def as_dict(self) -> dict[str, str]:
        return {name: value for name, value in self._asdict().items() if value}


def hour(stamp: str) -> str:
    return f"{stamp[11:16]}Z"


def refusal(others: Sequence[Other], again: str) -> errors.Refused:
    """Who is in the way, why, since and until when, and how to ask; `again` is the command that waits instead."""
    first = others[0]
    more = f" ({len(others) - 1} more in the way)" if len(others) > 1 else ""
    return errors.Refused(
        f"{first.told()}{more}.",
        f"{ask(first.name)}, or `{again}`.",
        code="RESERVED",
        holder=first.name,
        others=[other.as_dict() for other in others[:20]],
    )


def ask(name: str) -> str:
    return "Ask the person" if name == names.PERSON else f"`rook send {name} -s ...` to ask"


def lost(what: str) -> errors.LeaseLost:
    return errors.LeaseLost(
        f"You no longer hold {text.one_line(what, 200)}.",
        "It ended, was released or was passed on: stop, and `rook reservations` shows who has what.",
        code="LEASE_EXPIRED",
    )


def place_lost() -> errors.LeaseLost:
    return errors.LeaseLost(
        "Your place in line is gone.", "It was given up, or not asked for in time: ask again.", code="PLACE_LOST"
    )


def circle(name: str, what: str) -> errors.Refused:
    return errors.Refused(
        f"You would wait for {name}, who waits for you: neither would ever get anything.",
        f"Release {what} first, or go on with other work.",
        code="CIRCLE",
        holder=name,
    )
