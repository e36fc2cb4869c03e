"""What a shell command would write, read off its text: no command is run and no disk is looked at.

    tree.py        a command as plain values; a parser hands it in
    words.py       quotes, escapes, braces, tildes, wildcards, variables; holes.py: what is not known in a word
    expansions.py  `${...}` and arrays; scope.py: what the words at one place know
    walk.py        follows the statements; state.py: where the shell stands between two of them
    notes.py       what is noted meanwhile: writes, opaque parts, links, the text of files and pipes
    calls.py       which command a row of words is; builtins.py: the shell's own; commands.py: a program that is run
    output.py      what a program prints, where that is known
    programs.py    the table of programs; options.py: how their options are declared
    files.py, edits.py, formatters.py, git.py, wrappers.py    those that take more than a row of the table
    interpreters.py, code.py    inline code, editors: may they write? builds.py: make, npm, cmake
    outputs.py     options and variables that name an output, of any program; redirects.py: redirections
    reading.py     the result: writes and opaque parts
    mentions.py    which reserved paths the opaque parts name; forms.py: the ways a text may spell a path

Invariant: whatever a command writes is covered by a `Write`, or the reading has an `Opaque`. It is as good as the
table, and it takes programs to be what they are called: aliases, functions and settings of the shell that the command
is typed into, git's hooks and filters, and the caches that tools keep for themselves are not in the text. Nor is it a
sandbox: a program on the disk that writes a file by itself is not seen here.
"""

from .notes import Looks, Parse, Reads, TooMuch, World
from .reading import MayWrite, Opaque, Reach, Reading, Write
from .state import State
from .walk import Frame, Walker

__all__ = ["MayWrite", "Opaque", "Reach", "Reading", "Write", "read"]


def read(
    command: str,
    cwd: str,
    parse: Parse,
    *,
    home: str | None = None,
    is_folder: Looks | None = None,
    modes: bool = True,
    root: str | None = None,
    read_text: Reads | None = None,
) -> Reading:
    """What the command would write, were it run in `cwd`.

    `is_folder` makes the answer narrower where a target or a `cd` depends on what is there; without it both cases
    count. `modes`: whether a change of mode or owner is a write. `root`: the top of the working tree. `read_text`: the
    text of a small file, for patches and lists of names.
    """
    from . import reading
    from .calls import dispatch

    walker = Walker(World(parse, home, is_folder, modes, root, read_text), dispatch)
    if not _is_text(command) or not _is_text(cwd):
        plain = command.encode("ascii", "backslashreplace").decode()
        walker.opaque(reading.UNREADABLE, plain[:1000])
        walker.may_write(MayWrite((), command.encode("utf-8", "replace").decode().replace("\0", ""), deep=True))
        return walker.reading()
    walker.whole = command
    try:
        walker.script(command, State((cwd,)), Frame())
        walker.finish()
    except TooMuch:
        walker.give_up(reading.TOO_MANY, command)
    except RecursionError:
        walker.give_up(reading.NESTED, command)
    return walker.reading()


def _is_text(text: str) -> bool:
    """Surrogates have no bytes, and stand for other things here; a shell stops at a NUL or drops it."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
