"""Which repository a folder belongs to, however it is called and wherever it was moved.

A repository is known by an id in its git folder, `.git/rookery.id`: its worktrees share it, moving keeps it, a clone
does not get it. It is written when the repository first owns a team or is trusted. Where it can not be written, and for
a folder without git, the path is the identity.

`.git` may be a file or a link that leads to another repository's folder, and an archive can bring one along. Such a
folder has that identity only if git's own record there names it as a worktree.
"""

import os
from contextlib import suppress

from rookery.core.errors import BadInput
from rookery.core.record import NamedTuple
from rookery.runtime import files, git

FILE = "rookery.id"
LIMIT = 100
BYTES = 16


class Identity(NamedTuple):
    path: str  # the git folder that all worktrees share, or the folder itself
    id: str = ""  # of the repository; "" while it has none

    @property
    def key(self) -> str:
        """What acceptances are filed under."""
        return self.id or self.path


def find(folder: str) -> Identity:
    repository = git.find(folder)
    if repository is None:
        return Identity(os.path.realpath(folder))
    if not _is_own(repository):
        return Identity(os.path.realpath(repository.top))
    return Identity(repository.common, read(repository.common))


def establish(identity: Identity) -> Identity:
    """Give it an id, if it can have one: the first process wins."""
    if identity.id or not os.path.lexists(os.path.join(identity.path, "HEAD")):
        return identity
    path = os.path.join(identity.path, FILE)
    with suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, os.urandom(BYTES).hex().encode() + b"\n")
        finally:
            os.close(descriptor)
    return identity._replace(id=read(identity.path))


def read(path: str) -> str:
    """The id in this git folder; "" if there is none."""
    try:
        written = files.read_limited(os.path.join(path, FILE), LIMIT).decode("ascii", "replace").strip()
    except BadInput:
        return ""
    return written if len(written) == 2 * BYTES and written.isalnum() else ""


def _is_own(repository: git.Repository) -> bool:
    """Does the git folder know this working tree as its own?"""
    pointer = os.path.join(repository.top, ".git")
    if os.path.islink(pointer):
        return False
    if os.path.isdir(pointer):
        return os.path.realpath(pointer) == repository.common
    back = git.line(os.path.join(repository.folder, "gitdir"))
    return back is not None and os.path.realpath(os.path.join(repository.folder, back)) == os.path.realpath(pointer)
