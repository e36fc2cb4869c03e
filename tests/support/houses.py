"""Houses for tests: looked over when a test is through with them."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.described import Described
from tests.support.stage import Build, Stage


@pytest.fixture
def build(tmp_path: Path) -> Generator[Build]:
    """Makes houses. Whatever a test did in them, nothing in their ledgers may be there by half, and every answer is as
    the description of the API tells."""
    made: list[Stage] = []

    def make(**more: Any) -> Stage:
        made.append(Described(tmp_path / f"ledger{len(made)}.db", **more))
        return made[-1]

    yield make
    for stage in made:
        assert stage.faults() == []
        stage.close()
