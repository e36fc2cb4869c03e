"""One daemon for all tests of a worker; each test has a team of its own in it."""

from collections.abc import Generator
from itertools import count

import pytest

from tests.support.doors import Door, Running, running

_teams = count(1)


@pytest.fixture(scope="package")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running(tmp_path_factory.mktemp("daemon")) as started:
        yield started
        code, complaints = started.stop()
        assert (code, complaints) == (0, ""), "the daemon complained"


@pytest.fixture
def door(daemon: Running) -> Door:
    return daemon.door.of(f"team-{next(_teams)}")
