"""A record is what `typing.NamedTuple` makes, as far as this code asks of it."""

import copy
import pickle
from typing import Any
from typing import NamedTuple as Known

import pytest

from rookery.core.record import NamedTuple


class Ours(NamedTuple):
    """Words of its own."""

    name: str
    number: int = 0
    tags: tuple[str, ...] = ()

    @property
    def loud(self) -> str:
        return self.name.upper()


class Theirs(Known):
    name: str
    number: int = 0
    tags: tuple[str, ...] = ()


class Louder(Ours):
    def twice(self) -> int:
        return self.number * 2


MADE: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}), (("a", 1), {}), (("a", 1, ("x",)), {}), ((), {"name": "a"}), (("a",), {"tags": ("x",)}),
    (("a",), {"number": 2, "tags": ()}),
]  # fmt: skip


@pytest.mark.parametrize(("values", "named"), MADE)
def test_it_is_made_and_read_like_the_one_that_is_known(values: tuple[Any, ...], named: dict[str, Any]):
    ours, theirs = Ours(*values, **named), Theirs(*values, **named)
    assert tuple(ours) == tuple(theirs)
    assert (ours.name, ours.number, ours.tags) == theirs
    assert ours._asdict() == theirs._asdict()
    assert repr(ours).removeprefix("Ours") == repr(theirs).removeprefix("Theirs")
    assert hash(ours) == hash(theirs)
    assert tuple(ours._replace(number=9)) == tuple(theirs._replace(number=9))
    assert pickle.loads(pickle.dumps(ours)) == copy.copy(ours) == ours
    assert (Ours._fields, Ours._field_defaults, Ours.__match_args__) == (
        Theirs._fields, Theirs._field_defaults, Theirs.__match_args__,
    )  # fmt: skip


@pytest.mark.parametrize(("values", "named"), [
    ((), {}), (("a", 1, (), 4), {}), (("a",), {"name": "b"}), (("a",), {"nope": 1}), ((), {"number": 1}),
])  # fmt: skip
def test_what_the_one_refuses_the_other_does(values: tuple[Any, ...], named: dict[str, Any]):
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_nothing_can_be_set_and_nothing_unknown_replaced():
    record: Any = Ours("a")
    with pytest.raises(AttributeError):
        record.name = "b"
    with pytest.raises(AttributeError):
        record.other = 1
    with pytest.raises(ValueError, match="nope"):
        record._replace(nope=1)


def test_it_has_methods_and_can_be_matched_and_extended():
    match Ours("a", 2):
        case Ours(name, number):
            assert (name, number) == ("a", 2)
    assert Ours("a").loud == "A"
    assert Louder("a", 4).twice() == 8
    assert Ours.__doc__ == "Words of its own."
