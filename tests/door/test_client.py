"""The client's side: what it costs, when it stays out of the door, and that nothing is ever done twice."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery import door
from rookery.core import errors
from rookery.front.cli.call import Reply
from rookery.front.cli.router import COMMANDS
from rookery.runtime import places
from tests.door.conftest import ROOK, Served
from tests.support.families import few
from tests.support.fastdoor import Impostor, ask, greet
from tests.support.procs import PATIENCE_S, ROOT

CLIENT = {"_socket", "rookery", "rookery.door", "rookery.version"}


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "ROOK_HOME": str(folder / "rook"), "ROOK_TEAM": "t",
            "PYTHONPATH": str(ROOT / "src"), "LANG": "C.UTF-8", **more}  # fmt: skip


# --- what it imports --------------------------------------------------------------------------------------------------


def imported(*argv: str, environ: dict[str, str], cwd: Path) -> set[str]:
    """Every module that a process imports, by the interpreter's own account."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *argv], env=environ, cwd=cwd, capture_output=True, text=True,
        timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


@pytest.mark.slow
def test_a_command_imports_next_to_nothing(served: Served):
    environ = {name: value for name, value in served.environ.items() if name != "PYTHONWARNINGS"}
    nothing = imported("-c", "pass", environ=environ, cwd=served.folder)
    before = served.commands()
    for argv in (["inbox", "--json"], ["who"]):
        assert imported(ROOK, *argv, environ=environ, cwd=served.folder) - nothing == CLIENT
    assert served.commands() == before + 2
    alone = imported(ROOK, "inbox", "--json", environ={**environ, "ROOK_HOME": "elsewhere"}, cwd=served.folder)
    assert "rookery.front.cli.main" in alone, "the account tells what is imported"


def test_the_installed_command_is_the_file_itself():
    installed, source = Path(ROOK).read_text(), (ROOT / "src/rookery/__main__.py").read_text()
    shebang, _, rest = installed.partition("\n")
    assert re.fullmatch(r"#!/.*/python[0-9.]*", shebang)
    assert rest == source.partition("\n")[2]
    assert source.startswith("#!python\n"), "installers write their interpreter over this line"
    assert (ROOT / "src/rookery/__main__.py").stat().st_mode & stat.S_IXUSR, (
        "without it pip installs what cannot be run"
    )


def test_the_module_is_the_same_command(served: Served):
    before = served.commands()
    done = subprocess.run(
        [sys.executable, "-m", "rookery", "who", "--json"], env=served.environ, cwd=served.folder, capture_output=True,
        text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert json.loads(done.stdout) == json.loads(served("who", "--json").stdout)
    assert served.commands() == before + 2


# --- which commands, which home ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [
    "up", "down", "demo", "doctor", "wait", "wait --timeout 1", "--json wait", "--team x --as y --json wait", "backup",
    "export mailboxes d", "import mailboxes d", "plan import x.md", "feed -f", "feed --follow", "events -fn 3",
    "events -nf", "attach amy", "mcp", "slot take --", "--as wait wait", "reserve src --wait 5",
    "reserve --wait=5m src", "--as ada --json reserve src --wait 1",
])  # fmt: skip
def test_what_runs_in_a_process_of_its_own(line: str):
    assert door.runs_alone(line.split())


@pytest.mark.parametrize("line", [
    "", "inbox", "--as wait inbox", "send wait -s x", "feed", "plan show up", "plan new import", "task list",
    "help wait", "send bob -s x -m -", "--team up who", "slot", "slot give",
    "reserve src", "reserve src -m wait", "release --all", "config --json", "--json", "--as",
])  # fmt: skip
def test_what_goes_through_the_door(line: str):
    assert not door.runs_alone(line.split())


def test_the_list_names_commands_that_are_there():
    later = {"attach", "spawn", "peek"}
    assert door.ALONE - later <= {command.name for command in COMMANDS}


names = st.sampled_from(["", "~", "~/", "~/a", "a", "../a", "/a/./b/..", "~a", "a/~", "/x//y/", ".", "é"])


@given(rook_home=st.none() | names, home=st.none() | names)
def test_the_home_is_the_one_that_places_finds(rook_home: str | None, home: str | None):
    given = {"ROOK_HOME": rook_home, "HOME": home}
    environ = {name: value for name, value in given.items() if value is not None}
    found = door.home_of("/some/where", environ)
    try:
        expected = places.find(cwd="/some/where", environ={**environ, "ROOK_TEAM": "t"}).home
    except errors.RookError:
        expected = ""
    assert found in ("", expected)
    assert found or not home or not expected, "only a person without HOME is looked up elsewhere"


@pytest.mark.parametrize("variable", door.NOT_HERE)
def test_a_ledger_elsewhere_is_not_this_door_s(variable: str):
    assert door.home_of("/x", {"ROOK_HOME": "/h", variable: ""}) == "/h"
    assert door.home_of("/x", {"ROOK_HOME": "/h", variable: "y"}) == ""


# --- before anything is sent ------------------------------------------------------------------------------------------


def heard_nothing(line: socket.socket) -> bool:
    try:
        return line.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", few(["other version", "other home", "closed", "garbage", "cut short"], "other home", "garbage")
)
def test_whoever_is_not_ours_is_told_nothing(tmp_path: Path, how: str):
    home, told = tmp_path / "rook", []

    def act(line: socket.socket) -> None:
        if how == "other version":
            greet(line, home, "0.0.1")
        elif how == "other home":
            greet(line, tmp_path / "another")
        elif how == "garbage":
            line.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        elif how == "cut short":
            line.sendall(door.framed(door.greeting("0.1.0", str(home)))[:-3])
        line.shutdown(socket.SHUT_WR)
        told.append(heard_nothing(line))

    with Impostor(home, act) as other:
        done = run(tmp_path, "join", "amy")
        assert (done.returncode, done.stderr) == (0, "")
        assert "You are amy" in done.stdout
        assert other.visits == 1
    assert told == [True]


