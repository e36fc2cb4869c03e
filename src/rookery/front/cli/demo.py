"""`rook demo`: a small crew in real processes, on a real ledger in a folder of its own, shown as it happens."""

import os
from collections.abc import Iterator
from typing import Any

from rookery.client import waiting
from rookery.core import errors
from rookery.runtime import files
from rookery.runtime.children import Child, run_module
from rookery.wake.port import EVERYONE

from .call import Desk, Reply
from .demo_crew import CREW
from .router import answer

TIME_LIMIT_S = 60.0
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "HOME", "PYTHONPATH")


def run(desk: Desk, read: dict[str, Any]) -> Reply:
    environ = {name: desk.call.environ[name] for name in KEPT_VARIABLES if name in desk.call.environ}
    with files.scratch("rookery-demo-", keep=read["keep"]) as folder:
        environ |= {"ROOK_HOME": f"{folder}/home", "ROOK_TEAM": "demo"}
        stage = Desk(desk.call._replace(environ=environ, cwd=folder, peer=0), desk.options)
        try:
            result = _play(stage, environ)
        finally:
            stage.close()
    result["home"] = environ["ROOK_HOME"] if read["keep"] else None
    return answer(desk, "demo", result)


def _play(stage: Desk, environ: dict[str, str]) -> dict[str, Any]:
    _tell(stage, "Three agents start, each in a process of its own. The person is you.\n")
    _invite(stage)
    crew = {name: run_module("rookery.front.cli.demo_crew", name, environ=environ, cwd=stage.call.cwd) for name in CREW}
    try:
        events = list(_watch(stage, crew))
        for child in crew.values():
            child.finished(TIME_LIMIT_S)
        _check(crew)
    finally:
        for child in crew.values():
            child.kill()
    return _summary(stage, events, {name: child.pid for name, child in crew.items()})


def _invite(stage: Desk) -> None:
    """The team's definition: names are known before they join, so that nobody's first message meets a stranger."""
    lines = [f'[agents.{name}]\nrole = "{role}"\n' for name, (_, role) in CREW.items()]
    files.write_atomic(os.path.join(stage.call.cwd, "rookery.toml"), "\n".join(lines).encode())


def _check(crew: dict[str, Child]) -> None:
    for name, child in crew.items():
        if child.failed():
            _, said = child.finished(TIME_LIMIT_S)
            raise errors.RookError(
                f"{name} failed: {said.strip()[-300:]}", "`rook doctor` looks for the cause.", code="DEMO_FAILED"
            )


def _watch(stage: Desk, crew: dict[str, Child]) -> Iterator[dict[str, Any]]:
    """Follow the ledger to the end of the story, answering for the person when the critic asks."""
    cursor, ended = 0, False

    def look() -> list[dict[str, Any]]:
        _check(crew)
        return stage.verb("events", {"after": cursor})["events"]

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
                ended = ended or (event["type"] == "message" and event["target"].startswith("broadcast:"))


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
