"""Starting, finding and ending the daemon as pi-team's own server is started, found and ended."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.doors import TOKEN, Door, Running, environment, running
from tests.support.procs import PATIENCE_S

DEAD = 999_999  # beyond what the kernel gives out by default


def up(folder: Path, root: Path) -> list[str]:
    return [sys.executable, "-m", "rookery", "up", "--team", "T", "--workspace-root", str(root), "--token", TOKEN,
            "--port", "0", "--json"]  # fmt: skip


def second(folder: Path, root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(up(folder, root), env=environment(folder), cwd=folder, capture_output=True, text=True,
                          timeout=PATIENCE_S)  # fmt: skip


def private(path: Path) -> bool:
    return stat.S_IMODE(path.stat().st_mode) == 0o600


def used_by_pi_team(root: Path, pid: int, **team: object) -> Path:
    """A team's folder as pi-team's own server leaves it, readable by others as its tests make it."""
    folder = root / "T"
    folder.mkdir(parents=True, mode=0o755)
    told = {"pid": pid, "startedAt": "2026-02-11T10:00:00.000Z", "schemaVersion": "1.0.0"}
    (folder / ".teamd.lock").write_text(json.dumps(told, separators=(",", ":")) + "\n")
    (folder / "team.json").write_text(json.dumps({"schemaVersion": "1.0.0", "teamId": "T", "agents": [], **team}))
    return folder


@pytest.mark.slow
def test_what_it_says_writes_and_removes(tmp_path: Path):
    root = tmp_path / "teams"
    with running(tmp_path, "--team", "T", "--workspace-root", str(root)) as daemon:
        runtime, lock = root / "T" / "runtime.json", root / "T" / ".teamd.lock"
        assert set(daemon.told) == {"url", "token", "pid", "teamId", "schemaVersion"}
        assert (daemon.told["teamId"], daemon.told["token"], daemon.told["schemaVersion"]) == ("T", TOKEN, "1.0.0")
        assert daemon.told["pid"] == daemon.process.pid
        assert json.loads(runtime.read_text()).items() <= daemon.told.items()
        signed = json.loads(lock.read_text())
        assert (signed["pid"], signed["schemaVersion"]) == (daemon.process.pid, "1.0.0")
        assert signed["startedAt"].endswith("Z")
        assert f'"pid":{daemon.process.pid}' in lock.read_text(), "some look for the text itself"
        assert private(runtime)
        assert private(lock)
        assert daemon.stop(signal.SIGTERM) == (0, "")
        assert not runtime.exists()
        assert not lock.exists()


@pytest.mark.slow
def test_a_second_one_prints_nothing_on_stdout(tmp_path: Path):
    root = tmp_path / "teams"
    with running(tmp_path, "--team", "T", "--workspace-root", str(root)) as daemon:
        lock = (root / "T" / ".teamd.lock").read_text()
        refused = second(tmp_path, root)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "already running" in refused.stderr
        assert (root / "T" / ".teamd.lock").read_text() == lock
        assert Door(daemon.told["url"], TOKEN).get("/v1/tasks").status == 200


@pytest.mark.slow
def test_a_lock_of_a_dead_process_is_taken_over_with_the_teams_agents(tmp_path: Path):
    root = tmp_path / "teams"
    agents = [{"id": "leader", "role": "leader"}, {"id": "worker_a", "role": "worker", "model": "small"}]
    folder = used_by_pi_team(root, DEAD, agents=agents)
    with running(tmp_path, "--team", "T", "--workspace-root", str(root)) as daemon:
        lock = folder / ".teamd.lock"
        assert json.loads(lock.read_text())["pid"] == daemon.process.pid
        assert private(lock)
        team = daemon.door.get("/v1/teams/T").body["team"]
        assert [(each["id"], each["role"]) for each in team["agents"]] == [("leader", "leader"), ("worker_a", "worker")]
        daemon.door.claim(daemon.door.task(), "worker_b")
        told = daemon.door.get("/v1/inbox", agentId="worker_a").body["events"]
        assert [event["type"] for event in told] == ["task_claimed"]


@pytest.mark.slow
def test_a_lock_of_a_running_process_is_respected(tmp_path: Path):
    """pi-team's own server holds the team: it takes no lock of the kernel's, only its pid is in the file."""
    root = tmp_path / "teams"
    folder = used_by_pi_team(root, os.getpid())
    before = (folder / ".teamd.lock").read_text()
    refused = second(tmp_path, root)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "already running" in refused.stderr
    assert (folder / ".teamd.lock").read_text() == before


@pytest.mark.slow
@pytest.mark.parametrize("team", ["", "{", "[]", '{"agents": 7}', '{"agents": [{"id": "a b"}]}'])
def test_a_team_file_that_makes_no_sense_keeps_nobody_from_starting(tmp_path: Path, team: str):
    root = tmp_path / "teams"
    folder = used_by_pi_team(root, DEAD)
    (folder / "team.json").write_text(team)
    with running(tmp_path, "--team", "T", "--workspace-root", str(root)) as daemon:
        assert daemon.door.get("/v1/teams").body["teams"][0]["agents"] == []
        assert daemon.stop() == (0, "")


@pytest.mark.slow
def test_tasks_and_threads_are_there_after_a_kill(tmp_path: Path):
    root = tmp_path / "teams"

    def started() -> Running:
        return Running(tmp_path, "--team", "T", "--workspace-root", str(root))

    daemon = started()
    try:
        id = daemon.door.task("kept")
        daemon.door.claim(id, "ada")
        daemon.door.post("/v1/threads", title="kept")
        daemon.stop(signal.SIGKILL)
        assert (root / "T" / ".teamd.lock").exists(), "a killed process removes nothing"
        daemon = started()
        kept = daemon.door.get(f"/v1/tasks/{id}").body["task"]
        assert (kept["title"], kept["status"], kept["lease"]["holder"]) == ("kept", "in_progress", "ada")
        assert daemon.door.post(f"/v1/tasks/{id}/complete", agentId="ada", epoch=1).status == 200
        assert [each["title"] for each in daemon.door.get("/v1/threads/search").body["threads"]] == ["kept"]
    finally:
        daemon.stop()
