"""H47: a record of a session is read only if a process of this machine registered it for its own session.

Every way in: the verb over HTTP and from Python, the hook over HTTP and by the command. A file that is not the record
of that very session is never registered, so nothing ever opens it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rookery import app
from rookery.runtime import process
from tests.support import recorded
from tests.support.doors import Running, environment, running

TEAM, SESSION = "crew", "0a1b2c3d-0000-4000-8000-000000000001"
OTHER = "0a1b2c3d-0000-4000-8000-000000000002"
# An agent program that has one command run with its own standard input.
PROGRAM = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
# One that speaks to the ledger itself.
PYTHON = """\
import json, sys, rookery
given = json.load(sys.stdin)
with rookery.connect(team="crew", cwd="/") as team:
    team.call("turn.start", **given)
"""
LOCAL = """\
import json, os, sys
from rookery import app
from rookery.runtime import process
given = json.load(sys.stdin)
house = app.open_house(cwd="/", environ=dict(os.environ), team="crew")
house.client.call("turn.start", given, house.caller(None, process=tuple(process.identify(os.getpid()))))
house.close()
"""


class Home:
    """A user's home with the records of Claude Code in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records = folder / ".claude" / "projects" / "-repo"
        self.records.mkdir(parents=True)
        self.own = self.records / f"{SESSION}.jsonl"
        lines = recorded.lines("transcripts", "claude")
        self.own.write_text("".join(f"{line}\n" for line in lines))
        (self.records / f"{OTHER}.jsonl").write_text(self.own.read_text())
        self.environ = environment(folder, ROOK_TEAM=TEAM, ROOK_MESH_AUTO_JOIN="true", ROOK_AGENT="ada")

    def run(self, code: str, *words: str, given: dict[str, Any], **more: str) -> None:
        done = subprocess.run(
            [sys.executable, "-c", code, *words], input=json.dumps(given), text=True, capture_output=True, timeout=60,
            env={**self.environ, **more}, cwd=self.folder,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def hook(self, path: str, session: str = SESSION, **more: str) -> None:
        event = {"hook_event_name": "SessionStart", "session_id": session, "transcript_path": path}
        self.run(PROGRAM, sys.executable, "-m", "rookery", "hook", "claude", given=event, **more)

    def python(self, path: str, session: str = SESSION, code: str = LOCAL) -> None:
        self.run(code, given={"host": "claude", "host_id": session, "transcript": path, "name": "ada"})

    def registered(self) -> list[str]:
        """The records that a daemon would read, and those that stand with a session."""
        with closing(app.open_house(cwd=str(self.folder), environ=self.environ, team=TEAM)) as house:
            due = house.client.call("transcripts.due", {}, house.caller("system"))["transcripts"]
            return [each["path"] for each in due]

    def foreign(self, name: str) -> tuple[str, str]:
        """(a path, the session it is said to be of) of a file that is not that session's record."""
        elsewhere = self.folder / "elsewhere" / f"{SESSION}.jsonl"
        elsewhere.parent.mkdir()
        elsewhere.write_text(self.own.read_text())
        self.own.unlink()
        other = str(self.records / f"{OTHER}.jsonl")
        if name == "linked":
            self.own.symlink_to(elsewhere)
        elif name == "hard linked":
            os.link(elsewhere, self.own)
        elif name == "pipe":
            os.mkfifo(self.own)
        elif name == "folder":
            self.own.mkdir()
        paths = {
            "other": other, "passwd": "/etc/passwd", "elsewhere": str(elsewhere), "relative": f"{SESSION}.jsonl",
            "above": f"{self.records}/../../../elsewhere/{SESSION}.jsonl", "nul": f"{self.own}\0",
        }  # fmt: skip
        return paths.get(name, str(self.own)), "*" if name == "wild" else SESSION


FOREIGN = ("other", "passwd", "elsewhere", "relative", "above", "linked", "hard linked", "pipe", "folder", "wild")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def daemon(home: Home) -> Generator[Running]:
    with running(home.folder, ROOK_TEAM=TEAM) as started:
        yield started


# -- by a process of this machine --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["hook", "python"])
def test_the_record_of_its_own_session_is_read(home: Home, way: str) -> None:
    getattr(home, way)(str(home.own))
    assert home.registered() == [str(home.own)]


def test_a_folder_that_the_program_was_started_with_counts(home: Home) -> None:
    other = home.folder / "config" / "projects" / "-repo"
    other.mkdir(parents=True)
    (other / home.own.name).write_text("")
    home.hook(str(other / home.own.name), CLAUDE_CONFIG_DIR=str(home.folder / "config"))
    assert home.registered() == [str(other / home.own.name)]


def test_a_folder_that_only_the_hook_names_does_not(home: Home) -> None:
    event = {"hook_event_name": "SessionStart", "session_id": SESSION, "transcript_path": str(home.own)}
    words = ["env", f"HOME={home.folder / 'x'}", sys.executable, "-m", "rookery", "hook", "claude"]
    home.run(PROGRAM, *words, given=event, ROOK_HOME=home.environ["ROOK_HOME"], CLAUDE_CONFIG_DIR="/nowhere")
    assert home.registered() == []


@pytest.mark.slow
@pytest.mark.parametrize("way", ["hook", "python"])
@pytest.mark.parametrize("name", FOREIGN)
def test_h47_another_file_is_not(home: Home, way: str, name: str) -> None:
    path, session = home.foreign(name)
    getattr(home, way)(path, session)
    assert home.registered() == []


def test_h47_nor_is_the_record_of_another_agents_session(home: Home) -> None:
    """bob's program runs in another team; ada says that she is its session."""
    with closing(app.open_house(cwd=str(home.folder), environ=home.environ, team="other")) as house:
        code = LOCAL.replace('team="crew"', 'team="other"')
        home.python(str(home.own), code=code)
        assert house.client.call("transcripts.due", {}, house.caller("system"))["transcripts"]
    home.python(str(home.own))
    assert home.registered() == []


def test_h47_a_handle_of_python_without_a_process_of_its_own_registers_none(home: Home) -> None:
    home.python(str(home.own), code=PYTHON)
    assert home.registered() == []


# -- over HTTP ---------------------------------------------------------------------------------------------------------


def test_h47_no_record_is_registered_over_http(home: Home, daemon: Running) -> None:
    door = daemon.door.of(TEAM)
    ada = door.having(door.operator.post("/v1/call/token.new", agent="ada").body["token"])
    claimed = {"host": os.uname().nodename, "process": [os.getpid(), "1"], "cwd": "/", "tree": "/"}
    header = {"X-Rook-Caller": json.dumps(claimed)}
    for at, each in enumerate((ada, door)):
        for more in ({}, header):
            said = {"host": "claude", "host_id": SESSION, "transcript": str(home.own), "name": ("ada", "bob")[at]}
            assert each.post("/v1/call/turn.start", more, **said).status in (200, 409)
        event = {"hook_event_name": "SessionStart", "session_id": SESSION, "transcript_path": str(home.own)}
        assert each.post("/v1/hook/claude", **event, cwd=str(home.folder)).status == 200
    assert home.registered() == []
    assert door.post("/v1/call/artifacts", limit=200).body["artifacts"] == []


@pytest.fixture
def program() -> Generator[tuple[int, str]]:
    """A process of its own: what this very test sends comes from no agent program."""
    with subprocess.Popen(["sleep", "600"]) as started:
        yield process.identify(started.pid) or (0, "")
        started.kill()


def test_h47_a_request_over_http_changes_nothing_that_a_hook_registered(
    home: Home, daemon: Running, program: tuple[int, str]
) -> None:
    with closing(app.open_house(cwd=str(home.folder), environ=home.environ, team=TEAM)) as house:
        caller = house.caller(None, process=tuple(program))
        house.client.call("turn.start", {"host": "claude", "host_id": SESSION, "name": "ada"}, caller)
    door = daemon.door.of(TEAM)
    ada = door.having(door.operator.post("/v1/call/token.new", agent="ada").body["token"])
    session = door.post("/v1/call/whois", name="ada").body["session"]
    header = {"X-Rook-Caller": json.dumps({"session": session})}
    said = {"host": "claude", "host_id": OTHER, "transcript": str(home.records / f"{OTHER}.jsonl")}
    assert ada.post("/v1/call/turn.start", header, **said).status == 200
    whose = [door.post("/v1/call/turn.whose", host="claude", host_id=each).body["agent"] for each in (SESSION, OTHER)]
    assert whose == ["ada", ""]
    assert home.registered() == []
