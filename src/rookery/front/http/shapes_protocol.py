"""The shapes of what is answered about workers' reports and questions."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from rookery.core.protocol import Stage

from .shapes_mail import Words


class Oneself(TypedDict):
    id: str
    name: str
    task: str
    title: str
    role: str
    report: str
    run: str
    state: str
    machine: str
    root: str
    tree: str
    base: str
    writes: bool
    gone: Words


class WhoAmI(TypedDict):
    agent: str
    worker: Oneself | None


class BoardStep(TypedDict):
    text: str
    state: Stage


class Board(TypedDict):
    id: str
    board: list[BoardStep]
    note: str
    changed: bool


class Question(TypedDict):
    id: str
    worker: str
    name: str
    task: str | None
    kind: str
    question: str
    risk: str
    options: Words
    recommendation: str
    askedOf: str
    state: str
    answer: str
    choice: int | None
    approved: bool | None
    answeredBy: str | None
    at: str
    answeredAt: str | None
    replayed: NotRequired[bool]


class Questions(TypedDict):
    questions: list[Question]


class WorkerReported(TypedDict):
    id: str
    name: str
    report: str
    outcome: str
    summary: str
    task: str | None
    status: str | None
    review: str
    change: str | None
    version: str | None
    at: str
    replayed: NotRequired[bool]


RESULTS: Mapping[str, Any] = {
    "worker.self": WhoAmI, "progress": Board, "ask": Question, "answer": Question, "questions": Questions,
    "question.show": Question, "done": WorkerReported, "fail": WorkerReported,
}  # fmt: skip
