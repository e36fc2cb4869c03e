"""Reservations and slots on the command line; a command under a slot, with its exit code and its signals."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Terminal
from tests.support import doors
from tests.support.procs import PATIENCE_S
from tests.unit.gitrepo import git, repository

ADA, BOB = ("--as", "architect"), ("--as", "implementer")


def refusal(rook: Terminal, *argv: str) -> dict[str, Any]:
    reply = rook(*argv, "--json")
    assert reply.code in (1, 2)
    assert "Traceback" not in reply.err
    return json.loads(reply.out)["error"]


def slots(rook: Terminal, name: str) -> tuple[int, list[str]]:
    (slot,) = rook.json("slot", "list", name)["slots"]
    return slot["free"], [user["agent"] for user in slot["holders"]]


# --- reservations -----------------------------------------------------------------------------------------------------


def test_a_reservation_from_taking_to_giving_back(rook: Terminal) -> None:
    told = rook.ok(*ADA, "reserve", "src/io/", "docs/*.md", "--reason", "editing the parser", "--ttl", "10m")
    assert "src/io/, docs/*.md are yours" in told
    reply = rook(*BOB, "reserve", "src/io/x.py")
    assert reply.code == 1
    assert "held by architect" in reply.err
    assert "editing the parser" in reply.err
    assert "--wait 300" in reply.err
    shown = rook.ok("reservations")
    for word in ("src/io/", "docs/*.md", "architect", "editing the parser", "held"):
        assert word in shown
    assert rook.json("reservations", "src/")["reservations"][0]["path"] == "src/io/"
    assert "Free: src/io/" in rook.ok(*ADA, "release", "src/io/")
    assert rook.json(*BOB, "reserve", "src/io/x.py", "--shared")["mode"] == "shared"
    rook.ok(*ADA, "release", "--all")
    rook.ok(*BOB, "release", "--all")
    assert "Nothing is reserved" in rook.ok("reservations")
    assert "You held nothing" in rook.ok(*BOB, "release", "--all")


def test_paths_are_taken_from_where_one_stands(rook: Terminal) -> None:
    (rook.folder / "src" / "io").mkdir(parents=True)
    rook.ok(*ADA, "reserve", str(rook.folder / "src" / "io") + "/")
    assert refusal(rook, *BOB, "reserve", "src/../src/io/x.py")["code"] == "RESERVED"
    assert refusal(rook, *BOB, "reserve", "../elsewhere")["code"] == "OUTSIDE_WORKSPACE"


def test_can_write_tells_what_to_do(rook: Terminal) -> None:
    rook.ok(*ADA, "reserve", "src/", "-m", "the parser")
    denied = rook(*BOB, "can-write", "src/x.py", "../outside", width=400)
    assert denied.code == 1
    held, outside = denied.out.splitlines()
    assert held.startswith("src/x.py may not be written: held by architect until")
    assert "(the parser)" in held
    assert held.endswith("`rook send architect -s ...` to ask, or `rook reserve src/x.py --wait 300`.")
    assert outside.endswith("Write inside the team's workspace, or ask the person to do it.")
    free = rook.ok(*BOB, "can-write", "docs/x.md")
    assert free.strip() == "docs/x.md may be written: nobody else holds it."


def test_a_hold_in_another_worktree_is_told_of(rook: Terminal) -> None:
    main, side = repository(rook.folder / "main"), rook.folder / "side"
    git("worktree", "add", "-q", str(side), cwd=main)
    rook.folder = main
    rook.ok(*ADA, "reserve", "src/")
    rook.folder = side
    told = rook(*BOB, "can-write", "src/x.py")
    assert told.code == 0
    assert "src/x.py may be written" in told.out
    assert "in another working tree" in " ".join(told.out.split())
    assert "held by architect" in told.out


@pytest.mark.slow
def test_a_wait_that_is_over(rook: Terminal) -> None:
    rook.ok(*ADA, "reserve", "src/")
    assert refusal(rook, *BOB, "reserve", "src/x", "--wait", "0.1")["code"] == "RESERVED"
    assert [row["agent"] for row in rook.json("reservations")["reservations"]] == ["architect"]
    assert "implementer waits for src/" in rook.ok(*ADA, "inbox", width=120)


def test_transfer_and_force(rook: Terminal) -> None:
    rook.ok(*ADA, "reserve", "src/")
    assert "implementer's now" in rook.ok(*ADA, "transfer", "implementer", "src/", "--done", "half of it")
    assert rook.json(*BOB, "inbox")["messages"][0]["type"] == "handoff"
    assert refusal(rook, *ADA, "release", "src/", "--force")["code"] == "NOT_YOURS"
    assert "held by implementer" in rook.ok("--as", "user", "release", "src/", "--force", "-m", "needed")


@pytest.mark.parametrize("argv", [
    ("reserve",), ("reserve", "x", "--ttl", "soon"), ("reserve", "x", "--wait", "-1"), ("reserve", "x", "--ttl", "1ms"),
    ("release",), ("transfer",), ("slot",), ("slot", "take"), ("slot", "set", "build", "many"), ("slot", "take", "a b"),
])  # fmt: skip
def test_wrong_usage(rook: Terminal, argv: tuple[str, ...]) -> None:
    reply = rook(*ADA, *argv)
    assert reply.code == 2
    assert "Traceback" not in reply.err


# --- slots ------------------------------------------------------------------------------------------------------------


def test_slots(rook: Terminal) -> None:
    assert "No slots" in rook.ok("slot", "list")
    rook.ok("--as", "user", "slot", "set", "build", "2")
    rook.ok(*ADA, "slot", "take", "build", "-m", "make test")
    rook.ok(*ADA, "slot", "take", "build")
    assert refusal(rook, *BOB, "slot", "take", "build")["code"] == "RESERVED"
    shown = rook.ok("slot", "list")
    assert "0 of 2" in shown
    assert "make test" in shown
    rook.ok(*ADA, "slot", "give", "build")
    rook.ok(*BOB, "slot", "take", "build")
    assert slots(rook, "build")[0] == 0


def test_capacities_from_the_repository_s_file(rook: Terminal) -> None:
    (rook.folder / "rookery.toml").write_text('[slots]\n"db:test" = 2\n')
    rook.ok(*ADA, "slot", "take", "db:test")
    rook.ok(*BOB, "slot", "take", "db:test")
    assert slots(rook, "db:test")[0] == 0


# --- a command under a slot -------------------------------------------------------------------------------------------


@contextmanager
def command(rook: Terminal, *argv: str) -> Generator[subprocess.Popen[str]]:
    """`rook` as a process of its own."""
    started = subprocess.Popen(
        [sys.executable, "-m", "rookery.front.cli.main", *argv], env=doors.environment(rook.folder, **rook.environ),
        cwd=rook.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield started
    finally:
        if started.poll() is None:
            started.kill()
        started.communicate()


def ended(started: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = started.communicate(timeout=PATIENCE_S)
    return started.returncode, out, err


def under(rook: Terminal, *script: str) -> tuple[str, ...]:
    return (*ADA, "slot", "take", "build", "--", sys.executable, "-c", *script)


@pytest.mark.slow
def test_the_exit_code_and_the_streams_are_the_command_s(rook: Terminal) -> None:
    with command(rook, *under(rook, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")) as run:
        assert ended(run) == (7, "out\n", "err\n")
    assert slots(rook, "build") == (1, [])
    assert [e["type"] for e in rook.json("feed")["events"]][-2:] == ["slot.take", "slot.give"]


@pytest.mark.slow
def test_words_after_the_dashes_are_the_command_s(rook: Terminal) -> None:
    with command(rook, *under(rook, "import sys; print(sys.argv[1:])", "--wait", "--", "-h", "--json")) as run:
        assert ended(run) == (0, "['--wait', '--', '-h', '--json']\n", "")


@pytest.mark.slow
@pytest.mark.parametrize(("program", "code"), [("no such program", 127), ("/", 126)])
def test_a_command_that_can_not_be_run(rook: Terminal, program: str, code: int) -> None:
    with command(rook, *ADA, "slot", "take", "build", "--", program) as run:
        assert ended(run)[0] == code
    assert slots(rook, "build") == (1, [])


# Written past the buffers: the signal may come while the first word is being flushed.
ECHO = """
import os, signal
def told(number, frame):
    os.write(1, signal.Signals(number).name.encode() + b"\\n")
    os._exit(3)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, told)
