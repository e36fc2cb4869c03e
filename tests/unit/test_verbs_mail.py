"""Sending: what a message carries, what is refused, and what its sender is told."""

import json
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.core import errors, mail
from rookery.service import post
from tests.support.stage import DAY, HOUR, SECOND, Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    stage = build()
    stage.join_all("ada", "bob", "cat")
    return stage


def states(stage: Stage, id: str) -> dict[str, str]:
    return {each["name"]: each["state"] for each in stage.call("receipts", id=id)["recipients"]}


# --- send -------------------------------------------------------------------------------------------------------------


def test_everything_a_message_carries_comes_back(stage: Stage) -> None:
    sent = stage.send(
        "ada", "bob", "The API", body="Line 1\nLine 2 \u00e9\U0001f680", type="notification", priority="urgent",
        payload={"a": [1, None, {"b": "c"}]}, context={"job": "j"}, attachments=["docs/api.md"], tags=["api", "v1"],
        expires=stage.clock.wall + HOUR, asks=True, group="backend",
    )  # fmt: skip
    (message,) = stage.inbox("bob")
    told = {key: message[key] for key in (
        "id", "seq", "from", "to", "type", "priority", "subject", "body", "payload", "context", "attachments", "tags",
        "asks", "group", "thread", "reply_to", "state",
    )}  # fmt: skip
    assert told == {
        "id": sent["id"], "seq": sent["seq"], "from": "ada", "to": "bob", "type": "notification", "priority": "urgent",
        "subject": "The API", "body": "Line 1\nLine 2 \u00e9\U0001f680", "payload": {"a": [1, None, {"b": "c"}]},
        "context": {"job": "j"}, "attachments": ["docs/api.md"], "tags": ["api", "v1"], "asks": True,
        "group": "backend", "thread": sent["id"], "reply_to": None, "state": "unread",
    }  # fmt: skip
    assert message["created_at"].endswith("Z")
    assert message["expires_at"].endswith("Z")


def test_the_answer_of_a_send(stage: Stage) -> None:
    sent = stage.send("ada", ["bob", "cat"])
    assert sent["status"] == "accepted"
    assert sent["thread"] == sent["id"]
    assert [each["name"] for each in sent["recipients"]] == ["bob", "cat"]
    assert all(each["how"] for each in sent["recipients"])


def test_several_recipients_share_one_message(stage: Stage) -> None:
    before = stage.seq()
    sent = stage.send("ada", ["bob", "cat", "BOB"])
    assert stage.seq() == before + 1
    assert stage.inbox("bob")[0]["id"] == stage.inbox("cat")[0]["id"] == sent["id"]
    assert len(stage.inbox("bob")) == 1
    stage.call("ack", "bob", ids=[sent["id"]])
    assert states(stage, sent["id"]) == {"bob": "completed", "cat": "unread"}


def test_all_recipients_or_none(stage: Stage) -> None:
    error = stage.refused("send", "ada", to=["bob", "nobody"], subject="x")
    assert error.code == "UNKNOWN_AGENT"
    assert stage.inbox("bob") == []


@pytest.mark.parametrize(
    ("type", "told", "label", "asks"),
    [
        ("request", "request", None, True), ("response", "response", None, False),
        ("notification", "notification", None, False), ("handoff", "handoff", None, True),
        ("escalation", "escalation", None, True), ("task", "request", "task", True),
        ("prompt", "request", "prompt", True),
        ("update", "notification", "update", False), ("task-complete", "response", "task-complete", False),
        ("ask-human", "escalation", "ask-human", True),
    ],
)  # fmt: skip
def test_types(stage: Stage, type: str, told: str, label: str | None, asks: bool) -> None:
    stage.send("ada", "bob", "x", type=type)
    (message,) = stage.inbox("bob")
    assert (message["type"], message.get("label"), message["asks"]) == (told, label, asks)


def test_an_inbox_is_sorted_by_priority_then_age(stage: Stage) -> None:
    for number, priority in enumerate(["low", "normal", "urgent", "high", "urgent", "normal", "low", "high"]):
        stage.send("ada", "bob", f"{priority} {number}", priority=priority)
    assert stage.subjects("bob") == [
        "urgent 2", "urgent 4", "high 3", "high 7", "normal 1", "normal 5", "low 0", "low 6",
    ]  # fmt: skip


