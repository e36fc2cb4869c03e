"""What the verbs of evidence answer."""

from collections.abc import Mapping
from typing import Any, TypedDict

from .shapes_mail import Hit
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


class FoundPiece(Piece):
    snippet: str
    rank: float


class FoundTask(TypedDict):
    id: str
    title: str
    status: str
    at: str
    snippet: str
    rank: float


class FoundDecision(TypedDict):
    id: str
    verb: str
    subject: str
    by: str
    at: str
    snippet: str
    rank: float


class Hits(TypedDict):
    query: str
    messages: list[Hit]
    artifacts: list[FoundPiece]
    tasks: list[FoundTask]
    decisions: list[FoundDecision]


RESULTS: Mapping[str, Any] = {
    "artifacts": Pieces, "show": Shown, "pin": Pinned, "unpin": Pinned, "evidence.take": Taken,
    "search": Hits,
}  # fmt: skip
