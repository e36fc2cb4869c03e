"""Rookery without what only Linux has: sockets' flags, netlink, peer credentials, pidfds, /proc."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.doors import environment, running
from tests.support.procs import PATIENCE_S

pytestmark = pytest.mark.slow

# Two agents of one process: whoever waits is notified, and mail, tasks and reservations work.
PROGRAM = """
import json, threading
from tests.support import no_linux
no_linux.hide()
import rookery

with rookery.connect(team="crew") as team:
    ada, bob = team.join("ada"), team.join("bob")
    got = []
    waiter = threading.Thread(target=lambda: got.extend(bob.wait(timeout=60)))
    waiter.start()
    sent = ada.send("bob", "Look")
    waiter.join()
    with team.client.listen("bob") as listener:
        woken = ada.send("bob", "Again").recipients[0].state
        heard = listener.wait(60)
    team.add_task("Work", resources=["src/"])
    with ada.claim("task-0001") as lease:
        lease.complete("done")
    with bob.reserve("docs/"):
        held = team.call("reservations")["reservations"]
    print(json.dumps({
        "got": [each.subject for each in got], "woken": woken, "heard": heard, "held": len(held),
        "who": sorted(each["name"] for each in team.who()),
    }))
"""


def test_python_handles_and_notifications_work_without_linux(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True,
        timeout=PATIENCE_S,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        "got": ["Look"],
        "woken": "woken",
        "heard": True,
        "held": 1,
        "who": ["ada", "bob"],
    }


def rook(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = environment(folder) | {"ROOK_TEAM": "crew"}
    command = [sys.executable, "-m", "tests.support.no_linux", *words]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE_S)


def test_commands_work_without_linux(tmp_path: Path) -> None:
    for words in (
        ("join", "ada"), ("join", "bob"), ("--as", "ada", "send", "bob", "-s", "Look"), ("--as", "bob", "inbox"),
        ("who", "--all"), ("--as", "ada", "task", "add", "Work"), ("--as", "ada", "task", "claim", "task-0001"),
        ("health",), ("doctor",),
    ):  # fmt: skip
        run = rook(tmp_path, *words)
        assert "Traceback" not in run.stderr, (words, run.stderr)
        assert run.returncode == 0 or words in (("health",), ("doctor",)), (words, run.stdout, run.stderr)


def test_a_daemon_serves_without_linux(tmp_path: Path) -> None:
    with running(tmp_path, program="tests.support.no_linux") as daemon:
        answer = daemon.door.of("crew").post("/v1/call/join", name="ada")
        assert (answer.status, answer.body["name"]) == (200, "ada")
        sent = daemon.door.of("crew").post("/v1/messages", agentId="ada", to=["bob"], subject="Look")
        assert sent.status == 201
        assert daemon.stop() == (0, "")


def test_every_module_can_be_imported_without_linux(tmp_path: Path) -> None:
    code = (
        "import pkgutil, importlib\n"
        "from tests.support import no_linux\n"
        "no_linux.hide()\n"
        "import rookery\n"
        "for each in pkgutil.walk_packages(rookery.__path__, 'rookery.'):\n"
        "    if not each.name.endswith('__main__'):\n"
        "        importlib.import_module(each.name)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
