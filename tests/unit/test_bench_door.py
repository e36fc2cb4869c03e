"""The row about the fast door can miss its bound: by being slow, and by not being what it says it is."""

import pytest

from bench import door
from bench.scene import Scene
from bench.sizes import CI


def times(inbox: float) -> dict[str, list[float]]:
    return {"": [10.0] * 3, door.INBOX: [inbox] * 3, door.SEND: [14.0] * 3, door.ALONE: [60.0] * 3}


@pytest.mark.parametrize(("inbox", "ok"), [(13.0, True), (16.0, True), (16.1, False)])
def test_the_bound_is_on_the_inbox(inbox: float, ok: bool) -> None:
    first, *others = door.rows(times(inbox), through=6)
    assert (first.name, first.ok) == (door.INBOX, ok)
    assert [row.ok for row in others] == [None, None]


@pytest.mark.parametrize("through", [0, 5, 7])
def test_a_command_that_went_another_way_is_not_what_was_to_be_measured(through: int) -> None:
    (row,) = door.rows(times(13.0), through)
    assert row.ok is False
    assert f"{through} of them" in row.notes


@pytest.mark.bench
def test_the_same_command_without_the_door_would_miss_the_bound() -> None:
    with Scene() as place:
        section = door.measure(place, CI._replace(starts=10))
    through, _, alone = section.rows
    assert through.ratio is not None
    assert alone.ratio is not None
    assert not door.BOUND.holds(alone.ratio)
    assert through.ratio < alone.ratio / 2
