"""Seed 004's API: every method, with the meaning it has there."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.bridge import mailbox as bridge
from rookery.bridge.message import local
from rookery.core import errors
from rookery.mailbox import (
    HandoffContext,
    MailboxManager,
    Message,
    MessagePriority,
    MessageStatus,
    MessageType,
    broadcast_to_swarm,
    check_my_mailbox,
    get_mailbox_manager,
    send_handoff,
    send_message,
)
from tests.support.stores import prepared_home

SWARM = ("architect", "critic", "implementer")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the swarm `dev` defined by files."""
    agents = tmp_path / "repo" / "swarms" / "dev" / "agents"
    agents.mkdir(parents=True)
    for name in (*SWARM, "_template"):
        (agents / f"{name}.md").write_text("an agent\n")
    monkeypatch.chdir(tmp_path / "repo")
    return tmp_path / "repo"


@pytest.fixture
def manager(repo: Path) -> Iterator[MailboxManager]:
    folder = repo / "workspace" / "mailboxes"
    folder.mkdir(parents=True)
    prepared_home(folder / bridge.HOME)
    made = MailboxManager(folder)
    yield made
    made.close()


@pytest.fixture
def singleton(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailboxManager]:
    monkeypatch.setattr(bridge, "_process_wide", [])
    made = get_mailbox_manager()
    yield made
    made.close()


def send(manager: MailboxManager, to: str = "implementer", subject: str = "Hello", **more: Any) -> Message:
    return manager.send("architect", to, subject, "Body", **more)


# -- sending and reading -----------------------------------------------------------------------------------------


def test_a_message_is_stored_as_it_was_sent(manager: MailboxManager) -> None:
    before = datetime.now() - timedelta(milliseconds=2)
    until = (datetime.now() + timedelta(hours=1)).replace(microsecond=0)
    sent = manager.send(
        from_agent="architect", to_agent="implementer", subject="Build it", body="As designed",
        message_type=MessageType.ESCALATION, priority=MessagePriority.HIGH, payload={"n": 1}, context={"job_id": "j"},
        swarm_name="dev", expires_at=until, attachments=["no/such/file.md"], tags=["design"],
    )  # fmt: skip
    assert sent.id.startswith("MSG-")
    assert (sent.from_agent, sent.to_agent, sent.swarm_name) == ("architect", "implementer", "dev")
    assert (sent.type, sent.priority, sent.status) == (
        MessageType.ESCALATION, MessagePriority.HIGH, MessageStatus.UNREAD
    )  # fmt: skip
    assert (sent.payload, sent.context, sent.attachments, sent.tags) == (
        {"n": 1}, {"job_id": "j"}, ["no/such/file.md"], ["design"]
    )  # fmt: skip
    assert before <= sent.created_at <= datetime.now()
    assert sent.created_at.tzinfo is None
    assert sent.expires_at == until
    assert (sent.thread_id, sent.reply_to, sent.read_at, sent.completed_at) == (None, None, None, None)
    assert manager.check_mailbox("implementer") == [sent]


def test_defaults_are_a_normal_request(manager: MailboxManager) -> None:
    sent = manager.send("a", "b", "S", "B")
    assert (sent.type, sent.priority) == (MessageType.REQUEST, MessagePriority.NORMAL)
    assert (sent.payload, sent.context, sent.attachments, sent.tags, sent.expires_at) == ({}, {}, [], [], None)


@pytest.mark.parametrize("sender", ["system", "dev/architect"])
@pytest.mark.parametrize("recipient", ["dev/critic", "dev/second"])
def test_any_address_is_there_when_it_is_first_used(manager: MailboxManager, sender: str, recipient: str) -> None:
    assert manager.check_mailbox(recipient) == []
    sent = manager.send(sender, recipient, "S", "B")
    assert [each.from_agent for each in manager.check_mailbox(recipient)] == [sender]
    answer = manager.reply(sent.id, recipient, "Yes")
    assert answer
    assert answer.to_agent == sender


def test_h42_nobody_sends_as_the_user(manager: MailboxManager) -> None:
    sent = manager.send("ada", "user", "S", "B")
    for attempt in (
        lambda: manager.send("user", "ada", "S", "B"), lambda: manager.send("USER", "ada", "S", "B"),
        lambda: manager.broadcast("user", "all", "S", "B"), lambda: manager.reply(sent.id, "user", "B"),
        lambda: manager.handoff("user", "ada", "S", HandoffContext("x")),
    ):  # fmt: skip
        with pytest.raises(errors.NotYours) as caught:
            attempt()
        assert caught.value.code == "RESERVED_NAME"
    assert manager.check_mailbox("ada") == []


