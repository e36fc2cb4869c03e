"""`rook progress | ask | done | fail` inside a worker and outside of one, `rook answer`, `rook questions`."""

import json
import re
import shlex
import threading
from contextlib import closing
from pathlib import Path

import pytest

from rookery.runtime import repository
from tests.cli.conftest import Terminal
from tests.support import ledger
from tests.unit.gitrepo import repository as new_repository

SUMMARY = "The header parser now rejects lines without a colon, and the three tests that cover it pass."
RESULT = ("--outcome", "completed", "-m", SUMMARY, "--test", "pytest -q: 3 passed")


def as_worker(rook: Terminal, name: str = "implementer", **more: str) -> str:
    """The agent becomes a worker with a task that it holds, in a worktree of its own; where that is."""
    root = new_repository(rook.folder / "repo")
    tree = str(rook.folder / "tree")
    base = repository.commit_of(str(root))
    repository.add_worktree(str(root), tree, base)
    rook.ok("--as", "architect", "task", "add", "Parse the header")
    rook.ok("--as", name, "task", "claim", "task-0001")
    with closing(ledger.look(str(rook.folder / "home" / "rookery.db"))) as db:
        ((team, agent, host),) = db.execute(
            "SELECT a.team, a.id, s.host FROM agents a JOIN sessions s ON s.team = a.team AND s.id = a.session "
            "WHERE a.name = ?", (name,),
        )  # fmt: skip
        ((asker,),) = db.execute("SELECT id FROM agents WHERE name = 'architect'")
        row = {
            "team": team, "n": 1, "id": "w1", "agent": agent, "kind": "default", "host": "script",
            "backend": "headless", "machine": host,
            "root": str(root), "tree": tree, "base": base, "task": "task-0001", "asked_by": asker,
            "title": "Parse the header", "state": "running", "run": "run-1", "created_at": 0, "at": 0, **more,
        }  # fmt: skip
        marks = ", ".join(f":{each}" for each in row)
        db.execute(f"INSERT INTO workers ({', '.join(row)}) VALUES ({marks})", row)
    rook.environ["ROOK_AGENT"] = name
    rook.environ["ROOK_RUN"] = "run-1"
    return tree


@pytest.mark.slow
def test_a_worker_reports_from_its_shell(rook: Terminal) -> None:
    tree = as_worker(rook)
    told = rook.ok("progress", "done: read it", "doing: the parser", "-m", "found the place")
    assert "[x] read it" in told
    assert "[>] the parser" in told
    asked = rook.ok(
        "ask", "Which format?", "--risk", "high", "--option", "JSON", "--option", "YAML", "--recommend", "JSON"
    )
    assert "was put before architect" in asked
    id = rook.json("questions")["questions"][0]["id"]
    assert rook("answer", id, "JSON").code == 1, "its own question"
    answered = rook.ok("--as", "architect", "answer", id, "--option", "1")
    assert "option 1: JSON" in answered
    with open(f"{tree}/header.py", "w") as file:
        file.write("def parse(): ...\n")
    assert "w1 reported done (completed)." in rook.ok("done", *RESULT)
    assert "It was reported before." in rook.ok("done", *RESULT)
    assert rook.json("task", "show", "task-0001")["status"] == "completed"
    assert "Nobody waits" in rook.ok("questions")
    assert id in rook.ok("questions", "--worker", "w1")
    assert "JSON" in rook.ok("questions", "show", id)


@pytest.mark.slow
def test_what_is_missing_is_told(rook: Terminal) -> None:
    as_worker(rook)
    refused = rook("done", "-m", "fixed it")
    assert refused.code == 1
    assert "an outcome" in refused.err
    assert "a summary that says something" in refused.err
    facts = json.loads(rook("done", "-m", "fixed it", "--json").out)["error"]
    assert facts["code"] == "NOT_A_RESULT"
    assert len(facts["missing"]) == 2
    assert "a change" in rook("done", *RESULT).err
    assert "A failure needs a reason." in rook("fail", "-m", "no").err


def test_a_program_of_an_older_run_is_refused(rook: Terminal) -> None:
    as_worker(rook)
    rook.environ["ROOK_RUN"] = "run-0"
    refused = rook("fail", "-m", "nothing works here any more")
    assert "This run of w1 is over" in refused.err


