"""What a word becomes: quotes, escapes, braces, tildes, wildcards, and the variables this text has given a value.

A word has *alternatives* (a variable that was set in either branch), and each alternative is a row of fields (braces
and unquoted variables make several). What is not known becomes a hole.
"""

import re
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Protocol

from . import holes
from .holes import BREAK, CLOSE, COMMA, LEFT, OPEN, QUOTE, RIGHT, SPLIT, TILDE, UNKNOWN
from .reading import BROKEN
from .tree import Ansi, Bare, Broken, Literal, Part, Quotes, Soft, Substitution, Untold, Variable, Word

ALTERNATIVES_LIMIT = 32
BRACES_LIMIT = 256
LENGTH_LIMIT = 1 << 20  # of all that one word becomes: appending in a loop doubles

_DEFAULTING = r"\$\{!?\w+(?:\[[^\]$`]*\])?:?[-=+]"  # `${x:-...}` and its like
_SOFT_ESCAPES = ("$", "`", '"', "\\", "\n")
_HEREDOC_ESCAPES = ("$", "`", "\\", "\n")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"} | {
    char: char for char in "\\'\"?"
}
_DIGITS = {"x": (16, 2), "u": (16, 4), "U": (16, 8)}


class Unparsed(Exception):
    """The operand of an expansion cannot be parsed by itself."""


class Scope(Protocol):
    """What the place where a word stands knows."""

    def variable(self, name: str) -> tuple[str, ...] | None:
        """Its possible values; None where this text does not tell."""
        ...

    def parameters(self) -> tuple[str, ...] | None: ...

    def substitute(self, part: Substitution) -> tuple[str, ...] | None:
        """Reads the commands in it; what they print where that is known."""
        ...

    def home(self) -> str | None: ...

    def separators(self) -> str | None:
        """What splits words, where this text says so (`IFS`)."""
        ...

    def unknown(self, raw: str) -> None:
        """An expansion whose value this text does not tell, although it may name variables that it sets."""
        ...

    def changed(self, name: str) -> None:
        """An expansion sets this variable to what is not told."""
        ...

    def operand(self, raw: str) -> tuple[str, ...] | None:
        """What the operand of an expansion becomes, or `Unparsed`."""
        ...

    def assigned(self, name: str, values: tuple[str, ...] | None) -> None:
        """An expansion sets this variable."""
        ...


def fields(word: Word, scope: Scope) -> list[list[str]]:
    """The alternatives, each a row of fields. Never empty: with too many of them, one that says nothing."""
    found: list[list[str]] = []
    for text in _texts(word.parts, scope, quoted=False):
        rows = [_bracketed(field) for field in _fields(text, scope)]
        if len(found) + 2 ** sum(len(each) > 1 for each in rows) > ALTERNATIVES_LIMIT:
            return [[SPLIT]]
        found += [list(row) for row in product(*rows)]
    return found


def values(word: Word, scope: Scope) -> tuple[str, ...]:
    """What a variable is set to: neither split nor expanded. A wildcard comes to life where it stands unquoted."""
    parts: list[Part] = []
    for index, part in enumerate(word.parts):
        if isinstance(part, Bare):
            start = TILDE if index == 0 and part.raw.startswith("~") else ""
            part = Literal(start + bare(part.raw[len(start) :], mark=False))
        parts.append(part)
    texts = _texts(tuple(parts), scope, quoted=True)
    return tuple(dict.fromkeys(holes.quiet(_at_home(text, scope)) for text in texts))


def touch(parts: tuple[Part, ...], scope: Scope) -> None:
    """For what is substituted in them alone."""
    _texts(parts, scope, quoted=True)


# --- one text out of the parts ----------------------------------------------------------------------------------------


def _texts(parts: tuple[Part, ...], scope: Scope, *, quoted: bool) -> list[str]:
    texts = [""]
    for index, part in enumerate(_with_variables(parts)):
        said = _part(part, scope, quoted=quoted, first=index == 0)
        if len(texts) * len(said) > ALTERNATIVES_LIMIT or len(texts[0]) + len(said[0]) > LENGTH_LIMIT:
            return [UNKNOWN if quoted else SPLIT]
        texts = [text + more for text in texts for more in said]
    return texts


def _with_variables(parts: tuple[Part, ...]) -> Iterator[Part]:
    """`$x/$y.z`: the grammar takes the second `$` for a character by itself."""
    rest = list(reversed(parts))
    while rest:
        part = rest.pop()
        found = None
        if isinstance(part, Untold) and part.raw == "$" and rest and isinstance(rest[-1], Bare):
            found = re.match(r"[A-Za-z_]\w*", rest[-1].raw)
        if found is None:
            yield part
            continue
        following = rest.pop()
        yield Variable(found[0])
        if isinstance(following, Bare) and len(following.raw) > found.end():
            rest.append(Bare(following.raw[found.end() :]))


