"""Second names of a file: whoever writes through one writes the file under every name it has."""

import os
import stat
from collections.abc import Iterable, Iterator

from rookery.core import patterns
from rookery.core.errors import BadInput

LIMIT = 2_000  # files looked at for one question, on each side

Inode = tuple[int, int]


def may_be_shared(paths: Iterable[str], wide: Iterable[tuple[str, str]]) -> bool:
    """Whether it is worth asking who holds what: a file has a second name, or there is a folder full of files."""
    return any(map(_shared_inode, paths)) or any(os.path.isdir(folder) for folder, _ in wide)


def linked(root: str, held: Iterable[str], paths: Iterable[str], wide: Iterable[tuple[str, str]]) -> list[str]:
    """Files of the root that one of the patterns in `held` covers and that one of the paths is another name of, or a
    file in one of the folders of `wide` (folder, pattern of its files). Of very many only some are looked at."""
    from .marks import beneath  # asked before every write; few files have a second name

    budget = iter(range(LIMIT))
    named = (path for folder, pattern in wide for path in _files(folder, pattern, budget))
    wanted = {inode for path in (*paths, *named) if (inode := _shared_inode(path))}
    if not wanted:
        return []
    found: dict[str, None] = {}
    budget = iter(range(LIMIT))
    for each in held:
        pattern = patterns.parse(each)
        for path in beneath(root, patterns.root(pattern), budget):
            full = os.path.join(root, path)
            if patterns.covers(pattern, path) and _shared_inode(full) in wanted:
                found[full] = None
    return list(found)


def _files(folder: str, pattern: str, budget: Iterator[int]) -> Iterator[str]:
    try:
        wanted = patterns.parse(pattern or "**")
    except BadInput:  # more wildcards than a pattern may have: everything may be meant
        wanted = patterns.parse("**")
    from .marks import beneath

    for path in beneath(folder, "", budget):
        if patterns.covers(wanted, path):
            yield os.path.join(folder, path)


def _shared_inode(path: str) -> Inode | None:
    """Of a file with more than one name."""
    try:
        seen = os.lstat(path)
    except (OSError, ValueError):
        return None
    return (seen.st_dev, seen.st_ino) if stat.S_ISREG(seen.st_mode) and seen.st_nlink > 1 else None