def test_the_order_does_not_follow_the_calendar(stage: Stage) -> None:
    stage.send("ada", "bob", "first")
    stage.clock.jump(-DAY)
    stage.send("ada", "bob", "second")
    assert stage.subjects("bob") == ["first", "second"]


def test_a_subject_is_one_line(stage: Stage) -> None:
    stage.send("ada", "bob", "  one\ntwo\t three\r\n ")
    assert stage.subjects("bob") == ["one two three"]


# --- bad input --------------------------------------------------------------------------------------------------------


def circle() -> dict[str, Any]:
    ring: dict[str, Any] = {}
    ring["self"] = ring
    return ring


def nested(depth: int) -> dict[str, Any]:
    deep: dict[str, Any] = {}
    for _ in range(depth):
        deep = {"x": deep}
    return deep


BAD_MESSAGES: list[tuple[dict[str, Any], str]] = [
    ({"to": []}, "BAD_INPUT"),
    ({"to": ["nobody"]}, "UNKNOWN_AGENT"),
    ({"to": ["system"]}, "UNKNOWN_AGENT"),
    ({"to": ["broadcast:nowhere"]}, "UNKNOWN_GROUP"),
    ({"to": ["any:plumber"]}, "UNKNOWN_NAME"),
    ({"to": ["every:one"]}, "BAD_NAME"),
    ({"to": ["any:"]}, "BAD_NAME"),
    ({"subject": ""}, "BAD_INPUT"),
    ({"subject": " \n\t "}, "BAD_INPUT"),
    ({"subject": "x" * 501}, "TOO_LARGE"),
    ({"subject": "a\0b"}, "BAD_TEXT"),
    ({"subject": "\ud800"}, "BAD_TEXT"),
    ({"body": "a\0b"}, "BAD_TEXT"),
    ({"body": "half \udfff"}, "BAD_TEXT"),
    ({"body": "x" * 2_001}, "TOO_LARGE"),
    ({"body": "\u4e2d" * 700}, "TOO_LARGE"),
    ({"payload": {"x": "y" * 2_001}}, "TOO_LARGE"),
    ({"payload": {"x": float("nan")}}, "BAD_INPUT"),
    ({"payload": {"x": float("inf")}}, "BAD_INPUT"),
    ({"payload": {"x": object()}}, "BAD_INPUT"),
    ({"payload": {"x": {1, 2}}}, "BAD_INPUT"),
    ({"payload": {"x": "\ud800"}}, "BAD_TEXT"),
    ({"payload": circle()}, "BAD_INPUT"),
    ({"payload": nested(5_000)}, "BAD_INPUT"),
    ({"payload": "{"}, "BAD_INPUT"),
    ({"payload": [1]}, "BAD_INPUT"),
    ({"context": {"x": b"bytes"}}, "BAD_INPUT"),
    ({"attachments": ["a\0b"]}, "BAD_TEXT"),
    ({"tags": [""]}, "BAD_INPUT"),
    ({"tags": [" "]}, "BAD_INPUT"),
    ({"tags": ["x" * 101]}, "BAD_INPUT"),
    ({"tags": ["a\0b"]}, "BAD_TEXT"),
    ({"type": "gossip"}, "BAD_INPUT"),
    ({"priority": "asap"}, "BAD_INPUT"),
    ({"priority": ""}, "BAD_INPUT"),
    ({"expires": -1}, "BAD_TIME"),
    ({"expires": 0}, "BAD_TIME"),
    ({"expires": -(10**15)}, "BAD_TIME"),
    ({"thread": "MSG-nothing"}, "UNKNOWN_MESSAGE"),
    ({"reply_to": "MSG-nothing"}, "UNKNOWN_MESSAGE"),
    ({"key": "k" * 201}, "TOO_LARGE"),
    ({"key": "a\0b"}, "BAD_TEXT"),
]


@pytest.mark.parametrize(
    ("wrong", "code"), BAD_MESSAGES, ids=[f"{n}-{next(iter(w))}" for n, (w, _) in enumerate(BAD_MESSAGES)]
)
def test_a_bad_message_leaves_nothing(build: Build, wrong: dict[str, Any], code: str) -> None:
    stage = build(mail__body_limit=2_000)
    stage.join_all("ada", "bob")
    before = stage.seq()
    error = stage.refused("send", "ada", **{"to": ["bob"], "subject": "x", **wrong})
    assert error.code == code, f"{error.code}: {error}"
    assert error.hint
    assert stage.seq() == before


