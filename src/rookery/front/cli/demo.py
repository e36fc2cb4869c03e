"""`rook demo`: a small crew in real processes, on a real ledger in a folder of its own, shown as it happens."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from rookery.client import waiting
from rookery.core import errors
from rookery.runtime import files
from rookery.runtime.children import Child
from rookery.wake.port import EVERYONE

from . import parser as parsing
from .call import Desk, Reply
from .demo_crew import CREW
from .router import answer, read_arguments

TIME_LIMIT_S = 60.0
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "HOME", "PYTHONPATH")


def run(desk: Desk, argv: list[str]) -> Reply:
    parser = parsing.Parser("demo", "Watch a small crew of real processes work together", desk.call.width)
    parser.add_argument("--keep", action="store_true", help="keep the demo's home to look around in")
    read = read_arguments(desk, parser, argv)
    if isinstance(read, Reply):
        return read
    home = tempfile.mkdtemp(prefix="rookery-demo-")
    environ = {name: desk.call.environ[name] for name in KEPT_VARIABLES if name in desk.call.environ}
    environ |= {"ROOK_HOME": f"{home}/home", "ROOK_TEAM": "demo"}
    stage = Desk(desk.call._replace(environ=environ, cwd=home, peer=0), desk.options)
    try:
        result = _play(stage, environ)
    finally:
        stage.close()
        if not read["keep"]:
            shutil.rmtree(home, ignore_errors=True)
    result["home"] = environ["ROOK_HOME"] if read["keep"] else None
    return answer(desk, "demo", result)


def _play(stage: Desk, environ: dict[str, str]) -> dict[str, Any]:
    _tell(stage, "Three agents start, each in a process of its own. The person is you.\n")
    _invite(stage)
    crew = {
        name: Child([sys.executable, "-m", "rookery.front.cli.demo_crew", name], environ=environ, cwd=stage.call.cwd)
        for name in CREW
    }
    try:
        events = list(_watch(stage))
        for name, child in crew.items():
            code, said = child.finished(TIME_LIMIT_S)
            if code:
                raise errors.RookError(
                    f"{name} failed in the demo: {said.strip()[-300:]}", "rook doctor", code="DEMO_FAILED"
                )
    finally:
        for child in crew.values():
            child.kill()
    return _summary(stage, events, {name: child.pid for name, child in crew.items()})


def _invite(stage: Desk) -> None:
    """The team's definition: names are known before they join, so that nobody's first message meets a stranger."""
    lines = [f'[agents.{name}]\nrole = "{role}"\n' for name, (_, role) in CREW.items()]
    files.write_atomic(os.path.join(stage.call.cwd, "rookery.toml"), "\n".join(lines).encode())


def _watch(stage: Desk) -> Iterator[dict[str, Any]]:
    """Follow the ledger to the end of the story, answering for the person when the critic asks."""
    cursor, ended = 0, False

    def look() -> list[dict[str, Any]]:
        page = stage.verb("events", {"after": cursor})
        return page["events"]

    with stage.house.client.listen(EVERYONE) as listener:
        while not ended:
            for event in waiting.until(listener, look, timeout_s=TIME_LIMIT_S, poll_s=1.0) or [None]:
                if event is None:
                    raise errors.RookError("The demo's crew went silent.", "rook doctor", code="DEMO_FAILED")
                cursor = event["seq"]
                _show(stage, event)
                yield event
                if event["type"] == "escalation.open":
                    _answer(stage)
                ended = event["type"] == "message" and event["target"].startswith("broadcast:")


def _answer(stage: Desk) -> None:
    for letter in stage.verb("inbox", {})["messages"]:
        stage.verb("reply", {"id": letter["id"], "body": "Only version 2."})
        stage.verb("ack", {"ids": [letter["id"]]})


def _tell(stage: Desk, line: str) -> None:
    if not stage.options.json:
        stage.call.emit(line)


def _show(stage: Desk, event: dict[str, Any]) -> None:
    if not stage.options.json:
        from . import show

        stage.call.emit(show.event_line(event, stage.call.width, terminal=stage.call.terminal))


def _summary(stage: Desk, events: list[dict[str, Any]], pids: dict[str, int]) -> dict[str, Any]:
    handoff = next(event for event in events if event["type"] == "message")
    seen = {event["ref"]: event for event in events if event["type"] == "mail.read"}
    sent = {event["ref"]: event for event in events if event["type"] == "message"}
    waits = sorted(_millis(seen[ref]["at"]) - _millis(sent[ref]["at"]) for ref in seen if ref in sent)
    return {
        "agents": pids,
        "events": len(events),
        "handoff": stage.verb("receipts", {"id": handoff["ref"]}),
        "wake_ms": waits,
        "health": stage.verb("health", {})["status"],
    }


def _millis(stamp: str) -> int:
    hours, minutes, seconds = stamp[11:-1].split(":")
    return round((int(hours) * 3600 + int(minutes) * 60 + float(seconds)) * 1000)
