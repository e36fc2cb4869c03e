"""Every test here runs once per implementation of the port: add a dialect to `tests.support.stores.DIALECTS`."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.stores import DIALECTS, Factory


@pytest.fixture(params=DIALECTS)
def store_factory(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Factory]:
    factory = Factory(request.param, tmp_path)
    yield factory
    factory.close()
