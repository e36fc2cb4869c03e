"""The daemon's side: who is let in, that nobody can hold it up, and whose settings count."""

import errno
import json
import logging
import os
import select
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from rookery import app, door
from rookery.core import errors
from rookery.front.cli import resident, router
from rookery.front.cli.call import Call, Reply
from rookery.runtime import caller_process, files, lineage, process
from rookery.version import VERSION
from tests.support.fastdoor import Host, ask, hosted, knocking
from tests.support.panes import until
from tests.support.procs import PATIENCE_S
from tests.support.stores import prepared_home
from tests.support.trusting import trust_repository


class Room:
    """A home with a door, and commands that a test can hold back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "rook"
        self.environ = {"HOME": str(folder), "ROOK_HOME": str(self.home), "ROOK_TEAM": "crew"}
        self.held = threading.Event()  # a command is being held
        self.go = threading.Event()
        self.sights: list[lineage.Sight | None] = []

    def run(self, call: Call) -> Reply:
        self.sights.append(call.sight)
        if call.argv[0] == "hold":
            self.held.set()
            assert self.go.wait(PATIENCE_S)
            return Reply("held\n")
        if call.argv[0] == "say much":
            return Reply("x" * (8 << 20))
        if call.argv[0] == "break":
            raise ZeroDivisionError
        return router.run(call._replace(peer=0))

    def __call__(self, *argv: str, **more: str) -> Reply:
        reply = ask({**self.environ, **more}, self.folder, *argv)
        assert reply is not None, "the door is closed"
        return reply

    def asked(self, line: socket.socket, *argv: str) -> None:
        """In, and asked for something."""
        assert door.receive(line) == door.greeting(VERSION, str(self.home))
        door.send(line, door.request(list(argv), str(self.folder), self.environ, 100, False))


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


@pytest.fixture
def host(room: Room) -> Generator[Host]:
    prepared_home(room.home)
    with hosted(room.environ, room.folder, room.run) as made:
        room("join", "amy")
        room("join", "bob")
        yield made
        room.go.set()


def ends(line: socket.socket) -> bool:
    try:
        return line.recv(1) == b""
    except ConnectionResetError:
        return True


# --- who is let in ----------------------------------------------------------------------------------------------------


def test_another_user_is_not_let_in(host: Host, room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(door, "peer_of", lambda _line: (os.getpid(), os.geteuid() + 1))
    with knocking(room.home) as line:
        assert ends(line)


@contextmanager
def left_behind(home: Path) -> Generator[tuple[socket.socket, Callable[[], None]]]:
    """A connection that another process made and was let in with, and how to end that process."""
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(PATIENCE_S)
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        door.connect(line, str(home))
        theirs.send(b"in")
        theirs.recv(1)  # it lives while it is let in
        os._exit(0)

    def end() -> None:
        ours.send(b"!")
        os.waitpid(pid, 0)

    with line, ours, theirs:
        assert ours.recv(2) == b"in"
        yield line, end


def code_of(said: bytes) -> str:
    _, out, _ = door.unpacked(said)
    return json.loads(out)["error"]["code"]


def without_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Linux before 6.5: no SO_PEERPIDFD. The stand-in is an option number that no kernel has."""
    monkeypatch.setattr(caller_process, "SO_PEERPIDFD", 9_999)


KERNELS = pytest.mark.parametrize("descriptors", [True, False], ids=["pidfd", "start time"])


@KERNELS
def test_h42_words_of_a_process_that_is_gone_are_nobodys(
    host: Host, room: Room, descriptors: bool, monkeypatch: pytest.MonkeyPatch
):
    """The kernel names who connected. When that process is gone, somebody else sends the words."""
    if not descriptors:
        without_descriptors(monkeypatch)
    with left_behind(room.home) as (line, end):
        assert door.receive(line) == door.greeting(VERSION, str(room.home))
        end()
        words = ["--as", "amy", "send", "bob", "-s", "as the user", "--json"]
        door.send(line, door.request(words, str(room.folder), room.environ, 100, False))
        assert code_of(door.receive(line)) == "CALLER_GONE"
    assert json.loads(room("--as", "bob", "inbox", "--json").out)["messages"] == []


@KERNELS
def test_h42_a_caller_that_ends_before_its_standard_input_comes_does_nothing(
    host: Host, room: Room, descriptors: bool, monkeypatch: pytest.MonkeyPatch
):
    if not descriptors:
        without_descriptors(monkeypatch)
    with left_behind(room.home) as (line, end):
        room.asked(line, "--as", "amy", "send", "bob", "-s", "late", "-m", "-", "--json")
        assert door.receive(line) == door.WANTS_STDIN
        end()
        door.send(line, b"the text")
        assert code_of(door.receive(line)) == "CALLER_GONE"
    assert json.loads(room("--as", "bob", "inbox", "--json").out)["messages"] == []


