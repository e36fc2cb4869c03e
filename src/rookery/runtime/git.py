"""What a git repository says about itself in its files. No git is run: starting it costs more than a whole verb.

.git/                       a repository: its git folder is its common folder
.git: "gitdir: PATH"        a linked worktree (PATH/commondir leads to the main repository), a submodule or a
                            repository kept elsewhere (no commondir: PATH is the common folder)
"""

import os
import stat

from rookery.core.errors import BadInput
from rookery.core.record import NamedTuple
from rookery.runtime.files import read_limited

POINTER_LIMIT = 1 << 14
SHORT_ID = 7
_HEX = frozenset("0123456789abcdef")


class Repository(NamedTuple):
    top: str  # the folder that is checked out
    folder: str  # HEAD and index of this worktree
    common: str  # what all worktrees share; the real path, so that it identifies the repository


def find(cwd: str) -> Repository | None:
    """The repository that this folder belongs to. A `.git` that leads nowhere is passed over."""
    place = os.path.realpath(cwd)
    while True:
        repository = _at(place)
        if repository:
            return repository
        above = os.path.dirname(place)
        if above == place:
            return None
        place = above


def toplevel(cwd: str) -> str | None:
    repository = find(cwd)
    return repository.top if repository else None


def branch(cwd: str) -> str | None:
    """The branch checked out here; the short commit id if none is; None outside a repository."""
    repository = find(cwd)
    return _branch(repository.folder) if repository else None


def _at(top: str) -> Repository | None:
    folder = os.path.join(top, ".git")
    try:
        mode = os.stat(folder).st_mode
    except (OSError, ValueError):
        return None
    if not stat.S_ISDIR(mode):
        target = line(folder)
        if target is None or not target.startswith("gitdir: "):
            return None
        folder = os.path.join(top, target.removeprefix("gitdir: "))
    if not os.path.lexists(os.path.join(folder, "HEAD")):
        return None  # git itself does not take such a folder for a repository
    common = os.path.join(folder, line(os.path.join(folder, "commondir")) or "")
    return Repository(top, folder, os.path.realpath(common))


def _branch(folder: str) -> str | None:
    head = line(os.path.join(folder, "HEAD"))
    if head is None:
        return None
    if head.startswith("ref: "):
        name = head.removeprefix("ref: ").strip().removeprefix("refs/heads/")
        # Where references are kept as a table, HEAD is a stub that names this branch.
        return name if name.isprintable() and name not in ("", ".invalid") else None
    return head[:SHORT_ID] if len(head) >= 40 and _HEX.issuperset(head) else None


def line(path: str) -> str | None:
    """A file of one line; None if it can not be read."""
    try:
        return os.fsdecode(read_limited(path, POINTER_LIMIT)).rstrip("\r\n")
    except BadInput:
        return None
