"""The holder: a small process of its own in which one program has its terminal. It outlives whoever started it.

    starter ── python -m rookery.runtime.holder ── forks, and is gone
                     │ what to run, as JSON                 └─ the holder: its own session, `<folder>/<pid>.<chance>`
                     ▼                                          │ pty                    │ unix socket, 0600
              one line: where it is, or why not              the program           frames of JSON, then raw for a person

    program runs ──> ended: its exit code and last screen are kept ──> asked for, or `keep_s` later: it leaves
                                                                       and its socket with it

Always: what comes over the socket is done one request after the other, so that the question where the cursor is and the
typing are one step. The program is read no faster than its output is understood, and a person who does not read is
passed over and painted anew: so memory is bounded, and neither can hold up the other. Only the same user is served.
"""

import fcntl
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from rookery import door
from rookery.core.ports import KEYS
from rookery.core.text import plain
from rookery.runtime import process
from rookery.runtime.ptys import KIND, VARIABLE

TERM = "xterm-256color"
OTHERS_VARIABLES = ("TMUX", "TMUX_PANE", "STY", "LINES", "COLUMNS")  # of the terminal that the starter was in
READ = 1 << 14
INPUT_LIMIT = 1 << 20  # bytes for a program that does not read
CATCH_UP = 16  # reads, before what is typed is decided on
OUTPUT_LIMIT = 1 << 20  # bytes for a person who does not
REQUEST_LIMIT = 4 << 20
LINES_LIMIT = 64  # connections
REQUEST_S = 10.0  # for a request to come whole
LAST_WORDS_S = 0.3  # for what an ended program wrote to come through
FLUSH_S = 2.0
AWAY_S = 1.0  # between looks at a terminal that nobody has open
NEVER = float("inf")
MOST = (1_000, 500)  # columns and rows


class Lock(NamedTuple):
    mark: str
    pid: int
    started: str


class Line:
    """A connection: first for one request, then, if that is what was asked for, for a person."""

    def __init__(self, sock: socket.socket, now: float) -> None:
        self.sock = sock
        self.came = now
        self.inbox = bytearray()
        self.outbox = bytearray()
        self.watches = False  # a person
        self.missed = False  # so much that the screen is painted anew
        self.last = False  # to be closed once everything is sent


