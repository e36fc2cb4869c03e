"""`rook hook PROGRAM idle` as a process of its own: what it ends with, and that it ends."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import rookery
from rookery.client import waiting
from rookery.client.handles import Agent, Team
from rookery.wake.datagram import DatagramBell
from tests.support.inside import environment
from tests.support.procs import PATIENCE_S
from tests.support.stores import prepared_home

ROOK = str(Path(sys.executable).parent / "rook")
STAYS = {"CLAUDE_CODE_ENTRYPOINT": "cli"}


class Scene:
    """Ada is an agent of Claude Code, as far as her hooks tell; Bob writes to her."""

    def __init__(self, folder: Path, team: Team) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.environ = {**environment(), "HOME": str(folder), "ROOK_HOME": str(self.home), "ROOK_TEAM": "crew",
                        "ROOK_AGENT": "ada", "ROOK_MESH_AUTO_JOIN": "true", **STAYS}  # fmt: skip
        self.team = team
        self.bell = DatagramBell(str(self.home))
        team.call("join", name="bob")
        # Not as this process: that is Ada's program, as far as her hooks tell.
        self.bob = Agent(team, "bob", team._caller._replace(agent="bob", origin=None))
        self._waiters: list[subprocess.Popen[str]] = []

    def hook(self, event: str, **more: Any) -> str:
        given = json.dumps({"hook_event_name": event, "session_id": "s-1", "cwd": str(self.folder), **more})
        done = subprocess.run(
            [ROOK, "hook", "claude"], input=given, env=self.environ, cwd=self.folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begun(self) -> None:
        self.hook("SessionStart", source="startup")

    def waiter(self, host: str = "claude", *, seen: bool = True, **environ: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [ROOK, "hook", host, "idle"], env={**self.environ, **environ}, cwd=self.folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdin
        process.stdin.write(json.dumps({"session_id": "s-1", "cwd": str(self.folder)}))
        process.stdin.close()
        process.stdin = None  # `communicate` must not close it again
        self._waiters.append(process)
        if seen:
            self.until(lambda: self.door() == process.pid and self.listening(process.pid))
        return process

    def sent(self, subject: str, body: str, to: str = "ada") -> str:
        """What asks for an answer would be put before her once more at the end of her turn."""
        return self.bob.call("send", to=[to], subject=subject, body=body, asks=False)["id"]

    def until(self, holds: Callable[[], Any]) -> Any:
        with self.bell.listen("crew", "all") as listener:
            found = waiting.until(listener, holds, timeout_s=PATIENCE_S, poll_s=0.05)
        assert found, "it did not come to that"
        return found

    def listening(self, pid: int) -> bool:
        """Does it wait for Ada's bell?"""
        return any(name.startswith("crew.") and f".{pid}." in name and ".all." not in name for name in self.bells())

    def bells(self) -> list[str]:
        return os.listdir(self.bell.folder)

    def door(self) -> int:
        """Which process is the door to Ada's session."""
        rows = self.sql("SELECT address FROM endpoints WHERE channel = 'door'")
        return json.loads(rows[0][0])["pid"] if rows else 0

    def phase(self) -> str:
        rows = self.sql("SELECT phase FROM turns WHERE phase_at > 0")
        return rows[0][0] if rows else ""

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        with closing(apsw.Connection(str(self.home / "rookery.db"), flags=apsw.SQLITE_OPEN_READONLY)) as other:
            other.set_busy_timeout(10_000)
            return list(other.execute(query))

    def close(self) -> None:
        for process in self._waiters:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Scene]:
    prepared_home(tmp_path / "home")
    monkeypatch.delenv("ROOK_AGENT", raising=False)
    with rookery.connect(home=str(tmp_path / "home"), cwd=str(tmp_path), team="crew") as team:
        made = Scene(tmp_path, team)
        try:
            yield made
        finally:
            made.close()


