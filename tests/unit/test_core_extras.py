"""What a context says beyond the message: readers that nothing a sender writes can upset."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import errors, extras

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
KEYS = st.sampled_from(["lens", "clear_before", "rounds", "status", "by"])
ROUNDS = st.fixed_dictionaries({"round": JSON, "of": JSON})


@pytest.mark.slow
@given(context=st.dictionaries(KEYS, JSON | ROUNDS))
def test_any_context_is_read(context: dict[str, Any]) -> None:
    names = extras.lenses(context)
    assert all(isinstance(name, str) and 0 < len(name) <= extras.LENS_NAME for name in names)
    assert len(names) <= extras.LENSES
    assert isinstance(extras.clear_before(context), bool)
    assert isinstance(extras.status(context), str)
    assert extras.by(context) in ("", extras.MAILDROP)
    found = extras.rounds(context)
    assert found is None or 1 <= found.round <= found.of <= extras.ROUNDS_MOST


def written(**asked: Any) -> Any:
    return extras.written(None, **{"type": "task", "most": 5, **asked})


def test_what_is_written_is_read() -> None:
    context = written(lens=["a", "b", "a"], clear=True, count=3, status="start")
    assert extras.lenses(context) == ["a", "b"]
    assert extras.clear_before(context)
    assert extras.rounds(context) == (1, 3)
    assert extras.status(context) == "start"
    assert written() is None
    assert extras.written({"mine": 1}, type="task", status="x") == {"mine": 1, "status": "x"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"clear": True, "type": "update"}, "clears nobody"),
        ({"clear": True, "type": "escalation"}, "clears nobody"),
        ({"count": 6}, "out of range"),
        ({"count": -1}, "out of range"),
        ({"status": "x" * 51}, "can not be used"),
        ({"status": "a\nb"}, "can not be used"),
    ],
)
def test_what_can_not_be_asked(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.BadInput, match=said):
        written(**asked)


@given(of=st.integers(1, 50), most=st.integers(1, 20))
def test_rounds_end(of: int, most: int) -> None:
    """Whatever was asked for, the setting of the day bounds it."""
    context: dict[str, Any] | None = {"rounds": {"round": 1, "of": of}, "other": 1}
    seen = 0
    while context is not None:
        seen += 1
        assert seen <= most
        assert context["other"] == 1
        context = extras.next_round(context, most)
    assert seen == min(of, most)
