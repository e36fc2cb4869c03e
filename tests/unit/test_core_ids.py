"""Ids are short, legible and sort by time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import ids
from rookery.core.errors import BadInput

LAST = ids.EPOCH_MS + (1 << ids.TIME_BITS) - 1
moments = st.integers(ids.EPOCH_MS, LAST)
chances = st.integers(0, (1 << ids.CHANCE_BITS) - 1)
anything = st.integers(-(2**70), 2**70)


def test_known_ids() -> None:
    assert ids.message_id(ids.EPOCH_MS, 0) == "MSG-000000000000"
    assert ids.message_id(ids.EPOCH_MS, 33) == "MSG-000000000011"
    assert ids.message_id(ids.EPOCH_MS + 1, 0) == "MSG-00000000g000"
    assert ids.message_id(LAST, (1 << ids.CHANCE_BITS) - 1) == "MSG-zzzzzzzzzzzz"


@given(anything, anything)
def test_the_form_holds_for_any_time_and_chance(now: int, chance: int) -> None:
    assert re.fullmatch(r"MSG-[0-9abcdefghjkmnpqrstvwxyz]{12}", ids.message_id(now, chance))
    assert ids.short_id("ESC-", now, chance) == "ESC-" + ids.message_id(now, chance)[4:]


@given(moments, moments, chances, chances)
def test_ids_sort_by_time_then_chance(now: int, later: int, chance: int, other: int) -> None:
    first, second = ids.message_id(now, chance), ids.message_id(later, other)
    assert (first < second) == ((now, chance) < (later, other))
    assert (first == second) == ((now, chance) == (later, other))


@given(st.integers(0, 10**15), chances)
def test_times_outside_the_range_clamp(beyond: int, chance: int) -> None:
    assert ids.message_id(ids.EPOCH_MS - beyond, chance) == ids.message_id(ids.EPOCH_MS, chance)
    assert ids.message_id(LAST + beyond, chance) == ids.message_id(LAST, chance)


@given(moments, anything)
def test_only_the_lowest_bits_of_chance_count(now: int, chance: int) -> None:
    assert ids.message_id(now, chance) == ids.message_id(now, chance % (1 << ids.CHANCE_BITS))


@given(st.from_regex(r"MSG-[A-Za-z0-9_-]{1,40}", fullmatch=True), st.integers(1, 10**17))
def test_a_copy_tells_its_message_and_its_agent(message: str, agent: int) -> None:
    copy = ids.copy_id(message, agent)
    assert ids.split_copy(copy) == (message, agent)
    assert ids.check_message_id(copy) == copy


@pytest.mark.parametrize(
    "id", ["", "MSG-", "MSG-a", "MSG-a-", "MSG-a-0", "MSG-a-07", "MSG-a-\u0663", "MSG-a-" + "9" * 19]
)
def test_what_is_no_copy(id: str) -> None:
    assert ids.split_copy(id) is None


@pytest.mark.parametrize(
    "id", ["", "MSG-", "msg-a", "abc", "MSG-a/b", "MSG-..", "MSG-a\n", "MSG-\u00e9", "MSG-" + "a" * 65]
)
def test_ids_that_could_be_something_else_are_refused(id: str) -> None:
    with pytest.raises(BadInput):
        ids.check_message_id(id)