@pytest.mark.slow
def test_plans_are_approved_and_rejected(rook: Terminal) -> None:
    as_worker(rook)
    rook.stdin = "First the parser,\nthen its tests."
    rook.ok("ask", "--plan", "-")
    (plan,) = rook.json("questions")["questions"]
    assert plan["kind"] == "plan"
    assert plan["question"] == rook.stdin
    refused = rook("--as", "architect", "answer", plan["id"], "fine")
    assert "--approve or --reject" in refused.err
    assert "rejected" in rook.ok("--as", "architect", "answer", plan["id"], "--reject", "the tests first")
    refused = rook("--as", "architect", "answer", plan["id"], "--approve")
    assert "was answered by architect" in refused.err


@pytest.mark.slow
def test_outside_of_a_worker_the_one_held_task_is_meant(rook: Terminal) -> None:
    for word in (("done", *RESULT), ("fail", "-m", "it can not be done"), ("progress", "-m", "well")):
        refused = rook("--as", "architect", *word)
        assert refused.code == 2
        assert "You are no worker, and hold no task." in refused.err
        assert f"rook task {word[0]} ID" in refused.err
    assert "rook escalate" in rook("--as", "architect", "ask", "Which format?").err
    for title in ("One", "Two"):
        rook.ok("task", "add", title)
    rook.ok("--as", "architect", "task", "claim", "task-0001")
    rook.ok("--as", "architect", "progress", "doing: the parser")
    assert rook.json("task", "show", "task-0001")["notes"][-1]["note"] == "doing: the parser"
    rook.ok("--as", "architect", "done", "-m", "done")
    assert rook.json("task", "show", "task-0001")["status"] == "completed", "for others nothing changed"
    rook.ok("--as", "architect", "task", "claim", "task-0002")
    rook.ok("--as", "architect", "fail", "-m", "no")
    assert rook.json("task", "show", "task-0002")["status"] == "failed"


@pytest.mark.slow
def test_ask_stays_until_it_is_answered(rook: Terminal) -> None:
    as_worker(rook)
    late = rook("ask", "Which format?", "--wait", "0.01")
    assert late.code == 1
    assert "open" in late.out
    other = Terminal(rook.folder)
    other.environ = dict(rook.environ)
    found: list[str] = []
    asking = threading.Thread(target=lambda: found.append(other("ask", "Which format?", "--wait", "30").out))
    asking.start()
    (question,) = rook.json("questions")["questions"]
    rook.ok("--as", "architect", "answer", question["id"], "JSON, as everywhere")
    asking.join(30)
    assert "JSON, as everywhere" in found[0]


@pytest.mark.parametrize("text", ["\x1b[2J\x1b]0;owned\x07x", "[red]x[/red]", "a\u202eb", "{not} %s"])
def test_what_a_worker_wrote_steers_no_terminal(rook: Terminal, text: str) -> None:
    as_worker(rook)
    rook.ok("progress", f"doing: {text}")
    rook.ok("ask", f"Which {text}?", "--option", text, "--option", "no", "--recommend", text)
    (question,) = rook.json("questions")["questions"]
    for shown in (
        rook.ok("questions"), rook.ok("questions", "show", question["id"]),
        rook.ok("--as", "architect", "answer", question["id"], text),
    ):  # fmt: skip
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    if "[" in text and "\x1b" not in text:
        assert text in rook.ok("questions", "show", question["id"])


@pytest.mark.slow
def test_every_command_of_the_document_runs(rook: Terminal) -> None:
    page = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")
    found = re.findall(r"^\$ rook (.*)$", page, re.M)
    commands = sorted((shlex.split(line) for line in found), key=lambda words: words[0] == "done")
    assert [words[0] for words in commands] == ["progress", "ask", "questions", "answer", "answer", "done"]
    tree = as_worker(rook)
    (Path(tree) / "parser.py").write_text("x\n")
    for words in commands:
        if words[0] == "answer":
            (question,) = rook.json("questions")["questions"]
            rook.ok("--as", "architect", *(question["id"] if word == "Q-ID" else word for word in words))
            rook.ok("ask", "And which place?")
        else:
            rook.ok(*words)
    assert rook.json("task", "show", "task-0001")["status"] == "completed"
