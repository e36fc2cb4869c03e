"""Where an agent's program is, as its hooks tell: written down when it changes, and rung for when it becomes idle."""

from contextlib import closing
from typing import Any

import apsw
import pytest

from rookery.core.delivery import KEEPER
from rookery.core.hooks import Event, Moment, Phase, phase_of
from rookery.hosts import known, profile
from tests.support.stage import Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.join_all("ada", "bob")
    return made


def row(stage: Stage) -> tuple[str, str, int]:
    """Phase, gate and since when, of the only session that has told anything."""
    with closing(apsw.Connection(stage.store.location)) as other:
        found = list(other.execute("SELECT phase, gate, phase_at FROM turns WHERE phase_at > 0"))
    return found[0] if found else ("", "", 0)


def told(stage: Stage, moment: str, phase: str, **more: Any) -> None:
    stage.call("turn.told", "ada", moment=moment, phase=phase, **more)


def test_what_was_told_last_counts_and_only_news_is_written_down(stage: Stage):
    told(stage, "prompt", "busy")
    phase, gate, since = row(stage)
    assert (phase, gate) == ("busy", "")
    stage.clock.pass_time(1_000)
    told(stage, "after", "busy")
    assert row(stage) == ("busy", "", since)
    assert stage.call("turn.phase", "ada", phase="blocked", gate="permission")["changed"]
    assert row(stage)[:2] == ("blocked", "permission")
    assert not stage.call("turn.phase", "ada", phase="blocked", gate="permission")["changed"]
    told(stage, "stop", "idle")
    assert row(stage)[:2] == ("idle", "")


def test_a_step_says_busy_unless_it_is_of_an_agent_inside(stage: Stage):
    told(stage, "stop", "idle")
    stage.call("turn.step", "ada", kind="edit", target="x", inner=True)
    assert row(stage)[0] == "idle"
    stage.call("turn.step", "ada", kind="edit", target="x")
    assert row(stage)[0] == "busy"


def test_the_bell_rings_when_a_session_becomes_idle_and_then_only(stage: Stage):
    told(stage, "prompt", "busy")
    before = len(stage.bell.rung)
    told(stage, "stop", "idle")
    assert [name for names in stage.bell.rung[before:] for name in sorted(names)] == [KEEPER, "ada"]
    before = len(stage.bell.rung)
    told(stage, "stop", "idle")
    assert not any("ada" in names for names in stage.bell.rung[before:])


def test_an_offer_tells_the_phase_and_writes_nothing(stage: Stage):
    told(stage, "stop", "idle")
    before = stage.rows()
    assert stage.call("turn.offer", "ada", moment="prompt")["phase"] == "idle"
    assert stage.call("turn.offer", "bob", moment="prompt")["phase"] == "", "nothing was told"
    assert stage.call("turn.offer", "user", moment="prompt")["phase"] is None, "there is no session to tell it of"
    assert stage.rows() == before


@pytest.mark.parametrize("bad", [{"phase": "asleep"}, {"phase": "busy\0"}])
def test_another_phase_is_refused(stage: Stage, bad: dict[str, str]):
    stage.refused("turn.phase", "ada", **bad)
    stage.refused("turn.told", "ada", moment="stop", **bad)


# -- what an event means -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "moment", "phase"),
    [
        ({"hook_event_name": "SessionStart", "source": "startup"}, Moment.START, Phase.IDLE),
        ({"hook_event_name": "SessionStart", "source": "compact"}, Moment.START, None),
        ({"hook_event_name": "UserPromptSubmit"}, Moment.PROMPT, Phase.BUSY),
        ({"hook_event_name": "PostToolUse"}, Moment.AFTER, Phase.BUSY),
        ({"hook_event_name": "PostToolUse", "agent_id": "a1"}, Moment.AFTER, None),
        ({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}, Moment.BEFORE, None),
        ({"hook_event_name": "Stop"}, Moment.STOP, Phase.IDLE),
        ({"hook_event_name": "StopFailure"}, Moment.REST, Phase.IDLE),
        ({"hook_event_name": "PermissionRequest", "tool_name": "Bash"}, Moment.BLOCKED, Phase.BLOCKED),
        ({"hook_event_name": "Notification", "notification_type": "permission_prompt"}, Moment.BLOCKED, Phase.BLOCKED),
        ({"hook_event_name": "Notification", "notification_type": "idle_prompt"}, Moment.REST, Phase.IDLE),
        ({"hook_event_name": "Notification", "notification_type": "auth_success"}, Moment.OTHER, None),
        ({"hook_event_name": "SessionEnd"}, Moment.END, Phase.UNKNOWN),
    ],
)
def test_what_claude_code_says_of_itself(given: dict[str, Any], moment: Moment, phase: Phase | None):
    event = profile.read(known.find("claude"), given)
    assert (event.moment, phase_of(event)) == (moment, phase)
    assert bool(event.gate) is (phase is Phase.BLOCKED)


def test_a_stop_that_is_held_is_no_rest():
    assert phase_of(Event(Moment.STOP), held=True) is Phase.BUSY


def test_a_program_that_may_stop_in_the_middle_of_a_turn_rests_when_it_says_so():
    event = profile.read(known.find("opencode"), {"event": "stop"})
    assert phase_of(event) is None
    assert phase_of(profile.read(known.find("pi"), {"event": "stop"})) is Phase.IDLE
