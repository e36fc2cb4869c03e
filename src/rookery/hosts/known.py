"""Which agent programs are known, by the word for each. A module is imported when its program is asked for."""

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
