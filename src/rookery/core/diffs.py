"""Changes of one file as lines: what was there and what is, where it begins, how much it is."""

from collections.abc import Sequence

from rookery.core.record import NamedTuple

from .activity import Edit

COMPARED = 2_000  # lines of both sides that are compared; what is longer is shown as taken away and added


class Shown(NamedTuple):
    text: str
    line: int  # the first that changed, 0 if that is not told
    added: int
    removed: int


def shown(edits: Sequence[Edit]) -> Shown:
    """All edits of one file, one after another; where the first is counts."""
    made = [_of(edit) for edit in edits]
    lines = [line for each, _ in made for line in each]
    line = next((line for _, line in made if line), 0)
    added = sum(each.startswith("+") for each in lines)
    removed = sum(each.startswith("-") for each in lines)
    return Shown("\n".join(lines) + "\n" if lines else "", line, added, removed)


def _of(edit: Edit) -> tuple[list[str], int]:
    if edit.patch:
        lines = edit.patch.rstrip("\n").split("\n")
        return lines, first_line(lines)
    old, new = edit.old.splitlines(), edit.new.splitlines()
    if edit.whole:
        return [f"-{line}" for line in old] + [f"+{line}" for line in new], 1
    return _compared(old, new), 0


def _compared(old: list[str], new: list[str]) -> list[str]:
    if len(old) + len(new) > COMPARED:
        return [f"-{line}" for line in old] + [f"+{line}" for line in new]
    from difflib import unified_diff

    return [line for line in unified_diff(old, new, n=3, lineterm="")][3:]


def first_line(lines: Sequence[str]) -> int:
    """Of a patch that tells where its hunks are: the first line that is another than before. Else 0."""
    at = 0
    for line in lines:
        if line.startswith("@@ "):
            _, _, new = line.partition(" +")
            start = new.partition(" ")[0].partition(",")[0]
            at = int(start[:9]) if start.isascii() and start.isdigit() else 0
        elif at and line.startswith(("+", "-")):
            return at
        elif at:
            at += 1
    return 0
