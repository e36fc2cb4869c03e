"""H30, the part about identity: what a token proves, what is none, how it ends, where its text is, what it costs."""

import asyncio
import hmac
import http.client
import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rookery import app
from rookery.core import errors, tokens
from rookery.core.caller import Role
from rookery.front.http import guard
from rookery.front.http.daemon import Daemon
from rookery.front.http.routes import application
from rookery.service.verbs import VERBS
from tests.cli.conftest import Terminal
from tests.support.doors import TOKEN, Answer, Door, Running
from tests.support.holders import Crew, assembled, made
from tests.support.procs import PATIENCE_S


@pytest.fixture
def crew(door: Door) -> Crew:
    return assembled(door)


# -- as itself ---------------------------------------------------------------------------------------------------------


def test_h30_a_token_acts_as_its_agent_by_itself(crew: Crew):
    plain = Door(crew.ada.url, crew.ada._token)  # says neither agent nor team
    assert plain.post("/v1/call/join").body["name"] == "ada"
    sent = plain.post("/v1/messages", to=["bob"], subject="from ada")
    assert (sent.status, sent.body["from"]) == (201, "ada")
    task = plain.task("mine")
    claimed = plain.post(f"/v1/tasks/{task}/claim")
    assert claimed.body["lease"]["holder"] == "ada"
    assert plain.post(f"/v1/tasks/{task}/complete", epoch=1).status == 200
    assert plain.post(f"/v1/tasks/{task}/claim", agentId="Ada").status == 409, "its own name may be said"
    assert plain.get("/v1/inbox").status == 200
    assert plain.get("/v1/can-write", path="x").body["allow"] is True
    assert [team["teamId"] for team in plain.get("/v1/teams").body["teams"]] == [crew.person._team]
    assert plain.get(f"/v1/teams/{crew.person._team}").status == 200


def test_h30_an_unknown_recipient_is_not_made(crew: Crew):
    answer = crew.ada.post("/v1/messages", to=["bobb"], subject="x")
    assert (answer.status, answer.code) == (404, "UNKNOWN_AGENT")
    assert "bob" in answer.body["error"]["hint"]


def test_nobody_proves_anything_by_saying_so(crew: Crew):
    grant = [crew.person._team, "token-0002", False, 1, "bob"]
    for door in (crew.person, crew.ada):
        answer = door.post("/v1/call/inbox", {"X-Rook-Caller": json.dumps({"grant": grant})})
        assert answer.status == 422, answer


def test_a_reader_sees_what_a_dashboard_shows(crew: Crew):
    assert [task["id"] for task in crew.eyes.get("/v1/tasks").body["tasks"]] == [crew.task]
    (message,) = [m for m in crew.eyes.get("/v1/messages", agentId="bob").body["messages"] if m["id"] == crew.message]
    assert message["state"] == "unread"
    assert crew.eyes.get("/v1/events", after=0).body["events"]
    assert "rook_requests_total" in crew.eyes.get("/metrics").body


# -- what is no token --------------------------------------------------------------------------------------------------


def headers_with(token: str) -> dict[str, str]:
    return {
        "another scheme": f"Basic {token}", "no scheme": token, "a scheme of ours": f"Token {token}",
        "two schemes": f"Bearer Bearer {token}", "twice": f"Bearer {token} {token}", "cut": f"Bearer {token[:-1]}",
        "longer": f"Bearer {token}0", "capitals": f"Bearer {token.upper()}", "the secret": f"Bearer {token[10:]}",
        "quoted": f'Bearer "{token}"', "latin": f"Bearer {token}\u00fc",
        "a tab within": f"Bearer {token[:20]}\t{token[20:]}",
        "only the prefix": "Bearer rookagent_", "its digest": f"Bearer {tokens.digest(token)}",
        "its digest as one": f"Bearer rookagent_{tokens.digest(token)[:52]}", "like": "Bearer rookagent_%",
        "a quote": f"Bearer {token[:-1]}'", "high bytes": "Bearer \xff\xfe\x80", "long": f"Bearer {'0' * 8000}",
    }  # fmt: skip


