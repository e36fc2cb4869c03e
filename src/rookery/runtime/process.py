"""Who a process is, and whether it still runs.

A pid alone says nothing: it is given to another process as soon as it is free (H18). A process is its pid together with
its start time, and both mean something only on the machine, in the boot and in the pid namespace they were read in. A
sandbox often has a namespace of its own although host name and boot id are the outer ones, so outside the first
namespace the start time carries the namespace too: `4711@4026532201`.
"""

import os
import sys

from rookery.core.errors import StoreUnusable
from rookery.core.record import NamedTuple

LINUX = sys.platform == "linux"
PROC = "/proc"
FIRST_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO, the same on every Linux
STAT_LIMIT = 4096
ARGV_LIMIT = 1 << 15  # enough to tell what a program is; a command line may have megabytes
ENVIRON_LIMIT = 1 << 21  # the kernel passes no more
INTERPRETERS = ("node", "bun", "deno", "python")
DEPTH_LIMIT = 100

RUNNING, STOPPED, DEAD, UNKNOWN = "running", "stopped", "dead", "unknown"


class Process(NamedTuple):
    pid: int
    started: str


Ancestor = tuple[Process, str, list[str]]


class _Look(NamedTuple):
    """One look at a process. `letter` is the state as Linux writes it."""

    letter: str
    parent: int
    ticks: int
    name: str
    threads: int


# --- the machine ------------------------------------------------------------------------------------------------------


def boot_id() -> str:
    """Which run of the machine this is."""
    if LINUX:
        found = _text(f"{PROC}/sys/kernel/random/boot_id").strip()
        if found:
            return found
        # Some sandboxes hide that file. The time of the boot is the next best: setting the clock may change it.
        times = [line.split()[1] for line in _text(f"{PROC}/stat").splitlines() if line.startswith("btime ")]
        if times:
            return f"boot-{times[0]}"
        raise StoreUnusable(
            f"One boot cannot be told from the next: {PROC} cannot be read.",
            "Run rook where /proc is mounted, or use a daemon through ROOK_URL.",
        )
    import psutil  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

    return f"boot-{int(psutil.boot_time())}"


def host_name() -> str:
    return os.uname().nodename


# --- one process ------------------------------------------------------------------------------------------------------


def identify(pid: int) -> Process | None:
    """The identity of a process that can be looked at; None for any other."""
    space = _namespace()
    seen = None if space is None else _visible(pid)
    return Process(pid, _started(seen, space)) if seen else None


def started_by(identity: Process, seconds: float) -> bool:
    """Had this process started at that time of CLOCK_BOOTTIME? Start times are counted in ticks of 10 ms. Linux."""
    return int(identity.started.partition("@")[0]) <= int(seconds * os.sysconf("SC_CLK_TCK"))


def as_it_said(line: bytes) -> Process | None:
    """The identity that a process of this namespace gave: its own line of /proc, or, where there is none, its pid."""
    space = _namespace()
    number = line.split(None, 1)[0] if line.strip() else b""
    if space is None or not number.isdigit():
        return None
    seen = _parse_stat(line)
    return Process(int(number), _started(seen, space)) if seen else identify(int(number))


def state(pid: int, started: str) -> str:
    """ "running", "stopped" or "dead"; "unknown" where the process cannot be looked at from here."""
    _, _, space = started.partition("@")
    if space != _namespace():
        return UNKNOWN
    try:
        seen = _look(pid)
    except OSError:
        return UNKNOWN
    if seen is None or _started(seen, space) != started:
        return DEAD  # it is gone, and its pid may have been given to another process
    if seen.letter in "Tt":
        return STOPPED
    # A process whose first thread has ended shows as a zombie while its other threads work on.
    if seen.letter in "ZXx" and seen.threads < 2:
        return DEAD
    return RUNNING


def ancestors(pid: int) -> list[Ancestor]:
    """Parent, grandparent ... of a process, nearest first, without pid 1: identity, name and argv of each."""
    space = _namespace()
    chain: list[Ancestor] = []
    seen = None if space is None else _visible(pid)
    while seen and seen.parent > 1 and len(chain) < DEPTH_LIMIT:
        above = _visible(seen.parent)
        # Parents are older. A younger one took over the pid of a parent that ended while we climbed.
        if above is None or above.ticks > seen.ticks:
            break
        chain.append((Process(seen.parent, _started(above, space)), above.name, _argv(seen.parent)))
        seen = above
    return chain


