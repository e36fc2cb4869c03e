"""A terminal made of plain values. Every test runs twice: by `run(Call)` here, and through the fast door."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rookery.front.cli.call import Call, Reply
from rookery.front.cli.router import run
from tests.support import fastdoor
from tests.support.stores import prepared_home


class Terminal:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ: dict[str, str] = {"HOME": str(folder), "ROOK_HOME": str(folder / "home"), "ROOK_TEAM": "crew"}
        self.stdin = ""
        self.emitted: list[str] = []

    def __call__(self, *argv: str, terminal: bool = False, width: int = 100) -> Reply:
        return fastdoor.whole(
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


class DoorTerminal(Terminal):
    """The same through the door, where there is one and the command may go through it."""

    def __call__(self, *argv: str, terminal: bool = False, width: int = 100) -> Reply:
        def stdin() -> bytes:
            return self.stdin.encode("utf-8", "surrogateescape")

        reply = fastdoor.ask(self.environ, self.folder, *argv, stdin=stdin, width=width, terminal=terminal)
        return super().__call__(*argv, terminal=terminal, width=width) if reply is None else reply


def nobody(call: Call) -> Reply:
    """The tests are all one process; who they are is said by name."""
    return run(call._replace(peer=0))


# The door with every test of all runs; by default `tests/door/test_same_answers.py` compares both ways.
@pytest.fixture(params=["own process", pytest.param("fast door", marks=pytest.mark.slow)])
def bare(tmp_path: Path, request: pytest.FixtureRequest) -> Generator[Terminal]:
    """Before anyone has joined."""
    prepared_home(tmp_path / "home")
    if request.param == "own process":
        yield Terminal(tmp_path)
        return
    terminal = DoorTerminal(tmp_path)
    with fastdoor.hosted(terminal.environ, tmp_path, nobody) as host:
        yield terminal
        assert host.count.commands, "nothing went through the door"


@pytest.fixture
def rook(bare: Terminal) -> Terminal:
    for name in ("architect", "implementer"):
        bare.ok("join", name)
    return bare
