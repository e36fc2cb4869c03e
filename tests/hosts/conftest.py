"""Every test here runs real programs; where that cannot be, it says why."""

import pytest

from tests.hosts.stage import lacking


@pytest.fixture(autouse=True, scope="session")
def programs_can_run() -> None:
    if reason := lacking():
        pytest.skip(reason)
