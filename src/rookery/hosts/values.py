"""Values of a line that a program wrote, whatever stands there, and a tool's use made an event of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core.activity import CALL, Edit, Event

from . import deeds

MOST_TEXT = 20_000  # characters of what is said
MOST_OUTPUT = 400_000  # of what a tool answers
MOST_TARGET = 400
MOST_TOKENS = 1 << 53
Json = Mapping[str, Any]


def string(value: object, limit: int = MOST_TEXT) -> str:
    return value[:limit] if isinstance(value, str) else ""


def table(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def count(value: object) -> int:
    """A number of tokens or turns."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS:
        return value
    return 0


def amount(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS:
        return float(value)
    return 0.0


_TARGETS = (
    "file_path", "path", "filePath", "notebook_path", "command", "cmd", "pattern", "query", "url", "file", "description"
)  # fmt: skip


def target(args: object) -> str:
    """What a tool is used on, from its arguments."""
    known = table(args)
    return next((found for name in _TARGETS if (found := string(known.get(name), MOST_TARGET))), "")


def parts(content: object, limit: int = MOST_TEXT) -> str:
    """The text of a message that may consist of parts."""
    if isinstance(content, str):
        return string(content, limit)
    told = (string(part.get("text"), limit) for part in rows(content))
    return string("\n".join(filter(None, told)), limit)


def number(value: object) -> int | None:
    """An exit code."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < MOST_TOKENS else None


def called(host: str, tool: object, args: object, id: object, **more: Any) -> Event:
    """A tool is used."""
    name, given = string(tool, MOST_TARGET), table(args)
    return Event(
        CALL, tool=name, target=target(given), id=string(id, MOST_TARGET), args=given,
        command=deeds.command(host, name, given), edits=deeds.edits(host, name, given), **more,
    )  # fmt: skip


def after(text: str, words: str) -> tuple[str, int | None]:
    """A text without the line at its end that tells the exit code, and that code."""
    rest, found, said = text.rpartition(words)
    code = said.strip().rstrip(">")
    if not found or not code.lstrip("-").isascii() or not code.lstrip("-").isdigit():
        return text, None
    return rest.rstrip() + "\n" if rest.strip() else "", int(code[:12])


def patches(paths: Sequence[str], diff: str) -> tuple[Edit, ...]:
    """What the program itself shows of an edit, where it is one of a single file."""
    _, found, lines = diff.partition("@@ ")
    return (Edit(paths[0], patch=found + lines),) if found and len(paths) == 1 and paths[0] else ()
