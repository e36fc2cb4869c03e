"""Plans: what people write is read as they meant it, what is wrong is told at once, and no task vanishes silently."""

import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import graph, plans
from rookery.core.errors import BadInput
from rookery.core.plans import PlanTask, Problem, from_data, from_markdown, goal_in, goal_of, refusal, validate
from tests.support.families import few


def read(text: str) -> list[PlanTask]:
    """The tasks of a checklist that has no problem of form."""
    tasks, problems = from_markdown(textwrap.dedent(text))
    assert problems == []
    return tasks


def one(text: str) -> PlanTask:
    (task,) = read(text)
    return task


def wrong(text: str, known: tuple[str, ...] = ()) -> list[Problem]:
    tasks, problems = from_markdown(textwrap.dedent(text))
    return problems + validate(tasks, known)


def by_key(text: str) -> dict[str, PlanTask]:
    return {task.key: task for task in read(text)}


# --- the checklist ----------------------------------------------------------------------------------------------------


def test_a_whole_plan() -> None:
    text = """\
        # Goal: replace the tokenizer

        We do this because it is slow.

        - [x] Lexer (id: lexer; files: src/lexer/)
        - [ ] Parser {#parser} after: lexer
              priority: high
              Handles expressions.

              Then statements.
        - [ ] Documentation
            after: parser
            - [x] Tutorial
            - [ ] Reference
              review: yes
        """
    tasks = read(text)
    assert tasks == [
        PlanTask("lexer", "Lexer", resources=("src/lexer/",), done=True, line=5),
        PlanTask("parser", "Parser", "Handles expressions.\n\nThen statements.", ("lexer",), priority="high", line=6),
        PlanTask("3", "Documentation", deps=("parser", "3.1", "3.2"), milestone=True, line=11),
        PlanTask("3.1", "Tutorial", deps=("parser",), done=True, line=13),
        PlanTask("3.2", "Reference", deps=("parser",), review=True, line=14),
    ]
    assert validate(tasks) == []
    assert goal_of(textwrap.dedent(text)) == "replace the tokenizer"


@pytest.mark.parametrize("marker", ["-", "*", "+", "1.", "7)"])
def test_every_marker_of_a_list(marker: str) -> None:
    assert one(f"{marker} [ ] Title") == PlanTask("1", "Title", line=1)
    assert one(f"{marker} [x] Title").done
    assert one(f"{marker} [X] Title").done


@pytest.mark.parametrize(
    "line",
    [
        "Title (id: key) (after: a, b) (files: src/a/, src/b.py) (kind: builder) (priority: high) (review: no)",
        "Title (id: key; after: a, b; files: src/a/, src/b.py; kind: builder; priority: high; review: no)",
        "Title {#key} after: a, b files: src/a/, src/b.py kind: builder priority: high review: no",
        "Title {#key} -- depends on: a, b; resources: `src/a/`, `src/b.py`; kind:builder; priority:HIGH; review: No",
        "**Title** {#key} | deps: a, b | files: src/a/, src/b.py | kind: builder | priority: high | review: false",
    ],
)
def test_notes_on_the_item(line: str) -> None:
    assert one("- [ ] " + line) == PlanTask(
        "key", "Title", "", ("a", "b"), ("src/a/", "src/b.py"), "builder", "high", review=False, line=1
    )


def test_notes_on_lines_of_their_own() -> None:
    task = one(
        """\
        - [ ] Title
          id: key
          - **After:** `a`, "b"
          Files: src/a/
          files: src/b.py, src/a/
          kind: builder
          owner: nobody in particular
          priority: high; review: yes
        """
    )
    assert task == PlanTask(
        "key",
        "Title",
        "owner: nobody in particular",
        ("a", "b"),
        ("src/a/", "src/b.py"),
        "builder",
        "high",
        review=True,
        line=1,
    )


@pytest.mark.parametrize(
    "title",
    [
        "Code review: the parser",
        "Look it up by id: 5",
        "Move files: all of them",
        "Say what kind: of thing",
        "Rename f(after) to g(before: x)",
        "Glob src/**/*.py",
        "**Bold** and **bold**",
    ],
)
def test_titles_that_look_like_notes_remain_titles(title: str) -> None:
    assert one(f"- [ ] {title}") == PlanTask("1", title, line=1)
    assert one(f"- [ ] {title} after: x") == PlanTask("1", title, deps=("x",), line=1)


