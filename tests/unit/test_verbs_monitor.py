"""Sessions that are not well: found, told once, to the right one, and acted upon only as the settings say."""

import json
from typing import Any

import apsw
import pytest

from rookery.bridge import audit
from rookery.core import errors
from tests.support import ledger
from tests.support.rebuild import Rebuilt
from tests.support.stage import DAY, HOUR, MINUTE, SECOND, Build, Stage

PANE = {"kind": "tmux", "socket": "/tmp/s", "server": "7 70", "pane": "%3"}


@pytest.fixture
def stage(build: Build) -> Stage:
    return build()


def join(stage: Stage, name: str = "ada", **more: Any) -> tuple[int, str]:
    process = stage.process()
    stage.join(name, process=process, **more)
    return process


def die(stage: Stage, process: tuple[int, str]) -> None:
    stage.prober.states[process] = "dead"


def look(stage: Stage, **seen: Any) -> dict[str, str]:
    """As a keeper does: everyone is looked at, and what is news is reported."""
    found = stage.call("monitor.sessions", "system")["sessions"]
    every = [{"session": each["session"], "cpu": 0, **seen} for each in found]
    new = stage.call("monitor.news", "system", seen=every)["sessions"]
    if not new:
        return {}
    return stage.call("monitor.report", "system", seen=[each for each in every if each["session"] in new])["told"]


def told_phase(stage: Stage, name: str, phase: str, gate: str = "") -> None:
    """What hooks tell, as rows."""
    session = stage.call("whois", None, name=name)["session"]
    with apsw.Connection(stage.store.location) as other:
        now = other.execute("SELECT max(touched_at) FROM teams").fetchall()[0][0]
        other.execute(
            "INSERT INTO turns (team, session, host, host_id, phase, phase_at, gate) "
            "VALUES (1, :session, 'claude', '', :phase, :now, :gate) "
            "ON CONFLICT (team, session) DO UPDATE SET phase = :phase, phase_at = :now, gate = :gate",
            {"session": session, "phase": phase, "now": now, "gate": gate},
        )


def items(stage: Stage, state: str = "open") -> list[tuple[str, ...]]:
    return ledger.ask(
        stage.store.location,
        "SELECT r.title, r.kind, a.name FROM review_items r JOIN agents a ON a.team = r.team AND a.id = r.asked_of "
        "WHERE state = :state ORDER BY r.id", state=state,
    )  # fmt: skip


def monitored(stage: Stage, *types: str) -> list[str]:
    return [event["type"] for event in stage.events(*types) if event["type"].startswith(("session.", "stuck"))]


# --- found, and told once ---------------------------------------------------------------------------------------------


def test_h36_a_process_that_died_without_a_word_is_told_once(stage: Stage) -> None:
    process = join(stage)
    assert look(stage) == {}, "nothing is the matter"
    die(stage, process)
    assert look(stage) == {"ada": "died"}
    assert [look(stage) for _ in range(3)] == [{}, {}, {}]
    assert monitored(stage) == ["session.died"]
    assert stage.subjects("user") == ["ada: its process is gone"]
    assert items(stage) == [("ada: died", "failure", "user")]


def test_a_death_that_a_sweep_noticed_first_is_told_too(stage: Stage) -> None:
    process = join(stage)
    die(stage, process)
    stage.clock.pass_time(2 * MINUTE)
    assert stage.call("sweep")["sessions"] == 1
    assert look(stage) == {"ada": "died"}
    assert look(stage) == {}


def test_whoever_left_or_was_before_long_is_not_spoken_of(stage: Stage) -> None:
    process = join(stage)
    stage.call("leave", "ada")
    die(stage, process)
    other = join(stage, "bob")
    die(stage, other)
    stage.clock.pass_time(2 * MINUTE)
    stage.call("sweep")
    stage.clock.pass_time(2 * HOUR)
    assert look(stage) == {}


def test_what_ran_before_the_machine_was_started_anew_is_gone(stage: Stage) -> None:
    join(stage)
    stage.clock.boot_name = "boot-2"
    assert look(stage) == {"ada": "died"}


