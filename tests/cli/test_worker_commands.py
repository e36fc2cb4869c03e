"""Workers at the command line: asked for where no daemon runs, looked at, and gone with it."""

import json
import os
import subprocess
import sys
from collections.abc import Generator

import pytest

from tests.support.doors import environment
from tests.support.panes import until
from tests.support.supervised import Site, site


@pytest.fixture
def here() -> Generator[Site]:
    with site(ROOK_DAEMON_PORT="0") as made:
        yield made


def rook(here: Site, *words: str, code: int = 0, **more: str) -> str:
    environ = environment(here.folder, **here.environ, **more) | {"ROOK_HOME": str(here.home)}
    done = subprocess.run(
        [sys.executable, "-m", "rookery", *words],
        env=environ,
        cwd=here.repo,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout or done.stderr


@pytest.mark.slow
@pytest.mark.tmux
def test_from_spawn_to_down(here: Site) -> None:
    program = str(here.folder / "program")
    said = rook(here, "spawn", "Parse\x1b[31m it", "--host", "script", "--program", program, "--backend", "tmux")
    try:
        assert "Up at" in said, "a daemon was started, and it says so"
        assert "\x1b" not in said
        here.begun()
        here.becomes("running")
        again = rook(here, "spawn", "More", "--host", "script", "--program", program, "--backend", "headless")
        assert "Up at" not in again
        here.begun("w2")
        here.becomes("running", "w2")
        listed = rook(here, "workers")
        assert all(word in listed for word in ("w1", "w2", "thinking", "task-0001", "Parse it"))
        until(lambda: "hello from w1" in rook(here, "peek", "w1"))
        until(lambda: "hello from w2" in rook(here, "peek", "w2"))
        assert json.loads(rook(here, "peek", "w1", "-n", "1", "--json"))["state"] == "running"
        command = json.loads(rook(here, "attach", "w1", "--json"))["command"]
        assert command[-2:] == ["-t", here.card("w1")["terminal"]["pane"]]
        assert "no terminal" in rook(here, "attach", "w2", code=1)
        assert "no number of lines" in rook(here, "peek", "w1", "-n", "0", code=2)
        assert "w1" in rook(here, "worker", "show", "w1")
        here.finish(0, "w2")
        here.becomes("ended", "w2")
        assert "bye from w2" in rook(here, "peek", "w2")
    finally:
        rook(here, "down")
    assert here.card("w1")["ending"] == "stopped"
    here.nothing_runs()


@pytest.mark.slow
def test_without_a_daemon_it_waits_and_says_so(here: Site) -> None:
    said = rook(here, "spawn", "Parse", "--host", "script", "--program", "true", ROOK_WORKER_START_DAEMON="false")
    assert "it waits until `rook up`" in said
    assert here.card()["state"] == "queued"
    assert here.processes() == {}
    assert not os.path.exists(here.home / "run" / "runtime.json")


@pytest.mark.slow
def test_the_workers_of_a_daemon_over_http(here: Site) -> None:
    with here.up() as daemon:
        here.spawn()
        here.becomes("running")
        door = daemon.door.of(here.team)
        assert [each["id"] for each in door.get("/v1/workers").body["workers"]] == ["w1"]
        assert door.get("/v1/workers/w1").body["state"] == "running"
        assert door.get("/v1/workers/..%2Fw1").status == 404
