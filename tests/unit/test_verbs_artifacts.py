"""Shared outputs: the file before the row, names that lead nowhere, and what a crash leaves behind."""

import base64
import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rookery.core import errors
from rookery.store import faults
from tests.support import ledger
from tests.support.stage import HOUR, Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.join_all("ada", "bob")
    return made


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    faults.disarm()


def folder(stage: Stage) -> Path:
    return Path(stage.store.location).parent / "teams" / "crew" / "artifacts"


def files(stage: Stage) -> list[Path]:
    return sorted(path for path in folder(stage).rglob("*") if not path.is_dir())


def put(stage: Stage, name: str = "fix.patch", content: str = "diff", **more: Any) -> Any:
    return stage.call("artifacts.add", "ada", name=name, content=content, **more)


def grow_old(stage: Stage, seconds: int = 7200) -> None:
    for path in files(stage):
        seen = path.lstat().st_mtime - seconds
        os.utime(path, (seen, seen), follow_symlinks=False)


# --- put, list, show --------------------------------------------------------------------------------------------------


def test_what_was_put_is_shown(stage: Stage) -> None:
    task = stage.call("task.add", title="T")["id"]
    made = put(stage, kind="patch", task=task)
    assert (made["id"], made["kind"], made["taskId"], made["bytes"]) == ("artifact-0001", "patch", task, 4)
    assert made["digest"] == hashlib.sha256(b"diff").hexdigest()
    (path,) = files(stage)
    assert (path.parent.name, path.read_bytes()) == ("patches", b"diff")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(up.stat().st_mode) for up in (path.parent, *list(path.parents)[1:4])} == {0o700}
    assert made["file"] == str(path.relative_to(Path(stage.store.location).parent))
    assert stage.call("artifacts.show", "bob", id=made["id"]) == made | {"content": "diff", "encoding": "text"}
    other = put(stage, name="s.md", kind="summary")
    listed = stage.call("artifacts")["artifacts"]
    assert [{name: each[name] for name in made} for each in listed] == [other, made], "and more, as evidence"
    assert stage.call("artifacts", task=task)["artifacts"] == stage.call("artifacts", kind="patch")["artifacts"]
    assert [each["id"] for each in stage.call("artifacts", task=task)["artifacts"]] == [made["id"]]
    (event, _) = stage.events("artifact")
    assert (event["ref"], event["target"], event["data"]["for"]) == ("artifact-0001", task, ["user"])


def test_the_same_name_again_is_another_artifact(stage: Stage) -> None:
    first, second = put(stage, content="one"), put(stage, content="two")
    assert first["file"] != second["file"]
    assert [stage.call("artifacts.show", id=each["id"])["content"] for each in (first, second)] == ["one", "two"]


@pytest.mark.parametrize("data", [b"", b"\xff\x00\x80", "é\r\n".encode(), b"a\0b"])
def test_any_bytes_come_back(stage: Stage, data: bytes) -> None:
    made = put(stage, content=base64.b64encode(data).decode(), encoding="base64")
    shown = stage.call("artifacts.show", id=made["id"])
    got = shown["content"].encode() if shown["encoding"] == "text" else base64.b64decode(shown["content"])
    assert got == data


def test_evidence_may_name_one(stage: Stage) -> None:
    task = stage.call("task.add", title="T")["id"]
    stage.call("task.claim", "ada", id=task)
    assert stage.refused("task.done", "ada", id=task, evidence=["artifact-0009"]).code == "UNKNOWN_ARTIFACT"
    made = put(stage, task=task)
    done = stage.call("task.done", "ada", id=task, evidence=[made["id"], "and a word"])
    assert done["result"]["evidence"]["notes"] == [made["id"], "and a word"]


# --- refusals ---------------------------------------------------------------------------------------------------------

BAD_NAMES = (
    "", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b/..", "..\\x", ".hidden", "-rf", "a b", "x" * 101, "é", "a\nb",
    "~", "%2e%2e", "a:b", "\u2025/x", "con*", ".rook-tmp",
)  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
def test_h29_a_name_is_never_a_path(stage: Stage, name: str) -> None:
    assert isinstance(stage.refused("artifacts.add", "ada", name=name, content="x"), errors.BadInput)
    assert files(stage) == []


@pytest.mark.parametrize(
    "args",
    [
        {"name": "a\0b"},
        {"kind": "../patches"},
        {"encoding": "rot13"},
        {"content": "!!", "encoding": "base64"},
        {"content": "a\0b"},
        {"content": "x" * 5_000_000},
        {"content": base64.b64encode(b"x" * 4_194_305).decode(), "encoding": "base64"},
    ],
)
def test_what_is_refused_leaves_no_file(stage: Stage, args: dict[str, str]) -> None:
    assert isinstance(stage.refused("artifacts.add", "ada", **{"name": "a", "content": "x", **args}), errors.BadInput)
    assert files(stage) == []


def test_an_unknown_task_leaves_a_file_that_upkeep_removes(stage: Stage) -> None:
    """The file comes first; that the law then refuses is as if a crash had come between."""
    assert stage.refused("artifacts.add", "ada", name="a", content="x", task="task-0009").code == "UNKNOWN_TASK"
    assert len(files(stage)) == 1
    grow_old(stage)
    assert stage.call("sweep")["files"] == 1
    assert files(stage) == []


