"""The reader's side: expiry, reading, acknowledging, filters, replies, threads, handoffs, escalations."""

import pytest

from rookery.core import errors
from tests.support.stage import DAY, HOUR, MINUTE, Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    stage = build()
    stage.join_all("ada", "bob", "cat")
    return stage


def states(stage: Stage, id: str) -> dict[str, str]:
    return {each["name"]: each["state"] for each in stage.call("receipts", id=id)["recipients"]}


# --- expiry -----------------------------------------------------------------------------------------------------------


def test_expired_mail_is_not_shown_and_not_counted(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "Soon over", expires=stage.clock.wall + MINUTE)
    stage.clock.pass_time(MINUTE - 1)
    assert stage.subjects("bob") == ["Soon over"]
    stage.clock.pass_time(1)
    assert stage.subjects("bob") == []
    assert stage.call("pending", "bob")["total"] == 0
    assert stage.inbox("bob", all=True)[0]["state"] == "expired"
    assert states(stage, sent["id"]) == {"bob": "expired"}
    assert next(each for each in stage.call("who")["agents"] if each["name"] == "bob")["unread"] == 0
    assert stage.call("context", "bob")["text"] == ""
    assert stage.refused("ack", "bob", ids=[sent["id"]]).code == "MESSAGE_EXPIRED"


def test_a_calendar_that_jumps_expires_nothing(stage: Stage) -> None:
    stage.send("ada", "bob", "x", expires=stage.clock.wall + HOUR)
    stage.clock.jump(10 * DAY)
    assert stage.subjects("bob") == ["x"]
    stage.clock.jump(-20 * DAY)
    stage.clock.pass_time(HOUR)
    assert stage.subjects("bob") == []


def test_mail_in_work_does_not_expire(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "x", expires=stage.clock.wall + MINUTE)
    stage.call("ack", "bob", ids=[sent["id"]], state="processing")
    stage.clock.pass_time(HOUR)
    assert stage.call("sweep")["expired"] == 0
    stage.call("ack", "bob", ids=[sent["id"]])
    assert states(stage, sent["id"]) == {"bob": "completed"}


def test_a_sweep_writes_down_what_expired_once(stage: Stage) -> None:
    sent = stage.send("ada", ["bob", "cat"], "x", expires=stage.clock.wall + MINUTE)
    stage.clock.pass_time(MINUTE)
    assert stage.call("sweep")["expired"] == 2
    assert not any(stage.call("sweep").values())
    told = stage.call("receipts", id=sent["id"])["recipients"]
    assert [[receipt["stage"] for receipt in each["receipts"]] for each in told] == [["accepted", "expired"]] * 2


# --- reading ----------------------------------------------------------------------------------------------------------


def test_reading_marks_and_tells_the_sender(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "x")
    stage.bell.rung.clear()
    assert stage.call("read", "bob", id=sent["id"])["state"] == "read"
    assert stage.bell.rung == [{"ada"}]
    assert stage.subjects("bob") == []
    assert stage.subjects("bob", open=True) == ["x"]
    before = stage.seq()
    stage.call("read", "bob", id=sent["id"])
    assert stage.seq() == before


def test_peeking_leaves_no_trace(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "x")
    assert stage.call("read", "bob", id=sent["id"], peek=True)["state"] == "unread"
    assert stage.subjects("bob") == ["x"]


def test_mail_of_others_is_not_shown(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "Secret")
    for verb, args in (
        ("read", {"id": sent["id"]}), ("ack", {"ids": [sent["id"]]}), ("archive", {"ids": [sent["id"]]}),
        ("thread", {"id": sent["id"]}), ("receipts", {"id": sent["id"]}), ("reply", {"id": sent["id"], "body": "x"}),
    ):  # fmt: skip
        error = stage.refused(verb, "cat", **args)
        assert error.code == "NOT_YOURS", verb
        assert "Secret" not in str(error)
    assert stage.call("read", "ada", id=sent["id"])["subject"] == "Secret"
    assert stage.call("read", id=sent["id"])["subject"] == "Secret"  # the person sees everything
    assert states(stage, sent["id"]) == {"bob": "unread"}
    assert stage.refused("ack", "ada", ids=[sent["id"]]).code == "NOT_YOURS"


