"""The process itself: where it says it is, that there is one of it, and how it ends."""

import errno
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rookery.core import errors
from rookery.front.http import serve
from tests.support.doors import TOKEN, Door, environment, running
from tests.support.procs import PATIENCE_S


def rook(folder: Path, *argv: str, given: str = "", **environ: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "rookery", *argv], env=environment(folder, **environ), cwd=folder, capture_output=True,
        text=True, timeout=PATIENCE_S, input=given,
    )  # fmt: skip


@pytest.mark.slow
def test_it_says_where_it_is(tmp_path: Path):
    with running(tmp_path) as daemon:
        assert daemon.told["pid"] == daemon.process.pid
        assert set(daemon.told) == {"url", "token", "pid", "teamId", "schemaVersion"}
        runtime = tmp_path / "rook" / "run" / "runtime.json"
        assert json.loads(runtime.read_text()) == {
            name: daemon.told[name] for name in ("url", "token", "pid", "schemaVersion")
        }
        assert stat.S_IMODE(runtime.stat().st_mode) == 0o600
        assert daemon.door.get("/v1/tasks").status == 200
        assert daemon.stop() == (0, "")
        assert not runtime.exists()


@pytest.mark.slow
def test_a_folder_of_its_own(tmp_path: Path):
    place = tmp_path / "teams"
    with running(tmp_path, "--team", "T", "--workspace-root", str(place)) as daemon:
        runtime = place / "T" / "runtime.json"
        assert daemon.told["teamId"] == "T"
        assert json.loads(runtime.read_text())["token"] == TOKEN
        assert stat.S_IMODE(runtime.stat().st_mode) == 0o600
        assert (place / "T" / "rookery.db").exists()
        assert not (tmp_path / "rook").exists()
        id = daemon.door.task(resources=["src/io/"])
        may = daemon.door.get("/v1/can-write", agentId="ada", path="src/io/x").body
        assert (may["allow"], may["reason"]) == (False, "no_active_lease_for_path"), "such a team is strict"
        daemon.door.claim(id)
        assert daemon.door.get("/v1/can-write", agentId="ada", path="src/io/x").body["allow"] is True
        other = daemon.door.get("/v1/tasks", teamId="other")
        assert (other.status, other.code) == (404, "TEAM_NOT_FOUND")
        assert [team["teamId"] for team in daemon.door.get("/v1/teams").body["teams"]] == ["T"]
        second = rook(tmp_path, "up", "--port", "0", "--team", "T", "--workspace-root", str(place))
        assert second.returncode == 1
        assert "already running" in second.stderr
        assert daemon.stop() == (0, "")
        assert not runtime.exists()


@pytest.mark.slow
def test_a_second_one_of_the_same_scope_is_refused(tmp_path: Path):
    with running(tmp_path) as daemon:
        second = rook(tmp_path, "up", "--port", "0")
        assert (second.returncode, second.stdout) == (1, "")
        assert "already running" in second.stderr
        assert daemon.told["url"] in second.stderr
        assert daemon.door.get("/v1/tasks").status == 200
        with running(tmp_path, "--team", "alone") as narrow:  # another scope of the same home
            assert narrow.told["teamId"] == "alone"
            assert narrow.door.get("/v1/tasks").status == 200


@pytest.mark.slow
def test_it_survives_a_stale_pid_file_and_a_killed_predecessor(tmp_path: Path):
    run = tmp_path / "rook" / "run"
    with running(tmp_path) as daemon:
        daemon.door.of("t").task("kept")
        daemon.stop(signal.SIGKILL)
    assert (run / "runtime.json").exists(), "a killed process removes nothing"
    (run / "daemon.lock").write_text(json.dumps({"pid": os.getpid(), "started": "1"}))
    with running(tmp_path) as daemon:
        assert json.loads((run / "runtime.json").read_text())["pid"] == daemon.process.pid
        assert [task["title"] for task in daemon.door.of("t").get("/v1/tasks").body["tasks"]] == ["kept"]


