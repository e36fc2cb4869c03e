"""What tmux makes of a program's output, to hold our own screen against: in one pane, which is reset before each.

`python -m tests.support.reference FIFO DONE` runs in it, writes what a named file holds, and asks the terminal whether
it is well: that is answered only once everything before it was taken in.
"""

import os
import sys
import tty
from pathlib import Path
from types import TracebackType

from rookery.runtime.tmux import shown
from tests.support.inside import environment
from tests.support.panes import Server, server

WELL = b"\x1b[0n"


class Reference:
    def __init__(self, folder: Path, width: int, height: int) -> None:
        self._size = width, height
        self._file, self._fifo, self._done = (str(folder / name) for name in ("text", "fifo", "done"))
        self._open = server()

    def __enter__(self) -> "Reference":
        self._server: Server = self._open.__enter__()
        for fifo in (self._fifo, self._done):
            os.mkfifo(fifo)
        said = [f"{name}={value}" for name, value in environment(LANG="C.UTF-8").items()]
        command = [*said, sys.executable, "-m", "tests.support.reference", self._fifo, self._done]
        self._pane = self._server.start(command, width=self._size[0], height=self._size[1])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.__exit__(kind, error, at)

    def shows(self, data: bytes) -> tuple[tuple[int, int], list[str], list[str]]:
        """Where the cursor is, the lines, and the same with what is faint left blank."""
        Path(self._file).write_bytes(data)
        Path(self._fifo).write_text(f"{self._file}\n")
        assert Path(self._done).read_text() == "done\n"
        ask = ("display-message", "-p", "-t", self._pane, "#{cursor_x} #{cursor_y}")
        at, _, captured = self._server.ask(*ask, ";", "capture-pane", "-p", "-e", "-t", self._pane).partition("\n")
        column, row = map(int, at.split())
        lines, firm = ([line.rstrip() for line in kind] for kind in shown(captured))
        missing = [""] * (self._size[1] - len(lines))
        return (min(column, self._size[0] - 1), row), lines + missing, firm + missing


def write(fifo: str, done: str) -> None:
    tty.setraw(0)
    while True:
        for file in Path(fifo).read_text().splitlines():
            os.write(1, b"\x1bc")
            with os.fdopen(os.dup(1), "wb") as terminal:
                terminal.write(Path(file).read_bytes() + b"\x1b[5n")
            heard = b""
            while not heard.endswith(WELL):
                heard += os.read(0, 512)
            Path(done).write_text("done\n")


if __name__ == "__main__":
    write(*sys.argv[1:])
