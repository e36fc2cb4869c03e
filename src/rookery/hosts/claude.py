"""Claude Code. Hooks in .claude/settings.json, MCP servers in .mcp.json."""

from rookery.core.hooks import Deed, Moment

from .profile import COMPLAINT, EVENT, PERMISSION, TEXT, Forms, Profile, Tool

EVENTS = {
    "SessionStart": Moment.START,
    "UserPromptSubmit": Moment.PROMPT,
    "PreToolUse": Moment.BEFORE,
    "PostToolUse": Moment.AFTER,
    "PostToolUseFailure": Moment.AFTER,
    "Stop": Moment.STOP,
    "StopFailure": Moment.REST,
    "PermissionRequest": Moment.BLOCKED,
    "Notification": Moment.BLOCKED,
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
    "LS": Tool(Deed.READ, ("path",)),
    "SlashCommand": Tool(Deed.READ),  # its command is no shell's
    "Skill": Tool(Deed.READ),
}
DECISION = {"hookEventName": EVENT, "permissionDecisionReason": TEXT}
FORMS = Forms(
    deny={"hookSpecificOutput": {**DECISION, "permissionDecision": "deny"}},
    ask={"hookSpecificOutput": {**DECISION, "permissionDecision": "ask"}},
    hold={"decision": "block", "reason": TEXT},
    context={"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": TEXT}},
    wake=COMPLAINT,
)
# A turn that a person breaks off ends without a stop: a minute later a notice tells that it waits.
NOTICES = {"permission_prompt": PERMISSION, "elicitation_dialog": "question", "idle_prompt": ""}
# Without a terminal it does not end before its hooks have, those in the background too.
STAYS = ("CLAUDE_CODE_ENTRYPOINT", "cli")
WAITS = ("SessionStart", "Stop")  # after these it may be idle
PROFILE = Profile("claude", "Claude Code", EVENTS, TOOLS, FORMS, notices=NOTICES, stays=STAYS)
