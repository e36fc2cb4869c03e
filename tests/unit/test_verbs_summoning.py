"""Mail for whom nobody is there yet, or no longer: a kind that says so is started by it."""

from pathlib import Path
from typing import Any

import pytest

from tests.support import ledger
from tests.support.reporting import OWNER, Shop
from tests.support.stage import Build, Stage

LIBRARIAN = "---\nname: librarian\non_mail: true\nread_only: true\n---\nKnow where things are.\n"


def crew(build: Build, **settings: Any) -> Stage:
    stage = build(**{"spawn__by_message": True, "leader": "lead", **settings})
    stage.join_all("ada", "lead")
    stage.call("kind.add", None, written=LIBRARIAN)
    return stage


def send(stage: Stage, sender: str | None, to: str = "librarian", **more: Any) -> Any:
    more.setdefault("body", "Which module?")
    return stage.call("send", stage.caller(sender, tree="/work"), to=[to], subject="Where is the parser?", **more)


def workers(stage: Stage) -> list[dict[str, Any]]:
    return stage.call("workers", all=True)["workers"]


def ended(stage: Stage, **more: Any) -> str:
    """A worker of that kind that is over; its name."""
    name = send(stage, None)["spawned"][0]["name"]
    with ledger.writing(stage.store.location) as db:
        ledger.rows(db, "UPDATE workers SET state = 'ended', report = :report", {"report": more.get("report", "done")})
    return name


@pytest.mark.parametrize("to", ["librarian", "Librarian", "any:librarian"])
def test_mail_to_a_kind_starts_a_worker_of_it_which_has_the_message(build: Build, to: str) -> None:
    stage = crew(build)
    sent = send(stage, "lead", to)
    (worker,) = workers(stage)
    assert sent["spawned"] == [{"id": "w1", "name": worker["name"], "kind": "librarian"}]
    assert [each["name"] for each in sent["recipients"]] == [worker["name"]]
    shown = stage.call("worker.show", id="w1")
    assert (shown["state"], shown["root"], shown["extra"]["message"]) == ("queued", "/work", sent["id"])
    assert (shown["profile"]["read_only"], shown["title"]) == (True, "Where is the parser? Which module?")
    assert [each["id"] for each in stage.inbox(worker["name"])] == [sent["id"]]


def test_who_is_there_is_not_doubled(build: Build) -> None:
    stage = crew(build)
    name = send(stage, None)["recipients"][0]["name"]
    assert "spawned" not in send(stage, None, name)
    assert "spawned" not in send(stage, None, "any:librarian")
    assert len(workers(stage)) == 1
    stage.join_all("librarian")
    assert "spawned" not in send(stage, None), "an agent of that name is meant before its kind"


def test_named_twice_it_is_one(build: Build) -> None:
    stage = crew(build)
    sent = stage.call("send", stage.caller(None, tree="/work"), to=["librarian", "librarian"], subject="x")
    assert len(sent["spawned"]) == len(workers(stage)) == 1


@pytest.mark.parametrize("kind", ["scout", "nobody"])
def test_a_kind_that_does_not_say_so_is_nobodys_name(build: Build, kind: str) -> None:
    stage = crew(build)
    refused = stage.refused("send", stage.caller(None, tree="/work"), to=[kind], subject="x")
    assert (refused.code, workers(stage)) == ("UNKNOWN_AGENT", [])


def test_it_is_off_until_a_person_switches_it_on(build: Build) -> None:
    stage = crew(build, spawn__by_message=False)
    refused = stage.refused("send", stage.caller(None, tree="/work"), to=["librarian"], subject="x")
    assert "spawn.by_message is off" in refused.message
    assert "rook spawn -k librarian" in refused.hint


def test_others_may_not_and_nothing_is_left_of_it(build: Build) -> None:
    stage = crew(build, spawn__by_message_per_minute=1)
    before = stage.call("who", all=True)["agents"]
    refused = stage.refused("send", stage.caller("ada", tree="/work"), to=["librarian"], subject="x")
    assert refused.code == "MAY_NOT_SPAWN"
    send(stage, "lead")
    assert stage.refused("send", stage.caller("lead", tree="/work"), to=["librarian"], subject="x").code == (
        "TOO_MANY_SPAWNS"
    )
    assert len(stage.call("who", all=True)["agents"]) == len(before) + 1


def test_one_that_is_over_is_started_anew_by_what_asks(build: Build) -> None:
    stage = crew(build)
    name = ended(stage)
    assert "spawned" not in send(stage, "lead", name, asks=False), "what only tells waits for it"
    assert send(stage, "lead", name)["spawned"] == [{"id": "w1", "name": name, "kind": "librarian"}]
    assert workers(stage)[0]["state"] == "queued"
    (event,) = stage.events("worker.respawn")
    assert (event["actor"], event["target"]) == ("lead", name)


def test_an_answer_to_it_asks_nothing_and_waits(build: Build) -> None:
    stage = crew(build)
    name = ended(stage)
    asked = stage.call("send", name, to=["lead"], subject="Which parser?")
    assert "spawned" not in stage.call("reply", "lead", id=asked["id"], body="The new one.")


def test_started_anew_it_is_not_stopped_for_the_task_that_it_has_done(build: Build, tmp_path: Path) -> None:
    """Seen running before it reports again: its task is completed, by itself, and was not lost to another."""
    shop = Shop(crew(build), tmp_path)
    shop.stage.call("kind.add", None, written="---\nname: clerk\non_mail: true\n---\nWrite it down.\n")
    id = shop.worker(kind="clerk")
    shop.done(id)
    shop.over(id)
    shop.stage.call("verdict", None, subject=f"{id}/1", action="dismiss")
    assert send(shop.stage, "lead", shop.names[id])["spawned"]
    run = shop.stage.call("worker.begin", "system", id=id, owner=OWNER)["worker"]["run"]
    pid, since = shop.stage.process()
    shop.stage.call("worker.started", "system", id=id, run=run, pid=pid, since=since, tree=str(tmp_path))
    assert shop.stage.call("worker.beat", "system", runs={id: run})["lost"] == []


@pytest.mark.slow
def test_not_while_its_result_waits_for_a_verdict(build: Build, tmp_path: Path) -> None:
    shop = Shop(crew(build), tmp_path)
    shop.stage.call("kind.add", None, written="---\nname: clerk\non_mail: true\n---\nWrite it down.\n")
    id = shop.worker(kind="clerk")
    shop.done(id)
    shop.over(id)
    sent = send(shop.stage, "lead", shop.names[id])
    assert "waits on the docket" in sent["notes"][0]
    assert shop.card(id)["state"] == "ended"
    shop.stage.call("verdict", None, subject=f"{id}/1", action="reject", said="Not now.")
    assert send(shop.stage, "lead", shop.names[id])["spawned"], "judged, it can be asked again"


def test_whoever_may_not_start_it_is_told_and_the_mail_waits(build: Build) -> None:
    stage = crew(build)
    name = ended(stage)
    sent = send(stage, "ada", name)
    assert "ada may not ask for workers" in sent["notes"][0]
    assert (workers(stage)[0]["state"], len(stage.inbox(name))) == ("ended", 2)
