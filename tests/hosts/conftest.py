"""A test that runs real programs is marked `hosts`; where they cannot run, it says why, and fails or is skipped."""

import os

import pytest

from tests.hosts.stage import DEADLINE_S, JAIL_MARGIN_S, lacking

RUNS_OF_A_TEST = 2
NO_SKIPS = os.environ.get("ROOK_NO_SKIPS") == "1"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The programs' own deadlines come first: they say what hung, and leave no process behind."""
    for item in items:
        if item.get_closest_marker("hosts") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(RUNS_OF_A_TEST * (DEADLINE_S + JAIL_MARGIN_S) + 30))


@pytest.fixture(autouse=True)
def programs_can_run(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("hosts") and (reason := lacking()):
        if NO_SKIPS:
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
