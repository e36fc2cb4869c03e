"""Real programs started as workers by `hosts.launching`, in a worktree of their own, with `rook` on their path.

The rig takes the supervisor's part: it makes the worktree, starts the vector with the environment of a worker, gives a
headless one its prompt as a file, and reads what the program prints by `hosts.streams`.
"""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rookery.core.screen import State
from rookery.hosts import launching, streams, transcripts
from rookery.hosts.launching import ALL as EVERYTHING
from rookery.hosts.launching import READ, Launch, Order
from tests.hosts.crew import ROOK, Crew, Member
from tests.hosts.model.script import Move, expect, say
from tests.hosts.programs import ALL
from tests.hosts.programs.opencode import pretend_installed
from tests.hosts.recording import PLACES
from tests.hosts.stage import INSTALLED, Run
from tests.hosts.test_terminals import becomes
from tests.hosts.tui import Tui, settled
from tests.support.families import most

pytestmark = pytest.mark.hosts

HOSTS = ("claude", "codex", "gemini", "opencode", "copilot", "pi")
FORKING = tuple(host for host in HOSTS if launching.can_fork(host))
SERVED = ("claude", "codex", "opencode", "copilot")  # told of a server when they are started
NAME = "BrightWren"
PROMPT = "Read your brief and do what it says.\n-- and mind the second line; $(touch made)"
GUARDRAILS = 'Never push. "Quoted", $HOME and \\ are nothing special.\n- Report with rook.'
MODELS = {"gemini": "gemini-2.5-flash", "pi": "rig/scripted"}
SEEN = Path(__file__).parent / "streams"
WRITE = os.environ.get("ROOK_WRITE_SEEN") == "1"  # before a test loses its variables
WITH_STDIN = 'cd "$1" && said=$2 && shift 2 && exec "$@" <"$said"'
IN_FOLDER = 'cd "$1" && shift && exec "$@"'


@pytest.fixture
def crew() -> Generator[Crew]:
    """Neither in memory nor below /tmp: to Codex's sandbox the one is not there, and the other may be written."""
    with tempfile.TemporaryDirectory(prefix="rook-launched-", dir="/var/tmp") as base, Crew(Path(base), NAME) as made:
        yield made


class Worker:
    """One real program in a worktree of its own, and the agent it is."""

    def __init__(self, crew: Crew, host: str, id: str = "w1", program: str = "") -> None:
        self.crew = crew
        self.host = host
        self.member: Member = crew.member(ALL[program or host], NAME)
        self.program = self.member.program
        self.folder = crew.home / "teams" / "rig" / "workers" / id
        self.tree = self.folder / "workspace"
        self.tree.parent.mkdir(parents=True)
        worktree(crew.repo, self.tree)
        if host == "opencode":  # its settings were made for the repository, and are not committed
            (self.tree / "opencode.json").write_text((crew.repo / "opencode.json").read_text())
            pretend_installed(self.tree / ".opencode")
        who = {"ROOK_TEAM": "rig", "ROOK_WORKER": id, "ROOK_RUN": "run-1"}
        self.environ = self.member.environ | who

    def order(self, backend: str, **more: Any) -> Order:
        known = {"model": MODELS.get(self.host, ""), "trusted": True, "guardrails": GUARDRAILS}
        return Order(self.host, backend, PROMPT, folders=(str(self.folder),), tree=str(self.tree), **{**known, **more})

    def headless(self, moves: list[Move], **more: Any) -> tuple[Run, streams.Tally]:
        made = launching.launch(self.order("headless", **more))
        assert made.stdin, "a program without a terminal is told by its standard input"
        said = self.folder / "prompt"
        said.write_text(made.stdin)
        command = ["sh", "-c", WITH_STDIN, "sh", str(self.tree), str(said), *made.argv]
        run = self.member.stage.start(command, moves, self.environ | dict(made.environ))
        tally = streams.Tally()
        for line in run.stdout.splitlines():
            tally.add(streams.read(self.host, line))
        return run, tally

    def at_terminal(self, moves: list[Move], **more: Any) -> Tui:
        made: Launch = launching.launch(self.order("tmux", **more))
        assert (made.stdin, made.typed) == (None, "")
        words = ["sh", "-c", IN_FOLDER, "sh", str(self.tree), *made.argv]
        # As after its first start, with the repository trusted, and not the worktree.
        return Tui(settled(self.member.stage), moves, words, self.environ | dict(made.environ))

    def record(self) -> streams.Tally:
        """What the program wrote down of its newest session."""
        newest = max(self.member.stage.home.glob(PLACES[self.host]), key=lambda path: path.stat().st_mtime)
        tally = streams.Tally()
        for line in newest.read_bytes().splitlines():
            tally.add(transcripts.read(self.host, line))
        return tally

    def tasks(self) -> list[str]:
        return [task["title"] for task in self.crew.raven("task.list")["tasks"]]


