"""The command and the Python API through a daemon: the same answers as without one."""

import json
import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery import app
from rookery.core import errors
from tests.cli.conftest import Terminal
from tests.support.doors import TOKEN, Door, Running
from tests.support.holders import assembled

MOVING = (
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"), (r"\b(MSG|ses|res|item|plan|esc|ESC)-[0-9a-z]{12}", r"\1-ID"),
    (r'"(active_ago_s|joined_ago_s|seen_ms_ago)": \d+', r'"\1": N'), (r'"rank": -?[\d.e-]+', '"rank": N'),
    (r"until \d\d:\d\dZ", "until TIME"), (r'"host": "http:', '"host": "'),
    (r'"caller": \{[^}]*\}', '"caller": {}'),
    (r'"system"', '"user"'),  # what the daemon's token does without a name
)  # fmt: skip

SCRIPT = (
    "join architect", "join implementer --role dev", "who", "whois architect", "--as architect status busy",
    "--as architect send implementer -s Ready -m Start -p high --tag api", "--as implementer inbox",
    "--as architect send implementr -s x", "--as architect send implementer", "--as implementer read MSG-nothing",
    "--as architect broadcast -s all", "--as architect handoff implementer -s yours --done design",
    "--as architect escalate stuck -m help", "escalate --list", "--as architect search ready", "feed", "events",
    "stats",
    "task add Parse --file src/io/ -p high", "task add Print --dep task-0001", "task list",
    "task claim task-0002 --as architect", "task claim task-0001 --as implementer",
    "task claim task-0001 --as architect", "task progress task-0001 -m half --as implementer",
    "task done task-0001 -m parsed --as architect", "task done task-0001 -m parsed --commit abc --as implementer",
    "task show task-0001", "task claim --next --as architect", "task release task-0002 --as architect",
    "plan new Goal", "plan list", "task cancel task-0002", "task show task-9999", "--as implementer rename builder",
    "--as builder leave", "--as architect inbox --all",
)  # fmt: skip


def settled(text: str) -> str:
    for pattern, word in MOVING:
        text = re.sub(pattern, word, text)
    return text


@pytest.mark.slow
def test_every_command_answers_alike_with_and_without_a_daemon(tmp_path: Path, daemon: Running, door: Door):
    terminals: list[Terminal] = []
    for name, more in (("near", {}), ("far", {"ROOK_URL": door.url, "ROOK_TOKEN": TOKEN})):
        (tmp_path / "w").mkdir(exist_ok=True)
        terminal = Terminal(tmp_path / "w")
        terminal.environ |= {"ROOK_HOME": str(tmp_path / name), "ROOK_TEAM": door._team, **more}
        terminals.append(terminal)
    for line in SCRIPT:
        near, far = (terminal(*line.split(), "--json") for terminal in terminals)
        assert (settled(far.out), far.err, far.code) == (settled(near.out), near.err, near.code), line
    assert not (tmp_path / "far").exists(), "nothing is kept here"


@pytest.fixture
def far(tmp_path: Path, door: Door) -> Terminal:
    terminal = Terminal(tmp_path)
    terminal.environ |= {"ROOK_TEAM": door._team, "ROOK_URL": door.url, "ROOK_TOKEN": TOKEN}
    return terminal


def test_a_token_from_a_file(far: Terminal, tmp_path: Path, daemon: Running):
    del far.environ["ROOK_TOKEN"]
    assert far("who").code == 2
    for written in (f"{TOKEN}\n", json.dumps({"token": TOKEN})):
        (tmp_path / "token").write_text(written)
        far.environ["ROOK_TOKEN_FILE"] = "token"
        assert far("who").code == 0
    far.environ["ROOK_TOKEN"] = "wrong"
    reply = far("who")
    assert reply.code == 1
    assert "token" in reply.err


def test_nobody_at_the_address_is_exit_3(far: Terminal):
    far.environ["ROOK_URL"] = "http://127.0.0.1:1"
    reply = far("who")
    assert reply.code == 3
    assert "rook up" in reply.err


def test_what_needs_the_store_itself_says_so(far: Terminal):
    reply = far("backup")
    assert reply.code == 1
    assert "daemon" in reply.err
    assert far("doctor").code == 0


def test_wait_is_woken_over_http(far: Terminal, door: Door):
    far.ok("join", "ada")
    told: list[Any] = []
    waiter = threading.Thread(target=lambda: told.append(far.json("wait", "--timeout", "60", "--as", "ada")))
    waiter.start()
    while "rook_waiting 0" in door.get("/metrics").body:
        pass
    door.post("/v1/messages", agentId="bob", to=["ada"], subject="Wake up")
    waiter.join(60)
    assert told[0]["messages"][0]["subject"] == "Wake up"


