"""Times as people read and write them. Inside, a time is an int: milliseconds since the epoch, UTC."""

from functools import lru_cache

from rookery.core.errors import BadInput
from rookery.core.text import quoted

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z: beyond it no calendar library follows

_UNITS = {"ms": 1, "s": SECOND_MS, "m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}
_SPAN_HINT = "Write a length such as 500ms, 90s, 15m, 2h or 3d; a bare number is seconds."
_WHEN_HINT = "Write a time such as 2030-01-31T14:30:00Z (without a zone it is UTC), or 90s, 15m, 2h, 3d from now."
_LONGEST = 40  # characters; the longest ISO form with microseconds and a zone has 32


def iso(ms: int) -> str:
    """2030-01-31T14:30:00.000Z. By arithmetic: this stands in every line of output, and datetime is slow to import."""
    seconds, milli = divmod(ms, SECOND_MS)
    return f"{_second(seconds)}.{milli:03d}Z"


@lru_cache(256)  # what is shown together mostly happened together
def _second(seconds: int) -> str:
    days, rest = divmod(seconds, 24 * 3600)
    year, month, day = _civil(days)
    return f"{year:04d}-{month:02d}-{day:02d}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"


def iso_or_none(ms: int | None) -> str | None:
    return None if ms is None else iso(ms)


def parse_span(text: str) -> int:
    """A length of time in ms. Zero is one (a wait that does not wait); whoever needs more than zero says so."""
    span = _span(text.strip(), bare=_UNITS["s"])
    if span is None:
        raise _bad(text, "is not a length of time", _SPAN_HINT)
    if span > LAST_MS:
        raise _bad(text, "is longer than any calendar", _SPAN_HINT)
    return span


def parse_when(text: str, now: int) -> int:
    """A point in time in ms: absolute (past or future, from 1970 to 9999) or a length greater than zero from now."""
    span = _span(text.strip(), bare=None)
    if span == 0:
        raise _bad(text, "is no time at all", _WHEN_HINT)
    when = _absolute(text.strip()) if span is None else now + span
    if when is None:
        raise _bad(text, "is not a time", _WHEN_HINT)
    if when < 0:
        raise _bad(text, "lies before 1970", _WHEN_HINT)
    if when > LAST_MS:
        raise _bad(text, "lies after the year 9999", _WHEN_HINT)
    return when


def ago(ms: int) -> str:
    """An age in its largest whole unit: 23s, 5m, 2h, 3d. Clocks differ, so an age below zero is 0s."""
    for unit, size in (("d", DAY_MS), ("h", HOUR_MS), ("m", MINUTE_MS)):
        if ms >= size:
            return f"{ms // size}{unit}"
    return f"{max(ms, 0) // SECOND_MS}s"


def lasting(ms: int) -> str:
    """How long something takes, as people say it: 45 s, 3 min 20 s, 2 h 5 min."""
    seconds = round(ms / 1000)
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds and minutes < 10 else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def _bad(text: str, problem: str, hint: str) -> BadInput:
    return BadInput(f"{quoted(text)} {problem}.", hint, code="BAD_TIME")


def _span(text: str, bare: int | None) -> int | None:
    """Digits, perhaps a fraction, and a unit; exact, in integers. None if the text is something else."""
    number = text.rstrip("dhms")
    unit = text[len(number) :]
    size = _UNITS.get(unit) if unit else bare
    whole, point, fraction = number.partition(".")
    if size is None or len(number) > _LONGEST or bool(point) != bool(fraction):
        return None
    if not (whole + fraction).isdecimal() or not number.isascii() or not whole:
        return None
    return int(whole + fraction) * size // 10 ** len(fraction)


def _absolute(text: str) -> int | None:
    from datetime import UTC, datetime, timedelta

    if len(text) > _LONGEST or not text.isascii():
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month, day of a day counted from 1970-01-01 in the proleptic Gregorian calendar.

    Counted in eras of 400 years that begin on 1 March of year 0, so that the leap day is the last day of its year.
    """
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    shifted = (5 * day + 2) // 153  # 0 is March
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + year + (month <= 2), month, day - (153 * shifted + 2) // 5 + 1
