"""Codex. Hooks in .codex/hooks.json, shaped as Claude Code's; passed over in silence until the user trusts them.

Before a tool only a refusal or context can be said: to let it run, no decision is printed. Edits arrive as a patch.
"""

from rookery.core.hooks import Deed

from . import claude
from .profile import Profile, Tool

UNKNOWN = ("PostToolUseFailure", "StopFailure", "Notification")
EVENTS = {name: moment for name, moment in claude.EVENTS.items() if name not in UNKNOWN}
TOOLS = {
    "apply_patch": Tool(Deed.EDIT, patch="command"),
    "Bash": Tool(Deed.SHELL, command="command"),
}
FORMS = claude.FORMS._replace(ask=None, wake=None)
PROFILE = Profile("codex", "Codex", EVENTS, TOOLS, FORMS, context_limit=8_000)
