"""Delivery from end to end: a real daemon, a real terminal, and in it a program that looks like an agent program's.

H2, H4, H5, H6, H7, H8 and H9 for mail that goes to its reader. H10 to H14 are in `test_terminal_hazards`. The window in
which mail may be handed over twice lies between the Enter in the terminal and the commit that tells it: whoever dies
there repeats that one.
"""

import json
import os
import re
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rookery import app
from tests.support.doors import Running, environment, running
from tests.support.held import HeldServer, held
from tests.support.mimicked import Mimicked
from tests.support.panes import Server, server, until

pytestmark = pytest.mark.slow

QUICK = {
    "ROOK_TERMINAL_POLL_S": "0.02", "ROOK_TERMINAL_STABLE_S": "0.2", "ROOK_TERMINAL_QUIET_S": "0.3",
    "ROOK_TERMINAL_PAUSE_S": "0.02", "ROOK_TERMINAL_VERIFY_S": "1.5", "ROOK_TERMINAL_CAP_S": "2",
    "ROOK_DELIVERY_RETRY_S": "0.1", "ROOK_DELIVERY_RETRY_MOST_S": "0.2", "ROOK_DELIVERY_LEASE_S": "1",
}  # fmt: skip
TEAM = "crew"


class Crew:
    """ada in a terminal, bob beside her, and the ledger both use."""

    def __init__(self, folder: Path, terminals: Server | HeldServer) -> None:
        self.folder = folder
        self.terminals = terminals
        folder.mkdir(exist_ok=True)
        self.house = app.open_house(cwd=str(folder), environ=environment(folder, ROOK_TEAM=TEAM, **QUICK))
        self.mimics: list[Mimicked] = []
        self.house.client.call("join", {"name": "bob"}, self.house.caller())

    def seat(self, name: str = "ada") -> Mimicked:
        """An agent program in a pane of its own, joined as its hooks would."""
        mimic = Mimicked(self.terminals, self.folder, f"{name}{len(self.mimics)}")
        self.mimics.append(mimic)
        self.terminals.resize(mimic.pane, 300, 120)  # it folds no long text
        args = {"name": name, "program": "claude", "terminal": mimic.address, "takeover": True}
        self.house.client.call("join", args, self.house.caller(None, process=tuple(mimic.process)))
        return mimic

    def call(self, verb: str, agent: str | None = None, **args: Any) -> Any:
        return self.house.client.call(verb, args, self.house.caller(agent))

    def send(self, subject: str, to: str = "ada", **more: Any) -> dict[str, Any]:
        return self.call("send", "bob", to=[to], subject=subject, **more)

    def stages(self, id: str) -> list[str]:
        (recipient,) = self.call("receipts", "bob", id=id)["recipients"]
        return [each["stage"] for each in recipient["receipts"]]

    def handed(self, id: str) -> None:
        until(lambda: "handed-over" in self.stages(id), lambda: f"{self.stages(id)}\n{self.mimics[-1].screen}")

    def way(self, agent: str = "ada") -> dict[str, Any]:
        (found,) = self.call("whois", "bob", name=agent)["ways"]
        return found

    def close(self) -> None:
        for mimic in self.mimics:
            mimic.close()
        self.house.close()


@pytest.fixture(params=[pytest.param(server, marks=pytest.mark.tmux, id="tmux"), pytest.param(held, id="pty")])
def crew(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Crew]:
    with request.param() as terminals:
        made = Crew(tmp_path / "house", terminals)
        yield made
        made.close()


@contextmanager
def up(crew: Crew, **more: Any) -> Generator[Running]:
    """The daemon; nothing it complains of may go unseen."""
    with running(crew.folder, "--team", TEAM, **QUICK, **more) as daemon:
        yield daemon


def ids_in(texts: list[str]) -> list[str]:
    """Messages that were put before the agent with their text, in order."""
    return [id for text in texts for id in re.findall(r"^Message \d+ of \d+: (\S+)", text, re.M)]


# -- an idle agent is woken ------------------------------------------------------------------------------------------


def test_h6_an_idle_agent_is_woken_and_the_receipt_tells_what_happened(crew: Crew):
    ada = crew.seat()
    with up(crew) as daemon:
        until(lambda: crew.send("hello", body="Are you there?")["recipients"][0]["how"].startswith("typed into"))
        id = crew.send("the last one")["id"]
        crew.handed(id)
        assert id in "\n".join(ada.submitted)
        assert all("| Subject: " in text for text in ada.submitted)
        assert crew.call("inbox", "ada")["messages"][0]["state"] == "unread", "typed is not read"
        assert daemon.stop() == (0, "")


