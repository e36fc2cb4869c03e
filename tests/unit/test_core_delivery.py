"""The law of delivery: when mail is tried again, which way it goes, and when a way rests."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import delivery
from rookery.core.delivery import Channel, Circuit, Limits, Reason, Standing, Way

LIMITS = Limits()
IDLE = Standing(hooks=True, phase="idle", live=True)
BUSY = Standing(hooks=True, phase="busy", live=True)


def choose(ways: list[Way], standing: Standing = IDLE, waited_ms: int = 0, now: int = 1_000_000) -> delivery.Choice:
    return delivery.chosen(ways, standing, waited_ms=waited_ms, now=now, limits=LIMITS)


def test_the_waits_between_tries_are_those_of_seed_001():
    assert [delivery.backoff_ms(tries, LIMITS) for tries in range(1, 7)] == [
        5000,
        10_000,
        20_000,
        30_000,
        30_000,
        30_000,
    ]


@given(st.integers(0, 10_000), st.integers(1, 10**7), st.integers(1, 10**8))
def test_a_wait_is_never_shorter_than_the_first_nor_longer_than_the_most(tries: int, first: int, most: int):
    limits = Limits(first_ms=min(first, most), most_ms=most)
    waits = [delivery.backoff_ms(each, limits) for each in (tries, tries + 1)]
    assert limits.first_ms <= waits[0] <= waits[1] <= most


def test_seven_reasons_and_which_are_of_the_moment():
    assert {reason.value for reason in Reason if reason not in delivery.OF_THE_MOMENT} == {
        "session-not-found", "injection-failed"
    }  # fmt: skip


# -- the circuit -----------------------------------------------------------------------------------------------------


def test_five_failures_in_a_row_open_it_and_a_minute_later_it_is_tried_once():
    circuit = Circuit()
    for _ in range(4):
        circuit = circuit.failed(1000, LIMITS)
    assert circuit.state(1000) == "closed"
    circuit = circuit.failed(1000, LIMITS)
    assert [circuit.state(now) for now in (1000, 60_999, 61_000)] == ["open", "open", "half-open"]
    assert circuit.failed(61_000, LIMITS).state(61_001) == "open", "one more failure, and it rests again"
    assert Circuit().state(10**12) == "closed"


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 100_000)), max_size=60), st.integers(1, 8))
def test_the_circuit_against_a_plain_count(tries: list[tuple[bool, int]], failures: int):
    """Used only while it may be: it never lets more than `failures` failures pass without a pause between them."""
    limits, circuit, now, row, used = Limits(failures=failures), Circuit(), 1, 0, list[int]()
    for succeeds, later in tries:
        now += later
        if circuit.state(now) == "open":
            continue
        if succeeds:
            circuit, row = Circuit(), 0
        else:
            circuit, row = circuit.failed(now, limits), row + 1
            used.append(now)
        assert (circuit.state(now) == "open") == (row >= failures)
        if row > failures:
            assert used[-1] - used[-2] >= limits.pause_ms


# -- which way -------------------------------------------------------------------------------------------------------


def test_the_best_way_is_used():
    ways = [Way(channel) for channel in reversed(Channel) if channel is not Channel.DOOR]
    for best in (Channel.QUEUE, Channel.TERMINAL, Channel.RESUME, Channel.COMMAND, Channel.WEBHOOK, Channel.NOTIFY):
        assert choose(ways).channel == best
        ways = [way for way in ways if way.channel != best]
    assert choose([]) == delivery.NO_WAY


def test_what_works_by_itself_is_left_to_it_for_a_while():
    ways = [Way(Channel.DOOR), Way(Channel.TERMINAL)]
    assert choose(ways, waited_ms=4_999) == delivery.Choice("", 1, delivery.HOW[Channel.DOOR])
    assert choose(ways, waited_ms=5_000).channel == Channel.TERMINAL
    assert choose([Way(Channel.DOOR)], waited_ms=5_000).wait_ms, "nothing else is there: it is looked at again"


def test_a_program_that_works_is_left_to_its_hooks():
    assert choose([Way(Channel.TERMINAL)], BUSY).channel == ""
    assert choose([Way(Channel.TERMINAL)], BUSY._replace(hooks=False)).channel == Channel.TERMINAL, "it has none"
    assert choose([Way(Channel.TERMINAL)], BUSY._replace(live=False)).channel == Channel.TERMINAL, "it is gone"
    both = [Way(Channel.QUEUE), Way(Channel.TERMINAL), Way(Channel.RESUME)]
    assert choose(both, IDLE).channel == Channel.QUEUE
    assert choose(both, IDLE._replace(live=False)).channel == Channel.RESUME, "the others need its program"


def test_a_way_that_rests_is_passed_over_and_one_that_waits_is_waited_for():
    resting = Way(Channel.TERMINAL, circuit=Circuit(5, 1_000_500))
    assert choose([resting, Way(Channel.COMMAND)]).channel == Channel.COMMAND
    assert choose([resting]).wait_ms == 500
    assert choose([resting], now=1_000_500).channel == Channel.TERMINAL, "tried once"
    waiting = Way(Channel.TERMINAL, next_at=1_000_300)
    assert choose([waiting, Way(Channel.COMMAND)]) == delivery.Choice("", 300, delivery.HOW[Channel.TERMINAL])
    assert choose([Way(Channel.TERMINAL, works=False)]) == delivery.NO_WAY


WAYS = st.lists(
    st.builds(
        Way,
        st.sampled_from(list(Channel)),
        st.booleans(),
        st.integers(0, 200),
        st.builds(Circuit, st.integers(0, 9), st.integers(0, 200)),
    ),
    max_size=5,
    unique_by=lambda way: way.channel,
)
STANDINGS = st.builds(Standing, st.booleans(), st.sampled_from(["", "busy", "idle", "blocked"]), st.booleans())


@given(WAYS, STANDINGS, st.integers(0, 10_000), st.integers(0, 200))
def test_a_choice_is_usable_now_or_says_when_to_look_again(
    ways: list[Way], standing: Standing, waited_ms: int, now: int
):
    choice = delivery.chosen(ways, standing, waited_ms=waited_ms, now=now, limits=LIMITS)
    if choice.channel:
        (way,) = [each for each in ways if each.channel == choice.channel]
        assert way.works
        assert way.next_at <= now
        assert way.circuit.state(now) != "open"
        assert choice.channel not in delivery.BY_ITSELF
    elif any(way.works for way in ways):
        assert choice.wait_ms
        assert choice.wait_ms > 0, "mail that can be delivered is never forgotten, and never looked at without end"


# -- what a sender is told -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("channels", "standing", "kept", "said"),
    [
        ([Channel.TERMINAL], IDLE, True, "typed into its terminal when that is idle"),
        ([Channel.TERMINAL], IDLE, False, "once `rook up` runs"),
        ([Channel.TERMINAL], BUSY, False, "shown by its hooks"),
        ([Channel.TERMINAL], Standing(), True, ""),
        ([Channel.TERMINAL, Channel.COMMAND], Standing(), True, "a command is run for it"),
        ([Channel.DOOR, Channel.TERMINAL], IDLE, False, "handed in by its own program"),
        ([], IDLE, True, ""),
    ],
)
def test_what_is_known_is_told_and_no_more(channels: list[Channel], standing: Standing, kept: bool, said: str):
    told = delivery.told([Way(channel) for channel in channels], standing, kept=kept)
    assert told == "" if not said else said in told


def test_the_ways_are_in_order():
    assert all(
        delivery.BEST_FIRST.index(one) < delivery.BEST_FIRST.index(two) for one, two in pairwise(delivery.BEST_FIRST)
    )
    assert set(delivery.HOW) == set(Channel)
