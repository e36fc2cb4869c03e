"""Families of tests whose members each cost something: a few are in the default run, all of them in `make test-all`."""

from collections.abc import Iterable
from typing import Any

import pytest


def few(members: Iterable[Any], *kept: Any) -> list[Any]:
    """The members as parameters of a test; those that are not kept are `slow`."""
    everyone = list(members)
    assert all(each in everyone for each in kept), "what is kept is none of the family"
    return [each if each in kept else pytest.param(each, marks=pytest.mark.slow) for each in everyone]
