"""What a person is told, and when: quiet hours, bursts, intervals, and words that are only words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import errors, notifying

MINUTES = st.integers(0, notifying.DAY - 1)


def item(title: str = "Which port?", subject: str = "w3/q1") -> dict[str, str]:
    return {"id": "item-1", "kind": "question", "subject": subject, "worker": "w3", "title": title}


def test_a_burst_is_one_digest_that_names_the_first_and_counts_all() -> None:
    told = notifying.digest("crew", [item(f"Q{n}") for n in range(5)], 50)
    assert told.title == "Rookery: 50 things need you in crew"
    assert told.lines[0] == "w3/q1: Q0"
    assert told.lines[-1] == "and 45 more"
    assert len(told.lines) == 6
    assert notifying.digest("crew", [item()], 1).title == "Rookery: 1 thing needs you in crew"


@given(st.text(max_size=300), st.text(max_size=30))
def test_whatever_agents_write_is_one_line_without_control_characters(title: str, subject: str) -> None:
    (line,) = notifying.digest("crew", [item(title, subject)], 1).lines
    assert "\n" not in line
    assert len(line) <= notifying.LINE
    assert not any(ord(each) < 32 or 0x7F <= ord(each) < 0xA0 for each in line)


def test_marks_are_written_so_that_nobody_takes_them_for_one() -> None:
    assert notifying.marked_up("<!channel> a & <b>") == "&lt;!channel&gt; a &amp; &lt;b&gt;"


@given(MINUTES, MINUTES, MINUTES)
def test_quiet_hours_are_the_minutes_between_also_over_midnight(begins: int, ends: int, minute: int) -> None:
    """Walked minute by minute from the beginning to the end."""
    if begins == ends:
        return
    walked = {(begins + n) % notifying.DAY for n in range((ends - begins) % notifying.DAY)}
    written = f"{begins // 60:02d}:{begins % 60:02d}-{ends // 60}:{ends % 60:02d}"
    assert notifying.is_quiet(notifying.quiet_hours(written), minute) == (minute in walked)


@pytest.mark.parametrize(
    "written", ["22-7", "22:00", "22:00-", "24:00-07:00", "22:60-07:00", "a:b-c:d", "7:00-7:00", "٢:00-3:00"]
)
def test_what_are_no_hours_is_refused(written: str) -> None:
    with pytest.raises(errors.BadInput):
        notifying.quiet_hours(written)


def test_without_hours_it_is_never_quiet() -> None:
    assert not notifying.is_quiet(notifying.quiet_hours(" "), 0)


def test_the_first_waits_for_others_and_the_next_for_the_interval() -> None:
    assert not notifying.is_due(now=104, oldest=100, due_at=0, gather_ms=5)
    assert notifying.is_due(now=105, oldest=100, due_at=0, gather_ms=5)
    assert not notifying.is_due(now=105, oldest=100, due_at=106, gather_ms=5)
