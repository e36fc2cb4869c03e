"""Real Claude Code and Codex at a terminal, without hooks, and a real daemon: nothing but their panes is known of them.

What hooks and the doors of the programs themselves do besides is in `test_wakes`.
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rookery import app
from rookery.core.screen import State, View, read
from rookery.hosts import screens
from rookery.runtime import process
from rookery.runtime.tmux import Pane
from tests.hosts.crew import Crew, Member
from tests.hosts.model.script import Move, expect, say
from tests.hosts.programs import ALL
from tests.hosts.tui import HOLD, Tui
from tests.support.doors import Running, running
from tests.support.panes import until

pytestmark = [pytest.mark.hosts, pytest.mark.tmux]
WREN = "BrightWren"
BOTH = ("claude", "codex")
QUICK = {"ROOK_DELIVERY_RETRY_S": "0.2", "ROOK_DELIVERY_RETRY_MOST_S": "0.5", "ROOK_TERMINAL_CAP_S": "3",
         "ROOK_DELIVERY_LEASE_S": "2"}  # fmt: skip
READ_ALL = """\
import rookery
with rookery.connect() as team:
    for message in team.call("inbox", limit=200)["messages"]:
        print(team.call("read", id=message["id"])["body"])
"""


class Seat:
    """A member of the crew whose session knows its process and its pane, as `rook join` in its shell would tell."""

    def __init__(self, crew: Crew, host: str, moves: list[Move]) -> None:
        self.crew = crew
        self.host = host
        self.member: Member = crew.member(ALL[host], WREN)
        self.tui: Tui = self.member.at_terminal(moves)
        self.house = app.open_house(cwd=str(crew.repo), environ=crew.environ())

    def __enter__(self) -> "Seat":
        self.tui.__enter__()
        until(lambda: self.view().state is State.READY, self.tui.screen)
        found = process.identify(int(self.tui.server.ask("display-message", "-p", "-t", self.tui.pane, "#{pane_pid}")))
        assert found
        joined = {"name": WREN, "program": self.host, "terminal": self.tui.server.address(self.tui.pane)}
        self.house.client.call("join", joined, self.house.caller(None, process=tuple(found)))
        return self

    def __exit__(self, *exc: Any) -> None:
        self.tui.__exit__(*exc)
        self.house.close()

    def send(self, subject: str, body: str) -> str:
        return self.crew.raven("send", to=[WREN], subject=subject, body=body, asks=False)["id"]

    def stages(self, id: str) -> list[str]:
        (recipient,) = self.crew.raven("receipts", id=id)["recipients"]
        return [each["stage"] for each in recipient["receipts"]]

    def handed(self, id: str) -> None:
        until(lambda: "handed-over" in self.stages(id), lambda: f"{self.stages(id)} {self.way()}\n{self.tui.screen()}")

    def way(self) -> dict[str, Any]:
        (found,) = self.crew.raven("whois", name=WREN)["ways"]
        return found

    def view(self) -> View:
        patterns = screens.of(self.host)
        assert patterns
        return read(patterns, asyncio.run(Pane(self.tui.server.address(self.tui.pane)).look()))

    def told(self, id: str) -> int:
        """How often the model was given a message, by the end."""
        return sum(said.count(f"{id} from") for said in self.tui.asked[-1].texts) if self.tui.asked else 0


@pytest.fixture
def crew(tmp_path: Path) -> Generator[Crew]:
    with Crew(tmp_path, WREN) as made:
        yield made


@contextmanager
def up(crew: Crew, **more: Any) -> Generator[Running]:
    with running(crew.base, "--team", "rig", **QUICK, **more) as daemon:
        yield daemon


@pytest.mark.parametrize("host", BOTH)
def test_idle_it_is_woken_half_typed_it_is_let_be_and_busy_it_is_not_interrupted(crew: Crew, host: str) -> None:
    moves = [say("the first answer"), say("the second answer"), HOLD, say("the third answer"), say("the fourth answer")]
    with Seat(crew, host, moves) as seat, up(crew):
        first = seat.send("Parser", "The parser is yours.")
        seat.handed(first)
        seat.tui.shows("the first answer")

        seat.tui.types("half a tho")
        seat.tui.shows("half a tho")
        second = seat.send("Lexer", "The lexer too.")
        until(lambda: seat.way()["reason"] == "user-typing", seat.way)
        seat.tui.shows("half a tho")
        assert seat.stages(second) == ["accepted"]
        seat.tui.keys("C-u")
        seat.handed(second)
        seat.tui.shows("the second answer")

        seat.tui.asks("Go on.", lambda: "Go on." in seat.view().typed)
        third = seat.send("Later", "When you are done.")
        until(lambda: seat.way()["reason"] == "busy", seat.way)
        assert seat.stages(third) == ["accepted"]
        seat.tui.release()
        seat.handed(third)
        seat.tui.shows("the fourth answer")
        assert [seat.told(id) for id in (first, second, third)] == [1, 1, 1]
        assert "half a tho" not in "\n".join(seat.tui.asked[-1].texts)
        assert seat.tui.unmet == []


@pytest.mark.parametrize("host", BOTH)
def test_a_burst_of_a_hundred_is_one_wake_and_the_model_reads_them_all(crew: Crew, host: str) -> None:
    (crew.base / "read.py").write_text(READ_ALL)
    moves = [
        expect("100 messages wait"),
        ALL[host].bash(f"{sys.executable} {crew.base}/read.py > all"),
        say("I have read them."),
    ]
    with Seat(crew, host, moves) as seat:
        ids = [seat.send(f"note {n}", f"Text number {n}.") for n in range(100)]
        with up(crew):
            seat.tui.shows("I have read them.")
            until(lambda: "handed-over" in seat.stages(ids[0]))
        assert seat.tui.unmet == []
        prompts = [said for said in seat.tui.asked[-1].texts if "messages wait for" in said]
        assert len(prompts) == 1, "one wake"
        shown = re.findall(r"^Message \d+ of \d+: (\S+)", prompts[0], re.M)
        assert shown == ids[: len(shown)], "the first ones, in order, each once"
    text = (crew.repo / "all").read_text()
    assert [text.count(f"Text number {n}.") for n in range(100)] == [1] * 100, "all of them, none twice"
    assert {seat.stages(id)[1] for id in ids} == {"handed-over", "announced"}


@pytest.mark.parametrize("host", BOTH)
def test_a_daemon_killed_in_the_middle_loses_nothing_and_repeats_only_what_was_in_flight(crew: Crew, host: str) -> None:
    moves: list[Move] = [say(f"answer {n}") for n in range(4)]
    dying = {"program": "tests.support.dying", "DIES_AT": "handed_over", "DIES_AT_TIME": "2"}
    with Seat(crew, host, moves) as seat:
        with up(crew, **dying) as daemon:
            first = seat.send("first", "One.")
            seat.handed(first)
            second = seat.send("second", "Two.")
            assert daemon.wait() == -signal.SIGKILL
        seat.tui.shows("answer 1")
        assert seat.stages(second) == ["accepted"]
        third = seat.send("third", "Three.")
        with up(crew):
            seat.handed(third)
            seat.tui.shows("answer 2")
        assert [seat.told(id) for id in (first, second, third)] == [1, 2, 1]
        assert [seat.stages(id).count("handed-over") for id in (first, second, third)] == [1, 1, 1]


def test_a_program_that_crashes_after_the_hand_over_has_its_mail_again_when_it_returns(crew: Crew) -> None:
    with Seat(crew, "claude", [say("the first answer")]) as seat, up(crew):
        id = seat.send("Parser", "The parser is yours.")
        seat.handed(id)
        seat.tui.shows("the first answer")
        found = int(seat.tui.server.ask("display-message", "-p", "-t", seat.tui.pane, "#{pane_pid}"))
        os.kill(found, signal.SIGKILL)
        until(lambda: seat.crew.raven("whois", name=WREN)["liveness"] in ("dead", "ended"))
        late = seat.send("Lexer", "The lexer too.")
        until(lambda: seat.way()["reason"] == "session-not-found", seat.way)
        assert seat.stages(late) == ["accepted"]
        waiting = seat.house.client.call("inbox", {}, seat.house.caller(WREN))["messages"]
        assert [each["id"] for each in waiting] == [id, late], "nothing of it was read, and nothing is lost"
