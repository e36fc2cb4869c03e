"""`rook bundle`, `load`, `show CHIP`: what a person prunes and sees, and what an agent's hooks put before it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rookery.front.cli.call import Call, Reply
from rookery.front.cli.router import run
from tests.cli.conftest import Terminal

ADA, BOB = ("--as", "architect"), ("--as", "implementer")
SEEN = Path(__file__).parents[1] / "hosts" / "seen"


@pytest.fixture
def shared(rook: Terminal) -> Terminal:
    """Three pieces of evidence: artifact-0001 to artifact-0003."""
    for name in ("one", "two", "three"):
        rook.ok(*ADA, "artifacts", "add", f"{name}.md", "-k", "summary", "--content", f"All about {name}.")
    return rook


def by_hand(rook: Terminal, *argv: str, typed: list[str]) -> tuple[Reply, str]:
    """A person at a terminal, who types these lines; the reply, and what was shown before it."""
    shown: list[str] = []
    lines: Iterator[str] = iter(typed)

    def ask(question: str) -> str:
        shown.append(question)
        return next(lines) + "\n"

    call = Call(list(argv), str(rook.folder), rook.environ, lambda: "", shown.append, 100, terminal=True, ask=ask)
    return run(call), "".join(shown)


def hooked(rook: Terminal, host: str, **more: Any) -> str:
    """What a program is told beside a prompt, by an event of its own as it was seen."""
    rook.stdin = json.dumps(json.loads((SEEN / host / "prompt.json").read_text()) | {"cwd": str(rook.folder), **more})
    out = rook.ok(*BOB, "hook", host)
    return json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_a_person_prunes_reviews_and_saves(shared: Terminal):
    reply, shown = by_hand(shared, "bundle", "save", "-s", "The parser", typed=["9", "1-3 -2", "y"])
    assert reply.code == 0, reply.err
    assert "three.md" in shown
    assert "The list has 1 to 3, not 9." in shown
    assert "2 items: 2 output." in shown, "it is shown before it is saved"
    saved = shared.json("bundle", "show", "bundle-0001")
    assert [item["id"] for item in saved["items"]] == ["artifact-0001", "artifact-0003"]
    assert saved["title"] == "The parser"


@pytest.mark.parametrize("typed", [["q"], ["", "n"], ["-1-3", "", "n"], ["x"] * 5])
def test_whoever_does_not_want_it_saves_nothing(shared: Terminal, typed: list[str]):
    reply, _ = by_hand(shared, "bundle", "save", typed=typed)
    assert (reply.code, "Nothing was saved" in reply.out) == (0, True)
    assert shared.json("bundle", "list", "--all")["bundles"] == []


def test_piped_exactly_what_is_named_is_saved_and_nobody_asked(shared: Terminal):
    told = shared.ok(*ADA, "bundle", "save", "artifact-0002", "-s", "Two")
    assert "bundle-0001 holds 1: Two" in told
    assert "bundle-0001" in shared.ok("bundle", "list")
    assert "output" in shared.ok("bundle", "candidates", "artifact-0002")
    assert "two.md" in shared.ok("bundle", "show", "bundle-0001")
    assert "is consumed" in shared.ok("bundle", "consume", "bundle-0001")
    assert "No bundles" in shared.ok("bundle", "list")
    assert "consumed" in shared.ok("bundle", "list", "--all")
    assert "is deleted" in shared.ok("bundle", "delete", "bundle-0001")


# -- in an agent's context ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["claude", "codex"])
def test_a_chip_reaches_the_agent_by_its_hooks_and_expands_when_its_prompt_names_it(shared: Terminal, host: str):
    shared.ok(*ADA, "bundle", "save", "artifact-0001", "artifact-0002")
    assert "2, a line each" in shared.ok(*BOB, "bundle", "load", "bundle-0001")
    told = hooked(shared, host)
    lines = [line for line in told.splitlines() if line.startswith("| ")]
    assert lines == [
        "| [bundle-0001#1] output artifact-0001 by architect: summary one.md",
        "| [bundle-0001#2] output artifact-0002 by architect: summary two.md",
    ]
    assert max(map(len, lines)) <= 120
    assert "All about" not in told
    assert hooked(shared, host) == "", "once"
    named = hooked(shared, host, prompt="What of [bundle-0001#2]?")
    assert "| All about two." in named
    assert "All about one." not in named
    used = [bool(chip["used"]) for chip in shared.json(*BOB, "loaded")["chips"]]
    assert used == [False, True]


def test_show_expands_a_chip_and_shows_evidence_as_before(shared: Terminal):
    shared.ok(*ADA, "bundle", "save", "artifact-0001")
    shared.ok(*BOB, "bundle", "load", "bundle-0001", "--consume")
    assert "All about one." in shared.ok(*BOB, "show", "bundle-0001#1")
    assert shared.json("bundle", "show", "bundle-0001")["consumed"]["by"] == "implementer"
    assert "All about one." in shared.ok(*BOB, "expand", "[bundle-0001#1]")
    assert "All about two." in shared.ok("show", "artifact-0002")
    assert "[bundle-0001#1]" in shared.ok(*BOB, "loaded")
    assert "no longer loaded" in shared.ok(*BOB, "bundle", "unload", "bundle-0001")
    assert "Nothing is loaded" in shared.ok(*BOB, "loaded")


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["bundle", "save", "e99"], 1),
        (["bundle", "save"], 2),
        (["bundle", "show", "../../rookery.db"], 1),
        (["bundle", "load", "bundle-0001"], 1),
        ([*BOB, "bundle", "unload", "bundle-0001"], 1),
        ([*BOB, "expand", "bundle-0001"], 2),
        ([*BOB, "expand", "bundle-0001#1"], 1),
        ([*BOB, "load", "w9"], 1),
        (["loaded", "x"], 2),
    ],
)
def test_refusals(rook: Terminal, argv: list[str], code: int):
    reply = rook(*argv, "--json")
    assert reply.code == code
    assert json.loads(reply.out)["error"]["message"]
    assert not list((rook.folder / "home").rglob("bundles"))
