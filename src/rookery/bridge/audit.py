"""Seed 002's audit log: every event of the ledger as a line of JSON, with its actor and what it refers to.

    {"schemaVersion": "1.0.0", "id": "evt-12", "seq": 12, "actor": "ada", "type": "task_done", "ts": "...",
     "refs": {"taskId": "task-0001"}, "data": {"status": "completed", "for": ["lead", "ada"]}, ...}

`data` carries what happened: for mail whom it went to and how it stands there, so that an inbox can be rebuilt from
these lines; for tasks their status and whom it concerned. What people wrote (bodies, payloads, specifications) is not
in the log: it stays with the message or task that `refs` names, and goes when that goes.

A page at a time is held in memory. The export ends where the log stood when it began, so writers can not keep it going
for ever; the number of its last line is where the next one begins.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rookery.client.port import Client
from rookery.core import errors
from rookery.core import feed as words
from rookery.core.caller import Caller

SCHEMA = "1.0.0"
PAGE = 500
REFS = {"task-": "taskId", "thread-": "threadId", "plan-": "planId", "ESC-": "escalationId", "artifact-": "artifactId"}


class Page(NamedTuple):
    lines: bytes
    size: int  # in events
    cursor: int
    horizon: int  # events up to here may be gone


def pages(client: Client, caller: Caller, since: int) -> Iterator[Page]:
    """Everything after `since` that the log had when this began, in order, each once."""
    cursor, end = since, None
    while end is None or cursor < end:
        page = client.call("events", {"after": cursor, "limit": PAGE}, caller)
        end = page["newest"] if end is None else end
        events = [event for event in page["events"] if event["seq"] <= end]
        _refuse_gaps([event["seq"] for event in events] or [end + 1], cursor, page["horizon"])
        cursor = events[-1]["seq"] if events else max(cursor, end)
        yield Page(b"".join(map(line, events)), len(events), cursor, page["horizon"])


def _refuse_gaps(numbers: Sequence[int], before: int, horizon: int) -> None:
    """Beyond the horizon nothing is ever missing; if it is, no reader may be told that this is the whole log."""
    for number in numbers:
        if number > max(before, horizon) + 1:
            raise errors.StoreCorrupt(
                f"After event {before} the log goes on with {number}.", "`rook doctor` looks at the store."
            )
        before = number


def line(event: dict[str, Any]) -> bytes:
    told = {
        "schemaVersion": SCHEMA, "id": f"evt-{event['seq']}", "seq": event["seq"], "actor": event["actor"],
        "type": words.plain(event["type"]), "refs": refs(event), "data": event["data"], "ts": event["at"],
        "target": event["target"], "summary": event["preview"],
    }  # fmt: skip
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


def refs(event: dict[str, Any]) -> dict[str, str]:
    ref = event["ref"]
    if not ref:
        return {}
    if event["type"] == "message" or event["type"].startswith("mail."):
        thread = event["data"].get("thread")
        return {"messageId": ref, "threadId": thread} if thread else {"messageId": ref}
    return {next((name for prefix, name in REFS.items() if ref.startswith(prefix)), "ref"): ref}
