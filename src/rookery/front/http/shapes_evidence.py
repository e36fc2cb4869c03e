"""What the verbs of evidence answer."""

from collections.abc import Mapping
from typing import Any, TypedDict

from .shapes_team import Artifact


class Piece(Artifact):
    short: str
    ref: str
    title: str
    failed: bool
    pinned: bool
    worker: str | None
    run: str
    data: dict[str, Any]


class Pieces(TypedDict):
    artifacts: list[Piece | Artifact]
    dropped: int


class Shown(Piece):
    body: str
    encoding: str
    whole: bool


class Pinned(TypedDict):
    pinned: bool
    changed: list[str]
    ids: list[str]


class Taken(TypedDict):
    taken: list[str]
    known: int
    dropped: int


RESULTS: Mapping[str, Any] = {
    "artifacts": Pieces, "show": Shown, "pin": Pinned, "unpin": Pinned, "evidence.take": Taken,
}  # fmt: skip
