"""Files written whole or not at all, and read up to a limit. Never for the database: that is apsw's alone (H39)."""

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from rookery.core.errors import BadInput, StoreFull, StoreReadOnly, StoreUnusable, TooLarge, Unreachable

READ_CHUNK = 1 << 16
_kept_closed: list[str] = []
TEMPORARY = ".rook-"  # how the name of a file begins that is not whole yet
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_atomic(path: str, data: bytes, mode: int = 0o600) -> None:
    """After return the file has this content, even after a power cut; on failure it is what it was before.

    A symlink at `path` is replaced, not followed.
    """
    with writing(path, mode) as write:
        write(data)


@contextmanager
def writing(path: str, mode: int = 0o600) -> Generator[Callable[[bytes], None]]:
    """The same for what comes in pieces: nothing is seen of it before the block ends well."""
    folder = os.path.dirname(path) or "."
    # A short name of its own: the name of the file with something added could exceed what a file name may be.
    temporary = os.path.join(folder, f"{TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}.tmp")
    try:
        try:
            with _new(temporary, mode) as write:
                yield write
            os.replace(temporary, path)
        except BaseException:
            remove_quietly(temporary)
            raise
        _sync_folder(folder)
    except OSError as error:
        raise refusal(path, error) from error


@contextmanager
def kept_closed(*paths: str) -> Generator[None]:
    """H39: whoever closes a descriptor of the database drops the locks that SQLite has on it in the same process."""
    _kept_closed.extend(paths)
    try:
        yield
    finally:
        for path in paths:
            _kept_closed.remove(path)


def check_may_open(path: str) -> None:
    """By what it leads to: a process that reads files for others may be shown a link to its own database."""
    for other in _kept_closed:
        with suppress(OSError, ValueError):
            if os.path.samefile(path, other):
                raise BadInput(f"{path} is the ledger itself.", "Name another file.", code="UNREADABLE_FILE", path=path)


def is_own(path: str) -> bool:
    """A regular file of this user, under one name, that no link leads to."""
    try:
        seen = os.lstat(path)
        return (
            stat.S_ISREG(seen.st_mode) and seen.st_uid == os.geteuid() and seen.st_nlink == 1
            and os.path.realpath(path) == path
        )  # fmt: skip
    except (OSError, ValueError):
        return False


def read_limited(path: str, limit: int) -> bytes:
    """The whole of a file of at most `limit` bytes."""
    check_may_open(path)
    try:
        # Non-blocking, so that a named pipe in the place of the file does not hold us for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BadInput(f"{path} is not a file.", "Name a regular file.", code="UNREADABLE_FILE", path=path)
        data = read_up_to(descriptor, limit + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise TooLarge(f"{path} has more than {limit} bytes.", f"Keep it to {limit} bytes.", path=path, limit=limit)
    return data


def refusal(path: str, error: OSError, otherwise: str = "") -> Unreachable:
    """What an error of the disk means for whoever wanted to write at `path`; `otherwise` is one more way out."""
    if error.errno in _FULL:
        return StoreFull(f"The disk is full: {path} could not be written.", "Make room, then try again.", path=path)
    if error.errno in _FORBIDDEN:
        sentence = f"{path} may not be written: {error.strerror}."
        return StoreReadOnly(sentence, _hint("Make it and its folder writable for you", otherwise), path=path)
    if error.errno == errno.ENOENT:
        folder = os.path.dirname(path) or "."
        sentence = f"{path} cannot be made: the folder {folder} does not exist."
        return StoreUnusable(sentence, _hint(f"Create it (mkdir -p {folder})", otherwise), path=path)
    sentence = f"{path} cannot be used: {error.strerror or error}."
    return StoreUnusable(sentence, _hint("Name another place", otherwise), path=path)


def _hint(first: str, otherwise: str) -> str:
    return f"{first}, or {otherwise}." if otherwise else f"{first}."


def _unreadable(path: str, error: OSError | ValueError) -> BadInput:
    missing = isinstance(error, FileNotFoundError)
    why = "does not exist" if missing else f"cannot be read: {getattr(error, 'strerror', None) or error}"
    return BadInput(
        f"{path!r} {why}.",
        "Check the name and its permissions.",
        code="NO_SUCH_FILE" if missing else "UNREADABLE_FILE",
        path=path,
    )


@contextmanager
def _new(path: str, mode: int) -> Generator[Callable[[bytes], None]]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def write(data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    try:
        yield write
        os.fchmod(descriptor, mode)  # exactly this mode, whatever the umask
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_quietly(path: str, folder: int | None = None) -> None:
    with suppress(OSError):  # the failure that brought us here is the one to report
        os.unlink(path, dir_fd=folder)


def _sync_folder(folder: str) -> None:
    """Makes the rename itself durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot, and keep renames in order themselves
            raise
    finally:
        os.close(descriptor)


def read_up_to(descriptor: int, count: int) -> bytes:
    parts: list[bytes] = []
    while count > 0 and (part := os.read(descriptor, min(count, READ_CHUNK))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def free_bytes(folder: str) -> int:
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize


def size(path: str) -> int:
    return os.stat(path).st_size


def size_or_none(path: str) -> int:
    """0 for a file that is not there."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def read_from(path: str, offset: int, limit: int) -> tuple[bytes, int]:
    """What stands in a file after an offset, and where that ends. One that shrank is read from its beginning; what is
    no file, or can not be opened, holds nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return b"", offset
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            return b"", offset
        offset = offset if offset <= seen.st_size else 0
        os.lseek(descriptor, offset, os.SEEK_SET)
        data = read_up_to(descriptor, limit)
        return data, offset + len(data)
    finally:
        os.close(descriptor)


def identity(path: str) -> tuple[int, int]:
    """Which file this is, whatever its name; nothing if there is none."""
    try:
        seen = os.stat(path)
    except OSError:
        return 0, 0
    return seen.st_dev, seen.st_ino


@contextmanager
def scratch(prefix: str, *, keep: bool = False, keep_after: type[Exception] | tuple[()] = ()) -> Generator[str]:
    """A private folder of its own, gone afterwards unless it is kept, also after an error that it tells about."""
    import shutil
    import tempfile

    folder = os.path.realpath(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    except keep_after:
        keep = True
        raise
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