def _part(part: Part, scope: Scope, *, quoted: bool, first: bool) -> list[str]:
    match part:
        case Bare(raw):
            head, tilde = _tilde(raw) if first and not quoted else ("", False)
            return [bare(head) + TILDE + bare(raw[len(head) + 1 :]) if tilde else bare(raw)]
        case Soft(raw, heredoc):
            return [soft(raw, heredoc=heredoc)]
        case Literal(text):
            return [QUOTE + text]
        case Ansi(raw):
            return [QUOTE + ansi(raw)]
        case Quotes(inner):
            return [QUOTE + text for text in _texts(inner, scope, quoted=True)]
        case Variable():
            return _variable(part, scope, quoted=quoted)
        case Substitution():
            return _printed(scope.substitute(part), scope, quoted=quoted)
        case Untold(raw, inside, number):
            if not number:
                scope.unknown(raw)
            braced = not number and raw.startswith("${") and raw.endswith("}")
            if braced and inside and re.match(_DEFAULTING, raw):
                told = _braced(raw[2:-1], scope, quoted=quoted)  # this reads what is inside, where the shell does
                if told is not None:
                    return told
            for each in inside or _overlooked(raw if braced else ""):
                _part(each, scope, quoted=True, first=False)
            if braced and (told := _braced(raw[2:-1], scope, quoted=quoted)) is not None:
                return told
            for name in assigned(raw) if number else ():
                scope.changed(name)
            many = "@" in raw  # of an array: several words, even between quotes
            return [holes.MANY] if number else _printed(None, scope, quoted=quoted and not many)


def _tilde(raw: str) -> tuple[str, bool]:
    """What stands before a tilde that is expanded: nothing, or `name=` as in an assignment."""
    found = re.match(r"(?:[A-Za-z_]\w*=)?(?=~)", raw)
    return (found[0], True) if found else ("", False)


def _variable(part: Variable, scope: Scope, *, quoted: bool) -> list[str]:
    if part.name in ("@", "*") and not part.operator:
        given = scope.parameters()
        if given is None:
            return [SPLIT]
        marks = scope.separators()
        between = BREAK if part.name == "@" or not quoted else " " if marks is None else marks[:1]
        return [between.join(QUOTE + each if quoted else _split(each, marks) for each in given)]
    if part.name == "IFS" and not part.operator and not quoted and scope.separators() is None:
        return [BREAK]
    if (
        part.name in ("?", "#", "$", "!", "RANDOM", "LINENO", "SECONDS", "BASHPID", "PPID", "EPOCHSECONDS")
        and not part.operator
    ):
        return [holes.MANY]
    if part.operator:
        if not re.match(r":?[-=+]", part.operator):
            touch(_overlooked(part.operand), scope)
        told = _braced(part.name + part.operator + part.operand, scope, quoted=quoted)
        if not told or not all(map(holes.is_told, told)):
            scope.unknown(part.name + part.operator + part.operand)
        return told or _printed(None, scope, quoted=quoted)
    return _printed(scope.variable(part.name), scope, quoted=quoted)


def _overlooked(raw: str) -> tuple[Part, ...]:
    """A substitution in a pattern, which parsers take for text of the pattern: it is not read, and said so."""
    return (Substitution((Broken(raw, BROKEN),)),) if "$(" in raw or "`" in raw else ()


def operand(raw: str, scope: Scope) -> tuple[str, ...] | None:
    """What a text becomes by itself; None where it cannot be parsed."""
    try:
        return scope.operand(raw)
    except Unparsed:
        return None


def _braced(inner: str, scope: Scope, *, quoted: bool) -> list[str] | None:
    """`${...}`; None where its form is not known."""
    from . import expansions

    try:
        value = expansions.expanded(inner, scope)
    except Unparsed:
        return None
    if value is None:
        return None
    if not value.several:
        marks = scope.separators()
        between = " " if marks is None else marks[:1]
        told = value.values and tuple(each.replace(BREAK, between) if quoted else each for each in value.values)
        return _printed(told, scope, quoted=quoted)
    if value.values is None:
        return [SPLIT]
    rows = [row.split(BREAK) if row else [] for row in value.values]
    return [BREAK.join(QUOTE + each if quoted else _split(each, scope.separators()) for each in row) for row in rows]


