"""Held terminals: started, looked at, typed into, locked and ended, by real holders of their own."""

import asyncio
import json
import os
import shutil
import signal
import stat
import struct
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rookery.core.errors import BadInput, NotYours, Refused, UnknownName
from rookery.core.ports import KEYS
from rookery.front.cli.call import terminal_of
from rookery.runtime import process, ptys
from rookery.runtime.ptys import Held
from tests.support.held import HeldServer, held
from tests.support.inside import environment, hear, say
from tests.support.panes import until
from tests.support.procs import child

MIB = 1 << 20
BY_FORCE = (128 + signal.SIGTERM, 128 + signal.SIGKILL)  # whichever came first


@pytest.fixture
def there() -> Generator[HeldServer]:
    with held() as started:
        yield started


def words(**more: str) -> list[str]:
    return [f"{name}={value}" for name, value in environment(LANG="C.UTF-8", **more).items()]


def shell(there: HeldServer, script: str) -> str:
    return there.start(["sh", "-c", script])


class Recorder:
    """A raw program that wrote some text; what it was given is in a file."""

    def __init__(self, there: HeldServer, folder: Path, text: bytes = b"ready", *how: str) -> None:
        self._heard = folder / "heard"
        (folder / "text").write_bytes(text)
        command = [sys.executable, "-m", "tests.support.recorder", str(folder / "text"), str(self._heard), *how]
        self.there = there
        self.pane = there.start([*words(), *command])
        there.shows(self.pane, "ready")
        self.held = Held(there.address(self.pane))

    @property
    def heard(self) -> bytes:
        return self._heard.read_bytes()

    def hears(self, data: bytes) -> None:
        until(lambda: self.heard == data, lambda: f"{data!r}, but {self.heard!r}")

    def do(self, deed: str, *args: Any) -> Any:
        return asyncio.run(getattr(self.held, deed)(*args))


def is_gone(who: process.Process) -> bool:
    return process.state(*who) == process.DEAD


# -- where -----------------------------------------------------------------------------------------------------------


def test_a_program_runs_as_it_was_given_and_knows_its_terminal(there: HeldServer, tmp_path: Path) -> None:
    script = (
        'cd; pwd -P; printf "%s|" "$@" "$NOTE" "$SECRET" "$TMUX_PANE" "$TERM"; env > "$HOME/env"; stty size; exec cat'
    )
    given = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "NOTE": "x $(id)", "TMUX_PANE": "%1"}
    os.environ["SECRET"] = "secret"
    try:
        argv = ["sh", "-c", script, "sh", "a b", "$(id)", "; rm x"]
        window = ptys.start(there.home, argv, cwd="/", environ=given, size=(100, 30))
    finally:
        del os.environ["SECRET"]
    look = Held(window.address)
    try:
        until(lambda: "30 100" in "\n".join(look.last_lines(9)), lambda: look.last_lines(9))
        assert look.last_lines(9)[:2] == [
            os.path.realpath(tmp_path),
            "a b|$(id)|; rm x|x $(id)|||xterm-256color|30 100",
        ]
        environ = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
        assert ptys.address_of(environ) == window.address
        assert ptys.is_there(window.address)
        assert asyncio.run(look.look()).pid == window.process.pid
        assert os.getsid(window.process.pid) == os.getpgid(window.process.pid) == window.process.pid
        assert stat.S_IMODE(os.stat(ptys.folder(there.home)).st_mode) == 0o700
        assert stat.S_IMODE(os.stat(window.address["socket"]).st_mode) == 0o600
        seen = Path(f"/proc/{window.address['holder'].split()[0]}/cmdline").read_text()
        assert "x $(id)" not in seen, "other users see the words of a process"
    finally:
        ptys.end(there.home, window.address)


