"""Models at the daemon's /mcp: who each of them is, by its token, its header or the name it took."""

import http.client
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ResourceUpdatedNotification

import rookery
from tests.support.doors import TOKEN, Answer, running
from tests.support.panes import until
from tests.support.procs import PATIENCE_S
from tests.tools.conftest import Hall

pytestmark = pytest.mark.anyio
BOTH = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
OLDER, NEWER = "2025-11-25", "2026-07-28"
OPEN = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": OLDER, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}  # fmt: skip


@asynccontextmanager
async def newer(hall: Hall, token: str = TOKEN, **headers: str) -> AsyncGenerator[Client]:
    """A client that tries the newest version first, and whose requests each stand for themselves then."""
    async with hall.connection(token, **headers) as http:  # noqa: SIM117
        async with Client(streamable_http_client(hall.url, http_client=http)) as client:
            yield client


def said(answer: Any) -> str:
    return answer.content[0].text


# -- work --------------------------------------------------------------------------------------------------------


async def test_two_sessions_are_two_agents(hall: Hall) -> None:
    async with hall.seat() as ada, hall.seat() as bob:
        assert await ada.call("join", name="ada", role="architect") == f"You are ada in team {hall.team}."
        await bob.call("join", name="bob")
        id = (await ada.call("send", to=["bob"], subject="The API stands", body="Start with /v1/tasks")).split()[0]
        assert f"{id} from ada" in await bob.call("inbox")
        assert await ada.call("inbox") == "No unread mail."
        assert await bob.call("ack", ids=[id]) == f"{id} completed"
        kept = await ada.call("reserve", paths=["src/"])
        assert kept.endswith("src/.")
        assert (await bob.refused("reserve", paths=["src/x.py"])).startswith("RESERVED: src/ is held by ada ")


async def test_the_verbs_run_in_the_daemons_own_queue(hall: Hall) -> None:
    def counted(name: str) -> float:
        lines = hall.daemon.door.get("/metrics").body.splitlines()
        return next(float(line.split()[-1]) for line in lines if line.startswith(name))

    async with hall.seat() as model:
        written, read = counted("rook_committed_calls_total"), counted('rook_reads_total{where="inline"}')
        apart = counted('rook_reads_total{where="pool"}')
        await model.call("join", name="ada")
        await model.call("who")
        assert counted("rook_committed_calls_total") > written
        assert counted('rook_reads_total{where="inline"}') > read
        assert counted('rook_reads_total{where="pool"}') == apart


# -- who it is ---------------------------------------------------------------------------------------------------


async def test_who_has_no_name_is_not_taken_for_the_person(hall: Hall) -> None:
    async with hall.seat() as model:
        for tool, args in (("inbox", {}), ("send", {"to": ["user"], "subject": "x"}), ("claim", {})):
            assert (await model.refused(tool, **args)).startswith("WHO_ARE_YOU: ")
        assert await model.call("tasks") == "No tasks."


async def test_a_name_is_taken_once(hall: Hall) -> None:
    async with hall.seat() as model:
        await model.call("join", name="ada")
        held = await model.call("reserve", paths=["src/"])
        assert (await model.refused("join", name="bob")).startswith("ALREADY_NAMED: You are ada here.")
        assert await model.call("join", name="ada") == f"You are ada in team {hall.team}."
        assert await model.call("join") == f"You are ada in team {hall.team}."
        assert "Released: src/." in await model.call("release", all=True), f"joining again cost it {held}"
        assert "bob" not in await model.call("who", all=True)
        for name in ("agent", "agentId", "as", "from"):
            assert "takes no" in await model.refused("send", to=["user"], subject="x", **{name: "bob"})


async def test_a_live_name_is_not_taken_from_another_session(hall: Hall) -> None:
    async with hall.seat() as ada, hall.seat() as thief:
        await ada.call("join", name="ada")
        assert (await thief.refused("join", name="ada")).startswith("NAME_TAKEN: ")
        assert (await thief.refused("inbox")).startswith("WHO_ARE_YOU: ")