@pytest.mark.slow
def test_down_ends_it_and_says_when_there_is_none(tmp_path: Path):
    with running(tmp_path) as daemon:
        done = rook(tmp_path, "down", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["pid"] == daemon.process.pid
        assert daemon.wait() == 0
    again = rook(tmp_path, "down")
    assert again.returncode == 1
    assert "No daemon is running" in again.stderr


@pytest.mark.slow
def test_in_the_background(tmp_path: Path):
    started = rook(tmp_path, "up", "--detach", "--port", "0", "--json", "--token", TOKEN)
    assert started.returncode == 0, started.stderr
    told = json.loads(started.stdout)
    try:
        assert Door(told["url"], TOKEN).get("/v1/tasks").status == 200
        second = rook(tmp_path, "up", "--detach", "--port", "0")
        assert second.returncode == 1
        assert "already running" in second.stderr
    finally:
        assert rook(tmp_path, "down").returncode == 0
    with pytest.raises(ConnectionRefusedError):
        Door(told["url"], TOKEN).get("/healthz")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["--token", "--token-file", "-"])
def test_no_list_of_processes_shows_the_token_of_a_daemon_in_the_background(tmp_path: Path, how: str):
    (tmp_path / "secret").write_text(f"{TOKEN}\n")
    said = {"--token": ["--token", TOKEN], "--token-file": ["--token-file", "secret"], "-": ["--token-file", "-"]}[how]
    started = rook(tmp_path, "up", "--detach", "--port", "0", "--json", *said, given=TOKEN)
    assert started.returncode == 0, started.stderr
    told = json.loads(started.stdout)
    try:
        assert Door(told["url"], TOKEN).get("/v1/tasks").status == 200
        for what in ("cmdline", "environ"):
            assert TOKEN.encode() not in Path(f"/proc/{told['pid']}/{what}").read_bytes()
    finally:
        assert rook(tmp_path, "down").returncode == 0


@pytest.mark.parametrize("said", [["--token", "a", "--token-file", "x"], ["--token-file", "x"], ["--token-file", "-"]])
def test_a_token_file_that_names_none_is_refused(tmp_path: Path, said: list[str]):
    (tmp_path / "x").write_text("\n")
    assert rook(tmp_path, "up", "--port", "0", *said).returncode == 2


@pytest.mark.slow
def test_a_port_in_use_moves_to_the_next_free_one_and_is_named(tmp_path: Path):
    with running(tmp_path) as daemon:
        port = int(daemon.told["url"].rpartition(":")[2])
        started = rook(tmp_path, "up", "--detach", "--port", str(port), "--team", "other", "--json")
        assert started.returncode == 0, started.stderr
        told = json.loads(started.stdout)
        try:
            assert told["busyPort"] == port
            assert int(told["url"].rpartition(":")[2]) > port
        finally:
            assert rook(tmp_path, "down", "--team", "other").returncode == 0
    assert rook(tmp_path, "up", "--port", "many").returncode == 2


def test_a_port_that_may_not_be_used_is_refused(monkeypatch: pytest.MonkeyPatch):
    tried: list[int] = []

    def refuse(error: int) -> Callable[[int], socket.socket]:
        def bind(port: int) -> socket.socket:
            tried.append(port)
            raise OSError(error, "no")

        return bind

    for number, count in ((errno.EACCES, 1), (errno.EADDRINUSE, serve.PORTS_TRIED)):
        tried.clear()
        monkeypatch.setattr(serve, "_bound_to", refuse(number))
        with pytest.raises(errors.Refused) as caught:
            serve._bound(80)
        assert (caught.value.code, len(tried)) == ("PORT_TAKEN", count)


@pytest.mark.slow
def test_those_who_wait_are_answered_when_it_ends(tmp_path: Path):
    import threading

    with running(tmp_path) as daemon:
        daemon.door.task()
        told: list[int] = []
        waiter = threading.Thread(
            target=lambda: told.append(daemon.door.get("/v1/inbox", agentId="zoe", since=99, wait=60).status)
        )
        waiter.start()
        while not _waits(daemon.door):
            pass
        assert daemon.stop() == (0, "")
        waiter.join(PATIENCE_S)
        assert told == [200]


def _waits(door: Door) -> bool:
    """Has the request arrived, and does it wait?"""
    return "rook_waiting 1" in door.get("/metrics").body


@pytest.mark.slow
def test_a_signal_right_after_its_first_word_ends_it_well(tmp_path: Path):
    with running(tmp_path) as daemon:
        assert daemon.stop() == (0, "")
        assert not (tmp_path / "rook" / "run" / "runtime.json").exists()
