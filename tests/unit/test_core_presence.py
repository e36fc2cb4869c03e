"""Liveness decides, status shows; both to the millisecond."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.presence import Liveness, Thresholds, auto_status, is_live, liveness, status

NOW = 1_000_000_000
LEASE = 60_000
processes = st.sampled_from(["running", "stopped", "dead", None])


def alive(*, ended: bool = False, local: bool = False, process: str | None = None, age: int = 0) -> Liveness:
    return liveness(ended=ended, local=local, process=process, heartbeat_at=NOW - age, now=NOW, lease_ms=LEASE)


@pytest.mark.parametrize(
    ("process", "verdict"),
    [("running", Liveness.LIVE), ("stopped", Liveness.STOPPED), ("dead", Liveness.DEAD)],
)
@pytest.mark.parametrize("age", [0, LEASE, 100 * LEASE])
def test_a_local_process_decides_whatever_the_heartbeat(process: str, verdict: Liveness, age: int) -> None:
    assert alive(local=True, process=process, age=age) is verdict


@pytest.mark.parametrize(("local", "process"), [(False, "running"), (False, "dead"), (False, None), (True, None)])
def test_otherwise_the_heartbeat_lease_decides(local: bool, process: str | None) -> None:
    assert alive(local=local, process=process, age=LEASE - 1) is Liveness.LIVE
    assert alive(local=local, process=process, age=LEASE) is Liveness.LAPSED
    assert alive(local=local, process=process, age=-5) is Liveness.LIVE


@given(st.booleans(), processes, st.integers(-LEASE, 10 * LEASE))
def test_an_ended_session_is_ended(local: bool, process: str | None, age: int) -> None:
    assert alive(ended=True, local=local, process=process, age=age) is Liveness.ENDED


@given(st.booleans(), processes, st.integers(0, 10 * LEASE), st.integers(0, 10 * LEASE))
def test_a_session_never_revives_by_growing_older(local: bool, process: str | None, age: int, more: int) -> None:
    before, after = (is_live(alive(local=local, process=process, age=a)) for a in (age, age + more))
    assert before or not after


def test_only_live_is_live() -> None:
    assert [state for state in Liveness if is_live(state)] == [Liveness.LIVE]
    assert list(Liveness) == ["live", "stopped", "dead", "lapsed", "ended"]


def shown(age_ms: int, *, work: bool = False, live: bool = True, thresholds: Thresholds | None = None) -> str:
    limits = thresholds or Thresholds()
    return status(live=live, activity_at=NOW - age_ms, now=NOW, has_work=work, thresholds=limits)


@pytest.mark.parametrize(
    ("age_ms", "without", "with_work"),
    [
        (-1, "active", "active"),
        (0, "active", "active"),
        (29_999, "active", "active"),
        (30_000, "idle", "idle"),
        (300_000, "idle", "idle"),
        (300_001, "away", "idle"),
        (900_000, "away", "idle"),
        (900_001, "away", "stuck"),
        (10**9, "away", "stuck"),
    ],
)
def test_status_boundaries(age_ms: int, without: str, with_work: str) -> None:
    assert shown(age_ms) == without
    assert shown(age_ms, work=True) == with_work
    assert shown(age_ms, live=False) == shown(age_ms, live=False, work=True) == "offline"


def test_the_stuck_threshold_is_settable() -> None:
    soon = Thresholds(stuck_ms=60_000)
    assert shown(60_000, work=True, thresholds=soon) == "idle"
    assert shown(60_001, work=True, thresholds=soon) == "stuck"
    assert shown(60_001, thresholds=soon) == "idle"


@given(st.integers(0, 10**7), st.booleans(), st.booleans())
def test_status_is_one_of_five(age: int, work: bool, live: bool) -> None:
    word = shown(age, work=work, live=live)
    assert word in {"active", "idle", "away", "stuck", "offline"}
    assert (word == "offline") == (not live)
    assert word != "stuck" or work
    assert word != "away" or not work


def auto(age_ms: int = 10**6, **recent: int) -> str:
    return auto_status(joined_at=NOW - age_ms, now=NOW, recent=recent)


@pytest.mark.parametrize(
    ("recent", "says"),
    [
        ({}, ""),
        ({"commit": 1}, "just shipped"),
        ({"commit": 1, "test": 5, "edit": 20, "read": 9}, "just shipped"),
        ({"test": 2}, ""),
        ({"test": 3}, "debugging..."),
        ({"test": 3, "edit": 8}, "debugging..."),
        ({"edit": 7, "read": 5}, ""),
        ({"edit": 8, "read": 5}, "on fire"),
        ({"read": 1}, "exploring the codebase"),
        ({"read": 4, "edit": 1}, ""),
        ({"read": 4, "test": 1}, ""),
    ],
)
def test_auto_status(recent: dict[str, int], says: str) -> None:
    assert auto(**recent) == says
    assert auto(29_999, **recent) == "just arrived"
    assert auto(30_000, **recent) == says


def test_the_arrival_window_is_settable() -> None:
    assert auto_status(joined_at=NOW - 5, now=NOW, recent={}, arrived_ms=5) == ""
    assert auto_status(joined_at=NOW - 4, now=NOW, recent={}, arrived_ms=5) == "just arrived"