def test_h9_without_a_daemon_the_sender_is_told_so_and_nothing_is_typed(crew: Crew):
    ada = crew.seat()
    told = crew.send("hello")["recipients"][0]
    assert (told["state"], "once `rook up` runs" in told["how"]) == ("live", True)
    assert ada.submitted == []


def test_h7_what_was_sent_while_nothing_ran_is_delivered_on_start(crew: Crew):
    ada = crew.seat()
    ids = [crew.send(f"note {n}")["id"] for n in range(3)]
    with up(crew):
        for id in ids:
            crew.handed(id)
    assert ids_in(ada.submitted) == ids
    assert len(ada.submitted) == 1


# -- and a busy one is not interrupted -------------------------------------------------------------------------------


def test_a_busy_agent_is_not_interrupted_and_has_its_mail_after(crew: Crew):
    ada = crew.seat()
    ada.order("busy")
    with up(crew):
        id = crew.send("when you can")["id"]
        until(lambda: crew.way()["reason"] == "busy", crew.way)
        assert ada.submitted == []
        assert ada.heard("interrupted") == []
        ada.order("idle")
        crew.handed(id)
    assert ids_in(ada.submitted) == [id]


def test_a_half_typed_line_stays_as_it_is_and_mail_comes_after(crew: Crew):
    ada = crew.seat()
    ada.types("refactor the par")
    with up(crew):
        id = crew.send("when you can")["id"]
        until(lambda: crew.way()["reason"] == "user-typing", crew.way)
        assert ada.submitted == []
        assert "refactor the par" in ada.screen
        ada.types("ser")
        crew.terminals.keys(ada.pane, "Enter")
        crew.handed(id)
    assert ada.submitted[0] == "refactor the parser"
    assert ids_in(ada.submitted[1:]) == [id]


def test_a_dialog_is_reported_and_not_answered(crew: Crew):
    ada = crew.seat()
    ada.order("dialog")
    with up(crew):
        id = crew.send("when you can")["id"]
        until(lambda: crew.way()["reason"] == "blocked", crew.way)
        assert crew.way()["detail"] == "permission"
        assert ada.heard("answered") == []
        ada.order("idle")
        crew.handed(id)


# -- a burst ---------------------------------------------------------------------------------------------------------


def test_a_burst_of_a_hundred_is_one_wake_and_all_are_read(crew: Crew):
    ada = crew.seat()
    ada.order("busy")
    with up(crew):
        ids = [crew.send(f"note {n}")["id"] for n in range(100)]
        ada.order("idle")
        crew.handed(ids[0])
        read = [each["id"] for each in crew.call("inbox", "ada", limit=200)["messages"]]
        crew.call("ack", "ada", ids=read)
    assert len(ada.submitted) == 1, "one wake"
    assert "100 messages wait for ada" in ada.submitted[0]
    assert read == ids, "all of them, in order, none twice"
    assert {crew.stages(id)[1] for id in ids} == {"handed-over", "announced"}
    assert crew.call("inbox", "ada")["messages"] == []


# -- whoever dies ----------------------------------------------------------------------------------------------------


def test_h8_a_daemon_killed_after_the_hand_over_repeats_that_one_and_no_other(crew: Crew):
    ada = crew.seat()
    dying = {"program": "tests.support.dying", "DIES_AT": "handed_over", "DIES_AT_TIME": "2"}
    with up(crew, **dying) as daemon:
        first = crew.send("first")["id"]
        crew.handed(first)
        second = crew.send("second")["id"]
        assert daemon.wait() == -signal.SIGKILL
    until(lambda: ids_in(ada.submitted) == [first, second], lambda: ada.submitted)
    assert crew.stages(second) == ["accepted"], "it was typed, and whoever typed it could not say so"
    third = crew.send("third")["id"]
    with up(crew):
        crew.handed(third)
    assert ids_in(ada.submitted) == [first, second, second, third], "the one in flight, once; nothing lost"
    assert [crew.stages(id) for id in (first, second, third)] == [["accepted", "handed-over"]] * 3


