"""The processes of a run: found by what they carry, and ended by who they are.

Every process of a run has its id in the environment it was started with (`ROOK_RUN`), children and grandchildren too,
wherever they went. Besides them, those count that descend from such a process or stand in the session that the run's
first process leads, whatever became of their variables. A process is signalled only as what it was seen to be: its pid
is pinned by a descriptor first, and its start time looked at again after that, so that nobody who was given its number
is hit (H14, H18).
"""

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from rookery.core.record import NamedTuple
from rookery.runtime import lineage, process, vitals
from rookery.runtime.process import Process

VARIABLE = lineage.RUN_MARKER
LOOK_S = 0.02
LAST_S = 5.0  # what was killed and still shows after this is left to the kernel


class Ended(NamedTuple):
    """What had to be done so that nothing of a run is left."""

    asked: int = 0  # processes that were sent SIGTERM
    killed: int = 0
    left: int = 0  # could not be ended: they hang in the kernel


def carriers(run: str) -> list[Process]:
    """All processes of this user that carry the run's id, in no order. Never this one."""
    if not run:
        return []
    mine = os.getpid()
    found = (process.identify(pid) for pid in _pids() if pid != mine and _carries(pid, run))
    return [each for each in found if each is not None and process.state(*each) != process.DEAD]


def _pids() -> list[int]:
    if not process.LINUX:
        import psutil  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

        return psutil.pids()
    return [int(name) for name in os.listdir(process.PROC) if name.isdecimal()]


def _carries(pid: int, run: str) -> bool:
    if not process.LINUX:
        return process.variables(pid, (VARIABLE,)).get(VARIABLE) == run
    try:
        descriptor = os.open(f"{process.PROC}/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False  # it ended, or is another user's
    try:
        data = b"\0" + _all(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return f"\0{VARIABLE}={run}\0".encode() in data


def _all(descriptor: int) -> bytes:
    parts: list[bytes] = []
    left = process.ENVIRON_LIMIT
    while left > 0 and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def members(run: str, first: Process | None = None) -> list[Process]:
    """All processes of a run: those that carry it, those below them, and those in the session its first one leads."""
    mine = os.getpid()
    known = dict.fromkeys(carriers(run))
    there = vitals.snapshot()
    if first is not None and there.find(*first):
        known |= dict.fromkeys([first, *_in_session(first, there)])
    for each in list(known):
        if there.find(*each):
            known |= dict.fromkeys(Process(below.pid, below.started) for below in there.tree(each.pid))
    return [each for each in known if each.pid != mine]


def _in_session(first: Process, there: vitals.Snapshot) -> list[Process]:
    """Only while its leader is there: its number may be another session's afterwards."""
    found: list[Process] = []
    for each in there.seen.values():
        with suppress(OSError):
            if os.getsid(each.pid) == first.pid:
                found.append(Process(each.pid, each.started))
    return found


def send(to: Process, number: int) -> bool:
    """Signal that very process; False if it is gone."""
    if not hasattr(os, "pidfd_open"):
        return _sent_plainly(to, number)
    try:
        pinned = os.pidfd_open(to.pid)
    except ProcessLookupError:
        return False
    except OSError:  # a kernel, or a sandbox, that has none
        return _sent_plainly(to, number)
    try:
        if process.identify(to.pid) != to:
            return False
        signal.pidfd_send_signal(pinned, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(pinned)


def _sent_plainly(to: Process, number: int) -> bool:
    if process.identify(to.pid) != to:
        return False
    with suppress(ProcessLookupError):
        os.kill(to.pid, number)
        return True
    return False


def watched(to: Process) -> int | None:
    """A descriptor that can be read once that process is over; None where there is no such thing, or it is gone."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        pinned = os.pidfd_open(to.pid)
    except OSError:
        return None
    if process.identify(to.pid) == to:
        return pinned
    os.close(pinned)
    return None


def end(run: str, first: Process | None, term_s: float, *, reap: Callable[[], None] = lambda: None) -> Ended:
    """Nothing of a run is left when this returns: each is asked with SIGTERM, and killed if it does not go in time.

    `reap` is called while it waits, for those that are children of this process.
    """
    there, asked, ends = members(run, first), dict[Process, bool](), time.monotonic() + term_s
    while new := [each for each in there if each not in asked]:  # a later one was started while the others were asked
        asked |= {each: _ask(each) for each in new} if term_s > 0 else dict.fromkeys(new, False)
        there = _gone_by(run, first, there, ends, reap)
        if time.monotonic() >= ends:
            break
    killed, ends = 0, time.monotonic() + LAST_S
    while there and time.monotonic() < ends:
        killed += sum(send(each, signal.SIGKILL) for each in there)
        there = _gone_by(run, first, there, time.monotonic() + LOOK_S, reap)
    return Ended(sum(asked.values()), killed, len(there))


def _ask(each: Process) -> bool:
    asked = send(each, signal.SIGTERM)
    send(each, signal.SIGCONT)  # one that is stopped would not hear it
    return asked


def _gone_by(
    run: str, first: Process | None, there: Sequence[Process], ends: float, reap: Callable[[], None]
) -> list[Process]:
    """Those that are still there at that time; what was started meanwhile is found in a last look."""
    while True:
        reap()
        left = [each for each in there if process.state(*each) not in (process.DEAD, process.UNKNOWN)]
        if not left:
            return _living(members(run, first))
        if time.monotonic() >= ends:
            return _living(dict.fromkeys([*left, *members(run, first)]))
        time.sleep(LOOK_S)


def _living(those: Sequence[Process] | dict[Process, None]) -> list[Process]:
    return [each for each in those if process.state(*each) not in (process.DEAD, process.UNKNOWN)]
