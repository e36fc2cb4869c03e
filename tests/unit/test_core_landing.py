"""The law of landing, alone: whose turn it is, what a crash left, which one is guilty, and who may decide."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rookery.core import landing
from rookery.core.landing import Entry, Judged, Next, Search, Seen, State, Step

ME, OTHER, GONE = "here:1:a", "here:2:b", "here:3:c"


def turn(*line: Entry, owner: str = ME, now: int = 100, most: int = 1) -> landing.Turn:
    return landing.turn(line, owner, now, most, lambda name: name == GONE)


# --- whose turn it is -------------------------------------------------------------------------------------------------


def test_the_oldest_comes_first_and_no_more_than_asked_for() -> None:
    line = [Entry(n, State.QUEUED) for n in range(1, 6)]
    assert turn(*line) == ("land", (1,), None)
    assert turn(*line, most=3).members == (1, 2, 3)


def test_while_another_has_the_branch_there_is_nothing_to_do_until_its_lease_is_over() -> None:
    line = [Entry(1, State.WORKING, Step.CHECKING, OTHER, 150), Entry(2, State.QUEUED)]
    assert turn(*line) == ("", (), 150)
    assert turn(*line, now=150).members == (1,)


def test_what_someone_left_who_is_gone_needs_no_lease_to_run_out() -> None:
    line = [Entry(1, State.WORKING, Step.MERGING, GONE, 10_000), Entry(2, State.QUEUED)]
    assert turn(*line) == ("land", (1,), None)


def test_what_was_to_move_is_gone_on_with_before_anything_else_and_as_a_whole() -> None:
    moving = [Entry(n, State.WORKING, Step.MOVING, GONE, 10_000) for n in (3, 4)]
    line = [Entry(1, State.UNDOING), Entry(2, State.QUEUED), *moving, Entry(5, State.QUEUED)]
    assert turn(*line) == ("resume", (3, 4), None)


def test_taking_back_comes_before_landing_more() -> None:
    assert turn(Entry(1, State.QUEUED), Entry(2, State.UNDOING), Entry(3, State.UNDOING)) == ("undo", (2,), None)


def test_what_is_to_be_tried_later_lets_others_pass_and_says_when() -> None:
    assert turn(Entry(1, State.QUEUED, not_before=500), Entry(2, State.QUEUED)).members == (2,)
    assert turn(Entry(1, State.QUEUED, not_before=500)) == ("", (), 500)
    assert turn() == ("", (), None)


entries = st.builds(
    Entry,
    n=st.integers(1, 50),
    state=st.sampled_from([State.QUEUED, State.WORKING, State.UNDOING]),
    step=st.sampled_from(list(Step)),
    owner=st.sampled_from(["", ME, OTHER, GONE]),
    owned_to=st.integers(0, 200),
    not_before=st.integers(0, 200),
)


@given(st.lists(entries, unique_by=lambda each: each.n), st.integers(1, 5))
def test_nobody_is_given_what_another_one_has(line: list[Entry], most: int) -> None:
    line = sorted(line)
    found = turn(*line, most=most)
    chosen = [each for each in line if each.n in found.members]
    busy = [each for each in line if each.owner == OTHER and each.state != State.QUEUED and each.owned_to > 100]
    assert not (busy and chosen), "one has a branch at a time"
    assert all(each.not_before <= 100 for each in chosen)
    assert len(chosen) <= most or found.kind == "resume"
    assert not line or found.kind or found.after is not None, "something is always next"


# --- which one is guilty ----------------------------------------------------------------------------------------------


@given(st.integers(1, 100), st.data())
def test_the_guilty_one_is_found_in_as_many_checks_as_there_are_halves(count: int, data: st.DataObject) -> None:
    guilty = data.draw(st.integers(0, count - 1))
    search, checks = Search(0, count), 0
    while not search.found:
        probe = search.probe()
        assert search.good < probe < search.bad
        search, checks = search.told(probe, passed=probe <= guilty), checks + 1
    assert search.good == guilty
    assert checks <= count.bit_length()


# --- crashes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tip", "has", "exists", "wanted"),
    [
        ("E", False, True, Next.MOVE),
        ("R", True, True, Next.LANDED),
        ("X", True, True, Next.LANDED),
        ("X", False, True, Next.ANEW),
        ("E", False, False, Next.ANEW),
    ],
)
def test_what_a_crash_left_is_read_from_where_the_branch_is(tip: str, has: bool, exists: bool, wanted: Next) -> None:
    assert landing.next_move("E", "R", Seen(tip, has, exists)) is wanted


@pytest.mark.parametrize(
    ("links", "is_one"),
    [
        ([("a", "b"), ("b", "c")], True),
        ([("a", "b")], True),
        ([("a", "b"), ("x", "c")], False),
        ([], False),
        ([("", "b")], False),
    ],
)
def test_a_chain_has_no_gap(links: Sequence[tuple[str, str]], is_one: bool) -> None:
    assert landing.is_chain(links) is is_one


class Queue(RuleBasedStateMachine):
    """Landers that die between any two steps, and a person who commits in between: a branch is a list of what it has.

    `row` is what the ledger has of one change; a lander's own memory is lost with it."""

    @initialize()
    def begin(self) -> None:
        self.branch = ["base"]
        self.row = {"state": "queued", "expected": 0, "result": ""}
        self.made = 0
        self.landed = 0
        self.memory: str = ""  # what the lander that lives has made

    @rule()
    def a_person_commits(self) -> None:
        self.branch.append(f"p{len(self.branch)}")

    @rule()
    def the_lander_dies(self) -> None:
        self.memory = ""

    @rule()
    def it_merges_and_writes_that_down(self) -> None:
        if self.row["state"] == "queued":
            self.made += 1
            self.memory = f"change#{self.made}"
            self.row = {"state": "moving", "expected": len(self.branch), "result": self.memory}

    @rule()
    def whoever_lives_goes_on(self) -> None:
        if self.row["state"] != "moving":
            return
        tip = f"{len(self.branch)}"
        seen = Seen(tip, self.row["result"] in self.branch)
        next = landing.next_move(f"{self.row['expected']}", str(self.row["result"]), seen)
        if next is Next.MOVE:
            self.branch.append(str(self.row["result"]))  # and dies here as likely as not: nothing is written
        elif next is Next.LANDED:
            self.row["state"] = "landed"
            self.landed += 1
        else:
            self.row = {"state": "queued", "expected": 0, "result": ""}

    @invariant()
    def it_is_there_once_at_most_and_landed_means_there(self) -> None:
        there = [each for each in self.branch if each.startswith("change#")]
        assert len(there) <= 1
        assert self.landed <= 1
        assert not self.landed or there


