"""Files about workers for readers outside: `status.json`, `artifacts.json` and `events.ndjson` beside each `task.md`.

Products of the ledger, made anew whenever it says something else; nothing of Rookery reads them to decide anything.
Events carry their number: whoever comes back goes on after the last one that stands in the file.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from rookery.runtime import files, workerfiles
from rookery.runtime.workerfiles import WorkerFiles

PAGE = 500
PAGES = 20  # in one go; the rest follows with the next look
BACK = 2_000  # events that are looked through by whoever begins to tell
HELD = 100  # events of a worker that has no folder yet
LAST = 64_000  # bytes at the end of a file in which its last event stands
ARTIFACTS = 100  # of a worker, in its file
LISTED = ("id", "short", "ref", "kind", "title", "failed", "pinned", "run", "taskId", "data", "bytes", "digest", "at")
SHOWN = (
    "id", "name", "kind", "host", "backend", "model", "status", "state", "report", "stale", "warning", "task", "title",
    "outcome", "summary", "parent", "crew", "tree", "pid", "exit_code", "ending", "tokens", "runs", "since", "moved",
)  # fmt: skip


class Teller:
    """The files of one team's workers. Several threads may write at once: workers end while others are looked at."""

    def __init__(self, home: str, team: str) -> None:
        self._home = home
        self._team = team
        self._files: dict[str, WorkerFiles] = {}
        self._told: dict[str, int] = {}  # the last event in each file
        self._held: dict[str, list[Mapping[str, Any]]] = {}
        self._listed: set[str] = set()  # those whose artifacts stand in their file
        self._mutex = threading.RLock()
        self.cursor: int | None = None

    def status(self, cards: Sequence[Mapping[str, Any]]) -> None:
        """How they are now; what has not changed is not written."""
        with self._mutex:
            for card in cards:
                if found := self._of(card["id"]):
                    found.write_json(workerfiles.STATUS, {name: card[name] for name in SHOWN})

    def unlisted(self, ids: Sequence[str]) -> list[str]:
        """Those of which something was told since their artifacts were written down."""
        with self._mutex:
            return [id for id in ids if id not in self._listed and self._of(id)]

    def artifacts(self, id: str, page: Mapping[str, Any]) -> None:
        """The newest of what it did and made; nothing is written if it is what stands there."""
        with self._mutex:
            if found := self._of(id):
                listed = [{name: card[name] for name in LISTED} for card in page["artifacts"][:ARTIFACTS]]
                found.write_json(workerfiles.ARTIFACTS, {"artifacts": listed, "dropped": page["dropped"]})
                self._listed.add(id)

    def events(self, page: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> None:
        """Those that tell of one of these workers, by its id or its name."""
        with self._mutex:
            self._add(page, names)

    def _add(self, page: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> None:
        known = set(names.values())
        for event in page:
            said = {event["ref"], names.get(event["actor"], ""), names.get(event["target"], "")}
            for id in said & known:
                self._listed.discard(id)
                self._held.setdefault(id, []).append(event)
        for id in [id for id in self._held if self._of(id)]:
            self._append(id, self._held.pop(id))
        self._held = {id: events[-HELD:] for id, events in self._held.items() if id in known}

    def _append(self, id: str, events: Sequence[Mapping[str, Any]]) -> None:
        found = self._of(id)
        assert found is not None
        for event in events:
            if event["seq"] > self._told.setdefault(id, self._last(id)):
                found.event(event)
                self._told[id] = event["seq"]

    def _of(self, id: str) -> WorkerFiles | None:
        if id not in self._files:
            found = workerfiles.of(self._home, self._team, id)
            if found is None:
                return None
            self._files[id] = found
        return self._files[id]

    def _last(self, id: str) -> int:
        found = self._of(id)
        if found is None:
            return 0
        path = found.path(workerfiles.EVENTS)
        data, _ = files.read_from(path, max(0, files.size_or_none(path) - LAST), LAST)
        for line in reversed(data.split(b"\n")):
            try:
                return int(json.loads(line)["seq"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        return 0