@pytest.mark.parametrize("value", ["none", "-", "", "Nothing"])
def test_after_nothing(value: str) -> None:
    assert one(f"- [ ] Title\n  after: {value}").deps == ()


def test_indentation_nests_by_two_columns_or_a_tab() -> None:
    text = "- [ ] a\n - [ ] b\n\t- [ ] c\n\t\t- [ ] d\n      - [ ] e\n  - [ ] f\n- [ ] g\n"
    assert {task.title: task.key for task in read(text)} == {
        "a": "1",
        "b": "2",  # one column is a slip of the hand
        "c": "2.1",
        "d": "2.1.1",
        "e": "2.1.2",
        "f": "3",
        "g": "4",
    }


def test_a_parent_is_done_when_it_is_checked_and_all_its_children_are() -> None:
    tasks = by_key("- [x] a\n  - [x] b\n    - [ ] c\n- [x] d\n  - [x] e\n- [ ] f\n  - [x] g\n")
    assert [key for key, task in tasks.items() if task.done] == ["2", "2.1", "3.1"]


def test_children_wait_for_what_their_parents_come_after() -> None:
    tasks = by_key(
        """\
        - [ ] One {#one}
        - [ ] Two {#two}
        - [ ] Phase {#phase} after: one
          - [ ] Inner {#inner} after: two
            - [ ] Leaf {#leaf}
            - [ ] Last {#last} after: leaf
        """
    )
    assert tasks["leaf"].deps == ("two", "one")
    assert tasks["last"].deps == ("leaf", "two", "one")
    assert tasks["inner"].deps == ("two", "leaf", "last")
    assert tasks["phase"].deps == ("one", "inner")


def test_a_parent_that_names_its_own_child_gives_it_no_dependency_on_itself() -> None:
    tasks = by_key("- [ ] Parent after: 1.2.1\n  - [ ] A\n  - [ ] B\n    - [ ] C\n")
    assert tasks["1.2.1"].deps == ()
    assert validate(list(tasks.values())) == []


def test_dependencies_by_position_and_title() -> None:
    tasks = by_key(
        """\
        - [ ] Write the *lexer*
        - [ ] Parse, then lower
        - [ ] Both {#both}
          after: write the lexer, 2
        - [ ] Comma
          after: Parse, then lower
        - [ ] Quoted
          after: "Parse, then lower", #both
        """
    )
    assert tasks["both"].deps == ("1", "2")
    assert tasks["4"].deps == ("2",)
    assert tasks["5"].deps == ("2", "both")


def test_a_position_names_a_task_that_has_an_id() -> None:
    assert by_key("- [ ] a {#first}\n- [ ] b after: 1\n")["2"].deps == ("first",)


def test_a_title_that_two_tasks_have_is_ambiguous() -> None:
    (problem,) = wrong("- [ ] Test\n- [ ] Test\n- [ ] Ship after: test\n")
    assert problem.where == "line 3"
    assert "2 tasks: 1 (line 1), 2 (line 2)" in problem.what
    assert "(id: name)" in problem.do


def test_a_number_that_the_page_shows_twice_is_ambiguous() -> None:
    text = "## First\n1. [ ] a\n2. [ ] b\n## Second\n1. [ ] c\n2. [ ] d\n   after: 1\n"
    (problem,) = wrong(text)
    assert (problem.where, "1 (line 2), 3 (line 5)" in problem.what) == ("line 6", True)


def test_a_list_numbered_with_ones_is_numbered_as_the_page_shows_it() -> None:
    tasks = by_key("1. [ ] a\n1. [ ] b\n1. [ ] c\n   after: 1, 2\n")
    assert tasks["3"].deps == ("1", "2")


def test_a_list_that_starts_at_three_is_named_as_the_page_shows_it() -> None:
    assert by_key("3. [ ] a\n4. [ ] b\n   after: 3\n")["2"].deps == ("1",)


def test_text_outside_the_list_code_and_comments_are_no_tasks() -> None:
    text = """\
        Before. [ ] no
        - a plain bullet
        - [x](https://example.org) a link
        ```
        - [ ] in a fence
        ```
        <!-- - [ ] in a comment -->
        <!--
        - [ ] in a longer one
        -->
        - [ ] Real
          ~~~~
          - [ ] in a fence of the item
          ~~~
          after: nothing of this
          ~~~~
          - a bullet
        Not indented: outside.
            after: 1
        """
    assert one(text) == PlanTask(
        "1",
        "Real",
        "~~~~\n- [ ] in a fence of the item\n~~~\nafter: nothing of this\n~~~~\n- a bullet",
        line=11,
    )


