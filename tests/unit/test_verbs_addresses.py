"""Whom a message reaches: names, groups, broadcasts and roles; and what is known about each of them."""

from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.app import TeamDirectory
from rookery.core import errors
from tests.support.stage import Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    stage = build()
    stage.join_all("ada", "bob", "cat")
    return stage


# --- who gets it ------------------------------------------------------------------------------------------------------


def test_an_unknown_recipient_gets_suggestions(stage: Stage) -> None:
    stage.join("implementer")
    error = stage.refused("send", "ada", to=["implementor"], subject="x")
    assert error.code == "UNKNOWN_AGENT"
    assert "implementer" in error.hint


def test_what_the_sender_is_told_about_each(stage: Stage) -> None:
    gone, stopped = stage.process(), stage.process()
    stage.join("gone", process=gone)
    stage.join("stopped", process=stopped)
    stage.join("left")
    stage.call("leave", "left")
    stage.prober.states |= {gone: "dead", stopped: "stopped"}
    stage.bell.waiting = {"bob": 1}
    sent = stage.send("ada", ["bob", "cat", "gone", "stopped", "left", "user"])
    told = {each["name"]: each["state"] for each in sent["recipients"]}
    assert told == {
        "bob": "woken", "cat": "live", "gone": "queued", "stopped": "queued", "left": "queued", "user": "queued",
    }  # fmt: skip
    how = {each["name"]: each["how"] for each in sent["recipients"]}
    assert "dead" in how["gone"]
    assert "stopped" in how["stopped"]
    assert "ended" in how["left"]


def test_the_bell_rings_for_the_recipients_alone(stage: Stage) -> None:
    stage.bell.rung.clear()
    stage.send("ada", ["bob", "cat"])
    assert stage.bell.rung == [{"bob", "cat"}]


def test_no_bell_for_what_was_refused(stage: Stage) -> None:
    stage.bell.rung.clear()
    stage.refused("send", "ada", to=["bob", "nobody"], subject="x")
    assert stage.bell.rung == []


def test_first_contact_introduces_the_sender_once(build: Build) -> None:
    stage = build()
    stage.join("ada", role="architect", model="m-1", branch="main")
    stage.join("bob")
    stage.send("ada", "bob", "First")
    stage.send("ada", "bob", "Second")
    stage.send("bob", "ada", "Other way")
    first, second = stage.inbox("bob")
    assert first["first_contact"] == {"role": "architect", "cwd": "/work", "branch": "main", "model": "m-1"}
    assert "first_contact" not in second
    assert "first_contact" in stage.inbox("ada")[0]


def test_a_sender_without_a_session_has_little_to_introduce(stage: Stage) -> None:
    stage.send(None, "bob", "From a person")
    assert stage.inbox("bob")[0]["first_contact"] == {}


# --- any:ROLE ---------------------------------------------------------------------------------------------------------


def reviewers(build: Build, *names: str) -> Stage:
    stage = build()
    stage.join("ada")
    for name in names:
        stage.join(name, role="reviewer")
    return stage


def chosen(stage: Stage) -> tuple[str, str]:
    (told,) = stage.send("ada", "any:reviewer")["recipients"]
    return told["name"], told["chosen"]


def test_any_the_only_one(build: Build) -> None:
    assert chosen(reviewers(build, "rev")) == ("rev", "the only reviewer")


def test_any_prefers_who_is_there(build: Build) -> None:
    stage = reviewers(build, "away")
    stage.prober.states.clear()
    stage.join("here", role="reviewer")
    assert chosen(stage) == ("here", "the only reviewer that is live")


def test_any_takes_the_least_load(build: Build) -> None:
    stage = reviewers(build, "busy", "idle")
    stage.send("ada", "busy")
    assert chosen(stage) == ("idle", "reviewer with the least waiting (0)")


def test_any_does_not_count_what_lapsed_as_load(build: Build) -> None:
    stage = reviewers(build, "a", "b")
    for _ in range(3):
        stage.send("ada", "a", expires=stage.clock.wall + 1)
    stage.send("ada", "b")
    stage.clock.pass_time(1)
    assert chosen(stage)[0] == "a"


