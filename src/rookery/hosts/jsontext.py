"""JSON that a person wrote, changed without being written anew: what is not ours keeps its order, its spaces and, in
files that may have them, its comments.

The text is read into nodes that know where they stand. A change is made at such a place, and the text read again.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, cast

from rookery.core.errors import BadInput

DEPTH = 100
UNIT = "  "
_SPACE = " \t\n\r"
_WORDS = {"true": True, "false": False, "null": None}
_NUMBER = frozenset("+-.0123456789eE")
_decoder = json.JSONDecoder()


class Node(NamedTuple):
    kind: str  # object, array or plain
    start: int
    end: int
    value: Any = None  # of a plain one
    members: "tuple[Member, ...]" = ()
    items: "tuple[Node, ...]" = ()
    trailing: bool = False  # a comma stands after the last one


class Member(NamedTuple):
    key: str
    start: int
    node: Node


class Broken(ValueError):
    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.why, self.at = why, at


# -- reading ---------------------------------------------------------------------------------------------------------


def parse(text: str, path: str, *, comments: bool = False) -> Node:
    """The document; with `comments`, these and commas before a closing bracket are taken too."""
    reader = _Reader(text, comments)
    try:
        node = reader.value(reader.skip(1 if text.startswith("\ufeff") else 0), 0)
        if (rest := reader.skip(node.end)) != len(text):
            raise Broken("something follows its end", rest)
    except Broken as error:
        _refuse(path, f"is not JSON: {error.why} at line {text.count(chr(10), 0, error.at) + 1}")
    if node.kind != "object":
        _refuse(path, "holds something else than a JSON object")
    return node


def _refuse(path: str, why: str) -> NoReturn:
    raise BadInput(f"{path} {why}.", "Correct it, or move it away; nothing was written.", code="BAD_FILE", path=path)


class _Reader:
    def __init__(self, text: str, comments: bool) -> None:
        self._text = text
        self._comments = comments

    def skip(self, at: int) -> int:
        """Past spaces, and comments where they may be."""
        text = self._text
        while True:
            while at < len(text) and text[at] in _SPACE:
                at += 1
            if text[at : at + 2] not in ("//", "/*"):
                return at
            if not self._comments:
                raise Broken("it has a comment", at)
            end = text.find("\n" if text[at + 1] == "/" else "*/", at + 2)
            if end < 0 and text[at + 1] == "*":
                raise Broken("a comment does not end", at)
            at = len(text) if end < 0 else end + (1 if text[at + 1] == "/" else 2)

    def value(self, at: int, depth: int) -> Node:
        if depth > DEPTH:
            raise Broken("it is nested too deeply", at)
        sign = self._text[at : at + 1]
        if sign == "{":
            return self._object(at, depth)
        if sign == "[":
            return self._array(at, depth)
        if sign == '"':
            text, end = self._string(at)
            return Node("plain", at, end, text)
        return self._plain(at)

    def _string(self, at: int) -> tuple[str, int]:
        try:
            return _decoder.raw_decode(self._text, at)
        except ValueError:
            raise Broken("a string is not written as one", at) from None

    def _plain(self, at: int) -> Node:
        for word, value in _WORDS.items():
            if self._text.startswith(word, at):
                return Node("plain", at, at + len(word), value)
        end = at
        while end < len(self._text) and self._text[end] in _NUMBER:
            end += 1
        try:
            return Node("plain", at, end, json.loads(self._text[at:end]))
        except ValueError:
            raise Broken("a value is missing" if at == end else "a number is not written as one", at) from None

    def _object(self, start: int, depth: int) -> Node:
        members: list[Member] = []
        at, trailing = self.skip(start + 1), False
        while self._text[at : at + 1] != "}":
            if self._text[at : at + 1] != '"':
                raise Broken("a name is missing", at)
            key, end = self._string(at)
            colon = self.skip(end)
            if self._text[colon : colon + 1] != ":":
                raise Broken("a colon is missing", colon)
            node = self.value(self.skip(colon + 1), depth + 1)
            members.append(Member(key, at, node))
            at, trailing = self._next(node.end, "}")
        return Node("object", start, at + 1, members=tuple(members), trailing=trailing)

    def _array(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        at, trailing = self.skip(start + 1), False
        while self._text[at : at + 1] != "]":
            items.append(self.value(at, depth + 1))
            at, trailing = self._next(items[-1].end, "]")
        return Node("array", start, at + 1, items=tuple(items), trailing=trailing)

    def _next(self, end: int, closing: str) -> tuple[int, bool]:
        """(where the next one or the closing bracket is, whether a comma stands before that bracket)."""
        at = self.skip(end)
        if self._text[at : at + 1] == ",":
            after = self.skip(at + 1)
            if self._text[after : after + 1] != closing:
                return after, False
            if not self._comments:
                raise Broken("a comma stands before a closing bracket", at)
            return after, True
        if self._text[at : at + 1] != closing:
            raise Broken("a comma or a closing bracket is missing", at)
        return at, False


def plain(node: Node) -> Any:
    """What it says."""
    if node.kind == "object":
        return {member.key: plain(member.node) for member in node.members}
    return [plain(item) for item in node.items] if node.kind == "array" else node.value


def member(node: Node | None, key: str) -> Node | None:
    """Of several with one name the last, as every reader of JSON takes it."""
    found = [each.node for each in node.members if each.key == key] if node is not None else []
    return found[-1] if found else None


# -- changing --------------------------------------------------------------------------------------------------------


def insert(text: str, into: Node, value: Any, key: str | None = None) -> str:
    """The text with one more member, or item, at the end of an object, or array."""
    children = [each.node for each in into.members] or list(into.items)
    inner = _before_closing(text, into)
    spread = "\n" in text[into.start : into.end] if children else "\n" in text or not _has_content(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    if not spread:
        added = _written(value, key, None, "")
        gap = " " if children and ", " in text[into.start : into.end] else ""
        return _joined(text, into, children, inner, gap + added, "")
    unit = _unit(text)
    indent = _indent(text, into, children, unit)
    lines = _written(value, key, unit, indent).replace("\n", newline)
    closing = "" if "\n" in text[inner : into.end] else newline + _line_indent(text, into.start)
    return _joined(text, into, children, inner, f"{newline}{indent}{lines}", closing)


def _joined(text: str, into: Node, children: Sequence[Node], inner: int, added: str, closing: str) -> str:
    if not children:
        return text[:inner] + added + closing + text[inner:]
    last = children[-1].end
    comma = "" if into.trailing else ","
    return text[:last] + comma + text[last:inner] + added + closing + text[inner:]


def _before_closing(text: str, into: Node) -> int:
    """After the last thing that is no space: a comment on the last line stays with its line."""
    at = into.end - 1
    while at > into.start + 1 and text[at - 1] in _SPACE:
        at -= 1
    return at


def replace(text: str, node: Node, value: Any) -> str:
    spread = "\n" in text[node.start : node.end] or (node.kind == "plain" and "\n" in text)
    written = _written(value, None, _unit(text), _line_indent(text, node.start)) if spread else _written(value, None)
    newline = "\r\n" if "\r\n" in text else "\n"
    return text[: node.start] + written.replace("\n", newline) + text[node.end :]


def remove(text: str, within: Node, index: int) -> str | None:
    """The text without one member or item; None where a comment would go with it."""
    starts = [each.start for each in within.members] or [each.start for each in within.items]
    ends = [each.node.end for each in within.members] or [each.end for each in within.items]
    if len(starts) == 1:
        first, last = within.start + 1, within.end - 1
    elif index == 0:
        first, last = starts[0], starts[1]
    else:
        first, last = ends[index - 1], ends[index]
    taken = text[first : starts[index]] + text[ends[index] : last]
    return None if taken.strip(_SPACE + ",") else text[:first] + text[last:]


def _written(value: Any, key: str | None, unit: str | None = None, indent: str = "") -> str:
    shown = json.dumps(value, indent=unit, ensure_ascii=False)
    named = shown if key is None else f"{json.dumps(key, ensure_ascii=False)}: {shown}"
    return named.replace("\n", f"\n{indent}")


def _has_content(text: str) -> bool:
    return bool(text.strip(_SPACE + "{}\ufeff"))


def _unit(text: str) -> str:
    """One step of indentation, as the file has it: that of its first line that is indented."""
    for line in text.split("\n")[1:]:
        step = line[: len(line) - len(line.lstrip(" \t"))]
        if step and line.strip():
            return step
    return UNIT


def _indent(text: str, into: Node, children: Sequence[Node], unit: str) -> str:
    starts = [each.start for each in into.members] or [each.start for each in into.items]
    if children and "\n" in text[into.start : starts[0]]:
        return _line_indent(text, starts[0])
    return _line_indent(text, into.start) + unit


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def document(value: Mapping[str, Any]) -> str:
    """A file of our own."""
    return json.dumps(cast("dict[str, Any]", value), indent=UNIT, ensure_ascii=False) + "\n"