def test_code_in_a_description_keeps_its_shape() -> None:
    task = one("- [ ] Make\n\n  ```\n  all:\n  \tcc x.c\n  ```\n")
    assert task.description == "```\nall:\n\tcc x.c\n```"


def test_a_fence_of_an_item_ends_with_the_item() -> None:
    assert [task.title for task in read("- [ ] a\n  ```\n  code\n- [ ] b\n")] == ["a", "b"]


@pytest.mark.parametrize("line", ["- [] Title", "-[ ] Title", "* [  ] Title", "1. [-] Title", "- [\u00a0] Title"])
def test_what_looks_like_a_task_and_is_none_is_reported(line: str) -> None:
    (problem,) = wrong(f"- [ ] Fine\n{line}\n")
    assert problem.where == "line 2"
    assert "- [ ] Title" in problem.do


@pytest.mark.parametrize("start", ["```", "~~~ python", "<!-- note"])
def test_a_block_that_never_ends_is_reported(start: str) -> None:
    (problem,) = wrong(f"- [ ] a\n\n{start}\n- [ ] b\n")
    assert (problem.where, "nothing after it" in problem.what) == ("line 3", True)


def test_a_review_that_is_neither_yes_nor_no_is_reported() -> None:
    (problem,) = wrong("- [ ] a\n  review: perhaps\n")
    assert "neither yes nor no" in problem.what


def test_line_ends_and_byte_order_marks_do_not_matter() -> None:
    assert read("\ufeff- [ ] a\r\n  text\r\n- [ ] b\r") == read("- [ ] a\n  text\n- [ ] b\n")


BLOCKS = ["- [ ] ", "  - [x] ", "1. [ ] ", "\t", "    ", "```", "<!--", "-->", "# Goal", "\n", "\n", "\n"]
WORDS = ["after: ", "files: ", "review: ", "(id: ", ")", "{#", "}", "a", "b, ", "1.2", " ", '"', "`", "**", ";", "|"]
LINES = st.sampled_from([*BLOCKS, *WORDS, "\x1b[2J", "\u2028"])


@given(st.lists(LINES, max_size=60).map("".join))
def test_reading_never_fails_and_always_answers_the_same(text: str) -> None:
    tasks, problems = from_markdown(text)
    assert (tasks, problems) == from_markdown(text)
    assert all(task.line for task in tasks)
    found = problems + validate(tasks)
    if not found:
        assert len(graph.order({task.key: task.deps for task in tasks})) == len(tasks)
    assert "\n" not in goal_of(text)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    tasks, problems = from_markdown(text)
    assert refusal(problems + validate(tasks)).code == "BAD_PLAN"
    goal_of(text)


@st.composite
def outlines(draw: st.DrawFn) -> list[tuple[int, str]]:
    """Depths that rise by one at most, each with a title that is not taken."""
    depths: list[int] = []
    for _ in range(draw(st.integers(1, 12))):
        depths.append(draw(st.integers(0, depths[-1] + 1 if depths else 0)))
    return [(depth, f"Title {number}") for number, depth in enumerate(depths)]


@given(outlines(), st.sampled_from(["-", "*", "1."]))
def test_an_outline_comes_back_as_its_tree(outline: list[tuple[int, str]], marker: str) -> None:
    tasks = read("".join(f"{'   ' * depth}{marker} [ ] {title}\n" for depth, title in outline))
    assert [(task.key.count("."), task.title) for task in tasks] == outline
    keys = {task.key for task in tasks}
    for task in tasks:
        children = {key for key in keys if key.rpartition(".")[0] == task.key}
        assert set(task.deps) == children
        assert task.milestone == bool(children)
    assert validate(tasks) == []


# --- the goal ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("# Ship it\n- [ ] a", "Ship it"),
        ("# Plan\n## Goal: ship it ##\n", "ship it"),
        ("# Plan\n## Goal\n\nShip it,\nall of it.\n\nMore.", "Ship it, all of it."),
        ("# Goal\n- [ ] a\n", ""),
        ("```\n# no\n```\n## Second\n# First #\n", "First"),
        ("#no heading\n", ""),
        ("# C#\n", "C#"),
        ("", ""),
    ],
)
def test_the_goal(text: str, goal: str) -> None:
    assert goal_of(text) == goal


