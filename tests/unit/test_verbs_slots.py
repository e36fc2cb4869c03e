"""Slots: counted, held like reservations, waited for in the same line."""

from pathlib import Path
from typing import Any

import pytest

from rookery import config
from rookery.core import errors
from tests.support.chores import stop
from tests.support.stage import MINUTE, SECOND, Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    stage = build(leader="boss", slots={"build": 2})
    stage.join_all("ada", "bob", "cat", "boss")
    return stage


def take(stage: Stage, who: str, name: str = "build", **args: Any) -> dict[str, Any]:
    return stage.call("slot.take", who, name=name, **args)


def users(stage: Stage, name: str = "build") -> tuple[list[str], list[str]]:
    (slot,) = stage.call("slot.list", name=name)["slots"]
    return sorted(u["agent"] for u in slot["holders"]), [u["agent"] for u in slot["waiting"]]


def test_no_more_than_there_are(stage: Stage) -> None:
    take(stage, "ada", reason="make test")
    take(stage, "bob")
    error = stage.refused("slot.take", "cat", name="build")
    assert error.code == "RESERVED"
    assert {(other["name"], other.get("reason")) for other in error.facts["others"]} == {
        ("ada", "make test"),
        ("bob", None),
    }
    assert "rook slot take build --wait" in error.hint
    assert users(stage) == (["ada", "bob"], [])
    stage.call("slot.give", "ada", name="build")
    take(stage, "cat")
    assert [event["actor"] for event in stage.events("slot.take")] == ["ada", "bob", "cat"]
    assert [event["actor"] for event in stage.events("slot.give")] == ["ada"]


def test_a_slot_is_counted_whoever_has_it(stage: Stage) -> None:
    take(stage, "ada")
    take(stage, "ada")
    assert stage.refused("slot.take", "ada", name="build").code == "RESERVED"
    stage.call("slot.give", "ada", name="build")
    assert users(stage) == (["ada"], [])
    take(stage, "ada")
    assert stage.call("slot.give", "ada", name="build", all=True)["released"] == ["build", "build"]
    assert stage.refused("slot.give", "ada", name="build").code == "NOT_HELD"


def test_what_nobody_set_up_is_there_once(stage: Stage) -> None:
    take(stage, "ada", "port:3000")
    assert stage.refused("slot.take", "bob", name="port:3000").code == "RESERVED"
    stage.call("reserve", "bob", paths=["port:3000"])  # a file of that name is another thing
    assert [slot["name"] for slot in stage.call("slot.list")["slots"]] == ["build", "port:3000"]


def test_the_line_is_fair(stage: Stage) -> None:
    first, second = take(stage, "ada"), take(stage, "ada")
    bob = take(stage, "bob", wait=True)
    cat = take(stage, "cat", wait=True)
    assert (bob["state"], cat["state"]) == ("waiting", "waiting")
    assert stage.subjects("ada") == ["bob waits for build", "cat waits for build"]
    stage.call("release", "ada", ids=[first["id"]])
    assert stage.refused("slot.take", "ada", name="build").code == "RESERVED", "one is free, and bob was first"
    assert stage.call("hold.take", "cat", id=cat["id"])["state"] == "waiting"
    assert stage.call("hold.take", "bob", id=bob["id"])["state"] == "held"
    stage.call("release", "ada", ids=[second["id"]])
    assert stage.call("hold.take", "cat", id=cat["id"])["state"] == "held"
    assert users(stage) == (["bob", "cat"], [])


def test_leases_are_those_of_reservations(stage: Stage) -> None:
    take(stage, "ada", ttl_ms=MINUTE)
    take(stage, "bob", ttl_ms=MINUTE)
    stop(stage, "ada", "dead")
    take(stage, "cat")
    assert [event["target"] for event in stage.events("slot.lapsed")] == ["ada"]
    stop(stage, "bob")
    stage.clock.pass_time(MINUTE)
    take(stage, "boss")
    assert [event["target"] for event in stage.events("slot.lapsed")] == ["ada", "bob"]
    assert stage.subjects("bob") == ["No longer yours: build"]
    stage.call("leave", "cat")
    assert users(stage) == (["boss"], [])


def test_a_dead_command_frees_its_slot(stage: Stage) -> None:
    command = stage.process()
    stage.call("slot.take", stage.caller("ada", process=command), name="db:test", bound=True)
    assert stage.refused("slot.take", "bob", name="db:test").code == "RESERVED"
    stage.prober.states[command] = "dead"
    take(stage, "bob", "db:test")


def test_how_many_there_are(stage: Stage) -> None:
    assert isinstance(stage.refused("slot.set", "ada", name="build", capacity=9), errors.NotYours)
    take(stage, "ada", "gpu")
    bob = take(stage, "bob", "gpu", wait=True)
    stage.bell.rung.clear()
    assert stage.call("slot.set", "boss", name="gpu", capacity=2)["capacity"] == 2
    assert "bob" in {name for names in stage.bell.rung for name in names}
    assert stage.call("hold.take", "bob", id=bob["id"])["state"] == "held"
    assert stage.call("slot.set", name="gpu", capacity=1)["free"] == 0, "whoever has one keeps it"
    assert users(stage, "gpu") == (["ada", "bob"], [])
    stage.call("slot.set", name="build", capacity=5)
    assert stage.call("slot.set", name="build", capacity=0)["capacity"] == 2, "as the settings say"
    for capacity in (-1, 10_001):
        assert isinstance(stage.refused("slot.set", name="build", capacity=capacity), errors.BadInput)


@pytest.mark.parametrize("name", ["", "a b", "-x", "a\nb"])
def test_no_slots(stage: Stage, name: str) -> None:
    for verb in ("slot.take", "slot.give"):
        assert isinstance(stage.refused(verb, "ada", name=name), errors.BadInput)


def test_a_waiter_of_a_slot_falls_silent(stage: Stage) -> None:
    take(stage, "ada", "one")
    bob, cat = take(stage, "bob", "one", wait=True), take(stage, "cat", "one", wait=True)
    stage.clock.pass_time(6 * SECOND)
    stage.call("hold.take", "cat", id=cat["id"])
    stage.clock.pass_time(6 * SECOND)
    stage.call("slot.give", "ada", name="one")
    assert stage.call("hold.take", "cat", id=cat["id"])["state"] == "held"
    assert stage.refused("hold.take", "bob", id=bob["id"]).code == "PLACE_LOST"


def test_slots_and_paths_make_one_circle(stage: Stage) -> None:
    take(stage, "ada", "one")
    stage.call("reserve", "bob", paths=["src/"])
    take(stage, "bob", "one", wait=True)
    assert stage.refused("reserve", "ada", paths=["src/"], wait=True).code == "CIRCLE"


@pytest.mark.parametrize("written", ["0", "-1", "true", '"2"', "10001", "1.5"])
def test_a_capacity_in_a_file_is_a_count(tmp_path: Path, written: str) -> None:
    file = tmp_path / "rookery.toml"
    file.write_text(f'[slots]\n"port:3000" = {written}\n')
    with pytest.raises(errors.BadInput, match="port:3000"):
        config.load(environ={}, user_file=None, repo_file=str(file))
    file.write_text('[slots]\n"port:3000" = 2\nbuild = 1\n')
    loaded = config.load(environ={}, user_file=None, repo_file=str(file))
    assert loaded["slots"] == {"port:3000": 2, "build": 1}
