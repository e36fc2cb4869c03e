"""H42: a connection whose process is not found, on a system that tells processes: what each token is still good for."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from rookery.core.caller import Caller, Grant, Origin
from rookery.front.http.guard import Guard
from rookery.front.http.guests import Known
from rookery.front.http.wire import CONNECTION
from rookery.runtime import peers
from tests.support.stage import Build, Stage

NOT_FOUND = peers.UNKNOWN


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.join("ada")
    made.send("user", "ada", "for ada", body="secret")
    return made


def granted(stage: Stage, origin: Origin | None, run: str = "", **more: Any) -> Caller:
    made = stage.call("token.new", **(more or {"agent": "ada"}))
    row = stage.store.read("crew", lambda db: db.one("agent_by_key", key="ada"))
    assert row is not None
    who = (0, "") if more else (row["id"], "ada")
    return Caller(grant=Grant("crew", made["id"], more.get("role", "agent"), *who, run=run), origin=origin)


def guest(origin: Origin | None, agent: str = "eve") -> Caller:
    return Caller(agent=agent, daemon_token=True, open_addresses=True, origin=origin)


def test_h42_the_token_of_a_run_is_refused(stage: Stage) -> None:
    for verb in ("inbox", "who"):
        assert stage.refused(verb, granted(stage, NOT_FOUND, "run-1")).code == "NOT_YOURS"
    assert stage.call("inbox", granted(stage, None, "run-1"))["messages"], "where the system never tells, it counts"


def test_tokens_that_the_user_made_count(stage: Stage) -> None:
    (letter,) = stage.call("inbox", granted(stage, NOT_FOUND))["messages"]
    assert letter["body"] == "secret"
    stage.call("config.set", granted(stage, NOT_FOUND, role="operator"), name="authority.terminal", value="off")
    assert stage.call("who", granted(stage, NOT_FOUND, role="viewer"))["agents"]


def test_h42_the_daemons_token_is_nobodys_mailbox_not_even_a_guests(stage: Stage) -> None:
    assert stage.call("join", guest(None), name="eve")["session"], "the control"
    stage.send("user", "eve", "for eve", body="secret")
    for agent in ("eve", "ada"):
        assert stage.refused("inbox", guest(NOT_FOUND, agent)).code == "NOT_YOURS"
    assert stage.refused("join", guest(NOT_FOUND, "new"), name="new").code == "NOT_YOURS"
    assert stage.refused("task.review", guest(NOT_FOUND), id="task-0001", verdict="SHIP").code == "NO_TERMINAL"


def test_the_daemons_token_keeps_its_contract(stage: Stage) -> None:
    made = stage.call("task.add", guest(NOT_FOUND), title="work")
    assert stage.call("task.claim", guest(NOT_FOUND), id=made["id"])
    assert stage.call("who", guest(NOT_FOUND))["agents"]
    assert stage.call("send", guest(NOT_FOUND), to=["ada"], subject="x", body="y")


def test_the_record_names_no_process_that_was_not_found(stage: Stage) -> None:
    stage.call("task.add", guest(NOT_FOUND), title="work")
    (event,) = stage.events("task.created")
    assert event["caller"] == {"token": "daemon"}


def test_h42_who_hides_does_not_go_on_with_the_session_of_a_process_that_was_not_found() -> None:
    assert Known("crew", "eve", None, peers.HIDDEN).key != Known("crew", "eve", None, NOT_FOUND).key


# -- the guard ---------------------------------------------------------------------------------------------------------


def looked_up(scope: dict[str, Any], find: Callable[..., Origin | None]) -> Origin | None:
    async def aside(work: Callable[..., Any], *args: Any) -> Any:
        return work(*args)

    daemon: Any = SimpleNamespace(aside=aside, peers=SimpleNamespace(find=find))
    never: Any = None
    return asyncio.run(Guard(never, daemon)._peer({CONNECTION: {}, "server": ("127.0.0.1", 4500), **scope}))


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "192.0.2.2", "10.0.0.1"])
def test_h42_every_client_is_looked_up_whatever_its_address(address: str) -> None:
    asked: list[Any] = []

    def find(*addresses: Any) -> Origin:
        asked.append(addresses)
        return Origin(pid=4711)

    assert looked_up({"client": (address, 40_000)}, find) == Origin(pid=4711)
    assert asked == [(("127.0.0.1", 4500), (address, 40_000))]


def test_h42_a_client_without_an_address_is_gone() -> None:
    """It reset the connection before the server took it; what it sent can still be read."""
    with pytest.raises(peers.Gone):
        looked_up({"client": None}, lambda *_: pytest.fail("nothing is known to look up"))
