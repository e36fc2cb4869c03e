"""Where each agent program keeps the record of a session (its transcript). Pure: names in, a verdict out.

Only such a file is opened for evidence, so a path that someone names can never lead to another file of the machine.
The folders were seen with the real programs (docs/hosts.md).
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from rookery.core.record import NamedTuple

from .reaching import is_id

HOME = "HOME"
SESSION, SHORT = "{session}", "{short}"  # in a name: the session's id, and its first eight characters
SHORT_LENGTH = 8


class Place(NamedTuple):
    variable: str  # names the program's own folder; "" where there is none
    folder: str  # the same in the user's home
    base: str  # where all records are, in that folder
    names: tuple[str, ...]  # below it, one for each level


PLACES: Mapping[str, Place] = {
    "claude": Place("CLAUDE_CONFIG_DIR", ".claude", "projects", ("*", f"{SESSION}.jsonl")),
    "codex": Place("CODEX_HOME", ".codex", "sessions", ("*", "*", "*", f"rollout-*-{SESSION}.jsonl")),
    "gemini": Place("", ".gemini", "tmp", ("*", "chats", f"session-*-{SHORT}.jsonl")),
    "copilot": Place("COPILOT_HOME", ".copilot", "session-state", (SESSION, "events.jsonl")),
    "pi": Place("PI_CODING_AGENT_DIR", ".pi/agent", "sessions", ("*", f"*_{SESSION}.jsonl")),
}
VARIABLES = (HOME, *(place.variable for place in PLACES.values() if place.variable))


def base_of(host: str, environ: Mapping[str, str]) -> str:
    """The folder of all records of a program that runs with this environment; "" if it is not known."""
    place = PLACES.get(host)
    if place is None:
        return ""
    home = environ.get(place.variable, "") or f"{environ.get(HOME, '')}/{place.folder}"
    return f"{home.rstrip('/')}/{place.base}" if home.startswith("/") else ""


def is_record(host: str, session: str, path: str, base: str = "") -> bool:
    """Is this the name of that session's record, below `base` where one is given? `path` has no links in it."""
    place = PLACES.get(host)
    if place is None or not is_id(session):
        return False
    names = [name.replace(SESSION, session).replace(SHORT, session[:SHORT_LENGTH]) for name in place.names]
    parts = path.split("/")
    above, below = "/".join(parts[: -len(names)]), parts[-len(names) :]
    if len(below) != len(names) or not all(map(_matches, below, names)):
        return False
    return above == base.rstrip("/") if base else above.startswith("/")


def _matches(part: str, name: str) -> bool:
    return part not in ("", ".", "..") and fnmatchcase(part, name)
