"""The law of reports, alone: boards, questions and answers, what a result lacks."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import errors, protocol
from rookery.core.protocol import Around, Outcome, missing, result
from rookery.core.text import one_line

WORDS = "the header parser now rejects lines without a colon and three tests cover it"
EVERYTHING = st.text(max_size=300)


@given(steps=st.lists(EVERYTHING | st.dictionaries(st.sampled_from(["text", "state", "x"]), EVERYTHING), max_size=14))
def test_a_board_is_shown_or_refused(steps: list[Any]) -> None:
    try:
        shown = protocol.board(steps)
    except errors.BadInput:
        return
    assert len(shown) == len(steps) <= protocol.STEPS
    assert all(each["state"] in tuple(protocol.Stage) for each in shown)
    assert all(each["text"] and one_line(each["text"], protocol.STEP_LIMIT) == each["text"] for each in shown)
    assert protocol.board(shown) == shown, "a board said again is the same board"


@pytest.mark.parametrize(
    ("line", "state", "text"),
    [
        ("doing: the parser", "doing", "the parser"), ("DONE: x", "done", "x"), ("[x] read it", "done", "read it"),
        ("[ ] tests", "todo", "tests"), ("tests", "todo", "tests"), ("note: a colon", "todo", "note: a colon"),
    ],
)  # fmt: skip
def test_a_step_as_a_line(line: str, state: str, text: str) -> None:
    assert protocol.board([line]) == [{"text": text, "state": state}]


@given(
    outcome=EVERYTHING | st.sampled_from(list(Outcome)), summary=EVERYTHING | st.just(WORDS),
    evidence=st.lists(EVERYTHING), tests=st.lists(EVERYTHING),
    writes=st.booleans(), changed=st.booleans(), unchanged=EVERYTHING,
)  # fmt: skip
def test_what_counts_as_a_result_has_everything(
    outcome: str, summary: str, evidence: list[str], tests: list[str], writes: bool, changed: bool, unchanged: str
) -> None:
    try:
        said = result(outcome, summary, evidence, [], tests, unchanged)
    except errors.BadInput:
        return
    lacks = missing(said, Around(writes, changed))
    assert set(missing(said)) <= set(lacks), "what is said at first is still so at the end"
    if lacks:
        return
    assert said.outcome in tuple(Outcome)
    assert len(said.summary.split()) >= 1
    assert said.outcome == Outcome.NO_EVIDENCE or changed or not said.evidence.is_empty
    assert not (said.outcome == Outcome.COMPLETED and writes and not changed and not said.unchanged)


@given(said=st.text(alphabet="done fixed it all works ok.,!\n", max_size=200))
def test_no_number_of_words_for_done_is_a_summary(said: str) -> None:
    words = {word for word in said.replace(".", " ").replace(",", " ").replace("!", " ").split()}
    known = {"done", "fixed", "it", "all", "works", "ok"}
    if words <= known:
        assert missing(result("completed", said, [], [], ["pytest: 1 passed"], ""))


def test_a_summary_in_a_script_without_spaces() -> None:
    assert not missing(
        result("findings", "解析器现在拒绝没有冒号的行，三个测试通过。", [], [], ["pytest: 3 passed"], "")
    )


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("artifact-0001", "artifacts"), ("abc1234", "commits"), ("1234567890abcdef1234567890abcdef12345678", "commits"),
        ("pytest -q: 12 passed", "tests"), ("make lint: ok", "tests"), ("src/a.py", "files"), ("src/a.py:12", "files"),
        ("src/a.py: the parser", "files"), ("feedbad", "files"), ("artifact-x", "files"),
    ],
)  # fmt: skip
def test_evidence_by_what_it_names(word: str, kind: str) -> None:
    said = result("completed", WORDS, [word], [], [], "")
    assert getattr(said.evidence, kind) == (word,)


@given(
    kind=st.sampled_from([protocol.ASK, protocol.PLAN]), options=st.lists(EVERYTHING, max_size=3), said=EVERYTHING,
    option=st.none() | st.integers(-1, 5), approve=st.booleans(), reject=st.booleans(),
)  # fmt: skip
def test_an_answer_fits_its_question(
    kind: str, options: list[str], said: str, option: int | None, approve: bool, reject: bool
) -> None:
    try:
        given = protocol.answer(kind, options, said, option, approve, reject)
    except errors.BadInput:
        return
    assert (given.approved is None) == (kind == protocol.ASK)
    assert given.choice is None or 1 <= given.choice <= len(options)
    assert given.words or given.choice or given.approved


@pytest.mark.parametrize(
    "args",
    [
        {"said": " "}, {"said": "x", "risk": "huge"}, {"said": "x", "options": ["a"] * 10},
        {"said": "x", "options": ["a", "a"]}, {"said": "x", "options": ["a", " "]},
        {"said": "x", "options": ["a"], "plan": True}, {"said": "x" * 10_001},
    ],
)  # fmt: skip
def test_a_question_that_is_none(args: dict[str, Any]) -> None:
    with pytest.raises(errors.BadInput):
        protocol.question(args["said"], risk=args.get("risk", ""), options=args.get("options", []), advice="",
                          plan=args.get("plan", False))  # fmt: skip