def test_the_goal_of_data() -> None:
    assert goal_in({"goal": " ship it ", "tasks": []}) == "ship it"
    assert goal_in([]) == goal_in({"goal": 5}) == goal_in(None) == ""


# --- data -------------------------------------------------------------------------------------------------------------


def test_tasks_as_data() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "title": "A", "deps": ["b"], "depends_on": "c, b", "after": [1], "files": ["x/"], "resources": "y"},
        {"title": " B ", "description": "one\r\ntwo", "kind": "builder", "priority": 3, "milestone": True},
        {"id": 7, "title": "C", "review": "yes", "priority": "HIGH", "done": True, "deps": None},
    ]
    expected = [
        PlanTask("a", "A", deps=("b", "c", "1"), resources=("x/", "y")),
        PlanTask("2", "B", "one\ntwo", kind="builder", priority="high", milestone=True),
        PlanTask("7", "C", priority="high", review=True, done=True),
    ]
    assert from_data(rows) == (expected, [])
    assert from_data({"goal": "g", "tasks": rows}) == (expected, [])


@pytest.mark.parametrize("data", [None, 5, "x", {}, {"tasks": {"a": 1}}, {"goal": "x"}])
def test_data_that_is_no_list(data: object) -> None:
    tasks, (problem,) = from_data(data)
    assert tasks == []
    assert "not a list" in problem.what


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (5, "It is a number, not an object."),
        (None, "It is nothing, not an object."),
        ({"title": ["x"]}, "`title` is a list, not a text."),
        ({"title": True}, "`title` is true or false, not a text."),
        ({"title": "x", "deps": {"a": 1}}, "`deps` is an object, not a list of ids."),
        ({"title": "x", "after": [["a"]]}, "`after` is a list, not a list of ids."),
        ({"title": "x", "files": 2.5}, "`files` is a number, not a list of paths."),
        ({"title": "x", "review": "perhaps"}, "`review` is a text, not true or false."),
        ({"title": "x", "milestone": 1}, "`milestone` is a number, not true or false."),
        ({"title": "x", "dependson": ["a"]}, "There is no field 'dependson'."),
        ({"title": "x", 5: 6}, "There is no field '5'."),
    ],
)
def test_wrong_types_are_told_one_by_one(row: object, what: str) -> None:
    tasks, problems = from_data([row, {"id": "other", "title": "Fine"}])
    assert [problem.what for problem in problems] == [what]
    assert problems[0].where == "task 1"
    assert tasks[-1] == PlanTask("other", "Fine")
    assert validate(tasks) == []  # nothing is told twice


def test_a_misspelt_field_is_guessed() -> None:
    _, (problem,) = from_data([{"title": "x", "dependson": ["a"]}])
    assert problem.do.startswith("Did you mean depends_on or deps?")


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["tasks", "id", "title", "deps", "files", "review", "x"]), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(json_like)
def test_any_data_is_read(data: object) -> None:
    tasks, problems = from_data(data)
    refusal(problems + validate(tasks))


# --- judging ----------------------------------------------------------------------------------------------------------


def task(key: str, /, *deps: str, **changes: Any) -> PlanTask:
    return PlanTask(key, f"Task {key}", deps=deps)._replace(**changes)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    text = """\
        - [ ] First {#one} after: two
        - [ ] Second {#two} after: one
        - [ ]
        - [ ] Again {#one}
        - [ ] Itself {#itself} after: itself
        - [ ] Typo after: itslef
        - [ ] Urgent priority: tomorrow
        - [ ] Outside
          files: ../secret
        - [ ] Bell \x07
        - [ ] Strange
          kind: a b
        """
    problems = wrong(text)
    assert [problem.where for problem in problems] == [f"line {n}" for n in (1, 3, 4, 5, 6, 7, 8, 10, 11)]
    said = [f"{problem.what} {problem.do}" for problem in problems]
    for words, line in zip(
        (
            "circular: one -> two -> one",
            "no title",
            "taken at line 1",
            "depends on itself",
            "Did you mean itself?",
            "No priority 'tomorrow'",
            "'../secret'",
            "U+0007",
            "contains a space",
        ),
        said,
        strict=True,
    ):
        assert words in line
    assert all(problem.do for problem in problems)


