"""What a run came to: tokens, model and evidence as its program tells them, and what is kept of it when it is over.

A program without a terminal tells it in its stream, one at a terminal in the record of its session, if that can be
read. Whoever begins anew reads from the beginning and comes to the same sums and the same refs, and the ledger takes
readings of a meter: what was counted is not counted again, and what was recorded is known.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

from rookery.core import errors
from rookery.core.evidence import Found
from rookery.core.extracting import Extractor
from rookery.hosts import streams, transcripts
from rookery.runtime import files, ndjson
from rookery.runtime.starting import Place

PIECE, MOST = 1 << 20, 64 << 20  # bytes in one go, and of one look
LONGEST = 16 << 20  # bytes of a line that is read: some hold pictures
STREAM, PLAIN = "output.ndjson", "output.log"
HELD = 2_000  # pieces of evidence that nobody took: then it is not read on
KEPT = 2_000_000  # bytes of its output that are recorded, the last ones
Reading = Callable[[str, bytes], "list[streams.Event] | None"]


class Meter:
    """One run's own record, read on from where it was."""

    def __init__(self, host: str, where: Place, run: str = "", root: str = "") -> None:
        self._host = host
        self._where = where
        self._run = run
        self._root = root
        self._path = ""
        self._size = 0
        self.found: list[Found] = []
        self.lock = asyncio.Lock()  # one looks at a time
        self._begin("", None)

    def _begin(self, path: str, read: Reading | None) -> None:
        """From the beginning: its own stream, whose ids are the run's, or the record of a session."""
        self._path, self._read = path, read
        self._follower = ndjson.Follower(path, longest=LONGEST)
        self._anew()

    def _anew(self) -> None:
        self._known = self._file()
        self.tally = streams.Tally()
        scope = self._run if self._path == self._where.of_run(STREAM) else ""
        self._extractor = Extractor(self._host, scope, self._root)

    def look(self, transcript: str) -> bool:
        """Whether there was anything new."""
        path, read = self._source(transcript)
        if path != self._path:
            self._read_on()  # to the end of what it wrote before
            self.over()
            self._begin(path, read)
        if read is not None:
            return self._read_on()
        before, self._size = self._size, files.size_or_none(path) if path else 0
        return self._size > before

    def _read_on(self) -> bool:
        taken = 0
        while self._read and taken < MOST and len(self.found) < HELD and (lines := self._lines()):
            if self._file() != self._known:  # another file, or a shortened one: what is read now is its beginning
                self._anew()
            for line in lines:
                events = self._read(self._host, line)
                self.tally.add(events)
                self.found += self._extractor.take(events or ())
            taken += sum(map(len, lines))
        return taken > 0

    def _file(self) -> tuple[int, int]:
        """Which it is that is read; 0 before the first look."""
        return self._follower.place.inode, self._follower.gaps

    def _lines(self) -> list[bytes]:
        """One that may not be read holds nothing: a meter stops nobody's heartbeat."""
        try:
            return self._follower.read(PIECE)
        except errors.RookError:
            return []

    def over(self) -> None:
        """Nothing more will come."""
        self.found += self._extractor.rest()
        self._follower.close()

    def _source(self, transcript: str) -> tuple[str, Reading | None]:
        stream = self._where.of_run(STREAM)
        if streams.streamed(self._host) and os.path.exists(stream):
            return stream, streams.read
        if transcripts.kept(self._host) and transcript and is_readable(transcript):
            return transcript, transcripts.read
        plain = self._where.of_run(PLAIN)
        return (plain if os.path.exists(plain) else ""), None


def is_readable(path: str) -> bool:
    """Looked at each time: a link may have taken the place of the record since it was registered (H39, H47)."""
    try:
        files.check_may_open(path)
    except errors.RookError:
        return False
    return files.is_own(path)


def tail(run: str, worker: str, told: Mapping[str, Any]) -> list[Found]:
    """What its terminal showed last."""
    if not told["tail"].strip():
        return []
    how = f"{told['reason']}, exit code {told['exit_code']}" if told["exit_code"] is not None else str(told["reason"])
    data = {"exit": told["exit_code"], "reason": str(told["reason"])}
    return [Found("tail", f"run:{run}:tail", f"last lines of {worker} ({how})", told["tail"], data)]


def record(where: Place, meter: Meter, told: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a run: the prompt, the output, its events, and what is known of it."""
    tally = meter.tally
    meta = {
        "model": tally.model, "input": tally.input, "output": tally.output, "cached": tally.cached, "cost": tally.cost,
        "calls": tally.calls, "turns": tally.turns, "exit_code": told["exit_code"], "reason": told["reason"],
        "duration_ms": told["age_ms"],
    }  # fmt: skip
    output = _end(where.of_run(STREAM)) or _end(where.of_run(PLAIN)) or told["tail"]
    return {
        "id": told["id"], "run": told["run"], "prompt": _end(where.of_run("prompt.md")), "output": output,
        "events": _end(where.of("events.ndjson")), "meta": meta,
    }  # fmt: skip


def _end(path: str) -> str:
    data, _ = files.read_from(path, max(0, files.size_or_none(path) - KEPT), KEPT)
    return data.decode("utf-8", "replace").replace("\0", "")
