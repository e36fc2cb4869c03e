"""Which store may move the branches of a repository: the first one that had workers there, while it exists.

An agent can make a store of its own in which it decides everything. Without this claim the merge worker of that store
could land on the user's branch. The claim is a file in the git folder that all worktrees share.
"""

import os
from contextlib import suppress

from rookery.core.errors import BadInput, Refused
from rookery.runtime import files, git

FILE = "rookery.store"
LIMIT = 1 << 14
URL = "://"


def take(folder: str, store: str) -> str:
    """The store that has this repository: this one, unless another one that still exists was first."""
    repository, store = git.find(folder), _real(store)
    if repository is None:
        return store
    path = os.path.join(repository.common, FILE)
    if (owner := _read(path)) and owner != store and (URL in owner or os.path.isfile(owner)):
        return owner
    if owner != store:
        with suppress(OSError):  # a repository that can not be written to can not be landed on either
            files.write_atomic(path, os.fsencode(store) + b"\n")
    return store


def require(folder: str, store: str) -> None:
    """Refuse to land on the branches of a repository that another store has."""
    if (owner := take(folder, store)) != _real(store):
        raise Refused(
            f"This repository is coordinated by the store {owner}, so that {store} lands nothing on its branches.",
            f"To move it here, remove the file {FILE} in its git folder.", code="OTHER_STORE",
        )  # fmt: skip


def _real(store: str) -> str:
    return store if URL in store else os.path.realpath(store)


def _read(path: str) -> str:
    try:
        return os.fsdecode(files.read_limited(path, LIMIT)).strip()
    except BadInput:
        return ""