def test_a_mailbox_is_sorted_by_priority_then_age(manager: MailboxManager) -> None:
    for subject, priority in (("n1", "NORMAL"), ("l", "LOW"), ("u", "URGENT"), ("n2", "NORMAL"), ("h", "HIGH")):
        send(manager, subject=subject, priority=MessagePriority[priority])
    assert [each.subject for each in manager.check_mailbox("implementer")] == ["u", "h", "n1", "n2", "l"]
    high = manager.check_mailbox("implementer", min_priority=MessagePriority.HIGH)
    assert [each.subject for each in high] == ["u", "h"]


def test_a_mailbox_is_filtered_by_type(manager: MailboxManager) -> None:
    for kind in MessageType:
        send(manager, subject=kind.value, message_type=kind)
    found = manager.check_mailbox("implementer", message_types=[MessageType.HANDOFF, MessageType.RESPONSE])
    assert {each.type for each in found} == {MessageType.HANDOFF, MessageType.RESPONSE}
    assert len(manager.check_mailbox("implementer", message_types=[])) == len(MessageType)


def test_only_unread_unless_asked(manager: MailboxManager) -> None:
    ids = [send(manager, subject=str(n)).id for n in range(4)]
    manager.read_message(ids[0])
    manager.mark_processing(ids[1])
    manager.mark_completed(ids[2], archive=False)
    assert [each.id for each in manager.check_mailbox("implementer")] == ids[3:]
    assert [each.status.value for each in manager.check_mailbox("implementer", unread_only=False)] == [
        "read", "processing", "completed", "unread"
    ]  # fmt: skip


def test_expired_messages_are_not_shown(manager: MailboxManager) -> None:
    late = send(manager, expires_at=datetime.now() - timedelta(hours=1))
    soon = send(manager, expires_at=datetime.now() + timedelta(hours=1))
    for unread_only in (True, False):
        assert [each.id for each in manager.check_mailbox("implementer", unread_only=unread_only)] == [soon.id]
    assert manager.get_pending_count("implementer")["total"] == 1
    found = manager.read_message(late.id)
    assert found
    assert (found.status, found.expires_at) == (MessageStatus.UNREAD, late.expires_at)


def test_a_large_mailbox_is_returned_whole(manager: MailboxManager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "PAGE", 7)
    sent = [send(manager, subject=f"{n}", priority=MessagePriority(n % 4 + 1)) for n in range(60)]
    manager.read_message(sent[5].id)
    expected = sorted(sent, key=lambda each: (-each.priority.value, int(each.subject)))
    found = manager.check_mailbox("implementer", unread_only=False)
    assert [each.id for each in found] == [each.id for each in expected]
    unread = manager.check_mailbox("implementer", message_types=[MessageType.REQUEST])
    assert [each.id for each in unread] == [each.id for each in expected if each.id != sent[5].id]


@pytest.mark.slow
def test_five_thousand_unread_messages_are_all_returned(manager: MailboxManager) -> None:
    for n in range(5_000):
        manager.send("architect", "implementer", f"{n}", "")
    found = manager.check_mailbox("implementer")
    assert [each.subject for each in found] == [str(n) for n in range(5_000)]


def test_long_bodies_come_whole(manager: MailboxManager) -> None:
    body = "word " * 20_000
    sent = manager.send("a", "b", "S", body)
    assert manager.check_mailbox("b")[0].body == manager.get_thread(sent.id)[0].body == body


def test_the_end_of_the_calendar_harms_nobody(manager: MailboxManager) -> None:
    assert local("9999-12-31T23:59:59.999Z") <= datetime.max
    send(manager, expires_at=datetime(9999, 12, 30))
    assert len(manager.check_mailbox("implementer")) == 1


# -- the life of a message ---------------------------------------------------------------------------------------


def test_reading_marks_a_message_once(manager: MailboxManager) -> None:
    id = send(manager).id
    read = manager.read_message(id)
    assert read
    assert read.status is MessageStatus.READ
    assert read.read_at
    assert read.read_at >= read.created_at
    assert manager.read_message(id) == read


