"""Standing in line while a daemon runs: the one who waits is the command itself, never the daemon."""

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tests.door.conftest import ROOK, Served
from tests.support import ledger
from tests.support.procs import PATIENCE_S

ADA, BOB, CAT = ("--as", "ada"), ("--as", "bob"), ("--as", "cat")


@contextmanager
def waiting(served: Served, *argv: str) -> Generator["subprocess.Popen[str]"]:
    started = subprocess.Popen(
        [ROOK, *argv], env=served.environ, cwd=served.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield started
    finally:
        if started.poll() is None:
            started.kill()
        started.communicate()


def line(served: Served) -> list[str]:
    shown = json.loads(served("reservations", "--json").stdout)["reservations"]
    return [row["agent"] for row in shown if row["state"] == "waiting"]


@pytest.mark.slow
def test_whoever_waits_is_granted_it_and_gone_when_killed(served: Served):
    for name in ("ada", "bob", "cat"):
        assert served("join", name).returncode == 0
    before = served.commands()
    assert served(*ADA, "reserve", "src/").returncode == 0
    assert served.commands() == before + 1, "what does not wait goes through the door"
    with waiting(served, *BOB, "reserve", "src/x.py", "--wait", "60") as bob:
        while line(served) != ["bob"]:
            assert bob.poll() is None
        keeper = "SELECT keeper_pid FROM reservations WHERE state = 'waiting'"
        assert ledger.ask(str(served.home / "rookery.db"), keeper) == [(bob.pid,)], "it waits for itself"
        with waiting(served, *CAT, "reserve", "src/x.py", "--wait", "60", "--json") as cat:
            while line(served) != ["bob", "cat"]:
                assert cat.poll() is None
            bob.kill()
            bob.wait()
            assert line(served) == ["cat"], "its place went with it"
            assert served(*ADA, "release", "src/").returncode == 0
            out, err = cat.communicate(timeout=PATIENCE_S)
            assert (cat.returncode, json.loads(out)["state"], err) == (0, "held", "")
