"""What broke in other systems' mail, and what is promised here (H1 to H9): each under the conditions that broke it."""

import signal
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.client import waiting
from rookery.client.handles import Team
from tests.support import crew, ledger
from tests.support.fakes import FakeListener
from tests.support.families import few
from tests.support.procs import Child, child, children, environment, start_together
from tests.support.stage import MINUTE, Stage
from tests.support.stores import prepared_home

LARGE = 1_000_000
OWN = environment(HOME="/x")


@pytest.fixture
def home(tmp_path: Path) -> str:
    return prepared_home(tmp_path / "h")


def stages(team: Team, id: str) -> dict[str, list[str]]:
    told = team.call("receipts", id=id)["recipients"]
    return {each["name"]: [receipt["stage"] for receipt in each["receipts"]] for each in told}


@pytest.mark.slow
def test_h1_an_accepted_message_is_never_lost(home: str) -> None:
    """Megabyte messages, read while they are written, one writer killed in the middle: whole, once, none missing."""
    with crew.house(home) as team:
        team.join("reader").leave()
        reader = Child(crew.read_until, OWN, home=home, name="reader", last="END")
        writers = [
            Child(crew.send_large, OWN, home=home, name=name, to="reader", count=count, size=LARGE)
            for name, count in (("steady", 12), ("doomed", 1_000))
        ]
        with children(reader, *writers):
            start_together([reader, *writers])
            steady, doomed = writers
            accepted = [doomed.hear() for _ in range(4)]
            accepted += doomed.kill()
            accepted += steady.finish()
            end = team.join("closer").send("reader", "END", priority="low")
            seen = [tuple(each) for each in reader.finish()]
    ids = [id for id, _ in seen]
    assert all(whole for _, whole in seen)
    assert len(ids) == len(set(ids)), "handed over and acknowledged once"
    assert set(accepted) <= set(ids), "an accepted message was lost"
    assert len(set(ids) - set(accepted) - {end.id}) <= 1, "only the send that was killed may be there untold"
    assert ledger.faults(f"{home}/rookery.db", sent=ids, acked=ids) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", few(["inbox", "read", "processing", "raise"], "read", "raise"))
def test_h2_a_message_is_not_taken_by_looking_at_it(home: str, step: str) -> None:
    """A reader that dies, or whose callback throws, with the mail in its hands: it stays open, and the receipts say so.

    That a hand-over into a terminal or a hook is recorded after it succeeded, with the error on its receipt when it
    failed, comes with the channels of a later issue.
    """
    with crew.house(home) as team:
        team.join("worker").leave()
        sent = team.join("boss").send("worker", "Do it")
        with child(crew.look_and_wait, OWN, home=home, name="worker", step=step) as worker:
            if step == "raise":
                assert worker.wait() == 1
            else:
                assert worker.hear() == sent.id
                worker.kill()
        successor = team.join("worker")
        (message,) = successor.inbox(open=True)
        expected = {"inbox": "unread", "raise": "unread"}.get(step, step)
        assert (message.id, message.state) == (sent.id, expected)
        seen = {"read": ["seen"], "processing": ["processing"]}.get(step, [])
        assert stages(team, sent.id) == {"worker": ["accepted", *seen]}


@pytest.mark.slow
def test_h3_the_order_is_the_teams_number_whatever_the_clocks_say(home: str) -> None:
    """Four writers whose calendars jump by hundreds of days at every look; followers skip nothing, repeat nothing."""
    names = ["a", "b", "c", "d"]
    count = 40
    with crew.house(home) as team:
        reader = team.join("reader")
        followers = [Child(crew.follow, OWN, home=home, upto=len(names) * count) for _ in range(2)]
        writers = [
            Child(crew.send_numbered, OWN, home=home, name=name, to="reader", count=count, seed=seed)
            for seed, name in enumerate(names)
        ]
        with children(*followers, *writers):
            start_together([*followers, *writers])
            for writer in writers:
                writer.finish()
            seen = [follower.finish()[0] for follower in followers]
        found = reader.inbox(limit=1_000)
    assert [message.seq for message in found] == sorted(message.seq for message in found)
    for name in names:
        own = [message.subject for message in found if message.sender == name]
        assert own == [f"{name} {number}" for number in range(count)], "each writer's own order is kept"
    truth = [[message.seq, message.subject] for message in found]
    assert seen == [truth, truth]
    assert len({message.created_at[:10] for message in found}) > 50, "the calendars did jump"