def test_h30_what_is_almost_a_token_is_none(crew: Crew):
    assert crew.ada._token
    for what, header in headers_with(crew.ada._token).items():
        answer = Door(crew.ada.url, None).raw("GET", "/v1/tasks", headers={"Authorization": header})
        assert (answer.status, answer.code) == (401, "UNAUTHORIZED"), what
        assert answer.headers["www-authenticate"] == "Bearer"
    for header in (f"bearer {crew.ada._token}", f"BEARER  {crew.ada._token} "):
        assert Door(crew.ada.url, None).raw("GET", "/v1/tasks", headers={"Authorization": header}).status == 200


@pytest.mark.parametrize("name", ["token", "access_token", "authorization", "Authorization", "bearer", "ROOK_TOKEN"])
def test_h30_a_token_in_the_address_is_not_taken(crew: Crew, name: str):
    for token in (crew.ada._token, TOKEN):
        answer = Door(crew.ada.url, None).get("/v1/tasks", **{name: token})
        assert (answer.status, answer.code) == (401, "UNAUTHORIZED")
    body = json.dumps({name: crew.ada._token, "title": "x"}).encode()
    assert Door(crew.ada.url, None).raw("POST", "/v1/tasks", body).status == 401


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "file://"])
def test_h30_a_page_of_another_origin_is_refused_with_a_good_token(crew: Crew, origin: str):
    before = crew.newest()
    for door in (crew.ada, crew.eyes):
        for method, path in (("POST", "/v1/tasks"), ("GET", "/v1/tasks"), ("GET", "/v1/events")):
            answer = door.raw(method, path, b'{"title": "x"}', {"Origin": origin, "Content-Type": "text/plain"})
            assert (answer.status, answer.code) == (403, "BAD_ORIGIN")
        assert door.raw("GET", "/v1/tasks", headers={"Host": "evil.example"}).code == "BAD_HOST"
    assert crew.newest() == before


# -- the end of a token ------------------------------------------------------------------------------------------------


def revoke(crew: Crew, id: str) -> None:
    assert crew.person.operator.post("/v1/call/token.revoke", id=id).body["changed"] is True


def test_h30_a_revoked_token_is_over_at_the_next_request(crew: Crew):
    connection = http.client.HTTPConnection(crew.ada.address, timeout=PATIENCE_S)
    for number, door in enumerate((crew.ada, crew.eyes), start=2):
        headers = {"Authorization": f"Bearer {door._token}"}
        connection.request("GET", f"/v1/tasks?teamId={door._team}", headers=headers)
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)
        revoke(crew, f"token-{number:04d}")
        connection.request("GET", f"/v1/tasks?teamId={door._team}", headers=headers)  # the same connection, kept open
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["error"]["code"]) == (401, "TOKEN_REVOKED")
        assert answer.getheader("WWW-Authenticate") == "Bearer"
        for path in ("/metrics", "/openapi.json", "/nothing"):
            assert door.get(path).code == "TOKEN_REVOKED"
    connection.close()