TestQueue = Queue.TestCase


# --- who may decide ---------------------------------------------------------------------------------------------------

OPEN = Judged("change-0002", False, False, True, "completed", "", "change-0002", "main")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (OPEN, ""),
        (OPEN._replace(by_author=True), ""),
        (OPEN._replace(by_author=True, review="SHIP"), ""),
        (OPEN._replace(by_author=True, review="pending"), "OWN_WORK"),
        (OPEN._replace(by_author=True, review="wanted"), "OWN_WORK"),
        (OPEN._replace(by_author=True, may_steer=True, review="pending"), "OWN_WORK"),
        (OPEN._replace(review="pending"), "NOT_REVIEWED"),
        (OPEN._replace(review="pending", may_steer=True), ""),
        (OPEN._replace(status="pending"), "TASK_NOT_DONE"),
        (OPEN._replace(status="pending", may_steer=True), ""),
        (OPEN._replace(newest="change-0003"), "SUPERSEDED"),
        (OPEN._replace(branch=""), "NO_BRANCH"),
        (OPEN._replace(has_task=False, status=""), ""),
    ],
)
def test_nobody_promotes_what_nobody_else_has_looked_at(change: Judged, code: str) -> None:
    refusal = landing.add_refusal(change)
    assert (refusal.code if refusal else "") == code


@pytest.mark.parametrize(
    ("terms", "auto", "wanted"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"land": True}, False, True),
        ({"land": False}, True, False),
        ({"land": "x"}, True, True),
    ],
)
def test_the_crews_own_word_comes_before_the_setting(terms: dict[str, object], auto: bool, wanted: bool) -> None:
    assert landing.is_wanted(terms, auto) is wanted


@given(st.text("aZ9_./-@# \tä漢", min_size=1, max_size=150))
def test_every_branch_has_a_slot_of_a_name_that_slots_take(branch: str) -> None:
    from rookery.core.holding import check_slot

    check_slot(landing.slot_of(branch))


@pytest.mark.parametrize(("name", "part"), [("crew", "crew"), ("a..b", "x-612e2e62"), ("x.lock", "x-782e6c6f636b")])
def test_a_team_of_any_name_has_refs(name: str, part: str) -> None:
    assert landing.keep_under(name, "w1") == f"refs/rookery/{part}/w1"
