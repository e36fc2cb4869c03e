"""The law of shared outputs: what one may be called, and in which folder its file lies.

A name is one file name, never a path: it can not lead out of its folder, be hidden, or be an option of a command.
"""

from collections.abc import Mapping

from . import errors, text

FOLDERS: Mapping[str, str] = {"patch": "patches", "summary": "summaries", "report": "reports", "other": "other"}
KINDS = tuple(FOLDERS)  # what is shared
RUN = "run"  # what is kept of a worker's run, for a while
RUN_FOLDER = "runs"
NAME_LIMIT = 100
ENCODINGS = ("text", "base64")
_FIRST = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_REST = _FIRST | frozenset(".-+")


def check_name(name: str) -> str:
    if not (1 <= len(name) <= NAME_LIMIT and name[0] in _FIRST and _REST.issuperset(name)):
        raise errors.BadInput(
            f"{text.quoted(name)} is no name for an artifact.",
            f"1 to {NAME_LIMIT} letters, digits and _ . - +, beginning with a letter or digit: no folders.",
            code="BAD_NAME",
        )
    return name


def check_kind(kind: str) -> str:
    if kind not in FOLDERS:
        raise errors.BadInput(f"No kind {text.quoted(kind)}.", f"One of: {', '.join(KINDS)}.")
    return kind


def shortened(content: str, limit: int) -> bytes:
    """As much as may be kept, with its beginning and its end; what is left out between them is said."""
    data = content.encode("utf-8", "replace")
    if len(data) <= limit:
        return data
    said = f"\n... {len(data) - limit:,} bytes and more are left out here ...\n".encode()
    half = max(0, limit - len(said)) // 2
    first = data[:half].decode("utf-8", "ignore").encode()
    last = data[len(data) - half :].decode("utf-8", "ignore").encode()
    return first + said + last


def decode(content: str, encoding: str, limit: int) -> bytes:
    """The bytes that were meant."""
    if encoding not in ENCODINGS:
        raise errors.BadInput(f"No encoding {text.quoted(encoding)}.", f"One of: {', '.join(ENCODINGS)}.")
    data = _from_base64(content) if encoding == "base64" else text.check_text(content, "the content").encode()
    if len(data) > limit:
        raise errors.TooLarge(
            f"The artifact has {len(data):,} bytes; {limit:,} are allowed.",
            "Raise artifacts.limit, or keep less of it.",
        )
    return data


def encode(data: bytes) -> tuple[str, str]:
    """(content, encoding): as text where every door can carry it so."""
    try:
        written = data.decode()
    except UnicodeDecodeError:
        written = "\0"
    if "\0" not in written:
        return written, "text"
    from base64 import b64encode

    return b64encode(data).decode(), "base64"


def _from_base64(content: str) -> bytes:
    from base64 import b64decode

    try:
        return b64decode(content, validate=True)
    except ValueError:
        raise errors.BadInput("The content is no base64.", "Leave the encoding out for plain text.") from None