def worktree(repo: Path, tree: Path) -> None:
    subprocess.run(
        ["git", "worktree", "add", "--quiet", "--detach", str(tree)], cwd=repo, env={"PATH": os.defpath}, check=True
    )


def deeds(worker: Worker) -> list[Move]:
    """An edit in its folder, a report, and the end. In Codex's sandbox a command writes to no ledger: there it sees who
    is in the team, by a tool of the server that runs outside."""
    by_tool = worker.host == "codex"
    report = worker.member.mcp("who") if by_tool else [worker.program.bash("rook task add Reported")]
    return [
        worker.program.write(worker.tree / "made.txt", "made\n"),
        *report,
        expect("SwiftRaven" if by_tool else "Reported"),
        say("All done."),
    ]


def reported(worker: Worker) -> list[str]:
    return [] if worker.host == "codex" else ["Reported"]


def served(worker: Worker) -> dict[str, Any]:
    return {"server": (str(ROOK), "mcp")} if worker.host == "codex" else {}


def answered(run: Run) -> str:
    return "\n".join(run.asked[-1].results)


def write_down(worker: Worker, run: Run) -> None:
    """The stream as it was printed, with the places of this run taken out: tests/unit/test_streams.py reads it."""
    SEEN.mkdir(exist_ok=True)
    text = run.stdout.replace(str(worker.tree), "/src/nest").replace(str(worker.crew.base), "/home/wren")
    text = text.replace(str(INSTALLED), "/opt/programs")
    lines = [short(json.loads(line)) for line in text.splitlines() if line.startswith("{")]
    (SEEN / f"{worker.host}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def short(value: Any) -> Any:
    """Long lists and texts of the program's own, cut: they are not what is read."""
    if isinstance(value, dict):
        return {key: short(each) for key, each in value.items()}
    if isinstance(value, list):
        return [short(each) for each in value[:4]]
    return re.sub(r"(?s)(.{300}).+", r"\1", value) if isinstance(value, str) else value


# --- without a terminal ---


@pytest.mark.parametrize("host", HOSTS)
def test_a_worker_without_a_terminal_edits_reports_and_ends(crew: Crew, host: str) -> None:
    worker = Worker(crew, host)
    run, tally = worker.headless(deeds(worker), **served(worker))
    assert not run.complaint(), f"{run.complaint()}\n{run.stdout}\n{run.stderr}"
    assert (worker.tree / "made.txt").read_text() == "made\n"
    assert worker.tasks() == reported(worker), answered(run)
    assert (tally.ended, tally.ok, tally.text, tally.error) == (True, True, "All done.", "")
    assert (tally.calls, tally.failures, tally.foreign) == (2, 0, 0)
    assert tally.session
    if host != "copilot":  # which tells no tokens of a model that is not GitHub's
        assert (tally.input, tally.output) == (30, 15)
    heard = run.heard[0]
    assert "mind the second line; $(touch made)" in heard
    assert [line in heard for line in GUARDRAILS.splitlines()] == [True, True]
    assert not (worker.tree / "made").exists()
    if WRITE:
        write_down(worker, run)


@pytest.mark.parametrize("host", most(HOSTS, "opencode"))
def test_a_reader_changes_nothing(crew: Crew, host: str) -> None:
    worker = Worker(crew, host)
    command = f"echo more >> held.txt; rm -f {crew.repo}/held.txt; echo tried"
    moves = [worker.program.write(worker.tree / "made.txt", "made\n"), worker.program.bash(command), say("All done.")]
    run, tally = worker.headless(moves, permissions=READ)
    assert not run.complaint(), f"{run.complaint()}\n{run.stdout}\n{run.stderr}"
    assert tally.ok
    assert not (worker.tree / "made.txt").exists(), answered(run)
    assert (worker.tree / "held.txt").read_text() == (crew.repo / "held.txt").read_text() == "as it was\n"


@pytest.mark.parametrize("host", most([host for host in HOSTS if host not in ("codex", "pi")], "opencode"))
def test_a_reader_reports_by_its_shell(crew: Crew, host: str) -> None:
    worker = Worker(crew, host)
    run, _ = worker.headless([worker.program.bash("rook task add Reported"), say("All done.")], permissions=READ)
    assert worker.tasks() == ["Reported"], answered(run)


@pytest.mark.parametrize("host", most(SERVED, "opencode"))
def test_a_reader_reports_by_tools_of_a_server_that_it_was_started_with(crew: Crew, host: str) -> None:
    worker = Worker(crew, host)
    moves = [*worker.member.mcp("who"), expect("SwiftRaven"), say("All done.")]
    run, tally = worker.headless(moves, permissions=READ, server=(str(ROOK), "mcp"))
    assert not run.complaint(), f"{run.complaint()}\n{run.stdout}\n{run.stderr}"
    assert (tally.calls, tally.failures) == (1, 0), answered(run)


@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "copilot"])
def test_by_default_a_worker_may_not_do_everything_and_what_is_named_it_may(crew: Crew, host: str) -> None:
    """Codex lets commands run, and nothing be written elsewhere; the others run only what they were told of."""
    worker = Worker(crew, host)
    outside = crew.repo / "outside.txt"
    command = f"python3 -c \"open('{outside}', 'w')\""
    tries = (({}, False), ({"commands": ("python3",)}, host != "codex"), ({"permissions": EVERYTHING}, True))
    for more, is_made in tries:
        outside.unlink(missing_ok=True)
        run, _ = worker.headless([worker.program.bash(command), say("All done.")], **more)
        assert outside.exists() is is_made, f"{more}: {answered(run)}\n{run.stderr}"


