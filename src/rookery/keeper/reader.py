"""The reader: what agents at their own terminals do becomes evidence, out of what their programs write down of it.

    hook: where it is ──> due ──> read on ──> evidence.take ──> transcripts.read (how far)

Hooks come before and after every tool and have no time to read: they say once where the record is. What is there is
read whenever a daemon is, from the place that the ledger holds; whoever is killed before that was written reads a part
again, whose refs are known. A call whose answer has not come yet holds that place back, so that it is read once more.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from rookery.core.evidence import Found
from rookery.core.extracting import Extractor
from rookery.hosts import records, transcripts
from rookery.runtime import files, ndjson

from . import giving
from .courier import Verbs
from .metering import HELD, LONGEST, MOST, PIECE, is_readable
from .services import BackgroundService

SERVICE = "transcripts"
BACK = 4 << 20  # bytes by which a call without an answer may hold the place back

Due = Mapping[str, Any]


class Source:
    """One record, read on from where it was."""

    def __init__(self, due: Due) -> None:
        self.due = due
        self.found: list[Found] = []
        self._follower = ndjson.Follower(due["path"], _place(due["place"]), LONGEST)
        self._extractor = Extractor(due["host"], due["host_id"], due["cwd"])
        self._clean = self._follower.place
        self.told = due["place"]

    def look(self) -> None:
        taken = 0
        while taken < MOST and len(self.found) < HELD and (lines := self._follower.read(PIECE)):
            for line in lines:
                self.found += self._extractor.take(transcripts.read(self.due["host"], line) or ())
            taken += sum(map(len, lines))
            here, clean = self._follower.place, self._clean
            is_another = bool(clean.inode) and here.inode != clean.inode
            if not self._extractor.is_waiting or is_another or here.offset > clean.offset + BACK:
                self._clean = here

    @property
    def place(self) -> str:
        return ":".join(map(str, self._clean)) if self._clean.inode else ""

    @property
    def is_read(self) -> bool:
        """To the end that it has now. What never came is never waited for."""
        there = files.identity(self.due["path"])
        place = self._follower.place
        return not there[1] or (place.inode == there[1] and place.offset >= files.size_or_none(self.due["path"]))

    def close(self) -> None:
        self._follower.close()


def _place(said: str) -> ndjson.Place:
    parts = said.split(":")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):
        return ndjson.Place()
    return ndjson.Place(*map(int, parts))


class Reader:
    def __init__(self, verbs: Verbs, *, every_s: float) -> None:
        self._verbs = verbs
        self.service = BackgroundService(SERVICE, self.look, every_s=every_s, close=self._close)
        self._sources: dict[tuple[str, str], Source] = {}  # by team and path

    async def _close(self) -> None:
        for source in self._sources.values():
            source.close()

    async def look(self) -> None:
        """One look at every record of this machine."""
        known: set[tuple[str, str]] = set()
        for team in await self._verbs.teams():
            for due in (await self._verbs.call(team, "transcripts.due", {}))["transcripts"]:
                if transcripts.kept(due["host"]) and records.is_record(due["host"], due["host_id"], due["path"]):
                    known.add((team, due["path"]))
                    await self._read(team, due)
        for key in [key for key in self._sources if key not in known]:
            self._sources.pop(key).close()

    async def _read(self, team: str, due: Due) -> None:
        source = self._sources.get((team, due["path"]))
        if source is None or source.due["session"] != due["session"]:
            if source is not None:
                source.close()
            source = self._sources[team, due["path"]] = Source(due)
        if await asyncio.to_thread(is_readable, due["path"]):
            await asyncio.to_thread(source.look)
        await giving.give(self._verbs, team, source.found, {"agent": due["agent"]})
        if not source.found:
            await self._tell(team, source, due)

    async def _tell(self, team: str, source: Source, due: Due) -> None:
        closed = due["over"] and await asyncio.to_thread(lambda: source.is_read)
        if source.place == source.told and not closed:
            return
        told = {"path": due["path"], "session": due["session"], "place": source.place, "closed": closed}
        await self._verbs.call(team, "transcripts.read", told)
        source.told = source.place
