"""Whether a file changed between two looks."""

import pytest

from rookery.core.file_marks import differs, mark


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (None, None, False), (None, "1", True), ("1", None, True), ("1", "1", False), ("1", "2", True),
        (mark("1", "a"), mark("1", "a"), False), (mark("1", "a"), mark("2", "a"), False),  # touched, not changed
        (mark("1", "a"), mark("1", "b"), True),  # changed, and made to look as before
        (mark("1", "a"), mark("1"), False), (mark("1"), mark("2", "a"), True),  # read in one look only
    ],
)  # fmt: skip
def test_the_content_decides_where_both_looks_read_it(before: str | None, after: str | None, changed: bool) -> None:
    assert differs(before, after) is changed