def test_processing_then_completing(manager: MailboxManager) -> None:
    id = send(manager).id
    working = manager.mark_processing(id)
    assert working
    assert working.status is MessageStatus.PROCESSING
    done = manager.mark_completed(id, archive=False)
    assert done
    assert done.status is MessageStatus.COMPLETED
    assert done.completed_at
    put_away = manager.mark_completed(id)
    assert put_away
    assert (put_away.status, put_away.completed_at) == (MessageStatus.ARCHIVED, done.completed_at)


def test_completing_archives_by_default_and_can_be_repeated(manager: MailboxManager) -> None:
    id = send(manager).id
    first = manager.mark_completed(id)
    assert first
    assert first.status is MessageStatus.ARCHIVED
    assert manager.mark_completed(id) == manager.read_message(id) == first
    assert manager.check_mailbox("implementer") == []


def test_what_is_over_is_not_taken_up_again(manager: MailboxManager) -> None:
    id = send(manager).id
    manager.mark_completed(id)
    with pytest.raises(errors.Refused):
        manager.mark_processing(id)
    late = send(manager, expires_at=datetime.now() - timedelta(hours=1)).id
    with pytest.raises(errors.Refused, match="expired"):
        manager.mark_processing(late)


@pytest.mark.parametrize("id", ["MSG-nothere", "", "../../etc/passwd", "MSG-1-1", "\0", "\ud800", "x" * 9999])
def test_unknown_ids_give_nothing(manager: MailboxManager, id: str) -> None:
    assert manager.read_message(id) is None
    assert manager.mark_processing(id) is None
    assert manager.mark_completed(id) is None
    assert manager.reply(id, "critic", "What?") is None
    assert manager.get_thread(id) == []


# -- conversations -----------------------------------------------------------------------------------------------


def test_a_reply_goes_back_in_the_thread_of_the_first_message(manager: MailboxManager) -> None:
    first = send(manager, priority=MessagePriority.URGENT, swarm_name="dev")
    answer = manager.reply(first.id, "implementer", "On it", payload={"eta": 2})
    assert answer
    assert (answer.from_agent, answer.to_agent, answer.subject) == ("implementer", "architect", "Re: Hello")
    assert (answer.type, answer.priority, answer.swarm_name) == (
        MessageType.RESPONSE, MessagePriority.URGENT, "dev"
    )  # fmt: skip
    assert (answer.reply_to, answer.thread_id, answer.payload) == (first.id, first.id, {"eta": 2})
    again = manager.reply(answer.id, "architect", "Thanks")
    assert again
    assert (again.to_agent, again.reply_to, again.thread_id) == ("implementer", answer.id, first.id)
    # A reply leaves the original as it was, for its reader to mark.
    assert [each.status for each in manager.get_thread(first.id)] == [MessageStatus.UNREAD] * 3
    assert [each.id for each in manager.get_thread(first.id)] == [first.id, answer.id, again.id]
    assert [each.id for each in manager.get_thread(answer.id)] == [answer.id]


def test_anyone_may_answer(manager: MailboxManager) -> None:
    answer = manager.reply(send(manager).id, "critic", "Let me see it first")
    assert answer
    assert (answer.from_agent, answer.to_agent) == ("critic", "architect")


def test_send_takes_a_thread_or_the_message_it_answers(manager: MailboxManager) -> None:
    first = send(manager)
    assert send(manager, reply_to=first.id).thread_id == first.id
    assert send(manager, thread_id=first.id).thread_id == first.id
    named = [send(manager, thread_id="sprint-12").id for _ in range(2)]
    assert [each.id for each in manager.get_thread("sprint-12")] == named


# -- handoffs and broadcasts -------------------------------------------------------------------------------------


def test_a_handoff_carries_its_context(manager: MailboxManager) -> None:
    context = HandoffContext(
        "Design done", ["a.md"], ["b.py"], "Ready", next_steps=["Build", "Test"], blockers=["No key"],
        related_escalations=["ESC-20260103-0001"],
    )  # fmt: skip
    sent = manager.handoff("architect", "implementer", "Build it", context, additional_notes="Ask me")
    assert sent.type is MessageType.HANDOFF
    assert sent.context == context.to_dict()
    assert sent.attachments == ["a.md", "b.py"]
    assert sent.tags == ["handoff"]
    assert sent.body == (
        "Work handoff from architect to implementer.\n\n**Work Completed:** Design done\n\n**Current State:** Ready\n\n"
        "**Next Steps:**\n- Build\n- Test\n\n**Blockers:**\n- No key\n\n**Notes:**\nAsk me"
    )