def assigned(raw: str) -> list[str]:
    """The variables an arithmetic expression may set: where it sets one, all that it names."""
    if "=" not in raw and "++" not in raw and "--" not in raw:
        return []
    return "".join(char if char.isalnum() or char == "_" else " " for char in raw).split()


def _printed(told: tuple[str, ...] | None, scope: Scope, *, quoted: bool) -> list[str]:
    if told is None:
        return [UNKNOWN if quoted else SPLIT]
    return list(told) if quoted else [_split(value, scope.separators()) for value in told]


def _split(value: str, separators: str | None) -> str:
    if not holes.is_told(value):
        known = [piece for piece in re.split(f"[{UNKNOWN}{SPLIT}]", value) if piece]
        return SPLIT if not known else value.replace(UNKNOWN, SPLIT) if not re.search(r"\s", value) else SPLIT
    if separators is not None:
        value = value.translate(dict.fromkeys(map(ord, separators), " "))
    lead, trail = value[:1].isspace(), value[-1:].isspace()
    made = BREAK.join(value.split()).translate(holes.GLOBBING)
    return BREAK * lead + made + BREAK * trail if made else BREAK * lead


def trimmed(value: str, operator: str, operand: str) -> str:
    """`${f%.js}`, `${f%.*}`, `${f##*/}`, `${f%/*}`, and a default that is not needed."""
    if not holes.is_told(value):
        return UNKNOWN
    if operator in (":-", "-", ":?", "?", ":=", "="):
        return value if value or not operator.startswith(":") else UNKNOWN
    tail = value[max((value.rfind(hole) for hole in holes.WILD), default=-1) + 1 :]
    if operator == "##" and operand == "*/":
        return value.rpartition("/")[2]
    if operator == "%" and operand == "/*" and "/" in value:
        return value.rpartition("/")[0]
    if operator == "%" and operand == ".*" and "." in tail and "/" not in tail.rpartition(".")[2]:
        return value.rpartition(".")[0]
    if operator in ("%", "%%") and operand and not set(operand) & set("*?[\\$`\"'"):
        if tail.endswith(operand):
            return value[: -len(operand)]
        if tail == value or len(tail) >= len(operand):
            return value
    return UNKNOWN


# --- characters -------------------------------------------------------------------------------------------------------


def bare(raw: str, *, mark: bool = True) -> str:
    """A backslash protects the next character, and joins lines; what is not protected is marked as active."""
    first, *rest = raw.split("\\")
    made = [first.translate(holes.ACTIVE) if mark else first]
    skip = False
    for index, piece in enumerate(rest):
        if skip:  # the backslash before this piece was itself protected
            made.append(piece.translate(holes.ACTIVE) if mark else piece)
            skip = False
        elif piece:
            head = "" if piece[0] == "\n" else QUOTE + piece[0]
            made.append(head + (piece[1:].translate(holes.ACTIVE) if mark else piece[1:]))
        else:
            made.append("\\")
            skip = index < len(rest) - 1
    return "".join(made)


def soft(raw: str, *, heredoc: bool = False) -> str:
    """Between double quotes a backslash protects four characters and joins lines; otherwise it is one."""
    protected = _HEREDOC_ESCAPES if heredoc else _SOFT_ESCAPES
    made: list[str] = []
    at = 0
    while (found := raw.find("\\", at)) >= 0:
        following = raw[found + 1 : found + 2]
        made += [raw[at:found], "" if following in protected else "\\"]
        made.append("" if following == "\n" else following)
        at = found + 2
    return "".join(made) + raw[at:]


def ansi(raw: str) -> str:
    made: list[str] = []
    at = 0
    while (found := raw.find("\\", at)) >= 0:
        made.append(raw[at:found])
        char, at = _ansi_escape(raw, found + 1)
        made.append(char)
    return "".join(made) + raw[at:]


def _ansi_escape(raw: str, at: int) -> tuple[str, int]:
    """The character an escape stands for, and where the text goes on."""
    char = raw[at : at + 1]
    if char in _ANSI:
        return _ANSI[char], at + 1
    base, most = _DIGITS.get(char, (8, 3))
    start = at + (char in _DIGITS)
    end = start
    while end < min(len(raw), start + most) and raw[end] in "0123456789abcdefABCDEF"[: 8 if base == 8 else 22]:
        end += 1
    if end > start:
        return _ansi_code(int(raw[start:end], base), char), end
    return (UNKNOWN if char == "c" else "\\" + char), at + (2 if char == "c" else 1)


