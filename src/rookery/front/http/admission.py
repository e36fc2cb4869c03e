"""Limits on connections: how many there are, how long one may take to ask, and how long its answer may wait for it.

A full house makes room first: the connection that has been without a request for the longest time is closed. Only
where every connection has a request under way is the new one refused, with 503. So idle and half-open connections,
however many, keep nobody out.
"""

from collections import Counter
from typing import Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from rookery.core import errors
from rookery.core.record import NamedTuple
from rookery.runtime import descriptors

from .answer import refusal

BACKLOG = 512  # connections that the kernel and one turn of the event loop take in before any is counted
OWN_DESCRIPTORS = 256  # of the daemon itself: stores, logs, sockets, pipes of what it runs
LINGER_S = 2.0  # a refused client has this long to read why
LAST_WORDS = 4  # times `stall_s`: a slow reader of a stream has this long to read that it was too slow
SEND_BUFFER = 1 << 17  # bytes that the kernel keeps for one reader; by itself it would take megabytes
LINGERING = 64  # so many at once; more are cut off
# Why a connection was closed: none was free, room was made for another, its request or its reader took too long.
REASONS = ("full", "room", "header", "stall")


class Limits(NamedTuple):
    connections: int
    backlog: int
    header_s: float
    stall_s: float


def limits(connections: int, header_s: float, stall_s: float) -> Limits:
    """As many connections as were asked for, or as the descriptors of this process carry."""
    allowed = descriptors.raise_limit(connections + BACKLOG + LINGERING + OWN_DESCRIPTORS)
    backlog = max(1, min(BACKLOG, allowed // 4))
    carried = allowed - backlog - LINGERING - min(OWN_DESCRIPTORS, allowed // 4)
    return Limits(max(1, min(connections, carried)), backlog, header_s, stall_s)


class Member(Protocol):
    """A connection, as far as room has to be made for others."""

    def make_room(self) -> None: ...


class Admission:
    """Who is connected, and who of them has no request under way, the longest idle first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.closed: Counter[str] = Counter()  # by reason
        self.lingering: set[Member] = set()
        self._members: set[Member] = set()
        self._idle: dict[Member, None] = {}

    def __len__(self) -> int:
        return len(self._members)

    def enter(self, member: Member) -> bool:
        """Whether there is room, made if need be."""
        if len(self._members) >= self.limits.connections:
            if not self._idle:
                self.closed["full"] += 1
                return False
            oldest = next(iter(self._idle))
            self.leave(oldest)
            self.closed["room"] += 1
            oldest.make_room()
        self._members.add(member)
        self._idle[member] = None
        return True

    def begin(self, member: Member) -> None:
        """It has a request under way."""
        self._idle.pop(member, None)

    def end(self, member: Member) -> None:
        if member in self._members:
            self._idle[member] = None

    def leave(self, member: Member) -> None:
        self._members.discard(member)
        self._idle.pop(member, None)
        self.lingering.discard(member)


def written(error: errors.RookError) -> bytes:
    """A refusal as it stands on the wire, for a connection that no application has seen."""
    answer = refusal(error, {"Connection": "close"})
    headers = b"".join(b"%s: %s\r\n" % header for header in answer.raw_headers)
    return b"%s%s\r\n%s" % (STATUS_LINE[error.http_status], headers, bytes(answer.body) + b"\n")


def full(limit: int) -> errors.Unreachable:
    return errors.Unreachable(
        f"All {limit} connections have a request under way.",
        "Try again in a moment. The limit: daemon.connections.",
        code="TOO_MANY_CONNECTIONS",
    )


def too_slow(seconds: float, setting: str) -> errors.Refused:
    return errors.Refused(
        f"The request did not arrive within {seconds:g} s.",
        f"Send it again, whole. The limit: {setting}.",
        code="REQUEST_TIMEOUT",
        http=408,
    )
