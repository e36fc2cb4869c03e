"""Delivery beside a model: whatever happens, in any order, what waits, is given up and told is what the model says.

The model knows nothing of cursors or ranges of tries: it counts, for each message, what happened to it.
"""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rookery.core import delivery
from tests.support import ledger
from tests.support.stage import SECOND, Stage

PANE = {"kind": "tmux", "socket": "/run/s", "server": "1 2", "pane": "%1"}
TRIES = 3
WHERE = {"agent": "ada", "channel": "terminal", "owner": "here:1:1"}


class Letter:
    """One message, by what happened to it."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.read = False
        self.told = False  # in this session, with its text or counted
        self.tries = 0  # that failed while it waited, since it was last begun anew
        self.state = ""  # dead, dropped
        self.handed = 0  # receipts that say so

    @property
    def waits(self) -> bool:
        """Someone is woken for it."""
        return not self.read and not self.told and not self.state


class DeliveryMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "ledger.db"
        self.stage = Stage(path, delivery__tries=TRIES, delivery__patience_s=10**7, mail__answer_s=0)
        self.letters: list[Letter] = []

    @initialize()
    def two_are_there(self) -> None:
        self.stage.join("bob")
        self.seat()

    def seat(self) -> None:
        self.stage.prober.states.clear()
        self.stage.clock.pass_time(SECOND)
        self.stage.join("ada", program="claude", terminal=PANE)

    def of(self, id: str) -> Letter:
        return next(letter for letter in self.letters if letter.id == id)

    # -- what happens --------------------------------------------------------------------------------------------------

    @rule(priority=st.sampled_from(["normal", "urgent"]), asks=st.booleans())
    def send(self, priority: str, asks: bool) -> None:
        sent = self.stage.send("bob", "ada", f"note {len(self.letters)}", priority=priority, asks=asks)
        self.letters.append(Letter(sent["id"]))

    @rule()
    def hand_over(self) -> None:
        offered = self.stage.call("delivery.offer", agent="ada")
        told = self.stage.call("delivery.done", **WHERE, shown=offered["shown"], upto=offered["upto"])
        self.was_told(told["handed_over"])

    @rule()
    def a_hook_shows_it(self) -> None:
        offered = self.stage.call("turn.offer", "ada", moment="after")
        told = self.stage.call("turn.told", "ada", moment="after", shown=offered["shown"], upto=offered["upto"])
        self.was_told(told["handed_over"])

    def was_told(self, handed: list[str]) -> None:
        unread = [letter for letter in self.letters if not letter.read and not letter.told]
        assert set(handed) <= {letter.id for letter in unread}, "nothing that was told before in this session"
        assert bool(handed) == bool(unread)
        for letter in unread:
            letter.told = True
            letter.state = "" if letter.state == "dead" else letter.state
            letter.handed += letter.id in handed

    @rule()
    def it_is_put_and_the_keeper_dies(self) -> None:
        """What was not written down did not happen."""
        self.stage.call("delivery.own", **WHERE)
        self.stage.call("delivery.offer", agent="ada")
        self.stage.clock.pass_time(31 * SECOND)

    @rule(reason=st.sampled_from(["injection-failed", "session-not-found"]))
    def it_fails(self, reason: str) -> None:
        self.stage.clock.pass_time(1)
        told = self.stage.call("delivery.failed", **WHERE, reason=reason)
        waiting = [letter for letter in self.letters if letter.waits]
        for letter in waiting:
            letter.tries += 1
        worn = [letter for letter in waiting if letter.tries >= TRIES]
        assert set(told["dead"]) == {letter.id for letter in worn}
        for letter in worn:
            letter.state = "dead"

    @rule(reason=st.sampled_from(["busy", "user-typing", "blocked"]))
    def it_is_not_the_moment(self, reason: str) -> None:
        assert self.stage.call("delivery.failed", **WHERE, reason=reason)["dead"] == []

    @precondition(lambda self: self.letters)
    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        letter = data.draw(st.sampled_from(self.letters))
        self.stage.call("read", "ada", id=letter.id)
        letter.read = True
        letter.state = "" if letter.state == "dead" else letter.state

    @rule()
    def a_new_session(self) -> None:
        self.seat()
        for letter in self.letters:
            letter.told = False
            letter.tries = 0

    @precondition(lambda self: any(letter.state == "dead" for letter in self.letters))
    @rule(data=st.data(), verb=st.sampled_from(["resend", "drop"]))
    def settle(self, data: st.DataObject, verb: str) -> None:
        letter = data.draw(st.sampled_from([letter for letter in self.letters if letter.state == "dead"]))
        self.stage.clock.pass_time(1)
        self.stage.call(f"dead.{verb}", "bob", id=letter.id)
        letter.state = "" if verb == "resend" else "dropped"
        if verb == "resend":  # a fresh start for all that waits
            for each in self.letters:
                each.tries = 0

    # -- what must be so -----------------------------------------------------------------------------------------------

    @invariant()
    def what_waits_is_what_the_model_says(self) -> None:
        if not self.letters:
            return
        found = self.stage.call("wake", "bob", name="ada")["waiting"]
        assert found == sum(letter.waits for letter in self.letters)
        due = self.stage.call("delivery.due", owner=WHERE["owner"])["due"]
        assert bool(due) == bool(found), "after a wake everything that waits is tried at once"

    @invariant()
    def nothing_is_lost(self) -> None:
        unread = {each["id"] for each in self.stage.inbox("ada", limit=1000)} if self.letters else set()
        assert unread == {letter.id for letter in self.letters if not letter.read}

    @invariant()
    def dead_letters_agree(self) -> None:
        listed = {each["id"] for each in self.stage.call("dead", "bob")["letters"]} if self.letters else set()
        assert listed == {letter.id for letter in self.letters if letter.state == "dead"}

    @invariant()
    def receipts_tell_each_hand_over_once(self) -> None:
        for letter in self.letters:
            (told,) = self.stage.call("receipts", "bob", id=letter.id)["recipients"]
            assert [each["stage"] for each in told["receipts"]].count("handed-over") == letter.handed

    def teardown(self) -> None:
        assert ledger.faults(self.stage.store.location) == []
        self.stage.close()
        self.folder.cleanup()


def run(count: int, *phases: Phase) -> None:
    asked = settings(max_examples=count, stateful_step_count=25, deadline=None, phases=phases or tuple(Phase))
    run_state_machine_as_test(DeliveryMachine, settings=asked)


@pytest.mark.slow
def test_delivery_is_what_the_model_says() -> None:
    run(10)


@pytest.mark.slow
def test_delivery_is_what_the_model_says_for_long() -> None:
    run(100)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_control_a_law_by_which_a_busy_agent_wears_its_mail_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "OF_THE_MOMENT", frozenset[Any]())
    with pytest.raises(AssertionError):
        run(1000, Phase.generate)
