"""Delivery as verbs: what is due, who delivers, what is written down after it happened, and what is given up."""

import json
from typing import Any

import pytest

from rookery.core.delivery import KEEPER
from tests.support.stage import DAY, HOUR, MINUTE, SECOND, Build, Stage

PANE = {"kind": "tmux", "socket": "/run/s", "server": "1 2", "pane": "%1"}
ME, OTHER = "here:1:1", "here:2:2"


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.join("ada", program="claude", terminal=PANE)
    made.join("bob")
    return made


def due(stage: Stage, owner: str = ME) -> list[dict[str, Any]]:
    return stage.call("delivery.due", owner=owner)["due"]


def job(channel: str = "terminal", owner: str = ME, agent: str = "ada") -> dict[str, str]:
    return {"agent": agent, "channel": channel, "owner": owner}


def hand_over(stage: Stage, **more: str) -> dict[str, Any]:
    offered = stage.call("delivery.offer", agent="ada")
    return stage.call("delivery.done", **job(**more), shown=offered["shown"], upto=offered["upto"])


def fail(stage: Stage, reason: str = "injection-failed", **more: Any) -> dict[str, Any]:
    return stage.call("delivery.failed", **job(), reason=reason, **more)


def stages(stage: Stage, id: str, sender: str = "bob") -> list[tuple[str, str]]:
    (recipient,) = stage.call("receipts", sender, id=id)["recipients"]
    return [(each["stage"], each.get("channel", "")) for each in recipient["receipts"]]


# -- what is due -----------------------------------------------------------------------------------------------------


def test_mail_for_whoever_can_be_reached_is_due_until_it_was_handed_over(stage: Stage):
    assert due(stage) == []
    id = stage.send("bob", "ada", "Ready", body="Go on")["id"]
    (found,) = due(stage)
    assert {key: found[key] for key in ("agent", "channel", "program", "live", "waiting")} == {
        "agent": "ada", "channel": "terminal", "program": "claude", "live": True, "waiting": 1,
    }  # fmt: skip
    assert found["address"] == PANE
    assert "| Go on" in stage.call("delivery.offer", agent="ada")["text"]
    assert [word for word, _ in stages(stage, id)] == ["accepted"], "offered is not handed over (H2, H6)"
    assert hand_over(stage)["handed_over"] == [id]
    assert stages(stage, id)[-1] == ("handed-over", "terminal")
    assert due(stage) == []
    assert stage.inbox("ada")[0]["state"] == "unread", "typed for a program is not read by its model"


def test_whoever_has_no_way_is_not_due_and_costs_nothing(stage: Stage):
    stage.send("ada", "bob")
    assert stage.call("delivery.due", owner=ME) == {"due": [], "next_ms": None}


def test_a_send_rings_the_keeper_only_for_whom_it_can_reach(stage: Stage):
    stage.bell.rung.clear()
    stage.send("ada", "bob")
    assert KEEPER not in set().union(*stage.bell.rung)
    stage.send("bob", "ada")
    assert KEEPER in stage.bell.rung[-1]


def test_what_hooks_have_shown_is_not_due(stage: Stage):
    stage.send("bob", "ada")
    offered = stage.call("turn.offer", "ada", moment="after")
    assert due(stage)
    stage.call("turn.told", "ada", moment="after", shown=offered["shown"], upto=offered["upto"])
    assert due(stage) == [], "one cursor for hooks and keepers"


def test_whoever_left_is_not_woken(stage: Stage):
    stage.call("leave", "ada")
    stage.send("bob", "ada")
    assert due(stage) == []


def test_a_way_of_another_machine_or_boot_is_not_used_from_here(stage: Stage):
    stage.send("bob", "ada")
    assert due(stage)
    stage.clock.reboot("boot-2")
    assert due(stage) == []


