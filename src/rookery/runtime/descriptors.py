"""How many files and sockets this process may have open."""

import sys


def raise_limit(wanted: int) -> int:
    """Raise the soft limit to `wanted`, as far as the hard one allows, and return what holds now.

    It is raised no further than that: children inherit it, and some programs walk through all numbers below it.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = sys.maxsize if hard == resource.RLIM_INFINITY else hard
    if soft == resource.RLIM_INFINITY or soft >= min(wanted, most):
        return sys.maxsize if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, most), hard))
    except (OSError, ValueError):  # macOS has a limit of its own below the hard one
        return soft
    return min(wanted, most)