def test_h4_no_timer_is_reset_by_new_arrivals() -> None:
    """The bell never falls silent: the look that follows the first ring answers."""
    looks = iter([None, "mail"])
    listener = FakeListener(otherwise=True)
    assert waiting.until(listener, lambda: next(looks), timeout_s=None, poll_s=1.0) == "mail"
    assert len(listener.waits) == 1


@pytest.mark.slow
def test_h4_the_first_message_is_had_while_the_stream_goes_on(home: str) -> None:
    """Bounded in messages, not in seconds: a trailing debounce would wait for the end of the stream."""
    most = 5_000
    with crew.house(home) as team:
        team.join("reader").leave()
        reader = Child(crew.wait_for_the_first, OWN, home=home, name="reader")
        stream = Child(crew.stream, OWN, home=home, to="reader", most=most)
        with children(reader, stream):
            start_together([reader, stream])
            first, later = reader.hear()
            stream.say("enough")
            (sent,) = stream.finish()
            reader.finish()
    assert first == "0"
    assert later < 1_000, "the stream went on too long before its first message was read"
    assert sent < most, "the stream had to end first"


def test_h5_the_next_holder_of_a_name_takes_over_what_was_never_acknowledged(home: str) -> None:
    """And is told so. What was acknowledged is not handed over again, and what was seen does not look new."""
    with crew.house(home) as team:
        boss = team.join("boss")
        with child(crew.be, OWN, home=home, name="worker", how="live") as first:
            assert first.hear() == "ready"
            unread, read, working, done = (boss.send("worker", subject).id for subject in "abcd")
            worker = team.agent("worker")
            worker.read(read)
            worker.ack(working, state="processing")
            worker.ack(done)
            first.kill()
        boss.send("worker", "While nobody was there")
        second = team.join("worker")
        assert second.joined["arrival"] == "return"
        assert second.joined["inherited"] == 4
        assert second.joined["epoch"] == 2
        states = {message.id: message.state for message in second.inbox(open=True)}
        assert (states[unread], states[read], states[working]) == ("unread", "read", "processing")
        assert done not in states
        third = team.join("worker", takeover=True)
        assert (third.joined["arrival"], third.joined["inherited"]) == ("takeover", 4)
        fresh = team.join("newcomer")
        assert (fresh.joined["arrival"], fresh.joined["inherited"]) == ("fresh", 0)


def test_h6_receipts_tell_only_what_happened(home: str) -> None:
    """Accepted once committed; seen when read; acknowledged when acked; expired when its time is over.

    `handed-over`, with channel and time, and `dead`, with every attempt, come with the channels of a later issue.
    """
    with crew.house(home) as team:
        boss = team.join("boss")
        with child(crew.be, OWN, home=home, name="worker", how="waiting") as worker:
            assert worker.hear() == "ready"
            receipt = boss.send(["worker", "boss"], "Do it")
            assert {each.name: each.state for each in receipt.recipients} == {"worker": "woken", "boss": "live"}
            # Woken is not seen: nothing but the acceptance has been shown.
            assert stages(team, receipt.id) == {"worker": ["accepted"], "boss": ["accepted"]}
        team.agent("worker").read(receipt.id)
        assert stages(team, receipt.id) == {"worker": ["accepted", "seen"], "boss": ["accepted"]}
        team.agent("worker").ack(receipt.id)
        assert stages(team, receipt.id)["worker"] == ["accepted", "seen", "acknowledged"]


