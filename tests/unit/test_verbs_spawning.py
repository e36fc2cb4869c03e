"""Workers that messages ask for: by whom, how many, and what is kept and told of them."""

from typing import Any

import pytest

from rookery.core import briefs
from tests.support.stage import MINUTE, SECOND, Build, Stage

SPAWN: dict[str, Any] = {"kind": "scout", "reason": "look closer", "context": "they asked", "lens": ["sceptic"]}
ON: dict[str, Any] = {"spawn__by_message": True, "leader": "lead"}


def crew(build: Build, **settings: Any) -> Stage:
    stage = build(**{**ON, **settings})
    stage.join_all("ada", "bob", "lead")
    return stage


def send(stage: Stage, sender: str | None, spawn: dict[str, Any] = SPAWN, **more: Any) -> Any:
    caller = stage.caller(sender, tree="/work")
    return stage.call("send", caller, to=["bob"], subject="Please", spawn=spawn, **more)


def drop(stage: Stage, sender: str = "ada", spawn: dict[str, Any] = SPAWN, **more: Any) -> Any:
    caller = stage.caller("system", tree="/work")
    return stage.call("drop", caller, sender=sender, to=["bob"], subject="Please", spawn=spawn, **more)


def made(stage: Stage) -> list[dict[str, Any]]:
    return [stage.call("worker.show", id=row["id"]) for row in stage.call("workers", all=True)["workers"][::-1]]


# --- one --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sender", [None, "lead"])
def test_a_message_starts_a_worker(build: Build, sender: str | None) -> None:
    stage = crew(build)
    sent = send(stage, sender, entity_refs=["e1", "e2"])
    (worker,) = made(stage)
    assert sent["spawned"] == [{"id": "w1", "name": worker["name"], "kind": "scout"}]
    assert (worker["state"], worker["title"], worker["root"]) == ("queued", "look closer", "/work")
    assert worker["profile"]["read_only"] is True
    assert worker["extra"] == {
        "message": sent["id"], "context": "they asked", "lenses": ["sceptic"], "entity_refs": ["e1", "e2"],
        "ready_s": 45,
    }  # fmt: skip
    who = sender or "user"
    evidence = stage.events("message", "spawn.requested", "worker.spawned")
    assert [event["type"] for event in evidence][:3] == ["message", "spawn.requested", "worker.spawned"]
    assert (evidence[1]["actor"], evidence[1]["target"], evidence[1]["ref"]) == (who, "scout", sent["id"])
    (told,) = [m for m in stage.inbox(who) if m["from"] == "system"]
    assert "w1" in stage.call("read", who, id=told["id"])["body"]
    assert stage.inbox("bob")[0]["context"]["spawn"]["kind"] == "scout", "the message went to its reader as well"


def test_what_its_worker_is_told(build: Build) -> None:
    stage = crew(build)
    send(stage, "lead", entity_refs=["e1"])
    order = stage.call("worker.begin", "system", id="w1", owner="here:1:t1")["worker"]
    told = briefs.of_order(order, team="crew", workspace="/work", own_tree=False)
    for part in ("| look closer", "| they asked", "| e1", "the agent lead", "perspective sceptic", "> Assume that the"):
        assert part in told, part


def test_it_is_off_until_a_person_switches_it_on(build: Build) -> None:
    stage = crew(build, spawn__by_message=False)
    sent = send(stage, None)
    assert "spawned" not in sent
    assert "spawning by message is off" in sent["notes"][0]
    assert made(stage) == []
    assert len(stage.events("spawn.requested")) == 1


# --- who --------------------------------------------------------------------------------------------------------------


def test_others_may_not_unless_the_settings_name_them(build: Build) -> None:
    stage = crew(build)
    sent = send(stage, "ada")
    assert "ada may not ask for workers by message" in sent["notes"][0]
    assert made(stage) == []
    assert [event["data"]["code"] for event in stage.events("spawn.refused")] == ["MAY_NOT_SPAWN"]
    allowed = crew(build, spawn__senders=["a*", "role:tester"])
    assert send(allowed, "ada")["spawned"]
    assert "spawned" not in send(allowed, "bob")


def test_a_file_is_no_leader(build: Build) -> None:
    """Whoever can write to the folder can say that name."""
    stage = crew(build)
    assert "may not ask" in drop(stage, "lead")["notes"][0]
    assert made(stage) == []
    named = crew(build, spawn__senders=["lead"])
    assert drop(named, "lead", entity_refs=["e1"])["spawned"]
    (worker,) = made(named)
    assert (worker["extra"]["by"], worker["extra"]["entity_refs"]) == ("maildrop", ["e1"])


