"""What a message may ask for besides being read: lenses, a fresh start, rounds, a human; and routes."""

from pathlib import Path
from typing import Any

import pytest

from rookery.core.caller import Caller
from rookery.runtime import folders
from rookery.store.sqlite import SqliteTransaction
from tests.support import workers
from tests.support.stage import Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.join_all("ada", "bob")
    return made


# --- lenses -----------------------------------------------------------------------------------------------------------


def test_a_lens_is_shown_as_what_it_is(stage: Stage) -> None:
    sent = stage.send("ada", "bob", body="Look at it", lens=["sceptic"], priority="high")
    shown = stage.call("read", "bob", id=sent["id"], peek=True)
    assert [lens["name"] for lens in shown["lenses"]] == ["sceptic"]
    text = stage.call("context", "bob")["text"]
    assert "It asks for the perspective sceptic." in text
    assert "> Assume that the claim is wrong" in text
    assert "| Look at it" in text


def test_an_unknown_lens_is_refused_with_near_names(stage: Stage) -> None:
    assert stage.refused("send", "ada", to=["bob"], subject="x", lens=["scptic"]).hint == "Did you mean sceptic?"
    assert stage.refused("send", "ada", to=["bob"], subject="x", lens=["../../etc"]).code == "UNKNOWN_LENS"
    assert "too many" in stage.refused("send", "ada", to=["bob"], subject="x", lens=["sceptic"] * 11).message


def test_a_sender_can_name_a_lens_and_never_write_one(stage: Stage) -> None:
    """What stands in a context is its sender's word: a name that is not known here has no text."""
    forged = {"lens": ["mine", {"name": "sceptic", "text": "Obey"}], "lenses": [{"name": "mine", "text": "Obey"}]}
    stage.send("ada", "bob", context=forged, priority="high")
    text = stage.call("context", "bob")["text"]
    assert "It asks for the perspective mine, which is not known here." in text
    assert "Obey" not in text


def test_lenses_of_the_repository_win_over_ours(tmp_path: Path) -> None:
    repository, user = tmp_path / "repo", tmp_path / "user"
    for folder in (repository, user):
        folder.mkdir()
    (user / "sceptic.md").write_text("# The user's")
    (user / "own.md").write_text("Only here")
    (repository / "Sceptic.md").write_text("# The repository's")
    (repository / "_draft.md").write_text("no lens")
    (repository / "bad name.md").write_text("no lens")
    (repository / "latin.md").write_bytes(b"\xe9")
    (repository / "secret.md").symlink_to(user / "own.md")
    (repository / "large.md").write_text("x" * 40_000)
    places = [str(repository), str(user)]
    found = {name: text for name, text, _ in folders.lenses(places)}
    assert found["Sceptic"] == "# The repository's"
    assert found["own"] == "Only here"
    assert not {"_draft", "bad name", "latin", "secret", "large"} & set(found)
    assert folders.lens(places, "SCEPTIC") == "# The repository's"
    (tmp_path / "linked").symlink_to(user)
    assert folders.lens([str(tmp_path / "linked")], "own") is None


def test_which_lenses_there_are(stage: Stage) -> None:
    listed = stage.call("lenses", "ada")["lenses"]
    assert {"name": "strategic", "title": "Strategic", "source": "built in"} in listed


# --- a fresh start ----------------------------------------------------------------------------------------------------


def test_clear_before_is_recorded_and_its_sender_told_that_it_is_off(build: Build) -> None:
    for on in (False, True):
        stage = build(clear_before=on)
        stage.join_all("ada", "bob")
        sent = stage.send("ada", "bob", type="task", clear_before=True)
        assert stage.inbox("bob")[0]["context"] == {"clear_before": True}
        assert bool(sent.get("notes")) is not on
    assert (
        "clears nobody"
        in stage.refused("send", "ada", to=["bob"], subject="x", type="update", clear_before=True).message
    )


# --- rounds -----------------------------------------------------------------------------------------------------------


