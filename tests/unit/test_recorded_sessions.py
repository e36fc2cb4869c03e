"""Evidence out of sessions that the real programs played: tests/data, written by tests/hosts/test_recorded.py."""

import pytest

from rookery.core.evidence import Found
from tests.support import recorded

KEPT = ("claude", "codex", "codex-code", "gemini")
HOSTS = ("claude", "codex", "gemini", "opencode", "copilot", "pi")
# A command that works, one that does not, two new files, tests that fail, an edit, tests that pass, a commit, words.
KINDS = ["command", "command", "edit", "edit", "test", "edit", "test", "command", "commit", "response", "code"]


def found_in(kind: str, name: str) -> list[Found]:
    return recorded.evidence(kind, name, recorded.lines(kind, name))


@pytest.mark.parametrize("name", KEPT)
def test_the_record_of_a_session_gives_what_was_done_in_it(name: str) -> None:
    found = found_in("transcripts", name)
    assert [each.kind for each in found] == ["prompt", *KINDS]
