"""Text that agents wrote is data: it is shown, never obeyed, neither by a terminal nor by a page nor by a prompt.

`plain` is the one gate between stored text and anything that displays it. Its result contains no control character but
newline and tab, so applying it twice changes nothing, and nothing that was taken out can come together again.
"""

from rookery.core.errors import BadInput

ELLIPSIS = "\u2026"
_REPLACEMENT = "\ufffd"

# What a terminal, an editor or a model may take for the end of a line, besides "\n" itself.
_LINE_ENDS = "\r\v\f\x85\u2028\u2029"
# Embeddings, overrides and isolates reorder what is displayed; the marks (LRM, RLM) cannot, and honest text needs them.
_BIDI = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
# Tag characters are invisible to people and legible to models: a letter inside the letter.
_TAGS = range(0xE0000, 0xE0080)
_CONTROLS = (*range(0x00, 0x20), *range(0x7F, 0xA0))

_KEEP_LINES: dict[int, str | None] = (
    dict.fromkeys((*_CONTROLS, *_BIDI, *_TAGS)) | dict.fromkeys(map(ord, _LINE_ENDS), "\n") | {0x09: "\t", 0x0A: "\n"}
)
_FOLD_LINES: dict[int, str | None] = _KEEP_LINES | dict.fromkeys(map(ord, "\n\t" + _LINE_ENDS), " ")

# CSI; OSC, DCS, SOS, PM and APC strings; every other escape. The body of a string stops at any control of the escape
# kind, which is what terminals do and what keeps the search linear. A string that never ends loses only its opening:
# hiding the rest of the text is what its author wants.
_ESCAPES = (
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x80-\x9f]*+(?:\x1b\\|[\x07\x18\x1a\x9c])"
    r"|\x1b[ -/]*+[0-~]"
)


def plain(text: str, *, keep_newlines: bool = True) -> str:
    """The text without anything that could steer a display. Every kind of line end becomes a newline, or a space."""
    if (text.replace("\n", "").replace("\t", "") if keep_newlines else text).isprintable():
        return text  # printable characters are neither controls nor bidi nor surrogates: the usual case, and quick
    import re

    text = re.sub(_ESCAPES, "", text).replace("\r\n", "\n")
    text = text.translate(_KEEP_LINES if keep_newlines else _FOLD_LINES)
    return re.sub("[\ud800-\udfff]", _REPLACEMENT, text)


def one_line(text: str, width: int = 80) -> str:
    """The text on one line of at most `width` characters."""
    line = " ".join(plain(text, keep_newlines=False).split())
    if len(line) <= width:
        return line
    return line[: width - 1].rstrip() + ELLIPSIS if width > 0 else ""


def fence(text: str) -> str:
    """The text with every line marked, so that no line of it can pass for a line of what surrounds it."""
    return "\n".join("| " + line for line in plain(text).split("\n"))


def cut(text: str, limit: int) -> tuple[str, bool]:
    """The first `limit` characters, and whether there were more."""
    limit = max(limit, 0)
    return text[:limit], len(text) > limit


def quoted(text: str, width: int = 60) -> str:
    """Rejected input as an error may repeat it: ASCII, escaped, in quotes, at most `width` characters."""
    shown = ascii(text[:width])
    return shown if len(text) <= width and len(shown) <= width else shown[: width - 3] + "..."


_PLAIN_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@:+,=-%")


def word(text: str) -> str:
    """A name as it may stand in a command that someone is told to type: as it is, or in quotes."""
    return text if text and _PLAIN_WORD.issuperset(text) and text[0] != "-" else quoted(text, 200)


def check_text(text: str, what: str) -> str:
    """Text that every store and encoding can carry. `what` names it in the error: "the subject", "an attachment" ..."""
    if "\0" in text:
        raise BadInput(
            f"{what[:1].upper()}{what[1:]} contains a NUL character at position {text.index(chr(0))}.",
            "Remove it; send binary data as an attachment.",
            code="BAD_TEXT",
        )
    return check_characters(text, what)


def check_characters(text: str, what: str) -> str:
    """Text without half a surrogate pair, which no encoding can carry."""
    if text.isascii():  # known without looking; the usual case
        return text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{what[:1].upper()}{what[1:]} contains half a character (lone surrogate U+{ord(text[error.start]):04X})"
            f" at position {error.start}.",
            "Send valid UTF-8; in JSON write both halves of a surrogate pair.",
            code="BAD_TEXT",
        ) from None
    return text


def well_formed(text: str) -> str:
    """With U+FFFD for every half of a surrogate pair: what a program makes of it that has to encode it."""
    if text.isascii():
        return text
    return "".join(_REPLACEMENT if "\ud800" <= char <= "\udfff" else char for char in text)


def composed(text: str) -> str:
    """The text in NFC: accents are part of their letters, however they were typed or a disk keeps them."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", text)


def slug(text: str, limit: int = 24) -> str:
    """The text as a part of a file or branch name, [a-z0-9-]; empty if it has no letter or digit that fits."""
    if not text.isascii():
        import unicodedata

        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.casefold())
    return "-".join(filter(None, kept.split("-")))[: max(limit, 0)].rstrip("-")
