"""Terminals of tmux: the user's own server or ours, always by socket, server and pane id.

    address    {"kind": "tmux", "socket": PATH, "server": "PID STARTED", "pane": "%3"}

A pane id means something only in one run of one server: after a restart `%3` is someone else's, so that the server's
process is part of the address (H12, H18). Names are never used as targets: tmux takes a prefix for the whole.

Whatever is typed is typed by the server itself, in one step with the question whether the pane is still as it was
looked at: the cursor in its place, nobody reading back, the lock ours. The lock is an option of the pane, set only if
it is not set yet; so there is one for all homes and processes, and it ends with the pane. No file is left behind.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from rookery.core.errors import BadInput
from rookery.core.ports import GONE, Screen, Spot
from rookery.core.record import NamedTuple
from rookery.core.text import plain
from rookery.runtime import process

KIND = "tmux"
PROGRAM = "tmux"
LOCK = "@rook_injector"
LEFT = "@rook_left"  # what was pasted and not yet seen to be submitted
LEFT_LIMIT, TEXT_LIMIT = 8_000, 1 << 20  # characters of it as a word, and as a text
ANSWER_S = 5.0  # of a server that answers within milliseconds
KEY_NAMES = {"enter": "Enter", "escape": "Escape", "tab": "Tab", "space": "Space", "up": "Up", "down": "Down",
             "ctrl-c": "C-c", "ctrl-u": "C-u"}  # fmt: skip
STATE = ("pid", "pane_id", "pane_pid", "pane_dead", "cursor_x", "cursor_y", "pane_in_mode", "pane_synchronized",
         "pane_input_off")  # fmt: skip
FORMAT = " ".join(f"#{{{name}}}" for name in STATE)
DONE = "done"  # what the server says when it did as it was told

T = TypeVar("T")


class Said(NamedTuple):
    code: int
    out: str
    err: str = ""


# -- where -----------------------------------------------------------------------------------------------------------


def address_of(environ: Mapping[str, str]) -> dict[str, str] | None:
    """Where a process with these variables stands; None outside of tmux, or where its server can not be looked at."""
    socket, _, rest = environ.get("TMUX", "").partition(",")
    number, pane = rest.partition(",")[0], environ.get("TMUX_PANE", "")
    if not os.path.isabs(socket) or not number.isdecimal() or not is_pane(pane):
        return None
    return address(socket, int(number), pane)


def address(socket: str, server_pid: int, pane: str) -> dict[str, str] | None:
    server = process.identify(server_pid)
    if server is None:
        return None
    return {"kind": KIND, "socket": socket, "server": f"{server.pid} {server.started}", "pane": pane}


def checked(where: Mapping[str, str]) -> Mapping[str, str]:
    """An address may come from a row that others wrote; its parts become words of commands that tmux reads."""
    pid, _, started = where.get("server", "").partition(" ")
    numbers = (pid + started.replace("@", "")).isdecimal() and bool(pid and started)
    if where.get("kind") != KIND or not os.path.isabs(where.get("socket", "")) or not numbers:
        raise BadInput("That is no address of a tmux pane.", "Join again from inside tmux.", code="BAD_ADDRESS")
    if not is_pane(where.get("pane", "")):
        raise BadInput("That is no id of a tmux pane: it is % and a number.", "Join again.", code="BAD_ADDRESS")
    return where


def is_pane(pane: str) -> bool:
    return pane.isascii() and pane[:1] == "%" and pane[1:].isdecimal()


def is_there(where: Mapping[str, str]) -> bool:
    return _state(where, _asked(where)) is not None


def lives_in(where: Mapping[str, str], pid: int) -> bool:
    """Is that process the first one of the pane, or below it? The variables that said so may have been inherited."""
    state = _state(where, _asked(checked(where)))
    if state is None:
        return False
    return int(state["pane_pid"]) in (pid, *(above.pid for above, _, _ in process.ancestors(pid)))


# -- asking the server -----------------------------------------------------------------------------------------------


def run(socket: str, words: Sequence[str], given: str = "", environ: Mapping[str, str] | None = None) -> Said:
    """One call of tmux, by its words and never by a shell. A server is not started by it, but by `new-session`."""
    import subprocess

    kept = {name: value for name in ("PATH", "HOME") if (value := os.environ.get(name))}
    command = [PROGRAM, "-u", "-S", socket, *words]  # -u: what is not ASCII would be replaced without it
    try:
        done = subprocess.run(
            command, input=given.encode(), capture_output=True, timeout=ANSWER_S, env=environ or kept, check=False
        )
    except FileNotFoundError:
        return Said(127, "", f"the program {PROGRAM} is not installed")
    except subprocess.TimeoutExpired:
        return Said(124, "", f"the tmux server at {socket} does not answer")
    return Said(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def _asked(where: Mapping[str, str]) -> Said:
    return run(where["socket"], ["display-message", "-p", "-t", where["pane"], FORMAT])


def _state(where: Mapping[str, str], said: Said) -> dict[str, str] | None:
    """The pane's state, if it is still the pane of that address."""
    values = said.out.partition("\n")[0].split(" ")
    if said.code or len(values) != len(STATE):
        return None
    state: dict[str, str] = dict(zip(STATE, values, strict=True))
    server = process.identify(int(state["pid"]))
    same = server is not None and f"{server.pid} {server.started}" == where["server"]
    return state if same and state["pane_id"] == where["pane"] else None


