"""The log as seed 002's lines of JSON: every event once, in order, whoever writes meanwhile."""

import json
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.bridge import audit
from rookery.core.caller import Caller
from rookery.core.errors import CursorTooOld, StoreCorrupt
from tests.cli.conftest import Terminal
from tests.support import ledger
from tests.support.stage import DAY, Stage
from tests.support.stores import write as append_one


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path / "ledger.db", retention__events=10, retention__days=1)
    yield made
    made.close()


def parsed(lines: str | bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


def exported(stage: Stage, since: int = 0) -> list[dict[str, Any]]:
    return [line for page in audit.pages(stage.client, Caller("user"), since) for line in parsed(page.lines)]


def numbers_of(stage: Stage) -> list[int]:
    return [seq for (seq,) in ledger.ask(stage.store.location, "SELECT seq FROM events ORDER BY seq")]


# --- the lines --------------------------------------------------------------------------------------------------------


def test_a_line_is_what_seed_002_says(rook: Terminal):
    rook.ok("task", "add", "Parse")
    rook.ok("send", "implementer", "-s", "Hi")
    rook.ok("thread", "new", "Talk", "--with", "implementer")
    lines = parsed(_emitted(rook))
    for number, line in enumerate(lines, start=1):
        assert {"schemaVersion", "id", "actor", "type", "refs", "data", "ts"} <= line.keys()
        assert (line["schemaVersion"], line["id"], line["seq"]) == ("1.0.0", f"evt-{number}", number)
        assert line["ts"].endswith("Z")
    told = {line["type"]: line for line in lines}
    assert told["task_created"]["refs"] == {"taskId": "task-0001"}
    assert told["task_created"]["data"] == {"for": ["user"], "status": "pending"}
    assert told["thread_new"]["refs"] == {"threadId": "thread-0001"}
    sent = told["message"]
    assert sent["refs"] == {"messageId": sent["refs"]["messageId"], "threadId": sent["refs"]["messageId"]}
    assert (sent["actor"], sent["data"]["to"], sent["data"]["priority"]) == ("user", ["implementer"], "normal")


def test_no_body_is_in_the_log(rook: Terminal):
    rook.ok("send", "implementer", "-s", "Subject", "-m", "the-secret-body")
    rook.ok("task", "add", "T", "-m", "the-secret-description")
    assert "the-secret" not in _emitted(rook)


def _emitted(rook: Terminal, *argv: str) -> str:
    rook.emitted.clear()
    assert rook.ok("export", "audit", *argv) == ""
    return "".join(rook.emitted)


# --- to a file --------------------------------------------------------------------------------------------------------


def test_to_a_private_file_and_on_from_there(rook: Terminal):
    done = rook.json("export", "audit", "first.jsonl")
    path = rook.folder / "first.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = parsed(path.read_bytes())
    assert (done["exported"], done["cursor"]) == (len(first), first[-1]["seq"])
    rook.ok("send", "implementer", "-s", "Later")
    rest = rook.json("export", "audit", "rest.jsonl", "--since", str(done["cursor"]))
    more = parsed((rook.folder / "rest.jsonl").read_bytes())
    assert [line["seq"] for line in first + more] == list(range(1, rest["cursor"] + 1))
    assert [line["type"] for line in more] == ["message"]
    assert parsed(_emitted(rook, "-")) == first + more
    assert parsed(_emitted(rook, "--since", "1000000")) == []


def test_nothing_is_overwritten(rook: Terminal):
    (rook.folder / "taken.jsonl").write_text("mine")
    reply = rook("export", "audit", "taken.jsonl")
    assert (reply.code, (rook.folder / "taken.jsonl").read_text()) == (1, "mine")
    assert "exists" in reply.err


def test_an_export_that_breaks_off_leaves_no_file(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another page can not be had: the log was swept under the reader."""
    rook = Terminal(tmp_path)
    rook.ok("join", "ada")
    for _ in range(4):
        rook.ok("task", "add", "T")
    monkeypatch.setattr(audit, "PAGE", 2)
    true_line, seen = audit.line, []

    def breaking(event: dict[str, Any]) -> bytes:
        seen.append(event)
        if len(seen) == 3:
            raise CursorTooOld("gone", "start over")
        return true_line(event)

    monkeypatch.setattr(audit, "line", breaking)
    before = sorted(os.listdir(tmp_path))
    assert rook("export", "audit", "half.jsonl").code == 1
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("since", ["x", "-1", "1.5", "٣"])
def test_a_number_that_is_none(rook: Terminal, since: str):
    assert rook("export", "audit", f"--since={since}").code == 2


# --- retention --------------------------------------------------------------------------------------------------------


def test_a_cursor_behind_the_horizon_is_told_so(stage: Stage):
    for _ in range(30):
        stage.call("task.add", title="T")
    stage.clock.pass_time(3 * DAY)
    stage.call("sweep")
    horizon = stage.call("events")["horizon"]
    assert horizon > 1
    with pytest.raises(CursorTooOld) as caught:
        exported(stage, since=1)
    assert caught.value.facts["horizon"] == horizon
    assert [line["seq"] for line in exported(stage)] == numbers_of(stage)
    assert [line["seq"] for line in exported(stage, since=horizon)] == numbers_of(stage)


def test_what_retention_keeps_below_the_horizon_is_there(stage: Stage):
    stage.join_all("ada", "bob")
    stage.send("ada", "bob")  # its event stays as long as the message does
    for _ in range(30):
        stage.call("task.add", title="T")
    stage.clock.pass_time(3 * DAY)
    stage.call("sweep")
    kept = [line["seq"] for line in exported(stage)]
    assert kept == numbers_of(stage)
    assert kept[0] < stage.call("events")["horizon"]


def test_the_horizon_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rook = Terminal(tmp_path)
    monkeypatch.setenv("ROOK_RETENTION_EVENTS", "1")
    for _ in range(5):
        rook.ok("task", "add", "T")
    team = rookery.connect(team="crew", cwd=str(tmp_path), home=str(tmp_path / "home"))
    ledger.ask(str(tmp_path / "home" / "rookery.db"), "UPDATE events SET at = 0")
    swept = team.call("sweep")
    team.close()
    assert swept["events"]
    reply = rook("export", "audit")
    assert reply.code == 0
    assert "may be gone" in reply.err
    assert "may be gone" in rook.ok("export", "audit", "all.jsonl")


# --- completeness -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [1, 2, 7, 500])
def test_every_event_once_and_in_order(stage: Stage, monkeypatch: pytest.MonkeyPatch, page: int):
    monkeypatch.setattr(audit, "PAGE", page)
    stage.join_all("ada", "bob")
    for number in range(7):
        stage.send("ada", "bob", f"s{number}")
    assert [line["seq"] for line in exported(stage)] == numbers_of(stage)
    assert [line["seq"] for line in exported(stage, since=3)] == numbers_of(stage)[3:]


def test_complete_while_others_write(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    """A writer that never stops: the export ends all the same, and the next one goes on without a loss or a repeat."""
    monkeypatch.setattr(audit, "PAGE", 3)
    stop, written = threading.Event(), threading.Event()

    def keep_writing() -> None:
        other = Stage(stage.store.location)
        while not stop.is_set():
            append_one(other.store, team="crew")
            written.set()
        other.close()

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        assert written.wait(30)
        seen, cursor = [], 0
        for _ in range(20):
            lines = exported(stage, since=cursor)
            seen += [line["seq"] for line in lines]
            cursor = seen[-1]
    finally:
        stop.set()
        writer.join()
    seen += [line["seq"] for line in exported(stage, since=cursor)]
    assert seen == numbers_of(stage) == list(range(1, len(seen) + 1))


@pytest.mark.parametrize("missing", [1, 4, 9])
def test_control_a_hole_in_the_log_is_told(stage: Stage, missing: int):
    for _ in range(9):
        append_one(stage.store, team="crew")
    assert len(exported(stage)) == 9
    ledger.ask(stage.store.location, "DELETE FROM events WHERE seq = :seq", seq=missing)
    with pytest.raises(StoreCorrupt):
        exported(stage)
