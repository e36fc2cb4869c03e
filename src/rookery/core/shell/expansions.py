"""The values of `${...}`: defaults, trimming, replacement, substrings, case, arrays, indirection.

`expanded` works on the text between the braces, so every parser gives the same result. An operand is parsed again by
the scope. A value that the text does not determine is None, or `UNKNOWN` where it is one of several.
"""

import re
from typing import Protocol

from . import holes
from .holes import BREAK, UNKNOWN

MATCHED_LIMIT = 1_000  # characters that a pattern is matched with

_NAME = r"(!?)([A-Za-z_]\w*|[0-9]+)(\[[^\]]*\])?"
_DEFAULTS = (":-", "-", ":=", "=", ":?", "?")
_ALTERNATES = (":+", "+")
_TRIMS = ("##", "#", "%%", "%")
_REPLACES = ("//", "/#", "/%", "/")
_CASES = ("^^", "^", ",,", ",")
_OPERATORS = (*_DEFAULTS, *_ALTERNATES, *_TRIMS, *_REPLACES, *_CASES)
_SLICE = r":\s*(-?\d+)\s*(?::\s*(-?\d+))?$"
_GLOB = frozenset("*?[")


class Scope(Protocol):
    def variable(self, name: str) -> tuple[str, ...] | None: ...

    def operand(self, raw: str) -> tuple[str, ...] | None:
        """What the text of an operand becomes; it may raise `words.Unparsed`."""
        ...

    def assigned(self, name: str, values: tuple[str, ...] | None) -> None: ...


class Value:
    """`values`: the alternatives, None if unknown. `several`: elements of an array, with `BREAK` between them."""

    def __init__(self, values: tuple[str, ...] | None, *, several: bool = False) -> None:
        self.values, self.several = values, several


def expanded(inner: str, scope: Scope) -> Value | None:
    """The value of the text between `${` and `}`; None if its form is not handled here."""
    if inner.startswith("#") and len(inner) > 1:
        return Value((holes.MANY,))  # a length
    found = re.match(_NAME, inner)
    if found is None:
        return None
    indirect, name, index = found.groups()
    rest = inner[found.end() :]
    told, several = _looked_up(name, index or "", scope)
    if indirect:
        if several or told is None or len(told) != 1 or not told[0].isidentifier():
            return Value(None)
        name, told = told[0], scope.variable(told[0])
    if not rest:
        return Value(told, several=several)
    if several and told is not None and (sliced := re.match(_SLICE, rest)):
        start, length = int(sliced[1]), int(sliced[2] or -1)  # of the elements; what follows may be there, too
        rows = [row.split(BREAK)[start:] for row in told]
        return Value(tuple(BREAK.join(row[:length] if length > 0 else row) for row in rows), several=True)
    values = _operated(name, told, rest, scope)
    return None if values is None else Value(values[0], several=several)


def _looked_up(name: str, index: str, scope: Scope) -> tuple[tuple[str, ...] | None, bool]:
    if not index:
        return scope.variable(name), False
    key = index[1:-1].strip("\"'")
    if key in ("@", "*"):
        whole = scope.variable(f"{name}[@]")
        return whole, key == "@" or whole is None
    if key.startswith("$"):
        keys = scope.variable(key.strip("${}"))
        key = keys[0] if keys and len(keys) == 1 else ""
    told = scope.variable(f"{name}[{key}]")
    if told is None and (whole := scope.variable(f"{name}[@]")):
        told = tuple(dict.fromkeys(each for row in whole for each in row.split(BREAK)))  # any of its elements
    return told, False


def _operated(name: str, told: tuple[str, ...] | None, rest: str, scope: Scope) -> tuple[tuple[str, ...] | None] | None:
    """The values after an operator, in a tuple of their own; None if the operator is not known."""
    if sliced := re.match(_SLICE, rest):
        start, length = int(sliced[1]), sliced[2]
        return (_each(told, lambda value: _slice(value, start, None if length is None else int(length))),)
    operator = next((each for each in _OPERATORS if rest.startswith(each)), "")
    if not operator:
        return None
    operand = rest[len(operator) :]
    if operator in _DEFAULTS:
        return (_default(name, told, operator, operand, scope),)
    if operator in _ALTERNATES:
        return (_alternate(told, operator, operand, scope),)
    if operator in _CASES:
        return (_each(told, lambda value: _cased(value, operator)) if not operand else None,)
    return (_each(told, lambda value: _edited(value, operator, operand, scope)),)