def test_h30_a_request_under_way_when_its_token_is_revoked_does_nothing(crew: Crew):
    before = crew.newest()
    body = json.dumps({"title": "late", "teamId": crew.ada._team}).encode()
    head = (
        f"POST /v1/tasks HTTP/1.1\r\nHost: {crew.ada.address}\r\nAuthorization: Bearer {crew.ada._token}\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    )
    host, _, port = crew.ada.address.partition(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as connection, connection.makefile("rb") as answer:
        connection.sendall(head.encode())
        assert b"100 Continue" in answer.readline(), "it was let in, and its body is waited for"
        revoke(crew, "token-0002")
        connection.sendall(body)
        told = answer.read()
    assert b"HTTP/1.1 401" in told
    assert b"TOKEN_REVOKED" in told
    assert [event["type"] for event in crew.since(before)] == ["token.revoked"]


@pytest.mark.parametrize("who", ["ada", "eyes"])
def test_h30_a_stream_ends_when_its_token_is_revoked(crew: Crew, who: str):
    door: Door = getattr(crew, who)
    connection = http.client.HTTPConnection(door.address, timeout=PATIENCE_S)
    headers = {"Authorization": f"Bearer {door._token}", "Accept": "text/event-stream"}
    connection.request("GET", f"/v1/events?after={crew.newest()}", headers=headers)
    answer = connection.getresponse()
    assert answer.readline() == b": events of the ledger\n"
    crew.person.task("seen")
    seen = next(line for line in iter(answer.readline, b"") if line.startswith(b"data: "))
    assert json.loads(seen.removeprefix(b"data: "))["preview"] == "seen"
    revoke(crew, "token-0002" if who == "ada" else "token-0003")
    crew.person.task("not for you")
    rest = answer.read()  # to its end: the stream was closed
    connection.close()
    assert b"event: refused\n" in rest
    assert b"TOKEN_REVOKED" in rest
    assert b"not for you" not in rest


def test_h30_who_waits_is_sent_away_when_its_token_is_revoked(crew: Crew):
    told: list[Answer] = []
    since = crew.newest()
    waiter = threading.Thread(target=lambda: told.append(crew.ada.get("/v1/inbox", since=since, wait=300)))
    waiter.start()
    while "rook_waiting 0" in crew.person.get("/metrics").body:
        pass
    revoke(crew, "token-0002")
    waiter.join(PATIENCE_S)
    assert [(answer.status, answer.code) for answer in told] == [(401, "TOKEN_REVOKED")]


def test_a_token_that_expires(crew: Crew):
    short, long = made(crew.person, agent="ada", ttl=1), made(crew.person, agent="ada", ttl=3_600_000)
    while (answer := short.get("/v1/tasks")).status == 200:
        pass
    assert (answer.status, answer.code) == (401, "TOKEN_EXPIRED")
    assert long.get("/v1/tasks").status == 200


# -- the secret --------------------------------------------------------------------------------------------------------


def test_h30_the_text_of_a_token_is_told_once(crew: Crew, daemon: Running):
    answer = crew.person.operator.post("/v1/call/token.new", agent="ada", note="once")
    secret = answer.body["token"].partition("_")[2]
    assert answer.headers["cache-control"] == "no-store"
    seen = [
        crew.person.operator.post("/v1/call/token.list", all=True), crew.person.get("/v1/events", after=0, limit=1000),
        crew.person.post("/v1/call/feed", types=["token.new"]), crew.person.get("/metrics"),
        crew.person.operator.post("/v1/call/token.revoke", id=answer.body["id"]),
        Door(crew.ada.url, answer.body["token"]).get("/v1/tasks"),
    ]  # fmt: skip
    assert all(secret not in json.dumps(each.body) for each in seen)
    home = Path(daemon.environ["ROOK_HOME"])
    files = [str(path) for path in home.rglob("*") if path.is_file()]
    kept = subprocess.run(["cat", *files], capture_output=True, check=True).stdout
    assert secret.encode() not in kept
    assert tokens.digest(answer.body["token"]).encode() in kept, "the search would find it"


def test_h30_no_key_brings_a_token_back(crew: Crew):
    before = crew.newest()
    for _ in range(2):
        answer = crew.person.operator.post("/v1/call/token.new", {"Idempotency-Key": "k"}, agent="ada")
        assert (answer.status, answer.code) == (422, "NO_KEY")
    assert crew.person.operator.post("/v1/call/token.new", agent="ada", key="k").status == 422
    assert crew.newest() == before


# -- through our own client --------------------------------------------------------------------------------------------


@pytest.fixture
def rook(crew: Crew, tmp_path: Path) -> Terminal:
    terminal = Terminal(tmp_path)
    terminal.environ |= {"ROOK_TEAM": crew.ada._team, "ROOK_URL": crew.ada.url, "ROOK_TOKEN": crew.ada._token or ""}
    return terminal


def test_h30_commands_act_as_the_tokens_agent(crew: Crew, rook: Terminal):
    assert rook.json("join")["name"] == "ada"
    assert rook.json("send", "bob", "-s", "Hello")["from"] == "ada"
    task = rook.json("task", "add", "Work")["id"]
    assert rook.json("task", "claim", task)["lease"]["holder"] == "ada"
    assert rook.json("task", "done", task, "-m", "did it")["status"] == "completed"
    crew.person.post("/v1/messages", agentId="bob", to=["ada"], subject="Back")
    assert [m["subject"] for m in rook.json("wait", "--timeout", "60")["messages"]] == ["Back"]
    assert rook.json("inbox", "--as", "ada")["agent"] == "ada"
    assert rook("doctor").code == 0


@pytest.mark.parametrize("argv", [
    ["inbox"], ["send", "cat", "-s", "x"], ["task", "claim", "--next"], ["status", "busy"], ["join"], ["leave"],
    ["who"], ["task", "list"], ["export", "mailboxes", "out"],
], ids=" ".join)  # fmt: skip
def test_h30_commands_as_another_get_a_clear_refusal(crew: Crew, rook: Terminal, argv: list[str]):
    before = crew.newest()
    reply = rook(*argv, "--as", "bob")
    assert (reply.code, reply.out) == (1, "")
    if "export" not in argv:  # that is for the user alone
        assert "This token is ada's; it can not act as " in reply.err
        assert "own token" in reply.err
    rook.environ["ROOK_AGENT"] = "bob"
    assert rook(*argv).code == 1
    assert json.loads(rook(*argv, "--json").out)["error"]["code"] == "NOT_YOURS"
    assert {event["type"] for event in crew.since(before)} <= {"authority.refused"}


def test_tokens_by_command_over_http(crew: Crew, rook: Terminal):
    for argv in (["token", "new", "--agent", "bob"], ["token", "list"], ["token", "revoke", "token-0003"]):
        assert rook(*argv).code == 1
    operator = crew.person.operator._token or ""
    rook.environ["ROOK_TOKEN"] = operator
    fresh = rook.json("token", "new", "--agent", "zoe", "--ttl", "2h", "-m", "for a sandbox")
    assert "zoe" in rook.ok("token", "list")
    rook.environ["ROOK_TOKEN"] = fresh["token"]
    assert rook.json("inbox")["agent"] == "zoe"
    rook.environ["ROOK_TOKEN"] = operator
    assert "revoked" in rook.ok("token", "revoke", fresh["id"])
    rook.environ["ROOK_TOKEN"] = fresh["token"]
    assert "was revoked" in rook("inbox").err
    rook.environ["ROOK_TOKEN"] = crew.eyes._token or ""
    assert rook("who").code == 0
    assert "viewer" in rook("send", "bob", "-s", "x").err
    rook.environ["ROOK_TEAM"] = "elsewhere"
    assert f"for team {crew.ada._team} alone" in rook("who").err


def test_h30_the_python_api_acts_as_the_tokens_agent(crew: Crew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ROOK_URL", crew.ada.url)
    monkeypatch.setenv("ROOK_TOKEN", crew.ada._token or "")
    with app.connect(team=crew.ada._team, cwd=str(tmp_path)) as team:
        me = team.join()
        assert me.name == "ada"
        assert me.send("bob", "Hello").status == "accepted"
        for act in (team.agent("bob").inbox, lambda: team.join("bob"), lambda: team.agent("bob").send("cat", "x")):
            with pytest.raises(errors.NotYours) as caught:
                act()
            assert caught.value.code == "NOT_YOURS"
        with team.agent("ada").claim(team.add_task("Work")["id"]) as lease:
            lease.complete("done")


def test_the_description_tells_which_tokens_open_what(crew: Crew):
    told = crew.eyes.get("/openapi.json").body
    assert set(told["components"]["securitySchemes"]) == {"token", "operatorToken", "agentToken", "viewerToken"}
    for name in VERBS:
        operation = told["paths"][f"/v1/call/{name}"]["post"]
        opened = {scheme for each in operation["security"] for scheme in each}
        assert ("viewerToken" in opened) <= (not VERBS[name].writes)
        assert ("agentToken" in opened) == (VERBS[name].by_token and VERBS[name].who not in ("user", "daemon"))
        assert {"401", "403"} <= set(operation["responses"])
    assert told["paths"]["/v1/tasks"]["get"]["security"][-1] == {"viewerToken": []}
    assert told["paths"]["/v1/tasks"]["post"]["security"] == [{"token": []}, {"operatorToken": []}, {"agentToken": []}]
    assert told["paths"]["/v1/teams"]["post"]["security"] == [{"token": []}, {"operatorToken": []}]
    assert told["paths"]["/healthz"]["get"]["security"] == []


# -- what it costs -----------------------------------------------------------------------------------------------------


class Counted:
    """A daemon in this process, with its looks at the store counted and its comparisons written down."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        house = app.open_house(cwd=str(folder), environ={"ROOK_HOME": str(folder / "rook")}, team="crew")
        self.token = house.client.call("token.new", {"agent": "ada"}, house.caller())["token"]
        house.close()
        self.daemon = Daemon(house, token="own", only_team=True)
        self.looks = 0
        self.compared: list[bytes] = []
        quick, real = self.daemon.queue._stores.quick, hmac.compare_digest
        read = quick.read

        def counted(team: str, work: Any) -> Any:
            self.looks += 1
            return read(team, work)

        def compared(given: bytes, own: bytes) -> bool:
            self.compared.append(given)
            return real(given, own)

        monkeypatch.setattr(quick, "read", counted)
        monkeypatch.setattr(guard.hmac, "compare_digest", compared)

    def get(self, path: str, authorization: str) -> int:
        headers = [(b"host", b"localhost"), (b"authorization", authorization.encode("latin-1"))]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers,
                 "root_path": "", "http_version": "1.1", "scheme": "http", "server": ("localhost", 1)}  # fmt: skip
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(application(self.daemon)(scope, receive, send))  # pyright: ignore[reportArgumentType]
        return sent[0]["status"]


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    made = Counted(tmp_path, monkeypatch)
    yield made
    made.daemon.close()


@pytest.mark.slow
def test_h30_tokens_are_compared_in_constant_time(counted: Counted):
    for given in ("own", "owm", "x" * 5000, "", counted.token):
        counted.get("/openapi.json", f"Bearer {given}")
    assert counted.compared == [b"own", b"owm", b"x" * 5000, b"", counted.token.encode()]


def test_the_teams_own_token_costs_no_look_at_the_store(counted: Counted):
    assert counted.get("/openapi.json", "Bearer own") == 200
    assert counted.looks == 0
    assert counted.get("/v1/tasks", "Bearer own") == 200
    assert counted.looks == 1, "the verb's own"


def test_an_agents_token_costs_one_look_more(counted: Counted):
    assert counted.get("/openapi.json", f"Bearer {counted.token}") == 200
    assert counted.looks == 1
    assert counted.get("/v1/tasks", f"Bearer {counted.token}") == 200
    assert counted.looks == 3


def test_what_can_be_no_token_costs_no_look(counted: Counted):
    for given in ("", "x", "rookagent_", f"{counted.token}0", counted.token.upper()):
        assert counted.get("/v1/tasks", f"Bearer {given}") == 401
    assert counted.looks == 0
    assert counted.get("/v1/tasks", f"Bearer {tokens.written(Role.AGENT, 7)}") == 401
    assert counted.looks == 1


def test_a_daemon_of_one_team_does_not_know_the_tokens_of_others(counted: Counted):
    counted.daemon.team = "another"
    assert counted.get("/openapi.json", f"Bearer {counted.token}") == 401
