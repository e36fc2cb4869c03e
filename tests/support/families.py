"""Families of tests whose members each cost something: a few are in the default run, all of them in `make test-all`."""

import os
from collections.abc import Iterable
from typing import Any

import pytest


def few(members: Iterable[Any], *kept: Any) -> list[Any]:
    """The members as parameters of a test; those that are not kept are `slow`."""
    everyone = list(members)
    assert all(each in everyone for each in kept), "what is kept is none of the family"
    return [each if each in kept else pytest.param(each, marks=pytest.mark.slow) for each in everyone]


def most(members: Iterable[Any], *spared: Any) -> list[Any]:
    """The members as parameters of a test with real programs. Those spared run in `make test-hosts`, ROOK_ALL_HOSTS=1:
    they take a core for half a minute each, and show nothing of our code that another test does not."""
    everyone = list(members)
    assert all(each in everyone for each in spared), "what is spared is none of the family"
    return everyone if os.environ.get("ROOK_ALL_HOSTS") else [each for each in everyone if each not in spared]
