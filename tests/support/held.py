"""Held terminals for tests, as `tests.support.panes` has those of tmux: programs started, and what a person does there.

The person is attached as anyone would be, and types raw bytes; what stands on the screen is asked of the holder itself.
"""

import os
import shutil
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rookery.core.errors import RookError
from rookery.runtime import process, ptys
from rookery.runtime.ptys import Held
from tests.support.panes import until

KEYS = {"Enter": b"\r", "Escape": b"\x1b", "C-u": b"\x15", "C-c": b"\x03"}


class HeldServer:
    kind = "pty"

    def __init__(self, home: str) -> None:
        self.home = home
        self._windows: dict[str, ptys.Window] = {}
        self._people: dict[str, Any] = {}

    def start(self, command: Sequence[str], *, width: int = 90, height: int = 24, name: str = "") -> str:
        """A program in a terminal of its own, under a name. Its environment is what `env` is told, and a way to it."""
        pane = f"{name or 'held'}-{len(self._windows)}"
        self._windows[pane] = ptys.start(
            self.home, ["env", *command], cwd=self.home, environ={"PATH": os.environ["PATH"]}, size=(width, height)
        )
        self._attend(pane, (width, height))
        return pane

    def adopt(self, address: dict[str, str], first: Sequence[Any], size: tuple[int, int]) -> str:
        """One that was started elsewhere, in a folder that is ours."""
        self._windows["adopted"] = ptys.Window(address, process.Process(*first))
        self._attend("adopted", size)
        return "adopted"

    def _attend(self, pane: str, size: tuple[int, int]) -> None:
        person = self._people[pane] = ptys.connected(self.address(pane), 10.0)
        assert ptys.asked(person, {"op": "attach", "size": size}) == {"done": True}

    def address(self, pane: str) -> dict[str, str]:
        return self._windows[pane].address

    def holder(self, pane: str) -> process.Process:
        pid, started = self.address(pane)["holder"].split(" ")
        return process.Process(int(pid), started)

    def opened(self, address: Mapping[str, str], agent: process.Process | None = None) -> Held:
        return Held(address, agent)

    def ask(self, pane: str, **request: Any) -> dict[str, Any]:
        with ptys.connected(self.address(pane), 30.0) as line:
            return ptys.asked(line, request)

    def screen(self, pane: str) -> str:
        try:
            return "\n".join(self.ask(pane, op="look")["lines"])
        except OSError as error:
            return f"({error})"

    def keys(self, pane: str, *keys: str) -> None:
        self._people[pane].sendall(b"".join(KEYS[key] for key in keys))

    def types(self, pane: str, text: str) -> None:
        self._people[pane].sendall(text.encode())

    def pastes(self, pane: str, text: str) -> None:
        """As a terminal does that strips nothing."""
        self.types(pane, f"\x1b[200~{text}\x1b[201~")

    def shows(self, pane: str, text: str) -> None:
        until(lambda: text in self.screen(pane), lambda: f"{text!r} on\n{self.screen(pane)}")

    def resize(self, pane: str, width: int, height: int) -> None:
        self.ask(pane, op="resize", size=(width, height))

    def kill(self, pane: str) -> None:
        """The terminal and what is in it, at once."""
        ptys.end(self.home, self.address(pane), 0.0)

    def close(self) -> None:
        for pane, person in self._people.items():
            person.close()
            try:
                self.kill(pane)
            except RookError:
                continue


@contextmanager
def held() -> Generator[HeldServer]:
    """In a home with a short name; nothing of it is left."""
    home = tempfile.mkdtemp(prefix="rook-pty-")
    started = HeldServer(home)
    try:
        yield started
        started.close()
        until(lambda: not os.path.exists(ptys.folder(home)) or not os.listdir(ptys.folder(home)), "no socket is left")
    finally:
        started.close()
        shutil.rmtree(home)