def test_any_prefers_shared_history_at_equal_load(build: Build) -> None:
    stage = reviewers(build, "first", "second")
    sent = stage.send("ada", "second")
    stage.call("ack", "second", ids=[sent["id"]])
    assert chosen(stage) == ("second", "reviewer who worked with you before")


def test_any_falls_back_to_the_name(build: Build) -> None:
    assert chosen(reviewers(build, "zoe", "amy")) == ("amy", "reviewer, first of 2 alike")


def test_any_is_never_the_sender(build: Build) -> None:
    stage = build()
    stage.join("ada", role="reviewer")
    error = stage.refused("send", "ada", to=["any:reviewer"], subject="x")
    assert "reviewer" in error.hint


def test_any_unknown_role_names_the_known_ones(build: Build) -> None:
    stage = reviewers(build, "rev")
    error = stage.refused("send", "ada", to=["any:tester"], subject="x")
    assert "reviewer" in error.hint
    assert error.hint


# --- groups and broadcasts --------------------------------------------------------------------------------------------


def test_a_broadcast_reaches_everyone_who_is_expected(stage: Stage) -> None:
    stage.join("dan")
    stage.call("leave", "dan")
    stage.send("ada", "user", "So that the person exists")
    sent = stage.call("broadcast", "ada", subject="All hands", exclude=["CAT"])
    assert [each["name"] for each in sent["recipients"]] == ["bob"]
    assert stage.inbox("bob")[0]["to"] == "broadcast:all"
    assert stage.inbox("bob")[0]["type"] == "notification"


def test_a_broadcast_is_one_transaction_and_one_event(build: Build) -> None:
    stage = build()
    names = [f"agent{number}" for number in range(40)]
    stage.join_all(*names)
    before, writes = stage.seq(), []
    real = stage.store.write
    stage.store.write = lambda *args: (writes.append(1), real(*args))[1]  # type: ignore[method-assign]
    sent = stage.call("broadcast", names[0], subject="All hands")
    assert writes == [1]
    assert stage.seq() == before + 1
    assert len(sent["recipients"]) == 39
    assert {stage.inbox(name)[0]["id"] for name in names[1:]} == {sent["id"]}


def test_a_group_from_the_settings(build: Build) -> None:
    stage = build(groups={"backend": ["ada", "bob", "zed"]})
    stage.join_all("ada", "bob", "cat")
    sent = stage.call("broadcast", "cat", subject="x", group="backend")
    assert [each["name"] for each in sent["recipients"]] == ["ada", "bob", "zed"]
    assert stage.inbox("ada")[0]["group"] == "backend"
    assert stage.subjects("zed") == ["x"]  # known by definition, though it never joined
    assert [each["name"] for each in stage.send("ada", "broadcast:backend")["recipients"]] == ["bob", "zed"]


def test_a_group_by_address(stage: Stage) -> None:
    stage.join_all("ops/dan", "ops/eva", "opsx/no")
    sent = stage.call("broadcast", "ada", subject="x", group="ops")
    assert [each["name"] for each in sent["recipients"]] == ["ops/dan", "ops/eva"]
    sent = stage.call("broadcast", "ops/dan", subject="x", group="OPS", exclude=["nobody"])
    assert [each["name"] for each in sent["recipients"]] == ["ops/eva"]


def reached(stage: Stage, sender: str, **more: Any) -> list[str]:
    sent = stage.call("broadcast", sender, subject="x", group="dev", **more)
    return [each["name"] for each in sent["recipients"]]


def test_a_member_with_two_address_forms_is_one_recipient(build: Build) -> None:
    stage = build(groups={"dev": ["ada", "bob"]})
    stage.join("cat")
    client = stage.caller("cat", open_addresses=True)
    for name in ("ada", "dev/ada", "dev/bob"):
        stage.send(client, name)
    assert reached(stage, "cat") == ["ada", "dev/bob"]
    assert reached(stage, "cat", exclude=["dev/ada"]) == ["dev/bob"]
    assert reached(stage, "cat", exclude=["BOB"]) == ["ada"]
    assert [each["name"] for each in stage.send("cat", "broadcast:dev")["recipients"]] == ["ada", "dev/bob"]


