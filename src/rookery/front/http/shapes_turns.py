"""The shapes of what is answered about an agent's turn: to hooks, mostly."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from rookery.core.hooks import Moment, Phase

from .shapes_mail import Joined, Words


class Offered(TypedDict):
    agent: str
    moment: Moment
    text: str
    shown: Words
    upto: int
    hold: bool
    settle: bool
    nudge: bool
    absent: NotRequired[bool]
    phase: Phase | None
    watched: NotRequired[Words]
    chips: NotRequired[Words]
    used: NotRequired[Words]


class Whose(TypedDict):
    agent: str
    folder: str


class ProgramNoted(TypedDict):
    noted: bool


class Told(TypedDict):
    agent: str
    handed_over: Words
    holds: int


class Entered(TypedDict):
    agent: str
    phase: Phase
    changed: bool


class Waiter(TypedDict):
    agent: str
    session: str


class Idle(TypedDict):
    agent: str
    leave: bool
    text: str
    shown: Words
    upto: int


class Others(TypedDict):
    patterns: Words
    strict: bool
    bound: str
    elsewhere: bool


class Workspace(TypedDict):
    team: str
    tree: str


class Workspaces(TypedDict):
    workspaces: list[Workspace]


class Watching(TypedDict):
    call: str
    files: int


class Change(TypedDict):
    path: str
    holder: str


class Changed(TypedDict):
    changed: list[Change]


class Transcript(TypedDict):
    path: str
    host: str
    host_id: str
    session: str
    place: str
    agent: str
    cwd: str
    over: bool


class Transcripts(TypedDict):
    transcripts: list[Transcript]


class TranscriptTeams(TypedDict):
    teams: list[str]


class TranscriptRead(TypedDict):
    path: str
    fenced: bool


RESULTS: Mapping[str, Any] = {
    "transcripts.teams": TranscriptTeams, "transcripts.due": Transcripts, "transcripts.read": TranscriptRead,
    "turn.start": Joined, "turn.program": ProgramNoted,
    "turn.whose": Whose, "turn.offer": Offered, "turn.step": Offered, "turn.told": Told,
    "turn.phase": Entered, "turn.wait": Waiter, "turn.idle": Idle, "turn.others": Others,
    "turn.workspaces": Workspaces,
    "turn.watch": Watching, "turn.changed": Changed,
}  # fmt: skip
