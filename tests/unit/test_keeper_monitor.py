"""Watching with real processes and real tmux panes; the clock and the ledger are the test's."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rookery.core import agent_programs
from rookery.core.vitals import WORKING_PERCENT
from rookery.keeper.monitor import Monitor
from rookery.runtime import process, tmux, vitals
from rookery.runtime.clock import SystemProber
from tests.support.panes import Server, server, until
from tests.support.stage import MINUTE, Build, Stage

WAITS = [sys.executable, "-c", "import sys; print('ready', flush=True); sys.stdin.readline()"]
BURNS = [sys.executable, "-c", "import sys; print('ready', flush=True)\nwhile True: pass"]
# A program that runs another one, which does the work.
PARENT = [sys.executable, "-c", f"import subprocess, sys; sys.exit(subprocess.run({BURNS!r}).returncode)"]


class Verbs:
    """The verbs of a stage, and how often it was written."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.reports = 0

    async def teams(self) -> list[str]:
        return self._stage.call("monitor.teams", "system")["teams"]

    async def call(self, team: str, verb: str, args: Mapping[str, Any]) -> Any:
        self.reports += verb == "monitor.report"
        return self._stage.call(verb, "system", **args)


class Watch:
    def __init__(self, stage: Stage, **more: Any) -> None:
        self.stage = stage
        self.verbs = Verbs(stage)
        self.monitor = Monitor(self.verbs, every_s=30, **more)

    def look(self) -> list[str]:
        """What the log says after another look that it did not say before."""
        before = self.stage.seq()
        asyncio.run(self.monitor.look())
        found = [event for event in self.stage.events() if event["seq"] > before]
        return [event["type"] for event in found if event["type"].startswith(("session.", "stuck"))]

    def finding(self, name: str = "ada") -> str:
        return self.stage.call("whois", None, name=name)["finding"]


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.prober = SystemProber()  # type: ignore[assignment]
    return made


@pytest.fixture
def watch(stage: Stage) -> Watch:
    return Watch(stage)


@pytest.fixture
def panes() -> Generator[Server]:
    with server() as started:
        yield started


class Program:
    def __init__(self, argv: list[str], cwd: Path | None = None) -> None:
        self._run = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd)
        assert self._run.stdout
        assert self._run.stdout.readline() == b"ready\n"
        self.pid = self._run.pid
        self.who = identity(self.pid)

    def end(self) -> None:
        self._run.kill()
        self._run.communicate()

    def signal(self, number: int) -> None:
        self._run.send_signal(number)


def identity(pid: int) -> tuple[int, str]:
    found = process.identify(pid)
    assert found
    return found.pid, found.started


@pytest.fixture
def program() -> Generator[Program]:
    started = Program(WAITS)
    yield started
    started.end()


# --- processes --------------------------------------------------------------------------------------------------------


def test_h36_a_process_that_is_killed_is_found_dead(stage: Stage, watch: Watch, program: Program) -> None:
    stage.join("ada", process=program.who)
    assert watch.look() == []
    program.end()
    assert watch.look() == ["session.died"]
    assert watch.look() == []


def test_control_a_process_that_runs_is_not(stage: Stage, watch: Watch, program: Program) -> None:
    stage.join("ada", process=program.who)
    assert [watch.look() for _ in range(3)] == [[], [], []]


def test_h18_another_process_under_its_pid_is_not_it(stage: Stage, watch: Watch, program: Program) -> None:
    pid, started = program.who
    stage.join("ada", process=(pid, f"1{started}"))
    assert watch.look() == ["session.died"]


def test_a_stopped_process_is_found_and_when_it_goes_on_too(stage: Stage, watch: Watch, program: Program) -> None:
    stage.join("ada", process=program.who)
    program.signal(signal.SIGSTOP)
    until(lambda: process.state(*program.who) == process.STOPPED)
    assert watch.look() == []
    stage.clock.pass_time(2 * MINUTE)
    assert watch.look() == ["session.stopped"]
    program.signal(signal.SIGCONT)
    until(lambda: process.state(*program.who) == process.RUNNING)
    assert watch.look() == ["session.well"]


def test_while_nothing_changes_nothing_is_written(stage: Stage, watch: Watch, program: Program) -> None:
    stage.join("ada", process=program.who)
    watch.look()
    watch.look()  # its processor time is known from the second look on
    before = watch.verbs.reports, stage.rows()
    for _ in range(3):
        watch.look()
    assert (watch.verbs.reports, stage.rows()) == before