def test_sessions_elsewhere_and_of_people_and_without_a_process_are_not_looked_at(stage: Stage) -> None:
    stage.call("join", stage.caller(process=(1, "t"), host="elsewhere"), name="eve")
    stage.call("join", stage.caller(), name="bare")
    join(stage, "sam", human=True)
    stage.clock.pass_time(DAY)
    assert stage.call("monitor.sessions", "system") == {"sessions": []}
    assert stage.call("monitor.teams", "system") == {"teams": ["crew"]}


def test_a_stopped_process_is_told_when_it_stays_so_and_when_it_goes_on(stage: Stage) -> None:
    process = join(stage)
    stage.prober.states[process] = "stopped"
    assert look(stage) == {}, "a moment is no news"
    stage.clock.pass_time(61 * SECOND)
    assert look(stage) == {"ada": "stopped"}
    stage.prober.states[process] = "running"
    assert look(stage) == {"ada": "well"}
    assert items(stage) == []
    assert len(items(stage, "resolved")) == 1


def test_a_closed_terminal_is_told_once_whatever_its_process_does(stage: Stage) -> None:
    join(stage, terminal=PANE)
    assert look(stage, terminal="lives") == {}
    assert look(stage, terminal="gone") == {"ada": "terminal-gone"}
    stage.clock.pass_time(MINUTE)
    stage.call("activity", "ada", kind="edit", target="x")
    assert look(stage, terminal="gone") == {}
    assert look(stage, terminal="") == {}, "a server that does not answer is no news"
    assert look(stage, terminal="lives") == {"ada": "well"}


def test_a_dialog_is_told_with_its_name_once_a_person_had_time(stage: Stage) -> None:
    join(stage)
    told_phase(stage, "ada", "blocked", "permission\x1b[31m")
    assert look(stage) == {}
    stage.clock.pass_time(61 * SECOND)
    assert look(stage) == {"ada": "blocked"}
    (subject,) = stage.subjects("user")
    assert subject == "ada: a dialog (permission) has waited 1m for a person"
    stage.clock.pass_time(20 * MINUTE)
    assert look(stage) == {}
    told_phase(stage, "ada", "blocked", "trust")
    stage.call("activity", "ada", kind="tool")
    stage.clock.pass_time(61 * SECOND)
    assert look(stage) == {"ada": "blocked"}, "another dialog"


def test_a_silent_holder_is_stuck_then_stalled_then_well(stage: Stage) -> None:
    join(stage)
    task = stage.call("task.add", title="T")["id"]
    stage.call("task.claim", "ada", id=task, ttl_ms=DAY)
    stage.clock.pass_time(15 * MINUTE)
    assert look(stage) == {}
    stage.clock.pass_time(1)
    assert look(stage) == {"ada": "stuck"}
    stage.clock.pass_time(10 * MINUTE)
    assert look(stage) == {}
    stage.clock.pass_time(6 * MINUTE)
    assert look(stage) == {"ada": "stalled"}
    stage.call("status", "ada", note="back")
    assert look(stage) == {"ada": "well"}
    assert monitored(stage) == ["stuck", "session.stalled", "session.well"]


def test_processor_time_is_a_sign_of_work(stage: Stage) -> None:
    join(stage)
    stage.call("status", "ada", note="", task="a long build")
    stage.clock.pass_time(HOUR)
    assert look(stage, cpu=90) == {}
    assert look(stage, cpu=1) == {"ada": "stalled"}


def test_whoever_begins_to_watch_takes_nothing_for_silence_or_movement(stage: Stage) -> None:
    join(stage)
    stage.call("status", "ada", note="", task="T")
    stage.clock.pass_time(16 * MINUTE)
    assert look(stage, cpu=None) == {}, "what it does is not known yet"
    assert look(stage) == {"ada": "stuck"}
    assert look(stage, cpu=None) == {}, "another watcher: what was told still holds"
    stage.call("activity", "ada", kind="tool")
    assert look(stage, cpu=None) == {"ada": "well"}


