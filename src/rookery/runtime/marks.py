"""How files look, told in a word each: whether one was changed, made or removed is seen by comparing two looks."""

import os
from collections.abc import Iterable, Iterator

from rookery.core import patterns

LIMIT = 2_000  # files marked
SEEN_LIMIT = 20_000  # looked at on the way


def marks(root: str, wanted: Iterable[str]) -> dict[str, str]:
    """Marks of the files that any of the patterns covers, by their path from the root; of very many only some."""
    found: dict[str, str] = {}
    budget = iter(range(SEEN_LIMIT))
    for each in dict.fromkeys(wanted):
        pattern = patterns.parse(each)
        for path in _beneath(root, patterns.root(pattern), budget):
            if len(found) >= LIMIT:
                return found
            if path not in found and patterns.covers(pattern, path) and (mark := _mark(os.path.join(root, path))):
                found[path] = mark
    return found


def _beneath(root: str, start: str, budget: Iterator[int]) -> Iterator[str]:
    """The file itself, or every file beneath the folder; symlinks are files here, and git's own folder is nobody's."""
    top = os.path.join(root, start) if start else root
    if not os.path.isdir(top) or os.path.islink(top):
        yield start
        return
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(names):
            if next(budget, None) is None:
                return
            yield os.path.relpath(os.path.join(folder, name), root)


def _mark(path: str) -> str:
    try:
        seen = os.lstat(path)
    except OSError:
        return ""
    return f"{seen.st_mtime_ns:x}.{seen.st_size:x}.{seen.st_ino:x}"
