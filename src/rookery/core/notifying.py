"""What a person is told of what needs them: one digest for all that came since the last, and nothing in quiet hours."""

from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core.record import NamedTuple

from . import errors, text

DESKTOP, BELL, WEBHOOK = "desktop", "bell", "webhook"
WAYS = (DESKTOP, BELL, WEBHOOK)
SHOWN = 5  # items that are named
TITLE, LINE = 80, 120  # characters
DAY = 24 * 60


class Digest(NamedTuple):
    """Plain text, without control characters: whatever agents wrote, it is words."""

    title: str
    lines: Sequence[str]


def digest(team: str, items: Sequence[Mapping[str, Any]], count: int) -> Digest:
    """The first items by name, and how many there are."""
    need = f"{count} thing{'' if count == 1 else 's'} need{'s' if count == 1 else ''} you"
    named = [text.one_line(_line(each), LINE) for each in items[:SHOWN]]
    more = [f"and {count - len(named)} more"] if count > len(named) else []
    return Digest(text.one_line(f"Rookery: {need} in {team}", TITLE), [*named, *more])


def _line(item: Mapping[str, Any]) -> str:
    who = item["subject"] or item["worker"]
    return f"{who}: {item['title']}" if who else str(item["title"])


def marked_up(said: str) -> str:
    """For those who read a few characters as marks: a desktop takes them for markup, Slack for mentions and links."""
    return said.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# -- quiet hours -----------------------------------------------------------------------------------------------------


def quiet_hours(written: str) -> tuple[int, int] | None:
    """`22:00-07:00` as minutes of the day; None if there are none."""
    if not written.strip():
        return None
    begins, dash, ends = written.partition("-")
    span = (_minute(begins), _minute(ends))
    if not dash or None in span or span[0] == span[1]:
        raise errors.BadInput(
            f"notify.quiet is {text.quoted(written, 40)}.", "Two times of the day, as 22:00-07:00; empty for none."
        )
    return span  # pyright: ignore[reportReturnType]


def _minute(written: str) -> int | None:
    hours, colon, minutes = written.strip().partition(":")
    if not (colon and hours.isdecimal() and minutes.isdecimal() and written.isascii()):
        return None
    minute = int(hours) * 60 + int(minutes)
    return minute if len(minutes) == 2 and int(minutes) < 60 and minute < DAY else None


def is_quiet(hours: tuple[int, int] | None, minute: int) -> bool:
    """At this minute of the day. Hours that end before they begin go over midnight."""
    if hours is None:
        return False
    begins, ends = hours
    return begins <= minute < ends if begins < ends else minute >= begins or minute < ends


# -- when ------------------------------------------------------------------------------------------------------------


def is_due(now: int, oldest: int, due_at: int, gather_ms: int) -> bool:
    """The first of a burst waits a little for the others; the next digest waits until the interval is over."""
    return now >= max(due_at, oldest + gather_ms)