@pytest.mark.slow
def test_only_what_lives_below_a_holder_is_in_its_terminal(there: HeldServer) -> None:
    """The variable is data: whoever inherited it, or made it up, is somewhere else."""
    pane = shell(there, "sleep 1000 & echo $!; wait")
    until(lambda: there.screen(pane).strip().isdecimal())
    below, first = int(there.screen(pane).strip()), there.ask(pane, op="look")["pid"]
    environ = {ptys.VARIABLE: json.dumps(there.address(pane))}
    assert [terminal_of(environ, pid) for pid in (first, below)] == [there.address(pane)] * 2
    assert terminal_of(environ, os.getpid()) is None
    assert terminal_of({}, first) is None
    other = shell(there, "exec sleep 1000")
    assert terminal_of({ptys.VARIABLE: json.dumps(there.address(other))}, first) is None
    there.kill(pane)
    assert terminal_of(environ, first) is None


@pytest.mark.parametrize(
    "told",
    ["", "{", "[]", "null", "1", '"pty"', "{}", "[" * 100_000, '{"kind":"tmux","socket":"/s","holder":"1 1"}',
     '{"kind":"pty","socket":"s","holder":"1 1"}', '{"kind":"pty","socket":"/s","holder":1}',
     '{"kind":"pty","socket":"/s","holder":"x 1"}', '{"kind":"pty","socket":"/s","holder":"\u0661 1"}',
     '{"kind":"pty","socket":"/s","holder":"1"}', '{"kind":"pty","socket":"/s","holder":"999999999999 1"}',
     '{"kind":"pty","socket":["/s"],"holder":"1 1"}'],
)  # fmt: skip
def test_what_is_no_address_is_none(told: str) -> None:
    assert ptys.address_of({ptys.VARIABLE: told}) is None
    assert terminal_of({ptys.VARIABLE: told}, os.getpid()) is None


@pytest.mark.slow
def test_another_process_at_the_socket_is_not_the_holder(there: HeldServer, tmp_path: Path) -> None:
    """H12, H18: the address says which process, and who answers says who it is."""
    pane = shell(there, "echo here; exec cat")
    there.shows(pane, "here")
    address, me = there.address(pane), process.identify(os.getpid())
    assert me
    other = there.address(shell(there, "echo other; exec cat"))
    wrongs: list[Mapping[str, str]] = [
        {**address, "holder": f"{me.pid} {me.started}"},
        {**address, "holder": address["holder"].split()[0] + " 1"},
        {**address, "socket": other["socket"]},
        {**address, "socket": str(tmp_path / "none")},
        {**address, "kind": "tmux"},
    ]
    for wrong in wrongs:
        lost = Held(wrong)
        assert asyncio.run(lost.look()).dead
        assert not asyncio.run(lost.lock())
        assert not asyncio.run(lost.paste("text"))
        assert lost.last_lines(5) == []
        assert asyncio.run(lost.left()) == ""
        assert not ptys.panes(wrong)
    assert "text" not in there.screen(pane)


def test_a_home_too_deep_for_a_socket_has_its_folder_elsewhere(tmp_path: Path) -> None:
    home = tmp_path / ("deep/" * 30)
    home.mkdir(parents=True)
    folder = ptys.folder(str(home))
    try:
        window = ptys.start(str(home), ["cat"], cwd="/", environ={"PATH": os.environ["PATH"]})
        assert os.path.dirname(window.address["socket"]) == folder
        assert not folder.startswith(str(tmp_path))
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert ptys.is_there(window.address)
        ptys.end(str(home), window.address)
        until(lambda: os.listdir(folder) == [])
    finally:
        shutil.rmtree(folder)


