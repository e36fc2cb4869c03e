"""What an agent program tells its hooks, and what they may answer: the same for every program.

    start ──> prompt ──> before ──> after ──> ... ──> stop ──> end
                └───────────┴─────────┘              (held: it goes on)

Each says something of where the program is by then, its phase: busy from a prompt on, idle after a stop that was not
held, blocked while a dialog waits for a person. It is what was told last, and no more than that.

`hosts` knows how each program writes this down. Nothing here is about one of them.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from rookery.core.record import NamedTuple

from .text import cut, fence, one_line, plain


class Moment(StrEnum):
    START = "start"  # a session begins, goes on after a pause, or has lost its memory
    PROMPT = "prompt"
    BEFORE = "before"  # a tool is about to run
    AFTER = "after"  # it has run, well or not
    STOP = "stop"  # the turn is about to end
    REST = "rest"  # it has ended, and there is nothing to be said to that
    BLOCKED = "blocked"  # a dialog waits for a person
    IDLE = "idle"  # nothing is told: a process waits beside the program for what would wake it
    END = "end"  # the session is over
    OTHER = "other"


class Phase(StrEnum):
    """Where an agent program is, as its hooks last told."""

    BUSY = "busy"
    IDLE = "idle"
    BLOCKED = "blocked"
    UNKNOWN = ""  # nothing was told, or its session is over


class Deed(StrEnum):
    """What a tool does, as far as others are concerned."""

    EDIT = "edit"
    SHELL = "shell"
    READ = "read"
    OTHER = "other"


class Event(NamedTuple):
    moment: Moment
    name: str = ""  # the program's word for the moment
    session: str = ""  # the program's own name for its session
    cwd: str = ""
    transcript: str = ""
    model: str = ""
    tool: str = ""
    deed: Deed = Deed.OTHER
    paths: tuple[str, ...] = ()  # what an edit writes, as the program writes it
    command: str = ""  # what a shell runs
    prompt: str = ""  # what a person asks
    call: str = ""  # the program's own name for this use of the tool
    again: bool = False  # this stop was held before
    untold: str = ""  # an edit whose paths can not be read, and why
    gate: str = ""  # the dialog that it is blocked on, in a word
    inner: bool = False  # it is about an agent inside the program, whose turn is not the session's
    midway: bool = False  # the session had to begin anew in the middle of a turn


class Answer(NamedTuple):
    """At most one of `deny`, `ask` and `hold`; `context` stands beside any."""

    deny: str = ""
    ask: str = ""  # a person decides
    hold: str = ""  # the turn goes on with this
    context: str = ""

    @property
    def is_silent(self) -> bool:
        return not any(self)


NOTHING = Answer()

_MEANS = {
    Moment.START: Phase.IDLE, Moment.PROMPT: Phase.BUSY, Moment.AFTER: Phase.BUSY, Moment.STOP: Phase.IDLE,
    Moment.REST: Phase.IDLE, Moment.BLOCKED: Phase.BLOCKED, Moment.END: Phase.UNKNOWN,
}  # fmt: skip


def phase_of(event: Event, *, held: bool = False) -> Phase | None:
    """What an event says of where its program is; None if that stays as it was told before."""
    if event.inner or event.midway:
        return None
    return Phase.BUSY if held else _MEANS.get(event.moment)


WAIT_S = 7 * 86_400  # so long a process waits beside an idle program; the next end of a turn begins another

# -- how a session begins --------------------------------------------------------------------------------------------

GREETING_LIMIT = 1_999
CONVENTIONS_LIMIT = 600
_OTHERS = 8
_RULES = """\
Before you edit what others may want, `rook reserve PATH`; a file that someone holds is refused, with the holder's name.
`rook inbox` is your mail, `rook send NAME -s SUBJECT -m TEXT` writes to another, `rook --help` tells the rest."""


def greeting(
    agent: str, team: str, role: str, held: Sequence[Mapping[str, str]], others: Sequence[str], conventions: str
) -> str:
    """What an agent is told when its session begins. Titles are other agents' words, and fenced as such."""
    known = f", {one_line(role, 40)}" if role else ""
    lines = [f"Rookery: you are {agent}{known}, in team {team}."]
    shown, more = others[:_OTHERS], len(others) - _OTHERS
    if shown:
        lines.append(f"Here with you: {', '.join(shown)}{f' and {more} more' if more > 0 else ''}.")
    if held:
        lines += ["You hold:", fence("\n".join(f"{task['id']} {one_line(task['title'], 80)}" for task in held))]
    else:
        lines.append("You hold no task; `rook task claim --next` takes one that is ready.")
    lines.append(_RULES)
    if conventions.strip():
        said, _ = cut(plain(conventions).strip(), CONVENTIONS_LIMIT)
        lines.append(f"In this team: {said}")
    return "\n".join(lines)


# -- what a command was for ----------------------------------------------------------------------------------------

_TESTS = frozenset(("pytest", "tox", "nox", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest", "bats"))
_RUNNERS = frozenset(("npm", "pnpm", "yarn", "bun", "go", "cargo", "make", "just", "mvn", "gradle", "dotnet", "mix"))
_BEFORE = frozenset(("sudo", "time", "env", "exec", "command", "uv", "uvx", "poetry", "pdm", "hatch", "run", "npx",
                     "python", "python3", "-m", "bundle"))  # fmt: skip


def activity_of(event: Event) -> tuple[str, str]:
    """(kind, target) for the record of what an agent does."""
    if event.deed is Deed.EDIT:
        return "edit", event.paths[0] if event.paths else event.tool
    if event.deed is Deed.READ:
        return "read", event.paths[0] if event.paths else event.tool
    if event.deed is Deed.SHELL:
        return _purpose(event.command), " ".join(event.command.split())[:200]
    return "tool", event.tool


def _purpose(command: str) -> str:
    """By the first words of each part. A guess, for a status that people look at; nothing is decided by it."""
    for part in _parts(command):
        words = [word for word in part.split()[:8] if "=" not in word]
        while words and words[0].rpartition("/")[2] in _BEFORE:
            words.pop(0)
        if not words:
            continue
        program, rest = words[0].rpartition("/")[2], words[1:]
        if program == "git" and "commit" in rest[:3]:
            return "commit"
        if program in _TESTS or (program in _RUNNERS and any(word.startswith("test") for word in rest[:2])):
            return "test"
    return "tool"


def _parts(command: str) -> list[str]:
    for sign in ("&&", "||", ";", "|", "\n"):
        command = command.replace(sign, "\0")
    return command[:4000].split("\0")
