"""pi. An extension in .pi/extensions asks `rook hook pi MOMENT` and does what it is told."""

from rookery.core.hooks import Deed, Moment

from .profile import Profile, Tool
from .spoken import FIELDS, FORMS

TOOLS = {
    "write": Tool(Deed.EDIT, ("path",)),
    "edit": Tool(Deed.EDIT, ("path",)),
    "bash": Tool(Deed.SHELL, command="command"),
    "read": Tool(Deed.READ, ("path",)),
}
PROFILE = Profile("pi", "pi", {moment.value: moment for moment in Moment}, TOOLS, FORMS, FIELDS)