def _default(
    name: str, told: tuple[str, ...] | None, operator: str, operand: str, scope: Scope
) -> tuple[str, ...] | None:
    if told is not None and all(value or not operator.startswith(":") for value in told):
        return told
    given = scope.operand(operand) if "?" not in operator else ()
    kept = (UNKNOWN,) if told is None else tuple(value for value in told if value)
    values = None if given is None else (*kept, *given) or (UNKNOWN,)
    if "=" in operator:
        scope.assigned(name, values)
    return values


def _alternate(told: tuple[str, ...] | None, operator: str, operand: str, scope: Scope) -> tuple[str, ...] | None:
    given = scope.operand(operand)
    if told is not None and all(told):
        return given
    if told is not None and operator.startswith(":") and not any(told):
        return ("",)
    return None if given is None else ("", *given)


def _each(told: tuple[str, ...] | None, change: "Change") -> tuple[str, ...] | None:
    if told is None:
        return None
    return tuple(dict.fromkeys(BREAK.join(change(each) for each in value.split(BREAK)) for value in told))


class Change(Protocol):
    def __call__(self, value: str, /) -> str: ...


def _slice(value: str, start: int, length: int | None) -> str:
    if not holes.is_plain(value) or start < -len(value):
        return UNKNOWN
    begin = start if start >= 0 else len(value) + start
    end = len(value) if length is None else begin + length if length >= 0 else len(value) + length
    return value[begin:end]


def _cased(value: str, operator: str) -> str:
    if not holes.is_plain(value):
        return UNKNOWN
    change = str.upper if operator[0] == "^" else str.lower
    return change(value) if len(operator) == 2 else change(value[:1]) + value[1:]


def _edited(value: str, operator: str, operand: str, scope: Scope) -> str:
    """Trimming and replacement; a quoted wildcard is not told from one that is not, so it makes the value unknown."""
    from .words import trimmed  # they use each other

    if operator in _TRIMS and not set(operand) & set("\\$`\"'"):
        known = trimmed(value, operator, operand)
        if holes.is_told(known) or not holes.is_plain(value):
            return known
    if not holes.is_plain(value):
        return UNKNOWN
    pattern, _, put = operand.partition("/") if operator in _REPLACES else (operand, "", "")
    parts = [_single(text, scope) for text in (pattern, put)]
    if None in parts or (not _GLOB.isdisjoint(pattern) and set(pattern) & set("\\\"'")):
        return UNKNOWN
    return _applied(value, operator, parts[0] or "", parts[1] or "")


def _single(text: str, scope: Scope) -> str | None:
    if not set(text) & set("\\$`\"'"):
        return text
    values = scope.operand(text)
    return values[0] if values and len(values) == 1 and holes.is_plain(values[0]) else None


def _applied(value: str, operator: str, pattern: str, put: str) -> str:
    if not pattern:
        return {"/#": put + value, "/%": value + put}.get(operator, value)
    if pattern.count("*") > 2 or len(value) > MATCHED_LIMIT:
        return UNKNOWN
    greedy = _regex(pattern, greedy=True)
    if operator in ("#", "##"):
        found = re.match(greedy if operator == "##" else _regex(pattern, greedy=False), value, re.DOTALL)
        return value[found.end() :] if found else value
    if operator in ("%", "%%"):
        starts = range(len(value) + 1) if operator == "%%" else range(len(value), -1, -1)
        cut = next((at for at in starts if re.fullmatch(greedy, value[at:], re.DOTALL)), None)
        return value if cut is None else value[:cut]
    anchored = {"/#": f"^(?:{greedy})", "/%": f"(?:{greedy})$"}.get(operator, greedy)
    return re.sub(anchored, lambda _: put, value, count=0 if operator == "//" else 1, flags=re.DOTALL)


def _regex(pattern: str, *, greedy: bool) -> str:
    made: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        end = pattern.find("]", at + 2)
        if char == "[" and end > 0:
            inner = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            made.append(f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]")
            at = end
        else:
            made.append({"*": ".*" if greedy else ".*?", "?": "."}.get(char, re.escape(char)))
        at += 1
    return "".join(made)


def elements(source: str) -> str | None:
    """The text between the parentheses of `name=(...)`; None if the assignment has none."""
    head, opened, rest = source.partition("(")
    if not opened or not head.rstrip().endswith("=") or not rest.rstrip().endswith(")"):
        return None
    return rest.rstrip()[:-1].replace("\n", " ")
