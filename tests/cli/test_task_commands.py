"""Tasks and plans on the command line."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Terminal

ADA, BOB = ("--as", "architect"), ("--as", "implementer")


def add(rook: Terminal, title: str = "Parse the header", *more: str) -> str:
    return rook.json("task", "add", title, *more)["id"]


def status(rook: Terminal, id: str) -> str:
    return rook.json("task", "show", id)["status"]


def refusal(rook: Terminal, *argv: str) -> dict[str, Any]:
    reply = rook(*argv, "--json")
    assert reply.code in (1, 2)
    assert "Traceback" not in reply.err
    return json.loads(reply.out)["error"]


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_a_task_from_add_to_done(rook: Terminal) -> None:
    id = add(rook, "Parse the header", "-m", "All of it", "-p", "high", "--file", "src/io/", "--file", "docs/*.md")
    taken = rook.json(*ADA, "task", "claim", id)
    assert (taken["taskId"], taken["lease"]["holder"], taken["lease"]["epoch"]) == (id, "architect", 1)
    assert rook.json(*ADA, "task", "renew", id, "--ttl-ms", "60000")["ttlMs"] == 60_000
    rook.ok(*ADA, "task", "progress", id, "-m", "half of it")
    done = rook.json(*ADA, "task", "done", id, "-m", "All green", "--commit", "abc", "--test", "9 passed", "--pr", "#1")
    assert done["status"] == "completed"
    assert done["result"]["evidence"] == {"commits": ["abc"], "tests": ["9 passed"], "prs": ["#1"], "notes": []}
    shown = rook.ok("task", "show", id)
    for word in ("Parse the header", "completed", "All green", "half of it", "src/io/", "All of it"):
        assert word in shown


def test_the_next_task(rook: Terminal) -> None:
    add(rook, "Later")
    first = add(rook, "First", "-p", "urgent")
    assert rook.json(*ADA, "task", "claim", "--next")["taskId"] == first
    rook.ok(*BOB, "task", "claim", "--next")
    assert "Nothing is ready" in rook.ok(*BOB, "task", "claim", "--next")
    assert rook.json(*BOB, "task", "claim", "--next")["taskId"] is None


def test_text_from_standard_input(rook: Terminal) -> None:
    rook.stdin = "line one\nline two\n"
    assert rook.json("task", "add", "Parse", "-m", "-")["description"] == "line one\nline two\n"


@pytest.mark.slow
def test_every_verb_speaks_to_people(rook: Terminal) -> None:
    a, b, c = add(rook, "A"), add(rook, "B", "--review"), add(rook, "C")
    steps: list[list[str]] = [
        [*ADA, "task", "claim", a], [*ADA, "task", "renew", a], [*ADA, "task", "progress", a, "-m", "half"],
        [*ADA, "task", "release", a, "-m", "later"], ["task", "assign", a, "implementer"],
        [*BOB, "task", "claim", a], [*BOB, "task", "block", a, "-m", "no key"], ["task", "unblock", a],
        [*BOB, "task", "claim", a], [*BOB, "task", "fail", a, "-m", "broken"], ["task", "reset", a, "--cascade"],
        [*ADA, "task", "claim", b], [*ADA, "task", "done", b, "-m", "done"],
        [*BOB, "task", "review", b, "NEEDS_WORK", "-m", "names"],
        ["task", "list"], ["task", "list", "--status", "pending"],
        ["task", "revise", b, "--title", "B2", "--dep", c], ["task", "split", c, "C1", "C2", "--chain"],
        ["task", "cancel", a, "-m", "no"], ["task", "delete", a], ["task", "show", c], ["task", "claims"],
        ["plan", "new", "Ship it"], ["plan", "list"], ["plan", "show", "plan-0001"], ["plan", "graph", "plan-0001"],
        ["plan", "cancel", "plan-0001"], ["feed"],
    ]  # fmt: skip
    for argv in steps:
        said = rook.ok(*argv)
        assert said.strip() or argv[0:2] == ["plan", "graph"], argv
        assert "\x1b" not in said
    assert "\x1b[" in rook.ok("task", "list", terminal=True)


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (["task", "claim"], "BAD_INPUT", "--next"),
        (["task", "claim", "task-0099"], "UNKNOWN_TASK", "task-0099"),
        ([*BOB, "task", "claim", "task-0001"], "TASK_NOT_CLAIMABLE", "architect"),
        ([*BOB, "task", "done", "task-0001"], "LEASE_HOLDER_MISMATCH", ""),
        ([*ADA, "task", "done", "task-0001", "--epoch", "7"], "EPOCH_MISMATCH", "7"),
        ([*ADA, "task", "renew", "task-0001", "--ttl-ms", "0"], "BAD_TTL", ""),
        ([*ADA, "task", "renew", "task-0001", "--ttl-ms", "soon"], "USAGE", "soon"),
        (["task", "add", ""], "BAD_INPUT", "title"),
        (["task", "add", "x", "--dep", "task-0099"], "UNKNOWN_DEP", "task-0099"),
        (["task", "add", "x", "--file", "../up"], None, ".."),
        (["task", "add", "x", "-p", "asap"], "USAGE", "asap"),
        (["task", "revise", "task-0001", "--dep", "task-0001"], "CIRCULAR_DEPS", "task-0001 -> task-0001"),
        ([*BOB, "task", "reset", "task-0001"], "NOT_OWNER", "leader"),
        (["task", "review", "task-0001", "LGTM"], "USAGE", "LGTM"),
        (["task", "review", "task-0001", "SHIP"], "NO_REVIEW_DUE", ""),
        (["task", "block", "task-0002"], "USAGE", "-m"),
        (["task", "split", "task-0002"], "USAGE", "TITLE"),
        (["task", "done", "--spec", "docs/spec.md"], "USAGE", "ID"),
        (["task", "claim", "--spec", "docs/spec.md"], "BAD_INPUT", "item"),
        (["task", "frobnicate"], "USAGE", "claim"),
        (["plan", "show", "plan-0009"], "UNKNOWN_PLAN", "plan-0009"),
        (["plan", "graph", "plan-0009", "--format", "png"], "USAGE", "png"),
    ],
)
def test_refusals(rook: Terminal, argv: list[str], code: str | None, told: str) -> None:
    add(rook)
    add(rook)
    rook.ok(*ADA, "task", "claim", "task-0001")
    before = rook.json("events")["newest"]
    error = refusal(rook, *argv)
    assert code in (None, error["code"])
    assert told in f"{error['message']} {error.get('hint', '')}"
    assert rook.json("events")["newest"] == before


def test_a_claim_in_a_document(rook: Terminal) -> None:
    spec = ("--spec", "docs/spec.md")
    assert rook.json(*ADA, "task", "claim", *spec, "TASK-03")["holder"] == "architect"
    assert refusal(rook, *BOB, "task", "claim", "TASK-03", *spec)["code"] == "TASK_NOT_CLAIMABLE"
    assert refusal(rook, *ADA, "task", "claim", "TASK-04", *spec)["code"] == "ONE_AT_A_TIME"
    assert "held" in rook.ok("task", "claims")
    assert "completed" in rook.ok(*ADA, "task", "done", "TASK-03", *spec, "-m", "so")
    assert rook.json("task", "claims")["claims"][0]["summary"] == "so"
    rook.ok(*BOB, "task", "claim", "TASK-05", *spec)
    assert "given back" in rook.ok(*BOB, "task", "release", "TASK-05", *spec)


# --- plans from files ------------------------------------------------------------------------------------------------

MARKDOWN = """# Ship the parser

