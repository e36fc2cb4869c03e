"""Gemini CLI. Hooks and MCP servers in .gemini/settings.json; it does not start in a folder it does not trust."""

from rookery.core.hooks import Deed, Moment

from .profile import EVENT, TEXT, Forms, Profile, Tool

EVENTS = {
    "SessionStart": Moment.START,
    "BeforeAgent": Moment.PROMPT,
    "BeforeTool": Moment.BEFORE,
    "AfterTool": Moment.AFTER,
    "AfterAgent": Moment.STOP,
    "SessionEnd": Moment.END,
}
TOOLS = {
    "write_file": Tool(Deed.EDIT, ("file_path",)),
    "replace": Tool(Deed.EDIT, ("file_path",)),
    "run_shell_command": Tool(Deed.SHELL, command="command"),
    "read_file": Tool(Deed.READ, ("file_path", "absolute_path")),
    "read_many_files": Tool(Deed.READ, ("paths",)),
}
FORMS = Forms(
    deny={"decision": "deny", "reason": TEXT},
    hold={"decision": "deny", "reason": TEXT},
    context={"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": TEXT}},
    warn={"systemMessage": TEXT},  # its model hears nothing before a tool; its user reads this
)
PROFILE = Profile("gemini", "Gemini CLI", EVENTS, TOOLS, FORMS)
