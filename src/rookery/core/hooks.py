"""What an agent program tells its hooks, and what they may answer: the same for every program.

    start ──> prompt ──> before ──> after ──> ... ──> stop ──> end
                └───────────┴─────────┘              (held: it goes on)

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
    END = "end"  # the session is over
    OTHER = "other"


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
    call: str = ""  # the program's own name for this use of the tool
    again: bool = False  # this stop was held before
    untold: str = ""  # an edit whose paths can not be read, and why


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
