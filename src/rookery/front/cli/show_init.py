"""How `rook init` is shown: the differences first, then what to know. Lines are not folded: a patch is a patch."""

from collections.abc import Mapping
from typing import Any

from rookery.core.text import plain

COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
OFF = "\x1b[0m"
DONE = {"new": "made", "changed": "changed", "removed": "removed"}


def shown(result: Mapping[str, Any], *, terminal: bool) -> str:
    return "".join(f"{line}\n" for line in _lines(result, terminal))


def _lines(result: Mapping[str, Any], terminal: bool) -> list[str]:
    changes, notes = result["changes"], [f"- {plain(note, keep_newlines=False)}" for note in result["notes"]]
    if not changes:
        said = "Nothing is left to take back." if result["undo"] else "Nothing to do: all is as it would be written."
        return [said, *notes]
    if not result["done"]:
        return [*(line for change in changes for line in _diff(change["diff"], terminal)), *notes]
    lines = [f"{DONE[change['change']]:8} {plain(change['path'], keep_newlines=False)}" for change in changes]
    return [*lines, *notes, *([] if result["undo"] else ["`rook doctor` tells whether the programs really ask."])]


def _diff(diff: str, terminal: bool) -> list[str]:
    lines = [plain(line) for line in diff.removesuffix("\n").split("\n")]
    return [f"{COLOURS[line[0]]}{line}{OFF}" if terminal and line[:1] in COLOURS else line for line in lines]
