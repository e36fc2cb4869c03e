"""Names of Python code that one change set takes away and another uses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import symbols
from rookery.core.symbols import Source, Symbol

ALL = [(1, 10_000)]


def found(
    before: str | None, after: str | None, path: str = "a.py", lines: list[tuple[int, int]] = ALL
) -> list[Symbol]:
    raw = [text.encode() if text is not None else None for text in (before, after)]
    return symbols.found([Source(path, path, raw[0], raw[1], lines)])


def taken(before: str | None, after: str | None) -> set[tuple[str, str, str]]:
    return {(each.name, each.how, each.detail) for each in found(before, after) if each.how != "used"}


def used(after: str, lines: list[tuple[int, int]] = ALL) -> set[str]:
    return {each.name for each in found(None, after, lines=lines) if each.how == "used"}


def test_a_function_with_the_same_body_is_renamed_and_another_is_gone() -> None:
    before = "def old(a):\n    return old(a - 1)\n\ndef other():\n    pass\n"
    assert taken(before, "def new(a):\n    return new(a - 1)\n") == {("old", "renamed", "new"), ("other", "gone", "")}


def test_how_something_is_called_may_change() -> None:
    before = "def f(a, b=1): ...\nclass C:\n    def __init__(self, x): ...\n    def m(self): ...\n"
    after = "def f(a, *, b=1): ...\nclass C:\n    def __init__(self): ...\n    def m(self): return 1\n"
    assert taken(before, after) == {
        ("f", "changed", "(a, b=1) is now (a, *, b=1)"), ("C", "changed", "(self, x) is now (self)"),
    }  # fmt: skip


def test_methods_and_constants_go_and_those_of_a_class_that_went_are_not_told_besides() -> None:
    before = "LIMIT = 1\nclass C:\n    def m(self): ...\nclass D:\n    def n(self): ...\n"
    assert taken(before, "class C:\n    x = 1\n") == {("LIMIT", "gone", ""), ("m", "gone", ""), ("D", "gone", "")}


def test_what_went_to_another_file_is_told_with_where_to() -> None:
    text = b"def f(): ...\n"
    sources = [Source("a.py", "a.py", text, b"", []), Source("b.py", "b.py", b"", text, [])]
    assert [(each.name, each.detail) for each in symbols.found(sources)] == [("f", "moved to b.py")]


def test_only_added_lines_use_and_not_their_own_or_the_languages_names() -> None:
    after = "from m import helper\nx = other(1)\ndef f(arg):\n    value = arg\n    return value + len(thing.part)\n"
    assert used(after) == {"helper", "other", "thing", "part"}
    assert used(after, [(2, 1)]) == {"other"}


@pytest.mark.parametrize(
    "text", ["def f(:\n", "\x00", "# -*- coding: nonsense -*-\n", "(" * 5000, "x = " + "-" * 100_000 + "1"]
)
def test_what_does_not_parse_gives_no_hints(text: str) -> None:
    assert found("def f(): ...\n", text) == []
    assert found(text, "def f(): ...\n") == []


def test_what_is_too_large_gives_none_and_a_doubtful_escape_no_warning() -> None:
    assert found("def f(): ...\n", "#" * (symbols.LONGEST + 1)) == []
    assert taken("def f(): ...\n", 'x = "\\d"\n') == {("f", "gone", "")}


@given(st.text(max_size=200))
def test_no_text_is_too_odd(text: str) -> None:
    found("def f(): ...\n", text.encode("utf-8", "replace").decode())


def test_a_hint_is_a_name_that_is_taken_here_and_used_there() -> None:
    gone = [Symbol("f", "renamed", "g", "a.py", 0)]
    use = Symbol("f", "used", "", "b.py", 7)
    (hint,) = symbols.hints(gone, [use])
    assert symbols.told(hint, "w1", "w2") == "w1 renames f to g in a.py; w2 uses it in b.py:7"
    assert symbols.hints(gone, [use._replace(name="other")]) == []
    assert symbols.hints(gone, [use._replace(detail=symbols.OWN)]) == [], "it has one of its own"
    assert symbols.hints(gone, [use._replace(detail=symbols.OWN, path="a.py")])
    assert symbols.hints([use], [use]) == [], "two that use it are in nobody's way"
