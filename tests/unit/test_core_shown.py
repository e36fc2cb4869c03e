"""A recorded change set beside what git finds."""

from collections.abc import Mapping
from typing import Any

import pytest

from rookery.core import shown
from rookery.core.shown import Record

A: dict[str, Any] = {"path": "a", "added": 3, "removed": 1, "status": "M"}
B: dict[str, Any] = {"path": "b", "added": 0, "removed": 0, "status": "R", "from": "c"}
TRUE = Record("1", "2", (A, B), 2, 3, 1)
FALSE: Mapping[str, Mapping[str, Any]] = {
    "a file less": {"files": (A,), "paths": 1},
    "a file more": {"files": (A, B, {**A, "path": "d"}), "paths": 3, "added": 6, "removed": 2},
    "another file": {"files": ({**A, "path": "d"}, B)},
    "other lines": {"files": ({**A, "added": 2}, B), "added": 2},
    "another total": {"added": 0},
    "another status": {"files": ({**A, "status": "A"}, B)},
    "another source of a rename": {"files": (A, {**B, "from": "d"})},
    "files that are not listed": {"files": (A,)},
    "the same file twice": {"files": (A, A), "added": 6, "removed": 2},
    "a number in words": {"files": ({**A, "added": "3"}, B)},
    "a file without a status": {"files": ({"path": "a", "added": 3, "removed": 1}, B)},
    "no files at all": {"files": (1, 2)},
    "a total in words": {"added": "3"},
}


@pytest.mark.parametrize("why", FALSE)
def test_a_false_record_is_found(why: str) -> None:
    assert shown.difference(TRUE._replace(**FALSE[why]), (A, B))


def test_a_true_record_differs_in_nothing() -> None:
    assert shown.difference(TRUE, (A, B)) == ""


def test_lines_of_a_binary_file_are_not_compared() -> None:
    binary = {**A, "added": 0, "removed": 0, "binary": True}
    assert shown.difference(TRUE._replace(files=(binary, B), added=0, removed=0), (A, B)) == ""


@pytest.mark.parametrize("found", [shown.LISTED + 1, shown.LISTED + 2])
def test_files_beyond_those_that_are_listed_are_counted(found: int) -> None:
    files = [{**A, "path": str(n)} for n in range(found)]
    many = Record("1", "2", files[: shown.LISTED], shown.LISTED + 1, 0, 0)
    assert bool(shown.difference(many, files)) == (found != many.paths)
