"""A real program as a person has it: in a terminal of tmux, inside the jail, with the scripted model.

    with Tui(stage, moves) as tui:
        tui.shows("? for shortcuts")
        tui.types("half a line")

The server of tmux runs inside the jail and ends with it. Its socket is a file, so that the test, outside, looks and
types through it. A model is held by `hold()` among the moves until `tui.release()`.
"""

import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.hosts.model.script import Asked, Move, meanwhile
from tests.hosts.programs.port import Place, merge_json, save_json
from tests.hosts.stage import ROOT, Run, Stage, lines
from tests.support.held import HeldServer
from tests.support.panes import Server, until

WIDTH, HEIGHT = 110, 36
OVER = "over"
START = """\
socket=$1; shift
tmux -u -S "$socket" -f /dev/null new-session -d -x {width} -y {height} "$@" || exit 9
exec tmux -S "$socket" wait-for {over}
"""


class Tui:
    def __init__(
        self,
        stage: Stage,
        moves: list[Move],
        words: list[str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.stage = stage
        self._environ = stage.program.environment() | dict(environ or {})
        self._moves = [self._held(stage) if move == HOLD else move for move in moves]
        self._words = words or COMMANDS[stage.program.name.partition("-")[0]]
        self._folder = Path(tempfile.mkdtemp(prefix="rook-tui-"))
        self.server = Server(str(self._folder / "s"))
        self.pane = "%0"
        self._ran: list[Run] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Tui":
        self._thread.start()
        try:
            until(lambda: self._is_there() or not self._thread.is_alive(), "the server of tmux")
            assert self._is_there(), f"tmux did not start: {self._ran}"
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._is_there():
            if error is not None:
                error.add_note(self.screen())
            self.server.ask("wait-for", "-S", OVER)
        self._thread.join()
        shutil.rmtree(self._folder)

    def _is_there(self) -> bool:
        if not os.path.exists(self.server.socket) or not self._thread.is_alive():
            return False
        try:
            return self.server.ask("display-message", "-p", "-t", self.pane, "#{pane_id}") == self.pane
        except AssertionError:
            return False

    def _run(self) -> None:
        script = START.format(width=WIDTH, height=HEIGHT, over=OVER)
        command = ["sh", "-c", script, "sh", self.server.socket, "env", *self._words]
        self._ran.append(self.stage.start(command, self._moves, self._environ))

    # -- what a person sees and does -----------------------------------------------------------------------------------

    def screen(self) -> str:
        return self.server.screen(self.pane)

    def shows(self, text: str) -> None:
        self.server.shows(self.pane, text)

    def types(self, text: str) -> None:
        self.server.types(self.pane, text)

    def asks(self, text: str, is_held: Callable[[], bool]) -> None:
        """Type and submit. Enter right after quick typing may be taken for a part of a paste: it is pressed again."""
        self.types(text)
        self.shows(text)
        self._enters(lambda: not is_held(), f"the program takes {text!r}")

    def answers(self, question: str) -> None:
        """Take the marked answer of a dialog. One that just opened may not listen yet: Enter is pressed again."""
        self._enters(lambda: question not in self.screen(), f"the program takes an answer to {question!r}")

    def _enters(self, is_taken: Callable[[], bool], what: str) -> None:
        def pressed() -> bool:
            self.keys("Enter")
            with suppress(AssertionError):
                return until(is_taken, patience_s=2.0)
            return False

        until(pressed, what)

    def keys(self, *keys: str) -> None:
        self.server.keys(self.pane, *keys)

    # -- the model -----------------------------------------------------------------------------------------------------

    @property
    def asked(self) -> list[Asked]:
        """The requests of the conversation, so far. Beside it Codex asks for a title, with one tool at hand."""
        requests = lines(self.stage.folder / "requests.jsonl")
        views = [Asked(**request["asked"]) for request in requests if "asked" in request]
        return [view for view in views if len(view.tools) > 1]

    def heard(self, text: str) -> int:
        """How many of the things that the model was told, in its newest request, hold this."""
        asked = self.asked
        return sum(text in said for said in asked[-1].texts) if asked else 0

    @property
    def unmet(self) -> list[str]:
        """Where the program did not follow the script."""
        answers = [each["answer"] for each in lines(self.stage.folder / "requests.jsonl") if "answer" in each]
        return [each["unmet"] or "more than the script has" for each in answers if each["unmet"] or each["over"]]

    def _held(self, stage: Stage) -> Move:
        fifo = stage.folder / "held"
        if not fifo.exists():
            os.mkfifo(fifo)
        return meanwhile(["sh", "-c", 'read word < "$1"', "sh", str(fifo)], {"PATH": os.defpath}, str(stage.folder))

    def release(self) -> None:
        with (self.stage.folder / "held").open("w") as fifo:  # waits for the model to be held
            fifo.write("go\n")


class HeldTui(Tui):
    """The same in a terminal that a holder keeps, inside the jail too."""

    def __init__(self, stage: Stage, moves: list[Move]) -> None:
        super().__init__(stage, moves)
        self.held = HeldServer(str(self._folder))
        self._address = self._folder / "address"

    def __enter__(self) -> "HeldTui":
        self._thread.start()
        until(self._address.exists, "the holder")
        address, first = json.loads(self._address.read_text())
        self.pane = self.held.adopt(address, first, (WIDTH, HEIGHT))
        self.server = self.held  # pyright: ignore[reportAttributeAccessIssue]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is not None:
            error.add_note(self.screen())
        self.held.close()
        self._thread.join()
        shutil.rmtree(self._folder)

    def _run(self) -> None:
        command = [sys.executable, "-m", "tests.hosts.holding", str(self._folder), str(WIDTH), str(HEIGHT)]
        environ = self.stage.program.environment() | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
        self._ran.append(self.stage.start([*command, *self._words], self._moves, environ))


HOLD: Move = {"hold": True}

# -- how each is started as a person would ---------------------------------------------------------------------------

COMMANDS = {
    "claude": ["claude", "--permission-mode", "default"],
    "codex": ["codex", "--ask-for-approval", "on-request", "--sandbox", "workspace-write"],
    "gemini": ["gemini", "--model", "gemini-2.5-flash"],
    "opencode": ["opencode"],
    "copilot": ["copilot", "--no-auto-update"],
    "pi": ["pi", "--approve", "--provider", "rig", "--model", "scripted"],
}
# The same without any question to a person.
FREE = {
    **COMMANDS,
    "claude": ["claude", "--dangerously-skip-permissions"],
    "codex": ["codex", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"],
}
IDLE = {
    "claude": "? for shortcuts",
    "codex": "? for shortcuts",
    "gemini": "Type your message",
    "opencode": "Ask anything",
    "copilot": "? help",
    "pi": "0.0%/128k",
}


def settled(stage: Stage, *, trusted: bool = True) -> Stage:
    """As after the first start: its questions about theme, key and new models are answered; with or without trust."""
    name, place = stage.program.name, stage.place
    if name == "claude":
        claude(place, trusted)
    if name.startswith("codex"):
        codex(place, trusted)
    if name == "opencode":
        merge_json(place.project / "opencode.json", {"permission": {"bash": "ask"}})
    return stage


def claude(place: Place, trusted: bool) -> None:
    known: dict[str, Any] = {"hasCompletedOnboarding": True, "theme": "dark"}
    known["customApiKeyResponses"] = {"approved": ["dummy"], "rejected": []}
    if trusted:
        known["projects"] = {str(place.project): {"hasTrustDialogAccepted": True}}
        save_json(place.home / ".claude" / "settings.json", ALLOWED)
    save_json(place.home / ".claude.json", known)


ALLOWED = {"enableAllProjectMcpServers": True, "skipDangerousModePermissionPrompt": True}
ASKED_BEFORE = """
[tui]
screen_reader_detection_done = true

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
"""


def codex(place: Place, trusted: bool) -> None:
    config = place.home / ".codex" / "config.toml"
    text = config.read_text()
    text = text if trusted else text.partition("[projects")[0]
    config.write_text(text + ASKED_BEFORE)
