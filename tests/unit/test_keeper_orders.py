"""What a worker is started with, for every program there is."""

from typing import Any

import pytest

from rookery.core import errors
from rookery.keeper import orders
from rookery.runtime.starting import Place
from tests.support.stage import Build, Stage
from tests.unit.test_verbs_workers import begin, spawn

WHERE = Place("/home/x/teams/crew/workers/w1", "/home/x/teams/crew/workers/w1/runs/1")
ENVIRON = {"PATH": "/usr/bin:/bin", "ROOK_HOME": "/home/x"}


@pytest.fixture
def stage(build: Build) -> Stage:
    return build()


def order_of(stage: Stage, **more: Any) -> dict[str, Any]:
    return begin(stage, spawn(stage, **more)["id"])


@pytest.mark.parametrize("backend", ["tmux", "pty", "headless"])
@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "opencode", "copilot", "pi"])
def test_every_program_is_given_its_brief_and_told_where_it_stands(stage: Stage, host: str, backend: str) -> None:
    order = order_of(stage, host=host, backend=backend, assignment="Parse `$(id)`\n/quit")
    text = orders.brief(order, "crew", "/tree", "abc")
    made = orders.launch(order, WHERE, text, "/tree", ENVIRON, {})
    given = made.stdin or " ".join(made.argv)
    assert "| Parse `$(id)`\n| /quit" in given
    assert made.streams is (backend == "headless")
    assert not made.typed
    assert made.argv[0] == host


def test_a_long_brief_is_read_where_it_stands(stage: Stage) -> None:
    order = order_of(stage, host="claude", assignment="x" * 90_000)
    text = orders.brief(order, "crew", "/tree", "abc")
    made = orders.launch(order, WHERE, text, "/tree", ENVIRON, {})
    assert made.argv[-1].startswith(f"Read {WHERE.of('task.md')}")
    assert not made.typed


def test_what_a_kind_may_not_its_program_is_not_allowed(stage: Stage) -> None:
    order = order_of(stage, host="codex", kind="scout")
    made = orders.launch(order, WHERE, "x", "/tree", ENVIRON, {})
    assert made.argv[made.argv.index("--sandbox") + 1] == "read-only"
    assert not orders.wants_tree(order_of(stage, host="codex", no_worktree=True))
    assert orders.wants_tree(order_of(stage, host="codex"))


def test_the_run_before_is_told_of(stage: Stage) -> None:
    run = order_of(stage, host="script", program=["true"])["run"]
    stage.call("respawn", id="w1")
    stage.call("worker.ended", "system", id="w1", run=run, reason="killed", exit_code=137, tail="the last line")
    text = orders.brief(begin(stage, "w1"), "crew", "/tree", "abc")
    assert "exit code 137" in text
    assert "| the last line" in text


def test_a_script_without_a_program_is_refused(stage: Stage) -> None:
    with pytest.raises(errors.BadInput) as refused:
        orders.launch(order_of(stage, host="script"), WHERE, "x", "/tree", ENVIRON, {})
    assert refused.value.code == "NO_PROGRAM"
    known = {"script": {"program": ["/bin/worker", "--fast"]}}
    order = order_of(stage, host="script")
    assert orders.launch(order, WHERE, "x", "/tree", ENVIRON, known).argv == ("/bin/worker", "--fast")
