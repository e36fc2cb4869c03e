"""Names of agents, groups, roles and teams, and the addresses made of them.

    name       [A-Za-z0-9_][A-Za-z0-9_.-]{0,49}, no dot at the end
    address    name | group/name
    target     address | broadcast:GROUP | any:ROLE

Only ASCII, so that no two names look alike and none needs a normal form; unique without regard to case, so that they
can be file names anywhere and be spoken aloud. Character checks rather than a pattern: the check knows what is wrong.
"""

from collections.abc import Iterable

from rookery.core.errors import BadInput
from rookery.core.record import NamedTuple
from rookery.core.text import quoted

SYSTEM = "system"
PERSON = "user"
RESERVED = (SYSTEM, PERSON)
CREWS = "*crews"  # whom the bell rings when a step of a crew may be due: no agent can have that name

NAME_LIMIT = 50
NAME_CHARS = (
    "A name has 1 to 50 characters: A-Z, a-z, 0-9, '_', '.' and '-'; it begins with a letter, a digit or '_', "
    "and does not end with a dot."
)
_ADDRESS_FORMS = "Write an address as NAME or GROUP/NAME."
_TARGET_FORMS = "Write NAME, GROUP/NAME, broadcast:GROUP or any:ROLE."

_FIRST = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_REST = _FIRST | {".", "-"}


class Target(NamedTuple):
    """Whom a message is for. `kind` is "agent" (name is an address), "broadcast" (a group) or "any" (a role)."""

    kind: str
    name: str


def check_name(text: str) -> str:
    """One segment: the name of an agent, a group or a role."""
    return _check_segment(text, "name", "BAD_NAME")


def check_team(text: str) -> str:
    return _check_segment(text, "team name", "BAD_TEAM")


def check_address(text: str) -> str:
    """`name` or `group/name`."""
    group, slash, name = text.partition("/")
    if not slash:
        return check_name(text)
    if "/" in name:
        raise BadInput(
            f"The address {quoted(text)} has {text.count('/')} slashes; it may have one.",
            _ADDRESS_FORMS,
            code="BAD_NAME",
        )
    _check_segment(group, "group before the slash", "BAD_NAME")
    _check_segment(name, "name after the slash", "BAD_NAME")
    return text


_LOOKALIKES = str.maketrans({"0": "o", "1": "l", "i": "l", "5": "s"})


def skeleton(name: str) -> str:
    """The same for names that a reader takes for each other: `boss` and `B055`, `user` and `u5er`."""
    return key(name).translate(_LOOKALIKES).replace("rn", "m").replace("vv", "w")


def check_new_name(text: str) -> str:
    """An address that someone may join or be renamed to. `ops/user` would be taken for the person as well."""
    check_address(text)
    for segment in text.split("/"):
        if skeleton(segment) in RESERVED:
            raise BadInput(
                f"The name '{segment}' is reserved: '{PERSON}' is the person and '{SYSTEM}' is Rookery itself.",
                "Choose another name, or join without one to be given one.",
                code="RESERVED_NAME",
            )
    return text


def parse_target(text: str) -> Target:
    kind, colon, rest = text.partition(":")
    if not colon:
        return Target("agent", check_address(text))
    if kind == "broadcast":
        return Target(kind, _check_segment(rest, "group to broadcast to", "BAD_NAME"))
    if kind == "any":
        return Target(kind, _check_segment(rest, "role after 'any:'", "BAD_NAME"))
    raise BadInput(f"The target {quoted(text)} is of no known kind.", _TARGET_FORMS, code="BAD_NAME")


def key(name: str) -> str:
    """What must be unique: two spellings with the same key are the same agent."""
    return name.casefold()


def member(group: str, name: str) -> str:
    """What a member of a group is compared by: `ada` and `dev/ada` are the same name within the group dev."""
    return key(name).removeprefix(f"{key(group)}/")


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known names most like this one, best first; a name without its group finds its full address."""
    from difflib import get_close_matches

    spellings: dict[str, list[str]] = {}
    for address in known:
        for form in {key(address), key(address.rpartition("/")[2])}:
            spellings.setdefault(form, []).append(address)
    # Whatever was typed may be long, and comparing costs the product of both lengths.
    wanted = key(name[: 2 * NAME_LIMIT])
    found = (address for form in get_close_matches(wanted, spellings, max(count, 1)) for address in spellings[form])
    return list(dict.fromkeys(found))[: max(count, 0)]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`Did you mean SwiftRaven or SwiftRover?`, or nothing when no known name is near."""
    found = nearest(name, known)
    if not found:
        return ""
    *others, last = found
    return f"Did you mean {', '.join(others) + ' or ' if others else ''}{last}?"


def _check_segment(text: str, what: str, code: str) -> str:
    # The quick way out for every name that is right.
    if 0 < len(text) <= NAME_LIMIT and text[0] in _FIRST and text[-1] != "." and _REST.issuperset(text):
        return text
    if not text:
        raise BadInput(f"The {what} is empty.", NAME_CHARS, code=code)
    problem, hint = _problem(text)
    raise BadInput(f"The {what} {quoted(text)} {problem}.", hint or NAME_CHARS, code=code)


def _problem(text: str) -> tuple[str, str]:
    """What is wrong with a non-empty segment that is not a name, and a better hint than the rule where there is one."""
    control = next((c for c in text if c < " " or "\x7f" <= c <= "\x9f"), "")
    if control == "\0":
        return "contains a NUL character", ""
    if control:
        return f"contains the control character U+{ord(control):04X}", ""
    if "/" in text:
        return "contains a slash", ""
    if not text.strip("."):
        return "consists of dots, which mean a folder", ""
    if len(text) > NAME_LIMIT:
        return f"is {len(text)} characters long; the limit is {NAME_LIMIT}", ""
    if not text.isascii():
        return _foreign(text)
    stray = next((c for c in text if c not in _REST), "")
    if stray:
        return "contains a space" if stray == " " else f"contains {quoted(stray)}", ""
    if text[0] not in _FIRST:
        return f"begins with '{text[0]}'", ""
    return "ends with a dot", ""


def _foreign(text: str) -> tuple[str, str]:
    import unicodedata

    stray = next(c for c in text if not c.isascii())
    title = unicodedata.name(stray, "")
    problem = f"contains U+{ord(stray):04X}{' ' + title if title else ''}, which is not ASCII"
    folded = unicodedata.normalize("NFKC", text)
    try:
        return problem, f"Did you mean the plain '{check_name(folded)}'?" if folded.isascii() else ""
    except BadInput:
        return problem, ""
