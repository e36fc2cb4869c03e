"""H42: the daemon's own token is in a file that every process of the user can read. It reads no one's mail, takes no
name that somebody has, and does nothing that only the user, the leader or an agent about itself may do."""

import json
import os
import subprocess
from collections.abc import Generator
from typing import Any, NamedTuple

import pytest

from rookery import app
from rookery.core import authority, daemon_token
from rookery.runtime import process
from rookery.service.verbs import TABLE, Verb, parameters
from tests.support.doors import Answer, Door, Running
from tests.support.panes import until

SECRET = "xyzzy-the-key-is-under-the-mat"
VALUES: dict[Any, Any] = {str: "ada", int: 1, bool: True, list[str]: ["ada"], list[dict[str, Any]]: [{"id": "x"}]}
SERVICES = {verb.name for verb in TABLE if verb.who == authority.DAEMON}  # refused before their arguments are read
PASSED = {"done", "turn.program"}  # the one looks first which worker calls, and none does; the other names no one


class Told(NamedTuple):
    door: Door
    message: str
    session: str


class Here:
    """Calls of processes of this machine, as the store sees them."""

    def __init__(self, daemon: Running, team: str) -> None:
        self.house = app.open_house(cwd="/", environ={"ROOK_HOME": daemon.environ["ROOK_HOME"]}, team=team)

    def call(self, verb: str, as_: str = "", bound: int = 0, **args: Any) -> Any:
        found = process.identify(bound) if bound else None
        caller = self.house.caller(as_ or None, process=tuple(found) if found else None)
        return self.house.client.call(verb, args, caller)


@pytest.fixture
def here(daemon: Running, door: Door) -> Generator[Here]:
    made = Here(daemon, door._team)
    yield made
    made.house.close()


@pytest.fixture
def told(door: Door, here: Here) -> Generator[Told]:
    """ada is a program of this machine, and has mail from the user."""
    with subprocess.Popen(["sleep", "600"]) as program:
        try:
            session = here.call("join", bound=program.pid, name="ada")["session"]
            sent = here.call("send", "user", to=["ada"], subject="Hello", body=SECRET)
            yield Told(door, sent["id"], session)
        finally:
            program.kill()


def arguments(verb: Verb, message: str) -> dict[str, Any]:
    named = {"id": message, "ids": [message]}
    if verb.name in daemon_token.TAKES_NAME and verb.name != "turn.program":
        named |= {"name": "ada"}
    found = {p.name: named.get(p.name, VALUES.get(p.type)) for p in parameters(verb.load())
             if p.required or p.name == "name" in named}  # fmt: skip
    if verb.name == "trust.accept":
        found["accepted"] = {}
    if verb.name == "evidence.take":
        found["found"] = [{"kind": "command", "ref": "walk:1", "title": "ls"}]
    return {name: value for name, value in found.items() if value is not None}


def ways(told: Told, verb: Verb) -> dict[str, Answer]:
    path, args = f"/v1/call/{verb.name}", arguments(verb, told.message)
    said = {"agent": json.dumps({"agent": "ada"}), "session": json.dumps({"session": told.session})}
    return {
        "nobody": told.door.post(path, **args), "ada": told.door.post(path, **args, agentId="ada"),
        "user": told.door.post(path, **args, agentId="user"),
        **{f"caller {how}": told.door.post(path, {"X-Rook-Caller": each}, **args) for how, each in said.items()},
    }  # fmt: skip


def is_refused(verb: Verb) -> bool:
    return verb.who in daemon_token.NEVER or daemon_token.is_self(verb.name, verb.who)


def test_h42_the_daemons_token_is_no_agent_that_someone_vouches_for(told: Told) -> None:
    """Every verb, as nobody, as an agent of this machine, by its session, and as the user."""
    shown: list[Any] = []
    let_through: list[Any] = []
    for verb in TABLE:
        for how, answer in ways(told, verb).items():
            if SECRET in json.dumps(answer.body):
                shown.append((verb.name, how))
            if is_refused(verb) and verb.name not in PASSED and answer.status != 403:
                let_through.append((verb.name, how, answer.status, answer.body))
    assert not shown, "mail was shown"
    assert not let_through, "\n".join(map(str, let_through))
    wanted = {verb.name for verb in TABLE if is_refused(verb)} - SERVICES - PASSED
    until(lambda: wanted <= recorded(told.door), lambda: wanted - recorded(told.door))  # written after the answers


def recorded(door: Door) -> set[str]:
    events = door.get("/v1/events", after=0, limit=10_000).body["events"]
    return {each["ref"] for each in events if each["type"] == "authority.refused"}


