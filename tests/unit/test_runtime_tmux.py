"""Panes of tmux: where one is, who lives in it, what it shows, and who may type there. On real servers of their own."""

import asyncio
import os
import stat
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from rookery.core.errors import BadInput, Refused, UnknownName
from rookery.runtime import ourtmux, process, tmux
from rookery.runtime.tmux import Pane, shown
from tests.support.inside import hear, say
from tests.support.panes import Server, server, until
from tests.support.procs import child

PROGRAM = ["sh", "-c", 'env > "$0"; printf "here\\n"; exec cat']


@pytest.fixture
def there() -> Generator[Server]:
    with server() as started:
        yield started


def of(where: Server, folder: Path) -> tuple[str, dict[str, str]]:
    """A pane, and the variables of the program in it."""
    pane = where.start([*PROGRAM[:2], PROGRAM[2], str(folder / "env")])
    where.shows(pane, "here")
    lines = (folder / "env").read_text().splitlines()
    return pane, dict(line.split("=", 1) for line in lines if "=" in line)


# -- where -----------------------------------------------------------------------------------------------------------


@pytest.mark.tmux
def test_a_program_knows_its_pane_by_its_variables(there: Server, tmp_path: Path) -> None:
    pane, environ = of(there, tmp_path)
    found = tmux.address_of(environ)
    assert found
    assert found == there.address(pane)
    assert tmux.is_there(found)
    pid = int(there.ask("display-message", "-p", "-t", pane, "#{pane_pid}"))
    assert tmux.lives_in(found, pid)
    assert not tmux.lives_in(found, os.getpid()), "the variables may have been inherited"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"TMUX": "/tmp/s,1,0"},
        {"TMUX": "/tmp/s,1,0", "TMUX_PANE": "mimic"},
        {"TMUX": "/tmp/s,1,0", "TMUX_PANE": "%1;kill-server"},
        {"TMUX": "relative,1,0", "TMUX_PANE": "%1"},
        {"TMUX": "/tmp/s,x,0", "TMUX_PANE": "%1"},
        {"TMUX": "/tmp/s,999999999,0", "TMUX_PANE": "%1"},
        {"TMUX": "", "TMUX_PANE": "%1"},
    ],
)
def test_what_is_no_address_is_none(environ: dict[str, str]) -> None:
    assert tmux.address_of(environ) is None


