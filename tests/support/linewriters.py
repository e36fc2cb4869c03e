"""What children of the H32 tests do: append lines, one after the other, and die in the middle of one."""

import json
import os
import signal

from rookery.runtime.ndjson import Appender
from tests.support.inside import hear, say

PAGE = 4096


def append(path: str, limit: int, name: str, count: int) -> None:
    """So many lines for each word heard; each is told once it is written."""
    lines, number = Appender(path, limit), 0
    say("ready")
    while hear():
        for _ in range(count):
            lines.append(line_of(name, number))
            say(number)
            number += 1
        say("all")


def line_of(name: str, number: int) -> str:
    """Some are longer than a page: those a kill may tear."""
    return json.dumps({"writer": name, "n": number, "text": "x" * (2 * PAGE if number % 5 == 0 else number % 97)})


def tear(path: str) -> None:
    """Half a line, and no more words."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, line_of("torn", 0)[:30].encode())
    os.kill(os.getpid(), signal.SIGKILL)


def hold(path: str) -> None:
    """Keeps the lock that writers take, until it is told to go on."""
    import fcntl

    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    say("held")
    hear()
