"""Real programs that sit idle, and mail that comes: they are woken by their own doors, once, and with all of it."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from rookery.core.delivery import Reason
from rookery.hosts import reaching
from rookery.hosts import trust as trusting
from rookery.keeper.blocking import BlockingPool
from rookery.keeper.reaching import queued
from tests.hosts.crew import ROOK, Crew, Member, install_hooks
from tests.hosts.model.script import expect, say
from tests.hosts.programs import ALL
from tests.hosts.programs.port import save_json
from tests.hosts.stage import INSTALLED
from tests.hosts.tui import COMMANDS, HOLD, IDLE, Tui
from tests.support.panes import until

pytestmark = [pytest.mark.hosts, pytest.mark.tmux]
WREN = "BrightWren"
READ_ALL = """\
import rookery
with rookery.connect() as team:
    for message in team.call("inbox", limit=200)["messages"]:
        print(team.call("read", id=message["id"])["body"])
"""

AWAIT = """\
import os, sys, threading
import rookery
threading.Timer(float(os.environ["PATIENCE"]), lambda: os._exit(7)).start()
with rookery.connect() as team:
    while next(event for event in team.follow(0) if event["type"] == "mail.handed"):
        if os.environ["LAST"] in open(os.environ["REQUESTS"]).read():
            os._exit(0)
        threading.Event().wait(0.1)
"""


@pytest.fixture
def crew(tmp_path: Path) -> Generator[Crew]:
    with Crew(tmp_path, WREN) as made:
        yield made


def member(crew: Crew, host: str) -> Member:
    wren = crew.member(ALL[host], WREN)
    install_hooks(wren.program.executable, crew.repo, wren.environ)
    return wren


def sent(crew: Crew, subject: str, body: str) -> str:
    return crew.raven("send", to=[WREN], subject=subject, body=body, asks=False)["id"]


def rows(crew: Crew, query: str, *values: str) -> list[tuple[Any, ...]]:
    """What the ledger says, looked at from outside."""
    with closing(apsw.Connection(str(crew.home / "rookery.db"), flags=apsw.SQLITE_OPEN_READONLY)) as other:
        other.set_busy_timeout(10_000)
        return list(other.execute(query, values))


def handed(crew: Crew, subject: str) -> list[str]:
    """How a message was handed over, each time that it was."""
    query = """SELECT r.channel FROM receipts r JOIN messages m ON m.n = r.message
               WHERE r.stage = 'handed-over' AND m.subject = ?"""
    return [row[0] for row in rows(crew, query, subject)]


def ways(crew: Crew) -> dict[str, Any]:
    return {way: json.loads(address) for way, address in rows(crew, "SELECT channel, address FROM endpoints")}


def phase(crew: Crew) -> tuple[str, str]:
    found = rows(crew, "SELECT phase, gate FROM turns WHERE phase_at > 0")
    return found[0] if found else ("", "")  # type: ignore[return-value]


def rests(crew: Crew) -> None:
    """Idle, with a process that waits beside it."""
    until(lambda: phase(crew)[0] == "idle" and "door" in ways(crew), lambda: f"{phase(crew)} {ways(crew)}")


def told(tui: Tui, text: str) -> list[int]:
    """How often each request of the model held this."""
    return ["\n".join(asked.results + asked.texts).count(text) for asked in tui.asked]


# --- Claude Code ---


def test_an_idle_claude_code_is_woken_and_the_half_typed_line_stays(crew: Crew) -> None:
    wren = member(crew, "claude")
    with wren.at_terminal([expect("| The parser is yours."), say("So it is."), say("Indeed.")]) as tui:
        rests(crew)
        tui.types("half a tho")
        tui.shows("half a tho")
        sent(crew, "Parser", "The parser is yours.")
        tui.shows("So it is.")
        tui.shows("half a tho")
        rests(crew)
        sent(crew, "Lexer", "The lexer too.")
        tui.shows("Indeed.")
        assert told(tui, "| The parser is yours.") == [1, 1], "a second wake tells the second"
        assert (tui.unmet, handed(crew, "Parser"), handed(crew, "Lexer")) == ([], ["door:idle"], ["door:idle"])
        assert ways(crew)["terminal"]["pane"] == tui.pane


def test_a_burst_of_a_hundred_is_one_wake_and_all_are_read(crew: Crew) -> None:
    """What comes after the wake, on a machine that pauses in the middle of the burst, is shown by the turn's hooks."""
    wren = member(crew, "claude")
    (crew.base / "read.py").write_text(READ_ALL)
    reading = wren.program.bash(f"{sys.executable} {crew.base}/read.py > all")
    with wren.at_terminal([expect("messages wait"), HOLD, reading, say("I have read them.")]) as tui:
        rests(crew)
        ids = [sent(crew, f"note {number}", f"Text number {number}.") for number in range(100)]
        tui.release()
        tui.shows("I have read them.")
        rests(crew)
        assert (tui.unmet, len(tui.asked)) == ([], 2), "one wake: a call and an end"
        assert all(max(told(tui, f"{id} from")) <= 1 for id in ids), "none was shown twice"
    shown = [handed(crew, f"note {number}") for number in range(100)]
    assert [each for each in shown if each not in ([], ["door:idle"], ["hook:after"], ["hook:prompt"])] == []
    with_it = shown.count(["door:idle"]) + shown.count(["hook:prompt"])  # the wake, and the prompt that it makes
    assert with_it == told(tui, "Message ")[0] > 0
    text = (crew.repo / "all").read_text()
    assert all(f"Text number {number}." in text for number in range(100)), "and none was lost"
    assert rows(crew, "SELECT DISTINCT state FROM deliveries") == [("read",)]


