"""Hazards of reports: results that say nothing, and how they were taken for results elsewhere."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rookery.runtime import repository
from tests.support.reporting import SUMMARY, TEST, Shop
from tests.support.stage import Stage

# --- H33: done needs an outcome, a summary, and evidence that resolves ------------------------------------------------


@pytest.fixture
def shop(tmp_path: Path) -> Generator[Shop]:
    stage = Stage(tmp_path / "ledger.db")
    yield Shop(stage, tmp_path)
    stage.close()


GOOD: dict[str, Any] = {"outcome": "completed", "summary": SUMMARY, "tests": [TEST]}
VAGUE = [
    ({}, ["an outcome", "a summary"]),
    ({"outcome": "completed"}, ["a summary"]),
    ({"outcome": "finished", "summary": SUMMARY}, ["an outcome"]),
    ({"summary": SUMMARY, "tests": [TEST]}, ["an outcome"]),
    ({"outcome": "completed", "summary": "done", "tests": [TEST]}, ["a summary that says something"]),
    ({"outcome": "completed", "summary": "fixed it", "tests": [TEST]}, ["a summary that says something"]),
    (
        {
            "outcome": "completed",
            "summary": "All done, everything works as requested now, successfully.",
            "tests": [TEST],
        },
        ["a summary that says something"],
    ),
    ({"outcome": "completed", "summary": "x " * 40, "tests": [TEST]}, ["a summary that says something"]),
    (GOOD | {"tests": ["I ran the tests"]}, ["is no test run"]),
    (GOOD | {"tests": ["pytest: yes"]}, ["is no test run"]),
    (GOOD | {"commits": ["HEAD"]}, ["is no commit id"]),
    (GOOD | {"commits": ["deadbee1"]}, ["deadbee1 is not in the repository"]),
    (GOOD | {"evidence": ["artifact-0009"]}, ["artifact-0009 is not"]),
    (GOOD | {"evidence": ["src/nowhere.py:12"]}, ["there is no file 'src/nowhere.py:12'"]),
    (GOOD | {"evidence": ["../repo/.git/config"]}, ["there is no file"]),
    (GOOD | {"evidence": ["https://ci.example/run/1"]}, ["an address that may change"]),
    (GOOD | {"outcome": "no_evidence"}, ["another outcome"]),
    ({"outcome": "no_evidence", "summary": "Nothing in the log shows what the report describes."}, ["why there is"]),
]


@pytest.mark.parametrize(("args", "lacks"), VAGUE)
def test_h33_a_result_that_says_nothing_is_turned_back_with_what_it_lacks(
    shop: Shop, args: dict[str, Any], lacks: list[str]
) -> None:
    id = shop.worker()
    shop.write(id)
    head = repository.commit_of(str(shop.tree(id)))
    refusal = shop.refused(id, "done", **args)
    assert refusal.code == "NOT_A_RESULT"
    for lack in lacks:
        assert any(lack in each for each in refusal.facts["missing"]), refusal.facts
        assert lack in refusal.message
    assert shop.card(id)["report"] == ""
    assert shop.stage.call("task.show", id="task-0001")["status"] == "in_progress", "it is still its own"
    assert repository.commit_of(str(shop.tree(id))) == head, "and nothing was committed for it"


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        {"tests": [TEST]}, {"evidence": ["header.py:1"], "tests": []}, {"evidence": ["artifact-0001"], "tests": []},
        {"tests": []},  # what it changed is evidence enough
        {"outcome": "findings"}, {"outcome": "proposal"}, {"evidence": [TEST], "tests": []},
    ],
)  # fmt: skip
def test_control_a_result_that_says_something_counts(shop: Shop, more: dict[str, Any]) -> None:
    id = shop.worker()
    shop.write(id)
    shop.call(id, "artifacts.add", name="log", content="3 passed")
    told = shop.call(id, "done", **(GOOD | more))
    assert (told["report"], told["status"], told["change"]) == ("done", "completed", "change-0001")


@pytest.mark.slow
def test_h33_work_that_changed_nothing_says_why(shop: Shop) -> None:
    id = shop.worker()
    old = repository.commit_of(str(shop.root))
    for more in ({}, {"commits": [old]}, {"unchanged": "no"}):
        refusal = shop.refused(id, "done", **(GOOD | more))
        assert any(each.startswith("a change") for each in refusal.facts["missing"]), "an older commit is no change"
    told = shop.call(id, "done", **GOOD, unchanged="the parser did that already; the new tests show it")
    assert (told["report"], told["change"]) == ("done", None)


def test_h33_who_found_nothing_says_where_it_looked(shop: Shop) -> None:
    id = shop.worker()
    said = "I read both parsers and the log of last week; no header without a colon occurs in any of them."
    assert shop.call(id, "done", outcome="no_evidence", summary=said)["outcome"] == "no_evidence"


def test_h33_in_a_shared_working_copy_what_it_names_is_what_it_changed(shop: Shop) -> None:
    id = shop.worker(tree=False)
    assert "a change" in shop.refused(id, "done", **GOOD).message
    (shop.root / "header.py").write_text("x\n")
    assert shop.call(id, "done", **GOOD, evidence=["header.py"])["report"] == "done"


def test_h33_a_link_out_of_the_tree_is_no_evidence(shop: Shop) -> None:
    id = shop.worker()
    (shop.tree(id) / "passwd").symlink_to("/etc/passwd")
    assert "there is no file 'passwd'" in shop.refused(id, "done", **GOOD, evidence=["passwd"]).message


@pytest.mark.slow
def test_h33_what_is_no_completed_work_is_kept_and_does_not_land_by_itself(tmp_path: Path) -> None:
    for auto, outcome, lands in ((True, "completed", 1), (True, "proposal", 0), (False, "completed", 0)):
        folder = tmp_path / f"{auto}-{outcome}"
        folder.mkdir()
        stage = Stage(folder / "ledger.db", land__auto=auto)
        other = Shop(stage, folder)
        id = other.worker()
        assert other.done(id, outcome=outcome)["change"] == "change-0001"
        assert len(stage.call("land.list")["landings"]) == lands
        stage.close()
