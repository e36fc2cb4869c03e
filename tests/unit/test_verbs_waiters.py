"""A process that waits beside an idle agent: what it is told, when another takes its place; it is no activity."""

from typing import Any

import pytest

from rookery.core import errors
from tests.support.stage import MINUTE, SECOND, Build, Stage

MINE, OTHER = {"pid": 10, "started": "t10"}, {"pid": 11, "started": "t11"}


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.join_all("ada", "bob")
    return made


def idle(stage: Stage, who: dict[str, Any] = MINE, **more: Any) -> dict[str, Any]:
    return stage.call("turn.idle", "ada", **who, **more)


def enter(stage: Stage, phase: str) -> None:
    stage.call("turn.phase", "ada", phase=phase)


def test_mail_is_for_it_while_the_agent_is_idle_and_was_not_shown_it(stage: Stage):
    stage.call("turn.wait", "ada", **MINE)
    id = stage.send("bob", "ada", "Ready", body="Start with the parser")["id"]
    for phase in ("", "busy", "blocked"):
        enter(stage, phase)
        assert idle(stage)["text"] == ""
    enter(stage, "idle")
    found = idle(stage)
    assert found["shown"] == [id]
    assert "| Start with the parser" in found["text"]
    stage.call(
        "turn.told", "ada", moment="idle", shown=found["shown"], upto=found["upto"], channel="door", phase="busy"
    )
    (recipient,) = stage.call("receipts", "bob", id=id)["recipients"]
    assert recipient["receipts"][-1]["channel"] == "door:idle"
    enter(stage, "idle")
    assert idle(stage)["text"] == "", "both ways go by one cursor"
    assert stage.call("turn.offer", "ada", moment="after")["text"] == ""


def test_what_a_hook_has_shown_is_not_for_it(stage: Stage):
    stage.call("turn.wait", "ada", **MINE)
    enter(stage, "idle")
    stage.send("bob", "ada")
    offered = stage.call("turn.offer", "ada", moment="prompt")
    stage.call("turn.told", "ada", moment="prompt", shown=offered["shown"], upto=offered["upto"])
    assert idle(stage)["text"] == ""


def test_the_one_that_came_last_counts_and_the_one_before_is_rung(stage: Stage):
    stage.call("turn.wait", "ada", **MINE)
    assert not idle(stage)["leave"]
    before = len(stage.bell.rung)
    stage.call("turn.wait", "ada", **OTHER)
    assert any("ada" in names for names in stage.bell.rung[before:])
    assert idle(stage)["leave"]
    assert not idle(stage, OTHER)["leave"]
    stage.call("turn.wait", "ada", **MINE, over=True)
    assert not idle(stage, OTHER)["leave"], "whoever was replaced can not take the other's place away"
    stage.call("turn.wait", "ada", **OTHER, over=True)
    assert idle(stage, OTHER)["leave"]


def test_a_session_that_is_over_or_anothers_is_told_so(stage: Stage):
    caller = stage.caller(session=stage.call("turn.wait", "ada", **MINE)["session"])
    stage.join("ada", takeover=True)
    with pytest.raises(errors.RookError):
        stage.call("turn.idle", caller, **MINE)


def test_waiting_keeps_nobody_alive(stage: Stage):
    stage.call("turn.wait", "ada", **MINE)
    stage.clock.pass_time(10 * MINUTE)
    before = stage.rows()
    idle(stage)
    assert stage.rows() == before
    stage.call("inbox", "ada")
    assert stage.rows() != before, "any other look of hers does"


@pytest.mark.parametrize(
    ("rule", "normal", "asks"), [("all", True, True), ("urgent", False, True), ("off", False, False)]
)
def test_what_wakes_is_a_setting(build: Build, rule: str, normal: bool, asks: bool):
    stage = build(hook__wake=rule)
    stage.join_all("ada", "bob")
    stage.call("turn.wait", "ada", **MINE)
    enter(stage, "idle")
    stage.send("bob", "ada", "Note", asks=False)
    assert bool(idle(stage)["text"]) is normal
    stage.send("bob", "ada", "Which?", asks=True)
    assert bool(idle(stage)["text"]) is asks


def test_nobody_waits_beside_a_person_or_without_a_session(stage: Stage):
    assert stage.refused("turn.wait", "user", **MINE).code == "NOT_JOINED"
    stage.call("leave", "ada")
    assert stage.refused("turn.wait", "ada", **MINE).code == "NOT_JOINED"


@pytest.mark.parametrize(
    "bad", [{"pid": 0, "started": "t"}, {"pid": 5, "started": ""}, {"pid": 5, "started": "t" * 200}]
)
def test_what_is_no_process_is_refused(stage: Stage, bad: dict[str, Any]):
    stage.refused("turn.wait", "ada", **bad)
    stage.refused("turn.idle", "ada", **bad)


def test_mail_that_waited_for_the_end_of_a_turn_is_left_to_it_first(stage: Stage):
    pane = {"kind": "tmux", "socket": "/run/s", "server": "1 2", "pane": "%1"}
    mine = stage.process()
    stage.call(
        "turn.start", stage.caller(process=stage.process()), host="claude", host_id="s", name="eve", terminal=pane
    )
    stage.call("turn.wait", "eve", pid=mine[0], started=mine[1])
    stage.call("turn.phase", "eve", phase="busy")
    stage.send("bob", "eve")
    stage.clock.pass_time(10 * MINUTE)
    stage.call("turn.phase", "eve", phase="idle")

    def due() -> list[str]:
        return [each["channel"] for each in stage.call("delivery.due", owner="keeper")["due"]]

    assert due() == [], "the process beside it has only now heard that it may"
    stage.clock.pass_time(10 * SECOND)
    assert due() == ["terminal"], "it should have by then"