def test_a_stuck_session_that_a_sweep_told_of_is_no_second_event(stage: Stage) -> None:
    join(stage)
    stage.call("status", "ada", note="", task="T")
    stage.clock.pass_time(16 * MINUTE)
    assert stage.call("sweep")["stuck"] == 1
    assert look(stage) == {"ada": "stuck"}
    assert monitored(stage) == ["stuck"]
    assert len(stage.inbox("user")) == 1


def test_an_idle_agent_that_owes_an_answer_is_stalled_and_one_that_owes_none_is_not(stage: Stage) -> None:
    join(stage)
    join(stage, "bob")
    stage.send("bob", "ada", asks=False)
    stage.clock.pass_time(31 * MINUTE)
    assert look(stage) == {}
    stage.send("bob", "ada", asks=True)
    assert look(stage) == {"ada": "stalled"}


# --- who is told ------------------------------------------------------------------------------------------------------


def test_a_leader_that_lives_is_told_and_otherwise_the_person(build: Build) -> None:
    stage = build(leader="lead")
    first, boss = join(stage), join(stage, "lead")
    die(stage, first)
    look(stage)
    assert (stage.subjects("lead"), stage.subjects("user")) == (["ada: its process is gone"], [])
    die(stage, boss)
    look(stage)
    assert stage.subjects("user") == ["lead: its process is gone"], "nobody is told of its own end"
    die(stage, join(stage, "eve"))
    look(stage)
    assert len(stage.subjects("user")) == 2, "a dead leader reads nothing"


def test_none_writes_no_mail_but_the_log_and_the_item(build: Build) -> None:
    stage = build(monitor__action="none")
    die(stage, join(stage))
    assert look(stage) == {"ada": "died"}
    assert stage.inbox("user") == []
    assert monitored(stage) == ["session.died"]
    assert len(items(stage)) == 1


def test_a_nudge_speaks_to_the_quiet_one_once_and_tells_of_the_others(build: Build) -> None:
    stage = build(monitor__action="nudge")
    join(stage)
    stage.call("status", "ada", note="", task="T")
    stage.clock.pass_time(16 * MINUTE)
    look(stage)
    look(stage)
    assert [m["from"] for m in stage.inbox("ada")] == ["system"]
    assert stage.inbox("user") == []
    assert any("ada" in rung for rung in stage.bell.rung), "it is woken as by any mail"
    die(stage, join(stage, "bob"))
    look(stage)
    assert stage.subjects("user") == ["bob: its process is gone"], "the dead do not hear"


def test_respawn_is_no_action_yet(build: Build) -> None:
    with pytest.raises(errors.BadInput, match="respawn"):
        build(monitor__action="respawn")


# --- floods -----------------------------------------------------------------------------------------------------------


def crash_loop(stage: Stage, times: int, pause: int) -> None:
    for _ in range(times):
        die(stage, join(stage))
        look(stage)
        stage.clock.pass_time(pause)


def test_a_crash_loop_fills_no_mailbox(stage: Stage) -> None:
    crash_loop(stage, 40, 30 * SECOND)  # twenty minutes of it
    assert len(stage.inbox("user", limit=100)) == 2, "one in ten minutes"
    assert len(items(stage)) == 1
    assert items(stage, "resolved") == []
    assert len(stage.events("session.died")) == 40, "each is in the log"


def test_control_the_pause_between_mails_is_what_holds_the_flood(build: Build) -> None:
    stage = build(monitor__again_s=0)
    crash_loop(stage, 10, 30 * SECOND)
    assert len(stage.inbox("user", limit=100)) == 10


def test_another_finding_is_mailed_at_once(stage: Stage) -> None:
    process = join(stage)
    stage.call("status", "ada", note="", task="T")
    stage.clock.pass_time(16 * MINUTE)
    look(stage)
    die(stage, process)
    look(stage)
    assert len(stage.inbox("user")) == 2


def test_two_watchers_tell_it_once(stage: Stage) -> None:
    die(stage, join(stage))
    found = stage.call("monitor.sessions", "system")["sessions"]
    seen = [{"session": each["session"]} for each in found]
    for _ in range(2):
        stage.call("monitor.report", "system", seen=seen)
    assert monitored(stage) == ["session.died"]
    assert len(stage.inbox("user")) == 1


