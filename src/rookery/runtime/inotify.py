"""The kernel's word that something happened in a folder (Linux). It says when to look, never what is there.

By hand rather than through a library: the calls are three, and those that are kept well (watchfiles, for one) gather
events for a while and do not tell that a file was closed after writing, which is the one thing worth waking for.
"""

import ctypes
import errno
import os
import struct
from contextlib import suppress

_CLOSE_WRITE, _MOVED_TO, _CREATE, _DELETE_SELF, _MOVE_SELF = 0x8, 0x80, 0x100, 0x400, 0x800
_UNMOUNT, _IGNORED, _ONLYDIR, _DONT_FOLLOW = 0x2000, 0x8000, 0x01000000, 0x02000000
_WANTED = _CLOSE_WRITE | _MOVED_TO | _CREATE | _DELETE_SELF | _MOVE_SELF | _ONLYDIR | _DONT_FOLLOW
_OVER = _DELETE_SELF | _MOVE_SELF | _UNMOUNT | _IGNORED
_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows
_ROOM = 1 << 16


class Watch:
    """One folder. OSError when it can not be watched, on systems without inotify too."""

    def __init__(self, folder: str) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            self._descriptor = _checked(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        except AttributeError:
            raise OSError(errno.ENOSYS, "there is no inotify here") from None
        try:
            _checked(libc.inotify_add_watch(self._descriptor, os.fsencode(folder), _WANTED))
        except OSError:
            os.close(self._descriptor)
            raise

    def fileno(self) -> int:
        return self._descriptor

    def drained(self) -> bool:
        """Take in what was told. False: the folder is gone or is another one now, and nothing more will be told."""
        alive = True
        with suppress(BlockingIOError):
            while told := os.read(self._descriptor, _ROOM):
                at = 0
                while at < len(told):
                    _, mask, _, length = _HEAD.unpack_from(told, at)
                    alive = alive and not mask & _OVER
                    at += _HEAD.size + length
        return alive

    def close(self) -> None:
        os.close(self._descriptor)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
