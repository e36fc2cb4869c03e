"""What is named as evidence and lies outside the ledger: commits and files of a working copy, looked up."""

import os
from collections.abc import Sequence

from . import repository


def unknown_commits(where: str, names: Sequence[str]) -> list[str]:
    """Return the names that are not commits, among them names with more than one meaning.

    One git answers for all. In a partial clone git may die of a missing object (by SIGPIPE, when the fetch that it
    started has ended before it was written to); then each name is looked up alone, and a failure means unknown.
    """
    asked = "".join(f"{name}^{{commit}}\n" for name in names)
    said = repository.git(where, "cat-file", "--batch-check=%(objecttype)", stdin=asked)
    answers = said.out.splitlines()
    if said.code or len(answers) != len(names):
        return [name for name in names if not repository.has_commit(where, name)]
    return [name for name, kind in zip(names, answers, strict=True) if kind != "commit"]


def has_file(where: str, written: str) -> bool:
    """Inside the working copy, wherever links lead: `src/a.py`, `src/a.py:12`, `src/a.py:12-30`."""
    root = os.path.realpath(where)
    for path in dict.fromkeys((written, _without_line(written))):
        try:
            found = os.path.realpath(os.path.join(root, path))
            if found.startswith(root.rstrip("/") + "/") and os.path.isfile(found):
                return True
        except (OSError, ValueError):
            continue
    return False


def _without_line(written: str) -> str:
    path, colon, line = written.rpartition(":")
    return path if colon and line and set(line) <= set("0123456789-,") else written
