"""Patterns of paths: what a reservation or a task's resource covers, and whether two of them can ever meet.

    src/io/x.py    that file, and what lies beneath it, for it may be a folder
    src/io/        that folder and everything beneath it; after a wildcard too: src/*/
    src/*.py       `*` any characters of one name, `?` exactly one character; nothing beneath
    src/**/x.py    `**`, as a whole segment, any number of segments, none among them
    .              the whole workspace, as `**`

There are no classes, no negation and no escapes, so every other character stands for itself: `app/[slug]/page.tsx` and
`!important` are names, and `*` covers names that begin with a dot. A name that cannot be written here (it contains `*`,
`?`, a backslash or a control character) is covered with `?` in that place. Paths are relative to the workspace, with
`/` between names, and resolved by the caller; "" or "." is the workspace itself.

Both levels have one shape: a path is a row of names and a name a row of characters, with one wildcard for exactly one
of them and one for any number. Two rows have something in common when the wildcards for any number can be stretched so
that the rows are equally long and every pair has something in common:

- If only one row has such wildcards, the parts between them are placed leftmost first: no part loses by it.
- If both have, it is enough that their beginnings agree and their ends agree: each row's middle fits inside a wildcard
  of the other. So nothing is searched, and the work grows at most as the product of the two patterns' lengths.

`fold` is for disks that ignore case: characters are compared one by one by their casefold, so that `?` remains one
character and folding never loses a match. Weakness: `ß` equals `ẞ` but not `ss`, and composed and decomposed accents
are different here; a caller whose disk holds them equal brings both to one form first.
"""

from collections.abc import Callable, Sequence
from itertools import product

from rookery.core.errors import BadInput
from rookery.core.record import NamedTuple
from rookery.core.text import quoted

TEXT_LIMIT = 4096
SEGMENTS_LIMIT = 200
NAME_LIMIT = 255  # what disks allow; it also bounds the work of two hostile patterns

_FILL = "x"  # stands in an example where any character would do; not a dot, see _NO_NAMES
_NO_NAMES = ("", ".", "..")  # what wildcards would match and no file can be called
# No pattern contains a control character. So a path's own `*` and `?`, written as one, meet wildcards alone.
_DISGUISE = {ord("*"): "\x01", ord("?"): "\x01"}


class Pattern(NamedTuple):
    """`text` is for people, `segments` for matching: what covers all that lies beneath it ends there with `**`."""

    text: str
    segments: tuple[str, ...]


def parse(text: str) -> Pattern:
    """`./`, `//` and repeated `**` are normalised away; parsing the `text` of the result gives the result again."""
    _check_text(text)
    names = _names(text)
    for name in names:
        _check_name(name, text)
    segments = [name for i, name in enumerate(names) if name != "**" or names[i - 1 : i] != ["**"]]
    if len(segments) > SEGMENTS_LIMIT:
        raise _bad(text, f"has more than {SEGMENTS_LIMIT} segments", "Name a folder further up; `**` spans any depth.")
    folder = text.endswith(("/", "/."))
    shown = "/".join(segments) + "/" * folder if segments else "."
    if not segments or (segments[-1] != "**" and (folder or not _is_wild(segments[-1]))):
        segments.append("**")
    return Pattern(shown, tuple(segments))


def covers(pattern: Pattern, path: str, *, fold: bool = False) -> bool:
    return _common(pattern.segments, _path_names(path.translate(_DISGUISE)), _FOLDED if fold else _EXACT) is not None


def overlap(a: Pattern, b: Pattern, *, fold: bool = False) -> bool:
    """Whether some path is covered by both, be there such a file or not."""
    return _common(a.segments, b.segments, _FOLDED if fold else _EXACT) is not None


def witness(a: Pattern, b: Pattern, *, fold: bool = False) -> str | None:
    """A path that both cover ("." is the workspace itself), or None if they do not overlap."""
    names = _common(a.segments, b.segments, _FOLDED if fold else _EXACT)
    return None if names is None else "/".join(names) or "."


