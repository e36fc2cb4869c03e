"""How our own plugins speak, in programs that have no hooks of their own and for whoever brings a profile.

in    { "event": "before", "session": "...", "cwd": "...", "tool": "write", "input": { "path": "..." } }
out   { "deny": "why" }, { "ask": "why" }, { "hold": "what to go on with" }, { "context": "what to add" }, or nothing
      { "wake": "what to begin with" }, from a process that waits beside an idle program
"""

from .profile import TEXT, Fields, Forms

FIELDS = Fields(
    event="event", session="session", cwd="cwd", transcript="transcript", model="model", tool="tool", input="input",
    call="call", again="again", notice="notice", inner="inner", source="source",
)  # fmt: skip
FORMS = Forms(**{word: {word: TEXT} for word in Forms._fields if word != "warn"})
