"""Files of workers that are over: whoever takes them away holds the worker, so that nothing begun anew is taken."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rookery.keeper import tidying
from rookery.runtime import starting
from tests.support.reporting import SUMMARY, TEST, Shop
from tests.support.stage import DAY, Build, Stage
from tests.unit.gitrepo import git

KEEPER = "here:7:t7"
OTHER = "here:8:t8"


class Homed(Shop):
    """Its worktrees lie where a supervisor makes them."""

    @property
    def home(self) -> Path:
        return Path(self.stage.store.location).parent

    def tree(self, id: str) -> Path:
        return self.home / "teams" / "crew" / "workers" / id / "workspace"


class Calls:
    """The verbs as a keeper calls them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def teams(self) -> list[str]:
        return ["crew"]

    async def call(self, team: str, verb: str, args: Mapping[str, Any]) -> Any:
        return self._stage.call(verb, "system", **args)


@pytest.fixture
def shop(build: Build, tmp_path: Path) -> Homed:
    shop = Homed(build(), tmp_path)
    shop.stage.prober.states |= {(7, "t7"): "running", (8, "t8"): "running"}
    return shop


def over(shop: Homed) -> str:
    """A worker that reported, ended and is to be forgotten; it holds nothing that is nowhere else."""
    id = shop.worker()
    shop.call(id, "done", outcome="completed", summary=SUMMARY, tests=[TEST], unchanged="the parser was right already")
    shop.over(id)
    shop.stage.call("delete", id=id)
    return id


def away(shop: Homed, id: str, owner: str = KEEPER, **more: Any) -> bool:
    return shop.stage.call("worker.away", "system", id=id, owner=owner, **more)["held"]


def begun(shop: Homed, id: str) -> dict[str, Any] | None:
    due = shop.stage.call("worker.due", "system")["begin"]
    order = shop.stage.call("worker.begin", "system", id=id, owner=KEEPER)["worker"]
    assert (id in due) == (order is not None), "what is called due can be begun"
    return order


@pytest.mark.slow
def test_nothing_is_begun_while_files_are_taken_away_and_then_without_the_old_worktree(shop: Homed):
    id = over(shop)
    assert away(shop, id, forget=True)
    shop.stage.call("respawn", id=id)
    assert begun(shop, id) is None, "not even by the process that holds it"
    assert shop.stage.call("worker.forget", "system", id=id)["forgotten"] is False
    assert away(shop, id, over=True) is False
    order = begun(shop, id)
    assert order is not None
    assert (order["tree"], order["base"]) == ("", "")


@pytest.mark.slow
def test_without_a_hold_it_begins_at_once(shop: Homed):
    id = over(shop)
    shop.stage.call("respawn", id=id)
    assert away(shop, id, forget=True) is False, "it is wanted: nothing of it is taken away"
    assert begun(shop, id) is not None


@pytest.mark.slow
def test_one_process_holds_it_at_a_time_and_one_that_is_gone_holds_nothing(shop: Homed):
    id = over(shop)
    assert away(shop, id)
    assert not away(shop, id, OTHER)
    assert away(shop, id), "its own again"
    shop.stage.call("respawn", id=id)
    assert away(shop, id, OTHER, over=True) is False
    assert begun(shop, id) is None, "nobody else lets go of it"
    shop.stage.prober.states[(7, "t7")] = "dead"
    assert begun(shop, id) is not None


@pytest.mark.slow
def test_one_that_is_not_to_be_forgotten_any_more_is_not_held_for_it(shop: Homed):
    id = shop.worker()
    shop.call(id, "done", outcome="completed", summary=SUMMARY, tests=[TEST], unchanged="the parser was right already")
    shop.over(id)
    assert away(shop, id, forget=True) is False
    assert away(shop, "w99", forget=True), "of one that has no row there may be a folder"


def test_a_start_that_failed_holds_nothing_up(shop: Homed):
    id = shop.spawn()
    shop.begin(id)
    shop.over(id, "not-started")
    if shop.card(id)["state"] == "ended":
        shop.stage.call("respawn", id=id)
    assert begun(shop, id) is not None


