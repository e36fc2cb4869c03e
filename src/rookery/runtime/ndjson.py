"""Files of lines that several processes write and others follow: one JSON object a line, rotated at a size (H32).

    path      written at its end, one `write` a line, so that lines of several writers do not mix
    path.1    what `path` was before: one generation is kept

A follower's place is a file (its inode) and an offset in it. When `path` is another file than the one it reads, it
first reads that one to its end, and then goes on at the beginning of the next. Writers look under a lock whether the
file is still the one at `path`: nothing is written to one that was put aside, so that the end that is read is its end.

What can be lost, and is told (`Follower.gaps`): lines of a generation that was put aside and replaced before a follower
came to read it. What a writer that was killed left of a line is ended by the next writer: a line that is no JSON.
"""

import errno
import fcntl
import os
import stat
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress

from rookery.core.errors import StoreBusy, TooLarge
from rookery.core.record import NamedTuple

from . import files

LIMIT = 5_000_000  # bytes of one generation
LONGEST = 1_000_000  # bytes of one line
OLDER = ".1"
HEAD = 256  # bytes by which a file is known again
PATIENCE_S, LOOK_S = 2.0, 0.002  # for a writer that was stopped with the lock in its hands
_WRITE = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_GONE = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR)


class Appender:
    """Lines at the end of a file; safe with any number of them in any number of processes."""

    def __init__(self, path: str, limit: int = LIMIT) -> None:
        self._path = path
        self._limit = limit

    def append(self, line: str) -> None:
        """The whole line, or nothing of it; a reader finds it when this returns."""
        data = _encoded(line)
        try:
            while not self._appended(data):
                pass  # someone put the file aside between opening and locking it
        except OSError as error:
            raise files.refusal(self._path, error) from error

    def _appended(self, data: bytes) -> bool:
        with _locked(self._path) as descriptor:
            if not _is_still(self._path, descriptor):
                return False
            size = os.fstat(descriptor).st_size
            if not size:
                os.fchmod(descriptor, 0o600)  # the umask may have taken our own bits away
            if size and size + len(data) > self._limit:
                _finish(descriptor, size)
                os.rename(self._path, self._path + OLDER)
                return False
            # A line that its writer did not live to end is ended: it is then a line that can not be read, alone.
            before = b"" if _ends(descriptor, size) else b"\n"
            written = os.write(descriptor, before + data)
            if written < len(before + data):  # the disk is full: what is there of the line is taken back
                os.ftruncate(descriptor, size + min(written, len(before)))
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return True


@contextmanager
def _locked(path: str) -> Generator[int]:
    """The file, made if it is not there, under a lock that ends with its holder however that ends."""
    descriptor = os.open(path, _WRITE, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        _lock(descriptor, path)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: str) -> None:
    import time

    ends = time.monotonic() + PATIENCE_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > ends:
                hint = "A process that writes it was stopped; try again when it is gone."
                raise StoreBusy(f"{path} has been locked for {PATIENCE_S:.0f} s.", hint, path=path) from None
            time.sleep(LOOK_S)


def _is_still(path: str, descriptor: int) -> bool:
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    held = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)


def _ends(descriptor: int, size: int) -> bool:
    return not size or os.pread(descriptor, 1, size - 1) == b"\n"


def _finish(descriptor: int, size: int) -> None:
    """The last line of a generation that is put aside is ended, so that its reader need not wait for more."""
    if not _ends(descriptor, size):
        os.write(descriptor, b"\n")


def _encoded(line: str) -> bytes:
    data = line.encode("utf-8", "replace")
    if b"\n" in data or len(data) > LONGEST:
        raise TooLarge(f"A line of {len(data)} bytes can not be appended.", f"One line, up to {LONGEST} bytes.")
    return data + b"\n"


class Place(NamedTuple):
    """How far a follower has read; it may be kept, and be gone on from by another one."""

    inode: int = 0  # of the file that it reads; 0: of none yet
    offset: int = 0
    head: int = 0  # a checksum of what that file begins with: the inode of one that is gone is given again


