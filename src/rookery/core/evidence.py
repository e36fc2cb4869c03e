"""The law of evidence: what happened, as rows that people and agents can point at.

Every piece has a `ref` that is made of where it happened (`claude:<session>:<tool id>`), so that whoever reads the same
transcript again adds nothing; and a short id of its kind's letter and a number (`e3`, `f12`) for people. Its title is
one line. Its body is plain text without secrets, as much as a row holds: the beginning and the end; all of it, without
secrets too, lies on the shelf under its hash.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from rookery.core.record import NamedTuple

from . import artifacts, errors, secrets, text

LETTERS: Mapping[str, str] = {
    "command": "c", "error": "e", "edit": "f", "code": "b", "prompt": "p", "response": "r", "test": "t", "commit": "k",
    "status": "s", "tail": "l", "bundle": "u", "output": "o",
}  # fmt: skip
KINDS = tuple(LETTERS)
OUTPUT = "output"  # what an agent shared: it goes when whoever shared it says so, not with the oldest
FOLDER = "evidence"  # of the shelf
TITLE_LIMIT, REF_LIMIT, DATA_LIMIT = 200, 300, 8_000
MOST = 500  # pieces at once

# How much a hit in a search counts by what it is; what failed or was pinned counts more.
WEIGHTS: Mapping[str, float] = {
    "error": 2.0, "edit": 1.8, "command": 1.6, "code": 1.4, "bundle": 1.2, "prompt": 1.1, "response": 1.0,
    "test": 1.6, "commit": 1.6, "output": 1.2, "status": 0.9, "tail": 0.8,
}  # fmt: skip
FAILED_WEIGHT, PINNED_WEIGHT = 1.5, 2.0


def weight(kind: str, failed: int, pinned: int) -> float:
    """How much a piece counts beside others."""
    of_kind = WEIGHTS.get(kind, 1.0)
    return of_kind * (FAILED_WEIGHT if failed else 1.0) * (PINNED_WEIGHT if pinned else 1.0)


class Found(NamedTuple):
    """Something that happened, as whoever saw it tells."""

    kind: str
    ref: str
    title: str
    body: str = ""
    data: Mapping[str, Any] = {}
    failed: bool = False


class Fitted(NamedTuple):
    """The same as it is stored: without secrets, and no longer than a row may be."""

    kind: str
    ref: str
    title: str
    body: str
    data: str  # JSON
    failed: int
    bytes: int  # of the whole
    digest: str  # of the whole
    secrets: int  # how many were taken out
    file: str = ""  # where the whole is


def read(value: Any) -> Found:
    """What came through a door as JSON."""
    if not isinstance(value, dict):
        raise errors.BadInput("A piece of evidence is an object.", _SHAPE)
    given = cast("dict[str, Any]", value)
    if unknown := [name for name in given if name not in Found._fields]:
        raise errors.BadInput(f"Evidence has no {text.quoted(str(unknown[0]))}.", _SHAPE)
    kinds = {"kind": str, "ref": str, "title": str, "body": str, "data": dict, "failed": bool}
    for name, kind in kinds.items():
        if name in ("kind", "ref", "title") and name not in given:
            raise errors.BadInput(f"A piece of evidence has no {name}.", _SHAPE)
        if name in given and type(given[name]) is not kind:
            raise errors.BadInput(f"The {name} of a piece of evidence has the wrong type.", _SHAPE)
    found = Found(**given)
    check_kind(found.kind)
    if ":" not in found.ref:  # so it is never taken for an id of anything
        raise errors.BadInput(
            f"{text.quoted(found.ref)} does not say where it happened.", "A ref is like claude:SESSION:TOOL."
        )
    return found


_SHAPE = "{kind, ref, title, body?, data?, failed?}"


def check_kind(kind: str) -> str:
    if kind not in LETTERS:
        raise errors.BadInput(f"No kind of evidence {text.quoted(kind)}.", f"One of: {', '.join(KINDS)}.")
    return kind


def check_ref(ref: str) -> str:
    if not (0 < len(ref) <= REF_LIMIT and ref.isprintable() and " " not in ref):
        raise errors.BadInput(
            f"{text.quoted(ref)} is no ref.", f"1 to {REF_LIMIT} printable characters without a space.", code="BAD_REF"
        )
    return ref


def fitted(found: Found, limit: int) -> tuple[Fitted, bytes]:
    """As a row holds it; and the whole, where that is more (else nothing)."""
    check_kind(found.kind)
    title, in_title = secrets.redacted(text.one_line(found.title, TITLE_LIMIT * 4))
    body, in_body = secrets.redacted(text.plain(found.body))
    data, in_data = _data(found.data)
    whole = body.encode()
    is_cut = len(whole) > limit
    if is_cut:
        body = artifacts.shortened(body, limit).decode()
    row = Fitted(
        found.kind, check_ref(found.ref), text.one_line(title, TITLE_LIMIT) or found.kind, body, data,
        int(found.failed), len(whole), digest(whole), in_title + in_body + in_data,
    )  # fmt: skip
    return row, whole if is_cut else b""


def shown(body: str, limit: int) -> str:
    """A text without secrets, as much of it as a row holds."""
    return artifacts.shortened(secrets.redacted(text.plain(body))[0], limit).decode()


def digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _data(data: Mapping[str, Any]) -> tuple[str, int]:
    """Facts as JSON. They are small: what is too long is left out, and that it was is said."""
    kept, count = _cleaned(data)
    written = _json(kept)
    if len(written) > DATA_LIMIT:
        short = {name: value for name, value in kept.items() if len(_json(value)) <= 200}
        written = _json({**short, "cut": True})
    return (written if len(written) <= DATA_LIMIT else '{"cut":true}'), count


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise errors.BadInput("The data of a piece of evidence is no JSON.", "Plain values only.") from None


def _cleaned(value: Any, depth: int = 0) -> tuple[Any, int]:
    if isinstance(value, str):
        return secrets.redacted(text.plain(value))
    if depth > 6:
        return None, 0
    if isinstance(value, Mapping):
        return _cleaned_object(cast("Mapping[str, Any]", value), depth)
    if isinstance(value, (list, tuple)):
        parts = [_cleaned(each, depth + 1) for each in cast("list[Any]", value)]
        return [part for part, _ in parts], sum(count for _, count in parts)
    return value, 0


def _cleaned_object(value: Mapping[str, Any], depth: int) -> tuple[dict[str, Any], int]:
    kept: dict[str, Any] = {}
    total = 0
    for name, inner in value.items():
        plain = text.one_line(str(name), 100)
        cleaned, count = _cleaned(inner, depth + 1)
        if isinstance(inner, str) and not count and secrets.is_secret_name(plain) and secrets.is_told(inner):
            cleaned, count = secrets.MARK, 1
        kept[plain], total = cleaned, total + count
    return kept, total


def short_id(kind: str, number: int) -> str:
    return f"{LETTERS[kind]}{number}"


def is_short_id(word: str) -> bool:
    return len(word) > 1 and word[0] in LETTERS.values() and word[1:].isdecimal() and word.isascii()


def cap(general: int, of_kind: int) -> int:
    """How many are kept of one worker: its kind may say fewer. 0: any number."""
    return min(general, of_kind) if general and of_kind else general or of_kind
