"""Claude Code. Hooks in .claude/settings.json, MCP servers in .mcp.json."""

from rookery.core.hooks import Deed, Moment

from .profile import EVENT, TEXT, Forms, Profile, Tool

EVENTS = {
    "SessionStart": Moment.START,
    "UserPromptSubmit": Moment.PROMPT,
    "PreToolUse": Moment.BEFORE,
    "PostToolUse": Moment.AFTER,
    "PostToolUseFailure": Moment.AFTER,
    "Stop": Moment.STOP,
    "SessionEnd": Moment.END,
}
TOOLS = {
    "Write": Tool(Deed.EDIT, ("file_path",)),
    "Edit": Tool(Deed.EDIT, ("file_path",)),
    "MultiEdit": Tool(Deed.EDIT, ("file_path",)),
    "NotebookEdit": Tool(Deed.EDIT, ("notebook_path",)),
    "Bash": Tool(Deed.SHELL, command="command"),
    "Read": Tool(Deed.READ, ("file_path",)),
    "NotebookRead": Tool(Deed.READ, ("notebook_path",)),
    "Grep": Tool(Deed.READ, ("path",)),
    "Glob": Tool(Deed.READ, ("path",)),
}
DECISION = {"hookEventName": EVENT, "permissionDecisionReason": TEXT}
FORMS = Forms(
    deny={"hookSpecificOutput": {**DECISION, "permissionDecision": "deny"}},
    ask={"hookSpecificOutput": {**DECISION, "permissionDecision": "ask"}},
    hold={"decision": "block", "reason": TEXT},
    context={"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": TEXT}},
)
PROFILE = Profile("claude", "Claude Code", EVENTS, TOOLS, FORMS)
