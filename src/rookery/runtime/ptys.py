"""Terminals that Rookery holds itself, for machines without tmux: each in a process of its own (`holder`).

    address    {"kind": "pty", "socket": PATH, "holder": "PID STARTED"}

The holder's process is part of the address: a socket is used only while that very process answers at it (H12, H18). A
program finds its address in `ROOK_TERMINAL`; that is data, and is believed of processes below that holder only.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, TypeVar

from rookery import door
from rookery.core.errors import BadInput, NotYours, Refused, UnknownName
from rookery.core.ports import GONE, Screen, Spot
from rookery.core.record import NamedTuple
from rookery.core.text import plain
from rookery.runtime import places, process
from rookery.runtime.ourtmux import KEPT, SIZE, Window
from rookery.runtime.tmux import Shown

if TYPE_CHECKING:
    import socket

KIND = "pty"
VARIABLE = "ROOK_TERMINAL"
HOLDER = "rookery.runtime.holder"
FOLDER = ("run", "pty")
NAME_LIMIT = 20  # of a socket: a pid, a dot and eight letters
START_S = 30.0  # an interpreter starts, and then the program
ANSWER_S = 5.0  # of a holder that answers within milliseconds, and within a second under a flood
PID_DIGITS = 9
KEEP_S = 300.0  # an exit code that nobody asks for
GRACE_S = 5.0

T = TypeVar("T")


class Ended(NamedTuple):
    code: int
    lines: tuple[str, ...]  # its last screen


# -- where -----------------------------------------------------------------------------------------------------------


def folder(home: str) -> str:
    """`run/pty` in the home, or, where its path is too long for a socket, a private folder of the same user."""
    wanted = os.path.join(os.path.abspath(home), *FOLDER)
    if len(os.fsencode(wanted)) + 1 + NAME_LIMIT <= door.PATH_LIMIT:
        return wanted
    import zlib

    runtime = f"/run/user/{os.getuid()}"
    base = runtime if os.path.isdir(runtime) else "/tmp"
    return os.path.join(base, f"rookery-{os.getuid()}-{zlib.crc32(os.fsencode(wanted)):08x}")


def address_of(environ: Mapping[str, str]) -> dict[str, str] | None:
    """Where a process with these variables says that it stands; None if that is no address, or its holder ended."""
    try:
        told = json.loads(environ.get(VARIABLE, ""))
    except (ValueError, RecursionError):
        return None
    return {name: told[name] for name in ("kind", "socket", "holder")} if _is_address(told) and _holder(told) else None


def _is_address(told: Any) -> bool:
    if not isinstance(told, dict) or told.get("kind") != KIND:
        return False
    return all(isinstance(told.get(name), str) for name in ("socket", "holder")) and os.path.isabs(told["socket"])


def _holder(where: Mapping[str, str]) -> process.Process | None:
    """The holder, while it lives."""
    number, _, started = where["holder"].partition(" ")
    return process.Process(int(number), started) if _state(where) in (process.RUNNING, process.STOPPED) else None


def _state(where: Mapping[str, str]) -> str:
    number, _, started = where["holder"].partition(" ")
    is_number = number.isascii() and number.isdecimal() and len(number) <= PID_DIGITS
    return process.state(int(number), started) if is_number else process.DEAD


def is_there(where: Mapping[str, str]) -> bool:
    """Is the holder there, and its program too?"""
    return bool(panes(where))


def panes(where: Mapping[str, str]) -> dict[str, Shown] | None:
    """As `tmux.panes` tells it: the one that is there, none where it is gone, None if that is not told."""
    if not _is_address(where) or _state(where) == process.UNKNOWN:
        return None
    try:
        with connected(where, ANSWER_S) as line:
            said = asked(line, {"op": "state"})
    except (FileNotFoundError, ConnectionRefusedError):
        return {}
    except (OSError, ValueError):  # it may have ended while it was asked
        return {} if _state(where) == process.DEAD else None
    return {} if said["ended"] else {"": Shown(where["holder"], said["pid"])}


def lives_in(where: Mapping[str, str], pid: int) -> bool:
    """Is that process below the holder? The variable that said so may have been inherited, or made up."""
    holder = _holder(where)
    return holder is not None and holder in [above for above, _, _ in process.ancestors(pid)]


# -- starting and ending ---------------------------------------------------------------------------------------------


def start(
    home: str, argv: Sequence[str], *, cwd: str, environ: Mapping[str, str], size: tuple[int, int] = SIZE,
    keep_s: float = KEEP_S, capture: str = "",
) -> Window:  # fmt: skip
    """Run a program in a terminal of its own, which outlives this process. Its words are passed on as they are.

    `environ` is the whole of its environment, but for the variables that a terminal sets. It is given to the holder by
    a pipe, and so nobody sees it. `capture`: a file to which all that it shows is added, raw.
    """
    import subprocess
    import sys

    if not argv:
        raise BadInput("Nothing is named that could run in a terminal.", "Give a program and its arguments.")
    logs = os.path.join(home, "logs")
    spec = {
        "argv": list(argv), "cwd": cwd, "environ": dict(environ), "size": size, "keep_s": keep_s,
        "folder": _private_folder(home), "log": os.path.join(logs, "pty.log") if os.path.isdir(logs) else "",
        "capture": capture,
    }  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith("PYTHON")}
    command = [sys.executable, "-P", "-m", HOLDER]  # -P: nothing is imported from the folder we happen to be in
    try:
        done = subprocess.run(
            command, input=json.dumps(spec).encode(), capture_output=True, env=kept, timeout=START_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise _not_started(argv, "the holder does not answer") from None
    told = json.loads(done.stdout or b"{}")
    if "address" not in told:
        raise _not_started(argv, told.get("error") or done.stderr.decode(errors="replace")[-1000:])
    return Window(told["address"], process.Process(*told["process"]))


def _not_started(argv: Sequence[str], why: str) -> Refused:
    return Refused(
        f"{plain(argv[0])} was not started: {plain(why).strip()}.", "Run it by hand to see why.", code="NOT_STARTED"
    )


def _private_folder(home: str) -> str:
    made = folder(home)
    if made.startswith(os.path.abspath(home)):
        places.private_folder(os.path.dirname(made))
    places.private_folder(made)
    for name in os.listdir(made):  # what holders left that were killed
        _forget(os.path.join(made, name))
    return made


def _forget(path: str) -> None:
    """Remove the socket of a holder that is gone: by its name, and if it is one, and nobody listens at it."""
    import socket
    import stat

    number = os.path.basename(path).partition(".")[0]
    try:
        if not number.isdecimal() or not stat.S_ISSOCK(os.lstat(path).st_mode):
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(ANSWER_S)
            line.connect(path)
    except ConnectionRefusedError:
        os.unlink(path)
    except OSError:
        return


def ended(where: Mapping[str, str], wait_s: float = 0.0) -> Ended | None:
    """Exit code and last screen of a program that has ended, once: the holder goes when it has told them."""
    return _result(_ask(where, {"op": "ended", "wait": wait_s > 0}, wait_s))


def end(home: str, where: Mapping[str, str], grace_s: float = GRACE_S) -> Ended:
    """End what runs in one of our terminals: asked, then killed. Any other is refused, whatever the address says."""
    if where.get("kind") != KIND or os.path.dirname(where.get("socket", "")) != folder(home):
        raise NotYours("That terminal was not started by Rookery.", "Close it where it was opened.")
    done = _result(_ask(where, {"op": "end", "grace_s": grace_s}, grace_s))
    if done is None:
        raise UnknownName("There is no such terminal any more.", code="NO_TERMINAL")
    return done


def _result(said: Mapping[str, Any] | None) -> Ended | None:
    if said is None or said["code"] is None:
        return None
    return Ended(said["code"], tuple(map(plain, said["lines"])))


def resize(where: Mapping[str, str], size: tuple[int, int]) -> bool:
    return _ask(where, {"op": "resize", "size": size}) is not None


def attach(where: Mapping[str, str], stdin: IO[Any], stdout: IO[Any]) -> str:
    """Show it in a person's own terminal until they leave it; see `attaching`."""
    from rookery.runtime import attaching

    return attaching.attach(where, stdin, stdout)