def test_a_broadcast_gives_everyone_a_message_of_their_own(manager: MailboxManager) -> None:
    left_out = ["critic"]
    sent = manager.broadcast("coo", "dev", "News", "All of it", exclude=left_out, payload={"a": 1})
    assert sorted(each.to_agent for each in sent) == ["architect", "implementer"]
    assert len({each.id for each in sent}) == 2
    for each in sent:
        assert manager.check_mailbox(each.to_agent) == [each]
        assert (each.type, each.swarm_name, each.payload) == (MessageType.NOTIFICATION, "dev", {"a": 1})
        assert each.tags == ["broadcast", "swarm:dev"]
        assert each.thread_id is None
    assert manager.check_mailbox("critic") == []
    assert left_out == ["critic"]


def test_a_broadcast_passes_its_sender_by(manager: MailboxManager) -> None:
    assert sorted(each.to_agent for each in manager.broadcast("critic", "dev", "S", "B")) == [
        "architect", "implementer"
    ]  # fmt: skip


def test_members_known_by_their_full_address_get_it_there(manager: MailboxManager) -> None:
    manager.send("coo", "dev/implementer", "S", "B")
    sent = manager.broadcast("dev/architect", "dev", "S", "B")
    assert sorted(each.to_agent for each in sent) == ["critic", "dev/implementer"]
    assert manager.broadcast("dev/architect", "dev", "S", "B", exclude=["implementer", "critic"]) == []


def test_a_broadcast_takes_the_other_parameters_of_send(manager: MailboxManager) -> None:
    first = send(manager)
    until = datetime.now() + timedelta(hours=1)
    sent = manager.broadcast("coo", "dev", "S", "B", reply_to=first.id, expires_at=until, attachments=["x"])
    assert {(each.thread_id, each.reply_to, *each.attachments) for each in sent} == {(first.id, first.id, "x")}
    with pytest.raises(TypeError):
        manager.broadcast("coo", "dev", "S", "B", colour="red")


def test_a_broadcast_to_nobody_says_so(manager: MailboxManager) -> None:
    assert manager.broadcast("coo", "nobody", "S", "B") == []
    with pytest.raises(errors.Refused):
        manager.send("coo", "broadcast:nobody", "S", "B")


def test_sending_to_a_swarm_makes_a_copy_for_each(manager: MailboxManager) -> None:
    sent = manager.send("critic", "broadcast:dev", "News", "All of it", tags=["big"])
    assert (sent.to_agent, sent.status) == ("broadcast:dev", MessageStatus.UNREAD)
    copies = [*manager.check_mailbox("architect"), *manager.check_mailbox("implementer")]
    assert [each.to_agent for each in copies] == ["architect", "implementer"]
    assert len({sent.id, *(each.id for each in copies)}) == 3
    assert {(each.swarm_name, *each.tags) for each in copies} == {("dev", "big", "broadcast")}
    assert manager.check_mailbox("critic") == []


def test_each_copy_has_a_life_of_its_own(manager: MailboxManager) -> None:
    sent = manager.send("coo", "broadcast:dev", "News", "All of it")
    (one,) = manager.check_mailbox("architect")
    (other,) = manager.check_mailbox("critic")
    done = manager.mark_completed(one.id)
    assert done
    assert (done.id, done.to_agent, done.status) == (one.id, "architect", MessageStatus.ARCHIVED)
    assert manager.check_mailbox("critic") == [other]
    answer = manager.reply(one.id, "architect", "Seen")
    assert answer
    assert answer.to_agent == "coo"
    assert {each.id for each in manager.get_thread(answer.thread_id or "")} >= {one.id, other.id, answer.id}
    assert manager.read_message(sent.id) == sent
    with pytest.raises(errors.BadInput, match="several"):
        manager.mark_completed(sent.id)


def test_mail_that_rook_sent_to_several_has_an_id_per_mailbox(singleton: MailboxManager) -> None:
    team = rookery.connect()
    for name in ("bob", "cleo"):
        team.join(name)
    receipt = team.join("amy").send(["bob", "cleo"], "Both of you", "Look")
    (mine,) = check_my_mailbox("bob")
    (hers,) = check_my_mailbox("cleo")
    assert len({mine.id, hers.id, receipt.id}) == 3
    singleton.read_message(mine.id)
    assert check_my_mailbox("bob") == []
    assert check_my_mailbox("cleo") == [hers]
    team.close()


