"""A refusal inside a verb that goes on leaves nothing behind: whoever catches one in `service` uses `tx.attempt`."""

import ast
from pathlib import Path

import rookery.service
from rookery.core import errors
from tests.support.stage import Build

SERVICE = Path(rookery.service.__file__).parent
REFUSALS = {name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, Exception)}
# What these try only reads, parses, or touches files after the commit.
READS_ONLY = {
    ("summoning.py", "_kind"), ("tx.py", "visitor"), ("kinds.py", "_loosened"), ("kinds.py", "_row"),
    ("bundles.py", "_remade"), ("deliverables.py", "_publish"), ("loading.py", "_whole"), ("loading.py", "_named"),
    ("loading.py", "_known"), ("exchange.py", "_checked"),
}  # fmt: skip


def caught(handler: ast.ExceptHandler) -> set[str]:
    assert handler.type, "everything is caught"
    return {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(handler.type)}


def bare() -> set[tuple[str, str]]:
    """Functions that catch a refusal of something that they do not try by `tx.attempt`."""
    found: set[tuple[str, str]] = set()
    for path in SERVICE.glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef):
                continue
            for tried in ast.walk(function):
                if isinstance(tried, ast.Try) and any(caught(each) & REFUSALS for each in tried.handlers):
                    body = "\n".join(map(ast.unparse, tried.body))
                    if "tx.attempt(" not in body:
                        found.add((path.name, function.name))
    return found


def test_a_refusal_is_caught_around_an_attempt_alone() -> None:
    assert sorted(bare() - READS_ONLY) == []
    assert sorted(READS_ONLY - bare()) == [], "no longer there"


def test_a_worker_whose_paths_are_reserved_does_not_have_its_task(build: Build) -> None:
    stage = build()
    stage.join("ada")
    stage.call("reserve", "ada", paths=["src/"])
    stage.call("task.add", title="Parse", resources=["src/a.py"])
    stage.call("spawn", stage.caller(tree="/work"), assignment="task-0001")
    order = stage.call("worker.begin", "system", id="w1", owner="here:1:x")["worker"]
    pid, since = stage.process()
    before = stage.call("task.show", id="task-0001")
    stage.call("worker.started", "system", id="w1", run=order["run"], pid=pid, since=since, tree="/tree/w1")
    task = stage.call("task.show", id="task-0001")
    assert (task["status"], task["epoch"], task["lease"]) == (before["status"], before["epoch"], before["lease"])
    assert task["attempts"] == before["attempts"]
    events = stage.call("events", limit=100)["events"]
    assert "task.start" not in [each["type"] for each in events if each["ref"] == "task-0001"]
    assert stage.call("worker.show", id="w1")["wish"] == "stop"