async def test_h42_the_daemons_token_takes_over_no_live_session(hall: Hall) -> None:
    async with hall.seat() as first, hall.seat() as second:
        await first.call("join", name="ada")
        assert (await second.refused("join", name="ada", takeover=True)).startswith("NOT_YOURS: ")
        await first.call("inbox")


async def test_a_session_that_was_taken_over_is_fenced(hall: Hall) -> None:
    token = hall.token(agent="ada")
    async with hall.seat(token) as first, hall.seat(token) as second:
        await first.call("join", name="ada")
        await second.call("join", name="ada", takeover=True)
        for tool, args in (("inbox", {}), ("send", {"to": ["user"], "subject": "x"}), ("reserve", {"paths": ["a"]})):
            assert "taken over" in await first.refused(tool, **args)
        assert (await first.refused("join", name="ada")).startswith("NAME_TAKEN: ")
        assert "taken over" in await first.refused("inbox")
        await second.call("inbox")
        await first.call("join", name="ada", takeover=True)
        await first.call("inbox")
        assert "taken over" in await second.refused("inbox")


async def test_with_an_agents_token_it_is_that_agent(hall: Hall) -> None:
    token = hall.token(agent="ada")
    async with hall.seat(token) as ada, hall.seat() as bob:
        await bob.call("join", name="bob")
        sent = await ada.call("send", to=["bob"], subject="hello")
        assert f"{sent.split()[0]} from ada" in await bob.call("inbox")
        assert (await ada.refused("join", name="bob")).startswith("NOT_YOURS: This token is ada's")
        assert await ada.call("join") == f"You are ada in team {hall.team}."
        with rookery.connect(home=hall.daemon.environ["ROOK_HOME"], team=hall.team) as team:
            team.join("ada", takeover=True)
        assert "taken over" in await ada.refused("inbox")


async def test_a_header_cannot_make_an_agents_token_another(hall: Hall) -> None:
    token = hall.token(agent="ada")
    for version in ({}, {"MCP-Protocol-Version": NEWER}):
        refused = hall.anyone(token).raw(
            "POST", hall.path, json.dumps(OPEN).encode(), {**BOTH, **version, "X-Rook-Agent": "bob"}
        )
        assert (refused.status, refused.code) == (403, "NOT_YOURS")
    async with hall.seat(token, X_Rook_Agent="ada") as model:
        assert await model.call("inbox") == "No unread mail."


async def test_a_revoked_token_is_over_at_once(hall: Hall) -> None:
    made = hall.door.operator.post("/v1/call/token.new", agent="ada").body
    async with hall.seat(made["token"], stays=True) as model:
        await model.call("inbox")
        assert hall.door.operator.post("/v1/call/token.revoke", id=made["id"]).status == 200
        with pytest.raises(Exception, match="Server returned an error response"):
            await model.session.call_tool("inbox", {})


async def test_no_session_opens_in_a_foreign_team(hall: Hall) -> None:
    body = json.dumps(OPEN).encode()
    for token in (hall.token(agent="ada"), hall.token(read_only=True)):
        for version in ({}, {"MCP-Protocol-Version": NEWER}):
            refused = hall.anyone(token).raw("POST", "/mcp?teamId=elsewhere", body, {**BOTH, **version})
            assert (refused.status, refused.code) == (403, "NOT_YOURS")


@pytest.mark.slow
async def test_one_token_opens_so_many_sessions_and_others_still_some(hall: Hall) -> None:
    body, most = json.dumps(OPEN).encode(), 32
    ada = hall.anyone(hall.token(agent="ada"))
    answers = [ada.raw("POST", hall.path, body, BOTH) for _ in range(most + 2)]
    assert [each.status for each in answers] == [200] * most + [429] * 2
    assert answers[-1].code == "TOO_MANY_SESSIONS"
    assert hall.anyone(hall.token(agent="bob")).raw("POST", hall.path, body, BOTH).status == 200
    session = {**BOTH, "mcp-session-id": answers[0].headers["mcp-session-id"]}
    assert ada.raw("DELETE", hall.path, headers=session).status == 200
    assert ada.raw("POST", hall.path, body, BOTH).status == 200
    assert ada.raw("POST", hall.path, body, BOTH).code == "TOO_MANY_SESSIONS"


