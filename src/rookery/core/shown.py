"""Is a change set what was shown of it? Recorded files are compared with those that git finds in the repository.

A worker's own process reads its worktree and records the change set, so the record is a claim until it is compared.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rookery.core.record import NamedTuple

CODE = "CHANGED_SINCE_SHOWN"
LISTED = 1_000  # files of a change set that are recorded
NAMED = 5  # files that a reason names

File = Mapping[str, Any]  # {path, added, removed, status}, with `from` of a rename and `binary` besides


class Record(NamedTuple):
    """A change set as its row has it: what its author wrote, of any type."""

    base: str
    head: str
    files: Any  # the first of them, up to LISTED
    paths: Any
    added: Any
    removed: Any


def difference(record: Record, found: Sequence[File]) -> str:
    """What the record says otherwise; "" if nothing. `found` has the lines of every file, binary or not."""
    if not _is_written_well(record):
        return "its record is none of files and lines"
    if len(record.files) != min(record.paths, LISTED):
        return f"only {len(record.files)} of its {record.paths} files were shown"
    names, real = [each["path"] for each in record.files], {each["path"]: each for each in found}
    if names != [*real][:LISTED]:
        extra, gone = [path for path in real if path not in names], [path for path in names if path not in real]
        return f"it changes {_named(extra or [*real])}, and was shown to change {_named(gone or names)}"
    if record.paths != len(found):
        return f"it changes {len(found)} files, not {record.paths}"
    if other := [each["path"] for each in record.files if not _is_same(each, real[each["path"]])]:
        return f"it does something else to {_named(other)}"
    sums = tuple(sum(each[what] for each in record.files) for what in ("added", "removed"))
    complete = len(record.files) == record.paths
    return "its number of lines is not that of its files" if complete and sums != (record.added, record.removed) else ""


def _is_written_well(record: Record) -> bool:
    numbers = (record.paths, record.added, record.removed)
    return all(isinstance(each, int) for each in numbers) and all(map(_is_file, record.files))


def _is_file(written: Any) -> bool:
    if not isinstance(written, dict):
        return False
    file = cast("dict[str, Any]", written)
    words, numbers = (file.get("path"), file.get("status")), (file.get("added"), file.get("removed"))
    return all(isinstance(each, str) for each in words) and all(isinstance(each, int) for each in numbers)


def _is_same(shown: File, real: File) -> bool:
    """Lines of a binary file are unknown: they are 0 in the record, and no rule takes them for 0."""
    if (shown["status"], shown.get("from", "")) != (real["status"], real.get("from", "")):
        return False
    return bool(shown.get("binary")) or (shown["added"], shown["removed"]) == (real["added"], real["removed"])


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more
