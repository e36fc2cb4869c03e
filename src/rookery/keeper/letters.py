"""Long messages as files: written before they are spoken of, private, made again from the ledger if they are lost."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rookery.core.delivery import Channel
from rookery.core.screen import Patterns
from rookery.runtime import files, places

from .courier import Verbs

FOLDER = "letters"


class Letters:
    def __init__(self, verbs: Verbs, home: str, patterns_of: Callable[[str], Patterns | None]) -> None:
        self._verbs = verbs
        self._home = home
        self._patterns_of = patterns_of
        self._made: set[tuple[str, str]] = set()

    def place(self, job: Mapping[str, Any], team: str) -> str:
        patterns: Patterns | None = self._patterns_of(job["program"]) if job["channel"] == Channel.TERMINAL else None
        return patterns.reference.replace("{path}", self.path(team, "{id}")) if patterns else ""

    def path(self, team: str, id: str) -> str:
        return os.path.join(self._home, "teams", team, FOLDER, f"{id}.md")

    async def make(self, team: str, agent: str, ids: Sequence[str]) -> None:
        """Those that are not there. An id is a name without a slash: the ledger gave it, or checked it."""
        for id in ids:
            if not os.path.exists(self.path(team, id)):
                told = await self._verbs.call(team, "delivery.letter", {"agent": agent, "id": id})
                await asyncio.to_thread(self._write, team, id, told["text"])
            self._made.add((team, id))

    async def again(self, team: str, agent: str, ids: Sequence[str]) -> None:
        """What was spoken of and is gone, though nobody is known to have read it."""
        await self.make(team, agent, [id for id in ids if (team, id) in self._made])

    def _write(self, team: str, id: str, text: str) -> None:
        folder = self._home
        for part in ("teams", team, FOLDER):
            folder = places.private_folder(os.path.join(folder, part))
        files.write_atomic(os.path.join(folder, f"{id}.md"), text.encode())