@pytest.mark.slow
async def test_a_stream_ends_with_its_token_before_it_tells_of_anything_more(hall: Hall) -> None:
    made = hall.door.operator.post("/v1/call/token.new", agent="ada").body
    ada = hall.anyone(made["token"])
    session = ada.raw("POST", hall.path, json.dumps(OPEN).encode(), BOTH).headers["mcp-session-id"]
    own = {**BOTH, "mcp-session-id": session, "mcp-protocol-version": OLDER}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert ada.raw("POST", hall.path, json.dumps(ready).encode(), own).status == 202
    asked = {"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": {"uri": "rook://tasks"}}
    stream = http.client.HTTPConnection(ada.address, timeout=PATIENCE_S)
    stream.request("GET", hall.path, headers={**own, "Authorization": f"Bearer {made['token']}"})
    answer = stream.getresponse()
    assert ada.raw("POST", hall.path, json.dumps(asked).encode(), own).status == 200
    hall.door.task("before")
    heard = b""
    while b"rook://tasks" not in heard:
        heard += answer.read1()
    hall.door.operator.post("/v1/call/token.revoke", id=made["id"])
    hall.door.task("after")
    rest = await anyio.to_thread.run_sync(answer.read)
    stream.close()
    assert b"rook://tasks" not in rest
    assert ada.raw("POST", hall.path, json.dumps(asked).encode(), own).code == "TOKEN_REVOKED"


async def test_with_a_readers_token_only_what_does_not_write(hall: Hall) -> None:
    token = hall.token(read_only=True)
    hall.door.task("look at me")
    async with hall.seat(token) as model:
        assert [tool.name for tool in (await model.session.list_tools()).tools] == ["who", "tasks"]
        resources = await model.session.list_resources()
        assert [str(each.uri) for each in resources.resources] == ["rook://tasks", "rook://who"]
        assert "look at me" in await model.call("tasks")
        for tool, args in (("join", {"name": "eve"}), ("inbox", {}), ("claim", {}), ("ask", {"title": "x"})):
            assert (await model.refused(tool, **args)).startswith("READ_ONLY_TOKEN: ")
        read = await model.session.read_resource("rook://inbox")
        assert read.contents[0].text.startswith("READ_ONLY_TOKEN: ")  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_header_names_the_agent(hall: Hall) -> None:
    async with hall.seat(X_Rook_Agent="ada") as model:
        assert (await model.refused("join", name="bob")).startswith("ALREADY_NAMED: You are ada here.")
        assert await model.call("join") == f"You are ada in team {hall.team}."
    for wrong in ("system", "a b", "../x"):
        answer = hall.door.raw("POST", hall.path, json.dumps(OPEN).encode(), {**BOTH, "X-Rook-Agent": wrong})
        assert answer.status in (403, 422), wrong


# -- the newer protocol, which has no sessions -----------------------------------------------------------------------


async def test_whom_a_header_names_needs_no_session(hall: Hall) -> None:
    async with newer(hall, X_Rook_Agent="ada") as ada, hall.seat() as bob:
        assert ada.protocol_version == NEWER
        assert said(await ada.call_tool("join", {})) == f"You are ada in team {hall.team}."
        await bob.call("join", name="bob")
        sent = said(await ada.call_tool("send", {"to": ["bob"], "subject": "hello"}))
        assert f"{sent.split()[0]} from ada" in await bob.call("inbox")
        with rookery.connect(home=hall.daemon.environ["ROOK_HOME"], team=hall.team) as team:
            team.join("ada", takeover=True)
        assert "taken over" in said(await ada.call_tool("inbox", {}))