Some words about why.

- [x] Design it
- [ ] Build it (after: Design it)
  All of it.
- [ ] Test it
  after: Build it
  files: tests/, src/*.py
"""
DATA: dict[str, Any] = {
    "goal": "Ship the parser",
    "tasks": [
        {"id": "design", "title": "Design it", "done": True},
        {"id": "build", "title": "Build it", "deps": ["design"]},
        {"id": "test", "title": "Test it", "deps": ["build"], "resources": ["tests/", "src/*.py"]},
    ],
}
YAML = """
goal: Ship the parser
tasks:
  - {id: design, title: Design it, done: yes}
  - id: build
    title: Build it
    deps: [design]
  - id: test
    title: Test it
    deps: [build]
    resources:
      - tests/
      - src/*.py
"""
FILES = {"plan.md": MARKDOWN, "plan.json": json.dumps(DATA), "plan.yaml": YAML, "plan.yml": YAML}


@pytest.mark.parametrize("name", FILES)
def test_importing(rook: Terminal, name: str) -> None:
    (rook.folder / name).write_text(FILES[name])
    plan = rook.json("plan", "import", name)
    assert plan["goal"] == "Ship the parser"
    assert {t["title"]: t["status"] for t in plan["tasks"]} == {
        "Design it": "completed", "Build it": "pending", "Test it": "blocked",
    }  # fmt: skip
    assert plan["tasks"][-1]["resources"] == ["tests/", "src/*.py"]
    assert (plan["done"], plan["total"]) == (1, 3)
    shown = rook.ok("plan", "show", plan["id"])
    for word in ("Ship the parser", "1/3", "█", "░", "critical path"):
        assert word in shown
    listed = rook.ok("plan", "list")
    assert "1/3" in listed


def test_import_options(rook: Terminal) -> None:
    (rook.folder / "plan.json").write_text(json.dumps(DATA["tasks"]))
    plan = rook.json("plan", "import", "plan.json", "--goal", "Another", "--advisory", "--review")
    assert (plan["goal"], plan["strict"], plan["review"]) == ("Another", False, True)
    assert [t["status"] for t in plan["tasks"]] == ["completed", "pending", "pending"]
    assert [t["review"] for t in plan["tasks"]] == ["", "wanted", "wanted"]
    assert rook.json("plan", "import", "plan.json")["goal"] == "plan.json", "a list has no goal of its own"


BAD_FILES = {
    "empty.md": ("Just words.\n", "no tasks"),
    "circle.json": ('[{"id":"a","title":"A","deps":["b"]},{"id":"b","title":"B","deps":["a"]}]', "a -> b -> a"),
    "broken.json": ("{nope", "can not be read"),
    "deep.json": ("[" * 100_000, "can not be read"),
    "broken.yaml": ("a: [1,\nb: }", "no YAML"),
    "object.yaml": ("!!python/object/apply:os.system ['true']", "no YAML"),
    "bomb.yaml": ("a: &a [x,x]\nb: &b [*a,*a]\ntasks: *b\n", "not an object"),
    "dates.yaml": ("- {id: 2020-01-01, title: 2020-01-01}", "task 1"),
    "number.json": ("7", "not a list"),
    "null.yaml": ("", "not a list"),
    "binary.md": ("- [ ] \x00\x1b[31m\n", ""),
    "two.json": ('[{"id":"a","title":""},{"id":"a","title":"B","deps":["zz"],"kind":"a b"}]', "4 problems"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_plan_tells_everything_and_imports_nothing(rook: Terminal, name: str) -> None:
    text, told = BAD_FILES[name]
    (rook.folder / name).write_text(text)
    before = rook.json("events")["newest"]
    reply = rook("plan", "import", name)
    assert reply.code == 2
    assert told in reply.err
    assert "Traceback" not in reply.err
    assert reply.err.replace("\n", "").isprintable()
    assert rook.json("events")["newest"] == before
    assert rook.json("plan", "list")["plans"] == []


@pytest.mark.parametrize("name", ["missing.md", ".", "huge.md"])
def test_a_file_that_can_not_be_read(rook: Terminal, name: str) -> None:
    if name == "huge.md":
        (rook.folder / name).write_text("- [ ] x\n" * 600_000)
    reply = rook("plan", "import", name)
    assert reply.code == 2
    assert "Traceback" not in reply.err


# --- pictures --------------------------------------------------------------------------------------------------------

HOSTILE = [
    "\x1b[2J\x1b[31mred",
    "</text><script>alert(1)</script>",
    '"]; click a "javascript:x"',
    "a\u202eb",
    "🐦" * 40,
]
LOOKS = [["task", "list"], ["plan", "show", "plan-0001"], ["task", "show", "task-0001"], ["feed"]]


@pytest.fixture
def hostile(rook: Terminal) -> str:
    plan = rook.json("plan", "new", "Hostile")["id"]
    before: tuple[str, ...] = ()
    for title in HOSTILE:
        before = ("--dep", add(rook, title, "--plan", plan, "--assign", "architect", *before))
    return plan


@pytest.mark.parametrize("format", ["text", "mermaid", "svg"])
def test_a_hostile_title_stays_in_its_place(rook: Terminal, hostile: str, format: str) -> None:
    drawn = rook.ok("plan", "graph", hostile, "--format", format)
    assert drawn.endswith("\n")
    assert drawn.replace("\n", "").isprintable()
    assert rook.json("plan", "graph", hostile, "--format", format)["graph"].strip() == drawn.strip()
    if format == "svg":
        tree = ET.fromstring(drawn)
        names = {element.tag.rpartition("}")[2] for element in tree.iter()}
        assert not names & {"script", "a", "image", "use", "foreignObject", "style"}
        assert "alert(1)" in "".join(tree.itertext()), "it is shown, as text"
    elif format == "mermaid":
        assert "<script" not in drawn
        assert "click" not in [line.split()[0] for line in drawn.splitlines() if line.split()]


@pytest.mark.parametrize("argv", LOOKS, ids=" ".join)
def test_a_terminal_is_not_steered_by_a_title(rook: Terminal, hostile: str, argv: list[str]) -> None:
    assert hostile
    assert rook.ok(*argv).replace("\n", "").isprintable()
    assert "\x1b[2J" not in rook.ok(*argv, terminal=True)


def test_a_picture_can_be_kept_in_a_file(rook: Terminal, tmp_path: Path) -> None:
    (rook.folder / "plan.md").write_text(MARKDOWN)
    plan = rook.json("plan", "import", "plan.md")["id"]
    (tmp_path / "plan.svg").write_text(rook.ok("plan", "graph", plan, "--format", "svg"))
    assert ET.parse(tmp_path / "plan.svg").getroot().tag.endswith("svg")
