"""A folder into which other programs put files: what lies there, whether a file is whole, and moving it aside.

Everything goes by the folder's own descriptor and no symlink is followed, so what is swapped while we look leads
nowhere. A file is whole when nobody has it open for writing. On Linux the kernel tells: a read lease is refused while
anybody does (H1). Where it can not be asked (another system, another user's file, some network disks), the caller has
to go by how long a file has not changed; that is weaker, and told by `sure`.
"""

import errno
import os
import stat
from collections.abc import Container, Generator
from contextlib import contextmanager, suppress

from rookery.core.errors import Refused, StoreUnusable
from rookery.core.record import NamedTuple

from . import files, git, repository

SUFFIX = ".md"
NAME_LIMIT = 200  # bytes of a name that is kept: what is added to it has to fit as well
COPIES = 10_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOTE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.,;=@+>< ()[]{}!#&'^~")


class Item(NamedTuple):
    name: str
    kind: str  # file, folder, symlink or other
    size: int
    look: tuple[int, ...]  # as long as this stays the same, nobody has changed it


class Content(NamedTuple):
    data: bytes
    sure: bool  # the kernel says that nobody writes to it


class Dropbox:
    """One folder, held open. Files that are dealt with go to folders inside it."""

    def __init__(self, folder: str, kept: tuple[str, ...]) -> None:
        self.folder = folder
        self._place = os.open(folder, _FOLDER)
        self._kept: dict[str, int] = {}
        try:
            for name in kept:
                self._kept[name] = _inner(self._place, name, folder)
        except BaseException:
            self.close()
            raise

    def items(self) -> list[Item]:
        """What was dropped and is not hidden, oldest first."""
        found: list[tuple[int, Item]] = []
        for name in os.listdir(self._place):
            if name.startswith(".") or not name.endswith(SUFFIX):
                continue
            with suppress(FileNotFoundError):
                seen = os.stat(name, dir_fd=self._place, follow_symlinks=False)
                found.append((seen.st_mtime_ns, Item(name, _kind(seen.st_mode), seen.st_size, _look(seen))))
        return [item for _, item in sorted(found, key=lambda each: (each[0], each[1].name))]

    def read(self, item: Item, limit: int) -> Content | None:
        """The file as it was when it was looked at, up to a limit; None if somebody writes to it, or has."""
        files.check_may_open(os.path.join(self.folder, item.name))
        descriptor = os.open(item.name, _READ, dir_fd=self._place)
        try:
            sure = _nobody_writes(descriptor)
            if sure is False or _look(os.fstat(descriptor)) != item.look:
                return None
            data = files.read_up_to(descriptor, limit)
            return Content(data, bool(sure)) if _look(os.fstat(descriptor)) == item.look else None
        finally:
            os.close(descriptor)  # and the lease with it

    def keep(self, name: str, into: str, note: tuple[str, str] | None = None) -> str:
        """Move it to `into` under a name that nobody has there; with `note`, (ending, text) is put beside it first.

        The name it has there, or "" if it is gone: another process was faster.
        """
        place = self._kept[into]
        try:
            kind = _kind(os.stat(name, dir_fd=self._place, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return ""
        new = _reserved(place, shown(name), kind == "folder")
        beside = f"{new}{note[0]}" if note else ""
        try:
            if note:
                _write(place, beside, note[1])
            # What is replaced is our own empty file, or our own empty folder, made a moment ago.
            os.rename(name, new, src_dir_fd=self._place, dst_dir_fd=place)
        except BaseException as error:
            _release(place, new, kind == "folder")
            if beside:
                files.remove_quietly(beside, place)
            if isinstance(error, FileNotFoundError):
                return ""
            raise
        return new

    def close(self) -> None:
        for descriptor in (self._place, *self._kept.values()):
            os.close(descriptor)


class Tracked:
    """Which files of a folder git tracks. git is run again only when its index changed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._index: tuple[int, ...] = ()
        self._names: Container[str] = frozenset()

    def names(self) -> Container[str]:
        """Names in the folder. Where git can not tell, every name: a clone must not deliver mail."""
        found = git.find(self._folder)
        if found is None:
            return frozenset()
        try:
            look = _look(os.stat(os.path.join(found.folder, "index")))
        except OSError:
            return frozenset()  # nothing was ever added
        if look != self._index:
            self._names = self._listed()
            self._index = look
        return self._names

    def _listed(self) -> Container[str]:
        try:
            said = repository.git(self._folder, "ls-files", "-z", "--", ".")
        except Refused:
            return _Everything()
        return frozenset(said.out.split("\0")) if not said.code else _Everything()


class _Everything:
    def __contains__(self, name: object) -> bool:
        return True


@contextmanager
def opened(folder: str, *kept: str) -> Generator[Dropbox | None]:
    """None if there is no such folder. One that is a symlink, or may not be written, is an error."""
    try:
        box = Dropbox(folder, kept)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise unusable(folder, error) from error
    try:
        yield box
    finally:
        box.close()


def unusable(folder: str, error: OSError) -> Exception:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return StoreUnusable(f"{folder} is no folder, or a symlink.", "Nothing is taken from there.", path=folder)
    return files.refusal(folder, error)


def shown(name: str) -> str:
    """A name that can be listed anywhere: what is not plain is written as its bytes, %1B; not too long."""
    plain = "".join(c if c in _PLAIN or (c.isprintable() and not c.isascii()) else _bytes(c) for c in name)
    raw = os.fsencode(plain)
    if len(raw) <= NAME_LIMIT:
        return plain
    return raw[: NAME_LIMIT - len(SUFFIX)].decode("utf-8", "ignore") + SUFFIX


def is_plain(name: str) -> bool:
    return shown(name) == name


def _bytes(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in os.fsencode(character))


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "symlink"
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"


def _look(seen: os.stat_result) -> tuple[int, ...]:
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def _nobody_writes(descriptor: int) -> bool | None:
    """None where it can not be told. While the lease is ours, whoever opens the file for writing waits for us."""
    import fcntl
    import signal

    if not hasattr(fcntl, "F_SETLEASE"):
        return None
    try:
        # A lease that is wanted back is told by a signal, whose usual effect would be our end; this one has none.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
    return True


def _inner(place: int, name: str, folder: str) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=place)
    try:
        return os.open(name, _FOLDER, dir_fd=place)
    except OSError as error:
        raise unusable(os.path.join(folder, name), error) from error


def _reserved(place: int, name: str, folder: bool) -> str:
    """A name of our own in the folder: the one asked for, or one with a number."""
    stem = name.removesuffix(SUFFIX)
    for number in range(1, COPIES):
        tried = name if number == 1 else f"{stem}-{number}{SUFFIX}"
        try:
            if folder:
                os.mkdir(tried, 0o700, dir_fd=place)
            else:
                os.close(os.open(tried, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=place))
        except FileExistsError:
            continue
        return tried
    raise StoreUnusable(f"There are {COPIES:,} files called {name}.", "Clear the folder.", path=name)


def _release(place: int, name: str, folder: bool) -> None:
    with suppress(OSError):
        if folder:
            os.rmdir(name, dir_fd=place)
        elif os.stat(name, dir_fd=place, follow_symlinks=False).st_size == 0:
            os.unlink(name, dir_fd=place)


def _write(place: int, name: str, written: str) -> None:
    descriptor = os.open(name, _NOTE, 0o600, dir_fd=place)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(written)


def place_of(root: str, folder: str, *, trusted: bool) -> str:
    """The folder as a path. What a repository says stays inside it: files are moved there, and a clone is no friend."""
    path = os.path.normpath(os.path.join(root, os.path.expanduser(folder)))
    if trusted:
        return os.path.realpath(path)
    inside = os.path.join(os.path.realpath(root), os.path.relpath(path, root))
    if os.path.relpath(path, root).startswith(os.pardir) or os.path.realpath(path) != inside:
        raise StoreUnusable(
            f"{folder} leads out of the workspace.",
            "Name it in your own settings (`rook config`), or take a folder inside.",
            path=folder,
        )
    return path
