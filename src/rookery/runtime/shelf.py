"""Files that rows refer to: written whole before the row, read back as they were, under one private folder.

Every folder on the way is opened by its own descriptor and no symlink is followed, so whoever swaps a folder for one
while we work sends us nowhere. A file gets a name nobody had before and is never written again: a row that names it
stays true, and one that was never named (a crash came between) is told by its age. Besides, products that rows can make
anew are put under names of their own (`put`).
"""

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress

from rookery.core.errors import Refused, StoreCorrupt, StoreUnusable, Unreachable
from rookery.core.ports import Kept

from . import files

CHANCE_BYTES = 6
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Shelf:
    """`base` are the folders from the home down; what is handed out is relative to the home, whatever `base` is."""

    def __init__(self, home: str, base: Sequence[str]) -> None:
        self._home = home
        self._base = tuple(base)

    def keep(self, folder: str, name: str, data: bytes) -> Kept:
        """On the disk for good when this returns."""
        import hashlib

        unique = f"{os.urandom(CHANCE_BYTES).hex()}-{name}"
        with self._opened((*self._base, folder), make=True) as place:
            _write(place, unique, data)
        return Kept("/".join((*self._base, folder, unique)), len(data), hashlib.sha256(data).hexdigest())

    def place(self, *names: str) -> str:
        """Where a file of that name would be, beside what is kept under chance names: relative to the home."""
        return "/".join((*self._base[:-1], *names))

    def publish(self, file: str, data: bytes) -> str:
        """A whole file under a name of its own: "written", or "whole" if it was there already. What is there and is
        not that is refused and left as it is."""
        *above, name = file.split("/")
        with self._opened(above, make=True) as place:
            if _write_new(place, _plain(name), data):
                return "written"
        if self.read(file, len(data) + 1) != data:
            raise StoreCorrupt(f"{file} is not what was written there.", "It was left as it is; look at it.", path=file)
        return "whole"

    def beside(self, file: str) -> str:
        return "/".join((*self._base[:-1], file))

    def put(self, file: str, data: bytes) -> None:
        """Under this very name, in a folder beside the shelf, whatever was there before."""
        *above, name = self.beside(file).split("/")
        with self._opened(above, make=True) as place:
            _write(place, _plain(name), data, f"{os.urandom(CHANCE_BYTES).hex()}-{name}")

    def keep_same(self, folder: str, data: bytes) -> Kept:
        """Under its hash: the same content is one file, and is young again whenever it is kept."""
        import hashlib

        digest = hashlib.sha256(data).hexdigest()
        with self._opened((*self._base, folder), make=True) as place, _alone(place):
            if not _touched(place, digest, len(data)):
                _write(place, digest, data)
        return Kept("/".join((*self._base, folder, digest)), len(data), digest)

    def read(self, file: str, limit: int) -> bytes:
        *above, name = file.split("/")
        with self._opened(above) as place:
            descriptor = os.open(_plain(name), _READ, dir_fd=place)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise _swapped(file)
                return files.read_up_to(descriptor, limit)
            finally:
                os.close(descriptor)

    def old(self, age_s: float, limit: int) -> list[str]:
        """Files older than that, those that are not whole among them: at most so many, from a random place on, so
        that in time all are looked at."""
        found: list[str] = []
        for folder in self._names(self._base):
            names = sorted(self._names((*self._base, folder)))
            start = os.urandom(1)[0] * len(names) // 256
            for name in (names[start:] + names[:start])[:limit]:
                if self._age_s((*self._base, folder), name) > age_s:
                    found.append("/".join((*self._base, folder, name)))
        return found[:limit]

    def remove(self, file: str, age_s: float = 0.0) -> None:
        """What can not be removed now is found again later; what was kept again since is not as old any more."""
        *above, name = file.split("/")
        with suppress(Refused, Unreachable), self._opened(above) as place, _alone(place):
            if not age_s or _age_s(place, _plain(name)) > age_s:
                os.unlink(_plain(name), dir_fd=place)

    def _names(self, folders: Sequence[str]) -> list[str]:
        try:
            with self._opened(folders) as place:
                return os.listdir(place)
        except (Refused, Unreachable):  # nothing was ever put there, or it is no folder of ours
            return []

    def _age_s(self, folders: Sequence[str], name: str) -> float:
        try:
            with self._opened(folders) as place:
                return _age_s(place, name)
        except (Refused, Unreachable):
            return 0.0

    @contextmanager
    def _opened(self, folders: Sequence[str], *, make: bool = False) -> Generator[int]:
        """A descriptor of the folder. What is missing, or not what it was, is said without following it."""
        where = os.path.join(self._home, *folders)
        try:
            descriptor = os.open(self._home, _FOLDER)
            try:
                for name in folders:
                    inner = _step(descriptor, _plain(name), make)
                    os.close(descriptor)
                    descriptor = inner
                yield descriptor
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno == errno.ENOENT and not make:
                raise Refused(f"{where} has no such file.", "It was removed.", code="FILE_GONE") from error
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise _swapped(where) from error
            raise files.refusal(where, error) from error


def _step(above: int, name: str, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):  # someone was faster
        os.mkdir(name, 0o700, dir_fd=above)
        os.fsync(above)
    made = os.open(name, _FOLDER, dir_fd=above)
    os.fchmod(made, 0o700)  # the umask may have taken our own bits away
    return made


def _write(place: int, name: str, data: bytes, unique: str = "") -> None:
    temporary = f"{files.TEMPORARY}{unique or name}"[:255]
    try:
        _fill(place, temporary, data)
        os.rename(temporary, name, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        files.remove_quietly(temporary, place)
        raise
    os.fsync(place)


def _write_new(place: int, name: str, data: bytes) -> bool:
    """False if there is something of that name: a link never takes the place of what is there, as a rename would."""
    temporary = f"{files.TEMPORARY}{os.urandom(CHANCE_BYTES).hex()}-{name}"[:255]
    try:
        _fill(place, temporary, data)
        os.link(temporary, name, src_dir_fd=place, dst_dir_fd=place, follow_symlinks=False)
    except FileExistsError:
        return False
    finally:
        files.remove_quietly(temporary, place)
    os.fsync(place)
    return True


def _fill(place: int, name: str, data: bytes) -> None:
    descriptor = os.open(name, _NEW, 0o600, dir_fd=place)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fchmod(descriptor, 0o600)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _age_s(place: int, name: str) -> float:
    import time

    return time.time() - os.stat(name, dir_fd=place, follow_symlinks=False).st_mtime


def _touched(place: int, name: str, size: int) -> bool:
    """Is it there, and whole? Then it was just kept."""
    try:
        found = os.stat(name, dir_fd=place, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode) or found.st_size != size:
            return False  # not what was put there: it is put there again
        os.utime(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _alone(place: int) -> Generator[None]:
    """A file that was kept again is not removed at the same moment. The lock is the folder's, and ends with us."""
    import fcntl

    fcntl.flock(place, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(place, fcntl.LOCK_UN)


def _plain(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise Refused(f"{name!a} is no file name.", "Names come from the ledger.", code="BAD_PATH")
    return name


def _swapped(path: str) -> StoreUnusable:
    return StoreUnusable(f"{path} is not what was put there.", "Someone replaced it; look at the folder.", path=path)
