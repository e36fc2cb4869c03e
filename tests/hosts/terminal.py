"""A real program at a terminal: a pane of a private tmux inside the jail, looked at and typed into by the test.

    with Terminal(wren, [program.bash("rook inbox"), say("done")]) as pane:
        pane.until(lambda: "❯" in pane.screen())
        pane.line("Do it.")
        pane.until(lambda: pane.answered == 2)

The network is the jail's own; sockets in the file system are not, so that tmux, the bell and the ledger are reached
from outside. The test tells the jail when it is over, and the jail ends whatever is left.
"""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from tests.hosts.model.script import Asked, Move
from tests.hosts.stage import JAIL_MARGIN_S, Stage, lines

LIFE_S = 240.0  # of the program, whatever the test does
PATIENCE_S = 60.0
LOOK_S = 0.1
SIZE = ("-x", "160", "-y", "50")
# The last command waits for the test to say that it is over.
INSIDE = 'tmux -S "$0" -f /dev/null new-session -d {size} "$@" && exec tmux -S "$0" wait-for over'


class Terminal:
    def __init__(
        self, stage: Stage, command: Sequence[str], moves: Sequence[Move], environ: Mapping[str, str]
    ) -> None:
        self._stage = stage
        self._folder = TemporaryDirectory(prefix="rook-")  # a socket's path is short
        self._socket = str(Path(self._folder.name) / "tmux")
        self.seen = ""
        script = INSIDE.format(size=" ".join(SIZE))
        stage.prepare(["sh", "-c", script, self._socket, *command], moves, environ, LIFE_S)

    def __enter__(self) -> Self:
        self._jail = self._stage.jail()
        self.until(lambda: self._tmux("list-panes").returncode == 0)
        return self

    def __exit__(self, *exc: object) -> None:
        self._tmux("wait-for", "-S", "over")
        try:
            self._jail.wait(JAIL_MARGIN_S)
        except subprocess.TimeoutExpired:
            self._jail.terminate()
            self._jail.wait()
        self._folder.cleanup()

    # --- what a person does ---

    def line(self, text: str) -> None:
        """A line, as if typed: what the program makes of its parts must have been seen before it is sent."""
        self.type(text)
        self.until(lambda: text in self.screen())
        self.press("Enter")

    def type(self, text: str) -> None:
        self._done("send-keys", "-l", "--", text)

    def press(self, key: str) -> None:
        self._done("send-keys", key)

    def screen(self) -> str:
        done = self._tmux("capture-pane", "-p")
        self.seen = done.stdout if done.returncode == 0 else self.seen
        return self.seen

    # --- what a test looks at ---

    @property
    def requests(self) -> list[dict[str, Any]]:
        with suppress(ValueError):  # a line that is being written
            return [each for each in lines(self._stage.folder / "requests.jsonl") if each.get("asked", {}).get("tools")]
        return []

    @property
    def heard(self) -> list[str]:
        """Everything the model was told, request by request."""
        asked = [Asked(**each["asked"]) for each in self.requests]
        return ["\n".join(each.results + each.texts) for each in asked]

    @property
    def unmet(self) -> list[str]:
        answers = [each["answer"] for each in self.requests]
        return [answer["unmet"] or "more than the script has" for answer in answers if answer["unmet"] or answer["over"]]

    def until(self, holds: Callable[[], Any], limit_s: float = PATIENCE_S) -> Any:
        end = time.monotonic() + limit_s
        while not (found := holds()):
            over = self._over()
            if over or time.monotonic() > end:
                said = "The jail is over" if over else "It did not come to that"
                raise AssertionError(f"{said}. All of it is in {self._stage.folder}.\n{self.screen()}")
        return found

    def _over(self) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._jail.wait(LOOK_S)
            return True
        return False

    def _done(self, *command: str) -> None:
        done = self._tmux(*command)
        assert done.returncode == 0, done.stderr

    def _tmux(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["tmux", "-S", self._socket, *command], capture_output=True, text=True, timeout=PATIENCE_S)