def test_h42_a_reused_pid_is_not_the_caller(host: Host, room: Room, monkeypatch: pytest.MonkeyPatch):
    """The pid of a caller that has ended, which another process has by now: a live one, with another start time."""
    without_descriptors(monkeypatch)
    with knocking(room.home) as line:
        room.asked(line, "--as", "amy", "send", "bob", "-s", "late", "-m", "-", "--json")
        assert door.receive(line) == door.WANTS_STDIN
        look = process._look

        def later(pid: int) -> process._Look | None:
            seen = look(pid)
            return seen._replace(ticks=seen.ticks + 1) if seen and pid == os.getpid() else seen

        monkeypatch.setattr(process, "_look", later)
        door.send(line, b"the text")
        assert code_of(door.receive(line)) == "CALLER_GONE"
        monkeypatch.setattr(process, "_look", look)
    assert json.loads(room("--as", "bob", "inbox", "--json").out)["messages"] == []


@KERNELS
def test_h42_a_process_that_started_after_the_connection_is_not_the_caller(
    host: Host, room: Room, descriptors: bool, monkeypatch: pytest.MonkeyPatch
):
    if not descriptors:
        without_descriptors(monkeypatch)
    mine = process.identify(os.getpid())
    assert mine is not None
    ticks = int(mine.started.partition("@")[0])
    before = (ticks - 1) / os.sysconf("SC_CLK_TCK")
    assert process.started_by(mine, caller_process.now())
    assert not process.started_by(mine, before)
    monkeypatch.setattr(caller_process, "now", lambda: before)
    with knocking(room.home) as line:
        assert ends(line)


def test_h42_what_is_above_a_caller_is_looked_up_once(host: Host, room: Room):
    """The second run, with the standard input, is that of the caller as it was seen before the first."""
    room.sights.clear()
    with knocking(room.home) as line:
        room.asked(line, "--as", "amy", "send", "bob", "-s", "late", "-m", "-")
        assert door.receive(line) == door.WANTS_STDIN
        door.send(line, b"the text")
        assert door.unpacked(door.receive(line))[0] == 0
    first, second = room.sights
    assert first is second
    assert first is not None
    assert first.origin.pid == os.getpid()


def test_the_descriptor_of_a_caller_is_closed_after_its_visit(host: Host, room: Room):
    for _ in range(5):
        assert room("who").code == 0
    until(lambda: not process_descriptors(), process_descriptors)


def process_descriptors() -> list[str]:
    links: list[str] = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # it was that of the listing
            links.append(os.readlink(f"/proc/self/fd/{name}"))
    return [each for each in links if "pidfd" in each]


def test_only_a_kernel_without_process_descriptors_is_done_without():
    class Refusing:
        def __init__(self, number: int) -> None:
            self.number = number

        def getsockopt(self, _level: int, _name: int, /) -> int:
            raise OSError(self.number, os.strerror(self.number))

    assert caller_process.CallerProcess(Refusing(errno.ENOPROTOOPT), os.getpid(), caller_process.now()).is_alive()
    with pytest.raises(ProcessLookupError):
        caller_process.CallerProcess(Refusing(errno.ESRCH), os.getpid(), caller_process.now())


def test_a_client_whose_socket_is_gone_already_is_shown_out(host: Host, room: Room):
    class Gone:
        def get_extra_info(self, _name: str) -> None:
            return None

    fast = resident.FastDoor(None, host.house, app.open_guests(host.house, host.queue), host.count)
    assert fast._welcomed(Gone(), caller_process.now()) is None  # type: ignore[arg-type]


def test_a_process_with_other_mounts_or_pids_is_not_let_in(host: Host, room: Room, monkeypatch: pytest.MonkeyPatch):
    """Its paths and its ancestors would mean something else here."""
    assert process.sees_the_same(os.getpid())
    assert process.sees_the_same(os.getppid())
    assert not process.sees_the_same(0)
    view = process._view
    monkeypatch.setattr(process, "_view", lambda pid: (*view(pid), pid == "self"))
    with knocking(room.home) as line:
        assert ends(line)


def test_a_ledger_that_was_put_in_its_place_is_not_this_one(host: Host, room: Room):
    assert room("who").code == 0
    (room.home / "rookery.db").rename(room.home / "old.db")
    assert ask(room.environ, room.folder, "who") is None
    (room.home / "old.db").rename(room.home / "rookery.db")
    assert room("who").code == 0


