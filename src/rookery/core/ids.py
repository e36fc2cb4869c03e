"""Ids that sort by time: 41 bits of milliseconds since 2020, then 19 bits of chance, in Crockford's base 32.

Twelve characters without i, l, o and u, easy to read out and to type. The time bits last until 2089. Within one
millisecond 19 bits make a repeat possible (two ids: 1 in 524,288), so whoever stores an id does so under a unique key
and draws again; the order that counts is the team's event number.
"""

from rookery.core.errors import BadInput
from rookery.core.text import quoted

EPOCH_MS = 1_577_836_800_000  # 2020-01-01T00:00:00Z
TIME_BITS = 41
CHANCE_BITS = 19
LENGTH = (TIME_BITS + CHANCE_BITS) // 5

# What ids look like that come from outside: they become file names.
MESSAGE_PREFIX = "MSG-"
MESSAGE_ID_LIMIT = 64  # characters after the prefix
CHOSEN_ID_LIMIT = 40  # of an id that a sender chose: its copies' ids are longer and have to fit as well
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_SHIFTS = range(5 * (LENGTH - 1), -1, -5)


def message_id(now: int, chance: int) -> str:
    return short_id(MESSAGE_PREFIX, now, chance)


def check_message_id(id: str, limit: int = MESSAGE_ID_LIMIT) -> str:
    """`MSG-` and letters, digits, `_` and `-`."""
    rest = id.removeprefix(MESSAGE_PREFIX)
    if rest != id and 0 < len(rest) <= limit and _SAFE.issuperset(rest):
        return id
    raise BadInput(
        f"Not a message id: {quoted(id, 40)}.",
        f"MSG- and 1 to {limit} characters of A-Z, a-z, 0-9, '_' and '-'.",
        code="BAD_ID",
    )


def copy_id(message: str, agent: int) -> str:
    """The id of one recipient's copy, where every delivery must have its own; the same whenever it is asked for."""
    return f"{message}-{agent}"


def split_copy(id: str) -> tuple[str, int] | None:
    """The message and the agent of a copy's id; None where it can be none."""
    message, dash, agent = id.rpartition("-")
    if not dash or not agent.isdecimal() or not agent.isascii() or len(agent) > 18 or agent[0] == "0":
        return None
    return message, int(agent)


def short_id(prefix: str, now: int, chance: int) -> str:
    """The prefix, its dash included, and twelve characters. Of `chance` the lowest CHANCE_BITS are used."""
    time = min(max(now - EPOCH_MS, 0), (1 << TIME_BITS) - 1)
    number = time << CHANCE_BITS | chance & (1 << CHANCE_BITS) - 1
    return prefix + "".join([_ALPHABET[number >> shift & 31] for shift in _SHIFTS])