def exit_status(where: Mapping[str, str]) -> int | None:
    """How the first process of a pane that stayed has ended; None while it runs, or where that is not known."""
    said = run(where["socket"], ["display-message", "-p", "-t", where["pane"], "#{pane_dead} #{pane_dead_status}"])
    dead, _, status = said.out.strip().partition(" ")
    same = not said.code and dead == "1" and is_there(where)
    return int(status) if same and status.isdecimal() else None


def word(said: str) -> str:
    """A word of a program's own, as tmux passes it on: one that ends in a semicolon would end the command there."""
    return f"{said[:-1]}\\;" if said.endswith(";") else said


class Shown(NamedTuple):
    """A pane in a list of all."""

    server: str
    first: int  # the pid of its first process


NOT_THERE = ("no server running", "No such file or directory", "Connection refused")


def panes(socket: str) -> dict[str, Shown] | None:
    """Every pane of a server in which something runs, by its id; none where no server is; None if that is not told."""
    if not os.path.isabs(socket):
        return None
    said = run(socket, ["list-panes", "-a", "-F", "#{pid} #{pane_id} #{pane_pid} #{pane_dead}"])
    if said.code:
        return {} if any(words in said.err for words in NOT_THERE) else None
    rows = [line.split(" ") for line in said.out.splitlines()]
    server = process.identify(int(rows[0][0])) if rows else None
    name = f"{server.pid} {server.started}" if server else ""
    return {pane: Shown(name, int(first)) for _, pane, first, dead in rows if dead != "1"}


class Pane:
    """One pane, and the agent's process in it, if that is known: then nothing is typed into what took its place."""

    def __init__(self, where: Mapping[str, str], agent: process.Process | None = None) -> None:
        self._where = checked(where)
        self._agent = agent
        self._mark = ""

    async def look(self) -> Screen:
        return await _aside(self._look)

    async def paste(self, text: str, at: Spot | None = None) -> bool:
        return await _aside(self._paste, text, at)

    async def press(self, key: str, at: Spot | None = None) -> bool:
        named = [KEY_NAMES[key]] if key in KEY_NAMES else ["-l", key]
        return await _aside(self._typed, at, ["send-keys", "-t", self._where["pane"], *named])

    async def lock(self) -> bool:
        return await _aside(self._lock)

    async def unlock(self) -> None:
        await _aside(self._unlock)

    async def left(self) -> str:
        return await _aside(self._left)

    async def forget(self) -> None:
        await _aside(self._run, ["set-option", "-p", "-u", "-t", self._where["pane"], LEFT])

    def last_lines(self, count: int) -> list[str]:
        """What stands on the screen and before it, at most so many lines."""
        said = self._run(["capture-pane", "-p", "-S", f"-{max(count, 0)}", "-t", self._where["pane"]])
        return plain(said.out).rstrip().split("\n")[-count:] if not said.code and count > 0 else []

    # -- how it is done ------------------------------------------------------------------------------------------------

    def _run(self, words: Sequence[str], given: str = "") -> Said:
        return run(self._where["socket"], words, given)

    def _look(self) -> Screen:
        pane = self._where["pane"]
        said = self._run(["display-message", "-p", "-t", pane, FORMAT, ";", "capture-pane", "-p", "-e", "-t", pane])
        state = _state(self._where, said)
        if state is None or state["pane_dead"] == "1" or self._agent_is_gone():
            return GONE
        lines, firm = shown(said.out.partition("\n")[2].removesuffix("\n"))
        return Screen(
            lines, firm, int(state["cursor_x"]), int(state["cursor_y"]), int(state["pane_pid"]),
            state["pane_in_mode"] != "0", self._elsewhere(state),
        )  # fmt: skip

    def _agent_is_gone(self) -> bool:
        return self._agent is not None and process.state(*self._agent) == process.DEAD

    def _elsewhere(self, state: Mapping[str, str]) -> str:
        if state["pane_synchronized"] == "1":
            return "what is typed goes to other panes as well"
        if state["pane_input_off"] == "1":
            return "the pane takes no input"
        return process.elsewhere(self._agent, int(state["pane_pid"])) if self._agent else ""

    def _paste(self, text: str, at: Spot | None) -> bool:
        from secrets import token_hex

        buffer, pane = f"rook-{token_hex(8)}", self._where["pane"]
        put = ["paste-buffer", "-d", "-p", "-r", "-b", buffer, "-t", pane]
        note = ["set-option", "-p", "-t", pane, LEFT, _packed(plain(text))]  # in one step: no paste without it
        try:
            return self._typed(at, [*note, ";", *put], plain(text), buffer)
        finally:
            self._run(["delete-buffer", "-b", buffer])  # if it was not used; an error if it was

    def _typed(self, at: Spot | None, deed: Sequence[str], text: str = "", buffer: str = "") -> bool:
        """Do it if the pane is as it should be, decided by the server in the same step."""
        names = ["pid", "pane_dead", "pane_in_mode", "pane_synchronized", "pane_input_off", LOCK]
        wanted = [self._where["server"].partition(" ")[0], "0", "0", "0", "0", self._mark]
        if at:
            names, wanted = [*names, "cursor_x", "cursor_y"], [*wanted, str(at[0]), str(at[1])]
        is_so = f"#{{==:{' '.join(f'#{{{name}}}' for name in names)},{' '.join(wanted)}}}"
        load = ["load-buffer", "-b", buffer, "-", ";"] if buffer else []
        done = f"{' '.join(deed)} ; display-message -p {DONE}"
        said = self._run([*load, "if-shell", "-F", "-t", self._where["pane"], is_so, done], text)
        return said.code == 0 and said.out.strip() == DONE

    def _left(self) -> str:
        said = self._run(["show-options", "-p", "-v", "-q", "-t", self._where["pane"], LEFT])
        return _unpacked(said.out.strip()) if not said.code else ""

    # -- one injector --------------------------------------------------------------------------------------------------

    def _lock(self) -> bool:
        from secrets import token_hex

        me = process.identify(os.getpid())
        if (
            me is None
            or _state(self._where, self._run(["display-message", "-p", "-t", self._where["pane"], FORMAT])) is None
        ):
            return False
        mark = f"{me.pid}/{me.started}/{token_hex(8)}"
        if self._run(["set-option", "-p", "-o", "-t", self._where["pane"], LOCK, mark]).code and not self._inherit(
            mark
        ):
            return False
        self._mark = mark
        return True

    def _inherit(self, mark: str) -> bool:
        """Take the lock of a process that is gone, unless another one does first."""
        pane = self._where["pane"]
        held = self._run(["show-options", "-p", "-v", "-t", pane, LOCK]).out.strip()
        if not _is_left(held):
            return False
        take = f"set-option -p -t {pane} {LOCK} {mark} ; display-message -p {DONE}"
        said = self._run(["if-shell", "-F", "-t", pane, f"#{{==:#{{{LOCK}}},{held}}}", take])
        return said.code == 0 and said.out.strip() == DONE

    def _unlock(self) -> None:
        mark, self._mark = self._mark, ""
        pane = self._where["pane"]
        if mark:
            words = ["if-shell", "-F", "-t", pane, f"#{{==:#{{{LOCK}}},{mark}}}", f"set-option -p -u -t {pane} {LOCK}"]
            self._run(words)