def within(inner: Pattern, outer: Pattern) -> bool:
    """Whether `outer` surely covers all that `inner` does. It may miss some such pairs, and never invents one:

    what ends with `**` covers, with a path, everything beneath it, and a pattern lies beneath its root.
    """
    return inner.segments == outer.segments or (outer.segments[-1] == "**" and covers(outer, root(inner)))


def root(pattern: Pattern) -> str:
    """The path before the first wildcard: everything the pattern covers is this path or lies beneath it."""
    names: list[str] = []
    for segment in pattern.segments:
        if _is_wild(segment):
            break
        names.append(segment)
    return "/".join(names)


def lineage(path: str) -> list[str]:
    """The path and its ancestors up to "", for looking patterns up by their roots.

    A pattern that covers a path has its root in the path's lineage; of two patterns that overlap, one has its root in
    the lineage of the other's. Where case is ignored, both hold for roots and paths after `str.casefold`.
    """
    names = _path_names(path)
    return ["/".join(names[:depth]) for depth in range(len(names), -1, -1)]


# --- what may be written ----------------------------------------------------------------------------------------------


def _bad(text: str, problem: str, hint: str) -> BadInput:
    return BadInput(f"The pattern {quoted(text)} {problem}.", hint, code="BAD_PATTERN")


def _check_text(text: str) -> None:
    if not text.strip():
        raise _bad(text, "is empty", "Write a path; `.` is the whole workspace.")
    if len(text) > TEXT_LIMIT:
        raise _bad(text, f"has more than {TEXT_LIMIT} characters", "Name a folder further up, or use several patterns.")
    if text.startswith("/"):
        raise _bad(text, "is an absolute path", "Write it relative to the workspace, as in `src/io/`.")
    if "\\" in text:
        raise _bad(
            text, "contains a backslash", "Write `/` between names; nothing is escaped, and `?` covers any character."
        )
    if not text.isprintable() and any(map(_is_unwritable, text)):
        raise _bad(text, "contains a control character or half a character", "Write `?` where the name has it.")


def _is_unwritable(char: str) -> bool:
    return char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff"


def _check_name(name: str, text: str) -> None:
    if name == "..":
        raise _bad(text, "contains `..`", "Write the path without it, relative to the workspace.")
    if "**" in name and name != "**":
        raise _bad(
            text,
            f"has `**` inside the segment {quoted(name)}",
            "Within a name write one `*`; `**` stands alone between slashes, as in `src/**/x.py`.",
        )
    if len(name) > NAME_LIMIT:
        raise _bad(text, f"has a segment of more than {NAME_LIMIT} characters", "No file name is that long; use `*`.")


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name and name != "."]


def _path_names(path: str) -> list[str]:
    names = _names(path)
    # Such a path would be covered by nothing, and so walk past every reservation.
    if path.startswith("/") or ".." in names:
        raise BadInput(
            f"The path {quoted(path)} is not relative to the workspace.", "Resolve it first.", code="BAD_PATH"
        )
    return names


# --- what two rows have in common -------------------------------------------------------------------------------------


class _Level(NamedTuple):
    many: str  # the wildcard for any number of items
    one: str  # the wildcard for exactly one
    spare: int  # how many items an example has where both rows allow any number
    meet: Callable[[str, str], str | None]  # an item that both allow


def _is_wild(name: str) -> bool:
    return "*" in name or "?" in name


def _common(a: Sequence[str], b: Sequence[str], level: _Level) -> list[str] | None:
    """An example of what both rows cover."""
    parts_a, parts_b = _split(a, level.many), _split(b, level.many)
    if len(parts_b) == 1:
        return _met(_stretched(parts_a, b, level), b, level)
    if len(parts_a) == 1:
        return _met(_stretched(parts_b, a, level), a, level)
    return _met(*_side_by_side(parts_a, parts_b, level), level)