def test_a_busy_claude_code_is_not_woken_and_its_hooks_bring_it(crew: Crew) -> None:
    wren = member(crew, "claude")
    moves = [
        crew.meanwhile("send", WREN, "-s", "Early", "-m", "While you think.", "--no-asks"),
        wren.program.bash("echo worked"),
        expect("| While you think."),
        say("Heard it in the middle."),
    ]
    with wren.at_terminal(moves) as tui:
        rests(crew)
        tui.asks("Go.", lambda: not tui.asked)
        tui.shows("Heard it in the middle.")
        rests(crew)
        assert (tui.unmet, len(tui.asked), handed(crew, "Early")) == ([], 2, ["hook:after"])


def test_a_dialog_is_told_of_and_nothing_is_handed_over_while_it_is_open(crew: Crew) -> None:
    wren = member(crew, "claude")
    moves = [wren.program.bash("touch made"), expect("| By and by."), say("It was allowed.")]
    with wren.at_terminal(moves, COMMANDS["claude"]) as tui:
        rests(crew)
        tui.asks("Go.", lambda: not tui.asked)
        until(lambda: phase(crew) == ("blocked", "permission"), lambda: phase(crew))
        sent(crew, "Later", "By and by.")
        tui.shows("Do you want to proceed?")
        assert handed(crew, "Later") == []
        tui.answers("Do you want to proceed?")
        tui.shows("It was allowed.")
        assert (crew.repo / "made").exists()
        assert (tui.unmet, handed(crew, "Later")) == ([], ["hook:after"]), "the turn went on: its hooks brought it"


# --- OpenCode and pi ---


@pytest.mark.parametrize("host", ["opencode", "pi"])
def test_an_idle_program_is_woken_through_its_plugin(crew: Crew, host: str) -> None:
    wren = member(crew, host)
    moves = [say("First."), expect("| The parser is yours."), say("So it is."), say("And the lexer.")]
    with wren.at_terminal(moves) as tui:
        tui.shows(IDLE[host])
        tui.asks("Go.", lambda: not tui.asked)
        tui.shows("First.")
        rests(crew)
        tui.types("half a tho")
        tui.shows("half a tho")
        sent(crew, "Parser", "The parser is yours.")
        tui.shows("So it is.")
        tui.shows("half a tho")
        rests(crew)
        sent(crew, "Lexer", "The lexer too.")
        tui.shows("And the lexer.")
        rests(crew)
        assert (tui.unmet, handed(crew, "Parser"), handed(crew, "Lexer")) == ([], ["door:idle"], ["door:idle"])
        assert (told(tui, "| The parser is yours.")[-1], told(tui, "| The lexer too.")[-1]) == (1, 1)


# --- Codex ---


