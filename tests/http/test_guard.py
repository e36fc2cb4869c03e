"""Who is let in: the token, the name we are called by, where a page comes from; and what ids can not do."""

import json
import signal
import socket
import struct
import sys
from pathlib import Path

import pytest

from tests.support.doors import TOKEN, Door, Running, running
from tests.support.panes import until

NO_TOKENS = (
    None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \u00fc", TOKEN,
)  # fmt: skip


def test_health_needs_no_token_and_tells_little(daemon: Running):
    answer = Door(daemon.door.url, None).get("/healthz")
    assert answer.status == 200
    assert set(answer.body) == {"status", "version"}


@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/teams", "/metrics", "/openapi.json", "/v1/events", "/nothing"])
def test_without_the_token_nothing_else_answers(daemon: Running, path: str):
    for header in NO_TOKENS:
        sent = {} if header is None else {"Authorization": header}
        answer = Door(daemon.door.url, None).raw("GET", path, headers=sent)
        assert (answer.status, answer.code) == (401, "UNAUTHORIZED"), header
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:80", "localhost.evil", "0.0.0.0", "", "[::2]:1"]
)
def test_h30_a_foreign_host_is_refused_even_with_the_token(door: Door, host: str):
    for path in ("/healthz", "/v1/tasks"):
        answer = door.raw("GET", path, headers={"Host": host})
        assert (answer.status, answer.code) == (403, "BAD_HOST")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1", "file://", ""]
)
def test_h30_a_page_of_another_origin_is_refused_even_with_the_token(door: Door, origin: str):
    body = json.dumps({"title": "from a page"}).encode()
    for kind in ("application/json", "text/plain"):
        answer = door.raw("POST", "/v1/tasks", body, {"Origin": origin, "Content-Type": kind})
        assert (answer.status, answer.code) == (403, "BAD_ORIGIN")
    assert door.get("/v1/tasks").code == "TEAM_NOT_FOUND", "nothing was written"


