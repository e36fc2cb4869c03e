"""What changed, by resource: the ledger read with a cursor, woken by the bell."""

from collections.abc import Iterable, Mapping
from typing import Any

from rookery.wake.port import EVERYONE

from .seat import Seat

INBOX, TASKS, WHO = "rook://inbox", "rook://tasks", "rook://who"
PAGE = 500
_PRESENCE = frozenset(("join", "leave", "rename", "status"))


def touched(events: Iterable[Mapping[str, Any]]) -> set[str]:
    """Which resources these events may have changed. A reader looks again; being told once too often is harmless."""
    found: set[str] = set()
    for event in events:
        kind: str = event["type"]
        if kind == "message" or kind.startswith(("mail.", "escalation")):
            found.add(INBOX)
        elif kind.startswith(("task", "plan")):
            found.add(TASKS)
        elif kind in _PRESENCE:
            found.add(WHO)
    return found


class News:
    """Waits for what happened after the moment it was made."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._cursor: int = seat.call("events", {"after": 0, "limit": 1})["newest"]

    def wait(self, seconds: float) -> set[str]:
        """The resources that changed meanwhile, after at most so long."""
        with self._seat.listen(EVERYONE) as listener:
            found = self._look()
            if not found and listener.wait(seconds):
                found = self._look()
        return found

    def _look(self) -> set[str]:
        page = self._seat.call("events", {"after": self._cursor, "limit": PAGE})
        self._cursor = page["cursor"]
        return touched(page["events"])
