"""The door of a real daemon: where it is, when there is none, who its callers are, and how it ends."""

import fcntl
import json
import os
import pty
import re
import signal
import socket
import stat
import struct
import subprocess
import termios
import threading
from pathlib import Path

import pytest

from rookery import door
from tests.door.conftest import ROOK, Served
from tests.support.doors import Running, running
from tests.support.fastdoor import knocking
from tests.support.ledger import locked
from tests.support.procs import ABOVE, PATIENCE_S

pytestmark = pytest.mark.slow  # a daemon for almost every one of them


def kept_by(daemon: Running, folder: Path) -> Served:
    return Served(daemon, folder, "crew")


# --- the socket -------------------------------------------------------------------------------------------------------


def test_it_is_private_and_goes_with_the_daemon(tmp_path: Path):
    with running(tmp_path) as daemon:
        rook = kept_by(daemon, tmp_path)
        place = Path(door.place(str(rook.home)))
        assert stat.S_ISSOCK(place.lstat().st_mode)
        assert stat.S_IMODE(place.lstat().st_mode) == 0o600
        assert stat.S_IMODE(place.parent.lstat().st_mode) == 0o700
        assert rook("who").returncode == 0
        assert rook.commands() == 1
        assert daemon.stop() == (0, "")
        assert not os.path.lexists(place)
        assert rook("who").returncode == 0


def test_one_left_by_a_killed_daemon_is_done_without_and_then_replaced(tmp_path: Path):
    with running(tmp_path) as daemon:
        rook = kept_by(daemon, tmp_path)
        assert rook("join", "amy").returncode == 0
        daemon.stop(signal.SIGKILL)
        assert os.path.lexists(door.place(str(rook.home)))
    assert "amy" in rook("who").stdout
    with running(tmp_path) as daemon:
        again = kept_by(daemon, tmp_path)
        assert "amy" in again("who").stdout
        assert again.commands() == 1


def test_a_daemon_of_one_team_or_of_another_store_has_none(tmp_path: Path):
    for n, (flags, environ) in enumerate([
        (["--team", "T"], {}), (["--team", "T", "--workspace-root", str(tmp_path / "w")], {}),
        ([], {"ROOK_STORE": str(tmp_path / "other.db")}),
    ]):  # fmt: skip
        with running(tmp_path / str(n), *flags, **environ) as daemon:
            assert not list(tmp_path.rglob("door"))
            rook = kept_by(daemon, tmp_path / str(n))
            rook.environ.pop("ROOK_STORE", None)
            assert rook("join", "amy").returncode == 0
            assert (rook.home / "rookery.db").exists()
            assert rook.commands() == 0


def test_a_home_with_a_long_path(tmp_path: Path):
    folder = tmp_path / ("long" * 30)
    with running(folder) as daemon:
        rook = kept_by(daemon, folder)
        assert len(door.place(str(rook.home))) > 120
        assert rook("who").returncode == 0
        assert rook.commands() == 1
        assert daemon.stop() == (0, "")
        assert not os.path.lexists(door.place(str(rook.home)))


@pytest.mark.parametrize("way", ["relative", "through a link", "a link itself"])
def test_other_ways_to_the_same_home(tmp_path: Path, way: str):
    """A home that is a link is refused, with a daemon as without one."""
    folder = tmp_path / "real"
    with running(folder) as daemon:
        rook = kept_by(daemon, folder)
        assert rook("join", "amy").returncode == 0
        (tmp_path / "link").symlink_to(folder)
        (tmp_path / "home-link").symlink_to(rook.home)
        given = {"relative": "rook", "through a link": str(tmp_path / "link" / "rook")}
        before = rook.commands()
        told = rook("who", ROOK_HOME=given.get(way, str(tmp_path / "home-link")))
        assert ("amy" in told.stdout, "is a symlink" in told.stderr) == (way in given, way not in given)
        assert rook.commands() - before == (1 if way == "relative" else 0)


# --- who calls --------------------------------------------------------------------------------------------------------