async def test_an_agents_token_needs_none_either(hall: Hall) -> None:
    async with newer(hall, hall.token(agent="ada")) as ada:
        assert ada.protocol_version == NEWER
        assert said(await ada.call_tool("inbox", {})) == "No unread mail."


async def test_who_is_nobody_is_given_a_session_to_take_a_name_in(hall: Hall) -> None:
    async with newer(hall) as model:
        assert model.protocol_version == OLDER
        assert said(await model.call_tool("join", {"name": "ada"})) == f"You are ada in team {hall.team}."
        assert said(await model.call_tool("inbox", {})) == "No unread mail."


# -- who may come in -------------------------------------------------------------------------------------------------


def opened(hall: Hall, **headers: str) -> Any:
    return hall.door.raw("POST", hall.path, json.dumps(OPEN).encode(), {**BOTH, **headers})


async def test_nobody_comes_in_without_a_token_or_from_a_foreign_page(hall: Hall) -> None:
    body = json.dumps(OPEN).encode()
    for token in (None, "wrong", "rookagent_" + "0" * 52):
        refused = hall.anyone(token).raw("POST", hall.path, body, BOTH)
        assert (refused.status, refused.code) == (401, "UNAUTHORIZED")
    assert opened(hall, Origin="https://evil.example").code == "BAD_ORIGIN"
    assert opened(hall, Host="evil.example").code == "BAD_HOST"
    for method in ("GET", "DELETE"):
        assert hall.anyone(None).raw(method, hall.path, headers=BOTH).status == 401
    assert opened(hall, Origin=hall.daemon.door.url).status == 200


async def test_a_session_is_of_no_use_to_others(hall: Hall) -> None:
    session = opened(hall).headers["mcp-session-id"]
    listed = {**BOTH, "mcp-session-id": session, "mcp-protocol-version": OLDER}
    ask = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).encode()
    assert hall.door.raw("POST", hall.path, ask, listed).status == 200
    for token in (hall.token(agent="eve"), hall.token(read_only=True)):
        for method, body in (("POST", ask), ("GET", None), ("DELETE", None)):
            assert hall.anyone(token).raw(method, hall.path, body, listed).code == "NO_SESSION"
    assert hall.door.raw("POST", hall.path, ask, {**listed, "X-Rook-Agent": "eve"}).code == "NO_SESSION"
    assert hall.door.raw("POST", "/mcp?teamId=elsewhere", ask, listed).code == "NO_SESSION"
    assert hall.door.raw("POST", hall.path, ask, {**listed, "mcp-session-id": "0" * 32}).code == "NO_SESSION"
    assert hall.door.raw("POST", hall.path, ask, listed).status == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe\x00", -32700),
        (b"[" * 100_000, -32700),
        (b"", -32700),
        (b"null", None),
        (b"[]", None),
        (b"17", None),
        (b'{"jsonrpc":"1.0","id":1,"method":"initialize"}', None),
        (b'{"jsonrpc":"2.0","id":{},"method":"initialize"}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who"}}', None),
        (json.dumps([OPEN, OPEN]).encode(), None),
    ],
    ids=lambda value: repr(value)[:30],
)
@pytest.mark.parametrize("version", ["", OLDER, NEWER, "2099-01-01", "\xff"])
async def test_what_is_no_request_is_refused(hall: Hall, body: bytes, code: int | None, version: str) -> None:
    headers = BOTH | ({"MCP-Protocol-Version": version, "X-Rook-Agent": "ada"} if version else {})
    answer = hall.door.raw("POST", hall.path, body, headers)
    assert 400 <= answer.status < 500, answer
    assert answer.body["jsonrpc"] == "2.0"
    assert answer.body["error"]["code"] in ({code} if code else {-32700, -32600, -32602, -32601, -32020})
    assert "mcp-session-id" not in answer.headers or answer.status == 400
    assert "Traceback" not in str(answer.body)