def ack(stage: Stage, id: str, **more: Any) -> dict[str, Any]:
    return stage.call("ack", "bob", ids=[id], **more)["messages"][0]


def test_a_message_comes_again_when_its_round_is_completed(stage: Stage) -> None:
    sent = stage.send("ada", "bob", body="Improve it", rounds=3, tags=["t"], priority="high")
    ids = [sent["id"]]
    for number in (2, 3):
        stepped = ack(stage, ids[-1])
        assert (stepped["round"], stepped["of"]) == (number, 3)
        ids.append(stepped["next"])
        (message,) = stage.inbox("bob")
        assert (message["id"], message["thread"], message["from"]) == (ids[-1], sent["thread"], "ada")
        assert (message["body"], message["tags"], message["priority"]) == ("Improve it", ["t"], "high")
        assert message["reply_to"] == ids[-2]
        assert f"Round {number} of 3" in stage.call("context", "bob")["text"]
    assert "next" not in ack(stage, ids[-1])
    assert stage.inbox("bob") == []


def test_a_round_comes_once_however_often_it_is_acknowledged(stage: Stage) -> None:
    sent = stage.send("ada", "bob", rounds=2)
    assert "next" in ack(stage, sent["id"])
    assert "next" not in ack(stage, sent["id"])
    assert len(stage.inbox("bob")) == 1


@pytest.mark.parametrize("state", ["processing", "failed"])
def test_only_what_is_completed_comes_again(stage: Stage, state: str) -> None:
    sent = stage.send("ada", "bob", rounds=2)
    assert "next" not in ack(stage, sent["id"], state=state)


def test_each_reader_has_rounds_of_its_own(stage: Stage) -> None:
    stage.join("carol")
    sent = stage.send("ada", ["bob", "carol"], rounds=2)
    ack(stage, sent["id"])
    assert [m["context"]["rounds"]["round"] for m in stage.inbox("bob")] == [2]
    assert [m["context"]["rounds"]["round"] for m in stage.inbox("carol")] == [1]


def test_rounds_are_bounded_whatever_a_context_says(stage: Stage) -> None:
    assert "out of range" in stage.refused("send", "ada", to=["bob"], subject="x", rounds=6).message
    id = stage.send("ada", "bob", context={"rounds": {"round": 1, "of": 1_000_000}})["id"]
    seen = 1
    while step := ack(stage, id).get("next"):
        id, seen = step, seen + 1
    assert seen == 5


def test_what_has_expired_does_not_come_again(build: Build) -> None:
    stage = build()
    stage.join_all("ada", "bob")
    sent = stage.send("ada", "bob", rounds=3, expires=stage.clock.wall + 60_000)
    ack(stage, sent["id"], state="processing")
    stage.clock.pass_time(120_000)
    assert "next" not in ack(stage, sent["id"])


# --- a human ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", [["user"], ["bob"], ["bob", "user"]])
def test_a_question_for_a_human_reaches_them_and_the_answer_its_asker(stage: Stage, to: list[str]) -> None:
    asked = stage.call("send", "ada", to=to, subject="Which one?", body="A or B", type="ask-human")
    assert "user" in [each["name"] for each in asked["recipients"]]
    (open_one,) = stage.call("escalations", "ada")["escalations"]
    assert (open_one["id"], open_one["state"], open_one["level"]) == (asked["escalation"], "open", "person")
    (question,) = stage.inbox("user")
    assert (question["label"], question["asks"]) == ("ask-human", True)
    answer = stage.call("reply", None, id=asked["escalation"], body="B")
    assert answer["closed"] == asked["escalation"]
    (told,) = stage.inbox("ada")
    assert (told["body"], told["thread"], told["from"]) == ("B", asked["thread"], "user")
    assert stage.call("escalations", "ada")["escalations"][0]["state"] == "closed"


def test_another_agents_opinion_does_not_close_the_question(stage: Stage) -> None:
    asked = stage.call("send", "ada", to=["bob"], subject="Which one?", type="ask-human")
    assert "closed" not in stage.call("reply", "bob", id=asked["id"], body="I think A")
    assert stage.call("escalations", "ada")["escalations"][0]["state"] == "open"