def test_h6_an_expired_message_was_never_delivered(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "ledger.db")
    stage.join_all("boss", "worker")
    sent = stage.send("boss", "worker", expires=stage.clock.wall + MINUTE)
    stage.clock.pass_time(MINUTE)
    (told,) = stage.call("receipts", "boss", id=sent["id"])["recipients"]
    assert (told["state"], [r["stage"] for r in told["receipts"]]) == ("expired", ["accepted"])
    stage.call("sweep")
    (told,) = stage.call("receipts", "boss", id=sent["id"])["recipients"]
    assert [r["stage"] for r in told["receipts"]] == ["accepted", "expired"]
    stage.close()


@pytest.mark.slow
def test_h7_what_was_sent_while_nobody_ran_is_found(home: str) -> None:
    """Sender and store come and go; a process that starts later finds everything, oldest first.

    That a daemon finds and delivers what is pending when it starts comes with the daemon.
    """
    sent: list[str] = []
    with crew.house(home) as team:
        team.join("reader").leave()
    for name in ("a", "b", "c"):
        with child(crew.write_home, OWN, home=home, name=name, count=5) as writer:
            start_together([writer])
            sent += writer.finish()
    with crew.house(home) as team:
        found = team.join("reader").wait(timeout=0)
        assert [message.id for message in found] == sent
        assert len(sent) == 15


@pytest.mark.slow
def test_h8_overlapping_readers_acknowledge_once(home: str) -> None:
    """Two processes on one mailbox at the same time: each message is changed by exactly one of them.

    Looking is at least once: both may see a message before one of them acknowledges it, and its id tells the repeat.
    That one owner by lease hands mail over to an endpoint comes with the channels of a later issue.
    """
    with crew.house(home) as team:
        team.join("worker")
        boss = team.join("boss")
        ids = [boss.send("worker", str(number)).id for number in range(60)]
        readers = [Child(crew.ack_all, OWN, home=home, name="worker", ids=ids) for _ in range(3)]
        with children(*readers):
            start_together(readers)
            changed = [reader.finish()[0] for reader in readers]
        assert sorted(id for each in changed for id in each) == sorted(ids)
        for id in ids[:5]:
            assert stages(team, id) == {"worker": ["accepted", "acknowledged"]}
    assert ledger.faults(f"{home}/rookery.db", sent=ids, acked=ids) == []


@pytest.mark.parametrize(
    ("how", "state", "words"),
    [
        ("waiting", "woken", "rung"),
        ("live", "live", "no way to wake it"),
        pytest.param("left", "queued", "ended", marks=pytest.mark.slow),
        ("killed", "queued", "dead"),
        pytest.param("stopped", "queued", "stopped", marks=pytest.mark.slow),
        ("never", "queued", "never joined"),
    ],
)
def test_h9_the_sender_is_told_what_is_known(home: str, tmp_path: Path, how: str, state: str, words: str) -> None:
    (tmp_path / "rookery.toml").write_text('team = "crew"\n[agents]\nghost = {}\n')
    with rookery.connect(cwd=str(tmp_path), home=home) as team:
        boss = team.join("boss")
        with child(crew.be, OWN, home=home, name="worker", how=how) as worker:
            assert worker.hear() == "ready"
            if how == "killed":
                worker.kill()
            if how == "stopped":
                worker.stop()
            (told,) = boss.send("ghost" if how == "never" else "worker", "Hello").recipients
            if how == "stopped":
                worker.signal(signal.SIGCONT)
    assert told.state == state
    assert words in told.how


def test_h9_an_unknown_name_is_an_error(home: str) -> None:
    with crew.house(home) as team:
        boss = team.join("boss")
        team.join("implementer")
        with pytest.raises(rookery.UnknownName) as caught:
            boss.send("implementor", "Hello")
        assert caught.value.code == "UNKNOWN_AGENT"
        assert "implementer" in caught.value.hint
        before: Any = team.call("events")["newest"]
        with pytest.raises(rookery.UnknownName):
            boss.send(["implementer", "nobody"], "Hello")
        assert team.call("events")["newest"] == before
        assert team.agent("implementer").inbox() == []