async def test_a_wrong_call_is_an_answer_and_not_an_end(hall: Hall) -> None:
    async with hall.seat() as model:
        assert "There is no tool" in await model.refused("nope")
        assert "needs ids" in await model.refused("ack")
        with pytest.raises(Exception, match="There is no resource"):
            await model.session.read_resource("rook://secrets")
        await model.call("who")


async def test_a_huge_body_is_not_read(hall: Hall) -> None:
    most = int(hall.daemon.environ["ROOK_DAEMON_BODY_LIMIT"])
    for headers in (BOTH, {**BOTH, "MCP-Protocol-Version": NEWER, "X-Rook-Agent": "ada"}):
        answer = hall.door.raw("POST", hall.path, b" " * (most + 1), headers)
        assert (answer.status, answer.code) == (413, "TOO_LARGE")
    padded = json.dumps(OPEN).encode()
    assert hall.door.raw("POST", hall.path, padded + b" " * (most - len(padded)), BOTH).status == 200


# -- news --------------------------------------------------------------------------------------------------------


async def test_a_subscriber_is_told_of_new_mail_until_it_wants_no_more(hall: Hall) -> None:
    heard: list[str] = []
    told = {"rook://inbox": anyio.Event(), "rook://tasks": anyio.Event()}

    async def hear(message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.append(str(message.params.uri))
            told[str(message.params.uri)].set()

    async with hall.seat(heard=hear) as ada, hall.seat() as bob:
        await ada.call("join", name="ada")
        await bob.call("join", name="bob")
        for uri in told:
            with pytest.warns(MCPDeprecationWarning):  # most hosts still speak a protocol that has it
                await ada.session.subscribe_resource(uri)
        await bob.call("send", to=["ada"], subject="news")
        with anyio.fail_after(PATIENCE_S):
            await told["rook://inbox"].wait()
        with pytest.warns(MCPDeprecationWarning):
            await ada.session.unsubscribe_resource("rook://inbox")
        heard.clear()
        await bob.call("send", to=["ada"], subject="more news")
        hall.door.task("something to do")
        with anyio.fail_after(PATIENCE_S):
            await told["rook://tasks"].wait()
        assert "rook://inbox" not in heard


async def test_a_listener_of_the_newer_protocol_is_told_too(hall: Hall) -> None:
    async with newer(hall, X_Rook_Agent="ada") as ada, hall.seat() as bob:
        await ada.call_tool("join", {})
        await bob.call("join", name="bob")
        async with ada.listen(resource_subscriptions=["rook://inbox"]) as changes:
            await bob.call("send", to=["ada"], subject="news")
            with anyio.fail_after(PATIENCE_S):
                assert await anext(changes) == ResourceUpdated("rook://inbox")


async def test_what_happens_in_another_team_is_not_told(hall: Hall) -> None:
    other = Hall(hall.daemon, f"{hall.team}-other")
    async with newer(hall, X_Rook_Agent="ada") as ada, other.seat() as stranger, hall.seat() as bob:
        await stranger.call("join", name="ada")
        await bob.call("join", name="bob")
        async with ada.listen(resource_subscriptions=["rook://tasks", "rook://inbox"]) as changes:
            await stranger.call("send", to=["user"], subject="elsewhere")
            hall.door.task("here")
            with anyio.fail_after(PATIENCE_S):
                assert await anext(changes) == ResourceUpdated("rook://tasks")


# -- the end -----------------------------------------------------------------------------------------------------


async def test_who_ends_its_session_leaves(hall: Hall) -> None:
    async with hall.seat() as model:
        await model.call("join", name="ada")
        await model.call("reserve", paths=["src/"])
    assert hall.events("leave")["actor"] == "ada"
    async with hall.seat() as another:
        await another.call("join", name="bob")
        await another.call("reserve", paths=["src/"])


def asked(hall: Hall, session: str, method: str, **params: Any) -> Answer:
    body = json.dumps({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}).encode()
    headers = {**BOTH, "mcp-session-id": session, "mcp-protocol-version": OLDER}
    return hall.door.raw("POST", hall.path, body, headers)


@pytest.mark.slow
async def test_who_falls_silent_has_left(tmp_path: Any) -> None:
    with running(tmp_path, ROOK_MCP_IDLE_S="0.3") as daemon:
        hall = Hall(daemon, "crew")
        session = opened(hall).headers["mcp-session-id"]
        assert asked(hall, session, "tools/call", name="join", arguments={"name": "ada"}).status == 200
        assert hall.events("leave")["actor"] == "ada"
        assert asked(hall, session, "tools/list").code == "NO_SESSION"
        async with newer(hall, X_Rook_Agent="bob") as model:
            await model.call_tool("join", {})
        while hall.events("leave")["actor"] != "bob":
            pass
        assert daemon.stop() == (0, "")


@pytest.mark.slow
async def test_a_session_in_which_nobody_joined_ends_sooner_and_makes_room(tmp_path: Any) -> None:
    with running(tmp_path, ROOK_MCP_UNJOINED_S="0.3", ROOK_MCP_SESSIONS="2") as daemon:
        hall = Hall(daemon, "crew")
        joined = opened(hall).headers["mcp-session-id"]
        assert asked(hall, joined, "tools/call", name="join", arguments={"name": "ada"}).status == 200
        empty = opened(hall).headers["mcp-session-id"]
        assert opened(hall).code == "TOO_MANY_SESSIONS"
        fresh = until(lambda: opened(hall).headers.get("mcp-session-id"), "room for another session")
        assert asked(hall, empty, "tools/list").code == "NO_SESSION"
        assert asked(hall, joined, "tools/list").status == 200
        assert asked(hall, fresh, "tools/list").status == 200
        assert daemon.stop() == (0, "")


@pytest.mark.slow
async def test_who_listens_is_there(tmp_path: Any) -> None:
    """Nothing but its open stream tells that it lives, longer than a session without a process is believed."""
    with running(tmp_path, ROOK_MCP_IDLE_S="0.5", ROOK_MESH_HEARTBEAT_S="0.1", ROOK_MESH_LEASE_S="1") as daemon:
        hall = Hall(daemon, "crew")

        def lives(name: str) -> bool:
            return next(each["live"] for each in hall.door.get("/v1/agents").body["agents"] if each["name"] == name)

        async with hall.seat(stays=True) as model:
            await model.call("join", name="ada")
            hall.door.post("/v1/call/join", name="mute")
            with anyio.fail_after(PATIENCE_S):
                while lives("mute"):
                    await anyio.lowlevel.checkpoint()
            assert lives("ada")


@pytest.mark.slow
async def test_the_daemon_goes_down_with_models_in_it(tmp_path: Any) -> None:
    with running(tmp_path) as daemon:
        hall = Hall(daemon, "crew")
        async with hall.seat(stays=True) as ada, newer(hall, X_Rook_Agent="bob") as bob:
            await ada.call("join", name="ada")
            with pytest.warns(MCPDeprecationWarning):
                await ada.session.subscribe_resource("rook://inbox")
            async with bob.listen(resource_subscriptions=["rook://who"]) as changes:
                ended = await anyio.to_thread.run_sync(daemon.stop)
                with anyio.fail_after(PATIENCE_S):
                    assert [each async for each in changes if each != ResourceUpdated("rook://who")] == []
        assert ended == (0, "")
        [log] = (tmp_path / "rook" / "logs").glob("*.log")
        assert [line for line in log.read_text().splitlines() if " INFO " not in line] == []


# -- what it costs those who do not use it ---------------------------------------------------------------------------

LOADED = "import sys, rookery.front.http.{}; print('mcp' in sys.modules, 'pydantic' in sys.modules)"


@pytest.mark.parametrize(("module", "loaded"), [("serve", "False False"), ("guests", "True True")])
def test_the_protocol_is_loaded_when_somebody_speaks_it(module: str, loaded: str) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED.format(module)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == loaded
