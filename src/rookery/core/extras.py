"""What a message may ask for besides being read: facts in its context, written here and read here.

A context comes from its sender and may hold anything, so every reader takes what it can use and passes over the rest.
What the facts allow is decided where they are used, by the settings of that moment.

    lens          perspectives to take, by name; their text is the repository's
    clear_before  the reader starts afresh before it is given this
    interrupt     the reader's turn may be broken off for this
    rounds        how often this is put before its reader, and which time it is
    status        how the work stands, in the team's own words (TX)
    by            how it came in, where that proves less than usual
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rookery.core.record import NamedTuple

from . import errors, text

LENSES = 10
LENS_NAME = 50
STATUS_LIMIT = 50
MAILDROP = "maildrop"
ROUNDS_MOST = 1_000_000
_CLEARING = ("request", "task", "prompt")


class Rounds(NamedTuple):
    round: int
    of: int


def lenses(context: Mapping[str, Any]) -> list[str]:
    given = context.get("lens")
    if not isinstance(given, list):
        return []
    words = [word for word in cast("list[Any]", given) if isinstance(word, str) and 0 < len(word) <= LENS_NAME]
    return list(dict.fromkeys(words))[:LENSES]


def clear_before(context: Mapping[str, Any]) -> bool:
    return context.get("clear_before") is True


def interrupt(context: Mapping[str, Any]) -> bool:
    return context.get("interrupt") is True


def rounds(context: Mapping[str, Any]) -> Rounds | None:
    """None for a message that is put before its reader once."""
    given = context.get("rounds")
    if not isinstance(given, Mapping):
        return None
    numbers = cast("Mapping[str, Any]", given)
    this, of = _count(numbers.get("round")), _count(numbers.get("of"))
    return Rounds(this, of) if 1 <= this <= of else None


def _count(value: Any) -> int:
    """0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= ROUNDS_MOST else 0


def status(context: Mapping[str, Any]) -> str:
    given = context.get("status")
    return given[:STATUS_LIMIT] if isinstance(given, str) else ""


def by(context: Mapping[str, Any]) -> str:
    """How it came in: "maildrop", or "" for a verb that knows its caller."""
    return MAILDROP if context.get("by") == MAILDROP else ""


def next_round(context: Mapping[str, Any], most: int) -> dict[str, Any] | None:
    """The context of the round that follows a completed one; None if that was the last."""
    found = rounds(context)
    if found is None or found.round >= min(found.of, most):
        return None
    return {**context, "rounds": {"round": found.round + 1, "of": min(found.of, most)}}


def written(
    context: Mapping[str, Any] | None, *, type: str, lens: Sequence[str] = (), clear: bool = False, count: int = 0,
    most: int = 1, status: str = "", interrupt: bool = False,
) -> Mapping[str, Any] | None:  # fmt: skip
    """The context with what was asked for; the same one if nothing was."""
    asked: dict[str, Any] = {}
    if lens:
        asked["lens"] = list(dict.fromkeys(lens))
    if clear:
        if type not in _CLEARING:
            raise errors.BadInput(f"A {text.one_line(type, 40)} clears nobody.", "-t task or -t request does.")
        asked["clear_before"] = True
    if interrupt:
        asked["interrupt"] = True
    if count:
        asked["rounds"] = {"round": 1, "of": _checked_rounds(count, most)}
    if status:
        if len(status) > STATUS_LIMIT or not status.isprintable():
            raise errors.BadInput(
                f"The status {text.quoted(status, 40)} can not be used.", f"At most {STATUS_LIMIT} characters."
            )
        asked["status"] = status
    return {**(context or {}), **asked} if asked else context


def _checked_rounds(count: int, most: int) -> int:
    if not 1 <= count <= most:
        raise errors.BadInput(f"{count} rounds are out of range.", f"1 to {most}: mail.rounds_max.")
    return count


def check_lens_count(lens: Sequence[str]) -> None:
    if len(lens) > LENSES:
        raise errors.BadInput(f"{len(lens)} lenses are too many.", f"At most {LENSES}.")