def run(folder: Path, *argv: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([ROOK, *argv], env=environment(folder), cwd=folder, capture_output=True, text=True,
                          timeout=PATIENCE_S, stdin=subprocess.DEVNULL)  # fmt: skip


def test_another_user_s_process_is_told_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home, told = tmp_path / "rook", []

    def act(line: socket.socket) -> None:
        greet(line, home)
        told.append(heard_nothing(line))

    with Impostor(home, act):
        monkeypatch.setattr(door, "peer_of", lambda _line: (1, os.geteuid() + 1))
        assert ask(environment(tmp_path), tmp_path, "who") is None
    assert all(told), "it may not even have been noticed"


@pytest.mark.slow
def test_a_door_that_nobody_opens_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home, over = tmp_path / "rook", threading.Event()
    monkeypatch.setattr(door, "GREETING_S", 0.05)
    with Impostor(home, lambda _line: over.wait(PATIENCE_S)):
        assert ask(environment(tmp_path), tmp_path, "who") is None
        over.set()
    places.prepare_home(str(home))
    (home / "run" / "door").write_text("no socket")
    assert ask(environment(tmp_path), tmp_path, "who") is None
    assert run(tmp_path, "who").returncode == 0


# --- after it is sent -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("json_wanted", [False, True])
def test_a_connection_lost_after_the_request_is_an_error_and_nothing_is_repeated(tmp_path: Path, json_wanted: bool):
    home, heard = tmp_path / "rook", []

    def act(line: socket.socket) -> None:
        greet(line, home)
        heard.append(door.receive(line))

    with Impostor(home, act) as other:
        done = run(tmp_path, "send", "bob", "-s", "x", *(["--json"] if json_wanted else []))
        assert other.visits == 1
    assert done.returncode == 3
    assert "whether `rook send bob` was done is not known" in done.stderr
    assert "rook feed" in done.stderr
    assert "Traceback" not in done.stderr
    assert (json.loads(done.stdout)["error"]["code"] if json_wanted else done.stdout) == (
        "UNREACHABLE" if json_wanted else ""
    )
    assert len(heard) == 1
    assert not (home / "rookery.db").exists(), "it ran a second time, by itself"


def test_a_daemon_that_falls_silent_is_given_up_and_one_that_works_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home, over = tmp_path / "rook", threading.Event()
    monkeypatch.setattr(door, "SILENCE_S", 0.05)

    def act(line: socket.socket) -> None:
        greet(line, home)
        words = door.receive(line)
        for _ in range(3):
            door.send(line, door.AT_WORK)
        if b"who" in words:
            door.send(line, door.reply(0, "here", ""))
        else:
            over.wait(PATIENCE_S)

    with Impostor(home, act):
        assert ask(environment(tmp_path), tmp_path, "who") == Reply("here")
        silent = ask(environment(tmp_path), tmp_path, "inbox")
        over.set()
    assert silent
    assert silent.code == 3


def _can_be_interrupted() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell starts what runs in the background without it


def test_interrupted_while_waiting(tmp_path: Path):
    home, asked = tmp_path / "rook", threading.Event()

    def act(line: socket.socket) -> None:
        greet(line, home)
        door.receive(line)
        asked.set()
        heard_nothing(line)

    with (
        Impostor(home, act),
        subprocess.Popen([ROOK, "inbox"], env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, preexec_fn=_can_be_interrupted) as client,
    ):  # fmt: skip
        assert asked.wait(PATIENCE_S)
        client.send_signal(signal.SIGINT)
        assert client.communicate(timeout=PATIENCE_S) == ("", "")
        assert client.returncode == 130


# --- standard input ---------------------------------------------------------------------------------------------------


def test_standard_input_is_read_only_where_it_is_wanted(served: Served):
    """The other end stays open for as long as the test wants: whoever reads it would wait for ever."""
    before = served.commands()
    with subprocess.Popen([ROOK, "who"], env=served.environ, cwd=served.folder, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as client:  # fmt: skip
        assert client.stdout
        assert client.stdout.read()
        assert client.wait(PATIENCE_S) == 0
    refused = served("send", "nobody-here", "-s", "x", "-m", "-", stdin="text")
    assert (refused.returncode, refused.stderr.count("nobody-here") > 0) == (1, True)
    assert served.commands() == before + 2


def test_too_much_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = tmp_path / "rook"
    monkeypatch.setattr(door, "STDIN_LIMIT", 10)
    heard: list[bytes] = []

    def act(line: socket.socket) -> None:
        greet(line, home)
        door.receive(line)
        door.send(line, door.WANTS_STDIN)
        try:
            heard.append(door.receive(line))
        except OSError:
            return
        door.send(line, door.reply(0, "", ""))

    with Impostor(home, act):
        large = ask(environment(tmp_path), tmp_path, "send", "bob", "-m", "-", stdin=lambda: b"x" * 11)
        assert large
        assert (large.code, heard) == (2, [])
        small = ask(environment(tmp_path), tmp_path, "send", "bob", "-m", "-", stdin=lambda: b"x" * 10)
        assert small
        assert (small.code, heard) == (0, [b"x" * 10])