@pytest.mark.slow
def test_all_that_it_shows_is_kept_raw_where_that_is_asked_for(tmp_path: Path) -> None:
    log = tmp_path / "terminal.log"
    script = "printf '\\033[31mred\\033[0m\\n'; seq 1 5000"
    started = ptys.start(
        str(tmp_path), ["sh", "-c", script], cwd=str(tmp_path), environ={"PATH": os.defpath}, keep_s=0, capture=str(log)
    )
    until(lambda: log.exists() and log.read_bytes().endswith(b"5000\r\n"), lambda: f"{started} {log.exists()}")
    kept = log.read_bytes()
    assert kept.startswith(b"\x1b[31mred\x1b[0m\r\n"), "escapes and all"
    assert kept.count(b"\r\n") == 5001
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.slow
def test_a_disk_that_takes_no_more_ends_what_is_kept_and_not_the_program(tmp_path: Path) -> None:
    done = tmp_path / "done"
    script = f"seq 1 5000; touch {done}"
    ptys.start(
        str(tmp_path), ["sh", "-c", script], cwd=str(tmp_path), environ={"PATH": os.defpath}, keep_s=0,
        capture="/dev/full",
    )  # fmt: skip
    until(done.exists, lambda: "it did not end")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argv", "cwd", "why"),
    [
        (["no-such-program"], "/", "No such file"),
        (["cat"], "/no/such/folder", "No such file"),
        (["/"], "/", "denied"),
        (["cat", "\0"], "/", "null byte"),
    ],
)
def test_what_can_not_be_started_says_why_and_leaves_nothing(
    there: HeldServer, argv: list[str], cwd: str, why: str
) -> None:
    with pytest.raises(Refused, match=why) as caught:
        ptys.start(there.home, argv, cwd=cwd, environ={"PATH": os.environ["PATH"]})
    assert caught.value.code == "NOT_STARTED"
    assert os.listdir(ptys.folder(there.home)) == []
    with pytest.raises(BadInput):
        ptys.start(there.home, [], cwd="/", environ={})


# -- who outlives whom -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_holder_outlives_whoever_started_it(there: HeldServer) -> None:
    with child(start_and_wait, None, home=there.home) as starter:
        address = starter.hear()
        held_by = ptys._holder(address)
        assert held_by
        starter.kill()
    look = Held(address)
    assert asyncio.run(look.paste("still here\n"))
    until(lambda: "still here" in "\n".join(look.last_lines(5)))
    assert process.identify(held_by.pid) == held_by
    assert starter.pid not in [above.pid for above, _, _ in process.ancestors(held_by.pid)]
    assert ptys.end(there.home, address, 0.0).code in BY_FORCE


@pytest.mark.slow
def test_control_a_terminal_that_its_starter_holds_itself_goes_with_it() -> None:
    with child(hold_it_itself, None) as starter:
        pid, started = starter.hear()
        assert not is_gone(process.Process(pid, started))
        starter.kill()
    until(lambda: is_gone(process.Process(pid, started)))


def start_and_wait(home: str) -> None:
    say(ptys.start(home, ["cat"], cwd="/", environ={"PATH": os.environ["PATH"]}).address)
    hear()


def hold_it_itself() -> None:
    import pty

    pid, _master = pty.fork()
    if not pid:
        os.execvp("cat", ["cat"])
    say(process.identify(pid))
    hear()


@pytest.mark.slow
def test_an_ended_program_is_told_of_once_and_then_nothing_is_left(there: HeldServer) -> None:
    pane = shell(there, 'read line; echo "last words"; exit 7')
    holder, address = there.holder(pane), there.address(pane)
    assert ptys.ended(address) is None
    there.types(pane, "\n")
    until(lambda: asyncio.run(Held(address).look()).dead)
    assert ptys.panes(address) == {}
    assert Held(address).last_lines(1) == ["last words"], "its screen is kept until someone asked"
    assert not asyncio.run(Held(address).paste("text"))
    ended = ptys.ended(address)
    assert ended
    assert (ended.code, "last words" in ended.lines) == (7, True)
    until(lambda: is_gone(holder))
    assert not os.path.exists(address["socket"])
    assert ptys.ended(address) is None


def test_who_waits_for_the_end_is_told_when_it_comes(there: HeldServer) -> None:
    pane = shell(there, "read line; kill -9 $$")
    there.types(pane, "\n")
    ended = ptys.ended(there.address(pane), 30.0)
    assert ended
    assert ended.code == 137
    until(lambda: is_gone(there.holder(pane)))


@pytest.mark.slow
def test_an_exit_code_that_nobody_asks_for_is_kept_for_a_time(there: HeldServer) -> None:
    window = ptys.start(there.home, ["true"], cwd="/", environ={"PATH": os.environ["PATH"]}, keep_s=0.1)
    until(lambda: not os.path.exists(window.address["socket"]))
    assert ptys.ended(window.address) is None