@pytest.fixture
def team(door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> rookery.Team:
    monkeypatch.setenv("ROOK_URL", door.url)
    monkeypatch.setenv("ROOK_TOKEN", TOKEN)
    return app.connect(team=door._team, cwd=str(tmp_path))


def test_the_python_api_over_http(team: rookery.Team):
    with team:
        ada, bob = team.join("ada"), team.join("bob")
        receipt = ada.send("bob", "Hello", "There", priority="high")
        assert receipt.recipients[0].name == "bob"
        (message,) = bob.inbox()
        assert (message.id, message.sender, message.body) == (receipt.id, "ada", "There")
        assert message.reply("Hi").thread == receipt.thread
        assert [each.subject for each in ada.wait(timeout=0)] == ["Re: Hello"]
        team.add_task("Work", resources=["src/"])
        with ada.claim("task-0001") as lease:
            lease.progress("half")
            with pytest.raises(errors.Refused) as refused:
                bob.claim("task-0001")
            assert refused.value.code == "TASK_NOT_CLAIMABLE"
            lease.complete("done", ["it works"])
        assert team.tasks()[0]["status"] == "completed"
        assert bob.claim_next() is None


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that names neither daemon, token nor team."""
    for name in ("ROOK_URL", "ROOK_TOKEN", "ROOK_TOKEN_FILE", "ROOK_TEAM", "ROOK_AGENT"):
        monkeypatch.delenv(name, raising=False)


def test_connect_takes_the_address_and_the_token_of_a_daemon(bare: None, daemon: Running, door: Door, tmp_path: Path):
    with rookery.connect(url=door.url, token=TOKEN, cwd=str(tmp_path)) as team:
        assert team.name == daemon.told["teamId"], "the daemon's own team, whatever folder this is"
    with rookery.connect(url=door.url + "/", token=TOKEN, team=door._team, cwd=str(tmp_path)) as team:
        assert team.name == door._team
        receipt = team.join("ada").send("user", "Hello")
        with rookery.connect(url=door.url, token=TOKEN, team=door._team) as other:
            assert [each["name"] for each in other.who()] == ["ada"]
            with other.agent("ada").claim(other.add_task("Work")["id"]) as lease:
                lease.complete("done")
    assert receipt.recipients[0].name == "user"


def test_connect_goes_to_the_team_of_an_agents_token(bare: None, door: Door, tmp_path: Path):
    crew = assembled(door)
    with rookery.connect(url=crew.ada.url, token=crew.ada._token, cwd=str(tmp_path)) as team:
        assert (team.name, team.join().name) == (crew.ada._team, "ada")


def test_what_connect_is_given_counts_before_the_environment(
    bare: None, door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ROOK_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("ROOK_TOKEN", "wrong")
    monkeypatch.setenv("ROOK_TEAM", door._team)
    with rookery.connect(url=door.url, token=TOKEN) as team:
        assert (team.name, team.who()) == (door._team, [])
    with rookery.connect(home=str(tmp_path / "own")) as team:
        assert team.who() == []
    assert (tmp_path / "own" / "rookery.db").exists()


def test_connect_refuses_what_makes_no_sense(bare: None, door: Door, tmp_path: Path):
    for given, code in (
        ({"url": door.url}, "NO_TOKEN"), ({"url": door.url, "team": "t"}, "NO_TOKEN"),
        ({"url": door.url, "token": "wrong"}, "UNAUTHORIZED"), ({"url": "", "token": TOKEN, "team": "t"}, "BAD_INPUT"),
        ({"url": "127.0.0.1:4500", "token": TOKEN}, "BAD_INPUT"),
        ({"url": "http://127.0.0.1:1", "token": TOKEN}, "UNREACHABLE"),
        ({"url": door.url, "token": TOKEN, "home": str(tmp_path)}, "BAD_INPUT"),
    ):  # fmt: skip
        with pytest.raises(errors.RookError) as caught:
            rookery.connect(**given, cwd=str(tmp_path))
        assert caught.value.code == code, given


def test_refusals_keep_their_class_and_facts(team: rookery.Team):
    with team:
        team.add_task("Work")
        team.join("ada")
        first = team.agent("ada").claim("task-0001")
        team.call("task.release", id="task-0001")
        with pytest.raises(errors.Refused) as lost:
            first.complete("late")
        assert lost.value.code == "TASK_NOT_IN_PROGRESS"
        with pytest.raises(errors.UnknownName):
            team.join("bob").send("nobody-here", "x")
        with pytest.raises(errors.BadInput):
            team.call("inbox", nothing=1)


def test_a_session_taken_over_is_fenced_over_http(team: rookery.Team):
    with team:
        first = team.join("ada")
        team.join("ada", takeover=True)
        with pytest.raises(errors.SessionFenced):
            first.inbox()


def test_a_handle_from_before_a_fork_refuses(team: rookery.Team):
    with team:
        team.who()
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                team.who()
            except errors.ForkedHandle:
                os.write(writer, b"refused")
            os._exit(0)
        os.waitpid(pid, 0)
        os.close(writer)
        assert os.read(reader, 100) == b"refused"
        os.close(reader)
        team.who()
