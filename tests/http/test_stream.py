"""Being told as it happens: long polls and the stream of events."""

import http.client
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tests.support.doors import TOKEN, Door
from tests.support.procs import PATIENCE_S


@contextmanager
def stream(door: Door, team: str, query: str = "", **headers: str) -> Generator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(door.address, timeout=PATIENCE_S)
    sent = {"Authorization": f"Bearer {TOKEN}", "Accept": "text/event-stream", **headers}
    connection.request("GET", f"/v1/events?teamId={team}{query}", headers=sent)
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def events(answer: http.client.HTTPResponse, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    event: dict[str, Any] = {}
    while len(found) < count:
        line = answer.readline().decode().rstrip("\n")
        name, _, value = line.partition(": ")
        if name in ("id", "event", "data"):
            event[name] = value
        elif not line and event:
            found.append(event)
            event = {}
    return found


def test_a_stream_of_what_was_and_what_happens(door: Door, daemon: Any):
    door.task("before")
    with stream(daemon.door, door._team) as answer:
        assert answer.status == 200
        assert answer.getheader("Content-Type", "").startswith("text/event-stream")
        (first,) = events(answer, 1)
        assert (first["id"], first["event"]) == ("1", "task.created")
        door.task("after")
        (second,) = events(answer, 1)
        assert json.loads(second["data"])["preview"] == "after"
        assert second["id"] == "2"


def test_a_reader_that_comes_back_goes_on_where_it_was(door: Door, daemon: Any):
    for title in ("a", "b", "c"):
        door.task(title)
    with stream(daemon.door, door._team, **{"Last-Event-ID": "1"}) as answer:
        assert [event["id"] for event in events(answer, 2)] == ["2", "3"]
    with stream(daemon.door, door._team, "&after=2") as answer:
        assert [event["id"] for event in events(answer, 1)] == ["3"]


def test_the_same_as_pages(door: Door):
    door.task("a")
    page = door.get("/v1/events", after=0).body
    assert [event["preview"] for event in page["events"]] == ["a"]
    assert page["newest"] == page["cursor"] == 1
    assert door.get("/v1/events", after=1, wait=0).body["events"] == []


def test_a_long_poll_is_answered_as_soon_as_something_comes(door: Door):
    door.task()
    since = door.get("/v1/inbox", agentId="ada", since=0).body["nextSince"]
    told: list[Any] = []
    waiter = threading.Thread(target=lambda: told.append(door.get("/v1/inbox", agentId="ada", since=since, wait=60)))
    waiter.start()
    while "rook_waiting 0" in door.get("/metrics").body:
        pass
    door.post("/v1/messages", agentId="bob", to=["eve"], subject="not for ada")
    door.post("/v1/messages", agentId="bob", to=["ada"], subject="for ada")
    waiter.join(PATIENCE_S)
    (answer,) = told
    assert [event["summary"] for event in answer.body["events"]] == ["for ada"]
