"""Hazards of deciding: answers to another question than was seen, and decisions that never took place."""

import multiprocessing
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from rookery.core.errors import RookError
from rookery.core.protocol import Evidence, Result
from rookery.service import deliverables, post
from rookery.service.tx import Tx
from rookery.store import faults
from rookery.store.sqlite import SqliteStore
from tests.support.fakes import FakeClock
from tests.support.reporting import SUMMARY, TEST, Shop
from tests.support.stage import Stage


@pytest.fixture
def shop(tmp_path: Path) -> Generator[Shop]:
    stage = Stage(tmp_path / "ledger.db")
    yield Shop(stage, tmp_path)
    faults.disarm()
    stage.close()


def verdict(shop: Shop, subject: str, action: str, **more: Any) -> Any:
    return shop.stage.call("verdict", subject=subject, action=action, **more)


# --- H35: a verdict is bound to the exact question and version it was shown with --------------------------------------


def asked_again(shop: Shop) -> str:
    """The question that was looked at is withdrawn, and another one takes its place."""
    id = shop.worker()
    shop.call(id, "ask", question="May I drop the staging table?", risk="low", options=["yes", "no"])
    shop.over(id, "crashed")
    shop.stage.call("respawn", id=id)
    shop.start(id, tree=False)
    shop.call(id, "ask", question="May I drop the production table?", risk="high", options=["yes", "no"])
    return id


def test_h35_an_answer_to_a_question_that_was_replaced_is_sent_to_nobody(shop: Shop) -> None:
    id = asked_again(shop)
    before = shop.stage.inbox(shop.names[id], all=True)
    refusal = shop.stage.refused("verdict", subject="w1/q1", action="answer", option=1)
    assert refusal.code == "STALE_CARD"
    shown = refusal.facts["card"]
    assert (shown["subject"], shown["question"]["question"], shown["risk"]) == (
        "w1/q2", "May I drop the production table?", "high",
    )  # fmt: skip
    assert shop.stage.inbox(shop.names[id], all=True) == before
    assert shop.stage.call("decisions")["decisions"] == []


def test_h35_control_the_one_that_is_asked_takes_it_with_its_own_risk(shop: Shop) -> None:
    asked_again(shop)
    verdict(shop, "w1/q2", "answer", option=2)
    (found,) = shop.stage.call("decisions")["decisions"]
    assert (found["subject"], found["option"], found["risk"]) == ("w1/q2", "2", "high")


@pytest.mark.slow
def test_h35_a_version_that_was_replaced_is_neither_merged_nor_thrown_away(shop: Shop) -> None:
    id = shop.worker()
    shop.done(id)
    first = shop.stage.call("card", subject="w1/1")["change"]["head"]
    verdict(shop, "w1/1", "revise", said="Name the line in the error message.")
    shop.write(id, "more.py")
    shop.call(id, "done", outcome="completed", summary=SUMMARY + " Lines are named now.", tests=[TEST])
    for action in ("promote", "discard", "reject"):
        refusal = shop.stage.refused("verdict", subject="w1/1", action=action, said="because")
        assert (refusal.code, refusal.facts["card"]["subject"]) == ("STALE_CARD", "w1/2")
    assert shop.stage.call("land.list")["landings"] == []
    verdict(shop, "w1/2", "promote")
    (landing,) = shop.stage.call("land.list")["landings"]
    assert landing["head"] != first
    assert landing["head"] == shop.stage.call("card", subject="w1/2")["change"]["head"]


@pytest.mark.slow
def test_h35_the_same_version_with_another_commit_is_not_what_was_judged(shop: Shop) -> None:
    from tests.support import ledger

    id = shop.worker()
    shop.done(id)
    with ledger.writing(shop.stage.store.location) as db:
        ledger.rows(db, "UPDATE changes SET head = :head", {"head": "0" * 40})
    assert shop.stage.refused("verdict", subject="w1/1", action="promote").code == "STALE_CARD"
    assert shop.stage.call("land.list")["landings"] == []
    assert shop.card(id)["report"] == "done"


# --- H37: a decision is recorded with its effect, or not at all -------------------------------------------------------


def broken(*_: Any, **__: Any) -> Any:
    raise RuntimeError("the post is down")


