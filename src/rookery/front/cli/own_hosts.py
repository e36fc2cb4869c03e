"""Agent programs that someone described: .rook/hosts/NAME.toml in the repository, or in the user's settings."""

import os

from rookery.core import errors
from rookery.hosts import written as writing
from rookery.hosts.profile import Profile
from rookery.runtime import files

from .call import Desk

LIMIT = 1 << 18


def written(desk: Desk, name: str) -> dict[str, Profile]:
    """The profile of that name, if there is one: the repository's before the user's."""
    try:
        writing.check_name(name)
    except errors.BadInput:
        return {}
    for folder in _folders(desk):
        path = os.path.join(folder, f"{name}.toml")
        if os.path.lexists(path):
            return {name: writing.parse(files.read_limited(path, LIMIT), path, name)}
    return {}


def _folders(desk: Desk) -> list[str]:
    where = desk.house.places
    own = [os.path.join(os.path.dirname(where.user_file), "hosts")] if where.user_file else []
    return [os.path.join(where.root, ".rook", "hosts"), *own]
