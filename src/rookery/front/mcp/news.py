"""What changed, by resource: the ledger read with a cursor, woken by the bell."""

from collections.abc import Iterable, Mapping
from typing import Any

from rookery.client.port import Client
from rookery.core import errors
from rookery.core.caller import Caller
from rookery.wake.port import EVERYONE

INBOX, TASKS, WHO = "rook://inbox", "rook://tasks", "rook://who"
ALL = (INBOX, TASKS, WHO)
PAGE = 500
NEWEST: Mapping[str, Any] = {"after": 0, "limit": 1}  # what tells where the ledger ends now
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
    """Waits for what happened after its beginning. For a thread that has the time."""

    def __init__(self, client: Client, caller: Caller) -> None:
        self._client = client
        self._caller = caller
        self._cursor = 0

    def begin(self) -> None:
        self._cursor = self._client.call("events", NEWEST, self._caller)["newest"]

    def wait(self, seconds: float) -> set[str]:
        """The resources that changed meanwhile, after at most so long."""
        with self._client.listen(EVERYONE) as listener:
            found = self._look()
            if not found and listener.wait(seconds):
                found = self._look()
        return found

    def _look(self) -> set[str]:
        try:
            page = self._client.call("events", {"after": self._cursor, "limit": PAGE}, self._caller)
        except errors.CursorTooOld:
            self.begin()
            return set(ALL)
        self._cursor = page["cursor"]
        return touched(page["events"])
