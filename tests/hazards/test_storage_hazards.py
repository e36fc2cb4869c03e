"""A ledger that is gone, a disk or a process at its limits: a clear error, no traceback, and no empty ledger (H19)."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import rookery
from rookery.core.errors import StoreCorrupt, StoreUnusable
from rookery.runtime import places
from tests.support import crew
from tests.support.procs import PATIENCE_S, digest
from tests.support.stage import Stage
from tests.support.stores import prepared_home

ROOK = str(Path(sys.executable).parent / "rook")
UNREACHABLE = 3


@pytest.fixture
def home(tmp_path: Path) -> str:
    return prepared_home(tmp_path / "h")


def rook(home: str, *argv: str, cwd: str | None = None, **more: Any) -> "subprocess.CompletedProcess[str]":
    environ = {"PATH": os.environ["PATH"], "HOME": home, "ROOK_HOME": home, "ROOK_TEAM": "crew"}
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.run(
        [ROOK, *argv], env=environ, cwd=cwd or os.path.dirname(home), stdin=subprocess.DEVNULL, text=True,
        timeout=PATIENCE_S, check=False, **given,
    )  # fmt: skip


def fill(home: str) -> str:
    with crew.house(home) as team:
        team.join("ada").send("ada", "Keep this")
    return f"{home}/rookery.db"


def empty(path: str) -> None:
    os.truncate(path, 0)
    for each in (f"{path}-wal", f"{path}-shm"):
        Path(each).unlink(missing_ok=True)


# --- a ledger that is gone --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [empty, os.unlink], ids=["empty", "removed"])
def test_h19_a_lost_ledger_is_named_and_not_made_anew(home: str, loss: Callable[[str], None]) -> None:
    path = fill(home)
    loss(path)
    before = digest(path) if os.path.exists(path) else ""
    for _ in range(2):
        with pytest.raises(StoreCorrupt) as caught, crew.house(home) as team:
            team.call("events")
        assert path in caught.value.message
        assert (digest(path) if os.path.exists(path) else "") == before
    said = rook(home, "task", "list")
    assert (said.returncode, path in said.stderr, "Traceback" in said.stderr) == (UNREACHABLE, True, False)
    os.unlink(f"{path}.made")  # as the error says, for whoever wants to begin anew
    with crew.house(home) as team:
        assert team.call("events")["events"] == []


def test_a_first_start_that_was_interrupted_is_made_good(tmp_path: Path) -> None:
    """The file is there and empty, and nothing was ever kept in it."""
    home = str(tmp_path / "new")
    places.prepare_home(home)
    places.create_private(f"{home}/rookery.db")
    assert fill(home)
    with crew.house(home) as team:
        assert team.call("events")["events"]


@pytest.mark.parametrize("loss", ["removed", "replaced"])
def test_a_home_that_goes_while_it_is_open_is_told(home: str, loss: str) -> None:
    fill(home)
    with crew.house(home) as team:
        me = team.agent("ada")
        shutil.rmtree(home)
        if loss == "replaced":
            prepared_home(Path(home))
        for call in (me.inbox, lambda: me.send("ada", "Lost"), lambda: team.call("events")):
            with pytest.raises(StoreUnusable) as caught:
                call()
            assert caught.value.code == "STORE_GONE"
        with pytest.raises(StoreUnusable) as caught, crew.house(home) as another:  # as a daemon opens more connections
            another.call("events")
        assert caught.value.code == "STORE_GONE"
        assert os.path.exists(home) is (loss == "replaced"), "nothing was made in its place"


# --- limits of the machine --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("argv", [("task", "list"), ("task", "list", "--json"), ("--help",), ("feed",)], ids=" ".join)
def test_a_full_disk_under_the_output_is_a_sentence(home: str, argv: tuple[str, ...]) -> None:
    fill(home)
    with open("/dev/full", "w") as full:
        said = rook(home, *argv, stdout=full)
        both = rook(home, *argv, stdout=full, stderr=full)
    assert said.returncode == both.returncode == UNREACHABLE
    assert said.stderr.startswith("rook: ")
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize("limit", [5, 6, 7])
def test_too_few_files_are_a_sentence(home: str, limit: int) -> None:
    fill(home)
    said = rook(home, "task", "list", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    assert "Traceback" not in said.stderr
    assert said.returncode in (0, UNREACHABLE)
    assert said.returncode == 0 or said.stderr.startswith("rook: ")


def test_a_home_that_may_not_be_written_is_said_to_be_so(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write everywhere, so the system's answers are given here."""
    path = fill(home)
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(apsw, "Connection", cannot_open)
    with pytest.raises(rookery.RookError) as caught, crew.house(home) as team:
        team.call("events")
    assert (caught.value.code, path in caught.value.message) == ("STORE_READ_ONLY", True)