def _split(row: Sequence[str], many: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for item in row:
        if item == many:
            parts.append([])
        else:
            parts[-1].append(item)
    return parts


def _met(a: Sequence[str] | None, b: Sequence[str], level: _Level) -> list[str] | None:
    """Two rows without wildcards for any number, item by item."""
    if a is None or len(a) != len(b):
        return None
    met: list[str] = []
    for x, y in zip(a, b, strict=True):
        item = level.meet(x, y)
        if item is None:
            return None
        met.append(item)
    return met


def _stretched(parts: list[list[str]], row: Sequence[str], level: _Level) -> list[str] | None:
    """The parts with as many `one` between them as it takes to lie along the row; both ends are left to `_met`."""
    if len(parts) == 1:
        return parts[0]
    head, *middle, tail = parts
    start, end = len(head), len(row) - len(tail)
    if start > end or _met(head, row[:start], level) is None:
        return None
    laid = list(head)
    for part in middle:
        at = _leftmost(part, row[:end], len(laid), level)
        if at is None:
            return None
        laid += [level.one] * (at - len(laid)) + part
    return laid + [level.one] * (end - len(laid)) + tail


def _leftmost(part: list[str], row: Sequence[str], start: int, level: _Level) -> int | None:
    for at in range(start, len(row) - len(part) + 1):
        if _met(part, row[at : at + len(part)], level) is not None:
            return at
    return None


def _side_by_side(a: list[list[str]], b: list[list[str]], level: _Level) -> tuple[list[str], list[str]]:
    """Both rows at one length: heads from the left, tails from the right, each middle beside nothing of the other."""
    middle_a = [item for part in a[1:-1] for item in part]
    middle_b = [item for part in b[1:-1] for item in part]
    head, tail = max(len(a[0]), len(b[0])), max(len(a[-1]), len(b[-1]))
    one = [level.one]
    rows: list[list[str]] = []
    for parts, middle in ((a, middle_a + one * len(middle_b)), (b, one * len(middle_a) + middle_b)):
        left = parts[0] + one * (head - len(parts[0]))
        right = one * (tail - len(parts[-1])) + parts[-1]
        rows.append(left + middle + one * level.spare + right)
    return rows[0], rows[1]


# --- the two levels ---------------------------------------------------------------------------------------------------


def _meet_chars(x: str, y: str) -> str | None:
    if x == "?":
        return _FILL if y == "?" else y
    return x if y in ("?", x) else None


def _meet_chars_folded(x: str, y: str) -> str | None:
    met = _meet_chars(x, y)
    return x if met is None and x.casefold() == y.casefold() else met


def _meet_names(x: str, y: str, chars: _Level) -> str | None:
    if not _is_wild(y) and x in ("*", y):
        return y  # the usual case, and quick
    met = _common(x, y, chars)
    if met is None:
        return None
    name = "".join(met)
    return name if name not in _NO_NAMES else _other_name(x, y, len(name), chars)


def _other_name(x: str, y: str, length: int, chars: _Level) -> str | None:
    """A name that both allow, where the first example found was `.` or `..`.

    Then one of the two has no `*`, so every example is this short; and the other has no more letters than that, so
    trying all of them is a matter of 25 names. A letter of neither can always be `_FILL`.
    """
    letters = sorted(({*x, *y} - {"*", "?"}) | {_FILL})
    for name in map("".join, product(letters, repeat=length)):
        if name not in _NO_NAMES and all(_common(glob, name, chars) is not None for glob in (x, y)):
            return name
    return None


def _names_level(meet_chars: Callable[[str, str], str | None]) -> _Level:
    # One spare character: the example for `*.py` is `x.py`, and no example of two names with `*` is a dot.
    chars = _Level("*", "?", 1, meet_chars)

    def meet(x: str, y: str) -> str | None:
        return _meet_names(x, y, chars)

    return _Level("**", "*", 0, meet)


_EXACT = _names_level(_meet_chars)
_FOLDED = _names_level(_meet_chars_folded)
