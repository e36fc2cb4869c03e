"""Landing from end to end: a real daemon, a real repository, and kills at every point of it."""

import signal
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from rookery import app
from rookery.runtime import process
from rookery.store import faults
from tests.support import ledger
from tests.support.crew_rows import RealHouse, Worker, history, landings
from tests.support.doors import Running, environment, running
from tests.support.panes import until
from tests.support.stores import prepared_home
from tests.unit.gitrepo import git, repository

POINTS = [point for point in faults.BEYOND if point.startswith("land_")]
# What a check is that runs until it is told otherwise.
LONG = [sys.executable, "-c", "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"]


class Yard:
    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.root = repository(folder / "repo")
        self.settings = {"ROOK_TEAM": "crew", "ROOK_LAND_AUTO": "true", "ROOK_LAND_RETRY_S": "0.05", **settings}
        prepared_home(environment(folder)["ROOK_HOME"])
        self.house = app.open_house(cwd=str(self.root), environ=environment(folder, **self.settings))
        self.crew = RealHouse(self.house)

    def change(self, name: str) -> str:
        worker = Worker(self.crew, self.root, name, machine=process.host_name())
        return worker.done(self.crew.call("task.add", title=f"Task of {name}")["id"], **{f"{name}__txt": "x\n"})

    def up(self, **more: str) -> AbstractContextManager[Running]:
        return running(self.folder, **self.settings, **more)

    def landed(self) -> bool:
        return set(landings(self.crew).values()) == {"landed"}

    def lines(self) -> list[str]:
        return sorted(line for line in history(self.root) if line.startswith("Land "))

    def close(self) -> None:
        path = self.crew.store.location
        self.house.close()
        assert ledger.faults(path) == []


@pytest.fixture
def yards(tmp_path: Path) -> Generator[list[Yard]]:
    made: list[Yard] = []
    yield made
    for each in made:
        each.close()


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_daemon_killed_at_any_point_of_a_landing_leaves_one_landing_a_change(
    tmp_path: Path, yards: list[Yard], point: str
) -> None:
    yard = Yard(tmp_path, ROOK_LAND_CHECK="true")
    yards.append(yard)
    made = [yard.change(name) for name in ("ada", "bob", "cy")]
    with yard.up(program="tests.support.dying", DIES_AT=point, DIES_AT_TIME="2") as daemon:
        assert daemon.wait() == -signal.SIGKILL
    with yard.up():
        until(yard.landed, lambda: landings(yard.crew))
    assert landings(yard.crew) == dict.fromkeys(made, "landed")
    assert yard.lines() == [f"Land {id}: Task of {name}" for id, name in zip(made, ("ada", "bob", "cy"), strict=True)]
    assert git("status", "--porcelain", cwd=yard.root) == ""


@pytest.mark.slow
def test_a_check_that_outlives_its_daemon_is_ended_by_the_next_one(tmp_path: Path, yards: list[Yard]) -> None:
    pid = tmp_path / "pid"
    yard = Yard(tmp_path)
    yards.append(yard)
    change = yard.change("ada")
    check = tmp_path / "config" / "rookery" / "config.toml"
    check.parent.mkdir(parents=True)
    check.write_text(f"[land]\ncheck = {[*LONG, str(pid)]!r}\n")
    with yard.up(XDG_CONFIG_HOME=str(tmp_path / "config")) as daemon:
        until(lambda: pid.exists() and pid.read_text(), "the check to run")
        daemon.process.kill()
        daemon.wait()
    left = int(pid.read_text())
    assert process.identify(left) is not None, "it goes on without anyone"
    with yard.up():
        until(yard.landed, lambda: landings(yard.crew))
        until(lambda: process.identify(left) is None, "the stray to end")
    assert landings(yard.crew) == {change: "landed"}


@pytest.mark.slow
def test_a_person_lands_looks_and_takes_back_with_commands(tmp_path: Path, yards: list[Yard]) -> None:
    from rookery.front.cli.call import Call
    from rookery.front.cli.router import run

    yard = Yard(tmp_path, ROOK_LAND_AUTO="false")
    yards.append(yard)
    change = yard.change("ada")

    def rook(*argv: str) -> str:
        reply = run(
            Call(list(argv), str(yard.root), yard.crew.world.environ, lambda: "", lambda _: None, 120, False, peer=0)
        )
        assert reply.code == 0, reply.err
        return reply.out

    assert change in rook("changes")
    assert "ada.txt" in rook("changes", "show", change)
    assert "queued" in rook("land", "add", change)
    with yard.up():
        until(yard.landed, lambda: rook("land", "list"))
        assert "landed" in rook("land", "list")
        assert "undoing" in rook("land", "undo", "land-0001")
        until(lambda: "undone" in rook("land", "list"), lambda: rook("land", "list"))
    assert not (yard.root / "ada.txt").exists()