def test_h42_the_mail_of_an_agent_is_in_no_route(told: Told) -> None:
    for path in ("/v1/messages", "/v1/inbox", "/v1/docket", "/v1/events"):
        for query in ({"agentId": "ada"}, {"agentId": "user"}, {}):
            assert SECRET not in json.dumps(told.door.get(path, **query, since=0, after=0).body), (path, query)
    assert told.door.get("/v1/messages", agentId="ada").status == 403
    assert told.door.get("/v1/inbox", agentId="ada", since=0).status == 200, "the contract: events of tasks and threads"


def test_h42_the_tools_of_a_model_open_no_mailbox_with_it(told: Told) -> None:
    from tests.support.doors import TOKEN  # the daemon's own

    for name in ("ada", "user", ""):
        head = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
                "Authorization": f"Bearer {TOKEN}", **({"X-Rook-Agent": name} if name else {})}  # fmt: skip
        path = f"/mcp?teamId={told.door._team}"
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
        opened = told.door.raw("POST", path, json.dumps(hello).encode(), head)
        head |= {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        told.door.raw("POST", path, b'{"jsonrpc":"2.0","method":"notifications/initialized"}', head)
        for tool, args in (("inbox", {}), ("send", {"to": ["bob"], "subject": "as you", "body": "x"})):
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": args}}
            answer = told.door.raw("POST", path, json.dumps(call).encode(), head)
            assert SECRET not in json.dumps(answer.body), (name, tool)
            assert answer.body["result"]["isError"] is True or (name, tool) == ("ada", "send"), (name, tool, answer)


def test_a_guest_has_its_mail_and_its_name(door: Door) -> None:
    door.post("/v1/messages", agentId="bob", to=["eve"], subject="Hello", body=SECRET)
    (mail,) = door.get("/v1/messages", agentId="eve").body["messages"]
    assert door.post("/v1/call/read", agentId="eve", id=mail["id"]).body["body"] == SECRET
    assert door.post("/v1/call/ack", agentId="eve", ids=[mail["id"]]).status == 200
    assert door.post("/v1/call/join", name="eve").status == 200


def test_h42_a_token_of_its_own_makes_a_guest_somebody(door: Door) -> None:
    door.post("/v1/messages", agentId="bob", to=["eve"], subject="Hello", body=SECRET)
    made = door.operator.post("/v1/call/token.new", agent="eve").body
    assert door.get("/v1/messages", agentId="eve").code == "NOT_YOURS"
    assert len(door.having(made["token"]).get("/v1/messages").body["messages"]) == 1
    door.operator.post("/v1/call/token.revoke", id=made["id"])
    assert len(door.get("/v1/messages", agentId="eve").body["messages"]) == 1


def test_h42_a_live_name_is_not_taken_over(door: Door) -> None:
    first = door.post("/v1/call/join", name="eve").body["session"]
    refused = door.post("/v1/call/join", name="eve", takeover=True)
    assert (refused.status, refused.code) == (403, "NOT_YOURS")
    assert door.post("/v1/call/heartbeat", {"X-Rook-Caller": json.dumps({"session": first})}).status == 200


def test_a_process_below_an_agents_own_is_that_agent(door: Door, here: Here) -> None:
    """This very process joined: what it sends with the daemon's token is proven by the connection."""
    here.call("join", bound=os.getpid(), name="own")
    here.call("send", "user", to=["own"], subject="Hello", body=SECRET)
    assert len(door.get("/v1/messages", agentId="own").body["messages"]) == 1
    assert door.get("/v1/messages", agentId="user").status == 403


def test_h42_the_leader_is_named_and_not_played(door: Door) -> None:
    assert door.operator.post("/v1/call/team.set", leader="boss", members=["boss"]).status == 200
    for verb, args in (("slot.set", {"name": "gpu", "capacity": 2}), ("docket.pin", {"subject": "w1/1"}),
                       ("token.list", {}), ("inbox", {}), ("join", {"name": "boss"})):  # fmt: skip
        for who in ({"agentId": "boss"}, {}):
            assert door.post(f"/v1/call/{verb}", **args, **who).status == 403, (verb, who)
    assert door.operator.post("/v1/call/slot.set", name="gpu", capacity=2).status == 200


def test_what_a_nameless_tasks_setback_asks_is_asked_of_the_user(door: Door) -> None:
    task = door.task("work")
    door.claim(task, "eve")
    door.post(f"/v1/tasks/{task}/block", agentId="eve", reason="no grammar")
    assert [each["ref"] for each in door.operator.get("/v1/docket").body["items"]] == [task]


def test_every_mark_that_refuses_is_refused_by_the_rule_itself() -> None:
    assert set(daemon_token.NEVER) == {authority.USER, authority.LEADER, authority.JUDGE, authority.DAEMON}