def said(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def channels(scene: Scene, id: str) -> list[str]:
    (recipient,) = scene.bob.call("receipts", id=id)["recipients"]
    return [each["channel"] for each in recipient["receipts"] if each["stage"] == "handed-over"]


@pytest.mark.slow
def test_an_idle_agent_is_woken_and_nothing_is_shown_twice(scene: Scene):
    scene.begun()
    assert scene.phase() == "idle"
    process = scene.waiter()
    id = scene.sent("Ready", "Start with the parser")
    code, out, err = said(process)
    assert (code, out) == (2, "")
    assert "1 message waits" in err
    assert "| Start with the parser" in err
    assert channels(scene, id) == ["door:idle"]
    assert scene.phase() == "busy", "nobody else wakes it meanwhile"
    assert "parser" not in scene.hook("UserPromptSubmit", prompt="<task-notification>")
    assert "parser" not in scene.hook("Stop")


@pytest.mark.slow
def test_a_burst_is_one_wake_and_nothing_of_it_is_lost(scene: Scene):
    """On a machine that pauses in the middle of it, the rest comes by the hooks of the turn that was begun."""
    scene.begun()
    process = scene.waiter()
    ids = [scene.sent(f"note {number}", "text") for number in range(100)]
    code, _, err = said(process)
    assert code == 2
    rest = scene.hook("UserPromptSubmit", prompt="x")
    counted = [int(found) for found in re.findall(r"Rookery: (\d+) messages? wait", err + rest)]
    assert (sum(counted), len(counted)) == (100, 2 if rest else 1)
    assert all(len(channels(scene, id)) <= 1 for id in ids)
    assert sum(channels(scene, id) == ["door:idle"] for id in ids) == err.count("Message ") > 0
    assert scene.hook("UserPromptSubmit", prompt="y") == ""


@pytest.mark.slow
def test_in_the_middle_of_a_turn_the_hooks_bring_it(scene: Scene):
    scene.begun()
    process = scene.waiter()
    scene.hook("UserPromptSubmit", prompt="go")
    id = scene.sent("Early", "one")
    assert "| one" in scene.hook("PostToolUse", tool_name="Read", tool_input={"file_path": "x"}).replace("\\n", "\n")
    assert process.poll() is None
    assert scene.hook("Stop") == ""
    scene.sent("Late", "two")
    code, _, err = said(process)
    assert code == 2
    assert "| two" in err
    assert "| one" not in err
    assert channels(scene, id) == ["hook:after"]


@pytest.mark.slow
def test_a_newer_one_takes_the_place_and_only_that_one_wakes(scene: Scene):
    scene.begun()
    first = scene.waiter()
    second = scene.waiter()
    assert said(first) == (0, "", "")
    scene.sent("Ready", "text")
    assert said(second)[0] == 2


@pytest.mark.slow
def test_it_leaves_when_the_session_is_another_s(scene: Scene):
    scene.begun()
    process = scene.waiter()
    scene.team.join("ada", takeover=True)
    assert said(process) == (0, "", "")


@pytest.mark.slow
def test_it_follows_a_rename(scene: Scene):
    scene.begun()
    process = scene.waiter()
    subprocess.run([ROOK, "rename", "eve"], env=scene.environ, cwd=scene.folder, check=True, capture_output=True)
    scene.until(lambda: any(name.startswith("crew.eve.") for name in scene.bells()))
    scene.sent("Ready", "text", to="eve")
    assert said(process)[0] == 2


@pytest.mark.slow
def test_ended_from_outside_it_leaves_nothing_behind(scene: Scene):
    scene.begun()
    process = scene.waiter()
    process.send_signal(signal.SIGTERM)
    assert said(process)[0] == 0
    assert scene.door() == 0
    assert not any(f".{process.pid}." in name for name in scene.bells())


@pytest.mark.slow
def test_it_may_come_before_the_hook_that_begins_the_session(scene: Scene):
    process = scene.waiter(seen=False)
    scene.until(lambda: any(f".{process.pid}." in name for name in scene.bells()))
    assert scene.door() == 0
    scene.begun()
    scene.until(lambda: scene.door() == process.pid)
    scene.sent("Ready", "text")
    assert said(process)[0] == 2


@pytest.mark.slow
def test_a_program_that_ends_with_its_turn_is_not_kept_waiting(scene: Scene):
    scene.begun()
    process = scene.waiter(seen=False, CLAUDE_CODE_ENTRYPOINT="sdk-cli")
    assert said(process) == (0, "", "")


@pytest.mark.slow
def test_a_program_without_such_a_door_is_told_so_and_takes_it_for_no_refusal(scene: Scene):
    scene.begun()
    code, out, err = said(scene.waiter("codex", seen=False))
    assert (code, out) == (0, "")
    assert "Codex has no door" in err


@pytest.mark.slow
def test_a_plugin_gets_json(scene: Scene):
    scene.begun()
    process = scene.waiter("opencode")
    scene.sent("Ready", "text")
    code, out, err = said(process)
    assert (code, err) == (0, "")
    assert "| text" in json.loads(out)["wake"]


@pytest.mark.slow
def test_it_ends_with_its_program(scene: Scene):
    scene.begun()
    start = f"import subprocess, sys; subprocess.run([{ROOK!r}, 'hook', 'claude', 'idle'], stdin=sys.stdin)"
    program = subprocess.Popen(
        [sys.executable, "-c", start], env=scene.environ, cwd=scene.folder, stdin=subprocess.PIPE, text=True
    )
    assert program.stdin
    program.stdin.write("{}")
    program.stdin.close()
    pid = scene.until(lambda: scene.door() if scene.listening(scene.door()) else 0)
    program.kill()
    program.wait()
    scene.until(lambda: not os.path.exists(f"/proc/{pid}"))
    assert scene.door() == 0


@pytest.mark.slow
def test_where_nobody_joins_it_does_not_stay(scene: Scene):
    assert said(scene.waiter(seen=False)) == (0, "", "")
