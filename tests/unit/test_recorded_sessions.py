"""Evidence out of sessions that the real programs played: tests/data, written by tests/hosts/test_recorded.py."""

import json
from collections import Counter

import pytest

from rookery.core.evidence import Found
from tests.support import recorded

KEPT = ("claude", "codex", "codex-code", "gemini", "copilot", "pi")
STREAMED = ("claude", "codex", "codex-code", "gemini", "opencode", "copilot", "pi")
BOTH = [*(("transcripts", name) for name in KEPT), *(("streams", name) for name in STREAMED)]
# A command that works, one that does not, two new files, tests that fail, an edit, tests that pass, a commit, words.
KINDS = {"command": 3, "edit": 3, "test": 2, "commit": 1, "response": 1, "code": 1}
TESTS = "pytest -q -p no:cacheprovider --rootdir . calc_test.py"
SILENT = {("streams", "claude"), ("streams", "codex"), ("streams", "codex-code"), ("streams", "opencode")}
UNTOLD = {("streams", "gemini")}  # with which code a command ended, and that it failed, is not in this one
NO_DIFF = {("streams", "codex"), ("streams", "codex-code")}  # nor what became of a file in these


def found_in(kind: str, name: str) -> list[Found]:
    return recorded.evidence(kind, name, recorded.lines(kind, name))


def only(found: list[Found], kind: str) -> list[Found]:
    return [each for each in found if each.kind == kind]


@pytest.mark.parametrize(("kind", "name"), BOTH)
def test_a_session_gives_exactly_what_was_done_in_it(kind: str, name: str) -> None:
    found = found_in(kind, name)
    prompts = {} if (kind, name) in SILENT else {"prompt": 1}
    assert Counter(each.kind for each in found) == KINDS | prompts
    assert len({each.ref for each in found}) == len(found), "each has a ref of its own"
    assert [each.title for each in only(found, "response")] == ["Adding is right now."]
    (code,) = only(found, "code")
    assert (code.title, code.data) == ("python: def add(one, other):", {"language": "python", "lines": 4})
    assert code.body.startswith("def add(one, other):\n    both = one + other\n")


@pytest.mark.parametrize(("kind", "name"), BOTH)
def test_commands_are_told_with_how_they_ended_and_what_they_said(kind: str, name: str) -> None:
    good, bad, commit = only(found_in(kind, name), "command")
    assert (good.title, good.body.strip(), good.failed) == ("printf 'one\\ntwo\\n'", "one\ntwo", False)
    assert (bad.title, bad.body.strip()) == ("cat nowhere.txt", "cat: nowhere.txt: No such file or directory")
    assert (bad.failed, bad.data.get("exit")) == ((False, None) if (kind, name) in UNTOLD else (True, 1))
    assert good.data.get("exit", 0) == commit.data.get("exit", 0) == 0
    assert commit.title.startswith("git add calc.py calc_test.py && git ")


@pytest.mark.parametrize(("kind", "name"), BOTH)
def test_test_runs_are_told_with_their_counts(kind: str, name: str) -> None:
    broken, whole = only(found_in(kind, name), "test")
    assert (broken.title, whole.title) == (TESTS, TESTS)
    assert (broken.failed, broken.data["passed"], broken.data["failed"]) == (True, 0, 1)
    assert (whole.failed, whole.data["passed"], whole.data["failed"]) == (False, 1, 0)


@pytest.mark.parametrize(("kind", "name"), BOTH)
def test_edits_are_told_with_their_lines_where_the_program_tells_them(kind: str, name: str) -> None:
    made, tests, edit = only(found_in(kind, name), "edit")
    assert [each.data["path"] for each in (made, tests, edit)] == ["calc.py", "calc_test.py", "calc.py"]
    if (kind, name) in NO_DIFF:
        assert [(each.title, each.body) for each in (made, edit)] == [("calc.py", "")] * 2
        return
    assert (made.title, tests.title, edit.title) == ("calc.py +2 -0", "calc_test.py +5 -0", "calc.py +1 -1")
    assert made.data["line"] == 1
    assert edit.data["line"] == (0 if (kind, name) in UNTOLD else 2)
    assert "-    return one - other\n+    return one + other\n" in edit.body


@pytest.mark.parametrize(("kind", "name"), BOTH)
def test_a_commit_is_known_by_what_git_called_it(kind: str, name: str) -> None:
    (commit,) = only(found_in(kind, name), "commit")
    assert commit.ref == f"git:{commit.data['sha']}"
    assert commit.title == f"{commit.data['sha']} Adding adds"


@pytest.mark.parametrize(("kind", "name"), BOTH)
def test_a_session_that_is_read_again_or_in_parts_gives_the_same_refs(kind: str, name: str) -> None:
    lines = recorded.lines(kind, name)
    whole = found_in(kind, name)
    assert found_in(kind, name) == whole
    doubled = recorded.evidence(kind, name, [*lines, *lines])
    assert {each.ref for each in doubled} == {each.ref for each in whole}
    # Cut anywhere, a torn line among them: nothing that the whole does not have but what no answer came to.
    for part in range(1, 12):
        torn = "\n".join(lines)[: len("\n".join(lines)) * part // 12].splitlines()
        begun = recorded.evidence(kind, name, torn)
        assert {each.ref for each in begun if "unfinished" not in each.data} <= {each.ref for each in whole}


def test_the_programs_own_words_are_nobodys_prompt() -> None:
    """Claude Code writes what it sends to its model beside the session, Gemini and Codex tell theirs where they are."""
    for name in ("claude", "codex", "codex-code", "gemini"):
        lines = recorded.lines("transcripts", name)
        assert sum('"role": "user"' in line or '"type": "user"' in line for line in lines) > 1, "the control"
        (prompt,) = only(found_in("transcripts", name), "prompt")
        assert prompt.body.endswith("-- and mind the second line; $(touch made)")


def test_nothing_of_the_machine_that_played_them_is_in_them() -> None:
    for kind, name in BOTH:
        for line in recorded.lines(kind, name):
            json.loads(line)
            assert "/var/tmp/" not in line
            assert "rook-recorded-" not in line
