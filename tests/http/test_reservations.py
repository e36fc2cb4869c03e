"""Reservations and slots over HTTP: the resources, the verbs, and the Python API through a daemon."""

from typing import Any

import pytest

import rookery
from tests.support.doors import TOKEN, Door, Running


def reserve(door: Door, agent: str, *paths: str, **more: Any) -> Any:
    return door.post("/v1/call/reserve", agentId=agent, paths=list(paths), **more)


def test_the_resources(door: Door) -> None:
    assert door.get("/v1/reservations").body == {"reservations": [], "more": False}
    assert reserve(door, "ada", "src/io/", "docs/", reason="parsing").status == 200
    refused = reserve(door, "bob", "src/io/x.py")
    assert (refused.status, refused.code) == (409, "RESERVED")
    assert refused.body["error"]["holder"] == "ada"
    found = door.get("/v1/reservations").body["reservations"]
    assert [(row["path"], row["agent"], row["reason"]) for row in found] == [
        ("docs/", "ada", "parsing"), ("src/io/", "ada", "parsing"),
    ]  # fmt: skip
    assert [row["path"] for row in door.get("/v1/reservations", path="src/io/x").body["reservations"]] == ["src/io/"]
    assert door.get("/v1/reservations", holder="ada", limit=1).body["more"] is True
    assert door.get("/v1/reservations", limit="x").status == 422
    may = door.get("/v1/can-write", agentId="bob", path="src/io/x.py").body
    assert may["allow"] is False
    assert "rook send ada" in may["detail"]


def test_slots(door: Door) -> None:
    assert door.get("/v1/slots").body == {"slots": []}
    door.post("/v1/call/slot.take", agentId="ada", name="port:3000")
    (slot,) = door.get("/v1/slots").body["slots"]
    assert (slot["name"], slot["capacity"], slot["free"], slot["holders"][0]["agent"]) == ("port:3000", 1, 0, "ada")
    refused = door.post("/v1/call/slot.take", agentId="bob", name="port:3000")
    assert (refused.status, refused.code) == (409, "RESERVED")
    assert door.get("/v1/slots", name="a b").status == 422


def test_a_place_in_line_over_http(door: Door) -> None:
    reserve(door, "ada", "src/")
    asked = reserve(door, "bob", "src/x", wait=True).body
    assert asked["state"] == "waiting"
    assert door.post("/v1/call/hold.look", agentId="bob", id=asked["id"]).body["ready"] is False
    door.post("/v1/call/release", agentId="ada", all=True)
    assert door.post("/v1/call/hold.take", agentId="bob", id=asked["id"]).body["state"] == "held"


@pytest.mark.slow
def test_blocks_through_a_daemon(daemon: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOK_URL", daemon.door.url)
    monkeypatch.setenv("ROOK_TOKEN", TOKEN)
    with rookery.connect(team="blocks", cwd="/") as team:
        ada, bob = team.join("ada"), team.join("bob")
        with ada.reserve("src/", reason="mine"), pytest.raises(rookery.Refused, match="held by ada"):
            bob.reserve("src/x", wait=0.1)
        with bob.reserve("src/x", wait=5) as hold:
            hold.renew()
        assert team.call("reservations")["reservations"] == []
