"""A terminal made of plain values: commands run in process through `run(Call)`, as a resident process would."""

import json
from pathlib import Path
from typing import Any

import pytest

from rookery.front.cli.call import Call, Reply
from rookery.front.cli.router import run


class Terminal:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ: dict[str, str] = {"HOME": str(folder), "ROOK_HOME": str(folder / "home"), "ROOK_TEAM": "crew"}
        self.stdin = ""
        self.emitted: list[str] = []

    def __call__(self, *argv: str, terminal: bool = False, width: int = 100) -> Reply:
        return run(
            Call(
                list(argv),
                str(self.folder),
                self.environ,
                lambda: self.stdin,
                self.emitted.append,
                width,
                terminal,
                peer=0,
            )
        )

    def json(self, *argv: str) -> Any:
        reply = self(*argv, "--json")
        assert reply.code == 0, reply.err
        return json.loads(reply.out)

    def ok(self, *argv: str, **look: Any) -> str:
        reply = self(*argv, **look)
        assert reply.code == 0, reply.err
        return reply.out


@pytest.fixture
def rook(tmp_path: Path) -> Terminal:
    terminal = Terminal(tmp_path)
    for name in ("architect", "implementer"):
        terminal.ok("join", name)
    return terminal
