"""What a file says. Its YAML is the text that stands there: no tag, alias or type makes anything else of it."""

from typing import Any

from rookery.core import drop, errors, frontmatter, reports


def parsed(written: str, what: str) -> dict[str, Any]:
    try:
        return frontmatter.read(written).values
    except frontmatter.NotYaml as error:
        line = f" (line {error.line} of it)" if error.line else ""
        raise _bad(what, f"{error.why}{line}") from None


def _bad(what: str, why: str) -> errors.BadInput:
    return errors.BadInput(f"Its {what} matter {why}.", "Lines like `to: NAME`.", code="BAD_YAML")


def letter(data: bytes, rounds_max: int) -> drop.Letter:
    """What the bytes of a file say, or why they say nothing."""
    try:
        written = data.decode()
    except UnicodeDecodeError as error:
        # The last bytes may be the half of a character whose other half is still to come.
        cut = error.reason == "unexpected end of data"
        code = drop.NOT_WHOLE if cut else "NOT_UTF8"
        raise errors.BadInput(f"It is not UTF-8: byte {error.start}.", "Write it as UTF-8.", code=code) from None
    if "\0" in written:
        raise errors.BadInput("It contains a NUL character.", "Write text.", code="NOT_UTF8")
    parts = drop.split(written)
    front, rear = parsed(parts.front, "front"), parsed(parts.rear, "rear")
    return reports.letter(front, parts.body, rear) or drop.letter(front, parts.body, rear, rounds_max=rounds_max)
