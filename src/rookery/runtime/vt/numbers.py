"""The numbers of a sequence, and those of a style as pyte knows them."""

from collections.abc import Mapping

NUMBERS = 32  # in one sequence
LARGEST = 9_999  # more than any screen has


def numbers(text: str) -> list[int]:
    """Of a sequence; what is empty is 0, and none is larger than any screen."""
    if not text:
        return []
    return [min(int(part[:6] or 0), LARGEST) for part in text.replace(":", ";").split(";")[:NUMBERS]]


def attributes(text: str) -> list[int]:
    """The numbers of a style as pyte knows them: faint as blinking, no blinking, colours of one notation."""
    given = iter(text.split(";")[:NUMBERS])
    told: list[int] = []
    for part in given:
        if ":" in part:
            told += _with_parts(part)
            continue
        number = numbers(part or "0")[0]
        if number in (38, 48, 58):
            how = numbers(next(given, "") or "0")
            colour = [numbers(next(given, "") or "0")[0] for _ in range({5: 1, 2: 3}.get(how[0], 0))]
            told += _colour(number, colour)
        else:
            told += _FAINT.get(number, (number,))
    return told


_FAINT: Mapping[int, tuple[int, ...]] = {2: (5,), 5: (), 6: (), 21: (4,), 22: (22, 25), 25: ()}


def _with_parts(part: str) -> list[int]:
    """`4:3` and `38:2::1:2:3`."""
    told = numbers(part)
    if told[0] == 4:
        return [4 if told[1] else 24]
    if told[0] in (38, 48, 58) and told[1] in (2, 5):
        return _colour(told[0], told[-3:] if told[1] == 2 else told[2:3])
    return []


def _colour(where: int, parts: list[int]) -> list[int]:
    if where == 58 or not parts:  # of a line under the text
        return []
    return [where, 5 if len(parts) == 1 else 2, *(min(part, 255) for part in parts)]
