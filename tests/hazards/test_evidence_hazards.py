"""H31: past the cap evidence is still recorded. The oldest goes, and how much went is said."""

import os
from pathlib import Path
from typing import Any

import pytest

from rookery.service import evidence
from tests.support import ledger, workers
from tests.support.houses import build
from tests.support.stage import DAY, Build, Stage

__all__ = ["build"]  # the fixture
CAP = 20


@pytest.fixture
def stage(build: Build) -> Stage:
    stage = build(evidence__cap=CAP)
    stage.join_all("ada", "bob")
    return stage


def take(stage: Stage, *numbers: int, as_: str = "ada", **more: Any) -> dict[str, Any]:
    found = [{"kind": "command", "ref": f"t:{as_}:{n}", "title": f"command {n}", **more} for n in numbers]
    return stage.call("evidence.take", as_, found=found)


def titles(stage: Stage, **filters: Any) -> list[str]:
    return [each["title"] for each in stage.call("artifacts", limit=1000, **filters)["artifacts"]]


def recorded_past_the_cap(stage: Stage) -> None:
    """What H31 asks for: from the first one past the cap on each new one is there, and the oldest are not."""
    for n in range(CAP):
        assert take(stage, n)["dropped"] == 0
    for n in range(CAP, CAP + 5):
        assert take(stage, n)["dropped"] == 1
        assert titles(stage) == [f"command {each}" for each in range(n, n - CAP, -1)]
        assert stage.call("artifacts")["dropped"] == n - CAP + 1


def test_h31_past_the_cap_the_new_is_recorded_and_the_oldest_goes(stage: Stage) -> None:
    recorded_past_the_cap(stage)
    assert stage.events("evidence")[-1]["data"]["dropped"] == 1


def test_control_h31_a_cap_that_keeps_the_oldest_is_found(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    real = evidence._insert  # pyright: ignore[reportPrivateUsage]

    def full(tx: Any, *args: Any, **more: Any) -> Any:
        spare = tx.one("spare_evidence", worker="", limit=CAP)
        return None if spare["kept"] >= CAP else real(tx, *args, **more)

    monkeypatch.setattr(evidence, "_insert", full)
    with pytest.raises(AssertionError):
        recorded_past_the_cap(stage)


def test_h31_many_at_once(stage: Stage) -> None:
    assert take(stage, *range(3 * CAP))["dropped"] == 2 * CAP
    assert titles(stage)[0] == f"command {3 * CAP - 1}"
    assert len(titles(stage)) == CAP
    assert stage.refused("show", ref="c1").code == "UNKNOWN_ARTIFACT"
    assert take(stage, 0)["taken"] == [f"c{3 * CAP + 1}"], "a number is not given twice"


def test_h31_what_is_pinned_or_named_stays(stage: Stage) -> None:
    take(stage, *range(6))
    stage.call("pin", refs=["c1"])
    stage.call("artifacts.add", "ada", name="s.md", content="shared")
    name_it(stage, "decisions", "n, id, verb, actor, subject, evidence",
            "1, 'decision-0001', 'x', 1, 's', '[\"t:ada:1\"]'")  # fmt: skip
    name_it(stage, "deliverables", "worker, version, agent, outcome, summary, digest, evidence",
            "'w1', 1, 1, 'completed', 's', 'd', '[\"c3\"]'")  # fmt: skip
    name_it(stage, "bundles", "n, id, title, made_by, items", "1, 'bundle-0001', 't', 1, '[\"t:ada:3\"]'")
    take(stage, *range(100, 100 + 2 * CAP))
    kept = titles(stage)
    assert kept[-5:] == ["other s.md", "command 3", "command 2", "command 1", "command 0"]
    assert len(kept) == CAP + 5, "they do not count"
    stage.call("unpin", refs=["c1"])
    take(stage, 999)
    assert "command 0" not in titles(stage)


def name_it(stage: Stage, table: str, columns: str, values: str) -> None:
    """As another part of the docket would, without asking evidence."""
    with ledger.look(stage.store.location) as db:
        db.execute(f"INSERT INTO {table} (team, created_at, at, {columns}) SELECT id, 1, 1, {values} FROM teams")


def test_h31_each_worker_has_a_cap_of_its_own(stage: Stage) -> None:
    few = workers.built_in("default", max_artifacts=5)
    workers.write(stage.store.location, "bob", few)
    take(stage, *range(CAP + 2))
    assert take(stage, *range(8), as_="bob")["dropped"] == 3
    assert (len(titles(stage, worker="w1")), len(titles(stage))) == (5, CAP + 5)
    assert stage.call("artifacts", worker="w1")["dropped"] == 3
    assert stage.call("artifacts")["dropped"] == 5


def test_h31_when_nothing_may_go_the_newest_stays(stage: Stage, build: Build) -> None:
    few = build(evidence__cap=1)
    few.join("ada")
    take(few, 1)
    few.call("pin", refs=["c1"])
    for n in (2, 3):
        take(few, n)
        assert titles(few) == [f"command {n}", "command 1"]


def test_no_cap(build: Build) -> None:
    stage = build(evidence__cap=0)
    stage.join("ada")
    assert take(stage, *range(300))["dropped"] == 0
    assert len(titles(stage)) == 300


# --- what goes with time ----------------------------------------------------------------------------------------------


def files(stage: Stage) -> list[Path]:
    return sorted((Path(stage.store.location).parent / "teams" / "crew" / "artifacts" / "evidence").glob("*"))


def grow_old(stage: Stage) -> None:
    for path in files(stage):
        os.utime(path, (1, 1))


def test_old_evidence_goes_and_then_its_file(stage: Stage) -> None:
    take(stage, 1, 2, body="x" * 20_000)
    take(stage, 3, body="y" * 20_000)
    stage.call("pin", refs=["c3"])
    grow_old(stage)
    assert (stage.call("sweep")["evidence"], len(files(stage))) == (0, 2)
    stage.clock.pass_time(91 * DAY)
    assert stage.call("sweep")["evidence"] == 2
    assert titles(stage) == ["command 3"]
    assert stage.call("artifacts")["dropped"] == 2
    assert stage.call("sweep")["files"] == 1
    assert stage.call("show", ref="c3", full=True)["body"] == "y" * 20_000


def test_a_file_that_is_kept_again_is_not_swept(stage: Stage) -> None:
    """Its row is on its way: it was old and unnamed when the sweep looked, and is young when it would go."""
    kept = stage.shelf.keep_same("evidence", b"z" * 20_000)
    grow_old(stage)
    assert stage.shelf.old(3600, 10) == [kept.file]
    assert stage.shelf.keep_same("evidence", b"z" * 20_000) == kept
    stage.shelf.remove(kept.file, 3600)
    assert len(files(stage)) == 1
    grow_old(stage)
    stage.shelf.remove(kept.file, 3600)  # control: the age is what protects
    assert files(stage) == []


def test_half_a_file_is_written_again(stage: Stage) -> None:
    kept = stage.shelf.keep_same("evidence", b"whole")
    (path,) = files(stage)
    path.write_bytes(b"wh")
    assert stage.shelf.keep_same("evidence", b"whole") == kept
    assert stage.shelf.read(kept.file, 100) == b"whole"
