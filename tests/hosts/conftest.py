"""A test here that runs real programs is marked `hosts`; where they cannot run, it says why."""

import pytest

from tests.hosts.stage import lacking


@pytest.fixture(autouse=True)
def programs_can_run(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("hosts") and (reason := lacking()):
        pytest.skip(reason)
