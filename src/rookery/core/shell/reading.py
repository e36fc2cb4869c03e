"""What is known of a command: the paths it would write, and the parts that do not tell."""

import re
from enum import StrEnum

from rookery.core.record import NamedTuple

from . import holes

FRAGMENT_LIMIT = 200


class Reach(StrEnum):
    FILE = "file"  # that path itself
    BENEATH = "beneath"  # that path and everything beneath it
    REPOSITORY = "repository"  # every file of the working tree that the path lies in: only git knows which


class Write(NamedTuple):
    """`path` starts with the folder the command runs in, unless it was absolute. `..` stays in it, for what it leads
    to is the disk's to say; with `pattern` it is written as `core.patterns` has it, and no `..` follows a wildcard.
    """

    path: str
    written: str
    reach: Reach = Reach.FILE
    pattern: bool = False


class Opaque(NamedTuple):
    reason: str
    fragment: str


class MayWrite(NamedTuple):
    """An opaque part that may write a path it names. `mentions.named` searches it for the paths someone has reserved.

    `text` is searched for names: inline code, unparsed shell. `paths` are words that are paths by themselves. With
    `shape`, a word with holes, only paths of that form count. `deep`: naming a folder names what lies beneath it.
    """

    folders: tuple[str, ...]
    text: str = ""
    paths: tuple[str, ...] = ()
    shape: str = ""
    deep: bool = False


class Reading(NamedTuple):
    writes: tuple[Write, ...]
    opaque: tuple[Opaque, ...]
    records: tuple[str, ...] = ()  # parts that change what git keeps for itself: the index, history, settings
    may_write: tuple[MayWrite, ...] = ()
    links: tuple[tuple[str, str], ...] = ()  # that the command makes: a path and where it leads


# --- reasons: short, for they end in a message to an agent ------------------------------------------------------------

ARGUMENTS_UNKNOWN = "the arguments come from elsewhere"
BROKEN = "this part can not be parsed"
ELSEWHERE = "it acts in another place or on another machine"
EXPANSION = "the path is an expansion this text does not tell"
FOLDER_UNKNOWN = "the folder it runs in is not known"
INTERPRETER = "it runs a program of its own"
NESTED = "too many commands within commands"
OPTION_UNKNOWN = "an option is not known"
PATCH_ELSEWHERE = "the paths are in a patch this text does not show"
PROGRAM_UNKNOWN = "the program is not known"
SCRIPT = "the script it is given may write files"
SHELL_CHANGED = "it changes what later words mean"
SOURCED = "it reads a script this text does not show"
TOO_LARGE = "it is too large to be read"
TOO_MANY = "it has too many cases to be followed"
UNREADABLE = "it contains characters no command can have"
UNTOLD_COMMAND = "which program runs is an expansion this text does not tell"
WILD_PARENT = "`..` follows a wildcard"


def clipped(fragment: str) -> str:
    short = " ".join(fragment[: FRAGMENT_LIMIT * 4].split())
    return short if len(short) <= FRAGMENT_LIMIT else short[: FRAGMENT_LIMIT - 1] + "…"


# --- paths ------------------------------------------------------------------------------------------------------------

_DEVICES = ("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full")
_DEVICE_FOLDERS = ("/dev/fd/", "/dev/tcp/", "/dev/udp/", "/dev/pts/", "/proc/self/fd/")


def is_device(path: str) -> bool:
    """What takes bytes and keeps none of them in a file."""
    return path in _DEVICES or path.startswith(_DEVICE_FOLDERS)


_TASK = r"(?:/task/[^/]+)?"
_OWN = rf"/proc/(?:(?:self|thread-self|{holes.MANY}){_TASK}/(cwd|root)|\d+{_TASK}/root)(?=/|$)"


def under(base: str, field: str) -> str:
    """The path of a field for a command that runs in the base; `.` and doubled slashes go, `..` stays."""
    while field.startswith("/proc/") and (found := re.match(_OWN, field)):
        rest = field[found.end() :]
        field = rest.lstrip("/") or "." if found[1] == "cwd" else rest or "/"
    path = field if field.startswith("/") or not base else f"{base}/{field}"
    names = [name for name in path.split("/") if name and name != "."]
    return ("/" if path.startswith("/") else "") + "/".join(names) or "."


def moved(base: str, field: str) -> str:
    """Where `cd` leads: a shell takes `..` off the name it came by, whatever is a symlink."""
    path = under(base, field)
    names: list[str] = []
    for name in path.split("/"):
        if name == ".." and names and names[-1] not in ("..", ""):
            names.pop()
        elif name != ".." or names != [""]:
            names.append(name)
    joined = "/".join(names)
    return "/" if path.startswith("/") and joined == "" else joined or "."


def write_at(base: str, field: str, reach: Reach) -> Write | str | None:
    """The write of a field, or the reason why it can not be told, or None where no file is meant."""
    if not holes.is_told(field):
        return EXPANSION
    field = field.replace("\0", "")
    if not field or is_device(field):
        return None
    if not field.startswith("/") and not holes.is_told(base):
        return FOLDER_UNKNOWN
    path = under(base, field)
    if not holes.is_wild(path):
        return None if is_device(path) else Write(path, field, reach)
    names = path.split("/")
    first = next(index for index, name in enumerate(names) if holes.is_wild(name))
    if ".." in names[first:]:
        return WILD_PARENT
    return Write("/".join(map(_name_pattern, names)), holes.shown(field), reach, pattern=True)


def _name_pattern(name: str) -> str:
    """One name in the language of patterns, where a character that can not be written is covered by `?`."""
    if name == holes.DEEP or (len(name) > 1 and not name.strip(holes.MANY)):
        return "**"
    made = "".join("?" if char in "*?\\" or char < " " or "\x7f" <= char <= "\x9f" else char for char in name)
    made = made.replace(holes.DEEP, holes.MANY)
    while holes.MANY * 2 in made:
        made = made.replace(holes.MANY * 2, holes.MANY)
    return holes.shown(made)
