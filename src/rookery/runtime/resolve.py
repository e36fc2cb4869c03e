"""Paths in their one spelling: relative to the workspace, as guards and reservations compare them (H24).

Two spellings of one file must become one word before anything is matched, or the second spelling walks past the
reservation of the first. So a path is taken from where the caller stands, symlinks and `..` are followed as the kernel
would (a symlink first, then the `..` after it), and what remains is written relative to the workspace, in NFC. Where
the disk ignores case, case is folded too: the name need not exist yet, so there is no spelling on the disk to ask for.

What lies outside is refused. It need not be a mistake (another project, /tmp), but nothing here speaks of it.

Weaknesses: what was a folder when it was resolved may be a symlink when it is written; a second hard link to a file is
another path; on a disk that keeps NFC and NFD apart, two names that look alike count as one.
"""

import os
import stat
from functools import lru_cache

from rookery.core.errors import BadInput
from rookery.core.text import composed, quoted

OUTSIDE = "OUTSIDE_WORKSPACE"
WORKSPACE = "."


def logical(path: str, cwd: str, workspace: str, *, fold: bool | None = None) -> str:
    """The file that `path` means in `cwd`, relative to the workspace ("." for that itself). It need not exist."""
    if not path.strip():
        raise BadInput("An empty path names nothing.", "`.` is the folder you are in.", code="BAD_PATH")
    root = _top(workspace)
    plain = cwd == workspace and _is_plain(root, path)
    real = os.path.join(root, path) if plain else _real(os.path.join(cwd, path), path)
    if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
        raise BadInput(
            f"{quoted(path)} lies outside the workspace.", f"The workspace is {workspace}.", code=OUTSIDE, path=path
        )
    spelled = composed(real[len(root.rstrip(os.sep)) + 1 :] or WORKSPACE)
    return composed(spelled.casefold()) if (_folds(root) if fold is None else fold) else spelled


def pattern(written: str, cwd: str, workspace: str, *, fold: bool | None = None) -> str:
    """The same for a pattern: what stands before its first wildcard is resolved, the rest matches what was resolved.

    A trailing slash is kept, for it says that a folder is meant.
    """
    if not written.strip():
        return written  # refused by whoever parses it; resolved, it would be the whole folder
    names = written.split("/")
    wild = next((i for i, name in enumerate(names) if "*" in name or "?" in name), len(names))
    head, rest = "/".join(names[:wild]), "/".join(names[wild:])
    folds = _folds(workspace) if fold is None else fold
    found = logical(head.rstrip("/") or ("/" if wild else "."), cwd, workspace, fold=folds)
    if not rest:
        return f"{found}/" if written.endswith("/") and found != WORKSPACE else found
    tail = composed(composed(rest).casefold()) if folds else composed(rest)
    return tail if found == WORKSPACE else f"{found}/{tail}"


def absolute(written: str, cwd: str, *, wild: bool = False) -> str:
    """The same from the root of the disk on, in whatever workspace it lies; `wild`: up to the first wildcard."""
    if not wild:
        return _real(os.path.join(cwd, written), written)
    names = os.path.join(cwd, written).split("/")
    first = next((i for i, name in enumerate(names) if "*" in name or "?" in name), len(names))
    head = _real("/".join(names[:first]) or "/", written)
    return os.path.join(head, *names[first:])


def is_around(folder: str, workspace: str) -> bool:
    """Is the workspace in this folder, or this folder itself?"""
    around = _real(folder, folder).rstrip(os.sep) + os.sep
    return (_top(workspace) + os.sep).startswith(around)


@lru_cache(256)
def _top(workspace: str) -> str:
    """Looked up once: if the way to the workspace is changed later, what was inside is outside, which is refused."""
    return _real(workspace, workspace)


@lru_cache(256)
def _folds(folder: str) -> bool:
    return ignores_case(folder)  # a disk does not change its mind


def ignores_case(folder: str) -> bool:
    """Does the disk hold `Name` and `name` for one? Asked of something in the folder, or of the folder itself."""
    try:
        with os.scandir(folder) as entries:
            name = next((entry.name for entry in entries if _has_case(entry.name)), "")
        place, name = (folder, name) if name else os.path.split(os.path.realpath(folder))
        seen, swapped = (os.lstat(os.path.join(place, each)) for each in (name, name.swapcase()))
    except OSError:
        return False
    return _has_case(name) and os.path.samestat(seen, swapped)


def _has_case(name: str) -> bool:
    return name.swapcase() != name


def _is_plain(root: str, path: str) -> bool:
    """Names one below the other, none of them a symlink: the path is what it says. (The usual case, and quick.)"""
    here = root
    for name in path.split(os.sep):
        if name in ("", os.curdir, os.pardir) or "\0" in name:
            return False
        here = f"{here}{os.sep}{name}"
        try:
            if stat.S_ISLNK(os.lstat(here).st_mode):
                return False
        except OSError:
            continue  # not there, or not to be looked at: `realpath` takes the name as it is, too
    return True


def _real(path: str, shown: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:
        raise BadInput(f"{quoted(shown)} is no path.", "Remove the NUL character.", code="BAD_PATH") from None
    except OSError as error:  # a link that may not be read, as /proc/1/cwd
        why = f"{quoted(shown)} can not be followed: {error.strerror}."
        raise BadInput(why, "Name the file by another path.", code="BAD_PATH") from None
