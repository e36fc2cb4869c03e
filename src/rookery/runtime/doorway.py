"""The socket of the fast door: private, and of the one process that holds the lock of its home."""

import logging
import os
import socket
from contextlib import suppress

from rookery import door

BACKLOG = 128

log = logging.getLogger("rookery.door")


def opened(home: str) -> socket.socket | None:
    """A listening socket; None where there can be none: commands run in their own processes then, as ever."""
    if not hasattr(socket, "SO_PEERCRED"):  # the kernel has to say who asks
        return None
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _bind(listener, home)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        log.warning("no fast door at %s: %s", door.place(home), error)
        return None
    listener.setblocking(False)
    return listener


def _bind(listener: socket.socket, home: str) -> None:
    remove(home)  # left by a process that was killed: whoever has the lock may
    os.fchmod(listener.fileno(), 0o600)  # what Linux makes the file with, if the umask lets it
    at, folder = door.reachable(home)
    try:
        listener.bind(at)
        os.chmod(at, 0o600)
    finally:
        if folder >= 0:
            os.close(folder)


def remove(home: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(door.place(home))