def is_whole(pid: int, chain: list[Ancestor]) -> bool:
    """Were all processes above this one seen? Not if they are too many, or if one is there and can not be read."""
    if len(chain) >= DEPTH_LIMIT:
        return False
    last = _visible(chain[-1][0].pid if chain else pid)
    if last is None:
        return False
    return last.parent <= 1 or not LINUX or not os.path.exists(f"{PROC}/{last.parent}")


def namespace() -> str | None:
    """The pid namespace that processes are seen in from here, as `started` carries it; None where none can be seen."""
    return _namespace()


def command(pid: int) -> list[str]:
    """What a process was started as; nothing where that is hidden."""
    return _argv(pid)


def folder(pid: int) -> str:
    """Where a process stands; "" where that is hidden."""
    try:
        return os.readlink(f"{PROC}/{pid}/cwd")
    except OSError:
        return ""


def has_its_terminal(pid: int) -> bool:
    """Does what is typed in its terminal reach it, and not a shell that it was suspended in? True if that is hidden."""
    if not LINUX:
        return True
    try:
        fields = _first_bytes(f"{PROC}/{pid}/stat", STAT_LIMIT).rpartition(b")")[2].split(None, 6)
        group, foreground = int(fields[2]), int(fields[5])
    except (OSError, ValueError, IndexError):
        return True
    return foreground in (group, -1)  # -1: it has no terminal, and is spoken to in another way


def elsewhere(agent: Process, first: int) -> str:
    """Why what is typed in the terminal whose first process that is would not reach an agent's; empty if it would."""
    if first not in (agent.pid, *(above.pid for above, _, _ in ancestors(agent.pid))):
        return "the program is not in this terminal"
    stopped = state(*agent) == STOPPED
    return "another program has the terminal" if stopped or not has_its_terminal(agent.pid) else ""


def has_terminal(pid: int) -> bool:
    """Has this process a controlling terminal, whose session can be seen from here?"""
    if not LINUX:
        return _has_terminal_elsewhere(pid)
    try:
        fields = _first_bytes(f"{PROC}/{pid}/stat", STAT_LIMIT).rpartition(b")")[2].split(None, 5)
        return int(fields[3]) > 0 and int(fields[4]) != 0  # a session led from outside this pid namespace shows as 0
    except (OSError, ValueError, IndexError):
        return False


def _started(seen: _Look, space: str | None) -> str:
    return f"{seen.ticks}@{space}" if space else str(seen.ticks)


def _visible(pid: int) -> _Look | None:
    try:
        return _look(pid)
    except OSError:
        return None


def sees_the_same(pid: int) -> bool:
    """Do paths and pids mean to that process what they mean to this one? A sandbox has mounts and pids of its own."""
    try:
        return _view(str(pid)) == _view("self")
    except OSError:
        return False


def _view(pid: str) -> tuple[object, ...]:
    root = os.stat(f"{PROC}/{pid}/root")
    return os.readlink(f"{PROC}/{pid}/ns/mnt"), os.readlink(f"{PROC}/{pid}/ns/pid"), root.st_dev, root.st_ino


def command_of(pid: int) -> list[str]:
    """The words with which the program of a process is started again, without what it was told to do; none if unknown.

    A program that an interpreter runs is the interpreter, its options and the script.
    """
    if not LINUX:
        return _command_elsewhere(pid)
    try:
        program = os.readlink(f"{PROC}/{pid}/exe")
    except OSError:
        return []
    return _without_task(program, _argv(pid)) if os.path.exists(program) else []


def _without_task(program: str, argv: list[str]) -> list[str]:
    if not os.path.basename(program).startswith(INTERPRETERS):
        return [program]
    for place, word in enumerate(argv[1:], 1):
        if not word.startswith("-"):
            return [program, *argv[1:place], word] if os.path.isabs(word) else []
    return []


def variables(pid: int, names: tuple[str, ...]) -> dict[str, str]:
    """Some of what a process was started with; nothing of one that can not be looked at."""
    if not LINUX:
        return _variables_elsewhere(pid, names)
    try:
        data = _bytes(f"{PROC}/{pid}/environ", ENVIRON_LIMIT)
    except OSError:
        return {}
    known = (os.fsdecode(each).partition("=") for each in data.split(b"\0"))
    return {name: value for name, _, value in known if name in names}