@pytest.mark.slow
def test_a_killed_holder_is_gone_with_its_program_and_its_socket_is_swept(there: HeldServer) -> None:
    pane = shell(there, "exec sleep 1000")
    address, holder = there.address(pane), there.holder(pane)
    first = process.identify(there.ask(pane, op="state")["pid"])
    assert first
    os.kill(holder.pid, signal.SIGKILL)
    until(lambda: is_gone(holder))
    lost = Held(address)
    assert asyncio.run(lost.look()).dead
    assert not asyncio.run(lost.lock())
    assert ptys.panes(address) == {}
    with pytest.raises(UnknownName):
        ptys.end(there.home, address)
    until(lambda: is_gone(first))  # the kernel hangs up
    assert os.path.exists(address["socket"])
    other = there.address(shell(there, "exec cat"))
    assert os.listdir(ptys.folder(there.home)) == [os.path.basename(other["socket"])]


@pytest.mark.slow
def test_a_stopped_holder_keeps_nobody_waiting_for_long(there: HeldServer, monkeypatch: pytest.MonkeyPatch) -> None:
    pane = shell(there, "echo here; exec cat")
    there.shows(pane, "here")
    holder, look = there.holder(pane), Held(there.address(pane))
    os.kill(holder.pid, signal.SIGSTOP)
    try:
        until(lambda: process.state(*holder) == process.STOPPED)
        monkeypatch.setattr(ptys, "ANSWER_S", 0.2)
        assert asyncio.run(look.look()).dead
        assert ptys.panes(there.address(pane)) is None, "whether it lives is not known"
    finally:
        monkeypatch.undo()
        os.kill(holder.pid, signal.SIGCONT)
    until(lambda: "here" in asyncio.run(look.look()).lines)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_signals_of_a_terminal_do_not_end_a_holder_nor_are_they_inherited(there: HeldServer, number: int) -> None:
    pane = shell(there, "echo here; exec cat")
    there.shows(pane, "here")
    os.kill(there.holder(pane).pid, number)
    os.kill(there.ask(pane, op="state")["pid"], number)
    ended = ptys.ended(there.address(pane), 30.0)
    assert ended
    assert ended.code == 128 + number


@pytest.mark.slow
def test_a_holder_that_is_told_to_end_ends_its_program_first(there: HeldServer) -> None:
    pane = shell(there, "trap 'echo bye; exit 3' TERM; echo here; while :; do sleep 0.05; done")
    there.shows(pane, "here")
    first = process.identify(there.ask(pane, op="state")["pid"])
    assert first
    os.kill(there.holder(pane).pid, signal.SIGTERM)
    until(lambda: is_gone(there.holder(pane)) and is_gone(first))
    assert not os.path.exists(there.address(pane)["socket"])


# -- ending ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_program_is_asked_to_end_and_killed_if_it_does_not(there: HeldServer) -> None:
    polite = shell(there, "trap 'echo bye; exit 3' TERM; echo here; while :; do sleep 0.05; done")
    deaf = shell(there, "trap '' TERM; echo here; while :; do sleep 0.05; done")
    for pane in (polite, deaf):
        there.shows(pane, "here")
    ended = ptys.end(there.home, there.address(polite), 60.0)
    assert (ended.code, "bye" in ended.lines) == (3, True)
    assert ptys.end(there.home, there.address(deaf), 0.2).code == 137


@pytest.mark.slow
def test_what_a_program_started_in_its_group_ends_with_it(there: HeldServer) -> None:
    pane = shell(there, "(trap '' TERM HUP; exec sleep 1000) & trap 'exit 0' TERM; echo $!; wait; wait")
    until(lambda: there.screen(pane).split())
    below = process.identify(int(there.screen(pane).split()[-1]))
    assert below
    until(lambda: process.command(below.pid)[:1] == ["sleep"])
    assert ptys.end(there.home, there.address(pane), 30.0).code == 0
    until(lambda: is_gone(below))


def test_a_stopped_program_can_be_ended(there: HeldServer) -> None:
    pane = shell(there, "echo here; exec cat")
    there.shows(pane, "here")
    os.kill(there.ask(pane, op="state")["pid"], signal.SIGSTOP)
    assert ptys.end(there.home, there.address(pane), 30.0).code == 128 + signal.SIGTERM


