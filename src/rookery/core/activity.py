"""What an agent program tells of itself, as the same few events for all of them. `hosts` reads them for `core`.

started   its session, its model           usage    tokens: of one message, of the turn, of all (`whole`)
prompt    what it was told                 error    what went wrong, in its words
text      what it says                     result   its turn is over: what it said last, whether well, the cost
call      a tool, and what it is used on   done     a call and its answer in one, told besides or instead of them
answer    what came of that
"""

from collections.abc import Mapping
from typing import Any

from rookery.core.record import NamedTuple

STARTED, PROMPT, TEXT, CALL, ANSWER = "started", "prompt", "text", "call", "answer"
DONE, ERROR, USAGE, RESULT = "done", "error", "usage", "result"
TURN, ALL = "turn", "all"


class Edit(NamedTuple):
    """What became of one file: a piece of it for another, all of it, or a patch."""

    path: str
    old: str = ""
    new: str = ""
    patch: str = ""  # its lines, with or without where they are
    whole: bool = False  # `new` is all of the file


class Event(NamedTuple):
    kind: str
    session: str = ""
    model: str = ""
    text: str = ""
    tool: str = ""
    target: str = ""
    ok: bool = True
    id: str = ""  # of a call, and of its answer; else of the message
    args: Mapping[str, Any] = {}  # of a call, as the program wrote them
    command: str = ""  # what a shell runs
    edits: tuple[Edit, ...] = ()
    code: int | None = None  # with which a command ended, where the program tells it
    part: bool = False  # more of the same message follows
    of: str = ""  # the message that a usage is of: what is told of it twice counts once
    whole: str = ""  # of everything since the last result (TURN), or in this session (ALL)
    input: int = 0  # all tokens that were read, those from a cache among them
    output: int = 0
    cached: int = 0
    cost: float = 0.0  # of this alone, in dollars, as the program says
    turns: int = 0
