"""What a shell command would write, read off its text: no command is run and no disk is looked at.

    tree.py        a command as plain values; a parser hands it in
    words.py       quotes, escapes, braces, tildes, wildcards, variables; holes.py: what is not known in a word
    walk.py        follows the statements; state.py: where the shell stands between two of them
    calls.py       which command a row of words is; the shell's own ones
    programs.py    the table of programs; options.py: how their options are declared
    files.py, edits.py, formatters.py, git.py, wrappers.py    those that take more than a row of the table
    reading.py     the result: writes and opaque parts

Invariant: whatever a command writes is covered by a `Write`, or the reading has an `Opaque`. It is as good as the
table, and it takes programs to be what they are called: aliases, functions and settings of the shell that the command
is typed into, git's hooks and filters, and the caches that tools keep for themselves are not in the text. Nor is it a
sandbox: a program that was misled into writing elsewhere (a symlink put in place of a file) is not seen here.
"""

from .reading import Opaque, Reach, Reading, Write
from .state import State
from .walk import Frame, Looks, Parse, TooMuch, Walker, World

__all__ = ["Opaque", "Reach", "Reading", "Write", "read"]


def read(
    command: str,
    cwd: str,
    parse: Parse,
    *,
    home: str | None = None,
    is_folder: Looks | None = None,
    modes: bool = True,
) -> Reading:
    """What the command would write, were it run in `cwd`.

    `is_folder` makes the answer narrower where a target or a `cd` depends on what is there; without it both cases
    count. `modes`: whether a change of mode or owner is a write.
    """
    from . import reading
    from .calls import dispatch

    walker = Walker(World(parse, home, is_folder, modes), dispatch)
    if not _is_text(command) or not _is_text(cwd):
        walker.opaque(reading.UNREADABLE, command[:1000].encode("ascii", "backslashreplace").decode())
        return walker.reading()
    try:
        walker.script(command, State((cwd,)), Frame())
        walker.finish()
    except TooMuch:
        walker.opaque(reading.TOO_MANY, command)
    except RecursionError:
        walker.opaque(reading.NESTED, command)
    return walker.reading()


def _is_text(text: str) -> bool:
    """Surrogates have no bytes, and stand for other things here; a shell stops at a NUL or drops it."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