def test_h14_only_our_own_terminals_are_ended(there: HeldServer, tmp_path: Path) -> None:
    pane = shell(there, "exec cat")
    tmp_path.chmod(0o700)
    for wrong in ({"kind": "tmux"}, {"socket": str(tmp_path / "1.a")}, {"socket": ""}):
        with pytest.raises(NotYours):
            ptys.end(there.home, {**there.address(pane), **wrong})
    with pytest.raises(NotYours):
        ptys.end(str(tmp_path), there.address(pane))
    assert ptys.is_there(there.address(pane))


# -- typing ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_paste_has_brackets_only_where_the_program_asked_for_them(there: HeldServer, tmp_path: Path) -> None:
    plainly = Recorder(there, tmp_path)
    hostile = "one\x1b[201~\rtwo\x03\x9b201~\n"
    assert plainly.do("paste", hostile)
    plainly.hears(b"one\ntwo\n")
    assert plainly.do("left") == "one\ntwo\n"
    plainly.do("forget")
    assert plainly.do("left") == ""


@pytest.mark.slow
def test_a_paste_is_one_and_can_not_end_itself(there: HeldServer, tmp_path: Path) -> None:
    program = Recorder(there, tmp_path, b"\x1b[?2004hready")
    assert program.do("paste", "one\x1b[201~\rtwo \u202eback")
    program.hears(b"\x1b[200~one\ntwo back\x1b[201~")
    # Nor if it comes over the socket from someone who strips nothing.
    assert there.ask(program.pane, op="paste", text="three\x1b[201~\x1b[A", mark="") == {"done": True}
    program.hears(b"\x1b[200~one\ntwo back\x1b[201~\x1b[200~three\x1b[201~")


@pytest.mark.slow
def test_control_what_a_person_types_is_passed_on_byte_for_byte(there: HeldServer, tmp_path: Path) -> None:
    program = Recorder(there, tmp_path)
    there._people[program.pane].sendall(bytes(range(256)) + b"\x1b[201~")
    program.hears(bytes(range(256)) + b"\x1b[201~")


@pytest.mark.slow
def test_keys_are_what_a_terminal_sends(there: HeldServer, tmp_path: Path) -> None:
    program = Recorder(there, tmp_path)
    for key in KEYS:
        assert program.do("press", key)
    program.hears("".join(KEYS.values()).encode())


@pytest.mark.slow
def test_arrows_are_sent_as_the_program_asked(there: HeldServer, tmp_path: Path) -> None:
    program = Recorder(there, tmp_path, b"\x1b[?1hready")
    assert program.do("press", "up")
    assert program.do("press", "down")
    program.hears(b"\x1bOA\x1bOB")


@pytest.mark.slow
def test_nothing_is_typed_once_the_cursor_has_moved(there: HeldServer, tmp_path: Path) -> None:
    program = Recorder(there, tmp_path)
    seen = program.do("look")
    assert program.do("paste", "a", (seen.column, seen.row))
    assert not program.do("paste", "b", (seen.column + 1, seen.row))
    assert not program.do("press", "enter", (seen.column, seen.row + 1))
    assert program.do("press", "enter", (seen.column, seen.row))
    program.hears(b"a\r")


@pytest.mark.slow
def test_nothing_is_typed_behind_keys_that_the_program_has_not_shown(there: HeldServer, tmp_path: Path) -> None:
    """What tmux can not tell: the cursor stands where it was, and yet a person has typed since the look."""
    program = Recorder(there, tmp_path)
    seen = program.do("look")
    there.types(program.pane, "rm")
    program.hears(b"rm")
    at = (seen.column, seen.row)
    assert program.do("look")[:4] == seen[:4]
    program.held._heard = 0
    assert not program.do("paste", "text", at)
    assert not program.do("press", "enter", at)
    program.do("look")
    assert program.do("paste", "text", at), "the control: that look saw it"
    program.hears(b"rmtext")


@pytest.mark.slow
def test_nothing_is_typed_behind_what_the_program_does_not_read(there: HeldServer, tmp_path: Path) -> None:
    program = Recorder(there, tmp_path, b"ready", "deaf")
    seen = program.do("look")
    at = (seen.column, seen.row)
    assert program.do("press", "y", at), "there is room in the terminal"
    assert program.do("paste", "x" * 200_000)
    assert not program.do("press", "y", at)
    assert program.do("paste", "x" * 700_000)
    assert not program.do("paste", "x" * 700_000), "nor is there room without end"
    assert program.do("look") == seen
    assert program.do("left") == "x" * 700_000