# --- another is asked -------------------------------------------------------------------------------------------------


@pytest.fixture
def crew(build: Build) -> Stage:
    stage = build(monitor__action="reroute")
    for name in ("carol", "bob"):
        join(stage, name, role="builder" if name == "bob" else "")
    stage.gone = join(stage, "ada", role="builder")  # type: ignore[attr-defined]
    return stage


def test_what_a_dead_agent_was_asked_goes_to_another_of_its_role(crew: Stage) -> None:
    asked = crew.send("carol", "ada", "How?", body="Tell me.", asks=True)
    crew.send("carol", "ada", "By the way", asks=False)
    die(crew, crew.gone)  # type: ignore[attr-defined]
    look(crew)
    (passed,) = crew.inbox("bob")
    assert (passed["from"], passed["subject"], passed["thread"]) == ("carol", "How?", asked["thread"])
    body = crew.call("read", "bob", id=passed["id"])["body"]
    assert body.startswith("(Passed on to you, the only builder: it was for ada, and its process is gone.")
    assert body.endswith("Tell me.")
    (receipt,) = crew.call("receipts", "carol", id=asked["id"])["recipients"]
    assert receipt["receipts"][-1]["stage"] == "rerouted"
    assert passed["id"] in receipt["receipts"][-1]["detail"]
    assert (
        "1 messages that asked something of it went to bob" in crew.call("read", id=crew.inbox("user")[0]["id"])["body"]
    )
    answer = crew.call("reply", "bob", id=passed["id"], body="So.")
    assert [each["name"] for each in answer["recipients"]] == ["carol"]
    crew.join("ada")
    assert crew.subjects("ada") == ["By the way"], "what another was asked is not asked of it again"


def test_nobody_else_of_the_role_and_no_role_are_said(crew: Stage) -> None:
    crew.send("carol", "ada", asks=True)
    crew.call("leave", "bob")
    die(crew, crew.gone)  # type: ignore[attr-defined]
    look(crew)
    assert "no other builder is here" in crew.call("read", id=crew.inbox("user")[0]["id"])["body"]
    crew.join("ada")
    assert len(crew.inbox("ada")) == 1, "it stays where it was"


def test_without_that_policy_mail_stays_where_it_is(stage: Stage) -> None:
    join(stage, "carol")
    join(stage, "bob", role="builder")
    process = join(stage, "ada", role="builder")
    stage.send("carol", "ada", asks=True)
    die(stage, process)
    look(stage)
    assert stage.inbox("bob") == []


def test_the_log_still_tells_every_mailbox(crew: Stage) -> None:
    crew.send("carol", "ada", asks=True)
    die(crew, crew.gone)  # type: ignore[attr-defined]
    look(crew)
    lines = [json.loads(audit.line(event)) for event in crew.events()]
    rebuilt = Rebuilt(lines).mail("ada", "2999")
    assert {id: each["state"] for id, each in rebuilt.items()} == {
        m["id"]: m["state"] for m in crew.inbox("ada", all=True)
    }


# --- it goes on -------------------------------------------------------------------------------------------------------


def successor(process: tuple[int, str]) -> dict[str, Any]:
    return {"successor": {"pid": process[0], "started": process[1]}}


def test_h18_a_session_that_died_goes_on_in_its_terminal_as_a_new_one(stage: Stage) -> None:
    process = stage.process()
    caller = stage.caller(process=process)
    before = stage.call("turn.start", caller, host="claude", host_id="s", name="ada", model="opus", terminal=PANE)
    stage.send(None, "ada")
    stage.call("turn.told", stage.caller("ada", lineage=(process,)), moment="prompt", upto=99)
    die(stage, process)
    heir = stage.process()
    assert look(stage, terminal="lives", **successor(heir)) == {"ada": "attached"}
    now = stage.call("whois", None, name="ada")
    assert (now["pid"], now["status"], now["model"]) == (heir[0], "active", "opus")
    assert now["session"] != before["session"]
    assert now["epoch"] == before["epoch"] + 1, "whatever is left of the old one is fenced"
    assert [way["channel"] for way in now["ways"]] == ["terminal"]
    assert stage.call("delivery.offer", "system", agent="ada")["count"] == 1, "it has seen nothing of its mail (H5)"
    assert stage.call("pending", stage.caller(lineage=(heir,)))["agent"] == "ada"
    assert stage.inbox("user") == [], "nobody need be told of a death that is over"
    assert look(stage, terminal="lives") == {}