@pytest.mark.slow
def test_work_below_a_process_is_its_own_and_no_silence(stage: Stage, watch: Watch) -> None:
    """A tool that runs for long: nothing is heard of the agent, and it is at work."""
    busy = Program(PARENT)
    try:
        stage.join("ada", process=busy.who)
        stage.call("status", "ada", note="", task="a long build")
        stage.clock.pass_time(20 * MINUTE)
        (below,) = until(lambda: [each for each in vitals.snapshot().tree(busy.pid) if each.pid != busy.pid])

        def seen() -> tuple[bool, str]:
            watch.look()
            told = stage.call("whois", None, name="ada")
            return (told["cpu"] or 0) >= WORKING_PERCENT, told["finding"]

        # However busy the machine is: where its share is seen to be large, it is not called stuck.
        until(lambda: seen() == (True, ""), lambda: stage.call("whois", None, name="ada"))
        os.kill(below.pid, signal.SIGSTOP)
        until(lambda: process.state(below.pid, below.started) == process.STOPPED)
        watch.look()
        watch.look()
        assert watch.finding() == "stuck", "negative control: without that work it is silence"
    finally:
        for each in vitals.snapshot().tree(busy.pid)[::-1]:
            os.kill(each.pid, signal.SIGKILL)
        busy.end()


# --- terminals --------------------------------------------------------------------------------------------------------


def shell(panes: Server, folder: Path) -> str:
    """A pane with a shell in it that says nothing."""
    pane = panes.start(["sh", "-c", f"cd '{folder}'; PS1='$ ' exec sh -i"])
    panes.shows(pane, "$")
    return pane


def first(panes: Server, pane: str) -> int:
    return int(panes.ask("display-message", "-p", "-t", pane, "#{pane_pid}"))


@pytest.mark.slow
@pytest.mark.tmux
def test_a_pane_that_is_closed_under_a_process_is_found(
    stage: Stage, watch: Watch, program: Program, panes: Server, tmp_path: Path
) -> None:
    other = shell(panes, tmp_path)
    pane = shell(panes, tmp_path)
    stage.join("ada", process=program.who, terminal=panes.address(pane))
    stage.join("bob", process=program.who, terminal=panes.address(other))
    assert watch.look() == []
    panes.ask("kill-pane", "-t", pane)
    assert watch.look() == ["session.terminal-gone"]
    assert (watch.finding("ada"), watch.finding("bob")) == ("terminal-gone", "")
    assert watch.look() == []


@pytest.mark.tmux
def test_a_server_that_is_gone_took_its_panes_along(
    stage: Stage, watch: Watch, program: Program, panes: Server, tmp_path: Path
) -> None:
    stage.join("ada", process=program.who, terminal=panes.address(shell(panes, tmp_path)))
    panes.ask("kill-server")
    until(lambda: tmux.panes(panes.socket) == {})
    assert watch.look() == ["session.terminal-gone"]


@pytest.mark.tmux
def test_h12_the_same_pane_id_of_another_server_is_not_it(
    stage: Stage, watch: Watch, program: Program, panes: Server, tmp_path: Path
) -> None:
    pane = shell(panes, tmp_path)
    stage.join("ada", process=program.who, terminal=panes.address(pane) | {"server": "1 1"})
    assert watch.look() == ["session.terminal-gone"]


def test_a_server_that_does_not_answer_is_no_finding(stage: Stage, program: Program) -> None:
    watch = Watch(stage, panes=lambda _socket: None)
    where = {"kind": "tmux", "socket": "/tmp/none", "server": "1 1", "pane": "%1"}
    stage.join("ada", process=program.who, terminal=where)
    assert watch.look() == []


@pytest.mark.slow
@pytest.mark.tmux
def test_a_server_is_asked_once_for_all_its_panes(
    stage: Stage, program: Program, panes: Server, tmp_path: Path
) -> None:
    asked: list[str] = []
    watch = Watch(stage, panes=lambda socket: (asked.append(socket), tmux.panes(socket))[1])
    for number in range(5):
        stage.join(f"a{number}", process=program.who, terminal=panes.address(shell(panes, tmp_path)))
    watch.look()
    assert asked == [panes.socket]