# -- one injector ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_there_is_one_injector_at_a_time_and_a_killed_one_leaves_no_lock(there: HeldServer, tmp_path: Path) -> None:
    program = Recorder(there, tmp_path)
    mine, other = Held(there.address(program.pane)), Held(there.address(program.pane))
    with child(hold_lock, None, address=there.address(program.pane)) as holder:
        assert holder.hear() is True
        assert not asyncio.run(mine.lock())
        assert not asyncio.run(mine.paste("mine"))
        holder.say("let go")
        assert holder.hear() == "free"
        assert asyncio.run(mine.lock())
        assert not asyncio.run(other.lock()), "nor a second one in the same process"
        asyncio.run(other.unlock())
        assert not asyncio.run(other.lock()), "whose unlocking is not that of the first"
        asyncio.run(mine.unlock())
        holder.say("again")
        assert holder.hear() is True
        assert not asyncio.run(mine.lock())
        holder.kill()
    assert asyncio.run(mine.lock())
    assert asyncio.run(mine.paste("mine"))
    assert not asyncio.run(other.paste("other"))
    asyncio.run(mine.unlock())
    assert not asyncio.run(mine.lock()) or asyncio.run(mine.unlock()) is None
    program.hears(b"mine")


def hold_lock(address: dict[str, str]) -> None:
    terminal = Held(address)
    say(asyncio.run(terminal.lock()))
    hear()
    asyncio.run(terminal.unlock())
    say("free")
    hear()
    say(asyncio.run(terminal.lock()))
    hear()


@pytest.mark.slow
def test_a_lock_of_a_process_that_can_not_be_looked_at_is_let_be(there: HeldServer, tmp_path: Path) -> None:
    program = Recorder(there, tmp_path)
    far = {"op": "lock", "mark": "far", "pid": 1, "started": "1@4026599999"}
    assert there.ask(program.pane, **far) == {"done": True}
    assert not program.do("lock")
    assert not program.do("paste", "text")
    assert there.ask(program.pane, op="unlock", mark="far") == {"done": True}
    assert program.do("lock")


# -- what others send ------------------------------------------------------------------------------------------------


NO_REQUESTS = (
    b"", b"{", b"[]", b"null", b'"look"', b'{"op":1}', b'{"op":"no"}', b'{"op":[]}', b'{"op":"tail"}', b"\xff\xfe",
    b'{"op":"resize","size":[1]}', b'{"op":"resize","size":"xy"}', b'{"op":"resize","size":[1e999,1]}',
    b'{"op":"paste"}', b'{"op":"lock","mark":"","pid":"x"}', b'{"op":"end","grace_s":{}}', b"[" * 100_000,
    b'{"op":"tail","count":1e400}', b'{"op":"press","mark":""}',
)  # fmt: skip


@pytest.mark.slow
def test_what_is_no_request_is_said_to_be_none(there: HeldServer) -> None:
    pane = shell(there, "echo here; exec cat")
    there.shows(pane, "here")
    before = there.ask(pane, op="look")
    for request in NO_REQUESTS:
        with ptys.connected(there.address(pane), 30.0) as line:
            line.sendall(struct.pack(">I", len(request)) + request)
            assert b"error" in line.recv(4096), request[:40]
            assert line.recv(1) == b"", request[:40]
        assert there.ask(pane, op="look") == before, request[:40]


@pytest.mark.slow
def test_a_request_without_end_and_half_a_request_harm_nobody(there: HeldServer) -> None:
    pane = shell(there, "echo here; exec cat")
    there.shows(pane, "here")
    half = [ptys.connected(there.address(pane), 30.0) for _ in range(10)]
    for line in half:
        line.sendall(b"\0\0")
    with ptys.connected(there.address(pane), 30.0) as line:
        line.sendall(b"\xff\xff\xff\xff")
        assert b"at most" in line.recv(4096)
    assert "here" in there.screen(pane)
    for line in half:
        line.close()