def test_a_program_that_is_someone_already_is_left_alone(stage: Stage) -> None:
    process = join(stage, terminal=PANE)
    die(stage, process)
    heir = join(stage, "bob")
    assert look(stage, **successor(heir)) == {"ada": "died"}


@pytest.mark.parametrize("state", ["dead", "stopped", "unknown"])
def test_a_program_that_does_not_run_is_no_successor(stage: Stage, state: str) -> None:
    die(stage, join(stage, terminal=PANE))
    heir = stage.process(state)
    assert look(stage, **successor(heir)) == {"ada": "died"}


def test_a_live_session_has_no_successor(stage: Stage) -> None:
    process = join(stage, terminal=PANE)
    assert look(stage, **successor(stage.process())) == {}
    assert stage.call("whois", None, name="ada")["pid"] == process[0]


def test_it_can_be_switched_off(build: Build) -> None:
    stage = build(monitor__reattach=False)
    die(stage, join(stage, terminal=PANE))
    assert look(stage, **successor(stage.process())) == {"ada": "died"}


def test_a_death_that_was_told_is_over_when_it_goes_on(stage: Stage) -> None:
    die(stage, join(stage, terminal=PANE))
    look(stage)
    assert len(items(stage)) == 1
    assert look(stage, **successor(stage.process())) == {"ada": "attached"}
    assert items(stage) == []


# --- what is measured -------------------------------------------------------------------------------------------------


def test_measures_are_rows_that_change_only_when_they_do(stage: Stage) -> None:
    join(stage)
    before = stage.seq()
    assert look(stage, cpu=3, memory=200_000) == {}
    assert stage.seq() == before, "rows, not events"
    told = stage.call("whois", None, name="ada")
    assert (told["cpu"], told["memory"]) == (3, 200_000)
    seen = [{"session": told["session"], "cpu": 4, "memory": 201_000}]
    assert stage.call("monitor.news", "system", seen=seen)["sessions"] == []
    seen[0]["cpu"] = 80
    assert stage.call("monitor.news", "system", seen=seen)["sessions"] == [told["session"]]


def test_measures_belong_to_a_session(stage: Stage) -> None:
    join(stage)
    look(stage, cpu=3, memory=200_000)
    stage.join("ada", takeover=True)
    assert stage.call("whois", None, name="ada")["cpu"] is None
    look(stage, cpu=3, memory=200_000)
    assert stage.call("whois", None, name="ada")["cpu"] == 3


def test_what_is_wrong_is_seen_beside_a_name(stage: Stage) -> None:
    join(stage)
    told_phase(stage, "ada", "blocked", "trust")
    stage.clock.pass_time(2 * MINUTE)
    look(stage)
    (card,) = stage.call("who")["agents"]
    assert (card["finding"], card["phase"], card["gate"]) == ("blocked", "blocked", "trust")


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        {"terminal": "burning"},
        {"cpu": -1},
        {"cpu": "much"},
        {"memory": True},
        {"successor": {"pid": 0, "started": "x"}},
        {"successor": [1, 2]},
        {"successor": {"pid": "1", "started": "x"}},
    ],
)
def test_what_is_no_look_is_refused_and_leaves_nothing(stage: Stage, bad: dict[str, Any]) -> None:
    process = join(stage)
    die(stage, process)
    session = stage.call("whois", None, name="ada")["session"]
    stage.refused("monitor.report", "system", seen=[{"session": session, **bad}])


def test_sessions_that_are_not_there_are_passed_over(stage: Stage) -> None:
    assert stage.call("monitor.report", "system", seen=[{"session": "ses-none"}, {}]) == {"told": {}}