@pytest.mark.parametrize("id", ["", "MSG-", "MSG-000000000000", "../x", "a\x1b[31m", "%", "x" * 10_000])
def test_an_unknown_message(stage: Stage, id: str) -> None:
    for verb, args in (
        ("read", {"id": id}), ("ack", {"ids": [id]}), ("archive", {"ids": [id]}), ("thread", {"id": id}),
        ("receipts", {"id": id}), ("reply", {"id": id, "body": "x"}),
    ):  # fmt: skip
        error = stage.refused(verb, "bob", **args)
        assert error.code == "UNKNOWN_MESSAGE", verb
        assert len(error.message) < 200


def test_several_are_acknowledged_together_or_not_at_all(stage: Stage) -> None:
    ids = [stage.send("ada", "bob", str(n))["id"] for n in range(2)]
    stage.refused("ack", "bob", ids=[*ids, "MSG-nothing"])
    assert stage.subjects("bob") == ["0", "1"]
    stage.call("ack", "bob", ids=ids)
    assert stage.subjects("bob") == []


def test_the_life_of_a_message_in_receipts(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "x")
    stage.call("read", "bob", id=sent["id"])
    stage.call("ack", "bob", ids=[sent["id"]], state="processing")
    stage.call("ack", "bob", ids=[sent["id"]], state="failed", reason="tests are red")
    stage.call("ack", "bob", ids=[sent["id"]], state="processing")
    stage.call("ack", "bob", ids=[sent["id"]], reason="done")
    stage.call("archive", "bob", ids=[sent["id"]])
    (told,) = stage.call("receipts", "ada", id=sent["id"])["recipients"]
    assert [(r["stage"], r.get("detail")) for r in told["receipts"]] == [
        ("accepted", None), ("seen", None), ("processing", None), ("failed", "tests are red"), ("processing", None),
        ("acknowledged", "done"), ("archived", None),
    ]  # fmt: skip
    assert told["state"] == "archived"
    assert [e["type"] for e in stage.events() if e["type"].startswith("mail.")] == [
        "mail.read", "mail.processing", "mail.failed", "mail.processing", "mail.completed", "mail.archived",
    ]  # fmt: skip


def test_what_is_closed_can_not_be_reopened(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "x")
    stage.call("ack", "bob", ids=[sent["id"]])
    assert stage.refused("ack", "bob", ids=[sent["id"]], state="processing").code == "MESSAGE_CLOSED"
    stage.call("archive", "bob", ids=[sent["id"]])
    assert stage.refused("ack", "bob", ids=[sent["id"]], state="failed").code == "MESSAGE_CLOSED"


def test_only_what_was_dealt_with_is_archived(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "x")
    assert stage.refused("archive", "bob", ids=[sent["id"]]).code == "NOT_ARCHIVABLE"
    stage.call("ack", "bob", ids=[sent["id"]])
    assert stage.call("archive", "bob", completed=True)["messages"][0]["state"] == "archived"
    assert stage.refused("archive", "bob").code == "BAD_INPUT"


def test_an_unknown_state(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "x")
    assert "processing" in stage.refused("ack", "bob", ids=[sent["id"]], state="maybe").hint


