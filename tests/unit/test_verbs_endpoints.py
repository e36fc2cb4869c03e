"""The ways to an agent: told at a join, replaced with its session, gone when it leaves."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import apsw
import pytest

from rookery.core import tokens
from rookery.service import endpoints
from rookery.service import tokens as service
from rookery.service.tx import Tx
from rookery.store.port import Row, Transaction
from tests.support.fakes import BOOT, HOST
from tests.support.stage import Build, Stage

PANE = {"socket": "/tmp/tmux-0/default", "pane": "%3"}


@pytest.fixture
def stage(build: Build) -> Stage:
    return build()


def ways(stage: Stage, name: str) -> Sequence[Row]:
    def look(db: Transaction) -> Sequence[Row]:
        tx = Tx(db, stage.caller(), stage)
        agent = tx.find_agent(name)
        return endpoints.of_agent(tx, agent) if agent else []

    return stage.store.read(stage.team, look)


def change(stage: Stage, name: str, **columns: Any) -> None:
    """What a courier would have written after tries that failed."""
    changes = ", ".join(f"{column} = ?" for column in columns)
    whose = "agent = (SELECT id FROM agents WHERE name = ?)"
    with closing(apsw.Connection(stage.store.location)) as other:
        other.execute(f"UPDATE endpoints SET {changes} WHERE {whose}", (*columns.values(), name))


def test_a_join_tells_the_terminal_and_the_machine_it_is_on(stage: Stage):
    session = stage.join("ada", terminal=PANE)["session"]
    (way,) = ways(stage, "ada")
    assert (way["channel"], way["session"], way["address"]) == ("terminal", session, PANE)
    assert (way["host"], way["boot"]) == (HOST, BOOT)
    stage.join("bob")
    assert ways(stage, "bob") == []


def test_a_session_of_an_agent_program_tells_it_too(stage: Stage):
    caller = stage.caller(process=stage.process())
    stage.call("turn.start", caller, host="claude", host_id="s1", name="ada", terminal=PANE)
    assert [way["address"] for way in ways(stage, "ada")] == [PANE]


def test_told_again_it_keeps_what_was_tried_and_another_begins_anew(stage: Stage):
    mine = stage.process()
    stage.join("ada", process=mine, resume=True, terminal=PANE)
    change(stage, "ada", failures=5, open_until=99, reason="injection-failed")
    stage.join("ada", process=mine, resume=True, terminal=dict(reversed(PANE.items())))
    assert ways(stage, "ada")[0]["failures"] == 5
    stage.join("ada", process=mine, resume=True, terminal={**PANE, "pane": "%4"})
    (way,) = ways(stage, "ada")
    assert (way["address"]["pane"], way["failures"], way["open_until"], way["reason"]) == ("%4", 0, 0, "")


def test_a_new_session_begins_without_the_ways_of_the_one_before(stage: Stage):
    stage.join("ada", terminal=PANE)
    stage.join("bob", terminal=PANE)
    stage.join("ada", takeover=True)
    assert ways(stage, "ada") == []
    assert len(ways(stage, "bob")) == 1


def test_whoever_leaves_is_reached_by_nothing(stage: Stage):
    stage.join("ada", terminal=PANE)
    stage.call("leave", "ada")
    assert ways(stage, "ada") == []


def test_a_way_that_settings_gave_stays_when_the_session_goes(stage: Stage):
    stage.join("ada", terminal=PANE)
    change(stage, "ada", session="", channel="notify")
    stage.call("leave", "ada")
    assert [way["channel"] for way in ways(stage, "ada")] == ["notify"]


def test_whoever_shows_a_token_or_has_no_process_can_name_no_terminal(stage: Stage):
    stage.call("join", stage.caller(), name="ada", terminal=PANE)
    assert ways(stage, "ada") == []
    stage.join("bob")
    token = stage.call("token.new", agent="bob")["token"]
    grant = stage.store.read("", lambda db: service.presented(db, tokens.digest(token)))
    stage.call("join", stage.caller(process=stage.process(), grant=grant), name="bob", takeover=True, terminal=PANE)
    assert ways(stage, "bob") == []
    stage.join("bob", takeover=True, terminal=PANE)
    assert len(ways(stage, "bob")) == 1, "it was the token that was not believed"


@pytest.mark.parametrize("bad", [{"pane": "x" * 9_000}, {"pane": "a\0b"}])
def test_what_is_no_address_is_refused_and_leaves_nothing(stage: Stage, bad: dict[str, Any]):
    error = stage.refused("join", stage.caller(process=stage.process()), name="ada", terminal=bad)
    assert error.code == "BAD_ADDRESS"