@contextmanager
def daemon(crew: Crew) -> Generator[None]:
    """A keeper beside the crew."""
    rook = [str(ROOK), "--team", "rig"]
    subprocess.run([*rook, "up", "--detach", "--port", "0"], cwd=crew.repo, env=crew.environ(), check=True)
    try:
        yield
    finally:
        subprocess.run([*rook, "down"], cwd=crew.repo, env=crew.environ(), check=True)


def test_an_idle_codex_is_given_its_mail_by_its_queue(crew: Crew) -> None:
    wren = member(crew, "codex")
    moves = [HOLD, say("First."), expect("| The parser is yours."), say("So it is.")]
    with wren.at_terminal(moves) as tui, daemon(crew):
        tui.shows(IDLE["codex"])
        tui.asks("Go.", lambda: phase(crew)[0] != "busy")
        tui.release()
        tui.shows("First.")
        until(lambda: phase(crew)[0] == "idle" and "queue" in ways(crew), lambda: f"{phase(crew)} {ways(crew)}")
        sent(crew, "Parser", "The parser is yours.")
        tui.shows("So it is.")
        until(lambda: handed(crew, "Parser"), "that it is written down, which may come after it was seen")
        assert (tui.unmet, handed(crew, "Parser")) == ([], ["queue"])
        assert max(told(tui, "| The parser is yours.")) == 1


def test_a_thread_that_is_not_there_is_told_so(crew: Crew) -> None:
    wren = member(crew, "codex")
    program = [str(INSTALLED / "node_modules" / ".bin" / "codex")]
    missing = reaching.address("codex", program, "01234567-0123-7123-8123-0123456789ab", str(crew.repo), wren.environ)
    assert missing is not None
    outcome = asyncio.run(queued(missing, "--message=not an option\n$(touch made)", 60.0, BlockingPool("tests", 1)))
    assert (outcome.done, outcome.reason) == (False, Reason.SESSION_NOT_FOUND), outcome
    assert not (crew.repo / "made").exists()


# --- turns without a terminal ---


def trust(repo: Path, home: Path) -> None:
    """As after `/hooks` in Codex: it keeps a digest of every hook that its user trusts."""
    file = repo / ".codex" / "hooks.json"
    with (home / ".codex" / "config.toml").open("a") as config:
        for event, (group,) in json.loads(file.read_text())["hooks"].items():
            name = "".join(f"_{each.lower()}" if each.isupper() else each for each in event).strip("_")
            digest = trusting.codex_digest(event, group, group["hooks"][0])
            config.write(f'\n[hooks.state."{file}:{name}:0:0"]\ntrusted_hash = "{digest}"\n')


@pytest.mark.timeout(900)
@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "opencode", "copilot", "pi"])
def test_a_session_that_ended_is_resumed_for_its_mail_where_that_is_wanted(crew: Crew, host: str) -> None:
    wren = member(crew, host)
    if host == "codex":
        trust(crew.repo, wren.stage.home)
    if host == "pi":
        save_json(wren.stage.home / ".pi" / "agent" / "trust.json", {str(crew.repo): True})
    moves = [say("First."), expect("| Wake up."), say("Second.")]
    wren.play(moves[:1])
    sent(crew, "Dawn", "Wake up.")
    (crew.base / "await.py").write_text(AWAIT)
    script = 'rook up --detach --port 0 >/dev/null || exit 9; "$0" "$1"; code=$?; rook down >/dev/null; exit $code'
    command = ["sh", "-c", script, sys.executable, str(crew.base / "await.py")]
    seen = {"REQUESTS": str(wren.stage.folder / "requests.jsonl"), "LAST": "Second."}
    for wanted in ("false", "true"):
        seen |= {"ROOK_DELIVERY_RESUME": wanted, "PATIENCE": "4" if wanted == "false" else "300"}
        run = wren.stage.start(command, moves, {**wren.environ, **seen}, deadline_s=330)
        assert run.code == (0 if wanted == "true" else 7), run.stdout + run.stderr
        assert [way.partition(":")[0] for way in handed(crew, "Dawn")] == (["hook"] if wanted == "true" else [])
    assert not any(request["answer"]["unmet"] or request["answer"]["over"] for request in run.requests)
    assert run.heard[-1].count("| Wake up.") == 1, "the knock shows nothing itself"
