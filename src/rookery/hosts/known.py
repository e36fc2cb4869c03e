"""Which agent programs are known, by the word for each. A module is imported when its program is asked for."""

import os
from collections.abc import Sequence
from importlib import import_module

from rookery.core import errors, names

from .profile import Profile

TITLES = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "OpenCode",
    "copilot": "Copilot CLI",
    "pi": "pi",
}


def find(name: str, written: "dict[str, Profile] | None" = None) -> Profile:
    """The profile of a program, one of ours or one that the user wrote down."""
    if written and name in written:
        return written[name]
    if name in TITLES:
        return import_module(f"rookery.hosts.{name}").PROFILE
    known = [*TITLES, *(written or {})]
    hint = names.did_you_mean(name, known) or f"Known: {', '.join(known)}. A profile of your own goes to .rook/hosts/."
    raise errors.UnknownName(f"No agent program {name!r} is known.", hint, code="UNKNOWN_HOST")


INTERPRETERS = ("node", "bun", "deno", "python", "python3")


def program_of(name: str, argv: Sequence[str]) -> str:
    """Which of the known programs a process is, by what it is called and what it was started as; "" for any other."""
    first = os.path.basename(argv[0]) if argv else ""
    words = [name, first]
    if first in INTERPRETERS or name in INTERPRETERS:
        script = next((word for word in argv[1:] if word[:1] != "-"), "")
        words.append(os.path.splitext(os.path.basename(script))[0])
    return next((word for word in words if word in TITLES), "")
