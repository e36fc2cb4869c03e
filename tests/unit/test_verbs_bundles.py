"""Bundles: what goes into one, what it says of itself, the files that are made of it, and how it ends."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.support.evidence import put, result
from tests.support.reporting import Shop
from tests.support.stage import DAY, Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.join_all("ada", "bob")
    return made


def files(stage: Stage) -> dict[str, Path]:
    folder = Path(stage.store.location).parent / "teams" / "crew" / "bundles"
    return {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}


def save(stage: Stage, *refs: str, **more: Any) -> dict[str, Any]:
    return stage.call("bundle.save", "ada", refs=list(refs) or [put(stage, "error", "It broke", failed=True)], **more)


def kinds(stage: Stage, ref: str) -> list[str]:
    return [event["type"] for event in stage.events() if event["ref"] == ref]


# -- saving ------------------------------------------------------------------------------------------------------------


def test_what_is_named_is_saved_in_that_order(stage: Stage):
    first = put(stage, "error", "AssertionError: 3 != 4", body="Traceback\n  line", failed=True)
    second = put(stage, "edit", "src/a.py", data={"path": "src/a.py"})
    saved = save(stage, second, first, title="The parser")
    assert (saved["id"], saved["title"], saved["by"], saved["state"]) == ("bundle-0001", "The parser", "ada", "saved")
    assert [item["id"] for item in saved["items"]] == [second, first]
    assert saved["items"][1]["excerpt"] == "Traceback\n  line"
    assert stage.call("bundle.show", "bob", id=saved["id"]) == saved
    assert [each["id"] for each in stage.call("bundle.list")["bundles"]] == ["bundle-0001"]
    assert kinds(stage, "bundle-0001") == ["bundle.saved"]


def test_the_header_tells_kinds_files_failures_and_tests(stage: Stage):
    refs = [
        put(stage, "edit", "a", data={"path": "src/a.py"}), put(stage, "edit", "a again", data={"path": "src/a.py"}),
        put(stage, "error", "AssertionError: 3 != 4", failed=True),
        put(stage, "test", "pytest -q", failed=True, data={"passed": 12, "failed": 1}),
    ]  # fmt: skip
    header = save(stage, *refs)["header"]
    assert header.splitlines() == [
        "Of what the team did. Saved by ada.",
        "4 items: 2 edit, 1 error, 1 test.",
        "Files: src/a.py.",
        f"Failed: {refs[2]}, AssertionError: 3 != 4",
        f"Failed: {refs[3]}, pytest -q",
        f"Tests: {refs[3]}, 12 passed, 1 failed",
    ]
    assert save(stage, *refs)["header"] == header, "the same items, the same header"


def test_of_a_worker_the_most_telling_is_chosen_in_the_order_it_happened(stage: Stage):
    worker = stage.call("spawn", stage.caller("ada", tree="/work"), assignment="Fix the parser")
    for number in range(20):
        put(stage, "prompt", f"prompt {number}", worker=worker["id"])
    failed = put(stage, "error", "It broke", worker=worker["id"], failed=True)
    pinned = put(stage, "response", "The plan", worker=worker["id"])
    stage.call("pin", refs=[pinned])
    put(stage, "error", "Elsewhere", failed=True)
    chosen = stage.call("bundle.candidates", "ada", worker=worker["id"], limit=3)
    assert [item["title"] for item in chosen["candidates"]] == ["prompt 19", "It broke", "The plan"]
    assert chosen["header"].startswith(f"Of {worker['id']} ({worker['name']}), {worker['task']}: Fix the parser.")
    saved = save(stage, failed, pinned, worker=worker["id"])
    assert (saved["worker"], saved["task"], saved["title"]) == (worker["id"], worker["task"], "Fix the parser")


def test_a_result_can_be_part_of_one(stage: Stage):
    worker = stage.call("spawn", stage.caller("ada", tree="/work"), assignment="Fix the parser")
    ref = result(stage, worker["id"], 2, "The parser takes tabs", agent=worker["name"])
    (item,) = save(stage, ref)["items"]
    assert (item["ref"], item["kind"], item["by"]) == (ref, "result", worker["name"])
    assert "The parser takes tabs" in item["excerpt"]


def test_what_is_not_there_is_refused_and_saves_nothing(stage: Stage):
    assert stage.refused("bundle.save", "ada", refs=["e99"]).code == "UNKNOWN_ARTIFACT"
    assert stage.refused("bundle.save", "ada").code == "EMPTY_BUNDLE"
    assert stage.refused("bundle.save", "ada", worker="w9").code == "UNKNOWN_WORKER"
    assert stage.refused("bundle.save", "ada", refs=[put(stage, "prompt", "x")], summarize="nosuch")
    assert stage.refused("bundle.show", "ada", id="bundle-0001").code == "UNKNOWN_BUNDLE"
    assert files(stage) == {}


# -- the files that are made of it -------------------------------------------------------------------------------------


def test_both_files_hold_what_the_row_says(stage: Stage):
    saved = save(stage, put(stage, "error", "It *broke* <b>", body="# not a heading\n```\n- nor this"))
    made = files(stage)
    assert sorted(made) == ["bundle-0001.artifacts.json", "bundle-0001.md"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in made.values()} == {0o600}
    sidecar = json.loads(made["bundle-0001.artifacts.json"].read_text())
    assert (sidecar["schemaVersion"], sidecar["items"]) == ("1.0.0", saved["items"])
    written = made["bundle-0001.md"].read_text()
    assert r"It \*broke\* \<b\>" in written
    headings = [line for line in written.splitlines() if line.startswith(("#", "```", "- "))]
    assert headings == ["# bundle-0001: 1 of the team", "## Items"], "no word of an agent's begins a line"


@pytest.mark.parametrize("name", ["bundle-0001.md", "bundle-0001.artifacts.json"])
def test_a_file_that_is_gone_or_changed_is_told_and_made_again(stage: Stage, name: str):
    save(stage)
    path = files(stage)[name]
    before = path.read_bytes()
    for damage, told in ((path.unlink, "missing"), (lambda: path.write_bytes(before[:-5] + b"abcd\n"), "changed")):
        damage()
        assert stage.call("bundle.show", id="bundle-0001")["remarks"] == [f"{name} was {told}; it was made again"]
        assert path.read_bytes() == before
        assert stage.call("bundle.show", id="bundle-0001")["remarks"] == []


def test_what_can_not_be_written_is_told_and_the_bundle_stands(stage: Stage):
    folder = Path(stage.store.location).parent / "teams" / "crew"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "bundles").symlink_to("/tmp")
    saved = save(stage)
    assert [said.partition(" ")[2].partition(":")[0] for said in saved["remarks"]] == ["could not be written"] * 2
    assert stage.call("bundle.list")["bundles"][0]["id"] == "bundle-0001"


# -- how it ends -------------------------------------------------------------------------------------------------------


def test_it_is_consumed_once_and_then_only_listed_with_all(stage: Stage):
    save(stage)
    used = stage.call("bundle.consume", "bob", id="bundle-0001")
    assert (used["state"], used["consumed"]["by"]) == ("consumed", "bob")
    assert stage.call("bundle.list")["bundles"] == []
    assert [each["id"] for each in stage.call("bundle.list", all=True)["bundles"]] == ["bundle-0001"]
    again = stage.refused("bundle.consume", "ada", id="bundle-0001")
    assert (again.code, "bob consumed bundle-0001" in again.message) == ("BUNDLE_CONSUMED", True)
    assert stage.call("bundle.show", id="bundle-0001")["items"], "it is still there"


def test_a_consumed_one_is_swept_after_its_days_and_one_that_nobody_used_stays(stage: Stage):
    save(stage)
    save(stage)
    stage.call("bundle.consume", "bob", id="bundle-0001")
    stage.clock.pass_time(7 * DAY - 1000)
    assert stage.call("sweep")["bundles"] == 0
    stage.clock.pass_time(2000)
    assert stage.call("sweep")["bundles"] == 1
    assert stage.call("sweep")["bundles"] == 0
    assert sorted(files(stage)) == ["bundle-0002.artifacts.json", "bundle-0002.md"]
    assert kinds(stage, "bundle-0001") == ["bundle.saved", "bundle.consumed", "bundle.swept"]
    stage.clock.pass_time(365 * DAY)
    stage.call("sweep")
    assert [each["id"] for each in stage.call("bundle.list")["bundles"]] == ["bundle-0002"]


def test_a_deleted_one_is_gone_with_its_files_and_names_no_evidence(stage: Stage):
    save(stage)
    assert stage.refused("bundle.delete", "bob", id="bundle-0001").code == "NOT_YOUR_BUNDLE"
    stage.call("bundle.delete", "ada", id="bundle-0001")
    assert files(stage) == {}
    told = stage.refused("bundle.show", "bob", id="bundle-0001")
    assert (told.code, "ada deleted bundle-0001" in told.message) == ("UNKNOWN_BUNDLE", True)
    assert stage.call("bundle.list", all=True)["bundles"] == []
    assert "test:" not in str(stage.rows()["bundles"])
    assert save(stage)["id"] == "bundle-0002", "a number is given once"


# -- a summary ---------------------------------------------------------------------------------------------------------


def test_a_worker_that_was_asked_for_a_summary_gives_it_by_its_report(build: Build, tmp_path: Path):
    shop = Shop(build(), tmp_path)
    stage = shop.stage
    stage.join("ada")
    stage.call("kind.add", written="---\nname: scout\nread_only: true\nworktree: false\n---\nLook.\n")
    me = stage.caller("ada", tree=str(shop.root))
    saved = stage.call("bundle.save", me, refs=[put(stage, "error", "It broke")], summarize="scout")
    id = saved["summarizer"]
    shop.names[id] = stage.call("worker.show", id=id)["name"]
    assert (saved["summary"], "bundle-0001" in shop.card(id)["title"]) == ("", True)
    shop.start(id, tree=False)
    said = "The parser breaks on tabs because the table of columns is counted in bytes; nothing else is wrong."
    shop.call(id, "done", outcome="findings", summary=said, evidence=["bundle-0001"])
    shown = stage.call("bundle.show", id="bundle-0001")
    assert (shown["summary"], shown["remarks"]) == (said, [])
    assert said in files(stage)["bundle-0001.md"].read_text()
    assert shown["digest"] != saved["digest"]
    assert kinds(stage, "bundle-0001") == ["bundle.saved", "bundle.summarized"]