def test_filters(stage: Stage) -> None:
    stage.send("ada", "bob", "one", tags=["api"], priority="high")
    middle = stage.send("cat", "bob", "two", type="notification", tags=["a_b", "API2"])
    stage.clock.pass_time(HOUR)
    stage.send("ada", "bob", "three", type="task", tags=['say "hi"\\', "axb"])
    assert stage.subjects("bob", tag="api") == ["one"]
    assert stage.subjects("bob", tag="a_b") == ["two"]
    assert stage.subjects("bob", tag="%") == []
    assert stage.subjects("bob", tag='say "hi"\\') == ["three"]
    assert stage.subjects("bob", types=["notification"]) == ["two"]
    assert stage.subjects("bob", types=["request", "task"]) == ["one", "three"]
    assert stage.subjects("bob", priority="high") == ["one"]
    assert stage.subjects("bob", sender="CAT") == ["two"]
    assert stage.subjects("bob", since=stage.clock.wall - MINUTE) == ["three"]
    assert stage.subjects("bob", after=middle["seq"]) == ["three"]
    assert stage.refused("inbox", "bob", sender="zed").code == "UNKNOWN_AGENT"
    assert isinstance(stage.refused("inbox", "bob", types=["x"]), errors.BadInput)
    assert isinstance(stage.refused("inbox", "bob", priority="x"), errors.BadInput)


def test_the_inbox_says_when_there_is_more(build: Build) -> None:
    stage = build(mail__inbox_limit=3)
    stage.join("ada")
    for number in range(4):
        stage.send("ada", "ada", str(number))
    told = stage.call("inbox", "ada")
    assert (len(told["messages"]), told["more"]) == (3, True)
    told = stage.call("inbox", "ada", limit=4)
    assert (len(told["messages"]), told["more"]) == (4, False)


@pytest.mark.parametrize("limit", [0, -1, 1_001])
def test_limits_out_of_range(stage: Stage, limit: int) -> None:
    sent = stage.send("ada", "bob")
    for verb, args in (("inbox", {}), ("thread", {"id": sent["id"]}), ("search", {"query": ["x"]})):
        assert isinstance(stage.refused(verb, "bob", limit=limit, **args), errors.BadInput), verb


def test_pending_counts(stage: Stage) -> None:
    for priority in ("low", "urgent", "urgent", "normal"):
        stage.send("ada", "bob", "x", priority=priority)
    assert stage.call("pending", "bob") == {
        "agent": "bob", "urgent": 2, "high": 0, "normal": 1, "low": 1, "total": 4,
    }  # fmt: skip


def test_the_prompt_context(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "Broken build", body="Look at it", priority="urgent")
    stage.send("ada", "bob", "Some day", priority="low")
    told = stage.call("context", "bob")
    assert sent["id"] in told["text"]
    assert "Broken build" in told["text"]
    assert "Some day" not in told["text"]
    assert (told["urgent"], told["low"], told["total"]) == (1, 1, 2)
    assert stage.call("pending", "bob")["total"] == 2  # looking is not reading


# --- replies and threads ----------------------------------------------------------------------------------------------


def test_a_reply_keeps_thread_priority_and_group(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "Question", priority="high", group="backend")
    answer = stage.call("reply", "bob", id=sent["id"], body="Answer")
    (message,) = stage.inbox("ada")
    assert {key: message[key] for key in ("subject", "thread", "reply_to", "priority", "group", "type", "asks")} == {
        "subject": "Re: Question", "thread": sent["id"], "reply_to": sent["id"], "priority": "high",
        "group": "backend", "type": "response", "asks": False,
    }  # fmt: skip
    again = stage.call("reply", "ada", id=answer["id"], body="Thanks")
    assert stage.inbox("bob")[-1]["subject"] == "Re: Question"
    assert [m["id"] for m in stage.call("thread", "bob", id=again["id"])["messages"]] == [
        sent["id"], answer["id"], again["id"],
    ]  # fmt: skip


def test_a_reply_answers_the_question(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "Question")
    answer = stage.call("reply", "bob", id=sent["id"], body="Answer")
    (told,) = stage.call("receipts", "ada", id=sent["id"])["recipients"]
    assert told["state"] == "read"
    assert [r["stage"] for r in told["receipts"]] == ["accepted", "seen", "answered"]
    assert told["receipts"][-1]["detail"] == answer["id"]