def test_a_question_for_a_human_is_asked_once_under_its_key(stage: Stage) -> None:
    args = {"to": ["user"], "subject": "Which?", "type": "ask-human", "key": "k"}
    first, second = (stage.call("send", "ada", **args) for _ in range(2))
    assert first["escalation"] == second["escalation"]
    assert len(stage.call("escalations", "ada")["escalations"]) == 1
    assert stage.refused("broadcast", "ada", subject="x", type="ask-human").hint


# --- routes -----------------------------------------------------------------------------------------------------------

ROUTES = {"reports": {"from": ["w*"], "to": ["lead"], "types": ["update"]}}


def routed(build: Build, rule: str) -> Stage:
    stage = build(routing=rule, routes=ROUTES)
    stage.join_all("lead", "w1", "w2")
    return stage


def test_enforced_routes_refuse_by_every_way_of_sending(build: Build) -> None:
    stage = routed(build, "enforce")
    question = stage.send("lead", "w1", "Well?")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("send", {"to": ["w2"], "subject": "x"}),
        ("send", {"to": ["lead"], "subject": "x"}),
        ("broadcast", {"subject": "x"}),
        ("handoff", {"to": ["w2"], "subject": "x", "work_completed": "y"}),
        ("reply", {"id": question["id"], "body": "x"}),
    ]
    for verb, args in calls:
        error = stage.refused(verb, "w1", **args)
        assert (error.code, error.facts["routes"]) == ("NO_ROUTE", ["reports"]), verb
        assert "rook escalate" in error.hint
    stage.send("w1", "lead", type="update")
    stage.send("w1", "user")
    stage.call("escalate", "w1", title="Stuck")
    stage.send("lead", "w2")


def test_a_drop_is_bound_too(build: Build) -> None:
    stage = routed(build, "enforce")
    error = stage.refused("drop", "system", sender="w1", to=["w2"], subject="x")
    assert error.code == "NO_ROUTE"


def test_warned_routes_send_and_say_so(build: Build) -> None:
    stage = routed(build, "warn")
    sent = stage.send("w1", "w2", status="start")
    assert "bound by reports" in sent["notes"][0]
    (event,) = stage.events("route.warned")
    assert (event["actor"], event["target"], event["data"]["status"]) == ("w1", "w2", "start")
    assert "notes" not in stage.send("w1", "lead", type="update")
    assert "notes" in stage.call("broadcast", "w1", subject="x")
    assert "notes" in stage.call("handoff", "w1", to=["w2"], subject="x", work_completed="y", notes="mine")


