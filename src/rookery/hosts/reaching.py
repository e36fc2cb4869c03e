"""How an agent program is given a text from outside: queued for the session it has open, or as a turn of its own in a
session that was. Pure: words in, an argument vector out. The text is one argument or standard input, never a shell's.

    address    {"host": "codex", "program": [WORDS], "session": ID, "cwd": PATH, "environ": {NAME: VALUE}}

What each program does with it was seen by running it (tests/hosts/test_wakes.py, docs/wake.md).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core.record import NamedTuple

QUEUE, RESUME = "queue", "resume"
ID, TEXT = "{id}", "{text}"
ID_LIMIT = 200
TEXT_LIMIT = 100_000  # bytes: the kernel takes no single argument of more than 128 KiB
ADDRESS_LIMIT = 6_000  # characters of its parts

_QUEUED: Mapping[str, tuple[str, ...]] = {
    "codex": ("queue", "--thread", ID, f"--message={TEXT}"),
}
_RESUMED: Mapping[str, tuple[str, ...]] = {  # all of them read the prompt from standard input
    "claude": ("--print", "--resume", ID),
    "codex": ("exec", "resume", ID, "-"),
    "gemini": ("--resume", ID),
    "opencode": ("run", "--session", ID),
    "copilot": (f"--resume={ID}",),
    "pi": ("--print", "--session", ID),
}
# What a program needs to find its files again. Keys and tokens are not among them: they are not written down.
VARIABLES = (
    "HOME", "PATH", "LANG", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
    "CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME", "PI_CODING_AGENT_DIR", "ROOK_HOME", "ROOK_STORE", "ROOK_TEAM",
)  # fmt: skip


class Call(NamedTuple):
    argv: tuple[str, ...]
    stdin: str
    cwd: str
    environ: Mapping[str, str]


def ways(host: str) -> tuple[str, ...]:
    """Those that a program has."""
    return tuple(way for way, known in ((QUEUE, _QUEUED), (RESUME, _RESUMED)) if host in known)


def address(
    host: str, program: Sequence[str], session: str, cwd: str, environ: Mapping[str, str]
) -> dict[str, Any] | None:
    """What has to be known later; None where that can not be told or is too much to keep."""
    kept = {name: environ[name] for name in VARIABLES if environ.get(name)}
    size = sum(map(len, (*program, session, cwd, *kept, *kept.values())))
    if not program or not is_id(session) or not cwd or size > ADDRESS_LIMIT:
        return None
    return {"host": host, "program": list(program), "session": session, "cwd": cwd, "environ": kept}


def is_id(session: str) -> bool:
    """A program's name for a session, which can not be taken for an option or a path."""
    plain = session.replace("-", "").replace("_", "").replace(".", "")
    return len(session) <= ID_LIMIT and session[:1] not in ("-", ".") and plain.isascii() and plain.isalnum()


def queued(address: Mapping[str, Any], text: str) -> Call | None:
    """The call that queues a text; None if the program has no queue, or takes no text as long as this one."""
    words = _QUEUED.get(address["host"])
    if words is None or len(text.encode("utf-8", "replace")) > TEXT_LIMIT or "\0" in text:
        return None
    return _call(address, words, text, "")


def resumed(address: Mapping[str, Any], text: str) -> Call | None:
    words = _RESUMED.get(address["host"])
    return None if words is None else _call(address, words, "", text)


def _call(address: Mapping[str, Any], words: Sequence[str], text: str, stdin: str) -> Call:
    said = [word.replace(ID, address["session"]) if TEXT not in word else word.replace(TEXT, text) for word in words]
    return Call((*address["program"], *said), stdin, address["cwd"], address["environ"])


def is_unknown(complaint: str) -> bool:
    """Does a program say that it has no such session?"""
    said = complaint.lower()
    return any(words in said for words in ("no rollout found", "no conversation found", "session not found",
                                           "no session found", "invalid session identifier", "no session"))  # fmt: skip