def _is_left(held: str) -> bool:
    """Was the lock left by a process that ended? One that can not be looked at counts as alive."""
    pid, _, rest = held.partition("/")
    started, _, chance = rest.partition("/")
    whole = f"{pid}{started.replace('@', '')}".isdecimal() and chance.isalnum() and held.isascii()
    return whole and process.state(int(pid), started) == process.DEAD


def _packed(text: str) -> str:
    """A text as a word for the server; "-" for one that would be too long."""
    from base64 import b64encode
    from zlib import compress

    word = b64encode(compress(text.encode())).decode()
    return word if len(word) <= LEFT_LIMIT else "-"


def _unpacked(word: str) -> str:
    """Whoever can write to the server can write anything there: what is no such word, or hides a flood, is nothing."""
    from base64 import b64decode
    from zlib import decompressobj, error

    try:
        return decompressobj().decompress(b64decode(word, validate=True), TEXT_LIMIT).decode()
    except (ValueError, error):
        return ""


async def _aside(deed: Callable[..., T], *args: Any) -> T:
    """tmux answers in milliseconds, and others go on meanwhile."""
    from asyncio import to_thread

    return await to_thread(deed, *args)


# -- what a screen says ----------------------------------------------------------------------------------------------


def shown(captured: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines of a screen that was captured with its attributes: as they are, and with what is faint left blank."""
    import re

    whole: list[str] = []
    firm: list[str] = []
    faint = False
    for place, part in enumerate(re.split(r"\x1b\[([0-9;:]*)m", captured)):
        if place % 2:
            faint = _is_faint(part, faint)
            continue
        text = plain(part)
        whole.append(text)
        firm.append(re.sub(r"[^\n]", " ", text) if faint else text)
    return tuple("".join(whole).split("\n")), tuple("".join(firm).split("\n"))


def _is_faint(codes: str, before: bool) -> bool:
    numbers = iter(codes.split(";"))
    for number in numbers:
        if number in ("38", "48", "58"):  # a colour: what follows is not an attribute
            for _ in range({"5": 1, "2": 3}.get(next(numbers, ""), 0)):
                next(numbers, None)
        elif number == "2":
            before = True
        elif number in ("", "0", "22"):
            before = False
    return before
