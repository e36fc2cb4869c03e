"""The options of a program, as data: which there are, and which of them take a value.

`"t,target-directory: b,backup? r,R,recursive"` are three options, each called by its first name: `:` a value that is
attached or follows, `?` a value only if it is attached. Words after `--` are operands, as is `-`.
"""

from typing import NamedTuple

from . import holes


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Given(NamedTuple):
    found: dict[str, list[str]]  # by first name, the values in order ("" for an option without one)
    operands: list[str]
    strange: list[str]  # options that are not declared, and words that might be one

    def has(self, names: str) -> bool:
        return any(name in self.found for name in names.split())

    def values(self, names: str) -> list[str]:
        return [value for name in names.split() for value in self.found.get(name, ())]


class _Option(NamedTuple):
    name: str
    value: str  # "", ":" or "?"


_specs: dict[str, dict[str, _Option]] = {}


def declared(spec: str) -> dict[str, _Option]:
    if spec not in _specs:
        table: dict[str, _Option] = {}
        for item in spec.split():
            called = item.rstrip(":?").split(",")
            for name in called:
                table[name] = _Option(called[0], item[-1] if item[-1] in ":?" else "")
        _specs[spec] = table
    return _specs[spec]


def given(spec: str, words: list[str], *, permute: bool = True, single_dash: bool = False) -> Given:
    """Without `permute` options end at the first operand; with `single_dash`, `-name` is a long option."""
    table = declared(spec)
    made = Given({}, [], [])
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word == "--":
            break
        if word == "-" or not holes.may_be_option(word):
            made.operands.append(word)
            if not permute:
                break
        elif not word.startswith("-"):
            made.strange.append(word)
            made.operands.append(word)
            if not permute:
                break
        elif word.startswith("--") or single_dash:
            _long(table, word, rest, made)
        else:
            _cluster(table, word, rest, made)
    made.operands.extend(reversed(rest))
    return made


def _take(option: _Option, attached: str | None, rest: list[str], made: Given) -> None:
    value = attached or ""
    if attached is None and option.value == ":" and rest:
        value = rest.pop()
    made.found.setdefault(option.name, []).append(value)


def _long(table: dict[str, _Option], word: str, rest: list[str], made: Given) -> None:
    name, equals, value = word.lstrip("-").partition("=")
    option = table.get(name) or _abbreviated(table, name)
    if option is None or not holes.is_told(name):
        made.strange.append(word)
    else:
        _take(option, value if equals else None, rest, made)


def _abbreviated(table: dict[str, _Option], name: str) -> _Option | None:
    """GNU programs take any beginning of a long option that means only one."""
    meant = {option for long, option in table.items() if len(long) > 1 and name and long.startswith(name)}
    return meant.pop() if len(meant) == 1 else None


def _cluster(table: dict[str, _Option], word: str, rest: list[str], made: Given) -> None:
    for at, letter in enumerate(word[1:], 1):
        option = table.get(letter)
        if option is None:
            made.strange.append(word)
            return
        if option.value:
            _take(option, word[at + 1 :] or None, rest, made)
            return
        _take(option, "", rest, made)
