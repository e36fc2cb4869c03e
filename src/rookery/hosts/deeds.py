"""What a program's tool does, from its name and arguments: the command that a shell runs, the files that are edited."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from rookery.core.activity import Edit
from rookery.core.hooks import Deed

from . import known
from .profile import Tool

MOST = 400_000  # characters of a command, or of one side of an edit
MANY = 50  # edits in one call
# In its record Codex calls its tools otherwise than before its hooks.
_CODEX = {
    "exec_command": Tool(Deed.SHELL, command="cmd"), "shell": Tool(Deed.SHELL, command="command"),
    "shell_command": Tool(Deed.SHELL, command="command"), "local_shell": Tool(Deed.SHELL, command="command"),
    "apply_patch": Tool(Deed.EDIT, patch="input"),
}  # fmt: skip
_SIDES = (("old_string", "new_string"), ("oldString", "newString"), ("old_str", "new_str"), ("oldText", "newText"))
_WHOLE = ("content", "file_text", "new_source")
_SHELLS = ("bash", "sh", "zsh")
_BEGUN, _ENDED = "*** Begin Patch", "*** End Patch"
_FILE = ("*** Add File: ", "*** Update File: ", "*** Delete File: ")


@cache
def tools(host: str) -> Mapping[str, Tool]:
    if host not in known.TITLES:
        return {}
    return {**known.find(host).tools, **(_CODEX if host == "codex" else {})}


def command(host: str, tool: str, args: Mapping[str, Any]) -> str:
    """What a shell is given; "" if the tool is none."""
    found = tools(host).get(tool)
    if found is None or found.deed is not Deed.SHELL:
        return ""
    said = args.get(found.command)
    if isinstance(said, list):
        return spoken([str(word) for word in said])
    return said[:MOST] if isinstance(said, str) else ""


def spoken(words: list[str]) -> str:
    """A command as it was meant: without the shell that was called for it."""
    from shlex import join

    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in ("-c", "-lc", "-ic"):
        return words[2][:MOST]
    return join(words)[:MOST]


def written(line: str) -> str:
    """The same for a command that was written as one line."""
    if line.partition(" ")[0].rpartition("/")[2] not in _SHELLS:
        return line[:MOST]
    import shlex

    try:
        return spoken(shlex.split(line[:MOST]))
    except ValueError:
        return line[:MOST]


def edits(host: str, tool: str, args: Mapping[str, Any]) -> tuple[Edit, ...]:
    """What an edit would make of which files, as far as its arguments tell."""
    found = tools(host).get(tool)
    if found is None or found.deed is not Deed.EDIT:
        return ()
    if found.patch:
        said = args.get(found.patch)
        return patched(said) if isinstance(said, str) else ()
    path = next((args[name] for name in found.paths if isinstance(args.get(name), str)), "")
    return tuple(_sides(path, args))[:MANY] if path else ()


def _sides(path: str, args: Mapping[str, Any]) -> Iterable[Edit]:
    several = args.get("edits")
    for each in several if isinstance(several, list) else [args]:
        if not isinstance(each, dict):
            continue
        for old, new in _SIDES:
            if isinstance(each.get(new), str):
                before = each.get(old)
                yield Edit(path, before[:MOST] if isinstance(before, str) else "", each[new][:MOST])
    for name in _WHOLE:
        if isinstance(args.get(name), str):
            yield Edit(path, new=args[name][:MOST], whole=True)


def patched(text: str) -> tuple[Edit, ...]:
    """The files of an `apply_patch`, each with its own lines."""
    found: list[tuple[str, list[str]]] = []
    for line in text[:MOST].split("\n"):
        head = next((each for each in _FILE if line.startswith(each)), "")
        if head:
            found.append((line.removeprefix(head).strip(), []))
        elif found and line not in (_BEGUN, _ENDED) and not line.startswith("*** "):
            found[-1][1].append(line)
    return tuple(Edit(path, patch="\n".join(lines).rstrip("\n") + "\n") for path, lines in found[:MANY] if path)
