"""The folder of a worker: private, whole files, nothing through a symlink, nothing written that did not change."""

import json
import os
from pathlib import Path

import pytest

from rookery.core.errors import RookError
from rookery.runtime import ndjson, workerfiles
from rookery.runtime.workerfiles import WorkerFiles


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "rook"


def test_the_folder_and_what_is_in_it_are_private_under_any_umask(home: Path) -> None:
    before = os.umask(0)
    try:
        made = WorkerFiles(str(home), "app", "w1")
        made.write(workerfiles.TOKEN, "secret")
        made.write_json(workerfiles.STATUS, {"id": "w1"})
        made.event({"n": 1})
    finally:
        os.umask(before)
    assert Path(made.folder) == home / "teams" / "app" / "workers" / "w1"
    for name in (workerfiles.TOKEN, workerfiles.STATUS, workerfiles.EVENTS):
        assert os.stat(made.path(name)).st_mode & 0o777 == 0o600
    folder = Path(made.folder)
    assert [each.stat().st_mode & 0o777 for each in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3


@pytest.mark.slow
def test_what_did_not_change_is_not_written(home: Path) -> None:
    made = WorkerFiles(str(home), "app", "w1")
    assert made.write_json(workerfiles.STATUS, {"id": "w1", "status": "idle"}) is True
    first = os.stat(made.path(workerfiles.STATUS)).st_ino
    assert made.write_json(workerfiles.STATUS, {"status": "idle", "id": "w1"}) is False
    assert os.stat(made.path(workerfiles.STATUS)).st_ino == first
    assert made.write_json(workerfiles.STATUS, {"id": "w1", "status": "busy"}) is True
    said = json.loads(made.read(workerfiles.STATUS))
    assert said == {"schemaVersion": "1.0.0", "id": "w1", "status": "busy"}


@pytest.mark.parametrize("level", ["app", "workers", "w1"])
def test_a_symlink_on_the_way_is_refused_and_nothing_is_written_behind_it(home: Path, level: str) -> None:
    target = home.parent / "elsewhere"
    target.mkdir()
    below = {"app": home / "teams", "workers": home / "teams" / "app", "w1": home / "teams" / "app" / "workers"}
    home.mkdir(0o700)
    below[level].mkdir(parents=True)
    (below[level] / level).symlink_to(target)
    with pytest.raises(RookError):
        WorkerFiles(str(home), "app", "w1")
    assert workerfiles.of(str(home), "app", "w1") is None
    assert list(target.iterdir()) == []


def test_a_symlink_in_the_place_of_a_file_is_replaced_and_never_read(home: Path) -> None:
    secret = home.parent / "secret"
    secret.write_text("mine")
    made = WorkerFiles(str(home), "app", "w1")
    os.symlink(secret, made.path(workerfiles.TASK))
    assert made.read(workerfiles.TASK) == ""
    assert made.write(workerfiles.TASK, "mine") is True, "the same words, and another file"
    assert (made.read(workerfiles.TASK), secret.read_text()) == ("mine", "mine")
    assert not os.path.islink(made.path(workerfiles.TASK))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(home: Path, name: str) -> None:
    for team, id in ((name, "w1"), ("app", name)):
        with pytest.raises(RookError):
            WorkerFiles(str(home), team, id)
    with pytest.raises(RookError):
        WorkerFiles(str(home), "app", "w1").write(name, "x")


@pytest.mark.parametrize(
    ("said", "code"), [("0\n", 0), ("137", 137), ("", None), ("-1", None), ("٣", None), ("1x", None)]
)
def test_the_code_that_a_program_ended_with(home: Path, said: str, code: int | None) -> None:
    made = WorkerFiles(str(home), "app", "w1")
    assert made.exit_code() is None
    made.write(workerfiles.EXIT, said)
    assert made.exit_code() == code
    made.forget(workerfiles.EXIT, "never-there")
    assert made.exit_code() is None


def test_the_tail_of_a_terminal_is_its_last_200_lines(home: Path) -> None:
    made = WorkerFiles(str(home), "app", "w1")
    made.write_tail("\n".join(f"line {number}" for number in range(500)) + "\n\n\n")
    lines = made.read(workerfiles.TAIL).splitlines()
    assert (len(lines), lines[0], lines[-1]) == (200, "line 300", "line 499")


def test_events_are_lines_that_can_be_followed(home: Path) -> None:
    made = WorkerFiles(str(home), "app", "w1")
    made.event({"type": "started", "text": "a\nb"})
    follower = ndjson.Follower(made.path(workerfiles.EVENTS))
    assert [json.loads(line) for line in follower.read()] == [{"type": "started", "text": "a\nb"}]
    follower.close()
    assert workerfiles.of(str(home), "app", "w2") is None
