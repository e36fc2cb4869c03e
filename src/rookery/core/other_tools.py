"""Tools that no table knows, those of MCP servers above all: what would they write, by their names and their input?

A tool may run the command that it is given, whatever it is called. A tool whose name says that it reads is left alone
otherwise; any other may write the paths that its input names. A tool without such input writes nothing that could be
judged. A command of a type that cannot be read is an error of the event.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from rookery.core.hooks import Deed
from rookery.core.record import NamedTuple

LEAVES_LIMIT = 500
PATH_LIMIT = 1_000  # characters

_WRITES = re.compile(
    r"write|edit|creat|updat|delet|remov|renam|move|replac|insert|append|patch|apply|save|put|set|format|refactor|touch|"
    r"copy|upload|mkdir|modif|overwrit|truncat|store|sync|rm\b"
)
_READS = re.compile(
    r"read|get|list|search|find|view|fetch|stat|info|grep|glob|query|describ|show|look|diff|log|blame|symbol|hover|"
    r"\bls\b|\bdir\b|\bcat\b|\bhead\b|\btail\b|referenc|definition|explain|review|analy|diagnos|lint|check|test|tree|count|resolve|navigat|screenshot|snapshot"
)
_RUNS = re.compile(r"exec|run|shell|bash|command|terminal|eval|process|cmd")
_COMMAND_KEYS = ("command", "cmd", "script", "commands", "commandline", "command_line", "shell_command")
_COMMAND_KEYS_OF_RUNNERS = (*_COMMAND_KEYS, "input", "code")
_PATH_KEY = re.compile(r"path|file|uri|target|dest|dir|folder|notebook|location|document", re.IGNORECASE)
_SOURCE_KEY = re.compile(r"source|src|from|old_?path", re.IGNORECASE)
_TEXT_KEY = re.compile(r"title|body|message|descri|text|content|query|prompt|summary|label|branch|ref", re.IGNORECASE)
_OUR_SERVERS = ("rook", "rookery")


class Judged(NamedTuple):
    deed: Deed = Deed.OTHER
    paths: tuple[str, ...] = ()
    command: str = ""
    untold: str = ""  # why it can not be told what it runs


def judge(tool: str, fields: Mapping[str, Any]) -> Judged:
    server, _, last = tool.removeprefix("mcp__").rpartition("__")
    if server in _OUR_SERVERS:
        return Judged()
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", last or tool).lower()
    runs = bool(_RUNS.search(words))
    keys = _COMMAND_KEYS_OF_RUNNERS if runs else _COMMAND_KEYS
    value = next((fields[key] for key in keys if fields.get(key)), None)
    command = _text(value)
    if command is None:
        return Judged(Deed.EDIT, untold="its command can not be read")
    paths = _paths(words, fields)
    if command and (runs or not paths or any(char.isspace() for char in command)):
        return Judged(Deed.SHELL, () if runs else paths, _with_arguments(command, fields.get("args")))
    if (_READS.search(words) and not _WRITES.search(words)) or command == "view":
        return Judged()
    return Judged(Deed.EDIT, paths) if paths else Judged()


def _paths(words: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    copies = "copy" in words
    found = [
        value
        for key, value in _leaves(fields)
        if key not in _COMMAND_KEYS and _is_path(key, value) and not (copies and _SOURCE_KEY.search(key))
    ]
    return tuple(dict.fromkeys(found))


def _text(value: Any) -> str | None:
    """A command as one text: several lines of it, or its words; None where it is something else."""
    if isinstance(value, list) and all(isinstance(each, str) for each in cast("list[Any]", value)):
        from shlex import join

        listed = cast("list[str]", value)
        return "\n".join(listed) if any(" " in each for each in listed[:1]) else join(listed)
    return value if isinstance(value, str) else "" if value is None else None


def _with_arguments(command: str, arguments: Any) -> str:
    if not isinstance(arguments, list):
        return command
    from shlex import join

    return f"{command} {join(str(each) for each in cast('list[Any]', arguments))}"


def _leaves(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts in the input, each with the name it stands under."""
    waiting: list[tuple[str, Any]] = list(fields.items())
    seen = 0
    while waiting and seen < LEAVES_LIMIT:
        key, value = waiting.pop()
        seen += 1
        if isinstance(value, str):
            yield str(key), value
        elif isinstance(value, Mapping):
            waiting += [(str(name), each) for name, each in cast("Mapping[Any, Any]", value).items()]
        elif isinstance(value, list):
            waiting += [(str(key), each) for each in cast("list[Any]", value)[:LEAVES_LIMIT]]


def _is_path(key: str, value: str) -> bool:
    if not value or len(value) > PATH_LIMIT or "\n" in value:
        return False
    if _PATH_KEY.search(key):
        return "://" not in value or value.startswith("file://")
    if _TEXT_KEY.search(key):
        return False
    return bool(re.fullmatch(r"(?:file://|~?/|\.{1,2}/)?[\w.@+-]{1,255}(?:/[\w.@+ -]{1,255}){1,60}", value)) and (
        value.startswith(("/", "./", "../", "~/", "file://")) or "." in value.rpartition("/")[2]
    )
