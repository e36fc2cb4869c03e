"""Folders of files that other programs read and write: made private, and never left through a symlink."""

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from rookery.core.errors import BadInput, StoreUnusable
from rookery.runtime.files import refusal


class Entry(NamedTuple):
    name: str
    path: str
    kind: str  # file, folder, symlink or other


def make_folder(path: str, *, parents: bool = False) -> None:
    """A folder, 0700 if it is made now. With `parents` it is where the user said, and may be reached by symlinks."""
    try:
        if parents:
            os.makedirs(path, 0o700, exist_ok=True)
        elif not os.path.lexists(path):
            os.mkdir(path, 0o700)
    except FileExistsError:
        pass  # someone was faster, or it is no folder: looked at now
    except OSError as error:
        raise refusal(path, error) from error
    except ValueError:
        raise BadInput(f"{path!a} is no path.", "Remove the NUL character.", code="BAD_PATH") from None
    if not (os.path.isdir(path) if parents else _kind(path) == "folder"):
        raise StoreUnusable(f"{path} is not a folder.", "Move it away, or name another place.", path=path)


def entries(folder: str) -> Iterator[Entry]:
    """What lies in a folder, sorted by name; hidden things are not looked at."""
    try:
        names = sorted(os.listdir(folder))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        sentence = f"{folder!a} can not be read: {why}."
        raise BadInput(sentence, "Name a folder that is there.", code="NO_FOLDER") from error
    for name in names:
        if not name.startswith("."):
            path = os.path.join(folder, name)
            yield Entry(name, path, _kind(path))


def remove_file(path: str) -> None:
    """Gone afterwards, whether or not it was there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise refusal(path, error) from error


def _kind(path: str) -> str:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return "other"
    if stat.S_ISLNK(mode):
        return "symlink"
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"