def test_a_reply_to_everyone(stage: Stage) -> None:
    sent = stage.send("ada", ["bob", "cat"], "Question")
    answer = stage.call("reply", "bob", id=sent["id"], body="Answer", everyone=True)
    assert {each["name"] for each in answer["recipients"]} == {"ada", "cat"}


def test_a_message_can_join_a_thread(stage: Stage) -> None:
    sent = stage.send("ada", "bob", "One")
    more = stage.send("ada", "bob", "Two", thread=sent["id"])
    assert more["thread"] == sent["id"]
    shown = stage.call("thread", "bob", id=sent["id"], limit=1)
    assert [m["subject"] for m in shown["messages"]] == ["Two"]
    assert stage.call("thread", "bob", id=sent["id"])["participants"] == ["ada", "bob"]


# --- handoffs ---------------------------------------------------------------------------------------------------------


def test_a_handoff_with_its_context(stage: Stage) -> None:
    sent = stage.call(
        "handoff", "ada", to=["bob"], subject="API", work_completed="Design", current_state="Ready",
        next_steps=["Build", "Test"], files_modified=["a.py"], files_created=["b.py"], blockers=["None"],
        dependencies=["c"], notes="Good luck", job_id="j1", state_file="STATE.md",
    )  # fmt: skip
    (message,) = stage.inbox("bob")
    assert (message["type"], message["asks"], message["id"]) == ("handoff", True, sent["id"])
    assert message["context"]["next_steps"] == ["Build", "Test"]
    assert message["context"]["job_id"] == "j1"
    assert message["attachments"] == ["a.py", "b.py"]
    assert "handoff" in message["tags"]
    for words in ("from ada to bob", "**Done:** Design", "- Build", "- a.py", "Good luck"):
        assert words in message["body"]


def test_handoff_templates(stage: Stage) -> None:
    stage.call("handoff", "ada", to=["bob"], subject="x", work_completed="Fix", files_modified=["a"], template="review")
    (message,) = stage.inbox("bob")
    assert message["context"]["current_state"] == "Ready for review"
    assert message["context"]["next_steps"]
    assert "review" in message["tags"]


def test_a_template_says_what_it_lacks(stage: Stage) -> None:
    error = stage.refused("handoff", "ada", to=["bob"], subject="x", template="implement")
    assert "work_completed, next_steps" in error.message
    assert "--work-completed" in error.hint or "--done" in error.hint


def test_an_own_template(build: Build) -> None:
    stage = build(templates={"ship": {"needs": ["notes"], "presets": {"current_state": "Green"}, "tags": ["ship"]}})
    stage.join_all("ada", "bob")
    stage.call("handoff", "ada", to=["bob"], subject="x", notes="Go", template="ship")
    (message,) = stage.inbox("bob")
    assert message["context"]["current_state"] == "Green"
    assert "ship" in message["tags"]
    error = stage.refused("handoff", "ada", to=["bob"], subject="x", template="shop")
    assert "ship" in error.hint


def test_a_handoff_needs_what_was_done(stage: Stage) -> None:
    assert "work_completed" in stage.refused("handoff", "ada", to=["bob"], subject="x").message


def test_a_handoff_of_an_unknown_escalation(stage: Stage) -> None:
    error = stage.refused("handoff", "ada", to=["bob"], subject="x", work_completed="y", related_escalations=["ESC-0"])
    assert isinstance(error, errors.UnknownName)
    raised = stage.call("escalate", "ada", title="Blocked")["escalation"]
    stage.call("handoff", "ada", to=["bob"], subject="x", work_completed="y", related_escalations=[raised])
    assert raised in stage.inbox("bob")[0]["body"]


# --- escalations ------------------------------------------------------------------------------------------------------


