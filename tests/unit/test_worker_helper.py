"""`rookery.worker`: who a process is that was started as a worker, and what it is given."""

import os
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery import worker
from rookery.core.errors import Refused
from tests.support import ledger
from tests.support.procs import child
from tests.support.stores import prepared_home
from tests.support.workers_inside import wait_for_work


@pytest.fixture
def place(tmp_path: Path) -> Path:
    prepared_home(tmp_path / "rook")
    (tmp_path / "work").mkdir()
    return tmp_path


def environ(place: Path, name: str, **more: str) -> dict[str, str]:
    home = {"ROOK_HOME": str(place / "rook"), "ROOK_TEAM": "app"}
    return home | {"ROOK_AGENT": name, "ROOK_WORKER": "w1", "ROOK_RUN": "run-1", **more}


def test_a_process_that_is_no_worker_is_told_how_to_become_one() -> None:
    for said in ({}, {"ROOK_AGENT": "ada"}, {"ROOK_WORKER": "w1"}):
        with pytest.raises(Refused) as caught:
            worker.here(said)
        assert (caught.value.code, "rook spawn" in caught.value.hint) == ("NO_WORKER", True)


def test_a_worker_knows_its_task_its_brief_and_its_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place / "work")
    (place / "task.md").write_text("# Parse the header\n")
    with rookery.connect(team="app", home=str(place / "rook")) as team:
        made = team.call("spawn", assignment="Parse the header", root=str(place))
    told = environ(place, made["name"], ROOK_TASK=made["task"], ROOK_BRIEF=str(place / "task.md"))
    with worker.here(told) as me:
        assert (me.id, me.task, me.tree, me.brief) == ("w1", "task-0001", os.getcwd(), "# Parse the header\n")
        assert repr(me) == f"<Worker w1 {made['name']} of app>"
        given = me.next(timeout=0)
        assert given is not None
        assert (given.task, given.title) == ("task-0001", "Parse the header")
    with worker.here(environ(place, made["name"])) as me:
        assert (me.task, me.brief) == ("", "")


@pytest.mark.slow
def test_one_that_waits_in_the_lobby_is_given_nothing_until_there_is_something(place: Path) -> None:
    with rookery.connect(team="app", home=str(place / "rook")) as team:
        made = team.call("spawn", assignment="Wait", root=str(place))
        ledger.ask(f"{place}/rook/rookery.db", "UPDATE workers SET role = 'lobby', task = '', assignment = ''")
        with child(wait_for_work, None, environ=environ(place, made["name"])) as waiting:
            assert waiting.hear() == "waits"
            assert waiting.hear() == "nothing"
            waiting.say()
            waiting.finish()


def test_a_report_waits_until_it_is_written_down_that_the_worker_runs(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rookery.connect(team="app", home=str(place / "rook")) as team:
        made = team.call("spawn", assignment="Parse the header", root=str(place))
        run = team.call("worker.begin", id="w1", owner="me")["worker"]["run"]
        with worker.here(environ(place, made["name"], ROOK_RUN=run)) as me:
            refused: list[str] = []
            real = me.team.client.call

            def call(verb: str, *args: Any) -> Any:
                try:
                    return real(verb, *args)
                except Refused as error:
                    refused.append(error.code)
                    team.call("worker.started", id="w1", run=run, pid=os.getpid(), since="1")
                    raise

            monkeypatch.setattr(me.team.client, "call", call)
            assert me.fail("The header can not be parsed: there is none.")["report"] == "failed"
        assert refused == ["WORKER_STARTING"]