def test_a_new_session_is_told_what_was_never_acknowledged(stage: Stage):
    """H5: the cursors are the session's."""
    stage.send("bob", "ada")
    hand_over(stage)
    stage.prober.states.clear()
    stage.join("ada", program="claude", terminal=PANE)
    assert [each["agent"] for each in due(stage)] == ["ada"]


def test_expired_read_and_archived_mail_is_not_due(stage: Stage):
    id = stage.send("bob", "ada")["id"]
    stage.call("read", "ada", id=id)
    assert due(stage) == []
    stage.send("bob", "ada", expires=stage.clock.wall + SECOND)
    assert due(stage)
    stage.clock.pass_time(2 * SECOND)
    assert due(stage) == []


@pytest.mark.parametrize(("rule", "plain", "asking"), [("all", 1, 1), ("urgent", 0, 1), ("off", 0, 0)])
def test_which_mail_wakes_is_one_setting_for_every_way(build: Build, rule: str, plain: int, asking: int):
    stage = build(hook__wake=rule)
    stage.join("ada", program="claude", terminal=PANE)
    stage.join("bob")
    stage.send("bob", "ada", "By the way", type="notification")
    assert len(due(stage)) == plain
    stage.send("bob", "ada", "May I?")
    assert len(due(stage)) == asking


# -- a burst ---------------------------------------------------------------------------------------------------------


def test_a_burst_is_one_text_and_every_message_has_its_receipt(stage: Stage):
    ids = [stage.send("bob", "ada", f"note {n}", priority="urgent" if n == 50 else "normal")["id"] for n in range(100)]
    (found,) = due(stage)
    assert found["waiting"] == 100
    offered = stage.call("delivery.offer", agent="ada")
    assert offered["count"] == 100
    assert offered["shown"][0] == ids[50], "urgent first"
    assert offered["shown"][1:] == ids[: len(offered["shown"]) - 1], "then in the team's order"
    done = hand_over(stage)
    assert done["announced"] == 100 - len(done["handed_over"])
    words = [stages(stage, id)[-1][0] for id in ids]
    assert (words.count("handed-over"), words.count("announced")) == (len(done["handed_over"]), done["announced"])
    assert due(stage) == []


# -- one owner -------------------------------------------------------------------------------------------------------


def test_h8_one_keeper_delivers_to_an_agent_at_a_time(stage: Stage):
    stage.send("bob", "ada")
    assert stage.call("delivery.own", **job()) == {"owned": True, "lease_ms": 30_000}
    assert stage.call("delivery.own", **job())["owned"], "whoever has it may keep it"
    assert not stage.call("delivery.own", **job(owner=OTHER))["owned"]
    assert due(stage, OTHER) == []
    stage.clock.pass_time(31 * SECOND)
    assert due(stage, OTHER), "not heard of for so long"
    assert stage.call("delivery.own", **job(owner=OTHER))["owned"]
    assert not stage.call("delivery.own", **job())["owned"]


def test_h8_whoever_lost_its_turn_still_tells_what_it_did_and_nothing_is_repeated(stage: Stage):
    id = stage.send("bob", "ada")["id"]
    stage.call("delivery.own", **job())
    stage.clock.pass_time(31 * SECOND)
    stage.call("delivery.own", **job(owner=OTHER))
    hand_over(stage)
    assert due(stage, OTHER) == []
    assert stage.call("delivery.offer", agent="ada")["text"] == "", "the other finds nothing left to put"
    assert [word for word, _ in stages(stage, id)] == ["accepted", "handed-over"]


def test_an_owner_has_a_name(stage: Stage):
    for owner in ("", "x" * 201):
        stage.refused("delivery.own", **job(owner=owner))


# -- tries -----------------------------------------------------------------------------------------------------------