def test_another_store_is_refused_even_if_it_is_asked_for(host: Host, room: Room):
    with knocking(room.home) as line:
        room.environ["ROOK_STORE"] = str(room.folder / "other.db")
        room.asked(line, "who", "--json")
        code, out, _err = door.unpacked(door.receive(line))
    assert (code, json.loads(out)["error"]["code"]) == (1, "OTHER_STORE")
    assert not (room.folder / "other.db").exists()


@pytest.mark.parametrize("argv", [["wait"], ["feed", "-f"], ["up"], ["reserve", "src", "--wait", "1"]], ids=" ".join)
def test_what_runs_alone_is_refused_even_if_it_is_asked_for(host: Host, room: Room, argv: list[str]):
    with knocking(room.home) as line:
        room.asked(line, *argv, "--json")
        code, out, _err = door.unpacked(door.receive(line))
    assert (code, json.loads(out)["error"]["code"]) == (2, "RUNS_ALONE")


# --- nobody holds it up -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [
    b"\xff\xff\xff\xff", b"\0\0\0\x03abc", door.framed(b"\xff\xfe\0x"), door.framed(b"/\0wide\0\0" + b"0"),
    door.framed(b"relative\x00100\0\x001\0who"), door.framed(b"/\x00100\0\x009\0who"),
    door.framed(b"/\x00100\0\x00-1\0who"), door.framed(b"/\x00100\0\x001\0who\0noequals"),
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 9,
])  # fmt: skip
def test_what_is_no_request_gets_no_answer(host: Host, room: Room, sent: bytes):
    before = host.count.commands
    with knocking(room.home) as line:
        assert door.receive(line)
        line.sendall(sent)
        line.shutdown(socket.SHUT_WR)
        assert ends(line)
    assert host.count.commands == before
    assert room("who").code == 0


def test_whoever_says_nothing_is_shown_out(host: Host, room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resident, "REQUEST_S", 0.05)
    with knocking(room.home) as silent, knocking(room.home) as slow:
        assert door.receive(silent)
        assert door.receive(slow)
        slow.sendall(b"\0\0")
        assert ends(silent)
        assert ends(slow)


def test_more_than_a_few_at_once_run_by_themselves(host: Host, room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resident, "VISITS", 3)
    with ExitStack() as stack:
        for _ in range(3):
            assert door.receive(stack.enter_context(knocking(room.home)))
        assert ask(room.environ, room.folder, "who") is None
    while ask(room.environ, room.folder, "who") is None:
        pass  # those have gone, and it will notice


def test_those_who_keep_their_standard_input_open_hold_no_thread(host: Host, room: Room):
    with ExitStack() as stack:
        waiting = [stack.enter_context(knocking(room.home)) for _ in range(resident.WORKERS + 2)]
        for line in waiting:
            room.asked(line, "--as", "amy", "send", "bob", "-s", "late", "-m", "-")
            assert door.receive(line) == door.WANTS_STDIN
        assert json.loads(room("--as", "bob", "inbox", "--json").out)["messages"] == [], "nothing is done yet"
        door.send(waiting[0], b"the text")
        assert door.unpacked(door.receive(waiting[0]))[0] == 0
    (letter,) = json.loads(room("--as", "bob", "inbox", "--json").out)["messages"]
    assert letter["body"] == "the text", "the others went away before they said what"


def test_standard_input_that_does_not_come_is_given_up(host: Host, room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resident, "STDIN_S", 0.05)
    with knocking(room.home) as line:
        room.asked(line, "--as", "amy", "send", "bob", "-s", "late", "-m", "-", "--json")
        assert door.receive(line) == door.WANTS_STDIN
        assert code_of(door.receive(line)) == "STDIN_LATE"


def test_a_caller_that_goes_away_leaves_nothing_hanging(host: Host, room: Room):
    with knocking(room.home) as line:
        room.asked(line, "hold")
        assert room.held.wait(PATIENCE_S)
    room.go.set()
    assert room("who").code == 0


def test_a_reader_that_does_not_read_is_given_up(host: Host, room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resident, "REPLY_S", 0.05)
    with knocking(room.home) as line:
        room.asked(line, "say much")
        hung_up = select.poll()
        hung_up.register(line, 0)
        assert hung_up.poll(PATIENCE_S * 1000)[0][1] & select.POLLHUP
    assert room("who").code == 0