def _in_between(shop: Homed, id: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """While a folder is put away, its worker is asked for anew; what became of that."""
    seen: list[Any] = []
    real: Callable[..., str] = starting.put_away

    def meanwhile(home: str, team: str, worker: str) -> str:
        shop.stage.call("respawn", id=id)
        seen.append(begun(shop, id))
        if seen[0] is not None:  # as a supervisor would
            (shop.tree(id) / "new").parent.mkdir(parents=True, exist_ok=True)
            (shop.tree(id) / "new").write_text("what the new run made")
        return real(home, team, worker)

    monkeypatch.setattr(starting, "put_away", meanwhile)
    return seen


@pytest.mark.slow
def test_the_tidier_takes_nothing_away_that_a_new_run_has(shop: Homed, monkeypatch: pytest.MonkeyPatch):
    id = over(shop)
    seen = _in_between(shop, id, monkeypatch)
    tidier = tidying.Tidier(Calls(shop.stage), str(shop.home), lambda _team: True, owner=KEEPER)
    asyncio.run(tidier.look())
    assert seen == [None], "the new run waits"
    assert not os.path.exists(shop.tree(id))
    order = begun(shop, id)
    assert order is not None, "and begins when its old files are gone"
    assert order["tree"] == ""


@pytest.mark.slow
def test_without_the_hold_a_new_run_would_have_been_begun_in_between(shop: Homed, monkeypatch: pytest.MonkeyPatch):
    """The negative control of the test above."""
    id = over(shop)
    seen = _in_between(shop, id, monkeypatch)

    class Careless(Calls):
        async def call(self, team: str, verb: str, args: Mapping[str, Any]) -> Any:
            return {"held": True, "open": []} if verb == "worker.away" else await super().call(team, verb, args)

    tidier = tidying.Tidier(Careless(shop.stage), str(shop.home), lambda _team: True, owner=KEEPER)
    asyncio.run(tidier.look())
    assert seen != [None]


# -- names of its commits ----------------------------------------------------------------------------------------------


def reported(shop: Homed) -> str:
    id = shop.worker()
    shop.done(id)
    shop.over(id)
    return id


def refs(shop: Homed) -> list[str]:
    return git("for-each-ref", "--format=%(refname)", "refs/rookery", cwd=shop.root).split()


def tidy(shop: Homed, *, after: int = 2 * DAY) -> None:
    shop.stage.clock.pass_time(after)
    tidier = tidying.Tidier(Calls(shop.stage), str(shop.home), lambda _team: True, owner=KEEPER)
    asyncio.run(tidier.look())


@pytest.mark.slow
def test_what_nobody_has_decided_about_keeps_its_name_when_its_worker_is_forgotten(shop: Homed):
    id = reported(shop)
    (kept,) = refs(shop)
    tidy(shop)
    assert not os.path.exists(shop.tree(id).parent)
    assert refs(shop) == [kept]


@pytest.mark.slow
def test_a_change_set_that_was_dropped_loses_its_name_with_its_worker(shop: Homed):
    reported(shop)
    landing = shop.stage.call("land.add", change="change-0001")["id"]
    shop.stage.call("land.drop", id=landing)
    assert len(refs(shop)) == 1, "while the worker is there it can be put in line again"
    tidy(shop)
    assert refs(shop) == []


@pytest.mark.slow
def test_what_is_in_line_keeps_its_name_even_if_its_worker_is_deleted(shop: Homed):
    id = reported(shop)
    shop.stage.call("land.add", change="change-0001")
    shop.stage.call("delete", id=id)
    tidy(shop, after=1)
    assert len(refs(shop)) == 1


@pytest.mark.slow
def test_a_worker_that_is_deleted_by_hand_takes_what_nobody_wanted_with_it(shop: Homed):
    id = reported(shop)
    shop.stage.call("delete", id=id)
    tidy(shop, after=1)
    assert not os.path.exists(shop.tree(id).parent)
    assert refs(shop) == []


@pytest.mark.slow
def test_one_that_is_wanted_again_meanwhile_keeps_the_names_of_its_commits(
    shop: Homed, monkeypatch: pytest.MonkeyPatch
):
    id = reported(shop)
    shop.stage.call("delete", id=id)
    _in_between(shop, id, monkeypatch)
    tidy(shop, after=1)
    assert len(refs(shop)) == 1
