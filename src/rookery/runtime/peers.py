"""Which process of this machine is at the other end of a TCP connection. Linux only.

The kernel tells which socket that is and whose (sock_diag); the process that has it open is found in /proc. The source
address does not matter: a client may bind any address of this machine. A process that hides its descriptors
(`PR_SET_DUMPABLE`, a table of its own for one thread) or that is gone by now is not taken for an unknown one: whoever
hides is described as a process above which nothing can be seen.
"""

import errno
import os
import socket
import struct
from collections.abc import Iterator

from rookery.core.caller import Origin
from rookery.core.record import NamedTuple

from . import lineage, process

PROC = "/proc"
RECENT = 64  # processes that are looked at first: most connections come from one that came before

HIDDEN = Origin(whole=False)  # of this user, and not to be seen
UNKNOWN = Origin(found=False)  # another user's, of another machine, or the kernel does not answer

_NETLINK_SOCK_DIAG, _BY_FAMILY, _REQUEST = 4, 20, 1
_LISTENING = 10
_ID = struct.Struct("!HH16s16s")  # ports and addresses
_HEAD, _ASKED = struct.Struct("=IHHII"), struct.Struct("=BBBBI")
_ANYTHING = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # any interface, no cookie
_COUNTS = struct.Struct("=IIIII")  # expires, receive queue, send queue, uid, inode
_ANSWER_S = 1.0

Address = tuple[str, int]


class Gone(Exception):
    """Nobody has the other end open any more."""


class Socket(NamedTuple):
    inode: int
    uid: int


class Peers:
    """Finds processes; remembers which ones it found lately."""

    def __init__(self) -> None:
        self._recent: tuple[int, ...] = ()

    def find(self, ours: Address, theirs: Address) -> Origin | None:
        """The process behind a connection. None: this system never tells, and is not Linux. Raises Gone."""
        if not process.LINUX:
            return None
        try:
            found = look_up(ours, theirs)
            if found.inode and (origin := self._described(found)) is not None:
                return origin
            is_open = bool(found.inode) and look_up(ours, theirs).inode != 0
        except OSError:
            return UNKNOWN
        if is_open:
            return HIDDEN if found.uid == os.geteuid() else UNKNOWN
        if _is_own(theirs[0]):
            raise Gone
        return UNKNOWN  # a packet filter forwarded it here from another machine

    def _described(self, wanted: Socket) -> Origin | None:
        for pid in self._candidates(wanted.uid):
            if (descriptor := _descriptor(pid, wanted.inode)) is None:
                continue
            origin = lineage.origin(pid, process.ancestors(pid), itself=True)
            if not _is_socket(descriptor, wanted.inode):
                return None  # it closed it meanwhile, and its number may be another process's by now
            self._recent = (pid, *(each for each in self._recent if each != pid))[:RECENT]
            return origin
        return None

    def _candidates(self, uid: int) -> Iterator[int]:
        """Those that came before, then the newest: a command that was just started, say."""
        yield from self._recent
        others = sorted((int(name) for name in os.listdir(PROC) if name.isdecimal()), reverse=True)
        for pid in others:
            try:
                if os.stat(f"{PROC}/{pid}").st_uid in (uid, 0):
                    yield pid
            except OSError:
                continue


def look_up(ours: Address, theirs: Address) -> Socket:
    """The socket at the other end; inode 0 if it is closed. OSError where the kernel does not tell."""
    if not hasattr(socket, "AF_NETLINK"):
        raise OSError(errno.ENOSYS, "this system has no netlink sockets")
    id = _ID.pack(theirs[1], ours[1], *(socket.inet_aton(each[0]).ljust(16, b"\0") for each in (theirs, ours)))
    asked = _ASKED.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + id + _ANYTHING
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as line:
        line.settimeout(_ANSWER_S)
        line.send(_HEAD.pack(_HEAD.size + len(asked), _BY_FAMILY, _REQUEST, 1, 0) + asked)
        said = line.recv(8192)
    if _HEAD.unpack_from(said)[1] != _BY_FAMILY:
        code = -struct.unpack_from("=i", said, _HEAD.size)[0]
        if code == 2:  # ENOENT: there is no such socket
            return Socket(0, 0)
        raise OSError(code, os.strerror(code))
    state, ports = said[_HEAD.size + 1], struct.unpack_from("!HH", said, _HEAD.size + 4)
    if state == _LISTENING or ports != (theirs[1], ours[1]):
        return Socket(0, 0)  # the kernel offers whoever listens there instead
    _, _, _, uid, inode = _COUNTS.unpack_from(said, _HEAD.size + 4 + 48)
    return Socket(inode, uid)


def _is_own(address: str) -> bool:
    """Is this an address of this machine? Nothing else can be bound."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError as error:
        return error.errno != errno.EADDRNOTAVAIL
    return True


def _descriptor(pid: int, inode: int) -> str | None:
    """The path of the descriptor with which a process has this socket open."""
    try:
        with os.scandir(f"{PROC}/{pid}/fd") as entries:
            return next((each.path for each in entries if _is_socket(each.path, inode)), None)
    except OSError:
        return None


def _is_socket(path: str, inode: int) -> bool:
    try:
        return os.readlink(path) == f"socket:[{inode}]"
    except OSError:
        return False
