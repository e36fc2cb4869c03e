"""An agent program in a held terminal is reached there: its own commands say where it is, and they alone."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from rookery import app
from rookery.keeper.monitor import Monitor
from rookery.runtime import ptys
from tests.support.doors import environment, running
from tests.support.families import few
from tests.support.held import HeldServer, held
from tests.support.panes import until

TEAM = "crew"
JOIN = f'cd "$HOME"; {sys.executable} -m rookery join "$NAME"; echo joined; read over'


@pytest.fixture
def there() -> Generator[HeldServer]:
    with held() as started:
        yield started


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A shell under the name of an agent program."""
    named = tmp_path / "claude"
    named.symlink_to(shutil.which("bash") or "/bin/bash")
    return str(named)


def ways(folder: Path, name: str) -> list[Any]:
    house = app.open_house(cwd=str(folder), environ=environment(folder, ROOK_TEAM=TEAM))
    try:
        rows = house.client.call("monitor.sessions", {}, house.caller("system"))["sessions"]
        return [each["terminal"] for each in rows if each["agent"] == name]
    finally:
        house.close()


@pytest.mark.slow
@pytest.mark.parametrize("daemon", few([False, True], True), ids=["own-process", "fast-door"])
def test_who_joins_in_a_held_terminal_is_reached_there(
    there: HeldServer, program: str, tmp_path: Path, daemon: bool
) -> None:
    with running(tmp_path, "--team", TEAM) if daemon else nullcontext():
        environ = environment(tmp_path, ROOK_TEAM=TEAM, NAME="wren", TMUX="/tmp/none,1,0", TMUX_PANE="%1")
        window = ptys.start(there.home, [program, "-c", JOIN], cwd=str(tmp_path), environ=environ)
        look = ptys.Held(window.address)
        until(lambda: "joined" in "\n".join(look.last_lines(20)), lambda: look.last_lines(20))
        assert ways(tmp_path, "wren") == [window.address]

        # The control: the same words from a process that lives elsewhere.
        environ |= {"NAME": "crow", ptys.VARIABLE: json.dumps(window.address)}
        del environ["TMUX"], environ["TMUX_PANE"]
        with subprocess.Popen([program, "-c", JOIN], env=environ, stdin=-1, stdout=-1, text=True) as elsewhere:
            assert elsewhere.stdout
            said = [elsewhere.stdout.readline()]
            while said[-1] != "joined\n":
                said.append(elsewhere.stdout.readline())
            assert ways(tmp_path, "crow") == [{}], said
            elsewhere.communicate("\n")
        ptys.end(there.home, window.address, 0.0)


@pytest.mark.slow
def test_the_variable_is_known_and_no_setting(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rookery", "config"]
    for name, code in (("ROOK_TERMINAL", 0), ("ROOK_TERMINALS", 2)):
        environ = environment(tmp_path, **{name: "x"})
        done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == code, done.stderr


@pytest.mark.slow
def test_the_monitor_asks_the_holder_and_no_tmux(there: HeldServer) -> None:
    asked: list[str] = []

    def panes(socket: str) -> None:
        asked.append(socket)

    seen: Callable[..., Any] = Monitor(None, every_s=1, panes=panes)._seen  # pyright: ignore[reportArgumentType]
    pane = there.start(["cat"])
    where = there.address(pane)
    session = {
        "session": "s",
        "terminal": where,
        "dead": False,
        "pid": os.getpid(),
        "started": "1",
        "program": "claude",
    }
    assert seen([session])["s"]["terminal"] == "lives"
    assert seen([{**session, "terminal": {**where, "holder": "1 1"}}])["s"]["terminal"] == "gone"
    there.kill(pane)
    # A holder that is just going may answer nobody: "not told", which the next look mends.
    until(lambda: seen([session])["s"]["terminal"] == "gone", "the monitor sees that the terminal is gone")
    assert asked == []
