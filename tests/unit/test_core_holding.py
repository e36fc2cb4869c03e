"""The law of reservations and slots, in pure values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import errors, holding
from rookery.core.holding import EXCLUSIVE, EXTENSIONS, SHARED, Lease
from rookery.core.presence import Liveness

TTL = 1_000
GONE = (Liveness.DEAD, Liveness.ENDED)
times = st.integers(0, 20 * TTL)
keepers = st.sampled_from([None, *Liveness])


@given(now=times, expires=times, renewed=times, keeper=keepers, seen=st.booleans())
def test_when_a_hold_stands(now: int, expires: int, renewed: int, keeper: Liveness | None, seen: bool) -> None:
    stands = holding.stands(Lease(expires, renewed, TTL), now, keeper, seen)
    if keeper in GONE:
        assert not stands, "the dead hold nothing"
    elif expires > now:
        assert stands, "a lease never ends early"
    elif stands:
        assert seen
        assert keeper is Liveness.LIVE
        assert now < renewed + EXTENSIONS * TTL, "nor does it last for ever"


def test_a_running_holder_is_given_more_time_up_to_the_limit() -> None:
    lease = Lease(TTL, 0, TTL)
    over = EXTENSIONS * TTL
    assert holding.stands(lease, over - 1, Liveness.LIVE, True)
    assert not holding.stands(lease, over, Liveness.LIVE, True)
    assert not holding.stands(lease, TTL, Liveness.LIVE, False), "another machine's process can not be seen"
    assert not holding.stands(lease, TTL, Liveness.STOPPED, True)
    assert holding.ends_at(lease, 0) == TTL
    assert holding.ends_at(lease, TTL) == 2 * TTL
    assert holding.ends_at(lease, over - 1) == over


@pytest.mark.parametrize(("mode", "other", "clash"), [
    (EXCLUSIVE, EXCLUSIVE, True), (EXCLUSIVE, SHARED, True), (SHARED, EXCLUSIVE, True), (SHARED, SHARED, False),
])  # fmt: skip
def test_only_those_who_share_can_have_the_same(mode: str, other: str, clash: bool) -> None:
    assert holding.clash(mode, other) is clash


def test_a_slot_is_full_when_those_before_fill_it() -> None:
    assert all(holding.fits(2, taken, before) for taken, before in ((0, 0), (1, 0), (0, 1)))
    assert not any(holding.fits(2, taken, before) for taken, before in ((1, 1), (2, 0), (0, 2), (3, 0)))


@pytest.mark.parametrize("name", ["build", "port:3000", "db:test", "a", "_x", "9", "gpu/0", "x" * 100])
def test_names_of_slots(name: str) -> None:
    assert holding.check_slot(name) == name


@pytest.mark.parametrize("name", ["", " ", ":x", "-x", "a b", "a\n", "ü", "x" * 101, "a\x1b[0m", "$(x)"])
def test_no_names_of_slots(name: str) -> None:
    with pytest.raises(errors.BadInput) as caught:
        holding.check_slot(name)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("capacity", [0, -1, 10_001])
def test_no_capacities(capacity: int) -> None:
    with pytest.raises(errors.BadInput):
        holding.check_capacity(capacity)


def test_a_refusal_tells_everything() -> None:
    held = holding.Other("SwiftRaven", "src/", "held", "editing the parser", "2026-01-01T13:00:00.000Z",
                         "2026-01-01T14:05:00.000Z")  # fmt: skip
    error = holding.refusal([held, held], "rook reserve src/x --wait 300")
    assert error.code == "RESERVED"
    for part in ("src/", "SwiftRaven", "until 14:05Z", "editing the parser", "since 13:00Z", "1 more"):
        assert part in error.message
    assert "rook send SwiftRaven" in error.hint
    assert "--wait 300" in error.hint
    assert error.facts["others"][0]["until"] == held.until
    waiting = holding.refusal([held._replace(state="waiting")], "x")
    assert "before you in line" in waiting.message
    assert "rook send" not in holding.refusal([held._replace(name="user")], "x").hint, "the person is asked in person"
