"""Proof that mail was seen: the agent program's own record of its session holds the ids of the messages.

Looked at for a while after a hand-over, and not again: a record that is somewhere else, or lags, costs no mail. Until
it is seen, files that the text spoke of are looked after too.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core.ports import Pace
from rookery.runtime import files

from .courier import Verbs
from .letters import Letters
from .metering import is_readable

PIECE = 4 << 20  # bytes read at once
BEFORE = 64 << 10  # a record may have been written before we came to look
EVERY_S = 1.0
LONGEST_ID = 200


class Witness:
    def __init__(self, verbs: Verbs, letters: Letters, pace: Pace, limit_s: float) -> None:
        self._verbs = verbs
        self._letters = letters
        self._pace = pace
        self._limit_s = limit_s

    async def look(self, team: str, job: Mapping[str, Any], ids: Sequence[str]) -> None:
        path: str = job["transcript"]
        if not await asyncio.to_thread(is_readable, path):
            return
        missing, ends = set(ids), self._pace.now() + self._limit_s
        at = max(0, await asyncio.to_thread(_size, path) - BEFORE)
        while missing:
            text, end = await asyncio.to_thread(files.read_from, path, at, PIECE)
            at = max(at, end - LONGEST_ID)  # an id may be half written
            found = [id for id in ids if id in missing and id.encode() in text]
            if found:
                await self._verbs.call(team, "delivery.seen", {"agent": job["agent"], "ids": found})
                missing.difference_update(found)
            if self._pace.now() >= ends:
                return
            await self._letters.again(team, job["agent"], sorted(missing))
            await self._pace.sleep(EVERY_S)


def _size(path: str) -> int:
    try:
        return files.size(path)
    except OSError:
        return 0