def test_a_failed_try_is_on_the_way_and_waits_longer_each_time(stage: Stage):
    stage.send("bob", "ada")
    waits = [fail(stage, detail="the pane is gone\x1b[2J")["next_ms"] for _ in range(5)]
    assert waits == [5000, 10_000, 20_000, 30_000, 30_000]
    (way,) = stage.call("whois", "bob", name="ada")["ways"]
    assert (way["circuit"], way["tries"], way["reason"]) == ("open", 5, "injection-failed")
    assert "\x1b" not in way["detail"]
    assert [event["target"] for event in stage.events("delivery.opened")] == ["ada"]
    assert due(stage) == []
    stage.clock.pass_time(MINUTE)
    assert due(stage), "after a pause it is tried once"
    hand_over(stage)
    assert stage.call("whois", "bob", name="ada")["ways"][0]["circuit"] == "closed"
    assert stage.events("delivery.closed")


def test_a_busy_agent_opens_no_circuit_and_wears_no_message_out(stage: Stage):
    id = stage.send("bob", "ada")["id"]
    for reason in ("busy", "user-typing", "blocked") * 10:
        told = fail(stage, reason)
        assert (told["circuit"], told["dead"]) == ("closed", [])
    assert [word for word, _ in stages(stage, id)] == ["accepted"]


def test_twenty_failures_make_a_dead_letter_and_those_who_care_are_told(stage: Stage):
    id = stage.send("bob", "ada", "Please look")["id"]
    for _ in range(19):
        assert fail(stage)["dead"] == []
    late = stage.send("bob", "ada", "Later")["id"]
    assert fail(stage)["dead"] == [id], "the later one was tried once"
    assert stages(stage, id)[-1] == ("dead", "")
    assert [word for word, _ in stages(stage, late)] == ["accepted"]
    (letter,) = stage.call("dead", "bob")["letters"]
    assert (letter["id"], letter["to"], letter["attempts"], letter["state"]) == (id, "ada", 20, "dead")
    tried = stage.call("dead.show", "bob", id=id)["letters"][0]["tried"]
    assert len(tried) == 20
    assert {each["reason"] for each in tried} == {"injection-failed"}
    assert any(message["subject"] == "Not delivered: Please look" for message in stage.inbox("bob"))
    assert any("Not delivered: Please look" in message["subject"] for message in stage.inbox("user"))
    assert "Please look" in stage.subjects("ada"), "dead is not lost"
    assert stage.call("health")["status"] == "degraded"


def test_patience_ends_too(stage: Stage):
    id = stage.send("bob", "ada")["id"]
    fail(stage, "busy")
    stage.clock.pass_time(29 * MINUTE)
    assert fail(stage, "busy")["dead"] == []
    stage.clock.pass_time(2 * MINUTE)
    assert fail(stage, "busy")["dead"] == [id]


def test_what_an_old_session_suffered_is_not_held_against_the_new_one(stage: Stage):
    stage.send("bob", "ada")
    for _ in range(19):
        fail(stage)
    stage.prober.states.clear()
    stage.clock.pass_time(SECOND)
    stage.join("ada", program="claude", terminal=PANE)
    assert fail(stage)["dead"] == []


def test_a_program_that_came_to_rest_is_tried_at_once(stage: Stage):
    stage.call("turn.start", stage.caller(process=stage._joined["ada"]), host="claude", host_id="s1", terminal=PANE)
    stage.send("bob", "ada")
    fail(stage, "busy")
    assert due(stage) == []
    stage.clock.pass_time(SECOND)
    stage.call("turn.phase", "ada", phase="idle")
    assert due(stage)
    fail(stage, "session-not-found")
    assert due(stage) == [], "what failed for another reason is not helped by that"


# -- dead letters ----------------------------------------------------------------------------------------------------


def bury(stage: Stage, **more: Any) -> str:
    id = stage.send("bob", "ada", **more)["id"]
    for _ in range(20):
        fail(stage)
    stage.clock.pass_time(2 * MINUTE)
    return id