@pytest.mark.torture
def test_h8_daemons_killed_at_any_moment_lose_nothing_and_repeat_no_hand_over_that_was_recorded(crew: Crew):
    """Killed once for each of its messages, at whatever it was doing then."""
    ada, sent, recorded = crew.seat(), list[str](), dict[str, int]()
    for round in range(12):
        with up(crew) as daemon:
            sent.append(crew.send(f"note {round}")["id"])
            if round % 3 == 0:
                crew.handed(sent[-1])
            elif round % 3 == 1:
                until(lambda: sent[-1] in ids_in(ada.submitted) or sent[-1] in ada.screen)
            daemon.process.kill()
            daemon.wait()
        for id in sent:
            if "handed-over" in crew.stages(id):
                recorded.setdefault(id, ids_in(ada.submitted).count(id))
    with up(crew):
        for id in sent:
            crew.handed(id)
    put = ids_in(ada.submitted)
    assert set(put) == set(sent), "nothing lost"
    assert {id: put.count(id) for id in recorded} == recorded, "what was recorded is not put again"
    assert all(crew.stages(id).count("handed-over") == 1 for id in sent)


def test_h2_a_pane_that_dies_while_text_is_put_leaves_the_mail_pending_with_the_reason(crew: Crew):
    ada = crew.seat()
    ada.order("die")  # at the Enter
    with up(crew):
        id = crew.send("hello")["id"]
        until(lambda: crew.way()["reason"] == "session-not-found", crew.way)
    assert crew.stages(id) == ["accepted"]
    assert [each["id"] for each in crew.call("inbox", "ada")["messages"]] == [id]


def test_h5_an_agent_that_crashes_after_the_hand_over_is_told_again_when_it_returns(crew: Crew):
    ada = crew.seat()
    with up(crew):
        id = crew.send("hello")["id"]
        crew.handed(id)
        os.kill(ada.process.pid, signal.SIGKILL)
        again = crew.seat()
        until(lambda: ids_in(again.submitted) == [id], lambda: again.screen)
        until(lambda: crew.stages(id).count("handed-over") == 2)
    assert ids_in(ada.submitted) == [id]


def test_mail_for_a_dead_session_becomes_a_dead_letter_that_is_told_and_can_be_resent(crew: Crew):
    ada = crew.seat()
    os.kill(ada.process.pid, signal.SIGKILL)
    with up(crew, ROOK_DELIVERY_TRIES="3", ROOK_DELIVERY_FAILURES="2", ROOK_DELIVERY_PAUSE_S="0.1"):
        id = crew.send("hello")["id"]
        until(lambda: "dead" in crew.stages(id), crew.way)
        (letter,) = crew.call("dead", "bob")["letters"]
        assert (letter["to"], letter["reason"], letter["attempts"]) == ("ada", "session-not-found", 3)
        assert "Not delivered: hello" in [each["subject"] for each in crew.call("inbox", "bob")["messages"]]
        assert any("hello" in each["title"] for each in crew.call("escalations")["escalations"])
        again = crew.seat()
        crew.call("dead.resend", "bob", id=id)
        until(lambda: ids_in(again.submitted) == [id], lambda: again.screen)


# -- long bodies -----------------------------------------------------------------------------------------------------


def test_a_long_body_goes_as_a_file_and_a_lost_file_is_made_again(crew: Crew):
    ada = crew.seat()
    transcript = crew.folder / "projects" / "-crew" / "s1.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_text("")
    started = {"host": "claude", "host_id": "s1", "transcript": str(transcript), "name": "ada", "terminal": ada.address}
    crew.house.client.call("turn.start", started, crew.house.caller(None, process=tuple(ada.process)))
    with up(crew, ROOK_DELIVERY_CHARACTERS="1000"):  # so that it fits the made-up screen
        id = crew.send("long", body=("word " * 10 + "\n") * 400)["id"]
        crew.handed(id)
        (named,) = re.findall(r"@(\S+\.md) or `rook read", ada.submitted[0])
        until(lambda: Path(named).exists())
        assert Path(named).read_text().count("word ") == 4000
        assert os.stat(named).st_mode & 0o077 == 0
        os.unlink(named)
        until(lambda: Path(named).exists())
        assert Path(named).read_text().count("word ") == 4000
        transcript.write_text(json.dumps({"type": "user", "text": ada.submitted[0]}) + "\n")
        until(lambda: crew.stages(id) == ["accepted", "handed-over", "seen"], lambda: crew.stages(id))
