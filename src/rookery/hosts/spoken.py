"""How our own plugins speak, in programs that have no hooks of their own and for whoever brings a profile.

in    { "event": "before", "session": "...", "cwd": "...", "tool": "write", "input": { "path": "..." } }
out   { "deny": "why" }, { "ask": "why" }, { "hold": "what to go on with" }, { "context": "what to add" }, or nothing
"""

from .profile import TEXT, Fields, Forms

FIELDS = Fields(
    event="event", session="session", cwd="cwd", transcript="transcript", model="model", tool="tool", input="input",
    call="call", again="again",
)  # fmt: skip
FORMS = Forms(deny={"deny": TEXT}, ask={"ask": TEXT}, hold={"hold": TEXT}, context={"context": TEXT})
