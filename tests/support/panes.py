"""Real tmux servers for tests: each on a socket of its own, in a folder of its own, ended by its own id.

`Server.start` runs a program in a new pane; what a person does there is `keys`. Nothing here goes through the code
under test, so that a test sees what really is in the pane.
"""

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from rookery.runtime import process, tmux

PATIENCE_S = 120.0
LOOK_EVERY_S, LOOK_AT_MOST_S = 0.02, 0.2  # a look may start a process, and four tests wait at once
T = TypeVar("T")


def until(
    condition: Callable[[], T], what: Any = "", patience_s: float = PATIENCE_S, *, at_most_s: float = LOOK_AT_MOST_S
) -> T:
    """The first true answer; a condition that stays false fails the test, which tells `what` was waited for."""
    ends, pause_s = time.monotonic() + patience_s, LOOK_EVERY_S
    while not (answer := condition()):
        if time.monotonic() > ends:
            raise AssertionError(f"waited in vain: {what() if callable(what) else what}")
        threading.Event().wait(pause_s)
        pause_s = min(pause_s * 1.1, at_most_s)
    return answer


class Server:
    kind = "tmux"

    def __init__(self, socket: str) -> None:
        self.socket = socket

    def ask(self, *words: str) -> str:
        """What tmux answers; a failure is one of the test."""
        kept = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *words], env=kept, capture_output=True, timeout=30)
        assert done.returncode == 0, f"tmux {words}: {done.stderr.decode()}"
        return done.stdout.decode().removesuffix("\n")

    def start(self, command: Sequence[str], *, width: int = 90, height: int = 24, name: str = "") -> str:
        """A new pane, by the id that tmux gave it. The environment is that of the test without its variables."""
        named = ["-s", name] if name else []
        size = ["-x", str(width), "-y", str(height)]
        first = ["-f", "/dev/null", "new-session", "-d", "-P", "-F", "#{pane_id}"]
        try:
            return self.ask(*first, *size, *named, "env", *command)
        except AssertionError as error:
            if "server exited" not in str(error):  # its last pane closed at this moment, and the next server is new
                raise
            return self.ask(*first, *size, *named, "env", *command)

    @property
    def pid(self) -> int:
        return int(self.ask("display-message", "-p", "#{pid}"))

    def address(self, pane: str) -> dict[str, str]:
        found = tmux.address(self.socket, self.pid, pane)
        assert found
        return found

    def screen(self, pane: str) -> str:
        return self.ask("capture-pane", "-p", "-t", pane)

    def keys(self, pane: str, *keys: str) -> None:
        self.ask("send-keys", "-t", pane, *keys)

    def types(self, pane: str, text: str) -> None:
        self.ask("send-keys", "-t", pane, "-l", text)

    def pastes(self, pane: str, text: str) -> None:
        """As tmux does by itself, stripping nothing."""
        self.ask("set-buffer", "-b", "x", "--", text)
        self.ask("paste-buffer", "-p", "-r", "-b", "x", "-t", pane)

    def resize(self, pane: str, width: int, height: int) -> None:
        self.ask("resize-window", "-t", pane, "-x", str(width), "-y", str(height))

    def kill(self, pane: str) -> None:
        self.ask("kill-pane", "-t", pane)

    def opened(self, address: Mapping[str, str], agent: process.Process | None = None) -> tmux.Pane:
        return tmux.Pane(address, agent)

    def shows(self, pane: str, text: str) -> None:
        until(lambda: text in self.screen(pane), lambda: f"{text!r} on\n{self.screen(pane)}")


@contextmanager
def server() -> Generator[Server]:
    """In a folder with a short name: a socket's path may have a hundred bytes."""
    folder = tempfile.mkdtemp(prefix="rook-tmux-")
    started = Server(os.path.join(folder, "s"))
    try:
        yield started
    finally:
        if os.path.exists(started.socket):
            subprocess.run(["tmux", "-S", started.socket, "kill-server"], capture_output=True, timeout=30)
        shutil.rmtree(folder)