def test_a_dead_letter_wakes_nobody_until_it_is_resent(stage: Stage):
    id = bury(stage)
    assert due(stage) == []
    assert stage.call("dead.resend", "bob", id=id) == {"id": id, "resent": ["ada"]}
    assert [each["agent"] for each in due(stage)] == ["ada"]
    assert fail(stage)["dead"] == [], "it begins anew"
    assert stage.refused("dead.resend", "bob", id=id).code == "NOT_DEAD"


def test_a_dropped_letter_stays_in_its_mailbox_and_wakes_nobody(stage: Stage):
    id = bury(stage)
    assert stage.call("dead.drop", "bob", id=id) == {"id": id, "dropped": ["ada"]}
    assert due(stage) == []
    assert stage.call("dead", "bob")["letters"] == []
    assert [each["state"] for each in stage.call("dead", "bob", everything=True)["letters"]] == ["dropped"]
    assert id in [message["id"] for message in stage.inbox("ada")]


def test_a_dead_letter_goes_along_with_the_next_mail(stage: Stage):
    id = bury(stage)
    new = stage.send("bob", "ada", "New")["id"]
    assert set(hand_over(stage)["handed_over"]) == {id, new}
    assert [each["state"] for each in stage.call("dead", "bob", everything=True)["letters"]] == ["reached"]


def test_no_letter_is_told_of_as_such(stage: Stage):
    id = stage.send("bob", "ada")["id"]
    for verb in ("dead.show", "dead.resend", "dead.drop"):
        assert stage.refused(verb, "bob", id=id).code == "UNKNOWN_LETTER"


def test_a_notice_of_a_dead_letter_that_dies_itself_is_told_to_nobody(stage: Stage):
    """No echo: mail of the system asks for nothing, and the system is told nothing."""
    stage.prober.states.clear()
    stage.join("bob", program="claude", terminal=PANE)
    bury(stage)
    assert "Not delivered: Hello" in stage.subjects("bob")
    before = len(stage.events("message"))
    for _ in range(25):
        stage.call("delivery.failed", **job(agent="bob"), reason="session-not-found")
    assert len(stage.events("message")) == before


# -- up the chain ----------------------------------------------------------------------------------------------------


def test_unanswered_mail_goes_to_the_leader_and_then_to_the_person(build: Build):
    stage = build(leader="lea")
    stage.join_all("lea", "ada", "bob")
    id = stage.send("bob", "ada", "May I?")["id"]
    stage.send("bob", "ada", "By the way", type="notification")
    assert not stage.call("due")["unanswered"]
    stage.clock.pass_time(HOUR + SECOND)
    assert stage.call("due")["unanswered"]
    (raised,) = stage.call("chase")["escalated"]
    (told,) = stage.inbox("lea")
    assert id in told["body"]
    assert told["payload"]["escalation_id"] == raised
    assert stage.call("chase")["escalated"] == [], "once"
    stage.clock.pass_time(HOUR + SECOND)
    assert len(stage.call("chase")["escalated"]) == 1, "the leader did not answer either"
    assert len(stage.inbox("user")) == 1
    stage.clock.pass_time(HOUR + SECOND)
    assert stage.call("chase")["escalated"] == [], "nobody stands above the person"


@pytest.mark.parametrize("deed", ["reply", "ack"])
def test_what_was_answered_or_dealt_with_goes_nowhere(build: Build, deed: str):
    stage = build()
    stage.join_all("ada", "bob")
    id = stage.send("bob", "ada", "May I?")["id"]
    stage.call("reply", "ada", id=id, body="Yes") if deed == "reply" else stage.call("ack", "ada", ids=[id])
    stage.clock.pass_time(HOUR + SECOND)
    assert stage.call("chase")["escalated"] == []


def test_nothing_is_chased_that_is_older_than_a_day_or_when_it_is_switched_off(build: Build):
    late, off = build(), build(mail__answer_s=0)
    for stage in (late, off):
        stage.join_all("ada", "bob")
        stage.send("bob", "ada", "May I?")
    late.clock.pass_time(DAY + HOUR + SECOND)
    off.clock.pass_time(HOUR + SECOND)
    assert late.call("chase")["escalated"] == []
    assert not off.call("due")["unanswered"]