def test_times_that_are_just_over(stage: Stage) -> None:
    for expires in (stage.clock.wall, stage.clock.wall - 1):
        assert stage.refused("send", "ada", to=["bob"], subject="x", expires=expires).code == "BAD_TIME"
    stage.send("ada", "bob", "x", expires=stage.clock.wall + 1)


def test_times_far_ahead(stage: Stage) -> None:
    """The last moment of the year 9999 is a time; what no calendar has is not."""
    stage.send("ada", "bob", "x", expires=253_402_300_799_999)
    assert stage.inbox("bob")[0]["expires_at"].startswith("9999-12-31")
    assert stage.refused("send", "ada", to=["bob"], subject="x", expires=1 << 52).code == "BAD_TIME"


def test_the_body_limit_is_a_setting_and_is_told(build: Build) -> None:
    stage = build(mail__body_limit=1_000)
    stage.join("ada")
    stage.send("ada", "ada", "x", body="y" * 990)
    error = stage.refused("send", "ada", to=["ada"], subject="x", body="y" * 1_001)
    assert "1,000" in error.message
    assert "--attach" in error.hint


def test_a_mebibyte_goes_through(stage: Stage) -> None:
    body = "\u00e9" * ((1 << 19) - 10)
    stage.send("ada", "bob", "x", body=body)
    assert stage.inbox("bob", whole=True)[0]["body"] == body
    shown = stage.inbox("bob")[0]
    assert (len(shown["body"]), shown["cut"]) == (4_000, len(body))