@pytest.mark.parametrize(("kind", "may"), [("parent", True), ("implementer", False)])
def test_a_worker_may_if_its_kind_may(build: Build, kind: str, may: bool) -> None:
    stage = crew(build)
    stage.call("kind.add", None, written="---\nname: parent\ncan_spawn: true\nread_only: true\n---\n")
    first = stage.call("spawn", stage.caller(None, tree="/work"), assignment="Begin", kind=kind)
    child: dict[str, Any] = {**SPAWN, "kind": "implementer"}
    for ask in (send, drop):
        sent = ask(stage, first["name"], spawn=child)
        assert ("spawned" in sent) is may
    children = [worker for worker in made(stage) if worker["parent"]]
    assert len(children) == 2 * may
    for worker in children:
        assert (worker["parent"], worker["depth"]) == ("w1", 1)
        assert worker["profile"]["read_only"] is True, "a reader's children read"
    assert bool(stage.events("spawn.refused")) is not may


def test_a_reader_starts_no_program_of_its_own(build: Build) -> None:
    """The guard is asked by hooks, and a plain program has none (H34)."""
    stage = crew(build)
    for name, more in (("reads", "read_only: true"), ("writes", "")):
        stage.call("kind.add", None, written=f"---\nname: {name}\ncan_spawn: true\n{more}\n---\n")
    for name, code in (("reads", "READ_ONLY"), ("writes", "")):
        worker = stage.call("spawn", stage.caller(None, tree="/work"), assignment="x", kind=name)
        caller = stage.caller(worker["name"], tree="/work")
        given = {"assignment": "y", "host": "script", "program": ["sh", "-c", "echo > x"]}
        if code:
            assert stage.refused("spawn", caller, **given).code == code
        else:
            assert stage.call("spawn", caller, **given)["parent"] == worker["id"]


# --- how many ---------------------------------------------------------------------------------------------------------


def test_a_mesh_is_several(build: Build) -> None:
    stage = crew(build, spawn__meshes={"research": ["scout", "scout", "planner"]})
    sent = send(stage, None, {"mesh": "Research", "reason": "all of it"})
    assert [each["kind"] for each in sent["spawned"]] == ["scout", "scout", "planner"]
    assert {(worker["extra"]["mesh"], worker["extra"]["ready_s"]) for worker in made(stage)} == {("Research", 75)}
    assert send(stage, None, {"mesh": "scout"})["spawned"][0]["kind"] == "scout", "a mesh of one is its kind"


def test_a_mesh_with_a_kind_that_is_not_there_makes_nothing(build: Build) -> None:
    stage = crew(build, spawn__meshes={"research": ["scout", "wizard"]})
    sent = send(stage, None, {"mesh": "research"})
    assert "No kind 'wizard'" in sent["notes"][0]
    assert made(stage) == []
    assert stage.subjects("bob") == ["Please"], "its message is delivered all the same"


def test_a_flood_is_bounded_and_told_of_once(build: Build) -> None:
    stage = crew(build, spawn__by_message_per_minute=3)
    sent = [drop_or_send(stage, n) for n in range(10)]
    assert sum("spawned" in each for each in sent) == 3 == len(made(stage))
    assert len(stage.events("spawn.requested")) == 10
    assert [event["data"]["code"] for event in stage.events("spawn.refused")] == ["TOO_MANY_SPAWNS"] * 7
    assert sum(subject.startswith("No worker was made") for subject in stage.subjects("lead", limit=50)) == 1
    stage.clock.pass_time(MINUTE + SECOND)
    assert send(stage, "lead")["spawned"]
    assert len(made(stage)) == 4


def drop_or_send(stage: Stage, n: int) -> Any:
    stage.clock.pass_time(SECOND)
    return send(stage, "lead" if n else None)


def test_a_repeat_under_its_key_makes_no_second_worker(build: Build) -> None:
    stage = crew(build, spawn__senders=["ada"])
    first = drop(stage, key="maildrop:1")
    again = drop(stage, key="maildrop:1")
    assert again["replayed"] is True
    assert again["spawned"] == first["spawned"]
    assert len(made(stage)) == 1


# --- bad requests -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spawn", [{}, {"kind": 5}, {"reason": "x"}, {"kind": "scout", "colour": "red"}, {"kind": "scout", "lens": ["nope"]}]
)
def test_what_is_no_request_is_refused_with_its_message(build: Build, spawn: dict[str, Any]) -> None:
    stage = crew(build)
    stage.refused("send", stage.caller("lead", tree="/work"), to=["bob"], subject="x", spawn=spawn)


def test_where_no_working_copy_is_known(build: Build) -> None:
    stage = crew(build)
    sent = stage.call("send", "lead", to=["bob"], subject="x", spawn=SPAWN)
    assert len(sent["notes"]) == 1
    assert stage.events("spawn.refused")[0]["data"]["code"] == "NO_ROOT"


def test_a_queue_that_is_full_refuses(build: Build) -> None:
    stage = crew(build, worker__queue=1)
    assert send(stage, None)["spawned"]
    assert "wait already" in send(stage, None)["notes"][0]
    assert len(made(stage)) == 1