def test_a_long_log_without_questions_is_passed_over(stage: Stage):
    for _ in range(250):
        stage.call("status", "ada", note="busy")
    assert stage.call("due")["unanswered"], "the cursor has to move"
    stage.call("chase")
    assert not stage.call("due")["unanswered"]


# -- ways of the settings --------------------------------------------------------------------------------------------


def test_ways_of_the_settings_come_and_go(build: Build):
    first = build(reach={"eve": {"command": ["/bin/true"], "webhook": "http://127.0.0.1:1/x"}})
    assert sorted(first.call("delivery.ways")["ways"]) == [["eve", "command"], ["eve", "webhook"]]
    answered = first.send(None, "eve")
    assert answered["recipients"][0]["how"] == "a command is run for it, once `rook up` runs; until then it waits"
    (found,) = due(first)
    assert (found["channel"], found["address"], found["live"]) == ("command", {"argv": ["/bin/true"]}, False)
    later = Stage(first.store.location, store=first.store, clock=first.clock)
    assert later.call("delivery.ways")["ways"] == []
    assert due(later) == []


def test_a_person_is_notified_by_a_command(build: Build):
    stage = build(delivery__notify=["notify-send"])
    stage.join("ada")
    stage.call("delivery.ways")
    stage.send("ada", "user", "Look at this")
    (found,) = due(stage)
    assert (found["agent"], found["channel"]) == ("user", "notify")
    offered = stage.call("delivery.offer", agent="user")
    done = {"shown": offered["shown"], "upto": offered["upto"]}
    stage.call("delivery.done", **job("notify", agent="user"), **done)
    assert due(stage) == [], "who never had a session has cursors too"


def test_wake_forgets_what_was_and_tries_at_once(stage: Stage):
    stage.send("bob", "ada")
    for _ in range(6):
        fail(stage)
    assert due(stage) == []
    told = stage.call("wake", "bob", name="ada")
    assert (told["waiting"], told["ways"][0]["circuit"]) == (1, "closed")
    assert due(stage)


def test_wrong_words_are_refused(stage: Stage):
    stage.refused("delivery.failed", **job(), reason="because")
    stage.refused("delivery.failed", **job("webhook"), reason="busy")
    stage.refused("delivery.done", **job(), shown=["x"] * 21, upto=1)
    stage.refused("delivery.due", owner=ME, agent="nobody")
    assert json.dumps(due(stage)) == "[]"


# -- what senders ask for besides ------------------------------------------------------------------------------------


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize(("asked", "fact"), [("clear_before", "clear"), ("interrupt", "interrupt")])
def test_what_acts_on_an_agent_happens_when_the_sender_asks_and_the_settings_allow(
    build: Build, asked: str, fact: str, allowed: bool
):
    setting = {"clear_before": "clear_before", "interrupt": "delivery__interrupt"}[asked]
    stage = build(**{setting: allowed})
    stage.join("ada", program="claude", terminal=PANE)
    stage.join("bob")
    stage.send("bob", "ada", "first")
    assert not due(stage)[0][fact], "nobody asked"
    told = stage.send("bob", "ada", "second", **{asked: True})
    assert due(stage)[0][fact] == allowed
    assert bool(told.get("notes")) != allowed, "that it is off is told"


@pytest.mark.parametrize("asked", [True, False])
def test_a_busy_program_is_left_to_its_hooks_unless_it_is_to_be_interrupted(build: Build, asked: bool):
    stage = build(delivery__interrupt=True)
    stage.join("ada", program="claude", terminal=PANE)
    stage.join("bob")
    stage.call("turn.start", stage.caller(process=stage._joined["ada"]), host="claude", host_id="s", terminal=PANE)
    stage.call("turn.phase", "ada", phase="busy")
    stage.send("bob", "ada", "now", interrupt=asked)
    assert [each["channel"] for each in due(stage)] == (["terminal"] if asked else [])