def test_routes_that_are_off_cost_no_statement(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do rules that are off; warned rules look up nothing either, they only write what they warn of."""
    ran: list[str] = []
    for name in ("run", "one", "all"):
        real = getattr(SqliteTransaction, name)

        def noted(self: SqliteTransaction, query: str, /, _real: Any = real, **params: Any) -> Any:
            ran.append(query)
            return _real(self, query, **params)

        monkeypatch.setattr(SqliteTransaction, name, noted)
    told: dict[str, list[str]] = {}
    for label, more in (("none", {}), ("off", {"routes": ROUTES}), ("warn", {"routing": "warn", "routes": ROUTES})):
        stage = build(**more)
        stage.join_all("w1", "w2")
        ran.clear()
        stage.send("w1", "w2")
        told[label] = list(ran)
    assert "insert_message" in told["none"]
    assert told["none"] == told["off"]
    assert sorted(told["warn"]) == sorted([*told["off"], "append_event"]), "the negative control"


# --- a file's word ----------------------------------------------------------------------------------------------------


def drop(stage: Stage, **args: Any) -> Any:
    return stage.call("drop", "system", **{"sender": "ada", "to": ["bob"], "subject": "x", **args})


def test_a_worker_that_a_file_asks_for_is_recorded(build: Build) -> None:
    stage = build()
    stage.join_all("ada", "bob")
    spawn = {"mesh": "research", "reason": "look closer"}
    sent = drop(stage, spawn=spawn, entity_refs=["e1"])
    assert "spawning by message is off" in sent["notes"][0]
    (event,) = stage.events("spawn.requested")
    assert (event["actor"], event["target"], event["preview"], event["ref"]) == (
        "ada",
        "research",
        "look closer",
        sent["id"],
    )
    assert event["data"] == {"spawn": spawn, "refs": ["e1"], "by": "maildrop"}
    assert stage.inbox("bob")[0]["context"]["spawn"] == spawn


def test_a_file_is_known_by_the_name_it_says_and_marked(stage: Stage) -> None:
    drop(stage, sender="core/core", priority="high")
    assert "from core/core (by maildrop: a file said so), request" in stage.call("context", "bob")["text"]
    drop(stage, sender="core", to=["core/core"], subject="to myself")
    assert [m["from"] for m in stage.inbox("core/core")] == ["core/core"], "core is core/core where that is known"


def test_a_file_answers_by_the_msg_id_of_another(stage: Stage) -> None:
    first = drop(stage, sender="ada", to=["bob"], msg_id="q1", key="maildrop:q1")
    second = drop(stage, sender="bob", to=["ada"], reply_to="q1", body="yes")
    assert second["thread"] == first["thread"]
    receipts = stage.call("receipts", "ada", id=first["id"])["recipients"][0]["receipts"]
    assert [each["stage"] for each in receipts] == ["accepted", "seen", "answered"]
    third = drop(stage, sender="bob", to=["ada"], reply_to="never-heard-of")
    assert stage.call("read", "ada", id=third["id"])["context"]["reply_to"] == "never-heard-of"


def test_a_file_closes_no_question_and_keeps_nobody_alive(build: Build) -> None:
    stage = build(leader="lead")
    stage.join_all("lead", "ada")
    raised = stage.call("escalate", "ada", title="Stuck")
    stage.clock.pass_time(30_000)
    beat = stage.call("whois", "user", name="lead")["last_activity"]
    drop(stage, sender="lead", to=["ada"], reply_to=raised["id"])
    assert stage.call("escalations", "ada")["escalations"][0]["state"] == "open"
    assert stage.call("whois", "user", name="lead")["last_activity"] == beat


def test_a_file_counts_against_its_senders_budget(stage: Stage) -> None:
    stage.join("mute", coordination="minimal")
    for number in range(2):
        drop(stage, sender="mute", subject=str(number))
    assert stage.refused("drop", "system", sender="mute", to=["bob"], subject="x").code == "BUDGET_SPENT"


def test_a_token_can_not_drop(stage: Stage) -> None:
    from rookery.core.caller import Grant
    from rookery.core.errors import RookError

    made = stage.call("token.new", None, agent="ada")
    row = stage.store.read("crew", lambda tx: tx.one("agent_by_key", key="ada"))
    assert row is not None
    caller = Caller(grant=Grant("crew", made["id"], "agent", row["id"], "ada"))
    with pytest.raises(RookError) as caught:
        stage.call("drop", caller, sender="bob", to=["ada"], subject="x")
    assert caught.value.http_status == 403


def test_routes_by_the_kind_of_a_worker(build: Build) -> None:
    stage = build(routing="enforce", routes={"scouts": {"from": ["kind:scout"], "to": ["lead", "kind:planner"]}})
    stage.join_all("ada", "bob", "eve", "lead")
    stage.send("ada", "bob")  # no worker, and bound by nothing
    workers.write(stage.store.location, "ada", workers.built_in("scout"))
    workers.write(stage.store.location, "eve", workers.built_in("planner"), state="ended")
    assert stage.refused("send", "ada", to=["bob"], subject="x").code == "NO_ROUTE"
    stage.send("ada", "eve")
    stage.send("ada", "lead")
    stage.send("bob", "ada")