def test_an_address_that_is_none_harms_nobody(stage: Stage, watch: Watch, program: Program) -> None:
    for number, bad in enumerate(({"socket": 5, "pane": 1}, {"socket": "relative", "pane": "%1"}, {"x": "y"})):
        stage.join(f"a{number}", process=program.who, terminal=bad)
    assert watch.look() == []


# --- it goes on -------------------------------------------------------------------------------------------------------

AGENT = """import sys
print("agent ready", flush=True)
sys.stdin.readline()
"""


def agent_program(folder: Path, name: str) -> Path:
    """An executable that is called like an agent program: a script, as most of them are."""
    file = folder / "bin" / f"{name}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(AGENT)
    return file


def started(panes: Server, pane: str, folder: Path, name: str = "claude") -> tuple[int, str]:
    """Start it in a pane by typing, as a person does; its process."""
    script = agent_program(folder, name)
    panes.keys(pane, f"clear; exec 3>&1; {sys.executable} {script}", "Enter")

    def running() -> list[vitals.Seen]:
        tree = vitals.snapshot().tree(first(panes, pane))
        return [each for each in tree if agent_programs.recognize(each.name, process.command(each.pid)) == name]

    found = until(running, lambda: panes.screen(pane))
    panes.shows(pane, "agent ready")
    return found[0].pid, found[0].started


def died_in(stage: Stage, panes: Server, pane: str, folder: Path) -> tuple[int, str]:
    """A session of claude in that pane whose process was killed."""
    who = started(panes, pane, folder)
    caller = stage.caller(process=who, cwd=str(folder))
    stage.call("turn.start", caller, host="claude", host_id="s", name="ada", terminal=panes.address(pane))
    os.kill(who[0], signal.SIGKILL)
    until(lambda: process.state(*who) == process.DEAD)
    return who


@pytest.mark.slow
@pytest.mark.tmux
def test_a_program_started_anew_in_its_pane_goes_on_as_that_agent(
    stage: Stage, watch: Watch, panes: Server, tmp_path: Path
) -> None:
    pane = shell(panes, tmp_path)
    old = died_in(stage, panes, pane, tmp_path)
    assert watch.look() == ["session.died"], "there is only a shell"
    new = started(panes, pane, tmp_path)
    assert watch.look() == [], "it may join by itself under another name"
    assert watch.look() == ["session.attached"]
    told = stage.call("whois", None, name="ada")
    assert told["pid"] == new[0] != old[0]
    assert told["status"] == "active"
    assert stage.call("pending", stage.caller(lineage=(new,)))["agent"] == "ada"


@pytest.mark.slow
@pytest.mark.tmux
@pytest.mark.parametrize("what", ["another program", "another folder", "in the background", "it joined"])
def test_anything_else_in_its_pane_is_not_it(
    stage: Stage, watch: Watch, panes: Server, tmp_path: Path, what: str
) -> None:
    pane = shell(panes, tmp_path)
    died_in(stage, panes, pane, tmp_path)
    name = "codex" if what == "another program" else "claude"
    if what == "another folder":
        panes.keys(pane, "cd /", "Enter")
    new = started(panes, pane, tmp_path, name)
    if what == "in the background":
        panes.keys(pane, "C-z")
        until(lambda: process.state(*new) == process.STOPPED)
    if what == "it joined":
        stage.join("eve", process=new)
    seen = [watch.look() for _ in range(3)]
    assert ["session.attached"] not in seen
    assert ["session.died"] in seen
    assert stage.call("whois", None, name="ada")["status"] == "offline"


# --- which program is it ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "argv", "program"),
    [
        ("claude", ["claude"], "claude"),
        ("node", ["node", "--no-warnings", "/usr/lib/node_modules/.bin/gemini"], "gemini"),
        ("MainThread", ["/usr/bin/node", "/opt/codex.js", "resume"], "codex"),
        ("codex", ["/opt/vendor/codex", "resume"], "codex"),
        ("vim", ["vim", "claude"], ""),
        ("bash", ["-bash"], ""),
        ("node", ["node", "server.js", "claude"], ""),
        ("sh", [], ""),
    ],
)
def test_a_program_is_known_by_what_it_is_called(name: str, argv: list[str], program: str) -> None:
    assert agent_programs.recognize(name, argv) == program
