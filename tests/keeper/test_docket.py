"""From reports to a merged branch: ten workers finish in any order, and a person clears the docket with one command an
item, through the command line; the lander takes what was approved, and nothing else."""

import json
import random
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rookery.front.cli.call import Call
from rookery.front.cli.router import run
from rookery.runtime import repository
from tests.keeper.test_lander import Yard
from tests.support.crew_rows import landings
from tests.support.reporting import SUMMARY, TEST, Shop
from tests.unit.gitrepo import git


class House:
    """The stage, as far as a command needs a house."""

    remote = None

    def __init__(self, shop: Shop) -> None:
        stage = shop.stage
        self.client, self.clock, self.settings, self.team = stage.client, stage.clock, stage.settings, stage.team
        self._stage = stage

    def caller(self, name: str | None, **_: Any) -> Any:
        return self._stage.caller(name)

    def close(self) -> None:
        """It goes on."""


class Person:
    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.commands = 0

    def __call__(self, *argv: str) -> Any:
        self.commands += 1
        house: Any = House(self.shop)
        reply = run(Call([*argv, "--json"], "/work", {}, str, lambda _: None, open_house=lambda **_: house))
        assert reply.code == 0, reply.out
        return json.loads(reply.out)


@pytest.fixture
def yard(tmp_path: Path) -> Generator[Yard]:
    made = Yard(tmp_path, land__auto=False, worker__limit=10)
    yield made
    made.stage.close()


@pytest.fixture
def shop(yard: Yard, tmp_path: Path) -> Shop:
    made = Shop(yard.stage, tmp_path / "elsewhere")
    made.root, made.base = yard.root, repository.commit_of(str(yard.root))
    return made


def finish(shop: Shop, id: str, n: int) -> None:
    """Six bring a change, two findings, one gives up, one asks."""
    if n < 6:
        shop.write(id, f"part{n}.py", f"PART = {n}\n")
        shop.call(id, "done", outcome="completed", summary=f"{SUMMARY} It is part {n}.", tests=[TEST])
    elif n < 8:
        shop.call(id, "done", outcome="findings", summary=f"{SUMMARY} It is part {n}.", tests=[TEST])
    elif n == 8:
        shop.call(id, "fail", reason="The header has no grammar that could be parsed.")
    else:
        shop.call(id, "ask", question="Which format?", options=["JSON", "YAML"])


VERDICTS = {
    "question": ("answer", "-o", "1"),
    "change set": ("promote",),
    "result": ("accept",),
    "failed run": ("dismiss",),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_ten_workers_are_judged_with_a_command_an_item(yard: Yard, shop: Shop, seed: int) -> None:
    ids = [shop.worker(f"Part {n}") for n in range(10)]
    order = list(enumerate(ids))
    random.Random(seed).shuffle(order)
    for n, id in order:
        finish(shop, id, n)
    person = Person(shop)
    items = person("docket")["items"]
    assert len(items) == 10
    person.commands = 0
    approved: list[str] = []
    for item in items:
        card = shop.stage.call("card", subject=item["subject"])
        rejected = card["matter"] == "change set" and "part 5" in card["result"]["summary"]
        words = ("reject", "We have another part.") if rejected else VERDICTS[card["matter"]]
        made = person("verdict", item["subject"], *words)
        approved += [made["effect"]["head"]] if made["action"] == "promote" else []
    assert person.commands == 10
    assert person("docket")["items"] == []
    yard.run(lambda: list(landings(shop.stage).values()) == ["landed"] * 5)

    log = person("decisions")["decisions"]
    assert sorted(each["subject"] for each in log) == sorted(each["subject"] for each in items)
    assert {each["head"] for each in log if each["verb"] == "promote"} == set(approved)
    files = set(git("ls-tree", "-r", "--name-only", "main", cwd=yard.root).split())
    assert {name for name in files if name.startswith("part")} == {f"part{n}.py" for n in range(5)}
    for head in approved:
        git("merge-base", "--is-ancestor", head, "main", cwd=yard.root)
    tips = git("log", "--format=%H", "--no-merges", "main", cwd=yard.root).split()
    assert set(approved) <= set(tips), "what landed is what was approved, commit by commit"
