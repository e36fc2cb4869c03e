"""Times as people write them, held against the calendar of the standard library."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import times
from rookery.core.errors import BadInput

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_MS = -62_135_596_800_000  # year 1
NOW = 1_900_000_000_000
zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.integers(FIRST_MS, times.LAST_MS))
def test_iso_agrees_with_datetime(ms: int) -> None:
    expected = (EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")
    assert times.iso(ms) == expected.replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (times.LAST_MS, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_iso_at_the_edges_of_the_calendar(ms: int, text: str) -> None:
    assert times.iso(ms) == text


def test_iso_or_none() -> None:
    assert times.iso_or_none(None) is None
    assert times.iso_or_none(0) == times.iso(0)


@given(st.integers(0, times.LAST_MS))
def test_what_iso_writes_parse_when_reads(ms: int) -> None:
    assert times.parse_when(times.iso(ms), NOW) == ms


@given(st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30)), zones)
def test_zones_are_honoured(moment: datetime, zone: timezone) -> None:
    aware = moment.replace(tzinfo=zone)
    assert times.parse_when(aware.isoformat(), NOW) == (aware - EPOCH) // timedelta(milliseconds=1)


@pytest.mark.parametrize(
    "text",
    ["2030-01-31T14:30:00", "2030-01-31 14:30", "2030-01-31T14:30Z", "2030-01-31T16:30+02:00", " 20300131T1430Z "],
)
def test_a_time_without_a_zone_is_utc(text: str) -> None:
    assert times.iso(times.parse_when(text, NOW)) == "2030-01-31T14:30:00.000Z"


def test_a_date_is_its_midnight() -> None:
    assert times.iso(times.parse_when("2030-01-31", NOW)) == "2030-01-31T00:00:00.000Z"


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("500ms", 500),
        ("90s", 90_000),
        ("15m", 900_000),
        ("2h", 7_200_000),
        ("3d", 259_200_000),
        ("1.5h", 5_400_000),
        ("0.25s", 250),
        (" 7s ", 7_000),
    ],
)
def test_spans(text: str, ms: int) -> None:
    assert times.parse_span(text) == ms
    assert times.parse_when(text, NOW) == NOW + ms


def test_a_bare_number_is_seconds_as_a_span_and_nothing_as_a_time() -> None:
    assert times.parse_span("90") == 90_000
    assert times.parse_span("1.5") == 1_500
    with pytest.raises(BadInput):
        times.parse_when("90", NOW)


def test_zero_is_a_span_but_not_a_time() -> None:
    assert times.parse_span("0") == times.parse_span("0s") == 0
    with pytest.raises(BadInput, match="no time at all"):
        times.parse_when("0s", NOW)


NEITHER = [
    *["", " ", "-5s", "-1", "+5s", "nan", "NaN", "inf", "1e3", "5x", "5mm", "5 m", "m", ".5s", "5.s", "1.2.3s", "s5"],
    *["soon", "1_0s", "\u0665s", "\u00b2s", "5\0s", "2M", "\x1b[31m", "9" * 13 + "d", "9" * 5000 + "s", "\ud800"],
]


def parse_when(text: str) -> int:
    return times.parse_when(text, NOW)


@pytest.mark.parametrize("text", NEITHER)
@pytest.mark.parametrize("parse", [times.parse_span, parse_when])
def test_what_is_neither(parse: Callable[[str], int], text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text)
    assert caught.value.code == "BAD_TIME"
    assert "90s" in caught.value.hint
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 120


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1969-12-31T23:59:59Z", "before 1970"),
        ("0001-01-01T00:00:00+23:59", "before 1970"),
        ("1970-01-01T00:00:00+01:00", "before 1970"),
        ("9999-12-31T23:59:59-23:59", "after the year 9999"),
        ("9000000d", "after the year 9999"),
        ("2030-02-30", "not a time"),
        ("2030-13-01T00:00:00Z", "not a time"),
        ("10000-01-01T00:00:00Z", "not a time"),
        ("2030-01-31T14:30:00+99:99", "not a time"),
    ],
)
def test_times_outside_the_calendar(text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        times.parse_when(text, NOW)


@given(st.one_of(st.text(max_size=50), st.text("0123456789.-+:TZW dhms", max_size=45)), st.integers(0, times.LAST_MS))
def test_any_text_is_a_time_or_refused(text: str, now: int) -> None:
    with suppress(BadInput):
        assert 0 <= times.parse_when(text, now) <= times.LAST_MS
    with suppress(BadInput):
        assert 0 <= times.parse_span(text) <= times.LAST_MS


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (999, "0s"),
        (23_999, "23s"),
        (59_999, "59s"),
        (60_000, "1m"),
        (3_599_999, "59m"),
        (3_600_000, "1h"),
        (86_399_999, "23h"),
        (86_400_000, "1d"),
        (3 * 86_400_000, "3d"),
    ],
)
def test_ago(ms: int, text: str) -> None:
    assert times.ago(ms) == text
