"""The law of the mesh: who may live under a name."""

from enum import StrEnum

from . import errors
from .presence import Liveness
from .times import ago


class Arrival(StrEnum):
    FRESH = "fresh"  # nobody was there before
    RETURN = "return"  # the name was free: its last session is over
    RESUME = "resume"  # the same process joined again
    TAKEOVER = "takeover"  # a live session was put out, as asked


def arrival(
    name: str, previous: Liveness | None, *, same_process: bool, takeover: bool, seen_ms_ago: int, where: str
) -> Arrival:
    """How a join goes ahead, or the refusal: a name has one live session."""
    if previous is None:
        return Arrival.FRESH
    if previous is not Liveness.LIVE:
        return Arrival.RETURN
    if same_process:
        return Arrival.RESUME
    if takeover:
        return Arrival.TAKEOVER
    raise errors.NameTaken(
        f"{name} is live{f' in {where}' if where else ''}, seen {ago(seen_ms_ago)} ago.",
        f"Join under another name, or `rook join {name} --takeover` to put that session out.",
    )


def fenced(name: str, reason: str) -> errors.SessionFenced:
    return errors.SessionFenced(
        f"This session no longer speaks for {name}: it was {reason or 'ended'}.",
        f"`rook join {name} --takeover` to speak for it again, or join under another name.",
    )