# -- asking ----------------------------------------------------------------------------------------------------------


def connected(where: Mapping[str, str], wait_s: float) -> "socket.socket":
    """A line to the very holder of that address; an OSError if there is none."""
    import socket

    holder = _holder(where) if _is_address(where) else None
    if holder is None:
        raise ConnectionRefusedError("its holder has ended")
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.settimeout(wait_s)
        line.connect(where["socket"])
        if hasattr(socket, "SO_PEERCRED") and door.peer_of(line) != (holder.pid, os.geteuid()):
            raise ConnectionRefusedError("another process answers there")
    except BaseException:
        line.close()
        raise
    return line


def asked(line: "socket.socket", request: Mapping[str, Any]) -> dict[str, Any]:
    door.send(line, json.dumps(request).encode())
    said = json.loads(door.receive(line))
    if "error" in said:
        raise ConnectionRefusedError(said["error"])
    return said


def _ask(where: Mapping[str, str], request: Mapping[str, Any], more_s: float = 0.0) -> dict[str, Any] | None:
    """What the holder answers; None if it is gone, or does not answer."""
    try:
        with connected(where, ANSWER_S + more_s) as line:
            return asked(line, request)
    except (OSError, ValueError):
        return None


class Held:
    """One terminal, and the agent's process in it, if that is known: then nothing is typed into what took its place."""

    def __init__(self, where: Mapping[str, str], agent: process.Process | None = None) -> None:
        self._where = where
        self._agent = agent
        self._mark = ""
        self._heard: int | None = None  # how often a person had typed at our last look

    async def look(self) -> Screen:
        return await _aside(self._look)

    async def paste(self, text: str, at: Spot | None = None) -> bool:
        return await _aside(self._typed, {"op": "paste", "text": plain(text)}, at)

    async def press(self, key: str, at: Spot | None = None) -> bool:
        return await _aside(self._typed, {"op": "press", "key": key}, at)

    async def lock(self) -> bool:
        return await _aside(self._lock)

    async def unlock(self) -> None:
        await _aside(self._unlock)

    async def left(self) -> str:
        said = await _aside(_ask, self._where, {"op": "left"})
        return plain(said["text"]) if said else ""

    async def forget(self) -> None:
        await _aside(_ask, self._where, {"op": "forget"})

    def last_lines(self, count: int) -> list[str]:
        """What stands on the screen and before it, at most so many lines."""
        said = _ask(self._where, {"op": "tail", "count": max(count, 0)})
        return [plain(line) for line in said["lines"]] if said else []

    # -- how it is done ------------------------------------------------------------------------------------------------

    def _look(self) -> Screen:
        said = _ask(self._where, {"op": "look"})
        if said is None or said["ended"] or self._agent_is_gone():
            return GONE
        self._heard = said["heard"]
        lines, firm = (tuple(map(plain, said[name])) for name in ("lines", "firm"))
        elsewhere = process.elsewhere(self._agent, said["pid"]) if self._agent else ""
        return Screen(lines, firm, *said["at"], pid=said["pid"], elsewhere=elsewhere)

    def _agent_is_gone(self) -> bool:
        return self._agent is not None and process.state(*self._agent) == process.DEAD

    def _typed(self, deed: Mapping[str, Any], at: Spot | None) -> bool:
        """Done if the terminal is as it should be, decided by the holder in the same step."""
        guard: dict[str, Any] = {"mark": self._mark, "at": at}
        if self._heard is not None:
            guard["heard"] = self._heard
        said = _ask(self._where, {**deed, **guard})
        return said is not None and said["done"]

    def _lock(self) -> bool:
        from secrets import token_hex

        me = process.identify(os.getpid())
        if me is None:
            return False
        mark = token_hex(8)
        said = _ask(self._where, {"op": "lock", "mark": mark, "pid": me.pid, "started": me.started})
        if said is None or not said["done"]:
            return False
        self._mark = mark
        return True

    def _unlock(self) -> None:
        mark, self._mark = self._mark, ""
        if mark:
            _ask(self._where, {"op": "unlock", "mark": mark})


async def _aside(deed: Callable[..., T], *args: Any) -> T:
    """A holder answers in milliseconds, and others go on meanwhile."""
    from asyncio import to_thread

    return await to_thread(deed, *args)
