"""Folders of Markdown files: `swarms/<group>/agents/<agent>.md`, a group's agents; `.rook/lenses/<name>.md`, lenses;
`.rook/kinds/<name>.md`, kinds of workers."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rookery.core.errors import BadInput
from rookery.core.names import check_name, key
from rookery.core.trust import is_inside
from rookery.runtime.files import read_limited

if TYPE_CHECKING:
    from rookery.core.kinds import Found

SUFFIX = ".md"


def group_members(root: str, cwd: str, patterns: Sequence[str], group: str) -> list[str]:
    """The agents of a group, sorted; files that begin with `_`, or whose names no agent could have, are not agents."""
    check_name(group)  # it becomes part of a path
    members: set[str] = set()
    for base in {root, cwd}:
        for pattern in patterns:
            # Not str.format: a pattern comes from a file in the repository, and format reaches attributes.
            folder = os.path.join(base, pattern.replace("{group}", group))
            if not is_inside(pattern) or _stays(folder, base):
                members |= _stems(folder)
    return sorted(members)


def _stays(folder: str, base: str) -> bool:
    """A folder inside the workspace by its name is no link to one outside."""
    try:
        return os.path.realpath(folder).startswith(os.path.realpath(base).rstrip(os.sep) + os.sep)
    except ValueError:
        return False  # no path at all


def _stems(folder: str) -> set[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(SUFFIX) and os.path.isfile(entry.path)]
    except (OSError, ValueError):
        return set()  # no such folder, or none we may read
    return {stem for name in names if not name.startswith("_") and _is_name(stem := name.removesuffix(SUFFIX))}


def _is_name(stem: str) -> bool:
    try:
        check_name(stem)
    except BadInput:
        return False
    return True


# -- lenses ----------------------------------------------------------------------------------------------------------


MayReplace = Callable[[str, str], bool]  # a path and its text


def _always(_path: str, _written: str) -> bool:
    return True


def lens(places: Sequence[str], name: str, may_replace: MayReplace = _always) -> str | None:
    """The text of a lens: of the first folder that has it, else one of ours."""
    return next((written for found, written, _ in lenses(places, may_replace) if key(found) == key(name)), None)


def lenses(places: Sequence[str], may_replace: MayReplace = _always) -> list[tuple[str, str, str]]:
    """(name, text, where it is), sorted; what cannot be read as text, leads elsewhere, or would replace another and may
    not, is none."""
    from rookery.core.lenses import BUILT_IN

    found = {name: (name, written, "built in") for name, written in BUILT_IN.items()}
    for place in reversed(places):
        for stem in () if os.path.islink(place) else _stems(place):
            path = os.path.join(place, stem + SUFFIX)
            written = _text(path)
            if written is not None and (key(stem) not in found or may_replace(path, written)):
                found[key(stem)] = (stem, written, path)
    return sorted(found.values())


def _text(path: str) -> str | None:
    from rookery.core.lenses import LIMIT

    try:
        # What a repository brings along may be a link to anything of its reader's.
        return None if os.path.islink(path) else read_limited(path, LIMIT).decode()
    except (BadInput, UnicodeDecodeError):
        return None


# -- kinds of workers --------------------------------------------------------------------------------------------------


def kinds(places: Sequence[tuple[str, str]], name: str = "") -> "list[Found]":
    """Every file that describes a kind, or those of this name, in the order of the places (layer, folder).

    One that can not be read says why: whoever uses that kind has to know.
    """
    from rookery.core.kinds import Found

    found: list[Found] = []
    for layer, place in places:
        stems = () if os.path.islink(place) else sorted(_stems(place))
        for stem in stems:
            if not name or key(stem) == key(name):
                path = os.path.join(place, stem + SUFFIX)
                written, problem = _kind(path)
                found.append(Found(stem, layer, path, written, problem))
    return found


def _kind(path: str) -> tuple[str, str]:
    from rookery.core.kinds import LIMIT

    if os.path.islink(path):
        return "", "it is a symlink"  # what a repository brings along may lead to anything of its reader's
    try:
        return read_limited(path, LIMIT).decode(), ""
    except BadInput as error:
        return "", error.message.rstrip(".")
    except UnicodeDecodeError as error:
        return "", f"it is not UTF-8: byte {error.start}"


# -- agent programs ----------------------------------------------------------------------------------------------------

HOST_SUFFIX = ".toml"


def host_names(folder: str) -> list[str]:
    """The agent programs that files of a folder describe; a link is none."""
    try:
        with os.scandir(folder) as entries:
            found = [each.name for each in entries if each.is_file(follow_symlinks=False)]
    except OSError:
        return []
    stems = [name.removesuffix(HOST_SUFFIX) for name in found if name.endswith(HOST_SUFFIX)]
    return sorted(stem for stem in stems if _is_name(stem))
