"""Seed 004's data: what a message and a handoff are in memory, in a file and in Markdown."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.bridge.message import local, milliseconds
from rookery.core import errors, mail, times
from rookery.mailbox import HandoffContext, Message, MessagePriority, MessageStatus, MessageType


def example(**changes: Any) -> Message:
    given: dict[str, Any] = {
        "id": "MSG-1", "from_agent": "a", "to_agent": "b", "swarm_name": None, "type": MessageType.REQUEST,
        "subject": "S", "body": "B", "payload": {}, "priority": MessagePriority.NORMAL,
        "created_at": datetime(2026, 1, 3, 14, 30), "expires_at": None,
    }  # fmt: skip
    return Message(**(given | changes))


def test_the_enumerations_have_the_documented_values() -> None:
    assert [each.value for each in MessageType] == ["request", "response", "notification", "handoff", "escalation"]
    assert [(each.name, each.value) for each in MessagePriority] == [
        ("LOW", 1),
        ("NORMAL", 2),
        ("HIGH", 3),
        ("URGENT", 4),
    ]
    assert {each.value for each in MessageStatus} == {
        "unread", "read", "processing", "completed", "archived", "failed"
    }  # fmt: skip


def test_a_message_as_a_dictionary_has_the_fields_of_a_file_in_their_order() -> None:
    assert list(example().to_dict()) == [
        "id", "from_agent", "to_agent", "swarm_name", "type", "subject", "body", "payload", "priority", "created_at",
        "expires_at", "status", "read_at", "completed_at", "reply_to", "thread_id", "context", "attachments", "tags",
    ]  # fmt: skip
    assert example().to_dict()["created_at"] == "2026-01-03T14:30:00"


def test_a_dictionary_may_leave_out_what_has_a_default() -> None:
    needed = ("id", "from_agent", "to_agent", "type", "subject", "body", "priority", "created_at")
    whole = example().to_dict()
    assert Message.from_dict({name: whole[name] for name in needed}) == example()
    with pytest.raises(KeyError):
        Message.from_dict({name: whole[name] for name in needed[1:]})
    with pytest.raises(ValueError, match="gossip"):
        Message.from_dict(whole | {"type": "gossip"})


words = st.text(max_size=20)
moments = st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2200, 1, 1))
data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
messages = st.builds(
    Message,
    **dict.fromkeys(("id", "from_agent", "to_agent", "subject", "body"), words),
    **dict.fromkeys(("swarm_name", "reply_to", "thread_id"), st.none() | words),
    **dict.fromkeys(("payload", "context"), st.dictionaries(words, data, max_size=3)),
    **dict.fromkeys(("attachments", "tags"), st.lists(words, max_size=3)),
    **dict.fromkeys(("expires_at", "read_at", "completed_at"), st.none() | moments),
    created_at=moments,
    type=st.sampled_from(MessageType),
    priority=st.sampled_from(MessagePriority),
    status=st.sampled_from(MessageStatus),
)


@pytest.mark.slow
@given(messages)
def test_a_message_survives_the_way_through_a_file(message: Message) -> None:
    written = json.dumps(message.to_dict())
    assert Message.from_dict(json.loads(written)) == message
    assert Message.from_dict(message.to_dict()).to_dict() == message.to_dict()


@given(messages)
def test_markdown_shows_every_message_and_steers_no_terminal(message: Message) -> None:
    shown = message.to_markdown()
    assert shown.startswith("##")
    assert not any(ord(letter) < 32 and letter not in "\n\t" for letter in shown)


def test_markdown_tells_everything() -> None:
    shown = example(
        priority=MessagePriority.URGENT, swarm_name="dev", thread_id="MSG-0", payload={"verdict": "SHIP"},
        context={"files": ["a.py", "b.py"], "state": "ready"}, attachments=["notes.md"], body="Do\x1b[2Jit.",
    ).to_markdown()  # fmt: skip
    assert shown == (
        "## [URGENT] S\n\n**From:** a\n**Type:** request\n**Priority:** URGENT\n**Sent:** 2026-01-03 14:30\n"
        "**Thread:** MSG-0\n**Swarm:** dev\n\n---\n\nDoit.\n\n### Context\n\n- **files:**\n  - a.py\n  - b.py\n"
        "- **state:** ready\n\n### Attachments\n\n- `notes.md`\n\n"
        '### Payload\n\n```json\n{\n  "verdict": "SHIP"\n}\n```'
    )
    assert example(priority=MessagePriority.LOW).to_markdown().startswith("##  S\n\n")


def test_a_handoff_context_has_all_its_fields() -> None:
    assert HandoffContext("done").to_dict() == {
        "work_completed": "done", "files_modified": [], "files_created": [], "current_state": "", "state_file": None,
        "next_steps": [], "blockers": [], "dependencies": [], "related_escalations": [], "job_id": None, "notes": "",
    }  # fmt: skip


@contextmanager
def zone(name: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("where", ["UTC", "America/New_York", "Asia/Kolkata"])
@given(moment=moments)
def test_naive_times_are_local(where: str, moment: datetime) -> None:
    with zone(where):
        back = local(times.iso(milliseconds(moment)))
        assert back.tzinfo is None
        assert abs(back - moment) < timedelta(hours=2)  # an hour that the clock skips has another name
        assert milliseconds(back) == milliseconds(moment)


@pytest.mark.parametrize("moment", [datetime.min, datetime(1969, 12, 1)])
def test_times_before_the_epoch_are_refused(moment: datetime) -> None:
    with pytest.raises(errors.BadInput):
        milliseconds(moment)


# -- the documents -----------------------------------------------------------------------------------------------


def table(heading: str) -> list[list[str]]:
    """The first table after a heading or a sentence of docs/messages.md, without its head."""
    page = (Path(__file__).parents[2] / "docs" / "messages.md").read_text(encoding="utf-8")
    rows = page.split(heading, 1)[1].lstrip().split("\n\n")
    lines = next(part for part in rows if part.startswith("|")).splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_about_messages_tells_the_law() -> None:
    types = {row[0].strip("`"): row[2] == "yes" for row in table("## Types")}
    assert types == {kind.value: kind in mail.ASKING for kind in mail.Type}
    foreign = {row[0].strip("`"): row[1].strip("`") for row in table("Agents that speak TX")}
    assert foreign == {word: kind.value for word, kind in mail.TX_TYPES.items()}
    steps = {row[0]: (set(row[1].split(", ")), row[2]) for row in table("## The life of a delivery")}
    assert steps == {
        name: ({each.value for each in before}, after.value) for name, (before, after) in mail.STEPS.items()
    }