def cannot_open(*_args: object) -> None:
    raise apsw.CantOpenError("unable to open database file")


def test_a_missing_folder_of_logs_keeps_no_command_from_working(home: str) -> None:
    fill(home)
    os.rmdir(f"{home}/logs")
    assert rook(home, "task", "add", "More").returncode == 0
    said = rook(home, "up", "--port", "0")
    assert (said.returncode, "Traceback" in said.stderr) == (UNREACHABLE, False)


# --- what a terminal is shown -----------------------------------------------------------------------------------------

HOSTILE = "\x1b]0;owned\x07\x1b[31mred"


@pytest.mark.parametrize(
    "argv",
    [("task", "list", f"--{HOSTILE}"), (HOSTILE,), ("task", HOSTILE), ("task", "show", HOSTILE),
     ("task", "list", "--status", HOSTILE), ("import", HOSTILE), ("--as", HOSTILE, "inbox"), ("--team", HOSTILE, "who"),
     ("doctor",), ("who",), ("health",), ("config",), ("trust",), ("trust", "--yes"), ("init", "--dry-run"),
     ("up", "-x"), ("team", "show"), ("status",), ("kinds",), ("lenses",), ("logs",), ("backup", HOSTILE)],
    ids=lambda argv: ascii(" ".join(argv)),
)  # fmt: skip
def test_h15_escape_codes_of_arguments_and_folders_stay_out(tmp_path: Path, argv: tuple[str, ...]) -> None:
    folder = tmp_path / HOSTILE
    folder.mkdir()
    written = {("config",): "unknown = 1\n", ("trust", "--yes"): "team = 'x'\n[spawn]\nby_message = true\n"}
    (folder / "rookery.toml").write_text(written.get(argv, ""))
    said = rook(str(folder / "home"), *argv, cwd=str(folder))
    assert "\x1b" not in said.stdout + said.stderr
    assert "\x07" not in said.stdout + said.stderr
    assert "Traceback" not in said.stderr


# --- text that no encoding carries ------------------------------------------------------------------------------------

HALF = "half \ud83d of it"
DEEP: Any = {"a": [{"b": {HALF: 1}}]}


@pytest.mark.parametrize(
    ("verb", "args"),
    [
        ("send", {"to": ["ada"], "subject": "x", "payload": DEEP}),
        ("send", {"to": ["ada"], "subject": HALF}),
        ("join", {"name": "bob", "terminal": {"kind": HALF}}),
        ("plan.new", {"goal": "x", "tasks": [{"title": HALF}]}),
        ("evidence.take", {"agent": "ada", "found": [{"kind": "command", "title": HALF}]}),
    ],
)
def test_half_a_character_is_refused_wherever_it_stands(tmp_path: Path, verb: str, args: dict[str, Any]) -> None:
    stage = Stage(tmp_path / "rookery.db")
    stage.join("ada")
    error = stage.refused(verb, "ada", **args)
    assert isinstance(error, rookery.BadInput)
    assert error.http_status == 422
    stage.close()


# --- a journal that was cut -------------------------------------------------------------------------------------------


def test_what_is_left_of_a_cut_journal_is_whole_and_the_rest_is_not_missed(home: str, tmp_path: Path) -> None:
    """As docs/architecture.md says: each commit is whole or absent, and that the last ones are absent is not seen."""
    path = f"{home}/rookery.db"
    copy = prepared_home(tmp_path / "copy")
    with crew.house(home) as team:
        me = team.join("ada")
        for number in range(20):
            me.send("ada", str(number))
        for name in ("rookery.db", "rookery.db-wal"):
            shutil.copy(f"{home}/{name}", f"{copy}/{name}")  # while it is open, as a crash leaves it
    assert os.path.getsize(path)
    wal = f"{copy}/rookery.db-wal"
    os.truncate(wal, os.path.getsize(wal) // 2)
    with crew.house(copy) as team:
        left = [each["subject"] for each in team.agent("ada").call("inbox", all=True)["messages"]]
        assert 0 < len(left) < 20
        assert sorted(map(int, left)) == list(range(len(left))), "the first ones, each of them whole"
        assert team.call("events")["newest"] > 0
