"""The daemon's log: what happened is in it, no token ever is, and `rook logs` shows it."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.doors import Door, Running, running
from tests.support.procs import PATIENCE_S

TOKEN = "tok-VERY-secret-0123456789"


def rook(daemon: Running, folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rookery", *argv], env=daemon.environ, cwd=folder, capture_output=True, text=True,
        timeout=PATIENCE_S,
    )  # fmt: skip


def everything_written(folder: Path) -> str:
    return "".join(path.read_text() for path in (folder / "rook" / "logs").iterdir())


@pytest.mark.slow
def test_no_token_is_ever_in_the_log(tmp_path: Path):
    with running(tmp_path, token=TOKEN, ROOK_LOG_REQUESTS="1") as daemon:
        door = daemon.door
        door.get("/v1/tasks", token=TOKEN)
        door.get(f"/v1/tasks/{TOKEN}")
        door.get(f"/{TOKEN}/x")
        door.post(f"/v1/call/{TOKEN}", {"X-Token": TOKEN}, token=TOKEN)
        door.raw("POST", "/v1/tasks", f'{{"title": "{TOKEN}"'.encode())
        door.raw("GET", f"/v1/inbox?agentId={TOKEN}&since={TOKEN}")
        door.raw(TOKEN[:9].upper(), "/v1/tasks")
        Door(daemon.door.url, f"wrong-{TOKEN}").get("/v1/tasks")
        door.raw("GET", "/v1/tasks", headers={"Authorization": f"Basic {TOKEN}"})
        assert daemon.stop() == (0, "")
        written = everything_written(tmp_path)
        assert TOKEN not in written
        for line in ("GET /v1/tasks 200", "GET /v1/tasks/{id} 404", "GET other 404", "POST /v1/tasks 400",
                     "GET other 401", "up at http", "down"):  # fmt: skip
            assert line in written, written


@pytest.mark.slow
def test_requests_are_not_logged_unless_asked_for(tmp_path: Path):
    with running(tmp_path, token=TOKEN) as daemon:
        daemon.door.get("/v1/tasks")
        daemon.stop()
        assert "/v1/tasks" not in everything_written(tmp_path)


@pytest.mark.slow
def test_rook_logs_shows_it(tmp_path: Path):
    with running(tmp_path, token=TOKEN, ROOK_LOG_REQUESTS="1", ROOK_LOG_BYTES="1024", ROOK_LOG_FILES="2") as daemon:
        for _ in range(60):
            daemon.door.get("/v1/tasks")
        shown = rook(daemon, tmp_path, "logs", "-n", "5")
        assert (shown.returncode, shown.stdout.count("\n")) == (0, 5)
        assert shown.stdout.count("GET /v1/tasks 200") >= 4, "a sweep may be among them"
        assert rook(daemon, tmp_path, "logs", "-n", "five").returncode == 2
        written = sorted((tmp_path / "rook" / "logs").iterdir())
        assert [path.name for path in written] == ["daemon.log", "daemon.log.1", "daemon.log.2"]
        assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o600}
        follower = subprocess.Popen(
            [sys.executable, "-m", "rookery", "logs", "-f", "-n", "1"], env=daemon.environ, cwd=tmp_path,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert follower.stdout
            assert follower.stdout.readline()  # it has looked: what comes now is followed
            daemon.door.post("/v1/tasks", title="t")
            assert "POST /v1/tasks 201" in follower.stdout.readline()
        finally:
            follower.kill()
            follower.communicate()


@pytest.mark.slow
def test_without_a_log(tmp_path: Path):
    with running(tmp_path, token=TOKEN) as daemon:
        refused = rook(daemon, tmp_path, "--team", "other", "logs")
    assert refused.returncode == 1
    assert "no log yet" in refused.stderr