def test_long_work_is_told_of(host: Host, room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resident, "BEAT_S", 0.01)
    with knocking(room.home) as line:
        room.asked(line, "hold")
        assert door.receive(line) == door.AT_WORK
        assert door.receive(line) == door.AT_WORK
        room.go.set()
        while (said := door.receive(line)) == door.AT_WORK:
            pass
        assert door.unpacked(said) == (0, "held\n", "")


def test_what_breaks_inside_is_answered_and_logged(host: Host, room: Room, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.ERROR, "rookery.door"):
        reply = room("break", "--json")
    assert (reply.code, json.loads(reply.out)["error"]["code"]) == (1, "INTERNAL")
    assert "ZeroDivisionError" in caplog.text
    assert room("who").code == 0


# --- going down -------------------------------------------------------------------------------------------------------


def test_going_down_answers_what_is_at_work_and_says_so_to_who_waits(host: Host, room: Room):
    with knocking(room.home) as busy, knocking(room.home) as typing, knocking(room.home) as greeted:
        room.asked(busy, "hold")
        assert room.held.wait(PATIENCE_S)
        room.asked(typing, "--as", "amy", "send", "bob", "-s", "x", "-m", "-", "--json")
        assert door.receive(typing) == door.WANTS_STDIN
        assert door.receive(greeted)
        host.stop()
        code, out, _ = door.unpacked(door.receive(typing))
        assert (code, json.loads(out)["error"]["code"]) == (3, "UNREACHABLE")
        assert "nothing was done" in out
        assert ask(room.environ, room.folder, "who") is None, "nobody new comes in"
        assert not os.path.lexists(door.place(str(room.home)))
        door.send(greeted, door.request(["--version"], "/", room.environ, 100, False))
        assert door.unpacked(door.receive(greeted)) == (0, f"rook {VERSION}\n", ""), "whoever was let in is served"
        room.go.set()
        assert door.unpacked(door.receive(busy)) == (0, "held\n", "")
    host.thread.join(PATIENCE_S)
    assert not host.thread.is_alive()


# --- whose settings count ---------------------------------------------------------------------------------------------


def test_the_settings_are_the_caller_s(host: Host, room: Room, tmp_path: Path):
    for n in range(3):
        room("--as", "amy", "send", "bob", "-s", f"letter {n}")
    assert len(json.loads(room("--as", "bob", "inbox", "--json").out)["messages"]) == 3
    few = room("--as", "bob", "inbox", "--json", ROOK_MAIL_INBOX_LIMIT="2")
    assert len(json.loads(few.out)["messages"]) == 2
    (tmp_path / "rookery.toml").write_text("[mail]\ninbox_limit = 1\n")
    assert len(json.loads(room("--as", "bob", "inbox", "--json").out)["messages"]) == 1
    wrong = room("who", ROOK_MAIL_INBOX_LIMT="2")
    assert (wrong.code, "ROOK_MAIL_INBOX_LIMIT" in wrong.err) == (2, True)


def test_the_team_is_the_caller_s(host: Host, room: Room, tmp_path: Path):
    assert len(json.loads(room("who", "--json").out)["agents"]) == 2
    assert json.loads(room("who", "--json", ROOK_TEAM="other").out)["agents"] == []
    del room.environ["ROOK_TEAM"]
    (tmp_path / "rookery.toml").write_text('team = "crew"\n')
    refused = room("who", "--json")
    assert json.loads(refused.out)["error"]["code"] == "TEAM_NOT_YOURS", "a file does not enter a team that is there"
    trust_repository(tmp_path, room.environ)
    assert len(json.loads(room("who", "--json").out)["agents"]) == 2


def test_writes_go_through_the_daemon_s_writer_unless_the_caller_s_patience_is_another(host: Host, room: Room):
    before = host.queue.writer.calls
    room("--as", "amy", "send", "bob", "-s", "x")
    assert host.queue.writer.calls == before + 1
    room("--as", "amy", "send", "bob", "-s", "y", ROOK_STORE_BUSY_S="1.5")
    assert host.queue.writer.calls == before + 1
    assert len(json.loads(room("--as", "bob", "inbox", "--json").out)["messages"]) == 2


def test_h39_a_link_to_the_ledger_is_not_opened_in_the_process_that_keeps_it(tmp_path: Path):
    """Closing it again would drop the locks of everyone who writes there."""
    ledger, link = tmp_path / "rookery.db", tmp_path / "rookery.toml"
    ledger.write_bytes(b"locked")
    link.symlink_to(ledger)
    assert files.read_limited(str(link), 100) == b"locked"
    with files.kept_closed(str(ledger)), pytest.raises(errors.BadInput, match="ledger"):
        files.read_limited(str(link), 100)
    assert files.read_limited(str(link), 100) == b"locked"
