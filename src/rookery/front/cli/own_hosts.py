"""Agent programs that someone described: .rook/hosts/NAME.toml in the repository, or in the user's settings."""

import os

from rookery import app
from rookery.core import errors
from rookery.core.screen import Patterns
from rookery.hosts import written as writing
from rookery.hosts.profile import Profile
from rookery.runtime import files

from .call import Desk


def written(desk: Desk, name: str) -> dict[str, Profile]:
    """The profile of that name, if there is one: the user's before the repository's."""
    try:
        writing.check_name(name)
    except errors.BadInput:
        return {}
    data, path = _text(desk.house, name)
    return {name: writing.parse(data, path, name)} if path else {}


def screen(house: app.House, name: str) -> Patterns | None:
    """How that program's terminal is read, if someone described it."""
    try:
        data, path = _text(house, writing.check_name(name))
        return writing.screen(data, path, name) if path else None
    except (errors.BadInput, errors.NotYours):
        return None


def _text(house: app.House, name: str) -> tuple[bytes, str]:
    """A file of the user's, else what an installed distribution says, else a file of the repository's that the user
    accepted; and where it is from."""
    own = house.places.user_file
    path = os.path.join(os.path.dirname(own), "hosts", f"{name}.toml") if own else ""
    if path and os.path.lexists(path):
        return files.read_limited(path, app.HOST_LIMIT), path
    from rookery import extensions

    for each in extensions.hosts(house.settings):
        if each.name == name:
            if each.problem:
                raise errors.BadInput(f"{each.where}: {each.problem}.", "Correct or remove it.", code="BAD_PROFILE")
            return each.text.encode(), each.where
    return house.directory.host(name)
