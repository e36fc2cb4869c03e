"""JSON of others is changed in place: their text stays, ours is added, replaced or taken out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import errors
from rookery.hosts import jsontext

plain = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    plain | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=5), values, max_size=4)
STYLES: list[dict[str, Any]] = [
    {"indent": 2}, {"indent": 4}, {"indent": "\t"}, {}, {"separators": (",", ":")},
    {"ensure_ascii": False, "indent": 1},
]  # fmt: skip
styles = st.sampled_from(STYLES)
ends = st.sampled_from(["", "\n", "\n\n", " "])
NEW = {"command": "rook", "args": ["mcp"], "more": {"deep": [1, 2]}}


def parse(text: str, *, comments: bool = False) -> jsontext.Node:
    return jsontext.parse(text, "f.json", comments=comments)


@given(objects, styles, ends)
def test_it_reads_what_json_reads(said: dict[str, Any], style: dict[str, Any], end: str) -> None:
    assert jsontext.plain(parse(json.dumps(said, **style) + end)) == said


@given(objects, styles, ends, st.booleans())
def test_a_member_is_added_and_every_other_byte_stays(
    said: dict[str, Any], style: dict[str, Any], end: str, windows: bool
) -> None:
    text = json.dumps(said, **style) + end
    text = text.replace("\n", "\r\n") if windows else text
    said.pop("ours", None)
    text = text if "ours" not in text else json.dumps(said, **style) + end
    added = jsontext.insert(text, parse(text), NEW, "ours")
    assert json.loads(added) == said | {"ours": NEW}
    assert list(json.loads(added)) == [*said, "ours"]
    assert added.endswith(end.replace("\n", "\r\n") if windows else end)
    if windows and "\n" in text:
        assert added.count("\n") == added.count("\r\n")
    kept = iter(added)
    assert all(any(mine == other for other in kept) for mine in text), "something of the old text is gone or moved"


@pytest.mark.slow
@given(st.lists(values, max_size=4), styles)
def test_an_item_is_added(items: list[Any], style: dict[str, Any]) -> None:
    text = json.dumps({"list": items}, **style)
    node = jsontext.member(parse(text), "list")
    assert node is not None
    assert json.loads(jsontext.insert(text, node, NEW)) == {"list": [*items, NEW]}


@given(objects.filter(bool), styles, st.data())
def test_what_is_removed_is_gone_and_nothing_else(
    said: dict[str, Any], style: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(said, **style)
    index = data.draw(st.integers(0, len(said) - 1))
    left = jsontext.remove(text, parse(text), index)
    assert left is not None
    assert json.loads(left) == {key: value for n, (key, value) in enumerate(said.items()) if n != index}


@given(objects.filter(bool), styles, values, st.data())
def test_what_is_replaced_is_replaced(
    said: dict[str, Any], style: dict[str, Any], new: Any, data: st.DataObject
) -> None:
    text = json.dumps(said, **style)
    key = data.draw(st.sampled_from(list(said)))
    node = jsontext.member(parse(text), key)
    assert node is not None
    assert json.loads(jsontext.replace(text, node, new)) == said | {key: new}


COMMENTED = """\
// mine
{
    /* theme */ "theme": "dark", // not light
    "deep": { "a": [1, 2,], }, // trailing commas
    // the end
}
"""


def test_comments_stay_where_they_are() -> None:
    added = jsontext.insert(COMMENTED, parse(COMMENTED, comments=True), {"x": 1}, "ours")
    assert jsontext.plain(parse(added, comments=True)) == {"theme": "dark", "deep": {"a": [1, 2]}, "ours": {"x": 1}}
    assert all(line in added.split("\n") for line in COMMENTED.split("\n"))
    assert '    "ours": {\n        "x": 1\n    }\n}' in added


def test_a_comment_is_not_taken_out_with_what_is_ours() -> None:
    text = '{"a": 1, /* why b */ "b": 2}'
    assert jsontext.remove(text, parse(text, comments=True), 1) is None
    assert jsontext.remove('{"a": 1, "b": 2}', parse('{"a": 1, "b": 2}'), 1) == '{"a": 1}'


def test_a_file_in_one_line_stays_in_one_line() -> None:
    text = '{"a":1}'
    assert jsontext.insert(text, parse(text), {"b": 2}, "c") == '{"a":1,"c": {"b": 2}}'


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "line 1"), ("[]", "object"), ("{", "name"), ('{"a" 1}', "colon"), ('{"a": }', "missing"),
        ("{} {}", "follows"),
        ('{"a": 1,}', "comma"), ('{"a": 01}', "number"), ('{"a": "\n"}', "string"), ('{"a": 1} // no', "comment"),
        ('{\n"a": 1\n"b": 2}', "line 3"), ('{"a": [1, 2}', "comma"), ('{"a": ' + "[" * 500 + "]" * 500 + "}", "deeply"),
        ('{"a": NaN}', "missing"), ("{'a': 1}", "name"), ('{"a": tru}', "missing"),
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused_with_its_line(text: str, word: str) -> None:
    with pytest.raises(errors.BadInput, match=word):
        parse(text)


@given(st.text(max_size=30))
def test_nothing_breaks_it(text: str) -> None:
    try:
        strict = jsontext.plain(parse(text))
    except errors.BadInput:
        with pytest.raises((ValueError, AssertionError)):
            assert isinstance(json.loads(text), dict)
    else:
        assert json.loads(text.removeprefix("\ufeff")) == strict
