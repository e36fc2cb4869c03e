"""The local bell: a unix datagram socket per listener, `<team>.<agent or all>.<pid>.<random>`.

Ringing takes a fresh non-blocking socket each time, so that a ring never waits and forks share nothing. A full queue
means the listener has rings enough; a refused connection means its process is gone, and the socket file goes too.
"""

import errno
import os
import stat
import time
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .port import EVERYONE

if TYPE_CHECKING:
    import socket

# sun_path holds 108 bytes on Linux and 104 on macOS; the longest socket name below is 57.
PATH_LIMIT = 103
NAME_LIMIT = 57
LABEL_LIMIT = 20
SETTLED_NS = 100_000_000


def new_socket() -> "socket.socket":
    """Imported here: most commands ring nobody, and `socket` would be a tenth of their start."""
    import socket

    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)  # not inherited; macOS has no flag for the next line
    made.setblocking(False)
    return made


def label(name: str) -> str:
    """A name, in any case, as part of a file name: `/` becomes `+`; a long one is cut and told apart by its hash."""
    name = name.casefold()
    flat = name.replace("/", "+")
    if len(flat) <= LABEL_LIMIT:
        return flat
    return f"{flat[:11]}~{zlib.crc32(name.encode()):08x}"


def bell_folder(home: str) -> str:
    """`run/bell` in the home, or, where its path is too long for a socket, a private folder of the same user.

    The choice depends on the home alone, never on the environment: every process must come to the same folder.
    """
    folder = os.path.join(os.path.abspath(home), "run", "bell")
    if len(os.fsencode(folder)) + 1 + NAME_LIMIT <= PATH_LIMIT:
        return folder
    runtime = f"/run/user/{os.getuid()}"
    base = runtime if os.path.isdir(runtime) else "/tmp"
    return os.path.join(base, f"rookery-{os.getuid()}-{zlib.crc32(os.fsencode(folder)):08x}")


def make_folder(folder: str) -> None:
    """`run/bell` of a home that exists; a home itself is made elsewhere, or was refused."""
    home = os.path.dirname(os.path.dirname(folder))
    if os.path.isdir(home) and not os.path.islink(home):
        os.makedirs(folder, 0o700, exist_ok=True)


def is_private(folder: str) -> bool:
    """Ours, a real directory, closed to others: someone may have made it first, in /tmp."""
    try:
        seen = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() and not seen.st_mode & 0o077


class DatagramListener:
    def __init__(self, folder: str, team: str, name: str) -> None:
        self._socket: socket.socket | None = None
        self.path = os.path.join(folder, f"{label(team)}.{label(name)}.{os.getpid()}.{os.urandom(3).hex()}")
        try:
            make_folder(folder)
            if is_private(folder):
                remove_stale(folder)
                self._socket = self._bind()
        except OSError:
            self._socket = None  # no bell here: the slow poll beneath still finds everything

    def _bind(self) -> "socket.socket":
        bound = new_socket()
        try:
            bound.bind(self.path)
            os.chmod(self.path, 0o600)
        except OSError:
            bound.close()
            raise
        return bound

    def wait(self, seconds: float) -> bool:
        import select

        look = select.poll()  # select() knows no descriptor above 1023
        if self._socket is not None:
            look.register(self._socket, select.POLLIN)
        if not look.poll(max(0.0, seconds) * 1000):
            return False
        self._drain()
        return True

    def _drain(self) -> None:
        assert self._socket is not None
        try:
            while self._socket.recv(16):
                pass
        except BlockingIOError:
            return

    def fileno(self) -> int:
        return -1 if self._socket is None else self._socket.fileno()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            try:
                os.unlink(self.path)
            except FileNotFoundError:
                return

    def __enter__(self) -> "DatagramListener":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class DatagramBell:
    def __init__(self, home: str) -> None:
        self.folder = bell_folder(home)
        self._private = False  # once seen to be ours and closed, nobody else can open it
        self._listed: tuple[int, list[tuple[str, str]]] = (0, [])

    def listen(self, team: str, name: str) -> DatagramListener:
        return DatagramListener(self.folder, team, name)

    def ring(self, team: str, names: Iterable[str]) -> dict[str, int]:
        """What it rings for is committed: a bell that can not ring is a lost ring, not a failed send."""
        heard: dict[str, int] = {}
        self._private = self._private or is_private(self.folder)
        if not self._private:
            return heard
        wanted = {f"{label(team)}.{label(name)}": name for name in (*names, EVERYONE)}
        try:
            reachable = [(entry, wanted[address]) for entry, address in self._entries() if address in wanted]
            ringer = new_socket() if reachable else None
        except OSError:
            return heard
        if ringer is None:
            return heard
        with ringer:
            for entry, name in reachable:
                if _reach(ringer, os.path.join(self.folder, entry)):
                    heard[name] = heard.get(name, 0) + 1
        return heard

    def _entries(self) -> list[tuple[str, str]]:
        """Every listener's file and whom it listens for. Listed again when the folder has changed."""
        changed = os.stat(self.folder).st_mtime_ns
        if self._listed[0] == changed:
            return self._listed[1]
        found = [(entry, entry.rsplit(".", 2)[0]) for entry in os.listdir(self.folder)]
        # Two changes within a tick of the file system's clock look like one: only an older one is trusted.
        if time.time_ns() - changed > SETTLED_NS:
            self._listed = (changed, found)
        return found


def _reach(ringer: "socket.socket", path: str) -> bool:
    try:
        ringer.sendto(b"!", path)
    except BlockingIOError:
        return True  # its queue is full of rings already
    except ConnectionRefusedError:
        _forget(path)
        return False
    except OSError as error:
        return error.errno == errno.ENOBUFS  # a full queue on macOS
    return True


def remove_stale(folder: str) -> None:
    """Remove the sockets of listeners that were killed. A notification finds only those whose name it is for."""
    gone = [entry for entry in os.listdir(folder) if not _may_run(entry.rsplit(".", 2)[-2:][0])]
    if not gone:
        return
    with new_socket() as asker:
        for entry in gone:
            try:
                asker.connect(os.path.join(folder, entry))  # sends nothing; a process of another namespace is kept
            except ConnectionRefusedError:
                _forget(os.path.join(folder, entry))
            except OSError:
                continue


def _may_run(pid: str) -> bool:
    """Could a process of this id be alive? What is no listener's file is left alone."""
    if not pid.isdecimal():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
