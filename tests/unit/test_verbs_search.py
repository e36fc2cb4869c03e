"""Search finds words, never operators; retention takes what was put away, never what is unread or referred to."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.core import errors
from tests.support import ledger
from tests.support.stage import DAY, HOUR, Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    stage = build()
    stage.join_all("ada", "bob", "cat")
    return stage


# --- search -----------------------------------------------------------------------------------------------------------


def found(stage: Stage, *query: str, as_: str | None = "bob", **more: Any) -> list[str]:
    return [message["subject"] for message in stage.call("search", as_, query=list(query), **more)["messages"]]


def test_search_ranks_the_subject_first(stage: Stage) -> None:
    stage.send("ada", "bob", "Lunch", body="the parser is slow " * 2)
    stage.send("ada", "bob", "Parser is slow", body="see there")
    stage.send("ada", "bob", "Other", body="nothing", tags=["parser"])
    assert found(stage, "parser") == ["Parser is slow", "Other", "Lunch"]


def test_search_words_phrases_prefixes(stage: Stage) -> None:
    stage.send("ada", "bob", "One", body="the quick brown fox")
    stage.send("ada", "bob", "Two", body="the brown quick fox")
    stage.send("ada", "bob", "Three", body="caf\u00e9 na\u00efve STRASSE")
    assert sorted(found(stage, "quick", "brown")) == ["One", "Two"]
    assert found(stage, '"quick brown"') == ["One"]
    assert sorted(found(stage, "qui*")) == ["One", "Two"]
    assert found(stage, "qui") == []
    assert found(stage, "cafe") == found(stage, "CAF\u00c9") == found(stage, "strasse") == ["Three"]
    assert found(stage, "quick", "zebra") == []


def test_search_shows_where(stage: Stage) -> None:
    stage.send("ada", "bob", "x", body="start " + "filler " * 100 + "the needle is here " + "filler " * 100)
    (hit,) = stage.call("search", "bob", query=["needle"])["messages"]
    assert "needle" in hit["snippet"]
    assert len(hit["snippet"]) < 200
    assert "body" not in hit


def test_search_finds_own_mail_only_unless_asked(stage: Stage) -> None:
    stage.send("ada", "bob", "needle one")
    stage.send("ada", "cat", "needle two")
    assert found(stage, "needle", as_="bob") == ["needle one"]
    assert sorted(found(stage, "needle", as_="ada")) == ["needle one", "needle two"]
    assert stage.refused("search", "bob", query=["needle"], everyone=True).code == "NOT_YOURS"
    assert len(found(stage, "needle", as_=None, everyone=True)) == 2
    assert len(found(stage, "needle", as_=None)) == 2


def test_search_does_not_see_other_teams(build: Build) -> None:
    stage = build()
    other = Stage("", store=stage.store, clock=stage.clock, team="other")
    for each in (stage, other):
        each.join("ada")
        each.send("ada", "ada", f"needle of {each.team}")
    assert found(stage, "needle", as_="ada") == ["needle of crew"]
    assert found(other, "needle", as_=None) == ["needle of other"]


@pytest.mark.parametrize(
    "query",
    [
        "AND", "OR", "NOT", "NEAR", "NEAR(a b, 2)", "a AND", "(a", "a)", "^a", "a:b", "subject:x",
        "scope:t2", "-a", "+a", "{a}", "a*b*",
        "'; DROP TABLE messages; --", "t1", "\u202e", "a" * 5_000, "a " * 500, "\U0001f680", "1.2.3", "*", '"', '""',
        '"a', "\x1b[31m", "%", "_", "\\", "\u0301", "{subject} : x",
    ],
)  # fmt: skip
def test_hostile_queries(stage: Stage, query: str) -> None:
    """No operator is obeyed, nothing is an error of the store."""
    stage.send("ada", "bob", "plain text", body="nothing special")
    if any(c.isalnum() for c in query):
        assert found(stage, query) == []
    else:
        assert stage.refused("search", "bob", query=[query]).hint


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=60))
def test_any_query_is_answered_or_refused(stage: Stage, query: str) -> None:
    try:
        stage.call("search", "bob", query=[query])
    except errors.BadInput:
        assert "\0" in query or not any(c.isalnum() for c in query) or not query.isprintable()


def test_removed_mail_is_not_found(build: Build) -> None:
    stage = build(retention__archive_days=1)
    stage.join("ada")
    sent = stage.send("ada", "ada", "needle")
    stage.call("ack", "ada", ids=[sent["id"]])
    stage.call("archive", "ada", ids=[sent["id"]])
    assert found(stage, "needle", as_="ada") == ["needle"]
    stage.clock.pass_time(2 * DAY)
    stage.call("sweep")
    assert found(stage, "needle", as_="ada") == []


# --- retention --------------------------------------------------------------------------------------------------------


def put_away(stage: Stage, who: str, id: str) -> None:
    stage.call("ack", who, ids=[id])
    stage.call("archive", who, ids=[id])


@pytest.fixture
def keeper(build: Build) -> Stage:
    stage = build(retention__archive_days=1, retention__days=1, retention__events=0)
    stage.join_all("ada", "bob", "cat")
    return stage


def remaining(stage: Stage) -> list[str]:
    return [row[0] for row in ledger.ask(stage.store.location, "SELECT subject FROM messages ORDER BY n")]


def test_archived_mail_goes_when_its_time_is_over(keeper: Stage) -> None:
    sent = keeper.send("ada", ["bob", "cat"], "x")
    put_away(keeper, "bob", sent["id"])
    put_away(keeper, "cat", sent["id"])
    keeper.clock.pass_time(DAY)
    assert keeper.call("sweep")["removed"] == 0
    keeper.clock.pass_time(1)
    assert keeper.call("sweep")["removed"] == 1
    assert remaining(keeper) == []
    rows = keeper.rows()
    assert rows["deliveries"] == rows["receipts"] == []


def test_what_is_unread_anywhere_stays(keeper: Stage) -> None:
    sent = keeper.send("ada", ["bob", "cat"], "x")
    put_away(keeper, "bob", sent["id"])
    keeper.send("ada", "bob", "unread")
    done = keeper.send("ada", "bob", "completed, not archived")
    keeper.call("ack", "bob", ids=[done["id"]])
    keeper.clock.pass_time(1_000 * DAY)
    assert keeper.call("sweep")["removed"] == 0
    assert remaining(keeper) == ["x", "unread", "completed, not archived"]


def test_what_is_answered_by_mail_that_stays_stays(keeper: Stage) -> None:
    sent = keeper.send("ada", "bob", "Question")
    answer = keeper.call("reply", "bob", id=sent["id"], body="Answer")
    put_away(keeper, "bob", sent["id"])
    keeper.clock.pass_time(10 * DAY)
    assert keeper.call("sweep")["removed"] == 0
    put_away(keeper, "ada", answer["id"])
    keeper.clock.pass_time(10 * DAY)
    assert keeper.call("sweep")["removed"] == 2


def test_what_an_open_escalation_speaks_of_stays(keeper: Stage) -> None:
    raised = keeper.call("escalate", "ada", title="x")
    put_away(keeper, "user", raised["id"])
    keeper.clock.pass_time(10 * DAY)
    assert keeper.call("sweep")["removed"] == 0
    answer = keeper.call("reply", "user", id=raised["id"], body="y")
    put_away(keeper, "ada", answer["id"])
    keeper.clock.pass_time(10 * DAY)
    assert keeper.call("sweep")["removed"] == 2


def test_events_of_mail_that_stays_stay(keeper: Stage) -> None:
    sent = keeper.send("ada", "bob", "Kept")
    gone = keeper.send("ada", "bob", "Gone")
    put_away(keeper, "bob", gone["id"])
    keeper.clock.pass_time(10 * DAY)
    keeper.call("sweep")
    kept = keeper.call("events")["events"]
    assert sent["id"] in {event["ref"] for event in kept}
    assert gone["id"] not in {event["ref"] for event in kept}
    assert ledger.ask(keeper.store.location, "SELECT count(*) FROM events WHERE type = 'join'") == [(0,)]


def test_the_newest_events_stay_at_any_age(build: Build) -> None:
    stage = build(retention__days=1, retention__events=3)
    stage.join("ada")
    for number in range(9):
        stage.call("status", "ada", note=str(number))
    stage.clock.pass_time(10 * DAY)
    assert stage.call("sweep")["events"] == 7
    assert [event["preview"] for event in stage.events("status")] == ["6", "7", "8"]


def test_young_events_stay_however_many(keeper: Stage) -> None:
    for number in range(9):
        keeper.call("status", "ada", note=str(number))
    assert keeper.call("sweep")["events"] == 0


def test_a_sweep_takes_no_more_than_its_batch(keeper: Stage) -> None:
    for _ in range(5):
        keeper.send("ada", "bob", "x", expires=keeper.clock.wall + 1)
    keeper.clock.pass_time(1)
    assert [keeper.call("sweep", batch=2)["expired"] for _ in range(4)] == [2, 2, 1, 0]


@pytest.mark.parametrize("batch", [0, -1])
def test_a_batch_that_can_not_be(stage: Stage, batch: int) -> None:
    assert isinstance(stage.refused("sweep", batch=batch), errors.BadInput)


def test_a_join_sweeps_once_an_hour(stage: Stage) -> None:
    stage.send("ada", "bob", "x", expires=stage.clock.wall + 1)
    stage.clock.pass_time(HOUR - 1)
    stage.join("dan")
    assert stage.events("mail.expired") == []
    stage.clock.pass_time(1)
    stage.join("eve")
    assert len(stage.events("mail.expired")) == 1
