"""Evidence out of what programs tell: what waits for what, what is cut, and what no text can make of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import activity, diffs, evidence, extracting
from rookery.core.activity import Edit, Event
from rookery.core.evidence import Found
from rookery.core.extracting import Extractor

CALL = Event(activity.CALL, tool="Bash", id="c1", command="make all")
DONE = Event(activity.ANSWER, id="c1", text="made", code=0)


def taken(*events: Event, **more: Any) -> list[Found]:
    return Extractor("claude", **{"scope": "s1", **more}).take(events)


def test_a_command_waits_for_its_answer_whatever_is_told_between() -> None:
    extractor = Extractor("claude", "s1")
    assert extractor.take([CALL, Event(activity.TEXT, text="one moment", id="m1")])[0].kind == "response"
    assert extractor.is_waiting
    (found,) = extractor.take([DONE])
    assert (found.kind, found.ref, found.title, found.body) == ("command", "claude:s1:c1", "make all", "made")
    assert not extractor.is_waiting
    assert extractor.take([DONE]) == [], "an answer to nothing"


def test_two_calls_at_once_keep_their_own_answers() -> None:
    other = CALL._replace(id="c2", command="make none")
    found = taken(CALL, other, DONE._replace(id="c2", text="none", code=2, ok=False), DONE)
    assert [(each.title, each.body, each.failed) for each in found] == [
        ("make none", "none", True),
        ("make all", "made", False),
    ]


def test_a_command_that_no_answer_came_to_is_told_at_the_end_as_that() -> None:
    extractor = Extractor("claude", "s1")
    extractor.take([CALL])
    (found,) = extractor.rest()
    assert (found.title, found.body, found.failed, found.data["unfinished"]) == ("make all", "", False, True)
    assert extractor.rest() == []


def test_what_was_told_at_once_is_not_told_by_its_answer_again() -> None:
    """As Codex tells: the call, what was done, and then what its model was told of it."""
    done = Event(activity.DONE, id="c1", command="make all", text="all of it", code=0)
    assert [each.body for each in taken(CALL, done, DONE)] == ["all of it"]
    assert [each.ref for each in taken(CALL, DONE, done)] == ["claude:s1:c1"] * 2, "the same, whichever comes first"


def test_an_edit_that_failed_is_an_error_and_a_look_at_a_file_is_nothing() -> None:
    edit = Event(activity.CALL, tool="Edit", id="c1", target="/w/a.py", edits=(Edit("/w/a.py", "x", "y"),))
    (found,) = taken(edit, Event(activity.ANSWER, id="c1", ok=False, text="String not found"), root="/w")
    assert (found.kind, found.title, found.failed) == ("error", "Edit a.py: String not found", True)
    look = Event(activity.CALL, tool="Read", id="c2", target="/w/a.py")
    assert taken(look, Event(activity.ANSWER, id="c2", text="x")) == []


def test_what_the_program_shows_of_an_edit_counts_more_than_what_was_asked_for() -> None:
    edit = Event(activity.CALL, tool="Edit", id="c1", edits=(Edit("/w/a.py", "x", "y"), Edit("/w/b.py", "", "z")))
    shown = Edit("/w/a.py", patch="@@ -10,3 +10,3 @@\n a\n-x\n+y\n")
    found = taken(edit, Event(activity.ANSWER, id="c1", edits=(shown,)), root="/w/")
    assert [(each.ref, each.title, each.data["line"]) for each in found] == [
        ("claude:s1:c1", "a.py +1 -1", 11),
        ("claude:s1:c1:file2", "b.py +1 -0", 0),
    ]


def test_parts_of_a_message_are_one() -> None:
    """As Gemini prints: piece by piece, and no word that it was the last."""
    extractor = Extractor("gemini", "run-1")
    pieces = [Event(activity.TEXT, text=text, part=True) for text in ("All ", "is ", "well.")]
    assert extractor.take(pieces) == []
    assert extractor.is_waiting
    (found,) = extractor.take([Event(activity.RESULT)])
    assert (found.title, found.body) == ("All is well.", "All is well.")
    extractor.take(pieces[:2])
    assert [each.body for each in extractor.rest()] == ["All is "]


def test_only_what_git_says_of_commits_is_one() -> None:
    lines = [
        "[main 1a2b3c4] Parse the header", "[main (root-commit) 2b3c4d5e] First", "[detached HEAD 3c4d5e6] [x] y",
        "[main nothex77] no", "[1a2b3c4] no branch", " [main 1a2b3c4] indented", "[main 1a2b3] short", "[x] y",
    ]  # fmt: skip
    assert [(each.ref, each.data["branch"]) for each in extracting.commits("\n".join(lines))] == [
        ("git:1a2b3c4", "main"), ("git:2b3c4d5e", "main"), ("git:3c4d5e6", "detached HEAD"),
    ]  # fmt: skip
    said = DONE._replace(text=lines[0])
    assert [each.kind for each in taken(CALL._replace(command="git commit -m x"), said)] == ["command", "commit"]
    assert [each.kind for each in taken(CALL._replace(command="cat log"), said)] == ["command"], "the control"
    failed = said._replace(ok=False, code=1)
    assert [each.kind for each in taken(CALL._replace(command="git commit"), failed)] == ["command"]


def test_blocks_of_some_lines_are_code_and_shorter_or_open_ones_are_not() -> None:
    long = "```python\n" + "x = 1\n" * extracting.CODE_LINES + "```"
    short = "```\n" + "x = 1\n" * (extracting.CODE_LINES - 1) + "```"
    tilde = "~~~~ sh -x\n```\na\nb\nc\n~~~~"
    assert [name for name, _ in extracting.blocks(f"{short}\n{long}\n{tilde}")] == ["python", "sh"]
    assert extracting.blocks(long.removesuffix("```")) == []


@pytest.mark.parametrize(("patch", "line"), [
    ("@@ -1,3 +1,4 @@\n a\n b\n+c\n", 3), ("@@ -5 +7 @@\n-x\n+y\n", 7), ("-x\n+y\n", 0), ("@@\n-x\n+y\n", 0),
    ("@@ -1,1 +1,1 @@\n a\n@@ -9,2 +20,2 @@\n b\n-c\n", 21), ("@@ -a +b @@\n+x\n", 0), ("", 0),
])  # fmt: skip
def test_where_a_patch_begins(patch: str, line: int) -> None:
    assert diffs.first_line(patch.split("\n")) == line


def test_a_large_edit_is_not_compared_line_by_line() -> None:
    old, new = "a\n" * diffs.COMPARED, "b\na\n" * diffs.COMPARED
    shown = diffs.shown([Edit("a", old, new)])
    assert (shown.added, shown.removed) == (2 * diffs.COMPARED, diffs.COMPARED)


def made(fields: dict[str, Any]) -> Event:
    return Event(**fields)


KINDS = (activity.CALL, activity.ANSWER, activity.DONE, activity.TEXT, activity.PROMPT, activity.ERROR,
         activity.STARTED, activity.RESULT)  # fmt: skip
EDITS = st.tuples(st.text(max_size=9), st.text(max_size=20), st.text(max_size=20), st.text(max_size=30), st.booleans())
EVENTS = st.fixed_dictionaries({
    "kind": st.sampled_from(KINDS), "session": st.text(max_size=5), "text": st.text(max_size=80),
    "tool": st.text(max_size=5), "target": st.text(max_size=9), "ok": st.booleans(),
    "id": st.text(max_size=200) | st.sampled_from(["a", "b"]), "command": st.text(max_size=40),
    "edits": st.lists(EDITS.map(lambda parts: Edit(*parts)), max_size=3).map(tuple),
    "code": st.none() | st.integers(-300, 300), "part": st.booleans(),
}).map(made)  # fmt: skip


@pytest.mark.slow
@given(events=st.lists(EVENTS, max_size=12), scope=st.text(max_size=10), root=st.text(max_size=6))
def test_whatever_is_told_what_is_made_of_it_can_be_stored(events: list[Event], scope: str, root: str) -> None:
    extractor = Extractor("claude", scope, root)
    for found in [*extractor.take(events), *extractor.rest()]:
        fitted, _ = evidence.fitted(evidence.read(found._asdict()), 1_000)
        assert fitted.ref == found.ref
        assert fitted.ref.isprintable()


@pytest.mark.slow
@given(events=st.lists(EVENTS, max_size=12), at=st.integers(0, 12))
def test_it_does_not_matter_in_which_pieces_it_is_told(events: list[Event], at: int) -> None:
    whole, pieces = Extractor("claude", "s"), Extractor("claude", "s")
    assert pieces.take(events[:at]) + pieces.take(events[at:]) + pieces.rest() == whole.take(events) + whole.rest()


def test_calls_that_nobody_answers_do_not_pile_up() -> None:
    extractor = Extractor("claude", "s")
    found = extractor.take(CALL._replace(id=f"c{n}") for n in range(extracting.WAITING + 5))
    assert [each.ref for each in found] == [f"claude:s:c{n}" for n in range(5)]


def test_an_edit_that_no_answer_came_to_is_not_told() -> None:
    extractor = Extractor("claude", "s1")
    extractor.take([Event(activity.CALL, tool="Edit", id="c1", edits=(Edit("a.py", "x", "y"),))])
    assert extractor.rest() == []


def test_no_half_of_a_secret_is_left_where_a_line_is_cut() -> None:
    secret = "ghp_" + "Zq7" * 12
    for before in range(0, 2_100, 25):
        (found,) = taken(CALL._replace(command=f"{'x' * before} {secret} {'y' * 3_000}"), DONE)
        fitted, _ = evidence.fitted(found, 1_000)
        assert "Zq7Zq7" not in fitted.title + fitted.data, before
