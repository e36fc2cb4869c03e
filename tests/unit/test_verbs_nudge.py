"""A turn of a worker that ends without a report is kept from ending, once."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support import ledger
from tests.support.procs import PATIENCE_S, environment
from tests.support.reporting import Shop
from tests.support.stage import Build
from tests.support.stores import prepared_home


@pytest.fixture
def shop(build: Build, tmp_path: Path) -> Shop:
    return Shop(build(), tmp_path)


def stopped(shop: Shop, id: str) -> bool:
    """Was the end of this turn held, and that written down?"""
    offered = shop.call(id, "turn.offer", moment="stop")
    if offered["nudge"]:
        assert offered["hold"] is True
        assert f"You are {id}, a worker" in offered["text"]
        shop.call(id, "turn.told", moment="stop", hold=True, nudge=True)
    return offered["nudge"]


def test_once_and_then_it_may_end(shop: Shop) -> None:
    id = shop.worker()
    assert shop.call(id, "turn.offer", moment="stop")["nudge"], "it only counts once it was shown"
    assert [stopped(shop, id) for _ in range(3)] == [True, False, False]
    assert [each["ref"] for each in shop.stage.events("worker.nudged")] == [id]


@pytest.mark.slow
def test_who_has_said_something_is_let_go(shop: Shop) -> None:
    asking, done, failed = shop.worker(), shop.worker(), shop.worker()
    question = shop.call(asking, "ask", question="Which format?")["id"]
    shop.done(done)
    shop.call(failed, "fail", reason="the compiler is not installed")
    assert [stopped(shop, each) for each in (asking, done, failed)] == [False, False, False]
    shop.stage.call("answer", id=question, said="JSON")
    mail = shop.call(asking, "turn.offer", moment="stop")
    assert (mail["hold"], mail["nudge"]) == (True, False), "what waits comes first"
    shop.call(asking, "turn.told", moment="stop", hold=True, shown=mail["shown"], upto=mail["upto"])
    assert stopped(shop, asking)


def test_others_are_not_spoken_to(shop: Shop) -> None:
    shop.stage.join("ada")
    assert shop.stage.call("turn.offer", "ada", moment="stop")["nudge"] is False
    id = shop.worker(as_="ada")
    assert shop.call(id, "turn.offer", moment="prompt")["nudge"] is False
    shop.stage.call("stop", "ada", id=id)
    assert shop.call(id, "turn.offer", moment="stop")["nudge"] is False, "it was told to wrap up"


@pytest.mark.slow
def test_who_waits_for_workers_of_its_own_is_let_go(shop: Shop) -> None:
    parent = shop.worker()
    with closing(ledger.look(shop.stage.store.location)) as db:
        db.execute("UPDATE workers SET profile = '{\"can_spawn\": true}'")
    child = shop.spawn("The tests", as_=shop.caller(parent))
    shop.start(child)
    assert not stopped(shop, parent)
    shop.done(child)
    mail = shop.call(parent, "turn.offer", moment="stop")
    shop.call(parent, "turn.told", moment="stop", hold=True, shown=mail["shown"], upto=mail["upto"])
    assert stopped(shop, parent)


def test_a_new_run_is_told_anew(shop: Shop) -> None:
    id = shop.worker()
    assert stopped(shop, id)
    shop.stage.call("respawn", id=id)
    shop.over(id, "killed")
    shop.start(id)
    mail = shop.call(id, "turn.offer", moment="stop")
    if mail["shown"]:
        shop.call(id, "turn.told", moment="stop", hold=True, shown=mail["shown"], upto=mail["upto"])
    assert stopped(shop, id)


# -- through the real program ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_hook_of_a_real_program_is_held_once(tmp_path: Path) -> None:
    home = prepared_home(tmp_path / "home")
    environ = environment() | {"HOME": str(tmp_path), "ROOK_HOME": str(home), "ROOK_TEAM": "crew"}

    def rook(*argv: str, stdin: str = "", agent: str = "") -> str:
        named = {"ROOK_AGENT": agent, "ROOK_RUN": "run-1"} if agent else {}
        done = subprocess.run(
            [sys.executable, "-m", "rookery", *argv], cwd=tmp_path, env=environ | named, input=stdin, text=True,
            capture_output=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(agent: str) -> str:
        event = {"hook_event_name": "Stop", "session_id": "s-1", "cwd": str(tmp_path)}
        out = rook("hook", "claude", stdin=json.dumps(event), agent=agent)
        return json.loads(out).get("reason", "") if out else ""

    for name in ("ada", "bob"):
        rook("join", name)
    with closing(ledger.look(f"{home}/rookery.db")) as db:
        ((team, agent),) = db.execute("SELECT team, id FROM agents WHERE name = 'ada'")
        db.execute(
            "INSERT INTO workers (team, n, id, agent, kind, host, backend, machine, root, task, asked_by, state, run, "
            "created_at, at) VALUES (?, 1, 'w1', ?, 'default', 'claude', 'tmux', 'm', '/', 'task-0001', ?, 'running', "
            "'run-1', 0, 0)", (team, agent, agent),
        )  # fmt: skip
    assert stop("bob") == "", "who is no worker may end its turn"
    assert "rook done --outcome" in stop("ada")
    assert stop("ada") == "", "once"