def test_no_payload_that_was_accepted_breaks_a_mailbox(stage: Stage) -> None:
    """What can be written must be readable from anywhere, also from deep inside a program."""
    depth = 1_000
    while depth:
        try:
            stage.send("ada", "bob", "Deep", payload=nested(depth))
            break
        except errors.BadInput:
            depth -= 10
    assert depth > 0

    def look(levels: int) -> list[dict[str, Any]]:
        return stage.inbox("bob") if levels == 0 else look(levels - 1)

    assert look(sys.getrecursionlimit() // 2)[0]["payload"] == nested(depth)


HOSTILE = st.text(st.characters(exclude_categories=["Cs"]), max_size=200) | st.sampled_from(
    ["'; DROP TABLE messages; --", "\x1b[2J\x1b[31mred", "%s%n", "${HOME}", "\u202eabc", "a\u2028b", "\ufeff", "| end"]
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=HOSTILE, tag=HOSTILE, payload=st.dictionaries(HOSTILE, HOSTILE | st.integers() | st.none(), max_size=3))
def test_any_text_comes_back_as_it_was_or_is_refused(
    stage: Stage, body: str, tag: str, payload: dict[str, Any]
) -> None:
    try:
        sent = stage.send("ada", "bob", "x", body=body, tags=[tag], payload=payload)
    except errors.BadInput:
        assert "\0" in body + tag + json.dumps(payload, ensure_ascii=False) or not tag.strip() or len(tag) > 100
        return
    shown = stage.call("read", "bob", id=sent["id"])
    assert (shown["body"], shown["tags"], shown["payload"]) == (body, [tag], payload)
    found = [message["id"] for message in stage.inbox("bob", all=True, tag=tag, limit=1_000)]
    assert sent["id"] in found


# --- budgets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "allowed"), [("none", 0), ("minimal", 2), ("moderate", 5), ("chatty", 10)])
def test_a_session_may_send_so_many(build: Build, level: str, allowed: int) -> None:
    stage = build()
    stage.join("ada", coordination=level)
    stage.join("bob")
    for _ in range(allowed):
        stage.send("ada", ["bob", "ada"])
    error = stage.refused("send", "ada", to=["bob"], subject="One more")
    assert isinstance(error, errors.BudgetSpent)
    assert str(allowed) in error.message
    for verb, args in (
        ("broadcast", {"subject": "x"}),
        ("handoff", {"to": ["bob"], "subject": "x", "work_completed": "y"}),
    ):
        assert stage.refused(verb, "ada", **args).code == "BUDGET_SPENT"
    assert stage.call("escalate", "ada", title="Blocked")["status"] == "accepted"


def test_unlimited_is_the_default(stage: Stage) -> None:
    for _ in range(12):
        stage.send("ada", "bob")


def test_replies_count(build: Build) -> None:
    stage = build()
    stage.join("ada", coordination="minimal")
    stage.join("bob")
    sent = stage.send("bob", "ada")
    for _ in range(2):
        stage.call("reply", "ada", id=sent["id"], body="y")
    assert stage.refused("reply", "ada", id=sent["id"], body="y").code == "BUDGET_SPENT"


def test_what_is_refused_costs_nothing(build: Build) -> None:
    stage = build()
    stage.join("ada", coordination="minimal")
    for _ in range(3):
        stage.refused("send", "ada", to=["nobody"], subject="x")
    for _ in range(2):
        stage.send("ada", "ada")


def test_a_new_session_has_a_new_budget(build: Build) -> None:
    stage = build(mail__coordination="minimal")
    process = stage.process()
    stage.join("ada", process=process)
    for _ in range(2):
        stage.send("ada", "ada")
    stage.join("ada", process=process, resume=True)
    assert stage.refused("send", "ada", to=["ada"], subject="x").code == "BUDGET_SPENT"
    stage.join("ada", takeover=True)
    stage.send("ada", "ada")


def test_the_person_has_no_budget(build: Build) -> None:
    stage = build(mail__coordination="none")
    stage.join("ada")
    stage.send(None, "ada")


# --- idempotency ------------------------------------------------------------------------------------------------------


def test_a_repeat_gets_the_same_answer(stage: Stage) -> None:
    first = stage.send("ada", ["bob", "cat"], "x", body="y", key="k1")
    before = stage.seq()
    again = stage.send("ada", ["bob", "cat"], "x", body="y", key="k1")
    assert again.pop("replayed") is True
    assert again == first
    assert stage.seq() == before
    assert stage.subjects("bob") == ["x"]


@pytest.mark.parametrize(
    "other",
    [
        {"subject": "z"}, {"body": "z"}, {"to": ["cat"]}, {"priority": "high"}, {"type": "update"}, {"tags": ["t"]},
        {"payload": {"a": 1}}, {"context": {"a": 1}}, {"attachments": ["f"]}, {"asks": False}, {"group": "g"},
    ],
    ids=lambda other: next(iter(other)),
)  # fmt: skip
def test_a_key_for_another_message_is_refused(stage: Stage, other: dict[str, Any]) -> None:
    stage.send("ada", "bob", "x", key="k1")
    error = stage.refused("send", "ada", **{"to": ["bob"], "subject": "x", "key": "k1", **other})
    assert error.code == "IDEMPOTENCY_MISMATCH"


def test_a_key_belongs_to_its_sender(stage: Stage) -> None:
    first = stage.send("ada", "bob", "x", key="k1")
    second = stage.send("cat", "bob", "x", key="k1")
    assert first["id"] != second["id"]


def test_a_repeat_costs_no_budget(build: Build) -> None:
    stage = build()
    stage.join("ada", coordination="minimal")
    for _ in range(5):
        stage.send("ada", "ada", "x", key="k1")
    stage.send("ada", "ada", "y")
    assert stage.refused("send", "ada", to=["ada"], subject="z").code == "BUDGET_SPENT"


def test_a_repeat_with_a_span_that_moved_on_is_the_same(stage: Stage) -> None:
    """`--expires 2h` is another moment each time it is said, and still the same message."""
    first = stage.send("ada", "bob", "x", key="k1", expires=stage.clock.wall + HOUR)
    stage.clock.pass_time(SECOND)
    assert stage.send("ada", "bob", "x", key="k1", expires=stage.clock.wall + HOUR)["id"] == first["id"]


def test_keys_are_forgotten_after_a_week(stage: Stage) -> None:
    first = stage.send("ada", "bob", "x", key="k1")
    stage.clock.pass_time(7 * DAY + 1)
    stage.call("sweep")
    assert stage.send("ada", "bob", "x", key="k1")["id"] != first["id"]


# --- agents that other systems name -----------------------------------------------------------------------------------


def test_open_addresses_are_made_on_first_use(stage: Stage) -> None:
    caller = stage.caller("new/one", open_addresses=True)
    sent = stage.send(caller, "new/two", "x")
    assert stage.subjects("new/two") == ["x"]
    assert sent["recipients"][0]["how"].startswith("never joined")
    assert stage.refused("send", caller, to=["a/b/c"], subject="x").code == "BAD_NAME"


def test_types_of_the_law_are_those_of_the_verbs() -> None:
    assert set(post.TYPES) == {*mail.Type, *mail.TX_TYPES}
    assert post.PRIORITIES == ("low", "normal", "high", "urgent")
