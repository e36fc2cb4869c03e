"""Agent programs that someone described: .rook/hosts/NAME.toml in the repository, or in the user's settings."""

import os
from collections.abc import Mapping
from typing import Any

from rookery.core import errors
from rookery.core.screen import Patterns
from rookery.hosts import written as writing
from rookery.hosts.profile import Profile
from rookery.runtime import files, places

from .call import Desk

LIMIT = 1 << 18


def written(desk: Desk, name: str) -> dict[str, Profile]:
    """The profile of that name, if there is one: the repository's before the user's."""
    try:
        writing.check_name(name)
    except errors.BadInput:
        return {}
    data, path = _text(desk.house.places, desk.house.settings, name)
    return {name: writing.parse(data, path, name)} if path else {}


def screen(where: places.Places, settings: Mapping[str, Any], name: str) -> Patterns | None:
    """How that program's terminal is read, if someone described it."""
    try:
        data, path = _text(where, settings, writing.check_name(name))
        return writing.screen(data, path, name) if path else None
    except errors.BadInput:
        return None


def _text(where: places.Places, settings: Mapping[str, Any], name: str) -> tuple[bytes, str]:
    """A file of the repository's or the user's, else what an installed distribution says; and where it is from."""
    path = _path(where, name)
    if path:
        return files.read_limited(path, LIMIT), path
    from rookery import extensions

    for each in extensions.hosts(settings):
        if each.name == name:
            if each.problem:
                raise errors.BadInput(f"{each.where}: {each.problem}.", "Correct or remove it.", code="BAD_PROFILE")
            return each.text.encode(), each.where
    return b"", ""


def _path(where: places.Places, name: str) -> str:
    found = (os.path.join(folder, f"{name}.toml") for folder in _folders(where))
    return next((path for path in found if os.path.lexists(path)), "")


def _folders(where: places.Places) -> list[str]:
    own = [os.path.join(os.path.dirname(where.user_file), "hosts")] if where.user_file else []
    return [os.path.join(where.root, ".rook", "hosts"), *own]
