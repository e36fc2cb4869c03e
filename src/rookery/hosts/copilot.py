"""Copilot CLI. Hooks in .github/hooks/*.json; passed over in silence in a folder the user does not trust.

An event does not say its own name, so the command has to; answers are flat.
"""

from rookery.core.hooks import Deed, Moment

from .profile import SESSION, TEXT, Fields, Forms, Profile, Tool

EVENTS = {
    "sessionStart": Moment.START,
    "userPromptSubmitted": Moment.PROMPT,
    "preToolUse": Moment.BEFORE,
    "postToolUse": Moment.AFTER,
    "postToolUseFailure": Moment.AFTER,
    "agentStop": Moment.STOP,
    "sessionEnd": Moment.END,
}
TOOLS = {
    "create": Tool(Deed.EDIT, ("path",)),
    "edit": Tool(Deed.EDIT, ("path",)),
    "bash": Tool(Deed.SHELL, command="command"),
    "view": Tool(Deed.READ, ("path",)),
}
FIELDS = Fields(
    session="sessionId", transcript="transcriptPath", tool="toolName", input="toolArgs", call="toolCallId",
    again="stopHookActive",
)  # fmt: skip
FORMS = Forms(
    deny={"permissionDecision": "deny", "permissionDecisionReason": TEXT},
    ask={"permissionDecision": "ask", "permissionDecisionReason": TEXT},
    hold={"decision": "block", "reason": TEXT},
    context={"additionalContext": TEXT},
)
HOME = ("COPILOT_HOME", ".copilot")
RECORD = f"session-state/{SESSION}/events.jsonl"  # told only when a turn ends
PROFILE = Profile(
    "copilot", "Copilot CLI", EVENTS, TOOLS, FORMS, FIELDS, home=HOME, record=RECORD, reads_complaints=False
)
