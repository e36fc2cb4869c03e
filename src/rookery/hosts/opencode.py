"""OpenCode. A plugin in .opencode/plugins asks `rook hook opencode MOMENT` and does what it is told."""

from rookery.core.hooks import Deed, Moment

from .profile import Profile, Tool
from .spoken import FIELDS, FORMS

TOOLS = {
    "write": Tool(Deed.EDIT, ("filePath",)),
    "edit": Tool(Deed.EDIT, ("filePath",)),
    "multiedit": Tool(Deed.EDIT, ("filePath",)),
    "patch": Tool(Deed.EDIT, patch="patchText"),
    "apply_patch": Tool(Deed.EDIT, patch="patchText"),
    "bash": Tool(Deed.SHELL, command="command"),
    "read": Tool(Deed.READ, ("filePath",)),
}
# It tells a stop after every text, also one that is followed by a tool.
PROFILE = Profile(
    "opencode", "OpenCode", {moment.value: moment for moment in Moment}, TOOLS, FORMS, FIELDS, rests_later=True
)
