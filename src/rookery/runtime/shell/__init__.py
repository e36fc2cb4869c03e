"""Shell commands parsed by tree-sitter, and read by `core.shell`. The parser is imported when a command is first read.

The parser's time grows with the square of the marks in a text, and it can not be interrupted; so there are limits, and
a text beyond them is one `Broken`. Long heredocs are common and harmless: they are taken out before and put back after.
"""

import re
from typing import TYPE_CHECKING

from rookery.core import shell
from rookery.core.shell import reading
from rookery.core.shell.tree import Block, Broken

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Language, Node, Parser

TEXT_LIMIT = 1 << 20  # characters of a command
PARSED_LIMIT = 1 << 16  # characters of it that are parsed, without long heredocs
MARKS_LIMIT = 3_000  # characters with a meaning in them
READ_LIMIT = 1 << 16  # bytes of a file that a command reads: a patch, a list of names
PIECES_LIMIT = 2  # groups of lines that are parsed at either end of a text beyond the limits
HEREDOCS_LIMIT = 100  # looked at to be taken out

_MARKS = "|&;()<>{}$`\"'\\[]=!#\n"
# The grammar's scanner asks the C library about characters beyond its tables, and the process dies of it. It takes some
# for blanks, too, which a shell does not. None of them has a meaning, so the parser is shown dots in their place.
_ASCII = bytes(byte if byte < 0x80 else ord(".") for byte in range(256))
_KEPT = "__heredoc_{}_taken_out__\n"


def writes(
    command: str,
    cwd: str,
    *,
    home: str | None = None,
    is_folder: "Callable[[str], bool] | None" = None,
    modes: bool = True,
    root: str | None = None,
    read_text: "Callable[[str], str | None] | None" = None,
) -> shell.Reading:
    """What the command would write, were it run in `cwd`: a function of its arguments alone (core.shell.read)."""
    return shell.read(command, cwd, parse, home=home, is_folder=is_folder, modes=modes, root=root, read_text=read_text)


def small_text(path: str) -> str | None:
    """The text of a regular file of at most `READ_LIMIT` bytes; None for any other, and where it cannot be read."""
    import os
    from stat import S_ISREG

    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb") as file:
            found = os.fstat(file.fileno())
            if not S_ISREG(found.st_mode) or found.st_size > READ_LIMIT:
                return None
            return file.read(READ_LIMIT).decode()
    except (OSError, ValueError):
        return None


def real_path(path: str) -> str:
    """The path without symbolic links; itself where the disk does not say."""
    from os.path import realpath

    try:
        return realpath(path)
    except (OSError, ValueError):
        return path


def parse(text: str) -> Block:
    if len(text) > TEXT_LIMIT:
        return (Broken(text, reading.TOO_LARGE),)
    kept: list[str] = []
    if _is_heavy(text):
        text = _without_heredocs(text, kept) if "<<" in text else text
        if _is_heavy(text):
            pieces = _pieces(text) if "<<" not in text else []
            ends = pieces if len(pieces) <= 2 * PIECES_LIMIT else [*pieces[:PIECES_LIMIT], *pieces[-PIECES_LIMIT:]]
            parsed = [each for piece in ends if not _is_heavy(piece) for each in parse(piece)]
            return (*parsed, Broken(text, reading.TOO_LARGE))
    from .statements import Reader

    return Reader(text.encode("utf-8", "surrogatepass"), kept, _root).whole()


def _pieces(text: str) -> list[str]:
    """The lines of a long text in groups that are parsed one by one; a line that is too long is cut at semicolons. What
    goes over the end of a group is not understood: the whole is searched for names besides."""
    lines = [piece for line in text.split("\n") for piece in (line.split(";") if _is_heavy(line) else [line])]
    groups: list[list[str]] = [[]]
    size = marks = 0
    for line in filter(str.strip, lines):
        cost = sum(map(line.count, _MARKS)) + 1
        if groups[-1] and (size + len(line) > PARSED_LIMIT // 2 or marks + cost > MARKS_LIMIT // 2):
            groups.append([])
            size = marks = 0
        groups[-1].append(line)
        size, marks = size + len(line), marks + cost
    return ["\n".join(group) for group in groups]


def _root(source: bytes) -> "Node":
    """The grammar has no `for NAME do`, and reads `for NAME;do`. Both have the same length, so places stay."""
    parsed = re.sub(rb"(\bfor[ \t]+\w+[ \t]*)[ \t](do\b)", rb"\1;\2", source.translate(_ASCII))
    return _parser().parse(parsed).root_node


def _is_heavy(text: str) -> bool:
    return len(text) > PARSED_LIMIT or sum(map(text.count, _MARKS)) > MARKS_LIMIT


_loaded: "list[Language]" = []


def _parser() -> "Parser":
    """A new one for each text: a parser belongs to one thread, and making it costs less than asking which."""
    from tree_sitter import Language, Parser

    if not _loaded:
        _loaded.append(Language(_grammar()))
    return Parser(_loaded[0])


def _grammar() -> object:
    """Without the package around the binding, whose queries are not needed and whose imports cost more than a parse."""
    from importlib.machinery import PathFinder
    from importlib.util import find_spec, module_from_spec

    package = find_spec("tree_sitter_bash")
    if package is not None:
        spec = PathFinder.find_spec("tree_sitter_bash._binding", package.submodule_search_locations)
        if spec is not None and spec.loader is not None:
            binding = module_from_spec(spec)
            spec.loader.exec_module(binding)
            return binding.language()
    from tree_sitter_bash import language

    return language()


# --- heredocs ---------------------------------------------------------------------------------------------------------


def _without_heredocs(text: str, kept: list[str]) -> str:
    """The text with the heredocs that hold no expansion cut out.

    A line that looks like the start of one may be no such thing. Then the note left in its place is found outside a
    heredoc, and `faults` says so.
    """
    lines = [line + "\n" for line in text.split("\n")]
    places: dict[str, list[int]] = {}  # of each line, the last one first
    for number in range(len(lines) - 1, -1, -1):
        places.setdefault(lines[number].rstrip("\n").lstrip("\t"), []).append(number)
    made: list[str] = []
    at = 0
    tries = HEREDOCS_LIMIT
    while at < len(lines):
        line = lines[at]
        made.append(line)
        at += 1
        mark, quoted, tabs = _heredoc_mark(line) if tries else ("", False, False)
        ends = places.get(mark, []) if mark else []
        tries -= bool(mark)
        while ends and (ends[-1] < at or (not tabs and lines[ends[-1]].startswith("\t"))):
            ends.pop()
        body = lines[at : ends[-1]] if ends else []
        if body and (quoted or not any(sign in "".join(body) for sign in "$`\\")):
            made.append(_KEPT.format(len(kept)))
            kept.append("".join(each.lstrip("\t") if tabs else each for each in body))
            at = ends[-1]
    return "".join(made)[:-1]


def _heredoc_mark(line: str) -> tuple[str, bool, bool]:
    _, found, rest = line.partition("<<")
    if not found or rest.startswith("<"):
        return "", False, False
    tabs = rest.startswith("-")
    rest = rest[tabs:].lstrip(" ")
    quote = rest[:1] if rest[:1] in ("'", '"') else ""
    mark = rest[1:].partition(quote)[0] if quote else rest.lstrip("\\").split(maxsplit=1)[0] if rest.strip() else ""
    plain = mark.replace("_", "").replace("-", "").isalnum()
    return (mark if plain else ""), bool(quote) or rest.startswith("\\"), tabs