@pytest.mark.parametrize("host", FORKING)
def test_a_worker_goes_on_from_a_session_of_its_parent_and_leaves_that_as_it_was(crew: Crew, host: str) -> None:
    worker = Worker(crew, host)
    run, parent = first_session(worker)
    moves = [say("MAGPIE"), say("All done.")]
    run, child = worker.headless(moves, seed=parent.session)
    assert not run.complaint(), f"{run.complaint()}\n{run.stdout}\n{run.stderr}"
    assert "Remember the HERON." in run.heard[-1]
    assert child.session
    assert child.session != parent.session
    if transcripts.kept(host):
        kept = worker.record()
        copied = 10 if host == "pi" else 0  # its fork begins with the parent's lines, and nothing in them says so
        assert (kept.session, kept.input) == (child.session, 10 + copied), "without what the parent used"


def first_session(worker: Worker) -> tuple[Run, streams.Tally]:
    """In the repository itself, where the parent is."""
    made = launching.launch(worker.order("headless")._replace(prompt="Remember the HERON."))
    said = worker.folder / "prompt"
    said.write_text(made.stdin or "")
    command = ["sh", "-c", WITH_STDIN, "sh", str(worker.crew.repo), str(said), *made.argv]
    run = worker.member.stage.start(command, [say("MAGPIE")], worker.environ | dict(made.environ))
    tally = streams.Tally()
    for line in run.stdout.splitlines():
        tally.add(streams.read(worker.host, line))
    assert tally.session, f"{run.stdout}\n{run.stderr}"
    return run, tally


@pytest.mark.parametrize("host", FORKING)
def test_a_seed_that_is_not_there_ends_the_worker_and_is_told(crew: Crew, host: str) -> None:
    worker = Worker(crew, host)
    run, tally = worker.headless([say("never")], seed="01234567-0123-7123-8123-0123456789ab")
    assert run.code != 0
    assert tally.ok is not True
    assert "01234567" in run.stdout + run.stderr
    assert not run.asked


# --- in a terminal ---


@pytest.mark.tmux
@pytest.mark.parametrize("host", most(HOSTS, "opencode"))
def test_a_worker_at_a_terminal_begins_by_itself_and_rests_when_it_is_done(crew: Crew, host: str) -> None:
    worker = Worker(crew, host)
    with worker.at_terminal(deeds(worker), **served(worker)) as tui:
        tui.shows("All done.")
        becomes(tui, State.READY)
        assert (worker.tree / "made.txt").read_text() == "made\n"
        assert worker.tasks() == reported(worker)
        told = "\n".join(tui.asked[0].texts)
        assert "mind the second line; $(touch made)" in told
        assert [line in told for line in GUARDRAILS.splitlines()] == [True, True]
    if transcripts.kept(host):
        tally = worker.record()
        assert (tally.calls, tally.input, tally.output) == (2, 30, 15)


@pytest.mark.tmux
@pytest.mark.parametrize("host", ["claude", "codex"])
def test_a_reader_at_a_terminal_changes_nothing_and_asks_nobody(crew: Crew, host: str) -> None:
    worker = Worker(crew, host)
    moves = [
        worker.program.write(worker.tree / "made.txt", "made\n"),
        worker.program.bash("echo more >> held.txt"),
        say("All done."),
    ]
    with worker.at_terminal(moves, permissions=READ) as tui:
        tui.shows("All done.")
        becomes(tui, State.READY)
        assert not (worker.tree / "made.txt").exists()
        assert (worker.tree / "held.txt").read_text() == "as it was\n"


@pytest.mark.tmux
@pytest.mark.parametrize("host", ["claude", "codex"])
def test_a_worker_at_a_terminal_goes_on_from_a_session(crew: Crew, host: str) -> None:
    worker = Worker(crew, host)
    _, parent = first_session(worker)
    with worker.at_terminal([say("MAGPIE"), say("All done.")], seed=parent.session) as tui:
        tui.shows("All done.")
        assert tui.heard("Remember the HERON.") == 1
        becomes(tui, State.READY)