CASES: dict[str, tuple[Callable[[Shop, str], Any], str, str, dict[str, Any]]] = {
    "answer": (lambda shop, id: shop.call(id, "ask", question="Which format?"), "w1/q1", "answer", {"said": "JSON"}),
    "steer": (lambda shop, id: shop.call(id, "ask", question="Which?"), "w1/q1", "steer", {"said": "Look at b.py."}),
    "revise": (lambda shop, id: shop.done(id), "w1/1", "revise", {"said": "Name the line in the message."}),
}


@pytest.mark.parametrize("case", CASES)
def test_h37_a_failed_send_records_no_decision(shop: Shop, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare, subject, action, more = CASES[case]
    prepare(shop, shop.worker())
    before = shop.stage.rows()
    with monkeypatch.context() as patched:
        patched.setattr(post, "deliver", broken)
        with pytest.raises(RuntimeError, match="the post is down"):
            verdict(shop, subject, action, **more)
    assert shop.stage.rows() == before, "neither a decision, nor an answer, nor a task that is open again"
    verdict(shop, subject, action, **more)
    assert [each["verb"] for each in shop.stage.call("decisions")["decisions"]] == [action]


@pytest.mark.slow
@pytest.mark.parametrize("point", ["after_lock", "before_commit"])
def test_h37_a_crash_before_the_commit_leaves_neither_decision_nor_landing(shop: Shop, point: str) -> None:
    shop.done(shop.worker())
    before = shop.stage.rows()
    faults.arm(point, broken)
    with pytest.raises(RuntimeError):
        verdict(shop, "w1/1", "promote")
    faults.disarm()
    assert shop.stage.rows() == before
    verdict(shop, "w1/1", "promote")
    assert len(shop.stage.call("land.list")["landings"]) == len(shop.stage.call("decisions")["decisions"]) == 1


@pytest.mark.slow
def test_h37_what_is_refused_on_its_way_is_not_logged(shop: Shop) -> None:
    """The review would be given and the landing is refused: nothing of both happened."""
    shop.stage.call("task.add", title="Reviewed", review=True)
    id = shop.worker("task-0001")
    shop.done(id, outcome="proposal")  # of which the branch is not known
    refusal = shop.stage.refused("verdict", subject="w1/1", action="promote")
    assert refusal.code == "NO_BRANCH"
    assert shop.stage.call("task.show", id="task-0001")["review"] == "pending"
    verdict(shop, "w1/1", "promote", branch="main")
    assert shop.stage.call("task.show", id="task-0001")["review"] == "SHIP"


# --- versions are numbered once ---------------------------------------------------------------------------------------

PROCESSES, EACH = 4, 12


def _report(path: str, worker: dict[str, Any], numbers: Any) -> None:
    stage = Stage(path, store=SqliteStore(path, FakeClock()))
    said = Result("findings", SUMMARY, Evidence())

    def write(db: Any) -> int:
        return deliverables.write(Tx(db, stage.caller("user"), stage), worker, said, "", 0)["version"]

    numbers.put([stage.store.write("crew", write) for _ in range(EACH)])
    stage.store.close()


@pytest.mark.slow
def test_concurrent_versions_never_collide(shop: Shop) -> None:
    id = shop.worker()
    path = shop.stage.store.location
    worker = shop.stage.store.read("crew", lambda db: dict(db.one("worker", id=id) or {}))
    context = multiprocessing.get_context("spawn")
    numbers = context.Queue()
    running = [context.Process(target=_report, args=(path, worker, numbers)) for _ in range(PROCESSES)]
    for each in running:
        each.start()
    found = [number for _ in running for number in numbers.get(timeout=60)]
    for each in running:
        each.join(30)
    assert sorted(found) == list(range(1, PROCESSES * EACH + 1)), "each number once, and none left out"
    assert len(shop.stage.call("deliverables", subject="w1", limit=100)["deliverables"]) == PROCESSES * EACH


def test_two_reports_of_one_run_are_one_version(shop: Shop) -> None:
    id = shop.worker()
    first = shop.done(id)
    assert shop.done(id)["version"] == first["version"] == "w1/1"
    with pytest.raises(RookError):
        shop.call(id, "done", outcome="completed", summary=SUMMARY + " And more than that.", tests=[TEST])
    assert len(shop.stage.call("deliverables")["deliverables"]) == 1
