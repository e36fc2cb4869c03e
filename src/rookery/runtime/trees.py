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


class Tree:
    """A folder, and what lies in it by whatever way it is reached. Where the folder itself is, is looked up once."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)

    def inside(self, path: str) -> str | None:
        """Where a path really leads, relative to the root it must not leave; None when it does. It need not exist."""
        try:
            real = os.path.join(self.root, path) if self._is_plain(path) else self._real(path)
        except ValueError:
            raise BadInput(f"{path!a} is no path.", "Remove the NUL character.", code="BAD_PATH") from None
        if real == self.root or not real.startswith(self.root.rstrip(os.sep) + os.sep):
            return None
        return real[len(self.root.rstrip(os.sep)) + 1 :]

    def _real(self, path: str) -> str:
        return os.path.realpath(os.path.join(self.root, path))

    def _is_plain(self, path: str) -> bool:
        """Names one below the other, none of them a symlink: the path is what it says. (The usual case, and quick.)"""
        here = self.root
        for name in path.split(os.sep):
            if name in ("", os.curdir, os.pardir):
                return False
            here = f"{here}{os.sep}{name}"
            try:
                if stat.S_ISLNK(os.lstat(here).st_mode):
                    return False
            except OSError:
                pass  # not there, or not to be looked at: `realpath` takes the name as it is, too
        return True


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
