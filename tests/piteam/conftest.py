"""One daemon for all tests of a worker, started as the contract says. It serves one team, so each test has its own
agents and tasks in it and looks at nothing else."""

from collections.abc import Callable, Generator
from itertools import count
from pathlib import Path

import pytest

from tests.support.doors import Door, Running, running

TEAM = "pi-team-dev"
_numbers = count(1)


@pytest.fixture(scope="package")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("piteam")


@pytest.fixture(scope="package")
def teamd(root: Path) -> Generator[Running]:
    with running(root, "--team", TEAM, "--workspace-root", str(root / "teams")) as started:
        yield started
        assert started.stop() == (0, ""), "the daemon complained"


@pytest.fixture
def wire(teamd: Running) -> Door:
    """Requests as they are written in the test: nothing is added but the token."""
    return teamd.door


@pytest.fixture
def agent() -> Callable[[str], str]:
    """A name that no other test has."""
    number = next(_numbers)
    return lambda name: f"{name}_{number}"
