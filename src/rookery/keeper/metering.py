"""What a run came to: tokens and model as its program tells them, and what is kept of it when it is over.

A program without a terminal tells it in its stream, one at a terminal in the record of its session, if that can be
read. Whoever begins anew reads from the beginning and comes to the same sums, and the ledger takes readings of a meter:
what was counted is not counted again.
"""

import os
from collections.abc import Mapping
from typing import Any

from rookery.hosts import streams, transcripts
from rookery.runtime import files
from rookery.runtime.starting import Place

PIECE, MOST = 1 << 20, 64 << 20  # bytes in one go, and of one look
KEPT = 2_000_000  # bytes of its output that are recorded, the last ones


class Meter:
    """One run's own record, read on from where it was."""

    def __init__(self, host: str, where: Place) -> None:
        self._host = host
        self._where = where
        self._path = ""
        self._offset = 0
        self._rest = b""
        self.tally = streams.Tally()

    def look(self, transcript: str) -> bool:
        """Whether there was anything new."""
        path, read = self._source(transcript)
        if path != self._path:
            self._path, self._offset, self._rest, self.tally = path, 0, b"", streams.Tally()
        before, started = self._offset, self._offset
        while path and self._offset - started < MOST:
            data, offset = files.read_from(path, self._offset, PIECE)
            if offset < self._offset or not data:
                break
            self._offset = offset
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in filter(None, lines):
                self.tally.add(read(self._host, line))
        return self._offset > before

    def _source(self, transcript: str) -> tuple[str, Any]:
        stream = self._where.of_run("output.ndjson")
        if streams.streamed(self._host) and os.path.exists(stream):
            return stream, streams.read
        if transcripts.kept(self._host) and transcript:
            return transcript, transcripts.read
        plain = self._where.of_run("output.log")
        return (plain if os.path.exists(plain) else ""), lambda _host, _line: ()


def record(where: Place, meter: Meter, told: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a run: the prompt, the output, its events, and what is known of it."""
    tally = meter.tally
    meta = {
        "model": tally.model, "input": tally.input, "output": tally.output, "cached": tally.cached, "cost": tally.cost,
        "calls": tally.calls, "turns": tally.turns, "exit_code": told["exit_code"], "reason": told["reason"],
        "duration_ms": told["age_ms"],
    }  # fmt: skip
    output = _end(where.of_run("output.ndjson")) or _end(where.of_run("output.log")) or told["tail"]
    return {
        "id": told["id"], "run": told["run"], "prompt": _end(where.of_run("prompt.md")), "output": output,
        "events": _end(where.of("events.ndjson")), "meta": meta,
    }  # fmt: skip


def _end(path: str) -> str:
    data, _ = files.read_from(path, max(0, files.size_or_none(path) - KEPT), KEPT)
    return data.decode("utf-8", "replace").replace("\0", "")