def end_in_order() -> None:
    """From now on whoever ends this process lets it tidy up: what it opened is closed, as at an exit."""
    import signal

    def leave(_number: int, _frame: object) -> None:
        sys.exit(0)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)


# --- looking ----------------------------------------------------------------------------------------------------------

_namespace_of: tuple[int, str | None] = (0, None)


def _namespace() -> str | None:
    """The pid namespace of this process, "" for the first; None where no process can be looked at."""
    global _namespace_of
    pid = os.getpid()
    if _namespace_of[0] != pid:  # a fork may be on the other side of a boundary
        _namespace_of = (pid, _read_namespace(pid))
    return _namespace_of[1]


def _read_namespace(pid: int) -> str | None:
    if not LINUX:
        return ""
    try:
        if os.readlink(f"{PROC}/self") != str(pid):
            return None  # this /proc shows another namespace, in which our pids mean other processes
    except OSError:
        return None
    try:
        space = os.readlink(f"{PROC}/self/ns/pid")
    except OSError:
        return ""  # a kernel without namespaces, or one that keeps them to itself
    return "" if space == FIRST_NAMESPACE else space.removeprefix("pid:[").removesuffix("]")


def _look(pid: int) -> _Look | None:
    """What can be seen of a process; None if there is none; an OSError if that cannot be told."""
    if pid <= 0:
        return None
    if not LINUX:
        return _look_elsewhere(pid)
    try:
        data = _first_bytes(f"{PROC}/{pid}/stat", STAT_LIMIT)
    except (FileNotFoundError, ProcessLookupError):
        # Also how /proc mounted with hidepid=2 hides other users' processes. A process that was seen when its session
        # was bound, by the one user a home has, does not hide later: the pid went to someone else.
        return None
    return _parse_stat(data)


def _parse_stat(data: bytes) -> _Look | None:
    # 4711 (name (with) any ) characters) S 1 ...: only the last parenthesis is the end of the name.
    head, _, tail = data.rpartition(b")")
    fields = tail.split(None, 20)
    if len(fields) < 20:
        return None
    name = os.fsdecode(head.partition(b"(")[2])
    return _Look(fields[0].decode(), int(fields[1]), int(fields[19]), name, int(fields[17]))


def _argv(pid: int) -> list[str]:
    if not LINUX:
        return _argv_elsewhere(pid)
    try:
        data = _bytes(f"{PROC}/{pid}/cmdline", ARGV_LIMIT)
    except OSError:
        return []
    return [os.fsdecode(word) for word in data.removesuffix(b"\0").split(b"\0")] if data else []


def _text(path: str) -> str:
    try:
        return _bytes(path, 1 << 20).decode()
    except OSError:
        return ""


def _first_bytes(path: str, limit: int) -> bytes:
    """One read: the kernel gives a line like `stat` whole or not at all."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, limit)
    finally:
        os.close(descriptor)


def _bytes(path: str, limit: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts: list[bytes] = []
        while limit > 0 and (part := os.read(descriptor, limit)):
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


# --- looking elsewhere: macOS, BSD ------------------------------------------------------------------------------------


def _look_elsewhere(pid: int) -> _Look | None:
    import psutil  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

    letters = {psutil.STATUS_STOPPED: "T", psutil.STATUS_ZOMBIE: "Z", psutil.STATUS_DEAD: "X"}
    try:
        seen = psutil.Process(pid)
        with seen.oneshot():
            ticks = round(seen.create_time() * 1_000_000)
            return _Look(letters.get(seen.status(), "S"), seen.ppid() or 0, ticks, seen.name(), 1)
    except psutil.AccessDenied as error:
        raise PermissionError(str(error)) from error
    except psutil.NoSuchProcess:
        return None


def _argv_elsewhere(pid: int) -> list[str]:
    import psutil  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []


def _has_terminal_elsewhere(pid: int) -> bool:
    import psutil  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

    try:
        return psutil.Process(pid).terminal() is not None
    except psutil.Error:
        return False


def _command_elsewhere(pid: int) -> list[str]:
    import psutil  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

    try:
        found = psutil.Process(pid)
        return _without_task(found.exe(), found.cmdline())
    except psutil.Error:
        return []


def _variables_elsewhere(pid: int, names: tuple[str, ...]) -> dict[str, str]:
    import psutil  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

    try:
        known = psutil.Process(pid).environ()
    except psutil.Error:
        return {}
    return {name: known[name] for name in names if name in known}
