"""How files look, told in a word each: whether one was changed, made or removed is seen by comparing two looks
(`core.file_marks`). The content counts where it may be read within the limits, else what the file system tells."""

import os
import stat
from collections.abc import Container, Iterable, Iterator

from rookery.core import file_marks, patterns

LIMIT = 2_000  # files marked
SEEN_LIMIT = 20_000  # looked at on the way
HASHED_BYTES = 1 << 20  # a larger file is not read
HASHED_BYTES_IN_ALL = 32 << 20  # read for one look: some 50 ms; a hook has 1.5 s


def marks(root: str, wanted: Iterable[str], unread: Iterable[str] = ()) -> dict[str, str]:
    """Marks of the files that any of the patterns covers, by their path from the root; of very many only some.
    `unread`: files that are not opened, whatever name they are found under (H39: the ledger)."""
    found: dict[str, str] = {}
    closed = {inode for path in unread if (inode := _inode(path))}
    budget = iter(range(SEEN_LIMIT))
    left = HASHED_BYTES_IN_ALL
    for each in dict.fromkeys(wanted):
        pattern = patterns.parse(each)
        for path in beneath(root, patterns.root(pattern), budget):
            if len(found) >= LIMIT:
                return found
            if path in found or not patterns.covers(pattern, path):
                continue
            mark, read = _mark(os.path.join(root, path), left, closed)
            left -= read
            if mark:
                found[path] = mark
    return found


def beneath(root: str, start: str, budget: Iterator[int]) -> Iterator[str]:
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


def _inode(path: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(path)
    except (OSError, ValueError):
        return None
    return seen.st_dev, seen.st_ino


def _mark(path: str, left: int, closed: Container[tuple[int, int]]) -> tuple[str, int]:
    """(the mark, how many bytes were read for it); nothing of a file that is not there."""
    try:
        seen = os.lstat(path)
    except (OSError, ValueError):
        return "", 0
    # No program can set the time of the last change of an inode, so it tells of a write whose traces were removed.
    looks = f"{seen.st_mtime_ns:x}.{seen.st_size:x}.{seen.st_ino:x}.{seen.st_ctime_ns:x}"
    is_read = stat.S_ISREG(seen.st_mode) and (seen.st_dev, seen.st_ino) not in closed
    if not is_read or seen.st_size > min(HASHED_BYTES, left):
        return file_marks.mark(looks), 0
    digest = _digest(path)
    return file_marks.mark(looks, digest), seen.st_size if digest else 0


def _digest(path: str) -> str:
    from hashlib import blake2b

    try:
        # It may have become a symlink or a pipe meanwhile: neither is followed, and nobody waits.
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(opened, "rb") as file:
        try:
            return blake2b(file.read(HASHED_BYTES + 1), digest_size=16).hexdigest()
        except OSError:
            return ""
