"""Commands of the corpora run with a read-only system: they are written to destroy files, and a test may run as root.

Writable are the folder of the test, the temporary folders and devices. It needs Linux and mount namespaces, which root
has, and other users have where the kernel allows them user namespaces.
"""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

NEW_MOUNTS, NEW_USERS = 0x20000, 0x10000000
READ_ONLY, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 32, 4096, 16384, 1 << 18
KEPT = ("/proc", "/sys", "/dev/shm", "/dev/pts", "/dev/mqueue")
WRITABLE = ("/tmp", "/dev/shm")

_libc = ctypes.CDLL(None, use_errno=True)


def confine(folder: Path) -> Callable[[], None]:
    """What a child does before its program begins (`preexec_fn`): from then on it writes in these places only."""
    own = os.path.realpath(folder)
    user, group = os.geteuid(), os.getegid()

    def enter() -> None:
        _check(_libc.unshare(NEW_MOUNTS | (0 if user == 0 else NEW_USERS)), "unshare")
        if user:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        _mount("none", "/", RECURSIVE | PRIVATE)
        here = os.getcwd()
        # One mount for all that is written: files can not be renamed or linked from one to another.
        writable = WRITABLE if own.startswith(tuple(f"{path}/" for path in WRITABLE)) else (*WRITABLE, own)
        for path in writable:
            _mount(path, path, BIND)
        for path in _mounted():
            if path not in writable and not path.startswith(KEPT):
                _libc.mount(b"none", os.fsencode(path), None, REMOUNT | BIND | READ_ONLY, None)  # some refuse: /run/...
        os.chdir(here)  # the folder as it is mounted now
        if os.access("/usr/bin", os.W_OK):
            raise OSError("the system is still writable")

    return enter


def _mounted() -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return list(dict.fromkeys(line.split()[4].encode().decode("unicode_escape") for line in lines))


def _mount(source: str, target: str, flags: int) -> None:
    _check(_libc.mount(os.fsencode(source), os.fsencode(target), None, flags, None), f"mount {target}")


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