class Follower:
    """Whole lines, each once, in the order in which they were written, over rotations.

    It begins with the oldest that is kept, or where another one was. The file that it reads it holds open, so that it
    reads it to its end wherever that was put meanwhile.
    """

    def __init__(self, path: str, place: Place | None = None, longest: int = LONGEST) -> None:
        self._path = path
        self._longest = longest
        self._skipping = False  # in a line that is longer than any may be
        self._descriptor = -1
        self.place = place or Place()
        self.skipped = 0  # lines that were too long
        self.gaps = 0  # so often a file was gone, or shortened, of which there may have been more to read

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def read(self, limit: int = files.READ_CHUNK) -> list[bytes]:
        """What is new, as whole lines, from about so many bytes; nothing, if nothing is."""
        if self._descriptor < 0 and not self._begin():
            return []
        while True:
            if lines := self._lines(limit):
                return lines
            if not self._is_put_aside():
                return []
            # Whoever puts a file aside lets nobody write to it any more: what it has now is all of it.
            if lines := self._lines(limit):
                return lines
            if not self._go_on():
                return []

    def _begin(self) -> bool:
        """Where it was, else at the beginning of the oldest there is."""
        kept = self.place
        for path in (self._path, self._path + OLDER):
            if kept.inode and self._open(path):
                if self._is_known(kept):
                    self.place = kept
                    return True
                self.close()
        self.gaps += bool(kept.inode)
        return self._take(_after(self._path, -1)[0])

    def _open(self, path: str) -> bool:
        return self._take(_opened(path))

    def _take(self, descriptor: int) -> bool:
        """Read that file from its beginning; without one, the file that was read before is kept."""
        if descriptor < 0:
            return False
        self.close()
        self._descriptor, self._skipping = descriptor, False
        self.place = Place(os.fstat(descriptor).st_ino)
        return True

    def _is_known(self, kept: Place) -> bool:
        there = os.fstat(self._descriptor)
        return there.st_ino == kept.inode and there.st_size >= kept.offset and self._head(kept.offset) == kept.head

    def _head(self, offset: int) -> int:
        return zlib.crc32(os.pread(self._descriptor, min(offset, HEAD), 0))

    def _is_put_aside(self) -> bool:
        """Is another file where ours was?"""
        device, inode = files.identity(self._path)
        ours = os.fstat(self._descriptor)
        return bool(inode) and (device, inode) != (ours.st_dev, ours.st_ino)

    def _go_on(self) -> bool:
        """At the beginning of the file after ours."""
        found, is_sure = _after(self._path, self._descriptor)
        self.gaps += not is_sure
        return self._take(found)

    def _lines(self, limit: int) -> list[bytes]:
        if os.fstat(self._descriptor).st_size < self.place.offset:  # shortened under our hands: it is read anew
            self._moved(0)
            self.gaps += 1
        while data := self._piece(limit):
            whole = data.rfind(b"\n") + 1
            if not whole and len(data) <= self._longest:
                return []  # a line that is still being written: it is read again
            if not whole:
                self.skipped += not self._skipping
                self._skipping = True
            self._moved(self.place.offset + (whole or len(data)))
            if lines := self._taken(data[:whole]):
                return lines
        return []

    def _piece(self, limit: int) -> bytes:
        """From our place on: so much, or as much more as one long line takes."""
        while True:
            os.lseek(self._descriptor, self.place.offset, os.SEEK_SET)
            data = files.read_up_to(self._descriptor, limit)
            if b"\n" in data or len(data) < limit or limit > self._longest:
                return data
            limit = min(2 * limit, self._longest + 1)

    def _moved(self, offset: int) -> None:
        self.place = Place(self.place.inode, offset, self._head(offset))

    def _taken(self, data: bytes) -> list[bytes]:
        lines = data.split(b"\n")[:-1]
        if self._skipping and lines:
            self._skipping, lines = False, lines[1:]
        self.skipped += sum(len(line) > self._longest for line in lines)
        return [line for line in lines if line and len(line) <= self._longest]


def _after(path: str, ours: int) -> tuple[int, bool]:
    """The file that follows ours (without one: the oldest), opened, or -1; and whether none came between.

    The newest is opened first. If ours is the one put aside afterwards, nothing was put aside meanwhile, and the newest
    follows it; if the newest itself is, that follows.
    """
    newest, older = _opened(path), _opened(path + OLDER)
    if older < 0 or _same(older, ours):
        if older >= 0:
            os.close(older)
        return newest, True
    is_sure = ours < 0 or _same(older, newest)
    if newest >= 0:
        os.close(newest)
    return older, is_sure


def _same(one: int, other: int) -> bool:
    return one >= 0 and other >= 0 and os.path.samestat(os.fstat(one), os.fstat(other))


def _opened(path: str) -> int:
    """A descriptor, or -1 where there is no file of ours."""
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        if error.errno in _GONE:
            return -1
        raise files.refusal(path, error) from error
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return -1


def tail(path: str, count: int, most: int = 1 << 20) -> list[bytes]:
    """The last whole lines, of the generation before too."""
    found: list[bytes] = []
    for each in (path, path + OLDER):
        data = b""
        with suppress(OSError):
            data, _ = files.read_from(each, max(0, files.size(each) - most), most)
        whole = [line for line in data[: data.rfind(b"\n") + 1].split(b"\n") if line]
        found = whole + found
        if len(found) >= count:
            break
    return found[-count:] if count else []
