"""Memorable names for agents that bring none: SwiftRaven, MossyBrook, LunarDust, Wren."""

from collections.abc import Callable, Sequence
from itertools import chain, count

from rookery.core.errors import BadInput
from rookery.core.names import RESERVED, check_name, did_you_mean, key
from rookery.core.record import NamedTuple
from rookery.core.text import quoted

THEMES = ("default", "nature", "space", "minimal", "custom")
WORD_LIMIT = 20  # two words and a number of ten digits still make a name

# Enough that a half full theme is missed once in a million; each try may cost a query.
_RANDOM_TRIES = 20


class _Names(NamedTuple):
    """All names of a theme, made one at a time: a thousand custom words have a million pairs."""

    size: int
    at: Callable[[int], str]


def generate_name(theme: str, custom: Sequence[str], taken: Callable[[str], bool], pick: Callable[[int], int]) -> str:
    """A name that is not taken. `pick(n)` gives a number from 0 to n - 1.

    Some names at random, then all of them in turn, then one with a number: it ends as soon as any name is free.
    """
    size, at = _names_of(theme, custom)
    start = pick(size)
    base = at(start)
    candidates = chain(
        (at(pick(size)) for _ in range(_RANDOM_TRIES)),
        (at((start + step) % size) for step in range(size)),
        (f"{base}{number}" for number in count(2)),
    )
    return next(name for name in candidates if key(name) not in RESERVED and not taken(name))


def _names_of(theme: str, custom: Sequence[str]) -> _Names:
    if theme == "custom":
        return _custom_names(custom)
    if theme not in THEMES:
        hint = " ".join(filter(None, (did_you_mean(theme, THEMES), f"Known themes: {', '.join(THEMES)}.")))
        raise BadInput(f"There is no name theme {quoted(theme)}.", hint, code="BAD_THEME")
    from rookery.core import wordlists

    firsts, seconds = (words.split() for words in wordlists.THEMES[theme])
    if not seconds:
        return _Names(len(firsts), firsts.__getitem__)

    def pair(index: int) -> str:
        first, second = divmod(index, len(seconds))
        return firsts[first] + seconds[second]

    return _Names(len(firsts) * len(seconds), pair)


def _custom_names(custom: Sequence[str]) -> _Names:
    """Every ordered pair of two different words; the word itself if there is but one."""
    words = list({key(word): word[:1].upper() + word[1:] for word in map(_check_word, custom)}.values())
    if not words:
        raise BadInput(
            "The name theme 'custom' has no words.",
            "Give it a list of words, or choose another theme: default, nature, space or minimal.",
            code="BAD_THEME",
        )
    if len(words) == 1:
        return _Names(1, words.__getitem__)
    others = len(words) - 1

    def pair(index: int) -> str:
        first, step = divmod(index, others)
        return words[first] + words[(first + 1 + step) % len(words)]

    return _Names(len(words) * others, pair)


def _check_word(word: str) -> str:
    check_name(word)
    if len(word) > WORD_LIMIT:
        raise BadInput(
            f"The custom word {quoted(word)} is {len(word)} characters long; the limit is {WORD_LIMIT}.",
            "Use shorter words: two of them make a name.",
            code="BAD_NAME",
        )
    return word