def test_h30_our_own_names_and_origin_are_let_in(door: Door):
    port = door.address.rpartition(":")[2]
    for host in (door.address, f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        assert door.raw("GET", "/v1/tasks", headers={"Host": host}).status == 200
    assert door.raw("GET", "/v1/tasks", headers={"Origin": door.url}).status == 200


TRAVERSALS = (
    "..", "../runtime", "..%2Fruntime", "%2e%2e%2fruntime", "..%252Fruntime", "....//runtime", "..\\runtime",
    "..%5Cruntime", "/etc/passwd", "%2Fetc%2Fpasswd", "runtime.json", "..%00", "task-0001%00.json",
    "task-0001%2F..%2F..%2Frun%2Fruntime", "~", "~root", "file:%2F%2F%2Fetc%2Fpasswd", "%c0%ae%c0%ae%c0%afruntime",
    "task-0001'--", "*", "%", "%E2%80%A5%2Fruntime",
)  # fmt: skip


@pytest.mark.parametrize("route", ["/v1/tasks/{}", "/v1/threads/{}/messages", "/v1/threads/{}/tail", "/v1/teams/{}"])
def test_h29_an_id_is_never_a_path(door: Door, route: str):
    door.task()
    for id in TRAVERSALS:
        answer = door.raw("GET", route.format(id))
        assert answer.status in (400, 404, 422), (id, answer)
        assert TOKEN not in json.dumps(answer.body), id


@pytest.mark.parametrize("step", ["claim", "complete", "cancel"])
def test_h29_nothing_is_done_to_an_id_that_is_a_path(door: Door, step: str):
    for id in TRAVERSALS:
        answer = door.raw("POST", f"/v1/tasks/{id}/{step}", json.dumps({"agentId": "ada", "epoch": 1}).encode())
        assert answer.status in (400, 404, 422), (id, answer)


def test_h29_no_file_is_made_from_a_name(door: Door, daemon: Running):
    home = Path(daemon.environ["ROOK_HOME"])
    before = {path for path in home.rglob("*") if path.parent.name != "bell"}
    for id in ("../../x", "..%2Fx", "x/../../y"):
        door.post("/v1/teams", teamId=id)
        door.post("/v1/threads", title=id, participants=[id])
        door.post(f"/v1/tasks/{id}/claim", agentId=id)
    assert {path for path in home.rglob("*") if path.parent.name != "bell"} == before


NONSENSE = (
    b"{", b"[1]", b"null", b'"x"', b"\xff", b'{"a": NaN}', b"[" * 100_000, b'{"title": "\\ud800"}', b'{"title": 1}',
    b'{"title": "a\\u0000b"}', b'{"title": null}', b"", b'{"title": ""}', b'{"title": "x", "deps": "task-0001"}',
    b'{"title": "x", "maxTokens": ' + b"9" * 5000 + b"}",
)  # fmt: skip


@pytest.mark.parametrize("body", NONSENSE, ids=lambda body: repr(body[:20]))
def test_a_body_that_makes_no_sense_is_refused(door: Door, body: bytes):
    answer = door.raw("POST", "/v1/tasks", body, {"Content-Type": "application/json"})
    assert (answer.status, answer.code) in ((400, "INVALID_JSON"), (400, "INVALID_TASK")), answer
    assert set(answer.body["error"]) >= {"code", "message", "hint"}


def test_a_body_beyond_the_limit_is_413(door: Door):
    answer = door.raw("POST", "/v1/tasks", json.dumps({"title": "x", "description": "y" * 250_000}).encode())
    assert (answer.status, answer.code) == (413, "TOO_LARGE")
    chunked = door.raw("POST", "/v1/tasks", headers={"Content-Length": "10000000"})
    assert chunked.status == 413
    assert door.get("/v1/agents").status == 200


def test_errors_of_routes_have_the_same_shape(door: Door):
    for method, path, status in (("GET", "/nothing", 404), ("DELETE", "/v1/tasks", 405), ("GET", "/v1/tasks/", 404)):
        answer = door.raw(method, path)
        assert answer.status == status
        assert set(answer.body["error"]) >= {"code", "message", "hint"}


NO_CALLERS = (
    "x", "[]", '{"agent": 1}', '{"nothing": 1}', '{"agent": "system"}', '{"process": [1]}', '{"lineage": [[1]]}',
    '{"lineage": 5}', '{"open_addresses": "yes"}', '{"cwd": "\\u0000"}', '{"tree": 5}', '{"tree": null}',
)  # fmt: skip


@pytest.mark.parametrize("told", NO_CALLERS)
def test_a_caller_that_is_none_is_refused(door: Door, told: str):
    answer = door.post("/v1/call/inbox", {"X-Rook-Caller": told})
    assert answer.status == 422, answer


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel of Linux tells which process calls")
def test_h42_a_client_that_resets_its_connection_before_it_is_accepted_is_not_heard(tmp_path: Path):
    """The request can still be read, and the client's address is gone: nobody can tell which process sent it."""
    body = json.dumps({"title": "whose?"}).encode()
    head = f"POST /v1/call/task.add HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
    words = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    with running(tmp_path) as daemon:
        host, port = daemon.told["url"].removeprefix("http://").split(":")
        daemon.process.send_signal(signal.SIGSTOP)  # so that it accepts nobody for now
        for _ in range(5):
            with socket.create_connection((host, int(port))) as line:
                line.sendall(words)
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        daemon.process.send_signal(signal.SIGCONT)
        until(lambda: served(daemon) == 5, lambda: daemon.door.get("/metrics").body)
        assert daemon.door.get("/v1/tasks").body["tasks"] == []


def served(daemon: Running) -> int:
    """Requests that were dealt with, in whatever way."""
    lines = daemon.door.get("/metrics").body.splitlines()
    return sum(int(line.split()[-1]) for line in lines if line.startswith("rook_requests_total") and "POST" in line)
