"""Real programs that sit idle, and mail that comes: they are woken by their own doors, once, and with all of it."""

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.hosts.crew import Crew, Member, install_hooks
from tests.hosts.model.script import expect, say
from tests.hosts.programs import ALL
from tests.hosts.terminal import Terminal

pytestmark = [pytest.mark.hosts, pytest.mark.tmux]
WREN = "BrightWren"
READ_ALL = """\
import rookery
with rookery.connect() as team:
    for message in team.call("inbox", limit=200)["messages"]:
        print(team.call("read", id=message["id"])["body"])
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
    with apsw.Connection(str(crew.home / "rookery.db"), flags=apsw.SQLITE_OPEN_READONLY) as other:
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


def rests(crew: Crew, pane: Terminal) -> None:
    """Idle, with a process that waits beside it."""
    pane.until(lambda: phase(crew)[0] == "idle" and "door" in ways(crew))


# --- Claude Code ---


def test_an_idle_claude_code_is_woken_and_the_half_typed_line_stays(crew: Crew) -> None:
    wren = member(crew, "claude")
    with wren.at_terminal([expect("| The parser is yours."), say("So it is."), say("Indeed.")]) as pane:
        rests(crew, pane)
        pane.type("half a tho")
        pane.until(lambda: "half a tho" in pane.screen())
        sent(crew, "Parser", "The parser is yours.")
        pane.until(lambda: "So it is." in pane.screen())
        assert "half a tho" in pane.screen()
        rests(crew, pane)
        sent(crew, "Lexer", "The lexer too.")
        pane.until(lambda: "Indeed." in pane.screen())
        assert [text.count("| The parser is yours.") for text in pane.heard] == [1, 1], "a second wake tells the second"
        assert (pane.unmet, handed(crew, "Parser"), handed(crew, "Lexer")) == ([], ["door:idle"], ["door:idle"])
        assert ways(crew)["terminal"]["pane"].startswith("%")


def test_a_burst_of_a_hundred_is_one_wake_and_all_are_read(crew: Crew) -> None:
    wren = member(crew, "claude")
    (crew.base / "read.py").write_text(READ_ALL)
    reading = wren.program.bash(f"{sys.executable} {crew.base}/read.py > all")
    moves = [expect("100 messages wait"), reading, say("I have read them.")]
    with wren.at_terminal(moves) as pane:
        rests(crew, pane)
        ids = [sent(crew, f"note {number}", f"Text number {number}.") for number in range(100)]
        pane.until(lambda: "I have read them." in pane.screen())
        rests(crew, pane)
        assert (pane.unmet, len(pane.heard)) == ([], 2), "one wake: a call and an end"
        assert all(pane.heard[-1].count(f"{id} from") <= 1 for id in ids), "none was shown twice"
    shown = [handed(crew, f"note {number}") for number in range(100)]
    assert [each for each in shown if each not in ([], ["door:idle"])] == []
    assert shown.count(["door:idle"]) == pane.heard[0].count("Message ") > 0
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
    with wren.at_terminal(moves) as pane:
        rests(crew, pane)
        pane.line("Go.")
        pane.until(lambda: "Heard it in the middle." in pane.screen())
        rests(crew, pane)
        assert (pane.unmet, len(pane.heard), handed(crew, "Early")) == ([], 2, ["hook:after"])


def test_a_dialog_is_told_of_and_nothing_is_handed_over_while_it_is_open(crew: Crew) -> None:
    wren = member(crew, "claude")
    moves = [wren.program.bash("touch made"), expect("| By and by."), say("It was allowed.")]
    asking = [*wren.program.at_terminal(wren.stage.place)[:1], "--permission-mode", "default"]
    with Terminal(wren.stage, asking, moves, wren.environ) as pane:
        rests(crew, pane)
        pane.line("Go.")
        pane.until(lambda: phase(crew) == ("blocked", "permission"))
        sent(crew, "Later", "By and by.")
        pane.until(lambda: "Do you want to proceed?" in pane.screen())
        assert handed(crew, "Later") == []
        pane.press("Enter")
        pane.until(lambda: "It was allowed." in pane.screen())
        assert (crew.repo / "made").exists()
        assert (pane.unmet, handed(crew, "Later")) == ([], ["hook:after"]), "the turn went on: its hooks brought it"
