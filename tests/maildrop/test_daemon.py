"""The maildrop of a running daemon, and of the command, with real files."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import doors, procs
from tests.support.doors import Running
from tests.support.drops import TEAM, inbox, join, letter, lying, names, put, until, up
from tests.support.stores import prepared_home
from tests.support.trusting import trust_repository


def rook(started: Running, folder: Path, *argv: str, code: int = 0) -> Any:
    command = [sys.executable, "-m", "rookery", *argv, "--json"]
    done = subprocess.run(command, cwd=folder, env=started.environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    prepared_home(tmp_path / "rook")
    return tmp_path


@pytest.mark.parametrize("count", [50, pytest.param(500, marks=pytest.mark.slow)])
def test_many_files_at_once(work: Path, count: int) -> None:
    """Each is taken once, in the order they were written, while the daemon answers others."""
    msgs = work / ".rook" / "msgs"
    with up(work) as started:
        join(started, "bob")
        for number in range(count):
            put(msgs, f"{number:03d}.md", letter("bob", "ada", f"number {number:03d}", msg_id=f"m{number}"))
        until(lambda: len(names(msgs / "sent")) == count, "all of them")
        assert [m["subject"] for m in inbox(started)] == [f"number {number:03d}" for number in range(count)]
        assert lying(msgs) == names(msgs / "rejected") == []


@pytest.mark.slow
def test_folders_of_the_settings_and_tx_addresses(work: Path) -> None:
    """TX's own folder, named in the repository's settings; `core`, `mesh/agent` and `mesh-id-agent`."""
    (work / "rookery.toml").write_text('team = "crew"\nmaildrop.folders = [".ai/tx/msgs"]\n')
    msgs = work / ".ai" / "tx" / "msgs"
    with up(work, ".ai/tx/msgs") as started:
        join(started, "core", "research/interviewer")
        for number, to in enumerate(
            ("core", "core/core", "research-807055/interviewer", "research-807055-interviewer")
        ):
            put(msgs, f"1102083000-task-core>x-{number}.md", letter(to, "research-1/analyst", type="task"))
        until(lambda: len(names(msgs / "sent")) == 4, "TX's folder")
        assert len(inbox(started, "core")) == len(inbox(started, "research/interviewer")) == 2


@pytest.mark.slow
def test_a_folder_outside_that_the_repository_names_is_refused(work: Path) -> None:
    outside = work.parent / f"{work.name}-outside"
    put(outside, "private.md", letter())
    (work / "rookery.toml").write_text(f'team = "crew"\nmaildrop.folders = ["{outside}"]\n')
    with up(work) as started:
        told = rook(started, work, "maildrop")
        assert told["folders"] == [str(work / ".rook" / "msgs")]
    assert names(outside) == ["private.md"]
    with up(work) as started:
        join(started, "bob")
        assert trust_repository(work, started.environ) == 1
        assert len(rook(started, work, "maildrop")["taken"]) == 1, "the user accepted exactly this folder"


@pytest.mark.slow
def test_the_command_and_the_daemon_beside_each_other(work: Path) -> None:
    """Both look at once: one message each, and every file is moved once."""
    msgs = work / ".rook" / "msgs"
    with up(work) as started:
        join(started, "bob")
        for number in range(100):
            put(msgs, f"{number:03d}.md", letter("bob", "ada", f"number {number:03d}"))
        rook(started, work, "maildrop")
        until(lambda: not lying(msgs), "all of them")
        until(lambda: len(names(msgs / "sent")) == 100, "all of them kept")
        assert len(inbox(started)) == 100


@pytest.mark.slow
def test_the_command_alone(work: Path) -> None:
    """Without a daemon; rejected files are told by the exit code."""
    msgs = work / ".rook" / "msgs"
    environ = doors.environment(work, ROOK_TEAM=TEAM)

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rookery", *argv]
        return subprocess.run(command, cwd=work, env=environ, capture_output=True, text=True, timeout=60)

    assert "Nothing lies in" in run("maildrop").stdout
    assert not (work / ".rook").exists(), "nobody asked for a folder"
    run("join", "bob")
    put(msgs, "good.md", letter("bob", "ada", "Hello"))
    assert run("maildrop").returncode == 0
    put(msgs, "bad.md", letter("nobody", "ada", "Hello"))
    done = run("maildrop")
    assert done.returncode == 1
    assert "bad.md: rejected. No agent named nobody" in done.stdout


@pytest.mark.slow
def test_following_without_a_daemon(work: Path) -> None:
    msgs = work / ".rook" / "msgs"
    environ = doors.environment(work, ROOK_TEAM=TEAM)
    joined = [sys.executable, "-m", "rookery", "join", "bob"]
    subprocess.run(joined, cwd=work, env=environ, check=True, capture_output=True, timeout=60)
    msgs.mkdir(parents=True)
    heeds = ["env", "--default-signal=INT"]  # also where the tests themselves run in the background, and do not
    command = [*heeds, sys.executable, "-m", "rookery", "maildrop", "--follow", "--json"]
    with subprocess.Popen(command, cwd=work, env=environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            for number in range(3):
                put(msgs, f"{number}.md", letter("bob", "ada", f"number {number}"))
                assert process.stdout
                told = json.loads(process.stdout.readline())
                assert (told["file"], told["state"], told["to"]) == (f"{number}.md", "sent", ["bob"])
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(procs.PATIENCE_S) == 130


@pytest.mark.slow
def test_switched_off_it_takes_nothing(work: Path) -> None:
    msgs = work / ".rook" / "msgs"
    with up(work, "other", ROOK_MAILDROP_ON="false", ROOK_MAILDROP_FOLDERS=str(work / "other")) as started:
        join(started, "bob")
        put(msgs, "a.md", letter())
        put(work / "other", "b.md", letter())
        until(lambda: names(work / "other" / "sent"), "the folder that is named")
        assert lying(msgs) == ["a.md"]
