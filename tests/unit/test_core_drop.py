"""A message as a file: its parts, its fields, its addresses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import drop, errors


def read(front: dict[str, Any], body: str = "Hello", rear: dict[str, Any] | None = None) -> dict[str, Any]:
    return drop.letter({"to": "bob", "from": "ada", **front}, body, rear or {}, rounds_max=5).args


# --- parts ------------------------------------------------------------------------------------------------------------


def test_the_three_parts() -> None:
    written = "---\nto: a\n---\n\nHello\n\n---\nnot: rear\n---\nmore\n---\nspawn:\n  mesh: x\n---\n\n"
    assert drop.split(written) == ("to: a", "Hello\n\n---\nnot: rear\n---\nmore", "spawn:\n  mesh: x")


@pytest.mark.parametrize(
    "body",
    ["a\n---\nb\n---", "---", "---\n---", "a\n---\n", "```\n---\nspawn:\n---\n```", "---\n respawn: x\n---", ""],
    ids=repr,
)
def test_rules_of_markdown_are_no_rear_matter(body: str) -> None:
    assert drop.split(f"---\nto: a\n---\n{body}\n") == ("to: a", body.strip("\n"), "")


@pytest.mark.parametrize("written", ["", "\n \n", "-", "--", "---", "---\nto: a\n", "---\nto: a\nfrom: b\n--"])
def test_what_may_still_grow_is_not_whole(written: str) -> None:
    with pytest.raises(errors.BadInput) as caught:
        drop.split(written)
    assert caught.value.code == drop.NOT_WHOLE


@pytest.mark.parametrize("written", ["Hello", "--\nto: a\n---\n", "# Title\n---\nto: a\n---\n", "- - -\n"])
def test_what_can_not_become_one_has_no_front_matter(written: str) -> None:
    with pytest.raises(errors.BadInput) as caught:
        drop.split(written)
    assert caught.value.code == drop.NO_FRONT


@given(cut=st.integers(0, 200))
def test_every_beginning_of_a_file_is_not_whole_until_its_front_matter_ends(cut: int) -> None:
    written = "---\nto: bob\nfrom: ada\ntype: task\n---\nThe body"
    end = written.index("---\nThe") + 3
    part = written[: min(cut, end - 1)]
    with pytest.raises(errors.BadInput) as caught:
        drop.split(part)
    assert caught.value.code == drop.NOT_WHOLE
    assert drop.split(written[:end]).front == "to: bob\nfrom: ada\ntype: task"


def test_line_ends_and_marks_of_other_systems() -> None:
    assert drop.split("\ufeff\r\n---\r\nto: a\r\n---  \r\nHello\r\nyou\r\n") == ("to: a", "Hello\nyou", "")


def test_too_much_matter_is_refused() -> None:
    with pytest.raises(errors.TooLarge):
        drop.split(f"---\nto: {'a' * drop.MATTER_LIMIT}\n---\n")


# --- fields -----------------------------------------------------------------------------------------------------------


def test_all_fields() -> None:
    front = {
        "to": "bob, carol", "type": "task", "status": "start", "msg-id": "0123", "timestamp": "yesterday",
        "subject": "Do it", "priority": "high", "reply-to": "abc", "lens": ["a", "b"], "clear-before": "Yes",
        "self-modify": "3", "colour": "red",
    }  # fmt: skip
    rear = {"spawn": {"mesh": "research", "reason": "why", "lens": "x, y"}, "entity_refs": ["e1", "e2"]}
    assert read(front, "Body", rear) == {
        "sender": "ada", "to": ["bob", "carol"], "subject": "Do it", "body": "Body", "type": "task", "status": "start",
        "msg_id": "0123", "written_at": "yesterday", "priority": "high", "reply_to": "abc", "lens": ["a", "b"],
        "clear_before": True, "rounds": 3, "payload": {"colour": "red"},
        "spawn": {"mesh": "research", "reason": "why", "lens": ["x", "y"]}, "entity_refs": ["e1", "e2"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "subject"), [("# Title\nmore", "Title"), ("\n\n  one line", "one line"), ("x" * 200, "x" * 119 + "\u2026")]
)
def test_without_a_subject_the_first_line_is_one(body: str, subject: str) -> None:
    assert read({}, body)["subject"] == subject


@pytest.mark.parametrize(("said", "rounds"), [("true", 5), ("off", 0), ("", 0), ("2", 2), ("999", 999)])
def test_rounds(said: str, rounds: int) -> None:
    assert read({"self-modify": said}).get("rounds", 0) == rounds


@pytest.mark.parametrize(
    ("front", "rear", "said"),
    [
        ({"from": ""}, {}, "from is missing"),
        ({"to": ""}, {}, "to is missing"),
        ({"to": {"a": "b"}}, {}, "neither text nor a list"),
        ({"to": ["a"] * 101}, {}, "names 101"),
        ({"type": ["task"]}, {}, "type is no text"),
        ({"msg-id": "x" * 151}, {}, "msg-id has 151"),
        ({"clear-before": "perhaps"}, {}, "clear-before is"),
        ({"self-modify": "lots"}, {}, "self-modify is"),
        ({"self-modify": "\u0663"}, {}, "self-modify is"),
        ({}, {"spawn": "research"}, "spawn is no mapping"),
        ({}, {"spawn": {"reason": "why"}}, "does not say what"),
        ({}, {"spawn": {"mesh": "x", "shell": "rm"}}, "spawn has no 'shell'"),
        ({}, {"spawm": {}}, "Rear matter has no"),
    ],
)
def test_what_is_wrong_is_said(front: dict[str, Any], rear: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.BadInput, match=said) as caught:
        read(front, "Hello", rear)
    assert caught.value.hint


def test_an_empty_file_has_nothing_for_a_subject() -> None:
    with pytest.raises(errors.BadInput, match="subject is missing"):
        read({}, "\n")


# --- addresses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "means"),
    [
        ("core", ["core", "core/core"]),
        ("core/core", ["core/core", "core"]),
        ("research/interviewer", ["research/interviewer"]),
        ("research-807055/interviewer", ["research-807055/interviewer", "research/interviewer"]),
        (
            "research-807055-interviewer",
            ["research-807055-interviewer", "research-807055-interviewer/research-807055-interviewer",
             "research-807055/interviewer", "research/interviewer"],
        ),
        ("deep-dive-a1b2-lead-one",
         ["deep-dive-a1b2-lead-one", "deep-dive-a1b2-lead-one/deep-dive-a1b2-lead-one", "deep-dive-a1b2/lead-one",
          "deep-dive/lead-one"]),
        ("swift-raven", ["swift-raven", "swift-raven/swift-raven"]),
        ("a-b-c", ["a-b-c", "a-b-c/a-b-c"]),
    ],
)  # fmt: skip
def test_whom_an_address_may_mean(word: str, means: list[str]) -> None:
    assert drop.addresses(word) == means