# -- proofs and files ------------------------------------------------------------------------------------------------


def test_a_long_message_is_named_as_a_file_and_can_be_made_again(stage: Stage):
    id = stage.send("bob", "ada", "Long", body="line\x1b[2J\n" * 2000)["id"]
    offered = stage.call("delivery.offer", agent="ada", file="@/home/letters/{id}.md")
    assert offered["files"] == [id]
    assert f"@/home/letters/{id}.md or `rook read {id}`" in offered["text"]
    made = stage.call("delivery.letter", agent="ada", id=id)["text"]
    assert made.count("\n| line\n") + made.count("| line\n| ") >= 1
    assert all(line.startswith(("| ", "Rookery: ", "Lines that begin")) or not line for line in made.split("\n"))
    assert "\x1b" not in made
    stage.refused("delivery.letter", agent="bob", id=id)
    short = stage.send("bob", "ada", "Short")["id"]
    assert short not in stage.call("delivery.offer", agent="ada", file="@{id}")["files"]


def test_what_a_record_shows_is_seen_once_and_only_after_it_was_handed_over(stage: Stage):
    id = stage.send("bob", "ada")["id"]
    assert stage.call("delivery.seen", agent="ada", ids=[id])["seen"] == []
    hand_over(stage)
    assert stage.call("delivery.seen", agent="ada", ids=[id, id])["seen"] == [id]
    assert stage.call("delivery.seen", agent="ada", ids=[id])["seen"] == []
    assert stages(stage, id) == [("accepted", ""), ("handed-over", "terminal"), ("seen", "transcript")]
    stage.refused("delivery.seen", agent="ada", ids=["x"] * 21)


# -- what whoever is asked can do about it ------------------------------------------------------------------------


def test_an_answer_to_what_the_system_put_up_goes_to_whoever_asked(build: Build):
    stage = build(leader="lea")
    stage.join_all("lea", "ada", "bob")
    stage.send("bob", "ada", "May I?", body="Drop the table?")
    stage.clock.pass_time(HOUR + SECOND)
    (raised,) = stage.call("chase")["escalated"]
    (told,) = stage.inbox("lea")
    assert "| Drop the table?" in told["body"], "whoever is asked need not open another's mailbox"
    answered = stage.call("reply", "lea", id=raised, body="No")
    assert [each["name"] for each in answered["recipients"]] == ["bob"]
    assert [each["state"] for each in stage.call("escalations")["escalations"]] == ["closed"]


def test_a_letter_that_dies_again_is_told_to_its_sender_and_not_put_up_again(stage: Stage):
    id = bury(stage)
    stage.clock.pass_time(1)
    stage.call("dead.resend", "bob", id=id)
    stage.clock.pass_time(1)
    for _ in range(19):
        assert fail(stage)["dead"] == [], "it begins anew"
    assert fail(stage)["dead"] == [id]
    assert [each["attempts"] for each in stage.call("dead", "bob")["letters"]] == [20]
    assert len(stage.call("escalations")["escalations"]) == 1


def test_whoever_left_is_reached_by_what_needs_no_session(build: Build):
    stage = build(reach={"ada": {"command": ["/bin/true"]}})
    stage.join("ada", program="claude", terminal=PANE)
    stage.join("bob")
    stage.call("delivery.ways")
    stage.call("leave", "ada")
    told = stage.send("bob", "ada")["recipients"][0]
    assert "a command is run for it" in told["how"]
    assert [each["channel"] for each in due(stage)] == ["command"]


def test_wake_tells_whether_anyone_delivers(stage: Stage):
    stage.send("bob", "ada")
    assert not stage.call("wake", "bob", name="ada")["kept"]
    stage.bell.waiting[KEEPER] = 1
    assert stage.call("wake", "bob", name="ada")["kept"]
