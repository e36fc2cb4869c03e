"""Ids that sort by time: 41 bits of milliseconds since 2020, then 19 bits of chance, in Crockford's base 32.

Twelve characters without i, l, o and u, easy to read out and to type. The time bits last until 2089. Within one
millisecond 19 bits make a repeat possible (two ids: 1 in 524,288), so whoever stores an id does so under a unique key
and draws again; the order that counts is the team's event number.
"""

EPOCH_MS = 1_577_836_800_000  # 2020-01-01T00:00:00Z
TIME_BITS = 41
CHANCE_BITS = 19
LENGTH = (TIME_BITS + CHANCE_BITS) // 5

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def message_id(now: int, chance: int) -> str:
    return short_id("MSG-", now, chance)


def short_id(prefix: str, now: int, chance: int) -> str:
    """The prefix, its dash included, and twelve characters. Of `chance` the lowest CHANCE_BITS are used."""
    time = min(max(now - EPOCH_MS, 0), (1 << TIME_BITS) - 1)
    number = time << CHANCE_BITS | chance & (1 << CHANCE_BITS) - 1
    return prefix + "".join(_ALPHABET[number >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5))