def test_a_member_gets_it_at_the_address_form_that_joined(build: Build) -> None:
    stage = build(groups={"dev": ["ada", "bob"]})
    stage.join("cat")
    stage.send(stage.caller("cat", open_addresses=True), "ada")
    stage.join("dev/ada")
    assert reached(stage, "cat") == ["dev/ada", "bob"]
    assert reached(stage, "dev/ada") == ["bob"]
    assert [each["name"] for each in stage.send("dev/ada", "broadcast:dev")["recipients"]] == ["bob"]


def test_two_agents_that_joined_under_both_address_forms_both_get_it(build: Build) -> None:
    stage = build(groups={"dev": ["ada", "bob"]})
    stage.join_all("cat", "ada", "dev/ada")
    assert reached(stage, "cat") == ["ada", "bob", "dev/ada"]
    assert reached(stage, "dev/ada") == ["ada", "bob"]
    assert reached(stage, "cat", exclude=["ada"]) == ["bob"]


def test_an_unlisted_address_of_a_defined_group_is_a_member_once_it_joined(build: Build) -> None:
    stage = build(groups={"dev": ["ada"]})
    stage.join("cat")
    stage.send(stage.caller("cat", open_addresses=True), "dev/zoe")
    assert reached(stage, "cat") == ["ada"]
    stage.join("dev/zoe")
    assert reached(stage, "cat") == ["ada", "dev/zoe"]


def test_a_group_from_a_folder(tmp_path: Path, build: Build) -> None:
    folder = tmp_path / "repo" / "swarms" / "web" / "agents"
    folder.mkdir(parents=True)
    for name in ("implementer.md", "critic.md", "_template.md", "notes.txt", "bad name.md", "..md"):
        (folder / name).write_text("# x")
    stage = build()
    stage.directory = TeamDirectory(stage.settings, str(tmp_path / "repo"), str(tmp_path / "repo"))  # type: ignore[assignment]
    stage.join("ada")
    sent = stage.call("broadcast", "ada", subject="x", group="web")
    assert [each["name"] for each in sent["recipients"]] == ["critic", "implementer"]


def test_a_group_that_lists_an_impossible_name(build: Build) -> None:
    """Written by hand in a settings file: no agent may come of it."""
    stage = build(groups={"web": ["ada", "../x"], "top": ["system"]})
    stage.join_all("ada", "bob")
    for group in ("web", "top"):
        error = stage.refused("broadcast", "bob", subject="x", group=group)
        assert isinstance(error, errors.BadInput), error
        assert error.hint


def test_an_unknown_group_names_the_known_ones(build: Build) -> None:
    stage = build(groups={"backend": ["ada"]})
    stage.join("ada")
    error = stage.refused("broadcast", "ada", subject="x", group="frontend")
    assert error.code == "UNKNOWN_GROUP"
    assert "backend" in error.hint


def test_a_broadcast_to_nobody(build: Build) -> None:
    stage = build()
    stage.join("ada")
    assert stage.refused("broadcast", "ada", subject="x").code == "NOBODY"
    assert stage.refused("send", "ada", to=["broadcast:all"], subject="x").code == "NOBODY"


def test_groups_of_a_real_house(tmp_path: Path) -> None:
    """Settings file and folder together, through the front of the Python API."""
    repo = tmp_path / "repo"
    (repo / "swarms" / "web" / "agents").mkdir(parents=True)
    (repo / "swarms" / "web" / "agents" / "critic.md").write_text("# x")
    (repo / "rookery.toml").write_text(
        'team = "web"\n[groups]\nweb = ["ada", "critic"]\n[agents]\nzed = {role = "qa"}\n'
    )
    with rookery.connect(cwd=str(repo), home=str(tmp_path / "h")) as team:
        ada, bob = team.join("ada"), team.join("bob")
        assert [each.name for each in bob.broadcast("Hi", group="web").recipients] == ["ada", "critic"]
        (told,) = ada.send("any:qa", "Check").recipients
        assert (told.name, told.chosen) == ("zed", "the only qa")