def test_who_am_i_works_through_the_door(served: Served):
    before = served.commands()
    script = served.folder / "agent.sh"
    script.write_text(
        "rook join amy >/dev/null; rook inbox --json; (rook inbox --json); bash -c 'rook who --json; true'\n"
    )
    path = f"{Path(ROOK).parent}:{served.environ['PATH']}"
    with subprocess.Popen(["bash", str(script)], env={**served.environ, "PATH": path}, cwd=served.folder,
                          stdout=subprocess.PIPE, text=True) as shell:  # fmt: skip
        said, _ = shell.communicate(timeout=PATIENCE_S)
    first, second, who = map(json.loads, said.splitlines())
    assert (first["agent"], second["agent"]) == ("amy", "amy")
    assert [(agent["name"], agent["live"]) for agent in who["agents"]] == [("amy", True)]
    assert served.commands() == before + 4
    assert json.loads(served("inbox", "--json").stdout)["agent"] == "user", "another process is another caller"


def test_a_session_bound_through_the_door_is_known_without_it(tmp_path: Path):
    with running(tmp_path) as daemon:
        rook = kept_by(daemon, tmp_path)
        path = f"{Path(ROOK).parent}:{rook.environ['PATH']}"
        with subprocess.Popen(["bash"], env={**rook.environ, "PATH": path}, cwd=tmp_path, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as shell:  # fmt: skip
            assert shell.stdin
            assert shell.stdout
            shell.stdin.write("rook join amy --json\n")
            shell.stdin.flush()
            assert json.loads(shell.stdout.readline())["name"] == "amy"
            assert rook.commands() == 1
            daemon.stop()
            shell.stdin.write("rook inbox --json\n")
            shell.stdin.close()
            assert json.loads(shell.stdout.readline())["agent"] == "amy"


# --- the edges of a process -------------------------------------------------------------------------------------------


def both(served: Served, *argv: str | bytes) -> "list[tuple[int, bytes, bytes]]":
    """The same command in the daemon's home and, in a process of its own, in one without a daemon."""
    found: list[tuple[int, bytes, bytes]] = []
    for home in (str(served.home), str(served.folder / "alone")):
        done = subprocess.run([ROOK, *argv], env={**served.environ, "ROOK_HOME": home}, cwd=served.folder,
                              capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)  # fmt: skip
        found.append((done.returncode, done.stdout, done.stderr))
    return found


@pytest.mark.parametrize("argv", [
    [b"sn\xffed"], [b"send", b"b\xffb", b"-s", b"x"], [b"--as", b"\xc3\x28", b"inbox", b"--json"],
    [b"--team", b"\xff", b"who"],
    ["search", "été \U0001f426"], ["help"], [], ["--version"], ["-h"], ["inbox", "--nope"], ["task"], ["send"],
])  # fmt: skip
def test_strange_words_have_the_same_answers(served: Served, argv: list[str | bytes]):
    before = served.commands()
    through, alone = both(served, *argv)
    assert through == alone
    assert served.commands() == before + 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_that_lacks_characters_gets_the_same(served: Served, encoding: str):
    served.environ["PYTHONIOENCODING"] = encoding
    through, alone = both(served, "search", "été \U0001f426")
    assert through == alone
    assert b"t" in through[1] + through[2]


def test_an_encoding_of_file_names_that_is_not_utf_8_runs_by_itself(served: Served):
    before = served.commands()
    served.environ |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    through, alone = both(served, "who", "--json")
    assert through == alone
    assert served.commands() == before


def test_a_folder_that_was_removed(served: Served):
    """It is not the folder of the daemon that counts then."""
    gone = served.folder / "gone"
    gone.mkdir()
    script = f'cd "{gone}"; rmdir "{gone}"; exec "{ROOK}" who --json'
    done = subprocess.run([*ABOVE, "bash", "-c", script], env=served.environ, cwd=served.folder, capture_output=True,
                          text=True, timeout=PATIENCE_S)  # fmt: skip
    assert (done.returncode, json.loads(done.stdout)["agents"]) == (0, [])


def test_whoever_stops_reading(served: Served):
    codes: list[int] = []
    for home in (str(served.home), str(served.folder / "alone")):
        read, write = os.pipe()
        os.close(read)
        environ = {**served.environ, "ROOK_HOME": home}
        done = subprocess.run([ROOK, "help"], env=environ, cwd=served.folder, stdout=write, stderr=subprocess.PIPE,
                              timeout=PATIENCE_S)  # fmt: skip
        os.close(write)
        codes.append(done.returncode)
        assert done.stderr == b""
    assert codes == [141, 141]


def seen_in_a_terminal(environ: dict[str, str], cwd: Path, columns: int) -> bytes:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen([ROOK, "help"], env=environ, cwd=cwd, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        seen = b""
        try:
            while part := os.read(master, 1 << 16):
                seen += part
        except OSError:  # how a terminal says that nobody is left
            pass
        finally:
            os.close(master)
        assert process.wait(PATIENCE_S) == 0
    return seen


@pytest.mark.parametrize("more", [{}, {"NO_COLOR": ""}, {"TERM": "dumb"}], ids=lambda more: "".join(more) or "plain")
@pytest.mark.parametrize("columns", [10, 60, 140])
def test_a_terminal_gets_the_same_colours_and_width(served: Served, more: dict[str, str], columns: int):
    environ = {"TERM": "xterm-256color", **served.environ, **more}
    before = served.commands()
    through = seen_in_a_terminal(environ, served.folder, columns)
    assert served.commands() == before + 1
    assert through == seen_in_a_terminal({**environ, "ROOK_HOME": "alone"}, served.folder, columns)
    assert (b"\x1b[" in through) is not bool(more)
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", through)
    assert max(map(len, plain.decode().splitlines())) <= max(40, columns)


def test_no_standard_input_at_all(served: Served):
    script = f'"{ROOK}" join bob >/dev/null; exec "{ROOK}" --as bob send bob -s x -m - --json <&-'
    done = subprocess.run([*ABOVE, "bash", "-c", script], env=served.environ, cwd=served.folder, capture_output=True,
                          text=True, timeout=PATIENCE_S)  # fmt: skip
    assert done.returncode == 0, done.stderr


# --- safety -----------------------------------------------------------------------------------------------------------


def test_h39_a_repository_that_links_to_the_ledger(served: Served):
    (served.folder / "rookery.toml").symlink_to(served.home / "rookery.db")
    refused = served("who")
    assert refused.returncode == 2
    assert "ledger itself" in refused.stderr


def test_those_who_sit_at_the_door_do_not_keep_http_waiting(served: Served):
    """As many as may come in, and more, all of them silent: requests and commands are answered."""
    lines = [socket.socket(socket.AF_UNIX) for _ in range(80)]
    try:
        for line in lines:
            door.connect(line, str(served.home))
        assert served.daemon.door.get("/v1/tasks").status == 200
        assert served("who").returncode == 0
    finally:
        for line in lines:
            line.close()


def test_down_while_calls_are_in_progress(tmp_path: Path):
    """Each is answered, by the daemon or by its own process; none is lost and none is done twice."""
    with running(tmp_path) as daemon:
        rook = kept_by(daemon, tmp_path)
        assert rook("join", "amy").returncode == 0
        done: list[subprocess.CompletedProcess[str]] = []

        def send(n: int) -> None:
            done.append(rook("--as", "amy", "send", "amy", "-s", f"letter {n}", "--json"))

        senders = [threading.Thread(target=send, args=(n,)) for n in range(12)]
        for sender in senders:
            sender.start()
        while rook.commands() < 3:
            pass
        assert rook("down").returncode == 0
        for sender in senders:
            sender.join(PATIENCE_S)
        assert daemon.wait() == 0
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 12
    found = json.loads(rook("--as", "amy", "inbox", "--json", "-n", "50").stdout)["messages"]
    assert sorted(letter["subject"] for letter in found) == sorted(f"letter {n}" for n in range(12))


def test_a_stopped_daemon_is_done_without(tmp_path: Path):
    with running(tmp_path) as daemon:
        rook = kept_by(daemon, tmp_path)
        with knocking(rook.home) as line:
            assert door.receive(line)
            # Stopped between two writes of its own: within one it would keep everyone out, and they would be told so.
            with locked(str(rook.home / "rookery.db")):
                daemon.process.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, daemon.process.pid, os.WSTOPPED | os.WNOWAIT)
            try:
                assert rook("join", "amy").returncode == 0
            finally:
                daemon.process.send_signal(signal.SIGCONT)
        assert rook.commands() == 0