def _ansi_code(code: int, char: str) -> str:
    whole = char in ("u", "U") and code < 0x110000 and not 0xD800 <= code < 0xE000
    return chr(code) if 0 < code < 0x80 or (code and whole) else UNKNOWN  # bytes of a character, one by one


# --- fields -----------------------------------------------------------------------------------------------------------


def _fields(text: str, scope: Scope) -> list[str]:
    made: list[str] = []
    for expanded in _braces(text):
        for field in expanded.split(BREAK):
            if field:
                made.append(_at_home(field, scope))
    return made


def _at_home(field: str, scope: Scope) -> str:
    """The tilde of a field, replaced; a mark of a quotation may stand before it, but then it is no tilde."""
    head, tilde, tail = field.partition(TILDE)
    if not tilde or (head.strip(QUOTE) and not head.endswith("=")):
        return field
    user, slash, rest = tail.partition("/")
    if user in ("+", "-"):
        told = scope.variable("PWD" if user == "+" else "OLDPWD")
        place = told[0] if told and len(told) == 1 else UNKNOWN
    else:
        if user.lstrip("+-").isdecimal():
            scope.variable("DIRSTACK")
        place = UNKNOWN if user else scope.home() or UNKNOWN
    return head.lstrip(QUOTE) + place + slash + rest


def _bracketed(field: str) -> list[str]:
    """A class is one character of a name; where no file matches, the word stays as it is: `app/[slug]/page.tsx`."""
    written = holes.quiet(field)
    if OPEN not in field:
        return [written]
    segments = [_class_of(segment) for segment in field.split("/")]
    widened = holes.quiet("/".join(segments))
    return [written] if widened == written else [widened, written]


def _class_of(segment: str) -> str:
    start, end = segment.find(OPEN), segment.rfind(CLOSE)
    if start < 0 or end < start + 2:
        return segment
    inner = segment[start + 1 : end]
    if OPEN in inner or CLOSE in inner:
        return segment[:start] + holes.MANY + segment[end + 1 :]  # several, or one within the other: wide enough
    return segment[:start] + holes.ONE + segment[end + 1 :]


# --- braces -----------------------------------------------------------------------------------------------------------


def _braces(text: str) -> list[str]:
    done: list[str] = []
    waiting = [text]
    while waiting:
        text = waiting.pop()
        split = _first_brace(text)
        if split is None:
            done.append(text)
            continue
        start, end, choices = split
        if len(choices) + len(waiting) + len(done) > BRACES_LIMIT:
            return [SPLIT]
        waiting += [text[:start] + choice + text[end + 1 :] for choice in reversed(choices)]
    return done


def _first_brace(text: str) -> tuple[int, int, list[str]] | None:
    """The outermost, leftmost braces that expand: where they stand, and what into."""
    if LEFT not in text or RIGHT not in text:
        return None
    best: tuple[int, int, list[int]] | None = None
    stack: list[tuple[int, list[int]]] = []
    for at, char in enumerate(text):
        if char == LEFT:
            stack.append((at, []))
        elif char == COMMA and stack:
            stack[-1][1].append(at)
        elif char == RIGHT and stack:
            start, commas = stack.pop()
            expands = commas or _sequence(text[start + 1 : at])
            if expands and (best is None or start < best[0]):
                best = (start, at, commas)
    if best is None:
        return None
    start, end, commas = best
    if not commas:
        return start, end, _sequence(text[start + 1 : end])
    cuts = [start, *commas, end]
    return start, end, [text[a + 1 : b] for a, b in pairwise(cuts)]


def _sequence(inner: str) -> list[str]:
    """`1..3`, `01..10`, `a..e`, each with a step; empty where it is none."""
    ends = inner.split("..")
    if not 2 <= len(ends) <= 3 or not inner.isascii() or not all(ends) or len(inner) > 40:
        return []
    try:
        step = abs(int(ends[2])) or 1 if len(ends) == 3 else 1
        first, last = int(ends[0]), int(ends[1])
    except ValueError:
        if len(ends) == 2 and len(ends[0]) == len(ends[1]) == 1 and inner.replace(".", "").isalpha():
            return [chr(code) for code in _between(ord(ends[0]), ord(ends[1]), 1)]
        return []
    padded = any(end.lstrip("-").startswith("0") and len(end.lstrip("-")) > 1 for end in ends[:2])
    width = max(map(len, ends[:2])) if padded else 0
    numbers = _between(first, last, step)
    return [holes.MANY] if len(numbers) > BRACES_LIMIT else [f"{number:0{width}d}" for number in numbers]


def _between(first: int, last: int, step: int) -> range:
    return range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