def test_an_empty_plan_says_how_to_write_a_task() -> None:
    (problem,) = wrong("# Nothing\n\n- only a bullet\n")
    assert "no tasks" in problem.what
    assert "`- [ ] Title`" in problem.do


def test_tasks_outside_the_plan_may_be_named() -> None:
    assert wrong("- [ ] a after: task-0007\n", known=("task-0007",)) == []
    (problem,) = wrong("- [ ] a after: task-0008\n", known=("task-0007",))
    assert "Did you mean task-0007?" in problem.do


def test_a_misspelt_title_finds_its_task() -> None:
    problem = wrong("- [ ] Write the parser\n- [ ] Ship after: Wirte the parser\n")[0]
    assert "Did you mean 1 (Write the parser)?" in problem.do


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"title": "x" * 301}, "301 characters; 300"),
        ({"title": "two\nlines"}, "title contains a line break"),
        ({"title": "\u202egnikcah"}, "U+202E"),
        ({"title": "half \ud800"}, "U+D800"),
        ({"description": "a\0b"}, "description contains the control character U+0000"),
        ({"description": "\x1b[2J"}, "U+001B"),
        ({"key": ""}, "id ''"),
        ({"key": "a b"}, "id 'a b'"),
        ({"key": "k" * 101}, "can not be used"),
        ({"resources": ("src/{a,b}.py",)}, "Braces are not expanded"),
        ({"resources": ("/etc/",)}, "absolute"),
        ({"priority": ""}, "No priority"),
        ({"kind": "../x"}, "slash"),
    ],
)
def test_single_problems(changes: dict[str, Any], words: str) -> None:
    found = validate([task("a", **changes)])
    assert any(words in problem.what for problem in found)
    assert all(problem.do for problem in found)


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "x" * 300},
        {"title": "Überarbeitung\u00a0der Größe 👩‍🔧"},
        {"description": "lines\n\tand tabs"},
        {"resources": ("src/**/x.py", "app/[slug]/")},
        {"priority": "urgent"},
        {"kind": "builder"},
    ],
)
def test_what_is_fine(changes: dict[str, Any]) -> None:
    assert validate([task("a", **changes)]) == []


def test_cycles_that_share_no_task_are_all_told() -> None:
    tasks = [task("a", "b"), task("b", "a"), task("c", "d"), task("d", "c"), task("e", "a", "c")]
    assert [problem.what for problem in validate(tasks)] == [
        "The dependencies are circular: a -> b -> a.",
        "The dependencies are circular: c -> d -> c.",
    ]


def test_limits_are_told_alone_and_at_once() -> None:
    (problem,) = validate([task("a", "nowhere")] * (plans.TASK_LIMIT + 1))
    assert "5,001 tasks; 5,000" in problem.what
    many = tuple(f"d{number}" for number in range(plans.DEP_LIMIT + 1))
    (problem,) = validate([task("a", *many)])
    assert "50,001 dependencies" in problem.what


@pytest.mark.slow
def test_five_thousand_tasks_full_of_problems_are_judged_in_time() -> None:
    text = "".join(f"- [ ] Task number {number} after: nowhere-{number}\n" for number in range(plans.TASK_LIMIT))
    problems = wrong(text)
    assert len(problems) == plans.TASK_LIMIT
    error = refusal(problems)
    assert error.message.count("\n") == 21
    assert error.message.endswith("... and 4980 more.")


@pytest.mark.parametrize(
    "piece", few([" ", "(", "{#", "after: ", "review: x ", "`", '"', "{", "**", "a,"], " ", "(", "{#", "a,")
)
def test_a_hostile_line_costs_no_more_than_its_length(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    from_markdown(f"- [ ] a{text}b\n  after: a{text}b\n# Goal{text}b")
    goal_of(f"#{text}b")


def test_the_refusal() -> None:
    error = refusal([Problem("line 3", "It is wrong.", "Make it right.")])
    assert isinstance(error, BadInput)
    assert error.code == "BAD_PLAN"
    assert error.message == "The plan has 1 problem:\n  line 3: It is wrong. Make it right."
    assert "Nothing was imported" in error.hint
    assert error.facts == {
        "count": 1,
        "problems": [{"where": "line 3", "what": "It is wrong.", "do": "Make it right."}],
    }
