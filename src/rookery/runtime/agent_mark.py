"""A mark on every process below an agent program, which stays whatever the process does.

The mark is a hard limit on RLIMIT_LOCKS, which Linux no longer enforces. A child inherits hard limits, also through
`exec`, `setsid`, a new environment and a new parent, and only a privileged process can raise one again. Nobody else
sets this limit. The process tree tells which agent calls; the mark tells that it is some agent where the tree was cut.
"""

import sys

LINUX = sys.platform == "linux"
LOCKS = 10  # RLIMIT_LOCKS; the `resource` module has no name for it
MARK = 0x726F6F6B


def mark(pid: int = 0) -> None:
    """Mark a process of this user, or the calling one; what it starts from now on is marked too."""
    if not LINUX:
        return
    import resource

    try:
        if not _is_mark(resource.prlimit(pid, LOCKS)[1]):
            resource.prlimit(pid, LOCKS, (MARK, MARK))
    except (OSError, ValueError):
        pass  # it ended, or is another user's: the process tree still tells


def is_marked(pid: int = 0) -> bool:
    """A process that can not be looked at counts as marked."""
    if not LINUX:
        return False
    import resource

    try:
        return _is_mark(resource.prlimit(pid, LOCKS)[1])
    except OSError:
        return True


def _is_mark(hard: int) -> bool:
    """A marked process may still lower its limit."""
    return 0 <= hard <= MARK
