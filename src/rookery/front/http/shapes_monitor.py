"""The shapes of what is answered about sessions and how they are: to keepers, and to whoever asks for health."""

from collections.abc import Mapping
from typing import Any, TypedDict

from .shapes_mail import Words


class Teams(TypedDict):
    teams: Words


class Watched(TypedDict):
    agent: str
    session: str
    pid: int
    started: str
    dead: bool
    terminal: dict[str, Any]
    program: str
    cwd: str


class Sessions(TypedDict):
    sessions: list[Watched]


class News(TypedDict):
    sessions: Words


class Reported(TypedDict):
    told: dict[str, str]


RESULTS: Mapping[str, Any] = {
    "monitor.teams": Teams, "monitor.sessions": Sessions, "monitor.news": News, "monitor.report": Reported,
}  # fmt: skip
