"""One daemon for all tests of a worker that need a real one; each has a team of its own in it."""

import subprocess
import sys
from collections.abc import Generator
from itertools import count
from pathlib import Path

import pytest

from tests.support.doors import Running, running
from tests.support.procs import PATIENCE_S

ROOK = str(Path(sys.executable).parent / "rook")
_teams = count(1)


class Served:
    """Commands as processes of their own, in the home of a daemon."""

    def __init__(self, daemon: Running, folder: Path, team: str) -> None:
        self.daemon = daemon
        self.folder = folder
        self.environ = {**daemon.environ, "ROOK_TEAM": team}
        self.home = Path(self.environ["ROOK_HOME"])

    def __call__(self, *argv: str, stdin: str = "", **environ: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [ROOK, *argv], env={**self.environ, **environ}, cwd=self.folder, capture_output=True, text=True,
            timeout=PATIENCE_S, input=stdin,
        )  # fmt: skip

    def commands(self) -> int:
        """How many commands the daemon has run."""
        lines = self.daemon.door.get("/metrics").body.splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("rook_commands_total ")))


@pytest.fixture(scope="package")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running(tmp_path_factory.mktemp("daemon")) as started:
        yield started
        assert started.stop() == (0, ""), "the daemon complained"


@pytest.fixture
def served(daemon: Running, tmp_path: Path) -> Served:
    return Served(daemon, tmp_path, f"team-{next(_teams)}")
