"""What a holder does, one thing after the other: it reads its program, and does what it is asked."""

import json
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from rookery.core.ports import KEYS
from rookery.core.text import plain
from rookery.runtime import process
from rookery.runtime.vt import paint
from rookery.runtime.vt.screen import CURSOR_KEYS, PASTE, Emulator

from .lines import PIECE, Line, Lines
from .program import INPUT_LIMIT, Program

CATCH_UP = 16  # reads, before what is typed is decided on
LAST_WORDS_S = 0.3  # for what an ended program wrote to come through
FLUSH_S = 2.0
AWAY_S = 1.0  # between looks at a terminal that nobody has open
NEVER = float("inf")
MOST = (1_000, 500)  # columns and rows

Asked = Mapping[str, Any]


class Lock(NamedTuple):
    mark: str
    pid: int
    started: str


class Holder:
    def __init__(self, spec: Asked, path: str, listener: socket.socket, woken: int) -> None:
        size = _size(spec["size"])
        self._path = path
        self._listener = listener
        self._keep_s = float(spec["keep_s"])
        self._screen = Emulator(*size)
        self._lines = Lines(self._painted, self._forget)
        self._waiting: list[Line] = []  # for the end
        self._lock: Lock | None = None
        self._heard = 0  # how often a person typed
        self._left = ""  # what was pasted last, until it was submitted
        self._kill_at = self._drained_at = self._leave_at = NEVER
        self._away_until = 0.0
        self._over = self._must_end = False
        self._capture = _opened(spec.get("capture", ""))
        self.program = Program(spec, size)
        self._selector = selectors.DefaultSelector()
        self._selector.register(woken, selectors.EVENT_READ, lambda _: _empty(woken))
        self._selector.register(listener, selectors.EVENT_READ, lambda _: self._lines.accept(listener))
        signal.signal(signal.SIGTERM, self._told_to_end)

    # -- the loop ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        while not self._is_done():
            self._attend()
            for key, mask in self._selector.select(self._patience()):
                key.data(mask)
            self._tick()

    def _attend(self) -> None:
        wanted = 0 if self._away_until or self.program.code is not None else selectors.EVENT_READ
        wanted |= selectors.EVENT_WRITE if wanted and self.program.unread else 0
        self._want(self.program.fileno(), wanted, self._serve_program)
        for line in self._lines.all.values():
            full = line.watches and self.program.unread > INPUT_LIMIT - PIECE  # of keys; the person waits
            wanted = (0 if full else selectors.EVENT_READ) | (selectors.EVENT_WRITE if line.outbox else 0)
            self._want(line.sock.fileno(), wanted, self._served(line))

    def _want(self, file: int, wanted: int, served: Callable[[int], None]) -> None:
        known = self._selector.get_map().get(file)
        if known is None and wanted:
            self._selector.register(file, wanted, served)
        elif known is not None and not wanted:
            self._selector.unregister(file)
        elif known is not None and known.events != wanted:
            self._selector.modify(file, wanted, served)

    def _patience(self) -> float | None:
        soonest = min(self._kill_at, self._drained_at, self._leave_at, self._lines.soonest(), self._away_until or NEVER)
        return None if soonest == NEVER else max(soonest - time.monotonic(), 0.0)

    def _tick(self) -> None:
        now = time.monotonic()
        if self._must_end:
            self._must_end, self._keep_s = False, 0.0
            self._end(FLUSH_S)
        if now >= self._away_until:
            self._away_until = 0.0
        if now >= self._kill_at:
            self._kill_at = NEVER
            self.program.signal(signal.SIGKILL)
        if self.program.code is None:
            self._look_after(now)
        self._lines.close_late()

    def _look_after(self, now: float) -> None:
        """An ended program is reaped once what it wrote has come through."""
        if self._drained_at == NEVER and self.program.has_ended():
            if self._kill_at < NEVER:
                self.program.signal(signal.SIGKILL)  # whoever of its group did not heed the request to end
            self._drained_at = now if self._away_until else now + LAST_WORDS_S
        if now >= self._drained_at:
            self._ended(now)

    def _is_done(self) -> bool:
        """Nothing is left to be told, or nobody came for it in time."""
        return (self._over and not self._lines.busy) or time.monotonic() >= self._leave_at

    def leave(self) -> None:
        with suppress(OSError):
            os.unlink(self._path)
        for line in list(self._lines.all.values()):
            self._lines.close(line)
        self._listener.close()
        self.program.close()

    # -- the program ---------------------------------------------------------------------------------------------------

    def _serve_program(self, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self.program.flush()
        if mask & selectors.EVENT_READ:
            self._read()

    def _read(self) -> bool:
        """Take in a piece of what it wrote; False if there was nothing."""
        data = self.program.read()
        if data == b"":
            self._away_until = time.monotonic() + AWAY_S
            self._drained_at = min(self._drained_at, 0.0) if self._drained_at < NEVER else NEVER
        if not data:
            return False
        self._keep(data)
        shown, answer = self._screen.feed(data)
        if answer and not self.program.unread:  # to one that does not read, no more is said
            self.program.give(answer.encode())
        self._show(shown)
        return True

    def _keep(self, data: bytes) -> None:
        """Raw, as it came. A disk that takes no more ends that, and nothing else."""
        rest = memoryview(data)
        try:
            while rest and self._capture >= 0:
                rest = rest[os.write(self._capture, rest) :]
        except OSError:
            os.close(self._capture)
            self._capture = -1

    def _show(self, shown: str) -> None:
        repaint, self._screen.must_repaint = self._screen.must_repaint, False
        if self._lines.watching:
            self._lines.show(self._painted() if repaint else shown.encode("utf-8", "replace"))

    def _painted(self) -> bytes:
        return paint.whole(self._screen).encode("utf-8", "replace")

    def _ended(self, now: float) -> None:
        self.program.reap()
        self._kill_at = self._drained_at = NEVER
        self._leave_at = now + self._keep_s
        self._lines.end_watching()
        for line in self._waiting[:]:
            self._lines.answer(line, self._result())

    def _result(self) -> dict[str, Any]:
        """Whoever is told this has all there is, so that the holder can go."""
        self._over = True
        self._leave_at = min(self._leave_at, time.monotonic() + FLUSH_S)
        return {"code": self.program.code, "lines": self._screen.look()[0]}

    def _end(self, grace_s: float) -> None:
        if self.program.code is None and self._kill_at == NEVER:
            self._kill_at = time.monotonic() + max(grace_s, 0.0)
            self.program.ask_to_end()

    def _told_to_end(self, *_: object) -> None:
        self._must_end = True  # done by the loop, which this wakes

    # -- connections ---------------------------------------------------------------------------------------------------

    def _served(self, line: Line) -> Callable[[int], None]:
        def serve(mask: int) -> None:
            if mask & selectors.EVENT_WRITE:
                self._lines.send(line)
            if mask & selectors.EVENT_READ and line.is_open:
                self._heed(line, self._lines.receive(line))

        return serve

    def _heed(self, line: Line, data: bytes) -> None:
        if data and line.watches:
            self._heard += 1
            self.program.give(data)
        elif data and not line.last and (request := self._lines.request(line, data)) is not None:
            answer = self._done(line, request)
            if answer is not None:
                self._lines.answer(line, answer)

    def _done(self, line: Line, request: bytes) -> Asked | None:
        try:
            asked = json.loads(request)
            return DEEDS[asked["op"]](self, asked, line)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return {"error": "that is no request"}

    def _forget(self, line: Line) -> None:
        """A line that is about to be closed."""
        self._want(line.sock.fileno(), 0, self._served(line))
        if line in self._waiting:
            self._waiting.remove(line)

    # -- requests ------------------------------------------------------------------------------------------------------

    def _look(self, _asked: Asked, _line: Line) -> Asked:
        lines, firm = self._screen.look()
        seen = {"lines": lines, "firm": firm, "at": self._screen.spot, "heard": self._heard}
        return seen | {"pid": self.program.pid, "ended": self.program.code is not None}

    def _state(self, _asked: Asked, _line: Line) -> Asked:
        return {"pid": self.program.pid, "ended": self.program.code is not None}

    def _tail(self, asked: Asked, _line: Line) -> Asked:
        return {"lines": self._screen.tail(int(asked["count"]))}

    def _paste(self, asked: Asked, _line: Line) -> Asked:
        text = plain(str(asked["text"]))
        brackets = ("\x1b[200~", "\x1b[201~") if PASTE in self._screen.asked else ("", "")
        done = self._may_type(asked) and self.program.give(text.join(brackets).encode("utf-8", "replace"))
        self._left = text if done else self._left
        return {"done": done}

    def _press(self, asked: Asked, _line: Line) -> Asked:
        key = str(asked["key"])
        sent = KEYS.get(key) or plain(key)
        if key in ("up", "down") and CURSOR_KEYS in self._screen.asked:
            sent = sent.replace("[", "O")
        return {"done": self._may_type(asked) and self.program.give(sent.encode("utf-8", "replace"))}

    def _may_type(self, asked: Asked) -> bool:
        """Is everything as it was looked at? Whatever the program has written by now is taken in first."""
        if self.program.code is not None or (self._lock.mark if self._lock else "") != asked.get("mark", ""):
            return False
        if asked.get("at") is None:
            return True
        for _ in range(CATCH_UP):
            if not self._read():
                break
        same = list(self._screen.spot) == asked["at"] and self._heard == asked.get("heard", self._heard)
        return same and not self.program.unread

    def _last_paste(self, _asked: Asked, _line: Line) -> Asked:
        return {"text": self._left}

    def _forget_paste(self, _asked: Asked, _line: Line) -> Asked:
        self._left = ""
        return {"done": True}

    def _take_lock(self, asked: Asked, _line: Line) -> Asked:
        """The lock of a process that is gone is inherited; one that can not be looked at counts as alive."""
        wanted = Lock(str(asked["mark"]), int(asked["pid"]), str(asked["started"]))
        held = self._lock
        free = held is None or process.state(held.pid, held.started) == process.DEAD
        if free and wanted.mark and self.program.code is None:
            self._lock = wanted
        return {"done": self._lock is wanted}

    def _leave_lock(self, asked: Asked, _line: Line) -> Asked:
        if self._lock and self._lock.mark == asked["mark"]:
            self._lock = None
        return {"done": True}

    def _resize(self, asked: Asked, _line: Line) -> Asked:
        size = _size(asked["size"])
        if size != (self._screen.columns, self._screen.lines) and self.program.code is None:
            self._screen.fit(*size)
            self.program.resize(*size)
            self._show("")
        return {"done": True}

    def _attach(self, asked: Asked, line: Line) -> Asked | None:
        """From now on this line is a person's: raw, both ways."""
        if self.program.code is not None:
            return {"done": False}
        self._resize(asked, line)
        line.watches, line.ends = True, NEVER
        self._lines.answer(line, {"done": True})
        line.outbox += self._painted()
        self._lines.send(line)
        return None

    def _tell_end(self, asked: Asked, line: Line) -> Asked | None:
        if self.program.code is not None:
            return self._result()
        if not asked.get("wait"):
            return {"code": None}
        line.ends = NEVER
        self._waiting.append(line)
        return None

    def _end_and_tell(self, asked: Asked, line: Line) -> Asked | None:
        self._end(float(asked["grace_s"]))
        return self._tell_end({"wait": True}, line)


DEEDS: Mapping[str, Callable[[Holder, Asked, Line], Asked | None]] = {
    "look": Holder._look, "state": Holder._state, "tail": Holder._tail, "paste": Holder._paste, "press": Holder._press,
    "left": Holder._last_paste, "forget": Holder._forget_paste, "lock": Holder._take_lock, "unlock": Holder._leave_lock,
    "resize": Holder._resize, "attach": Holder._attach, "ended": Holder._tell_end, "end": Holder._end_and_tell,
}  # fmt: skip


def _opened(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600) if path else -1


def _size(told: Any) -> tuple[int, int]:
    columns, rows = (min(max(int(number), 2), most) for number, most in zip(told, MOST, strict=True))
    return columns, rows


def _empty(pipe: int) -> None:
    with suppress(BlockingIOError):
        while os.read(pipe, 512):
            pass