os.write(1, b"here\\n")
while True:
    signal.pause()
"""


LESSER = [pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT)]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, *LESSER])
def test_signals_are_passed_on(rook: Terminal, number: signal.Signals) -> None:
    with command(rook, *under(rook, ECHO)) as run:
        assert run.stdout
        assert run.stdout.readline() == "here\n"
        assert slots(rook, "build") == (0, ["architect"])
        run.send_signal(number)
        code, out, err = ended(run)
        assert (code, out, err) == (3, f"{number.name}\n", "")
    assert slots(rook, "build") == (1, [])


@pytest.mark.slow
def test_a_command_that_dies_of_a_signal(rook: Terminal) -> None:
    with command(rook, *under(rook, "import os; os.kill(os.getpid(), 9)")) as run:
        assert ended(run)[0] == 128 + 9
    assert slots(rook, "build") == (1, [])


WAITS = "import os, signal; print(os.getpid(), flush=True); signal.pause()"


@pytest.mark.slow
def test_the_slot_is_the_command_s_even_when_rook_is_killed(rook: Terminal) -> None:
    with command(rook, *under(rook, WAITS)) as run:
        assert run.stdout
        pid = int(run.stdout.readline())
        while rook.json("slot", "list", "build")["slots"][0]["holders"] == []:
            pass
        passed_on(rook, pid)
        run.kill()
        run.wait()
        assert slots(rook, "build") == (0, ["architect"]), "the command still runs"
        os.kill(pid, signal.SIGKILL)
        run.communicate()  # its end of the pipe closes when it is gone
    until_free(rook)


def passed_on(rook: Terminal, pid: int) -> None:
    """Until the ledger knows the command's own process as the keeper."""
    from tests.support import ledger

    while ledger.ask(f"{rook.folder}/home/rookery.db", "SELECT keeper_pid FROM reservations") != [(pid,)]:
        pass


