"""What a repository may set by itself, and what the user has to accept first (`rook trust`).

A repository may narrow, never widen. The rule of a setting is one word or more, and its first word is its class:

    free                the value counts
    trust               the value counts once the user accepted it
    claim               the name of a team: it counts while no other repository owns that team
    narrow ...          the value counts if it is at least as strict as the value below it, else once it is accepted

"Below" is what the default and the user's own file say. Pure: values in, an answer out.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rookery.core.record import NamedTuple

FREE, TRUST, CLAIM, NARROW = CLASSES = ("free", "trust", "claim", "narrow")
LOWER, HIGHER = "narrow lower", "narrow higher"
LOWER_NOT_ZERO = "narrow lower, 0 is no limit"
HIGHER_OR_ZERO = "narrow higher, 0 keeps all"
OFF, ON = "narrow off", "narrow on"
ENTRIES_NEW = "narrow new entries"  # of a table: entries that the user's own file does not have
ALONE = "narrow unset"  # only where the user's own file says nothing
INSIDE = "narrow inside"  # a list of folders: none of them outside the workspace
_ORDER = "narrow order "
NOT_IN_FORCE = "not in force: run `rook trust`"
DERIVED_DIGITS = 6  # how a team's name ends that was made from a folder


def order(words: str) -> str:
    """A rule for a choice: its words, the strictest first."""
    return _ORDER + words


def class_of(rule: str) -> str:
    return rule.partition(" ")[0]


class Request(NamedTuple):
    """Something that a repository asks for and may not set by itself."""

    file: str  # where it is written
    key: str  # a setting, or a field of a kind
    value: str  # as it is shown
    allows: str  # what it would allow
    digest: str  # of exactly this content: an acceptance is bound to it
    accepted: bool = False


def as_data(request: Request) -> dict[str, Any]:
    return {**request._asdict(), "in_force": request.accepted}


# -- settings --------------------------------------------------------------------------------------------------------


def is_within(rule: str, value: Any, below: Any, *, below_is_set: bool) -> bool:
    """Is a repository's value at least as strict as the value below it?"""
    if value == below:
        return True
    if rule.startswith(_ORDER):
        words = rule.removeprefix(_ORDER).split()
        return words.index(value) <= words.index(below)
    if class_of(rule) != NARROW:
        return class_of(rule) in (FREE, CLAIM)
    return {
        LOWER: lambda: value < below,
        HIGHER: lambda: value > below,
        LOWER_NOT_ZERO: lambda: value != 0 and (below == 0 or value < below),
        HIGHER_OR_ZERO: lambda: value == 0 or (below != 0 and value > below),
        OFF: lambda: not value,
        ON: lambda: bool(value),
        ALONE: lambda: not below_is_set,
        ENTRIES_NEW: lambda: not below_is_set,
        INSIDE: lambda: all(map(is_inside, value)),
    }[rule]()


def is_inside(folder: str) -> bool:
    """Does this path of a repository stay in the repository, as far as its text tells?"""
    return not folder.startswith(("/", "~")) and ".." not in folder.split("/")


def is_derived_team(name: str) -> bool:
    """Does it look like a name that Rookery makes from a folder? Whose folder that is, a name does not tell."""
    _, dash, digits = name.rpartition("-")
    return bool(dash) and len(digits) == DERIVED_DIGITS and set(digits) <= set("0123456789abcdef")


# -- what was accepted -----------------------------------------------------------------------------------------------


def digest(key: str, value: Any) -> str:
    """Of a setting and its value, or of a file and its content: whatever changes, the acceptance is over."""
    import hashlib
    import json

    return hashlib.sha256(json.dumps([key, value], sort_keys=True).encode("utf-8", "surrogateescape")).hexdigest()


def shown(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value).items()
        return "{ " + ", ".join(f"{key} = {shown(item)}" for key, item in pairs) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(shown, cast("Sequence[Any]", value))) + "]"
    return ascii(value)[1:-1] if isinstance(value, str) else str(value)
