"""Where change sets meet, as verbs: graded when a result is reported, told to who decides, gone with what landed."""

from pathlib import Path
from typing import Any

import pytest

from rookery.core import overlap
from rookery.core.caller import Caller
from rookery.service import conflicts
from rookery.service.tx import Tx
from tests.support import ledger, workers
from tests.support.crew_rows import Worker
from tests.support.fakes import BOOT, HOST
from tests.support.reporting import Shop
from tests.support.stage import Build, Stage
from tests.unit.gitrepo import git, repository

OWNER = f"{HOST}:77:a"
TEXT = "".join(f"{n}\n" for n in range(1, 31))
CODE = "def parse(line):\n    return line.split()\n\n\ndef other():\n    return 1\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = repository(tmp_path / "repo")
    (made / "a.txt").write_text(TEXT)
    (made / "lib.py").write_text(CODE)
    (made / "use.py").write_text("import lib\n" + "\n" * 20)
    return committed(made, "base")


def committed(root: Path, message: str) -> Path:
    git("add", "-A", cwd=root)
    git("commit", "-qm", message, cwd=root)
    return root


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.prober.states[(77, "a")] = "running"
    return made


def changed(line: int, word: str = "x", text: str = TEXT) -> str:
    lines = text.splitlines()
    lines[line - 1] = word
    return "\n".join(lines) + "\n"


def keeper(stage: Stage, verb: str, **args: Any) -> Any:
    return stage.call(verb, Caller(agent="system", host=HOST, boot=BOOT, open_addresses=True), owner=OWNER, **args)


def land(stage: Stage, root: Path, change: str) -> None:
    id = stage.call("land.add", change=change)["id"]
    taken = keeper(stage, "land.take", root=str(root), branch="main")
    assert [each["id"] for each in taken["landings"]] == [id]
    keeper(stage, "land.moving", ids=[id], links=[["e" * 40, "f" * 40]])
    keeper(stage, "land.done", ids=[id])


def graded(stage: Stage, of: str = "") -> dict[tuple[str, str], str]:
    return {(each["change"], each["other"]): each["grade"] for each in stage.call("conflicts", of=of)["conflicts"]}


def rows(stage: Stage, table: str) -> int:
    return ledger.ask(stage.store.location, f"SELECT count(*) FROM {table}")[0][0]


def pair(stage: Stage, root: Path, first: int, second: int) -> tuple[Worker, Worker]:
    ada, bob = Worker(stage, root, "ada"), Worker(stage, root, "bob")
    for worker, line in ((ada, first), (bob, second)):
        worker.write(a__txt=changed(line, worker.name))
        worker.report()
    return ada, bob


# --- grades -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("second", "grade"), [(10, "contested"), (11, "contested"), (14, "adjacent"), (15, "same file")]
)
def test_lines_of_one_file_are_graded_by_how_far_they_are_apart(
    stage: Stage, root: Path, second: int, grade: str
) -> None:
    pair(stage, root, 10, second)
    assert graded(stage) == {("change-0002", "change-0001"): grade}


@pytest.mark.slow
def test_other_files_are_no_conflict(stage: Stage, root: Path) -> None:
    ada, bob = Worker(stage, root, "ada"), Worker(stage, root, "bob")
    ada.write(a__txt=changed(3))
    bob.write(b__txt="new\n")
    assert (ada.report(), bob.report(), graded(stage)) == ("change-0001", "change-0002", {})


@pytest.mark.slow
def test_both_sides_see_it_and_a_worker_stands_for_its_newest(stage: Stage, root: Path) -> None:
    ada, bob = pair(stage, root, 10, 10)
    assert graded(stage, ada.id) == {("change-0001", "change-0002"): "contested"}
    assert graded(stage, "change-0002") == {("change-0002", "change-0001"): "contested"}
    (seen,) = stage.call("conflicts", of=bob.id)["conflicts"]
    assert (seen["otherWorker"], seen["author"]) == (ada.id, "ada")
    assert seen["paths"] == [{"path": "a.txt", "grade": "contested", "lines": "10"}]


@pytest.mark.slow
def test_what_can_not_be_told_by_lines_is_contested(stage: Stage, root: Path) -> None:
    ada, bob = Worker(stage, root, "ada"), Worker(stage, root, "bob")
    ada.write(a__txt=None)
    ada.report()
    bob.write(a__txt=changed(3))
    bob.report()
    assert graded(stage) == {("change-0002", "change-0001"): "contested"}


@pytest.mark.slow
def test_lines_are_mapped_where_one_began_at_a_later_base(stage: Stage, root: Path) -> None:
    """Line 10 of the one is line 15 of the other; line 10 of both would be another."""
    ada, near = Worker(stage, root, "ada"), Worker(stage, root, "eve")
    ada.write(a__txt=changed(10))
    ada.report()
    near.write(a__txt=changed(15))
    near.report()
    longer = "".join(f"new {n}\n" for n in range(5)) + TEXT
    (root / "a.txt").write_text(longer)
    committed(root, "five lines before all others")
    bob = Worker(stage, root, "bob")
    bob.write(a__txt=changed(15, text=longer))
    bob.report()
    assert graded(stage, bob.id) == {
        ("change-0003", "change-0001"): "contested",
        ("change-0003", "change-0002"): "same file",
    }