@pytest.mark.parametrize("id", ["artifact-0009", "../../rookery.db", "/etc/passwd", "teams/crew", ""])
def test_h29_an_id_is_never_a_path(stage: Stage, id: str) -> None:
    put(stage)
    assert stage.refused("artifacts.show", id=id).code == "UNKNOWN_ARTIFACT"


@pytest.mark.parametrize("depth", ["patches", "artifacts", "crew", "teams"])
def test_h29_a_folder_swapped_for_a_symlink_is_not_followed(stage: Stage, tmp_path: Path, depth: str) -> None:
    made = put(stage, kind="patch")
    (path,) = files(stage)
    place = next(up for up in path.parents if up.name == depth)
    elsewhere = tmp_path / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    for verb, args in (("artifacts.add", {"name": "x", "content": "y", "kind": "patch"}),
                       ("artifacts.show", {"id": made["id"]})):  # fmt: skip
        with pytest.raises(errors.StoreUnusable):
            stage.call(verb, "ada", **args)
    assert sorted(elsewhere.rglob("*")) == before


@pytest.mark.parametrize("how", ["symlink", "folder", "altered", "longer", "gone"])
def test_a_file_that_is_not_what_was_put_is_told(stage: Stage, tmp_path: Path, how: str) -> None:
    made = put(stage)
    (path,) = files(stage)
    if how in ("symlink", "folder", "gone"):
        path.unlink()
    if how == "symlink":
        (tmp_path / "secret").write_text("diff")
        path.symlink_to(tmp_path / "secret")
    elif how == "folder":
        path.mkdir()
    elif how != "gone":
        path.write_text("dxff" if how == "altered" else "difference" * 1000)
    with pytest.raises((errors.StoreCorrupt, errors.StoreUnusable, errors.Refused)) as caught:
        stage.call("artifacts.show", id=made["id"])
    assert "content" not in caught.value.facts


# --- a crash between file and row -------------------------------------------------------------------------------------


class Crash(BaseException):
    pass


@pytest.mark.parametrize("point", faults.POINTS)
def test_a_crash_leaves_an_orphan_or_all_of_it(stage: Stage, point: str) -> None:
    def crash() -> None:
        raise Crash

    faults.arm(point, crash)
    with pytest.raises(Crash):
        put(stage)
    faults.disarm()
    kept = point in ("after_commit", "before_ring")
    assert len(files(stage)) == 1, "the file is there before the transaction"
    assert len(stage.call("artifacts")["artifacts"]) == kept
    assert stage.call("sweep")["files"] == 0, "it is young: its transaction may be on its way"
    grow_old(stage)
    assert stage.call("sweep")["files"] == (0 if kept else 1)
    assert len(files(stage)) == kept
    if kept:
        assert stage.call("artifacts.show", id="artifact-0001")["content"] == "diff"


def test_half_a_file_is_removed_too(stage: Stage) -> None:
    put(stage)
    (folder(stage) / "other" / ".rook-abc-half").write_text("ha")
    grow_old(stage)
    assert stage.call("sweep")["files"] == 1
    assert [path.name[-9:] for path in files(stage)] == ["fix.patch"]


def test_control_the_age_is_what_protects(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep between file and row takes the file only if the file is old."""
    for old, content in ((False, "young"), (True, "old")):

        def sweep_meanwhile(old: bool = old) -> None:
            faults.disarm()
            if old:
                grow_old(stage)
            other = Stage(stage.store.location, store=None)
            found = other.shelf.old(3600, 100)
            assert bool(found) is old
            for file in found:
                if not ledger.ask(stage.store.location, "SELECT 1 FROM artifacts WHERE file = :file", file=file):
                    other.shelf.remove(file)
            other.close()

        faults.arm("after_lock", sweep_meanwhile)
        made = put(stage, content=content)
        if old:
            with pytest.raises(errors.Refused):
                stage.call("artifacts.show", id=made["id"])
        else:
            assert stage.call("artifacts.show", id=made["id"])["content"] == "young"


def test_a_caller_can_not_name_the_file(stage: Stage, tmp_path: Path) -> None:
    """`kept` and `files` are made here, whatever came over the wire."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    made = put(stage, kept={"file": "victim", "bytes": 4, "digest": "0"})
    assert made["file"].startswith("teams/crew/artifacts/other/")
    stage.call("sweep", files=["victim", "ledger0.db"])
    assert victim.exists()
    assert Path(stage.store.location).exists()


def test_many_put_at_once(stage: Stage) -> None:
    made: list[str] = []

    def work(number: int) -> None:
        other = Stage(stage.store.location)
        for n in range(5):
            made.append(other.call("artifacts.add", "ada", name="same.md", content=f"{number}-{n}")["id"])
        other.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [f"artifact-{n:04d}" for n in range(1, 21)]
    assert len({stage.call("artifacts.show", id=id)["content"] for id in made}) == 20


@pytest.mark.slow
def test_a_full_shelf_is_looked_at_in_time(stage: Stage) -> None:
    """More files than one look takes: an orphan among them is found after some looks."""
    place = folder(stage) / "other"
    place.mkdir(parents=True)
    for n in range(40):
        (place / f"{n:02d}-x").write_text("x")
    grow_old(stage)
    seen: set[str] = set()
    for _ in range(400):
        seen |= set(stage.shelf.old(3600, 5))
    assert len(seen) == 40
    assert HOUR  # ages here are the disk's, not the ledger's