# -- counts, the singleton, the place ----------------------------------------------------------------------------


def test_pending_counts_by_priority(manager: MailboxManager) -> None:
    empty = {"urgent": 0, "high": 0, "normal": 0, "low": 0, "total": 0}
    assert manager.get_pending_count("implementer") == empty
    for priority in (MessagePriority.URGENT, MessagePriority.LOW, MessagePriority.LOW):
        read = send(manager, priority=priority)
    assert manager.get_pending_count("implementer") == empty | {"urgent": 1, "low": 2, "total": 3}
    manager.read_message(read.id)
    assert manager.get_pending_count("implementer")["low"] == 1


def test_two_managers_of_one_folder_share_their_mail(manager: MailboxManager) -> None:
    other = MailboxManager(manager.mailboxes_dir)
    sent = send(manager)
    assert other.check_mailbox("implementer") == [sent]
    other.mark_completed(sent.id)
    assert manager.check_mailbox("implementer") == []
    other.close()


def test_folders_are_apart_and_private(manager: MailboxManager, tmp_path: Path) -> None:
    send(manager)
    other = MailboxManager(tmp_path / "elsewhere")
    assert other.check_mailbox("implementer") == []
    assert (tmp_path / "elsewhere" / ".rookery").stat().st_mode & 0o777 == 0o700
    other.close()


def test_without_a_folder_it_is_the_team_of_this_repository(singleton: MailboxManager) -> None:
    sent = send_message("architect", "implementer", "Hello", "Body", MessagePriority.HIGH, tags=["a"])
    with rookery.connect() as team:
        (seen,) = team.agent("implementer").inbox()
        assert (seen.id, seen.priority, seen.tags) == (sent.id, "high", ("a",))
        seen.ack()
    assert check_my_mailbox("implementer") == []
    (done,) = check_my_mailbox("implementer", unread_only=False)
    assert done.status is MessageStatus.COMPLETED


def test_there_is_one_manager_however_many_threads_ask(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "_process_wide", [])
    start, found = threading.Barrier(8), []

    def ask() -> None:
        start.wait()
        manager = get_mailbox_manager(repo / "boxes")
        manager.send("a", "b", "S", "B")
        found.append(manager)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1
    assert found[0].get_pending_count("b")["total"] == 8
    assert get_mailbox_manager() is found[0]
    found[0].close()


def test_the_short_ways(singleton: MailboxManager) -> None:
    handed = send_handoff(
        "architect", "implementer", "Build it", "Design done", "Ready", ["Build"], files_modified=["a.md"],
        blockers=["No key"], swarm_name="dev", priority=MessagePriority.HIGH,
    )  # fmt: skip
    assert (handed.type, handed.priority, handed.swarm_name) == (MessageType.HANDOFF, MessagePriority.HIGH, "dev")
    assert handed.context["blockers"] == ["No key"]
    told = broadcast_to_swarm("coo", "dev", "News", "All", MessagePriority.URGENT)
    assert {each.to_agent for each in told} == set(SWARM)
    assert [each.subject for each in check_my_mailbox("implementer")] == ["News", "Build it"]


FORKED = """
import os, sys
from rookery.mailbox import get_mailbox_manager
manager = get_mailbox_manager(sys.argv[1])
manager.send("parent", "box", "before", "")
child = os.fork()
if child == 0:
    manager.send("child", "box", "from the child", "")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
manager.send("parent", "box", "after", "")
print([message.subject for message in manager.check_mailbox("box")])
"""


@pytest.mark.slow
def test_a_forked_child_can_go_on_using_it(repo: Path) -> None:
    run = subprocess.run([sys.executable, "-c", FORKED, str(repo / "boxes")], capture_output=True, text=True)
    assert run.stdout == "['before', 'from the child', 'after']\n", run.stderr


def test_bad_input_is_told(manager: MailboxManager) -> None:
    for sender, recipient in (("a b", "c"), ("a", "../c"), ("a", ""), ("", "b/c/d"), ("a", "broadcast:../x")):
        with pytest.raises(errors.BadInput):
            manager.send(sender, recipient, "S", "B")
    wrong: list[dict[str, Any]] = [
        {"payload": {"x": float("nan")}},
        {"tags": [""]},
        {"thread_id": "a\nb"},
        {"swarm_name": "\ud800"},
    ]
    for change in wrong:
        with pytest.raises(errors.BadInput):
            send(manager, **change)
    assert manager.check_mailbox("implementer") == []
