"""A person's terminal, rung."""

import os
import stat

from rookery.core.text import quoted

BEL = b"\a"


def ring(path: str) -> str:
    """ "" if it rang, otherwise why not. Only a terminal of our own user is opened, and never waited for."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return f"{quoted(path)}: {os.strerror(error.errno or 0)}"
    try:
        found = os.fstat(number)
        if not (stat.S_ISCHR(found.st_mode) and os.isatty(number)):
            return f"{quoted(path)} is no terminal"
        if found.st_uid != os.getuid():
            return f"{quoted(path)} is somebody else's"
        os.write(number, BEL)
    except OSError as error:
        return f"{quoted(path)}: {os.strerror(error.errno or 0)}"
    finally:
        os.close(number)
    return ""