@pytest.mark.slow
def test_a_file_that_was_renamed_between_the_bases_is_the_same_file(stage: Stage, root: Path) -> None:
    ada = Worker(stage, root, "ada")
    ada.write(a__txt=changed(10))
    ada.report()
    git("mv", "a.txt", "b.txt", cwd=root)
    committed(root, "renamed")
    bob = Worker(stage, root, "bob")
    bob.write(b__txt=changed(10, "y"))
    bob.report()
    assert graded(stage) == {("change-0002", "change-0001"): "contested"}


@pytest.mark.slow
def test_another_repository_with_the_same_names_is_no_concern(stage: Stage, root: Path, tmp_path: Path) -> None:
    elsewhere = repository(tmp_path / "elsewhere" / "repo")
    (elsewhere / "a.txt").write_text(TEXT + "more\n")
    committed(elsewhere, "of its own")
    for place, name in ((root, "ada"), (elsewhere, "bob")):
        worker = Worker(stage, place, name)
        worker.write(a__txt=changed(10, name))
        worker.report()
    assert graded(stage) == {}


@pytest.mark.slow
def test_one_that_nobody_could_map_counts_as_contested(
    stage: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was reported between the look and the transaction."""
    ada = Worker(stage, root, "ada")
    ada.write(a__txt=changed(1))
    ada.report()
    (root / "c.txt").write_text("c\n")
    committed(root, "another base")
    bob = Worker(stage, root, "bob")
    bob.write(a__txt=changed(30))
    monkeypatch.setattr(conflicts, "BASES", 0)
    bob.report()
    assert graded(stage) == {("change-0002", "change-0001"): "contested"}


@pytest.mark.slow
def test_the_same_commit_again_is_graded_once_and_the_next_takes_its_place(stage: Stage, root: Path) -> None:
    ada, bob = pair(stage, root, 10, 10)
    bob.report()
    assert len(graded(stage)) == 1
    bob.write(a__txt=changed(25))
    assert bob.report() == "change-0003"
    assert graded(stage) == {("change-0003", "change-0001"): "same file"}
    assert graded(stage, ada.id) == {("change-0001", "change-0003"): "same file"}


@pytest.mark.slow
def test_attempts_at_one_task_do_not_conflict_with_each_other(stage: Stage, root: Path) -> None:
    task = stage.call("task.add", title="T")["id"]
    for name in ("ada", "bob"):
        worker = Worker(stage, root, name)
        worker.write(a__txt=changed(10, name))
        worker.report(task)
    assert graded(stage) == {}


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("renamed_first", [True, False])
def test_a_name_that_is_renamed_here_and_used_there_is_told_in_both_directions(
    stage: Stage, root: Path, renamed_first: bool
) -> None:
    ada, bob = Worker(stage, root, "ada"), Worker(stage, root, "bob")
    ada.write(lib__py=CODE.replace("parse", "split_line"))
    bob.write(use__py="import lib\n" + "\n" * 20 + "print(lib.parse('x'))\n")
    for worker in (ada, bob) if renamed_first else (bob, ada):
        worker.report()
    (seen,) = stage.call("conflicts")["conflicts"]
    assert seen["grade"] == "none"
    assert seen["paths"] == []
    assert seen["hints"] == [f"{ada.id} renames parse to split_line in lib.py; {bob.id} uses it in use.py:22"]
    (warning,) = stage.call("land.add", change="change-0001")["warnings"]
    assert "parse" in warning


@pytest.mark.slow
def test_control_a_name_that_stays_is_no_hint(stage: Stage, root: Path) -> None:
    ada, bob = Worker(stage, root, "ada"), Worker(stage, root, "bob")
    ada.write(lib__py=CODE.replace("return 1", "return 2"))
    bob.write(use__py="import lib\n" + "\n" * 20 + "print(lib.parse('x'))\n")
    assert (ada.report(), bob.report(), graded(stage)) == ("change-0001", "change-0002", {})


# --- what is told -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_landing_by_hand_warns_and_still_lands(stage: Stage, root: Path) -> None:
    pair(stage, root, 10, 10)
    added = stage.call("land.add", change="change-0001")
    assert added["state"] == "queued"
    assert added["warnings"] == ["contested with change-0002 of w2: a.txt:10"]


@pytest.mark.slow
def test_control_what_is_far_apart_gives_no_warning(stage: Stage, root: Path) -> None:
    pair(stage, root, 10, 25)
    assert stage.call("land.add", change="change-0001")["warnings"] == []


@pytest.mark.slow
def test_it_is_in_the_log_once_and_only_one_that_works_again_gets_mail(stage: Stage, root: Path) -> None:
    ada, bob = Worker(stage, root, "ada"), Worker(stage, root, "bob")
    for worker in (ada, bob):
        worker.write(a__txt=changed(10, worker.name))
    ada.report()
    workers.change(stage.store.location, ada.id, report="done")
    bob.report()
    bob.report()
    told = [each for each in stage.call("events")["events"] if each["type"] == "change.contested"]
    assert [(each["actor"], each["target"], each["ref"]) for each in told] == [("bob", "ada", "change-0002")]
    assert stage.call("inbox", "ada")["messages"] == [], "nothing is left for it to do"
    workers.change(stage.store.location, bob.id, report="")
    eve = Worker(stage, root, "eve")
    eve.write(a__txt=changed(10, "eve"))
    eve.report()
    (message,) = stage.call("inbox", "bob")["messages"]
    assert message["subject"].startswith("change-0003 contests lines of yours: a.txt:10")
    assert stage.call("inbox", "ada")["messages"] == []


# --- over -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_landed_is_known_only_to_who_still_meets_it(stage: Stage, root: Path) -> None:
    pair(stage, root, 10, 10)
    land(stage, root, "change-0001")
    assert (graded(stage), graded(stage, "change-0001")) == ({}, {})
    (met,) = stage.call("conflicts", of="change-0002")["conflicts"]
    assert (met["other"], met["grade"], met["landed"]) == ("change-0001", "contested", True)
    warned = stage.call("land.add", change="change-0002")["warnings"]
    assert warned == ["contested with change-0001 of w1, which has landed: a.txt:10"]


@pytest.mark.slow
def test_what_was_dropped_is_in_none_and_is_back_when_it_is_put_in_line_again(stage: Stage, root: Path) -> None:
    pair(stage, root, 10, 10)
    stage.call("land.drop", id=stage.call("land.add", change="change-0001")["id"])
    assert graded(stage) == {}
    stage.call("land.add", change="change-0001")
    assert len(graded(stage)) == 1


@pytest.mark.slow
def test_a_task_that_is_canceled_takes_its_change_set_out(stage: Stage, root: Path) -> None:
    task = stage.call("task.add", title="T")["id"]
    ada, bob = Worker(stage, root, "ada"), Worker(stage, root, "bob")
    for worker, of in ((ada, task), (bob, "")):
        worker.write(a__txt=changed(10, worker.name))
        worker.report(of)
    assert len(graded(stage)) == 1
    stage.call("task.cancel", id=task)
    assert graded(stage) == {}


@pytest.mark.slow
def test_of_what_is_over_nothing_is_kept_once_nobody_meets_it_and_another_reports(stage: Stage, root: Path) -> None:
    def kept() -> set[str]:
        return {change for (change,) in ledger.ask(stage.store.location, "SELECT change FROM hunks")}

    def reports(name: str, line: int) -> None:
        worker = Worker(stage, root, name)
        worker.write(a__txt=changed(line, name))
        worker.report()

    pair(stage, root, 10, 10)
    land(stage, root, "change-0001")
    reports("eve", 10)
    assert graded(stage) == {("change-0003", "change-0002"): "contested"}, "with what landed it was not compared"
    assert (kept(), rows(stage, "overlaps")) == ({"change-0001", "change-0002", "change-0003"}, 2), (
        "bob still meets ada's"
    )
    land(stage, root, "change-0002")
    reports("fay", 28)
    assert (kept(), rows(stage, "overlaps")) == ({"change-0002", "change-0003", "change-0004"}, 2)
    assert graded(stage) == {("change-0004", "change-0003"): "same file"}


# --- looking ----------------------------------------------------------------------------------------------------------


def test_one_that_is_not_there_is_refused_with_where_to_look(stage: Stage) -> None:
    assert stage.refused("conflicts", of="change-9").code == "UNKNOWN_CHANGE"
    assert stage.refused("conflicts", of="w9\x1b[31m").code == "UNKNOWN_CHANGE"
    assert stage.call("conflicts") == {"of": "", "conflicts": []}


@pytest.mark.slow
def test_looking_reads_rows_and_no_repository(stage: Stage, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair(stage, root, 10, 10)

    def never(*_: Any) -> Any:
        raise AssertionError("it was graded when it was reported")

    monkeypatch.setattr(overlap, "meetings", never)
    monkeypatch.setattr(type(stage.workspaces), "touched", never)
    caller = stage.caller(None)
    cards = stage.store.read(stage.team, lambda db: conflicts.of_change(Tx(db, caller, stage), "change-0001"))
    assert [each["grade"] for each in cards] == ["contested"]
    assert len(graded(stage)) == 1


@pytest.mark.slow
def test_done_grades_what_a_worker_reports(build: Build, tmp_path: Path) -> None:
    shop = Shop(build(), tmp_path)
    first, second = shop.worker(), shop.worker("The same once more")
    for id in (first, second):
        shop.write(id, text=f"def parse(): return {id!r}\n")
        shop.done(id)
    assert graded(shop.stage) == {("change-0002", "change-0001"): "contested"}