def test_an_escalation_is_closed_by_its_answer(build: Build) -> None:
    stage = build(leader="boss")
    stage.join_all("ada", "boss", "bob")
    raised = stage.call("escalate", "ada", title="No key", body="Need one", reason="access", priority="urgent")
    assert raised["escalation"].startswith("ESC-")
    assert raised["to"] == "boss"
    (message,) = stage.inbox("boss")
    assert (message["type"], message["priority"], message["asks"]) == ("escalation", "urgent", True)
    assert message["payload"] == {"escalation_id": raised["escalation"], "reason": "access", "level": "leader"}
    (listed,) = stage.call("escalations")["escalations"]
    assert (listed["id"], listed["state"], listed["by"], listed["title"]) == (
        raised["escalation"],
        "open",
        "ada",
        "No key",
    )
    answer = stage.call("reply", "boss", id=raised["id"], body="Here")
    assert answer["closed"] == raised["escalation"]
    (listed,) = stage.call("escalations")["escalations"]
    assert (listed["state"], listed["answer"]) == ("closed", answer["id"])
    again = stage.call("reply", "boss", id=raised["id"], body="And another")
    assert "closed" not in again
    assert [e["type"] for e in stage.events("escalation.open", "escalation.closed")] == [
        "escalation.open", "escalation.closed",
    ]  # fmt: skip


def test_only_an_answer_closes_it(stage: Stage) -> None:
    raised = stage.call("escalate", "ada", title="x", level="person")
    stage.call("ack", "user", ids=[raised["id"]])
    assert stage.call("escalations", state="open")["escalations"]
    assert stage.call("escalations", state="closed")["escalations"] == []


def test_its_own_author_does_not_close_it(stage: Stage) -> None:
    """A second thought is not an answer."""
    raised = stage.call("escalate", "ada", title="x", level="person")
    told = stage.call("reply", "ada", id=raised["id"], body="It also says ...")
    assert "closed" not in told
    assert stage.call("escalations", state="open")["escalations"]


def test_without_a_leader_it_goes_to_the_person(stage: Stage) -> None:
    assert stage.call("escalate", "ada", title="x")["to"] == "user"


def test_a_leader_escalates_to_the_person(build: Build) -> None:
    stage = build(leader="Boss")
    stage.join("boss")
    assert stage.call("escalate", "boss", title="x")["to"] == "user"
    assert stage.call("escalate", None, title="x")["to"] == "boss"


def test_an_escalation_does_not_strand_with_a_leader_who_is_not_there(build: Build) -> None:
    stage = build(leader="Ghost")
    stage.join("ada")
    sent = stage.call("escalate", "ada", title="x")
    assert [each["name"] for each in sent["recipients"]] == ["Ghost", "user"]
    assert build(team="other").call("escalate", None, title="x")["level"] == "person"


def test_an_escalation_is_read_and_answered_by_its_own_id(stage: Stage) -> None:
    id = stage.call("escalate", "ada", title="Which one?")["escalation"]
    assert stage.call("read", None, id=id)["subject"] == "Escalation: Which one?"
    assert stage.call("reply", None, id=id, body="The second.")["closed"] == id


def test_a_word_more_goes_to_those_who_got_the_first(stage: Stage) -> None:
    id = stage.send("ada", ["bob", "cat"], "First")["id"]
    more = stage.call("reply", "ada", id=id, body="And another thing")
    assert [each["name"] for each in more["recipients"]] == ["bob", "cat"]


@pytest.mark.parametrize(
    "wrong",
    [{"title": ""}, {"title": " \n "}, {"title": "x" * 501}, {"level": "god"}, {"priority": "x"}, {"body": "\0"}],
    ids=lambda wrong: f"{next(iter(wrong))}",
)
def test_a_bad_escalation(stage: Stage, wrong: dict[str, str]) -> None:
    assert isinstance(stage.refused("escalate", "ada", **{"title": "x", **wrong}), errors.BadInput)