class Holder:
    def __init__(self, spec: Mapping[str, Any], path: str, listener: socket.socket, woken: int) -> None:
        from rookery.runtime.vt.screen import Emulator

        columns, rows = _size(spec["size"])
        self._path = path
        self._listener = listener
        self._keep_s = float(spec["keep_s"])
        self._screen = Emulator(columns, rows)
        self._lock: Lock | None = None
        self._heard = 0  # how often a person typed
        self._left = ""  # what was pasted last, until it was submitted
        self._to_program = bytearray()
        self._lines: dict[int, Line] = {}
        self._waiting: list[Line] = []  # for the end
        self._kill_at = self._drained_at = self._leave_at = NEVER
        self._away_until = 0.0
        self._code: int | None = None
        self._over = self._must_end = False
        self._master, slave = os.openpty()
        try:
            self._resize(columns, rows)
            self._program = _started(spec, slave)
        finally:
            os.close(slave)
        self.first = process.identify(self._program.pid)  # not reaped yet, and so it can be looked at
        os.set_blocking(self._master, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(woken, selectors.EVENT_READ, lambda _: _empty(woken))
        self._selector.register(listener, selectors.EVENT_READ, lambda _: self._accept())
        signal.signal(signal.SIGTERM, self._told_to_end)

    # -- the loop ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        while not self._is_done():
            self._attend_to_program()
            for line in self._lines.values():
                self._attend_to(line)
            for key, mask in self._selector.select(self._patience()):
                key.data(mask)
            self._tick()

    def _patience(self) -> float | None:
        times = [self._kill_at, self._drained_at, self._leave_at]
        times += [line.came + REQUEST_S for line in self._hasty()]
        times += [self._away_until] if self._away_until else []
        soonest = min(times)
        return None if soonest == NEVER else max(soonest - time.monotonic(), 0.0)

    def _tick(self) -> None:
        now = time.monotonic()
        if self._must_end:
            self._must_end, self._keep_s = False, 0.0
            self._end(FLUSH_S)
        if self._away_until and now >= self._away_until:
            self._away_until = 0.0
        if now >= self._kill_at:
            self._kill_at = NEVER
            self._signal(signal.SIGKILL)
        if self._code is None and self._drained_at == NEVER and self._has_ended():
            self._drained_at = now if self._away_until else now + LAST_WORDS_S
        if now >= self._drained_at and self._code is None:
            self._ended(now)
        for line in self._hasty():
            if now >= line.came + REQUEST_S:
                self._close(line)

    def _hasty(self) -> list[Line]:
        """Those that have a time to be done in."""
        return [line for line in self._lines.values() if not line.watches and line not in self._waiting]

    def _is_done(self) -> bool:
        """Nothing is left to be told, or nobody came for it in time."""
        now = time.monotonic()
        if self._over and not any(line.outbox for line in self._lines.values()):
            return True
        return now >= self._leave_at

    def leave(self) -> None:
        with suppress(OSError):
            os.unlink(self._path)
        for line in list(self._lines.values()):
            self._close(line)
        self._listener.close()
        with suppress(OSError):
            os.close(self._master)

    # -- the program ---------------------------------------------------------------------------------------------------

    def _attend_to_program(self) -> None:
        wanted = 0 if self._away_until or self._code is not None else selectors.EVENT_READ
        wanted |= selectors.EVENT_WRITE if wanted and self._to_program else 0
        self._want(self._master, wanted, self._serve_program)

    def _want(self, file: int | socket.socket, wanted: int, served: Callable[[int], None]) -> None:
        known = self._selector.get_map().get(file)
        if known is None and wanted:
            self._selector.register(file, wanted, served)
        elif known is not None and not wanted:
            self._selector.unregister(file)
        elif known is not None and known.events != wanted:
            self._selector.modify(file, wanted, served)

    def _serve_program(self, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._write()
        if mask & selectors.EVENT_READ:
            self._read()

    def _read(self) -> bool:
        """Take in what it wrote, a piece of it; False if there was nothing."""
        try:
            data = os.read(self._master, READ)
        except BlockingIOError:
            return False
        except OSError:  # nobody has the terminal open
            data = b""
        if not data:
            self._away_until = time.monotonic() + AWAY_S
            if self._drained_at < NEVER:
                self._drained_at = 0.0
            return False
        shown, answer = self._screen.feed(data)
        if not self._to_program:  # to one that does not read, no more is said
            self._type(answer.encode())
        self._show(shown)
        return True

    def _show(self, shown: str) -> None:
        repaint, self._screen.must_repaint = self._screen.must_repaint, False
        watching = [line for line in self._lines.values() if line.watches]
        if not watching:
            return
        data = self._painted() if repaint else shown.encode("utf-8", "replace")
        for line in watching:
            if line.missed or len(line.outbox) + len(data) > OUTPUT_LIMIT:
                line.missed = True
                line.outbox.clear()
            else:
                line.outbox += data
            self._send(line)

    def _painted(self) -> bytes:
        from rookery.runtime.vt import paint

        return paint.whole(self._screen).encode("utf-8", "replace")

    def _write(self) -> None:
        try:
            sent = os.write(self._master, self._to_program[:READ])
        except BlockingIOError:
            return
        except OSError:
            sent = len(self._to_program)
        del self._to_program[:sent]

    def _type(self, data: bytes) -> bool:
        if self._code is not None or len(self._to_program) + len(data) > INPUT_LIMIT:
            return False
        self._to_program += data
        self._write()
        return True

    def _has_ended(self) -> bool:
        """Looked at before it is reaped: until then its number, and that of its group, are its own."""
        if not hasattr(os, "waitid"):
            return self._program.poll() is not None
        try:
            found = os.waitid(os.P_PID, self._program.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        if found is not None and self._kill_at < NEVER:
            self._signal(signal.SIGKILL)  # whoever of its group did not heed the request to end
        return found is not None

    def _ended(self, now: float) -> None:
        code = self._program.wait()
        self._code = code if code >= 0 else 128 - code
        self._kill_at = self._drained_at = NEVER
        self._leave_at = now + self._keep_s
        self._to_program.clear()
        for line in [each for each in self._lines.values() if each.watches]:
            line.last = True
            self._send(line)
        for line in self._waiting:
            self._answer(line, self._result())
        self._waiting.clear()

    def _result(self) -> dict[str, Any]:
        """Whoever is told this has all there is, so that the holder can go."""
        self._over = True
        self._leave_at = min(self._leave_at, time.monotonic() + FLUSH_S)
        return {"code": self._code, "lines": self._screen.look()[0]}

    def _signal(self, number: int) -> None:
        """To its group, and to the one that has the terminal, if that is another. Never once it is reaped."""
        if self._program.returncode is not None:
            return
        groups = {self._program.pid}
        with suppress(OSError):
            groups.add(os.tcgetpgrp(self._master))
        for group in groups - {0, os.getpgrp()}:
            with suppress(OSError):
                os.killpg(group, number)

    def _end(self, grace_s: float) -> None:
        if self._code is None and self._kill_at == NEVER:
            self._kill_at = time.monotonic() + max(grace_s, 0.0)
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # one that is stopped would not hear it

    def _told_to_end(self, *_: object) -> None:
        self._must_end = True  # done by the loop, which this wakes

    def _resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    # -- connections ---------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        if len(self._lines) >= LINES_LIMIT or not _is_ours(sock):
            sock.close()
            return
        sock.setblocking(False)
        line = Line(sock, time.monotonic())
        self._lines[sock.fileno()] = line

    def _serve(self, line: Line, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._send(line)
        if mask & selectors.EVENT_READ and line.sock.fileno() >= 0:
            self._receive(line)

    def _receive(self, line: Line) -> None:
        try:
            data = line.sock.recv(READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close(line)
        elif line.watches:
            self._heard += 1
            self._type(data)
        elif not line.last:
            line.inbox += data
            self._heed(line)

    def _heed(self, line: Line) -> None:
        size = int.from_bytes(line.inbox[: door.HEAD], "big")
        if len(line.inbox) >= door.HEAD and size > REQUEST_LIMIT:
            self._answer(line, {"error": f"a request has at most {REQUEST_LIMIT} bytes"})
        elif len(line.inbox) >= door.HEAD + size:
            request = bytes(line.inbox[door.HEAD : door.HEAD + size])
            line.inbox.clear()
            self._do(line, request)

    def _do(self, line: Line, request: bytes) -> None:
        try:
            asked = json.loads(request)
            deed = DEEDS[asked["op"]]
            answer = deed(self, asked, line)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            answer = {"error": "that is no request"}
        if answer is not None:
            self._answer(line, answer)

    def _answer(self, line: Line, answer: Mapping[str, Any]) -> None:
        line.outbox += door.framed(json.dumps(answer).encode())
        line.last = not line.watches
        self._send(line)

    def _send(self, line: Line) -> None:
        if line.sock.fileno() < 0:
            return
        while line.outbox or line.missed:
            if not line.outbox:
                line.missed = False
                line.outbox += self._painted()
            try:
                del line.outbox[: line.sock.send(line.outbox)]
            except BlockingIOError:
                break
            except OSError:
                self._close(line)
                return
        if line.last and not line.outbox:
            self._close(line)

    def _attend_to(self, line: Line) -> None:
        """A person whose keys find no room is not read until there is."""
        full = line.watches and len(self._to_program) > INPUT_LIMIT - READ
        wanted = (0 if full else selectors.EVENT_READ) | (selectors.EVENT_WRITE if line.outbox else 0)
        self._want(line.sock, wanted, lambda mask: self._serve(line, mask))

    def _close(self, line: Line) -> None:
        if self._lines.pop(line.sock.fileno(), None):
            self._want(line.sock, 0, lambda _: None)
            line.sock.close()
        if line in self._waiting:
            self._waiting.remove(line)

    # -- requests ------------------------------------------------------------------------------------------------------

    def _asked_look(self, _asked: Mapping[str, Any], _line: Line) -> dict[str, Any]:
        lines, firm = self._screen.look()
        return {
            "lines": lines, "firm": firm, "at": self._screen.spot, "pid": self._program.pid, "heard": self._heard,
            "ended": self._code is not None,
        }  # fmt: skip

    def _asked_state(self, _asked: Mapping[str, Any], _line: Line) -> dict[str, Any]:
        return {"pid": self._program.pid, "ended": self._code is not None}

    def _asked_tail(self, asked: Mapping[str, Any], _line: Line) -> dict[str, Any]:
        return {"lines": self._screen.tail(int(asked["count"]))}

    def _asked_paste(self, asked: Mapping[str, Any], _line: Line) -> dict[str, Any]:
        from rookery.runtime.vt.screen import PASTE

        if not self._may_type(asked):
            return {"done": False}
        text = plain(str(asked["text"]))
        brackets = ("\x1b[200~", "\x1b[201~") if PASTE in self._screen.asked else ("", "")
        done = self._type(text.join(brackets).encode("utf-8", "replace"))
        self._left = text if done else self._left
        return {"done": done}

    def _asked_left(self, _asked: Mapping[str, Any], _line: Line) -> dict[str, Any]:
        return {"text": self._left}

    def _asked_forget(self, _asked: Mapping[str, Any], _line: Line) -> dict[str, Any]:
        self._left = ""
        return {"done": True}

    def _asked_press(self, asked: Mapping[str, Any], _line: Line) -> dict[str, Any]:
        from rookery.runtime.vt.screen import CURSOR_KEYS

        if not self._may_type(asked):
            return {"done": False}
        sent = KEYS.get(asked["key"]) or plain(str(asked["key"]))
        if CURSOR_KEYS in self._screen.asked and asked["key"] in ("up", "down"):
            sent = sent.replace("[", "O")
        return {"done": self._type(sent.encode("utf-8", "replace"))}

    def _may_type(self, asked: Mapping[str, Any]) -> bool:
        """Is everything as it was looked at? Whatever the program has written by now is taken in first."""
        if self._code is not None or (self._lock.mark if self._lock else "") != asked.get("mark", ""):
            return False
        if asked.get("at") is None:
            return True
        for _ in range(CATCH_UP):
            if not self._read():
                break
        same = list(self._screen.spot) == asked["at"] and self._heard == asked.get("heard", self._heard)
        return same and not self._to_program

    def _asked_lock(self, asked: Mapping[str, Any], _line: Line) -> dict[str, Any]:
        """The lock of a process that is gone is inherited; one that can not be looked at counts as alive."""
        wanted = Lock(str(asked["mark"]), int(asked["pid"]), str(asked["started"]))
        held = self._lock
        free = held is None or process.state(held.pid, held.started) == process.DEAD
        if free and wanted.mark and self._code is None:
            self._lock = wanted
        return {"done": self._lock is wanted}

    def _asked_unlock(self, asked: Mapping[str, Any], _line: Line) -> dict[str, Any]:
        if self._lock and self._lock.mark == asked["mark"]:
            self._lock = None
        return {"done": True}

    def _asked_resize(self, asked: Mapping[str, Any], _line: Line) -> dict[str, Any]:
        columns, rows = _size(asked["size"])
        if (columns, rows) != (self._screen.columns, self._screen.lines) and self._code is None:
            self._screen.fit(columns, rows)
            self._resize(columns, rows)
            self._show("")
        return {"done": True}

    def _asked_attach(self, asked: Mapping[str, Any], line: Line) -> dict[str, Any] | None:
        """From now on this line is a person's: raw, both ways."""
        if self._code is not None:
            return {"done": False}
        self._asked_resize(asked, line)
        line.watches = True
        self._answer(line, {"done": True})
        line.outbox += self._painted()
        self._send(line)
        return None

    def _asked_ended(self, asked: Mapping[str, Any], line: Line) -> dict[str, Any] | None:
        if self._code is not None:
            return self._result()
        if asked.get("wait"):
            self._waiting.append(line)
            return None
        return {"code": None}

    def _asked_end(self, asked: Mapping[str, Any], line: Line) -> dict[str, Any] | None:
        self._end(float(asked["grace_s"]))
        return self._asked_ended({"wait": True}, line)


DEEDS: Mapping[str, Callable[[Holder, Mapping[str, Any], Line], dict[str, Any] | None]] = {
    "look": Holder._asked_look, "state": Holder._asked_state, "left": Holder._asked_left,
    "forget": Holder._asked_forget,
    "tail": Holder._asked_tail, "paste": Holder._asked_paste, "press": Holder._asked_press,
    "lock": Holder._asked_lock, "unlock": Holder._asked_unlock, "resize": Holder._asked_resize,
    "attach": Holder._asked_attach, "ended": Holder._asked_ended, "end": Holder._asked_end,
}  # fmt: skip


def _size(told: Any) -> tuple[int, int]:
    columns, rows = (min(max(int(number), 2), most) for number, most in zip(told, MOST, strict=True))
    return columns, rows


def _empty(pipe: int) -> None:
    with suppress(BlockingIOError):
        while os.read(pipe, 512):
            pass


def _is_ours(sock: socket.socket) -> bool:
    """The same user; elsewhere than on Linux the modes of folder and socket alone say so."""
    return not hasattr(socket, "SO_PEERCRED") or door.peer_of(sock)[1] == os.geteuid()


# -- coming to be ----------------------------------------------------------------------------------------------------


def _started(spec: Mapping[str, Any], slave: int) -> subprocess.Popen[bytes]:
    """The program, first of a session whose terminal this is."""
    environ = {name: value for name, value in spec["environ"].items() if name not in OTHERS_VARIABLES}
    environ |= {VARIABLE: json.dumps(spec["address"], separators=(",", ":")), "TERM": TERM}
    return subprocess.Popen(
        spec["argv"], env=environ, cwd=spec["cwd"], stdin=slave, stdout=slave, stderr=slave,
        preexec_fn=lambda: os.login_tty(0),  # we are one thread, so that this is safe
    )  # fmt: skip


def _wake_by_signals() -> int:
    """Whatever signal comes wakes the loop. None is ignored: the program would inherit that."""
    woken, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
    for end in (woken, waking):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)
    return woken


def _listening(folder: str) -> tuple[socket.socket, str]:
    path = os.path.join(folder, f"{os.getpid()}.{os.urandom(4).hex()}")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.fchmod(listener.fileno(), 0o600)  # what Linux makes the file with, if the umask lets it
    listener.bind(path)
    os.chmod(path, 0o600)
    listener.listen(LINES_LIMIT)
    listener.setblocking(False)
    return listener, path


def _prepared(spec: dict[str, Any], woken: int) -> Holder:
    me = process.identify(os.getpid())
    if me is None:
        raise OSError("no process can be looked at here")
    listener, path = _listening(spec["folder"])
    spec["address"] = {"kind": KIND, "socket": path, "holder": f"{me.pid} {me.started}"}
    try:
        return Holder(spec, path, listener, woken)
    except BaseException:
        os.unlink(path)
        raise


def _say(told: Mapping[str, Any]) -> None:
    """The one line that our starter waits for, and then no more of its pipes."""
    try:
        os.write(1, json.dumps(told).encode() + b"\n")
    finally:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.close(nothing)


def _complain_to(log: str) -> None:
    to = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.dup2(to, 2)
    os.close(to)


def main() -> None:
    spec: dict[str, Any] = json.load(sys.stdin)
    if os.fork():
        os._exit(0)  # so that whoever started us has nobody to wait for
    os.setsid()
    os.chdir("/")
    try:
        holder = _prepared(spec, _wake_by_signals())
    except OSError as error:
        _say({"error": f"{error.filename or spec['argv'][0]}: {error.strerror or error}"})
        return
    try:
        _complain_to(spec["log"])
        _say({"address": spec["address"], "process": holder.first})
        holder.run()
    finally:
        holder.leave()


if __name__ == "__main__":
    main()
