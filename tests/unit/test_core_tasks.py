"""The law of tasks, rule by rule."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import errors, tasks
from rookery.core.tasks import Hold, Status, Verdict

NOW = 1_000_000
ADA, BOB = 1, 2


def held(
    status: Status = Status.IN_PROGRESS, holder: int | None = ADA, epoch: int = 3, left: int | None = 60_000
) -> Hold:
    return Hold(status, holder, epoch, None if left is None else NOW + left)


# --- what everyone sees ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "seen"), [(1, Status.IN_PROGRESS), (0, Status.PENDING), (-1, Status.PENDING), (None, Status.PENDING)]
)
def test_a_lapsed_lease_holds_nothing(left: int | None, seen: Status) -> None:
    """Its last millisecond is the one before `lease_until`: never early, never late."""
    assert tasks.effective(held(left=left), NOW) is seen


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.IN_PROGRESS])
def test_no_other_status_is_changed_by_time(status: Status) -> None:
    for left in (None, -1, 0, 1):
        assert tasks.effective(held(status, left=left), NOW) is status


# --- writing under a lease -------------------------------------------------------------------------------------------


def refusal(hold: Hold, agent: int = ADA, epoch: int = 3) -> tuple[str, int] | None:
    error = tasks.lease_refusal(hold, agent, epoch, NOW)
    if error is None:
        return None
    assert isinstance(error, errors.LeaseLost), "whoever asks for it holds nothing (any more)"
    assert error.hint
    return error.code, error.http_status


def test_the_holder_may_write_under_its_epoch() -> None:
    assert refusal(held()) is None
    assert refusal(held(left=1)) is None


EXPIRED = ("LEASE_EXPIRED", 403)
NOT_IN_PROGRESS = ("TASK_NOT_IN_PROGRESS", 409)
MISMATCH = ("LEASE_HOLDER_MISMATCH", 403)
STALE = ("EPOCH_MISMATCH", 409)


@pytest.mark.parametrize(
    ("hold", "agent", "epoch", "told"),
    [
        # One thing is wrong.
        (held(Status.PENDING, None, left=None), ADA, 3, NOT_IN_PROGRESS),
        (held(Status.BLOCKED, None, left=None), ADA, 3, NOT_IN_PROGRESS),
        (held(left=0), ADA, 3, EXPIRED),
        (held(), BOB, 3, MISMATCH),
        (held(), ADA, 2, STALE),
        (held(), ADA, 4, STALE),
        # Two or more are: not in progress before expired before the wrong holder before the wrong epoch.
        (held(Status.PENDING, None, left=None), BOB, 2, NOT_IN_PROGRESS),
        (held(Status.COMPLETED, ADA, left=-1), ADA, 3, NOT_IN_PROGRESS),
        (held(Status.FAILED, ADA, left=-1), BOB, 2, NOT_IN_PROGRESS),
        (held(Status.CANCELED, ADA, left=60_000), ADA, 3, NOT_IN_PROGRESS),
        (held(left=0), BOB, 3, EXPIRED),
        (held(left=0), ADA, 2, EXPIRED),
        (held(left=0), BOB, 2, EXPIRED),
        (held(), BOB, 2, MISMATCH),
    ],
)
def test_the_order_of_the_protocol(hold: Hold, agent: int, epoch: int, told: tuple[str, int]) -> None:
    assert refusal(hold, agent, epoch) == told


@pytest.mark.parametrize("written_down_as", [Status.IN_PROGRESS, Status.PENDING, Status.BLOCKED])
def test_a_lapse_is_told_the_same_before_and_after_it_is_written_down(written_down_as: Status) -> None:
    """The last lease is kept: as pending, or as blocked after the last attempt."""
    assert refusal(held(written_down_as, left=-5)) == EXPIRED


@given(
    status=st.sampled_from(Status), holder=st.sampled_from([None, ADA, BOB]), epoch=st.integers(0, 3),
    left=st.one_of(st.none(), st.integers(-3, 3)), agent=st.sampled_from([ADA, BOB]), under=st.integers(0, 3),
)  # fmt: skip
def test_only_the_holder_of_a_live_lease_writes(
    status: Status, holder: int | None, epoch: int, left: int | None, agent: int, under: int
) -> None:
    hold = held(status, holder, epoch, left)
    may = status is Status.IN_PROGRESS and holder == agent and epoch == under and left is not None and left > 0
    assert (tasks.lease_refusal(hold, agent, under, NOW) is None) is may


# --- claiming --------------------------------------------------------------------------------------------------------


def claim(hold: Hold, **more: Any) -> errors.Refused | None:
    facts: dict[str, Any] = {"assignee": None, "why": "", "unmet": (), "holder": "ada", "until": "12:05Z"}
    return tasks.claim_refusal(hold, NOW, **(facts | more))


def test_what_is_pending_can_be_claimed() -> None:
    assert claim(held(Status.PENDING, None, left=None)) is None
    assert claim(held(Status.PENDING, ADA, left=-1)) is None, "a lease that was kept is no hindrance"
    assert claim(held(left=0)) is None, "neither is one that lapsed just now"


@pytest.mark.parametrize(
    ("hold", "more", "word"),
    [
        (held(), {}, "ada until 12:05Z"),
        (held(left=1), {}, "ada"),
        (held(Status.PENDING, None), {"assignee": "bob"}, "assigned to bob"),
        (held(left=0), {"assignee": "bob"}, "assigned to bob"),
        (held(Status.BLOCKED, None), {"unmet": ["task-0001", "task-0002"]}, "waits for task-0001, task-0002"),
        (held(Status.BLOCKED, None), {"why": "no \x1b[31mkey"}, "blocked: no key"),
        (held(Status.COMPLETED, None), {}, "completed"),
        (held(Status.FAILED, None), {}, "failed"),
        (held(Status.CANCELED, None), {}, "canceled"),
    ],
)
def test_what_can_not_be_claimed_says_why(hold: Hold, more: dict[str, Any], word: str) -> None:
    error = claim(hold, **more)
    assert error is not None
    assert (error.code, error.http_status) == ("TASK_NOT_CLAIMABLE", 409)
    assert word in error.message
    assert error.hint


# --- what becomes of it ----------------------------------------------------------------------------------------------


def test_the_last_attempt_leaves_it_blocked() -> None:
    assert [tasks.after_setback(n, 3, Status.FAILED) for n in (1, 2, 3, 4)] == [
        Status.FAILED,
        Status.FAILED,
        Status.BLOCKED,
        Status.BLOCKED,
    ]
    assert tasks.after_setback(1, 1, Status.PENDING) is Status.BLOCKED


@pytest.mark.parametrize(
    ("status", "review", "met"),
    [
        (Status.COMPLETED, "", True),
        (Status.COMPLETED, "SHIP", True),
        (Status.COMPLETED, "pending", False),
        (Status.COMPLETED, "wanted", False),
        (Status.CANCELED, "", False),
        (Status.FAILED, "", False),
        (Status.IN_PROGRESS, "SHIP", False),
    ],
)
def test_what_releases_those_who_wait(status: Status, review: str, met: bool) -> None:
    assert tasks.is_met(status, review) is met


@pytest.mark.parametrize(
    ("unmet", "strict", "why", "status"),
    [
        (0, True, "", Status.PENDING),
        (1, True, "", Status.BLOCKED),
        (1, False, "", Status.PENDING),
        (0, True, "no key", Status.BLOCKED),
        (0, False, "no key", Status.BLOCKED),
    ],
)
def test_where_a_task_opens(unmet: int, strict: bool, why: str, status: Status) -> None:
    assert tasks.opening(unmet, strict, why) is status


def test_verdicts() -> None:
    ship = tasks.review_outcome(Verdict.SHIP, 0, "good")
    assert (ship.status, ship.review, ship.why, ship.ask_owner) == (Status.COMPLETED, "SHIP", "", False)
    rethink = tasks.review_outcome(Verdict.MAJOR_RETHINK, 0, "wrong idea")
    assert (rethink.status, rethink.review, rethink.ask_owner) == (Status.BLOCKED, "wanted", True)
    assert "wrong idea" in rethink.why


def test_work_goes_back_twice_and_then_to_its_owner() -> None:
    outcomes = [tasks.review_outcome(Verdict.NEEDS_WORK, rounds, "names") for rounds in range(4)]
    assert [o.status for o in outcomes] == [Status.PENDING, Status.PENDING, Status.BLOCKED, Status.BLOCKED]
    assert [o.ask_owner for o in outcomes] == [False, False, True, True]
    assert all(o.review == "wanted" for o in outcomes), "the next completion is judged too"
    assert "names" in outcomes[2].why
    assert len(tasks.review_outcome(Verdict.NEEDS_WORK, 2, "x" * 10_000).why) <= 300


# --- what is given ---------------------------------------------------------------------------------------------------


def test_how_long_a_lease_may_be() -> None:
    bounds = {"default": 300, "low": 10, "high": 1_000}
    assert tasks.check_ttl(None, **bounds) == 300
    assert tasks.check_ttl(10, **bounds) == 10
    assert tasks.check_ttl(1_000, **bounds) == 1_000
    for wrong in (9, 1_001, 0, -5):
        with pytest.raises(errors.BadInput) as caught:
            tasks.check_ttl(wrong, **bounds)
        assert caught.value.code == "BAD_TTL"
        assert "10 to 1000" in caught.value.hint


def test_evidence_is_lists_of_lines() -> None:
    given = {"commits": ["abc"], "tests": "all green", "prs": [], "notes": ["x" * 900] * 200}
    checked = tasks.check_evidence(given)
    assert checked["commits"] == ["abc"]
    assert checked["tests"] == ["all green"]
    assert len(checked["notes"]) == 100
    assert {len(line) for line in checked["notes"]} == {500}


@pytest.mark.parametrize("given", [{"screenshot": ["x"]}, {"commits": ["a\0b"]}, {"tests": ["half \ud800"]}])
def test_evidence_that_is_none(given: dict[str, Any]) -> None:
    with pytest.raises(errors.BadInput) as caught:
        tasks.check_evidence(given)
    assert caught.value.message.isprintable()
