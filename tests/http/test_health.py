"""Health of real daemons, logs and stores, as `rook health` and HTTP tell it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rookery.core import times
from rookery.runtime import process
from rookery.runtime.clock import SystemClock
from tests.support.doors import Running, environment, running
from tests.support.panes import until
from tests.support.procs import PATIENCE_S


class Told:
    def __init__(self, folder: Path, *argv: str, **environ: str) -> None:
        command = [sys.executable, "-m", "rookery", "health", "--json", *argv]
        done = subprocess.run(
            command, env=environment(folder, **environ), cwd=folder,
            capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self.code = done.returncode
        self.body: dict[str, Any] = json.loads(done.stdout)

    @property
    def verdict(self) -> tuple[int, str]:
        return self.code, self.body["status"]

    @property
    def reasons(self) -> str:
        return "; ".join(each["what"] for each in self.body["concerns"])


@pytest.fixture
def home(tmp_path: Path) -> Generator[tuple[Path, Running]]:
    with running(tmp_path, ROOK_MONITOR_EVERY_S="0.1") as daemon:
        yield tmp_path, daemon


def log_of(folder: Path) -> Path:
    return folder / "rook" / "logs" / "daemon.log"


@pytest.mark.slow
def test_a_daemon_that_runs_and_one_that_does_not(home: tuple[Path, Running]) -> None:
    folder, daemon = home
    told = Told(folder)
    assert told.verdict == (0, "healthy")
    (seen,) = told.body["daemons"]
    assert (seen["pid"], seen["answers"], seen["url"]) == (daemon.process.pid, True, daemon.told["url"])
    (log,) = told.body["logs"]
    assert (log["path"], log["errors"]) == (str(log_of(folder)), 0)
    assert told.body["store"]["whole"] is True
    assert told.body["disk"]["free_bytes"] > 0
    over_http = daemon.door.post("/v1/call/health")
    assert over_http.status == 200
    assert over_http.body["daemons"][0]["answers"] is True
    daemon.stop()
    told = Told(folder)
    assert (told.verdict, told.body["daemons"]) == ((0, "healthy"), []), "nothing has to run"


@pytest.mark.slow
def test_a_missing_log_and_errors_in_one(home: tuple[Path, Running]) -> None:
    folder, _ = home
    until(lambda: log_of(folder).exists())
    now = times.iso(SystemClock().wall_ms())
    with log_of(folder).open("a") as log:
        log.write(f"2001-01-01T00:00:00.000Z ERROR rookery.http: long ago\n{now} INFO rookery: an ERROR in words\n")
    assert Told(folder).verdict == (0, "healthy"), "negative control: neither is an error of this hour"
    with log_of(folder).open("a") as log:
        log.write(f"{now} ERROR rookery.http: broke\nTraceback ...\n")
    told = Told(folder)
    assert (told.verdict, told.body["recent_errors"]) == ((1, "degraded"), 1)
    assert now in told.reasons
    log_of(folder).unlink()
    told = Told(folder)
    assert told.verdict == (1, "unhealthy")
    assert "is missing" in told.reasons


@pytest.mark.slow
def test_a_daemon_that_was_stopped_is_told(home: tuple[Path, Running]) -> None:
    folder, daemon = home
    daemon.process.send_signal(signal.SIGSTOP)
    who = process.identify(daemon.process.pid)
    assert who
    until(lambda: process.state(*who) == process.STOPPED)
    try:
        told = Told(folder)
        assert told.verdict == (1, "unhealthy")
        assert "is stopped" in told.reasons
    finally:
        daemon.process.send_signal(signal.SIGCONT)


@pytest.mark.slow
def test_a_daemon_that_was_killed_leaves_a_file_that_fools_nobody(home: tuple[Path, Running]) -> None:
    folder, daemon = home
    daemon.process.kill()
    daemon.wait()
    assert (folder / "rook" / "run" / "runtime.json").exists()
    assert Told(folder).body["daemons"] == []


@pytest.mark.parametrize("damage", ["no database", pytest.param("half of it", marks=pytest.mark.slow)])
def test_a_store_that_is_broken_is_unhealthy_and_not_an_error(tmp_path: Path, damage: str) -> None:
    assert Told(tmp_path).verdict == (0, "healthy")
    store = tmp_path / "rook" / "rookery.db"
    if damage == "no database":
        store.write_bytes(b"this is no database at all" * 100)
    else:
        data = store.read_bytes()
        store.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    before = store.read_bytes()
    told = Told(tmp_path)
    assert told.body["status"] == "unhealthy"
    assert told.code in (1, 3)
    assert "rookery.db" in json.dumps(told.body["concerns"])
    assert store.read_bytes() == before, "nothing is overwritten"


@pytest.mark.slow
def test_a_daemon_elsewhere_that_is_not_there(tmp_path: Path) -> None:
    told = Told(tmp_path, ROOK_URL="http://127.0.0.1:9", ROOK_TOKEN="x")
    assert told.verdict == (3, "unhealthy")
    assert not (tmp_path / "rook").exists(), "nothing is looked for here"


@pytest.mark.slow
def test_the_watcher_of_a_daemon_finds_a_death_by_itself(home: tuple[Path, Running]) -> None:
    folder, daemon = home
    program = subprocess.Popen(
        [sys.executable, "-c", JOINS], env=environment(folder), cwd=folder, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    with program:
        assert program.stdout
        assert program.stdout.readline() == b"joined\n"
        team = json.loads(program.stdout.readline())
        door = daemon.door.of(team)
        until(lambda: door.post("/v1/call/whois", name="ada").body["memory"], "no look was taken")
        assert door.post("/v1/call/whois", name="ada").body["finding"] == ""
        program.kill()
        program.wait()
        until(lambda: door.post("/v1/call/whois", name="ada").body.get("finding") == "died", "it was not found")
    events = door.get("/v1/events", after=0, limit=100).body["events"]
    assert [event["type"] for event in events if event["type"].startswith("session.")] == ["session.died"]
    assert "died" in log_of(folder).read_text()


JOINS = """import json, sys, rookery
team = rookery.connect()
me = team.join("ada")
print("joined", flush=True)
print(json.dumps(team.name), flush=True)
sys.stdin.read()
"""


# --- again and again --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_watching_shows_what_changes_until_it_is_interrupted(home: tuple[Path, Running]) -> None:
    folder, daemon = home
    shown = subprocess.Popen(
        ["env", "--default-signal=INT", sys.executable, "-m", "rookery", "health", "--watch", "--json"],
        env=environment(folder), cwd=folder,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert shown.stdout
        first = json.loads(shown.stdout.readline())
        assert first["unread"] == 0
        door = daemon.door.of(first["team"])
        assert door.post("/v1/call/send", to=["user"], subject="Hello").status == 200
        second = json.loads(shown.stdout.readline())
        assert second["unread"] == 1
        shown.send_signal(signal.SIGINT)
        _, complaints = shown.communicate(timeout=PATIENCE_S)
        assert (shown.returncode, complaints) == (130, b"")
    finally:
        if shown.poll() is None:
            os.kill(shown.pid, signal.SIGKILL)
            shown.communicate()