@pytest.mark.slow
def test_more_connections_than_there_is_room_for_are_closed_at_once(there: HeldServer) -> None:
    from rookery.runtime.holder.lines import LINES_LIMIT

    pane = shell(there, "echo here; exec cat")
    there.shows(pane, "here")
    idle = [ptys.connected(there.address(pane), 30.0) for _ in range(LINES_LIMIT)]
    assert idle[-1].recv(1) == b"", "one of them is a person already"
    idle.pop().close()
    idle.pop().close()
    until(lambda: "here" in there.screen(pane))
    for line in idle:
        line.close()


@pytest.mark.slow
def test_questions_are_answered_once_and_nothing_that_was_said_comes_back(there: HeldServer, tmp_path: Path) -> None:
    asks = b"\x1b[c\x1b[6n\x05\x1bP$qm\x1b\\\x1b]11;?\x07\x1b[21t\x1b]0;rm -rf /\x07\x1b[21t\x1b]52;c;?\x07ready"
    program = Recorder(there, tmp_path, asks)
    program.hears(b"\x1b[?1;2c\x1b[1;1R")


# -- floods ----------------------------------------------------------------------------------------------------------

FLOODS = {
    "lines": "yes 'a line that is said again and again'",
    "noise": "cat /dev/urandom",
    "questions": """yes "$(printf '\\033[6n\\033[c\\033[21t\\005')" """,
    "screens": """yes "$(printf '\\033[?1049h\\033[2J\\0337\\033[?1049l\\0337')" """,
    "string": """printf '\\033]0;'; tr '\\0' x < /dev/zero""",
    "marks": """printf e; yes "$(printf '\\314\\201')" | tr -d '\\n'""",
}


def memory(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def cpu(pid: int) -> int:
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_is_held_back_and_does_not_fill_the_memory_nor_keep_anyone_waiting(
    there: HeldServer, kind: str
) -> None:
    pane = shell(there, f"echo ready; read go; {FLOODS[kind]}")
    there.shows(pane, "ready")
    pid = there.holder(pane).pid
    looks = Held(there.address(pane))
    before = memory(pid)
    there.types(pane, "\n")
    seen = cpu(pid)
    until(lambda: asyncio.run(looks.look()).pid and cpu(pid) > seen + 300, "three seconds of its time")
    assert memory(pid) - before < 16 * MIB
    assert asyncio.run(looks.lock())
    assert ptys.end(there.home, there.address(pane), 0.0).code in BY_FORCE


@pytest.mark.slow
def test_a_person_who_does_not_read_holds_up_nobody_and_is_painted_anew(there: HeldServer) -> None:
    pane = shell(there, "echo ready; read go; seq 300000; echo the end; read go; exec cat")
    there.shows(pane, "ready")
    pid = there.holder(pane).pid
    before = memory(pid)
    there.types(pane, "\n")
    until(lambda: "the end" in there.screen(pane), patience_s=120.0)  # and nobody reads
    assert memory(pid) - before < 16 * MIB
    there.types(pane, "\n")
    seen = b""
    person = there._people[pane]
    while b"the end" not in seen[-20_000:]:
        seen += person.recv(65536)
    assert len(seen) < 2_000_000, "what was missed is not sent later"


@pytest.mark.slow
def test_control_a_screen_without_bounds_would_fill_the_memory() -> None:
    """pyte alone, under two of the floods: all that comes is kept."""
    import pyte

    screen = pyte.Screen(80, 24)
    pyte.ByteStream(screen).feed(b"\x1b7" * 20_000 + b"e" + "\u0301".encode() * 1_000)
    assert len(screen.savepoints) == 20_000
    assert len(screen.buffer[0][0].data) == 1_000


@pytest.mark.slow
def test_a_holder_that_is_asked_nothing_does_nothing(there: HeldServer) -> None:
    pane = shell(there, "echo here; exec cat")
    there.shows(pane, "here")
    pid, seen = there.holder(pane).pid, []

    def turns() -> list[str]:
        """How often it has run."""
        return [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "ctxt" in line]

    def has_settled() -> bool:
        seen.append(turns())
        return len(seen) > 5 and seen[-1] == seen[-5]

    until(has_settled)
    with held() as apart:  # that takes a while
        shell(apart, "exec cat")
    assert turns() == seen[-1]
