"""What all processes of this machine take, in one look: a session's program is counted with everything below it.

Processor time is that of a process and of the children it has waited for, so that a tool which ran and ended between
two looks still counts. Memory that processes share is counted for each of them.
"""

import os
from collections.abc import Mapping

from rookery.core.record import NamedTuple
from rookery.runtime import process

STAT_LIMIT = 4096


class Seen(NamedTuple):
    pid: int
    started: str
    age: int  # a larger number started later
    parent: int
    name: str
    cpu_ms: int
    memory_kib: int


class Taken(NamedTuple):
    cpu_ms: int
    memory_kib: int


class Snapshot:
    """Every process that can be looked at, and what is below each."""

    def __init__(self, seen: Mapping[int, Seen]) -> None:
        self.seen = seen
        self._below: dict[int, list[int]] = {}
        for each in seen.values():
            self._below.setdefault(each.parent, []).append(each.pid)

    def find(self, pid: int, started: str) -> Seen | None:
        found = self.seen.get(pid)
        return found if found and found.started == started else None

    def tree(self, pid: int) -> list[Seen]:
        """A process and all that descend from it, nearest first."""
        found: list[Seen] = []
        waiting = [pid] if pid in self.seen else []
        while waiting and len(found) <= len(self.seen):
            here = waiting.pop(0)
            found.append(self.seen[here])
            waiting += self._below.get(here, [])
        return found

    def taken(self, pid: int) -> Taken:
        tree = self.tree(pid)
        return Taken(sum(each.cpu_ms for each in tree), sum(each.memory_kib for each in tree))


def snapshot() -> Snapshot:
    space = process.namespace()
    if space is None:
        return Snapshot({})
    if not process.LINUX:
        return Snapshot(_elsewhere())
    tick_ms, page_kib = 1000 // os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE") // 1024
    found = (_look(int(name), space, tick_ms, page_kib) for name in os.listdir(process.PROC) if name.isdecimal())
    return Snapshot({each.pid: each for each in found if each})


def _look(pid: int, space: str, tick_ms: int, page_kib: int) -> Seen | None:
    try:
        descriptor = os.open(f"{process.PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None  # it ended since the list was made
    try:
        data = os.read(descriptor, STAT_LIMIT)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    head, _, tail = data.rpartition(b")")
    fields = tail.split(None, 22)
    if len(fields) < 22 or fields[0] in b"ZXx":
        return None
    age = int(fields[19])
    return Seen(
        pid, f"{age}@{space}" if space else str(age), age, int(fields[1]), os.fsdecode(head.partition(b"(")[2]),
        sum(map(int, fields[11:15])) * tick_ms, int(fields[21]) * page_kib,
    )  # fmt: skip


def _elsewhere() -> dict[int, Seen]:
    import psutil  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

    found: dict[int, Seen] = {}
    for each in psutil.process_iter():
        try:
            with each.oneshot():
                age, used = round(each.create_time() * 1_000_000), each.cpu_times()
                spent = used.user + used.system + used.children_user + used.children_system
                memory = each.memory_info().rss // 1024
                found[each.pid] = Seen(
                    each.pid, str(age), age, each.ppid() or 0, each.name(), round(spent * 1000), memory
                )
        except psutil.Error:
            continue
    return found
