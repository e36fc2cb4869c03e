"""Kinds as verbs: which layer holds, who may register, what a broken file does to the others."""

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from rookery.app import TeamDirectory
from rookery.core import kinds
from rookery.service import kinds as verbs
from rookery.service.tx import Tx
from tests.support import workers
from tests.support.stage import Build, Stage

BUILT_IN = ["default", "fixer", "implementer", "planner", "reviewer", "scout"]


def written(name: str = "", body: str = "Do it.", **fields: Any) -> str:
    lines = [*([f"name: {name}"] if name else []), *(f"{key}: {value}" for key, value in fields.items())]
    return "\n".join(["---", *lines, "---", body])


class Places:
    """A stage with the person's own kinds and the repository's."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.user, self.repository = folder / "user", folder / "repository"
        for place in (self.user, self.repository):
            place.mkdir()
        stage.directory.kind_folders = [("user", str(self.user)), ("repository", str(self.repository))]

    def row(self, name: str) -> dict[str, Any]:
        (row,) = [row for row in self.stage.call("kinds", "ada")["kinds"] if row["name"] == name]
        return row


@pytest.fixture
def places(build: Build, tmp_path: Path) -> Places:
    stage = build(leader="lead")
    stage.join_all("ada", "lead")
    return Places(stage, tmp_path)


def test_ours_are_there_for_everyone(places: Places) -> None:
    listed = places.stage.call("kinds", "ada")["kinds"]
    assert [row["name"] for row in listed] == BUILT_IN
    assert {row["layer"] for row in listed} == {"built in"}
    shown = places.stage.call("kind.show", "ada", name="Scout")
    assert (shown["name"], shown["read_only"]) == ("scout", True)
    assert "These rules hold for every worker" in shown["guardrails"]


def test_the_later_layer_holds(places: Places) -> None:
    stage = places.stage
    for place, said in ((places.user, "the person's"), (places.repository, "the repository's")):
        (place / "fixer.md").write_text(written(description=said))
        assert places.row("fixer")["description"] == "the person's", "a repository replaces nobody's text by itself"
    stage.directory.accepted_kinds.add("fixer")
    assert places.row("fixer")["description"] == "the repository's"
    stage.call("kind.add", None, written=written("fixer", description="registered"))
    row = places.row("fixer")
    assert (row["description"], row["layer"]) == ("registered", "registered")
    assert [os.path.basename(os.path.dirname(each)) for each in row["instead_of"]] == ["kinds", "user", "repository"]
    assert stage.call("kind.drop", None, name="FIXER")["instead"] == [str(places.repository / "fixer.md")]
    assert places.row("fixer")["description"] == "the repository's"
    assert [event["type"] for event in stage.events("kind.added", "kind.dropped")] == ["kind.added", "kind.dropped"]


def test_who_may_register(places: Places) -> None:
    stage = places.stage
    text = written("scout", description="writes all the same", read_only="false")
    assert stage.refused("kind.add", "ada", written=text).code == "NOT_YOURS"
    assert stage.refused("kind.add", "lead", written=text).code == "NOT_YOURS"
    told = stage.call("kind.add", written=text)
    assert "no longer has read_only" in told["warning"]
    assert stage.call("kind.show", "ada", name="scout")["read_only"] is False
    assert stage.events("kind.added")[0]["data"]["loosened"] == "read_only"
    assert stage.refused("kind.drop", "ada", name="scout").code == "NOT_YOURS"
    stage.call("kind.drop", None, name="scout")
    assert stage.call("kind.show", "ada", name="scout")["read_only"] is True
    assert stage.refused("kind.drop", None, name="scout").code == "UNKNOWN_KIND"


def test_a_repository_loosens_nothing(places: Places) -> None:
    """It is written by whoever the repository was cloned from, and by workers."""
    (places.repository / "scout.md").write_text(written(read_only="no", description="mine"))
    shown = places.stage.call("kind.show", "ada", name="scout")
    assert (shown["read_only"], shown["permissions"]) == (True, "read")
    assert {"read_only", "permissions", "description", "body"} <= set(shown["not_in_force"])
    assert places.row("scout")["not_in_force"] == shown["not_in_force"]
    (places.user / "careful.md").write_text(written(plan_gate="yes"))
    (places.repository / "careful.md").write_text(written(description="hasty"))
    assert places.stage.call("kind.show", "ada", name="careful")["plan_gate"] is True
    places.stage.directory.accepted_kinds.add("careful")
    assert places.stage.call("kind.show", "ada", name="careful")["plan_gate"] is False
    (places.user / "scout.md").write_text(written(read_only="no"))
    (places.repository / "scout.md").unlink()
    assert places.stage.call("kind.show", "ada", name="scout")["read_only"] is False, "the person's own file may"


def test_a_broken_file_is_told_of_and_hurts_nothing_else(places: Places) -> None:
    (places.repository / "scout.md").write_text("---\nname: scout\nread_olny: true\n---\n")
    (places.repository / "own.md").write_bytes(b"---\nname: own\n---\n\xff")
    (places.repository / "linked.md").symlink_to(places.repository / "scout.md")
    error = places.stage.refused("kind.show", "ada", name="scout")
    assert error.message.startswith(f"{places.repository}/scout.md, line 3: there is no key 'read_olny'")
    assert "read_only" in error.hint
    assert "line 3" in places.row("scout")["problem"]
    assert "not UTF-8" in places.row("own")["problem"]
    assert "symlink" in places.row("linked")["problem"]
    others = [row["name"] for row in places.stage.call("kinds", "ada")["kinds"] if "problem" not in row]
    assert others == [name for name in BUILT_IN if name != "scout"]


def test_bad_texts_are_not_registered(places: Places) -> None:
    stage = places.stage
    assert stage.refused("kind.add", None, written=written("x", reed_only="yes")).code == "BAD_KIND"
    assert stage.refused("kind.add", None, written=written()).code == "BAD_KIND"
    assert stage.refused("kind.add", None, written="x" * 70_000).code == "TOO_LARGE"
    assert stage.refused("kind.show", "ada", name="scoot").hint == "Did you mean scout?"
    assert stage.refused("kind.show", "ada", name="../scout").code == "BAD_NAME"


def test_a_registered_kind_that_is_broken_by_a_newer_rule_is_told_of(places: Places) -> None:
    stage = places.stage
    stage.call("kind.add", None, written=written("x", description="d"))
    with closing(apsw.Connection(stage.store.location)) as db:
        db.execute("UPDATE kinds SET written = ?", (written("x", gone="yes"),))
    assert "registered by user, line 3: there is no key 'gone'" in places.row("x")["problem"]


def test_what_others_get(places: Places) -> None:
    found: list[kinds.Kind] = []
    stage = places.stage
    stage.store.read(stage.team, lambda db: found.append(verbs.find(Tx(db, stage.caller("ada"), stage), "scout")))
    assert found == [workers.built_in("scout")]


def test_where_files_are_looked_for(tmp_path: Path) -> None:
    root, user = tmp_path / "repo", tmp_path / "config" / "rookery"
    for folder, said in ((root / ".rook" / "kinds", "repo"), (user / "kinds", "user")):
        folder.mkdir(parents=True)
        (folder / "fixer.md").write_text(written(description=said))
        (folder / "_draft.md").write_text("not one")
        (folder / "no name.md").write_text("nor this")
    directory = TeamDirectory({"extensions.enabled": False}, str(root), str(root), str(user / "config.toml"))  # type: ignore[arg-type]
    assert [found.layer for found in directory.kind("Fixer")] == ["built in", "user", "repository"]
    assert len(directory.kinds()) == len(BUILT_IN) + 2
    assert [found.layer for found in directory.kind("scout")] == ["built in"]
