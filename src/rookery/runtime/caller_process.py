"""The process at the other end of a Unix socket, told apart from one that gets its pid later. Linux only.

A process descriptor (SO_PEERPIDFD, Linux 6.5) refers to the process that connected and to no other. On older kernels
the start time tells: it is read when the connection is accepted, and compared at each check.
"""

import errno
import os
import select
import socket
import time
from functools import cached_property
from typing import Protocol

from . import lineage, process

SO_PEERPIDFD = 77  # the `socket` module has no name for it
_UNSUPPORTED = (errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.EINVAL)


class Line(Protocol):
    def getsockopt(self, level: int, name: int, /) -> int: ...


class CallerProcess:
    """The caller of one connection."""

    _descriptor: int | None = None

    def __init__(self, line: Line, pid: int, accepted_s: float) -> None:
        """`accepted_s`: when the connection was accepted, by `now`. OSError if the process is gone already."""
        self.pid = pid
        self._descriptor = _process_descriptor(line)
        self._identity = process.identify(pid)
        if self._identity is not None and not process.started_by(self._identity, accepted_s):
            self._identity = None  # younger than the connection: the caller has ended, and its pid was reused

    def __del__(self) -> None:
        # Not closed earlier: a thread may still check, and the number could be another file's by then.
        if self._descriptor is not None:
            os.close(self._descriptor)

    def is_alive(self) -> bool:
        """Does the process that connected still run?"""
        if self._identity is None:
            return False
        if self._descriptor is None:
            return process.state(*self._identity) in (process.RUNNING, process.STOPPED)
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return not poll.poll(0)  # readable once the process has ended

    @cached_property
    def sight(self) -> lineage.Sight:
        """Looked up once. It describes the caller only if that is alive afterwards: check then."""
        chain = process.ancestors(self.pid)
        return lineage.Sight(chain, lineage.origin(self.pid, chain))


def now() -> float:
    """Seconds on the clock of process start times."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _process_descriptor(line: Line) -> int | None:
    """None where the kernel has none."""
    try:
        return line.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return None
        raise