@pytest.mark.tmux
def test_no_server_no_pane_no_program_is_simply_gone(
    there: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane, _ = of(there, tmp_path)
    address = there.address(pane)
    for wrong in ({"pane": "%99"}, {"socket": str(tmp_path / "none")}, {"server": f"{os.getpid()} 1"}):
        lost = Pane({**address, **wrong})
        assert asyncio.run(lost.look()).dead
        assert not asyncio.run(lost.lock())
        assert not asyncio.run(lost.paste("text"))
        assert lost.last_lines(5) == [] or wrong.keys() == {"server"}
    monkeypatch.setattr(tmux, "PROGRAM", "no-such-program")
    assert asyncio.run(Pane(address).look()).dead


@pytest.mark.parametrize(
    "wrong",
    [
        {"pane": "%1 ; run-shell id"},
        {"pane": "mimic"},
        {"pane": "%"},
        {"socket": "s"},
        {"server": "1"},
        {"server": "1 #{pid}"},
        {"server": "1,2 3"},
        {"kind": "pty"},
    ],
)
def test_an_address_that_someone_made_up_is_refused(wrong: dict[str, str]) -> None:
    good = {"kind": "tmux", "socket": "/tmp/s", "server": "1 2@3", "pane": "%1"}
    assert tmux.checked(good) == good
    with pytest.raises(BadInput):
        Pane({**good, **wrong})


# -- what it shows ---------------------------------------------------------------------------------------------------


@pytest.mark.tmux
def test_a_look_tells_lines_cursor_and_what_is_faint(there: Server) -> None:
    pane = there.start(["sh", "-c", r'printf "plain \033[2mfaint\033[22m firm\nsecond ❯ line\033[2;3H"; exec cat'])
    there.shows(pane, "second")
    seen = asyncio.run(Pane(there.address(pane)).look())
    assert seen.lines[:2] == ("plain faint firm", "second ❯ line")
    assert seen.firm[:2] == ("plain       firm", "second ❯ line")
    assert (seen.column, seen.row, seen.dead, seen.read_back, seen.elsewhere) == (2, 1, False, False, "")
    assert Pane(there.address(pane)).last_lines(1) == ["second ❯ line"]


def test_a_colour_is_not_taken_for_faint() -> None:
    colours = "\x1b[38;5;2mgreen\x1b[39m \x1b[48;2;2;2;2mdark\x1b[0m"
    lines, firm = shown(f"{colours} \x1b[1;2mfaint\x1b[0;1m bold\nnext\x1b[2m line\n\x1b[mend")
    assert lines == ("green dark faint bold", "next line", "end")
    assert firm == ("green dark       bold", "next     ", "end")


def test_what_steers_a_display_is_not_passed_on() -> None:
    lines, _ = shown("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x0ebox\x0f\x1b(B")
    assert lines == ("link box",)


# -- one injector ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.tmux
def test_there_is_one_injector_at_a_time_and_a_killed_one_leaves_no_lock(there: Server, tmp_path: Path) -> None:
    pane, _ = of(there, tmp_path)
    mine, other = Pane(there.address(pane)), Pane(there.address(pane))
    with child(hold_lock, None, address=there.address(pane)) as holder:
        assert holder.hear() is True
        assert not asyncio.run(mine.lock())
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
    asyncio.run(mine.unlock())
    assert there.ask("show-options", "-p", "-t", pane) == ""


def hold_lock(address: dict[str, str]) -> None:
    pane = Pane(address)
    say(asyncio.run(pane.lock()))
    hear()
    asyncio.run(pane.unlock())
    say("free")
    hear()
    say(asyncio.run(pane.lock()))
    hear()


@pytest.mark.tmux
def test_who_lost_the_lock_types_nothing(there: Server, tmp_path: Path) -> None:
    pane, _ = of(there, tmp_path)
    mine = Pane(there.address(pane))
    assert asyncio.run(mine.lock())
    there.ask("set-option", "-p", "-t", pane, tmux.LOCK, "1/1/a")
    assert not asyncio.run(mine.paste("text"))
    assert not asyncio.run(mine.press("enter"))
    there.ask("set-option", "-p", "-u", "-t", pane, tmux.LOCK)
    assert asyncio.run(mine.lock())
    assert asyncio.run(mine.paste("text"))
    there.shows(pane, "text")


@pytest.mark.parametrize("held", ["", "x", "1/2", "1/2/", "-1/2/a", "1/2/a;kill-server", "1/#{pid}/a"])
def test_a_lock_that_is_none_of_ours_is_let_be(held: str) -> None:
    assert not tmux._is_left(held)


# -- our own server --------------------------------------------------------------------------------------------------


@pytest.mark.tmux
def test_a_window_of_our_own_runs_what_it_was_given_and_nothing_else(there: Server, tmp_path: Path) -> None:
    home = there.socket.removesuffix("/s") + "/home"
    os.makedirs(home, mode=0o700)
    words = ["sh", "-c", 'printf "%s|" "$@" "$NOTE" "$SECRET_OF_OURS"; exec cat', "sh", "a b", "$(id)", "; rm -rf x"]
    os.environ["SECRET_OF_OURS"] = "secret"
    try:
        window = ourtmux.new_window(home, words, cwd=str(tmp_path), environ={"NOTE": "x $(id) #{pid}"})
    finally:
        del os.environ["SECRET_OF_OURS"]
    ours = Server(window.address["socket"])
    try:
        ours.shows(window.address["pane"], "a b|$(id)|; rm -rf x|x $(id) #{pid}||")
        assert tmux.lives_in(window.address, window.process.pid)
        assert stat.S_IMODE(os.stat(ourtmux.place(home)).st_mode) & 0o077 == 0
    finally:
        ourtmux.end(home, window.address)
    until(lambda: process.state(*window.process) == process.DEAD)
    with pytest.raises(UnknownName):
        ourtmux.end(home, window.address)


@pytest.mark.tmux
def test_a_window_ends_with_its_program(there: Server, tmp_path: Path) -> None:
    home = there.socket.removesuffix("/s") + "/home"
    os.makedirs(home, mode=0o700)
    with suppress(Refused):  # if it has ended by the time it is looked for
        window = ourtmux.new_window(home, ["true"], cwd=str(tmp_path), environ={})
        until(lambda: not tmux.is_there(window.address))


def test_a_home_too_deep_for_a_socket_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="too long for a socket"):
        ourtmux.place(str(tmp_path / ("deep/" * 30)))


@pytest.mark.parametrize(("failures", "opens"), [(1, True), (ourtmux.STARTS, False)])
def test_a_server_that_leaves_at_this_moment_is_started_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int, opens: bool
) -> None:
    answers = [tmux.Said(1, "", "server exited unexpectedly\n")] * failures
    answers.append(tmux.Said(0, f"{os.getpid()} %1 {os.getpid()}\n"))
    monkeypatch.setattr(tmux, "run", lambda *_words, **_more: answers.pop(0))
    if opens:
        window = ourtmux.new_window(str(tmp_path), ["true"], cwd="/", environ={})
        assert window.process == process.identify(os.getpid())
    else:
        with pytest.raises(Refused):
            ourtmux.new_window(str(tmp_path), ["true"], cwd="/", environ={})
