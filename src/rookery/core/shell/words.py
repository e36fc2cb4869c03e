"""What a word becomes: quotes, escapes, braces, tildes, wildcards, and the variables this text has given a value.

A word has *alternatives* (a variable that was set in either branch), and each alternative is a row of fields (braces
and unquoted variables make several). What is not known becomes a hole.
"""

from itertools import pairwise, product
from typing import Protocol

from . import holes
from .holes import BREAK, CLOSE, COMMA, LEFT, OPEN, QUOTE, RIGHT, SPLIT, TILDE, UNKNOWN
from .tree import Ansi, Bare, Literal, Part, Quotes, Soft, Substitution, Untold, Variable, Word

ALTERNATIVES_LIMIT = 32
BRACES_LIMIT = 256
LENGTH_LIMIT = 1 << 20  # of all that one word becomes: appending in a loop doubles

_SOFT_ESCAPES = ("$", "`", '"', "\\", "\n")
_HEREDOC_ESCAPES = ("$", "`", "\\", "\n")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"} | {
    char: char for char in "\\'\"?"
}
_DIGITS = {"x": (16, 2), "u": (16, 4), "U": (16, 8)}


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

    def changed(self, name: str) -> None:
        """An expansion sets this variable to what is not told."""
        ...


def fields(word: Word, scope: Scope) -> list[list[str]]:
    """The alternatives, each a row of fields. Never empty: with too many of them, one that says nothing."""
    found: list[list[str]] = []
    for text in _texts(word.parts, scope, quoted=False):
        rows = [_bracketed(field) for field in _fields(text, scope.home())]
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
    return tuple(dict.fromkeys(holes.quiet(_at_home(text, scope.home())) for text in texts))


def touch(parts: tuple[Part, ...], scope: Scope) -> None:
    """For what is substituted in them alone."""
    _texts(parts, scope, quoted=True)


# --- one text out of the parts ----------------------------------------------------------------------------------------


def _texts(parts: tuple[Part, ...], scope: Scope, *, quoted: bool) -> list[str]:
    texts = [""]
    for index, part in enumerate(parts):
        said = _part(part, scope, quoted=quoted, first=index == 0)
        if len(texts) * len(said) > ALTERNATIVES_LIMIT or len(texts[0]) + len(said[0]) > LENGTH_LIMIT:
            return [UNKNOWN if quoted else SPLIT]
        texts = [text + more for text in texts for more in said]
    return texts


def _part(part: Part, scope: Scope, *, quoted: bool, first: bool) -> list[str]:
    match part:
        case Bare(raw):
            return [TILDE + bare(raw[1:]) if first and raw.startswith("~") and not quoted else bare(raw)]
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
            return _printed(scope.substitute(part), quoted=quoted)
        case Untold(raw, inside, number):
            for each in inside:
                _part(each, scope, quoted=True, first=False)
            for name in assigned(raw) if number else ():
                scope.changed(name)
            many = "@" in raw  # of an array: several words, even between quotes
            return [holes.MANY] if number else _printed(None, quoted=quoted and not many)


def _variable(part: Variable, scope: Scope, *, quoted: bool) -> list[str]:
    if part.name in ("@", "*") and not part.operator:
        given = scope.parameters()
        if given is None:
            return [SPLIT]
        between = BREAK if part.name == "@" or not quoted else " "
        return [between.join(QUOTE + each if quoted else _split(each) for each in given)]
    if part.name in ("?", "#", "$", "!", "RANDOM", "LINENO", "SECONDS") and not part.operator:
        return [holes.MANY]
    told = scope.variable(part.name)
    if part.operator in (":=", "="):
        scope.changed(part.name)
    if told is not None and part.operator:
        told = tuple(trimmed(value, part.operator, part.operand) for value in told)
    return _printed(told, quoted=quoted)


def assigned(raw: str) -> list[str]:
    """The variables an arithmetic expression may set: where it sets one, all that it names."""
    if "=" not in raw and "++" not in raw and "--" not in raw:
        return []
    return "".join(char if char.isalnum() or char == "_" else " " for char in raw).split()


def _printed(told: tuple[str, ...] | None, *, quoted: bool) -> list[str]:
    if told is None:
        return [UNKNOWN if quoted else SPLIT]
    return list(told) if quoted else [_split(value) for value in told]


def _split(value: str) -> str:
    if not holes.is_told(value):
        return SPLIT
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


def _fields(text: str, home: str | None) -> list[str]:
    made: list[str] = []
    for expanded in _braces(text):
        for field in expanded.split(BREAK):
            if field:
                made.append(_at_home(field, home))
    return made


def _at_home(field: str, home: str | None) -> str:
    """The tilde of a field, replaced; a mark of a quotation may stand before it, but then it is no tilde."""
    if not field.startswith((TILDE, QUOTE + TILDE)):
        return field
    user, slash, rest = field.lstrip(QUOTE)[1:].partition("/")
    return UNKNOWN if user or home is None else home + slash + rest


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
