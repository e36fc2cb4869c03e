"""Workers that can only write files: their reports, through real files and YAML."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rookery.core import errors
from rookery.front.maildrop import matter, watching
from rookery.front.maildrop.box import Box
from tests.support.drops import Clock, looked, put, terms
from tests.support.reporting import SUMMARY, Shop
from tests.support.stage import Stage


class Drop:
    def __init__(self, shop: Shop, folder: Path) -> None:
        self.shop = shop
        self.folder = folder
        self.clock = Clock()
        caller = shop.stage.caller("system")
        self.box = Box(
            str(folder), lambda args: watching.taken(shop.stage.client, caller, args), terms(), self.clock
        )  # fmt: skip

    def __call__(self, front: str, body: str, rear: str = "", name: str = "r.md") -> str:
        """Sent, or why it was put aside."""
        put(self.folder, name, f"---\n{front}---\n{body}\n" + (f"---\n{rear}---\n" if rear else ""))
        (outcome,) = looked(self.box, self.clock, after_s=1.0)
        return outcome.told


@pytest.fixture
def drop(tmp_path: Path) -> Generator[Drop]:
    (tmp_path / "msgs").mkdir()
    stage = Stage(tmp_path / "ledger.db")
    yield Drop(Shop(stage, tmp_path), tmp_path / "msgs")
    stage.close()


@pytest.mark.slow
def test_a_worker_reports_by_files_alone(drop: Drop) -> None:
    shop = drop.shop
    id = shop.worker()
    me = f"from: {shop.names[id]}\nrun: {shop.runs[id]}\n"
    assert drop(f"{me}type: progress\nsteps:\n  - done: read it\n  - doing: the parser\n", "found the place") == id
    assert [each["state"] for each in shop.card(id)["board"]] == ["done", "doing"]
    asked = drop(f"{me}type: ask\nrisk: high\noptions: [JSON, YAML]\nrecommendation: JSON\n", "Which format?")
    assert shop.stage.call("question.show", id=asked)["options"] == ["JSON", "YAML"]
    shop.stage.call("answer", id=asked, option=1)
    shop.write(id)
    assert drop(f"{me}type: done\noutcome: completed\ntests:\n  - pytest -q: 3 passed\n", SUMMARY) == id
    assert (shop.card(id)["report"], shop.card(id)["summary"]) == ("done", SUMMARY)
    assert shop.stage.call("task.show", id="task-0001")["result"]["evidence"]["tests"] == ["pytest -q: 3 passed"]


@pytest.mark.slow
def test_a_report_may_stand_below(drop: Drop) -> None:
    shop = drop.shop
    id = shop.worker()
    shop.write(id)
    below = f"report:\n  type: done\n  outcome: completed\n  run: {shop.runs[id]}\n"
    assert drop(f"from: {shop.names[id]}\nto: user\n", SUMMARY, below) == id
    again = drop(f"from: {shop.names[id]}\nto: user\n", SUMMARY, below, name="again.md")
    assert again == id, "the same report twice is one"
    assert len(shop.stage.events("worker.done")) == 1


def test_a_failure_in_a_file(drop: Drop) -> None:
    id = drop.shop.worker()
    assert (
        drop(
            f"from: {drop.shop.names[id]}\nrun: {drop.shop.runs[id]}\ntype: fail\n",
            "The compiler is not installed here.",
        )
        == id
    )
    assert drop.shop.card(id)["report"] == "failed"


def test_what_is_missing_is_put_beside_the_file(drop: Drop) -> None:
    id = drop.shop.worker()
    told = drop(f"from: {drop.shop.names[id]}\nrun: {drop.shop.runs[id]}\ntype: done\n", "fixed it")
    assert "It needs an outcome" in told
    assert "an outcome" in (drop.folder / "rejected" / "r.md.reason.txt").read_text()
    assert drop.shop.card(id)["report"] == ""


@pytest.mark.parametrize(
    ("front", "body", "says"),
    [
        ("from: nobody\ntype: done\nrun: run-1\noutcome: completed\n", SUMMARY, "No agent named nobody"),
        ("from: user\ntype: fail\nrun: run-1\n", "nothing works here at all", "user is no worker"),
        ("from: ada\ntype: fail\n", "nothing works here at all", "needs the id of its worker's run"),
        ("type: fail\n", "nothing works here at all", "from is missing"),
        ("from: ada\ntype: done\noutcom: completed\n", SUMMARY, "Did you mean outcome"),
        ("from: ada\ntype: fail\nreason: nothing works here\n", "at all", "twice"),
        ("from: ada\ntype: done\nevidence:\n  - [a, b]\n", SUMMARY, "evidence is no text"),
    ],
)
def test_a_wrong_file_is_put_aside_with_the_reason(drop: Drop, front: str, body: str, says: str) -> None:
    drop.shop.stage.join("ada")
    before = drop.shop.stage.rows()
    assert says.lower() in drop(front, body).lower()
    assert drop.shop.stage.rows() == before


@pytest.mark.parametrize(
    "rear", ["report: done\n", "report:\n  type: later\n", "report:\n  type: fail\nspawn:\n  kind: x\n"]
)
def test_a_report_below_that_is_none(rear: str) -> None:
    with pytest.raises(errors.BadInput):
        matter.letter(f"---\nfrom: ada\nto: bob\n---\nbody\n---\n{rear}---\n".encode(), 5)


def test_other_types_are_messages_as_before() -> None:
    found: Any = matter.letter(b"---\nfrom: ada\nto: bob\ntype: task\nsubject: x\n---\nbody\n", 5)
    assert found.args["type"] == "task"