def until_free(rook: Terminal) -> None:
    """A killed process is gone a moment after its pipes are."""
    while slots(rook, "build") != (1, []):
        pass


@pytest.mark.slow
def test_losing_the_slot_ends_the_command(rook: Terminal) -> None:
    """It is taken away in the ledger; the next renewal finds out."""
    rook.environ["ROOK_GUARD_TTL_LOW_S"] = "0.001"
    argv = (*ADA, "slot", "take", "build", "--ttl", "0.6", "--", sys.executable, "-c", WAITS)
    with command(rook, *argv) as run:
        assert run.stdout
        run.stdout.readline()
        (holder,) = rook.json("slot", "list", "build")["slots"][0]["holders"]
        assert holder["agent"] == "architect"
        rook.ok(*ADA, "slot", "give", "build")
        code, _out, err = ended(run)
        assert code == 1
        assert "no longer hold build" in err


@pytest.mark.slow
def test_it_is_renewed_while_the_command_runs(rook: Terminal) -> None:
    rook.environ["ROOK_GUARD_TTL_LOW_S"] = "0.001"
    argv = (*ADA, "slot", "take", "build", "--ttl", "0.6", "--", sys.executable, "-c", WAITS)
    with command(rook, *argv) as run:
        assert run.stdout
        pid = int(run.stdout.readline())
        ends: set[str] = set()
        while len(ends) < 5:
            (holder,) = rook.json("slot", "list", "build")["slots"][0]["holders"]
            ends.add(holder["expiresAt"])
        os.kill(pid, signal.SIGTERM)
        assert ended(run)[0] == 128 + 15


@pytest.mark.slow
def test_waiting_for_a_slot(rook: Terminal, tmp_path: Path) -> None:
    with command(rook, *under(rook, "import sys; print('first', flush=True); sys.stdin.read()")) as first:
        assert ended(first)[0] == 0
    with command(rook, *under(rook, WAITS)) as first:
        assert first.stdout
        pid = int(first.stdout.readline())
        with command(
            rook, *BOB, "slot", "take", "build", "--wait", "60", "--", sys.executable, "-c", "print(2)"
        ) as second:
            while not rook.json("slot", "list", "build")["slots"][0]["waiting"]:
                assert second.poll() is None
            os.kill(pid, signal.SIGTERM)
            assert ended(second) == (0, "2\n", "")
