"""The test's side of `tests.support.mimic`: started in a pane, told what to do, asked what happened to it."""

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rookery.core.ports import Terminal
from rookery.core.screen import Patterns, Rules
from rookery.hosts.screens import CLAUDE
from rookery.keeper.typing import Outcome, put
from rookery.runtime import process
from rookery.runtime.clock import SystemPace
from tests.support.held import HeldServer
from tests.support.inside import environment
from tests.support.panes import Server, until

QUICK = Rules(poll_s=0.02, stable_s=0.2, quiet_s=0.3, cap_s=1.5, pause_s=0.02, verify_s=1.5)
SHELL = ("PS1=❯ ", "bash", "--norc", "-i")
PATIENT = QUICK._replace(cap_s=30.0)


class Mimicked:
    def __init__(
        self,
        server: Server | HeldServer,
        folder: Path,
        name: str = "mimic",
        before: Sequence[str] = (),
        typed: bool = False,
    ) -> None:
        """As the pane's own program, or `typed` by a person into a shell there."""
        self.server: Any = server  # tests of one kind alone use what that kind has
        self._log = folder / f"{name}.log"
        self._fifo = folder / f"{name}.fifo"
        os.mkfifo(self._fifo)
        self._orders = os.open(self._fifo, os.O_RDWR)
        said = [f"{name}={value}" for name, value in environment(LANG="C.UTF-8", CLAUDE_CONFIG_DIR=str(folder)).items()]
        command = [sys.executable, "-m", "tests.support.mimic", str(self._log), str(self._fifo)]
        self.pane = server.start([*said, *(SHELL if typed else [*before, *command])], name=name)
        if typed:
            server.types(self.pane, f"{shlex.join(command)}\n")
        until(lambda: self.heard("ready"), lambda: server.screen(self.pane))
        server.shows(self.pane, "? for shortcuts")

    def close(self) -> None:
        os.close(self._orders)

    @property
    def address(self) -> dict[str, str]:
        return self.server.address(self.pane)

    def opened(self, agent: process.Process | None = None) -> Terminal:
        return self.server.opened(self.address, agent)

    @property
    def process(self) -> process.Process:
        found = process.identify(int(self.heard("ready")[0]))
        assert found
        return found

    def order(self, word: str) -> None:
        """Done when this returns."""
        before = self.heard("did").count(word)
        os.write(self._orders, word.encode() + b"\n")
        until(lambda: self.heard("did").count(word) > before, f"the mimic does {word!r}")

    def heard(self, what: str) -> list[str]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [more for kind, more in map(json.loads, lines) if kind == what]

    @property
    def submitted(self) -> list[str]:
        return self.heard("submitted")

    @property
    def screen(self) -> str:
        return self.server.screen(self.pane)

    def types(self, text: str) -> None:
        self.server.types(self.pane, text)
        self.server.shows(self.pane, text)

    def put(
        self, text: str, rules: Rules = QUICK, patterns: Patterns = CLAUDE, pane: Terminal | None = None, **how: bool
    ) -> Outcome:
        async def compose() -> str:
            return text

        return asyncio.run(put(pane or self.opened(), compose, patterns, rules, SystemPace(), **how))  # pyright: ignore[reportArgumentType]
