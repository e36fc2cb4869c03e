"""Limits of the daemon's HTTP: connections, requests and readers that take too long, and what others notice of them."""

import http.client
import json
import re
import select
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from rookery.store.opening import Patience, open_connection, rows
from tests.http.test_stream import events, stream
from tests.support.doors import TOKEN, Running, running
from tests.support.panes import until
from tests.support.procs import PATIENCE_S

pytestmark = pytest.mark.slow
TEAM = "crowd"
EVENTS = 20_000
PAGE = 100
SHORT = {"ROOK_DAEMON_HEADER_S": "0.5", "ROOK_DAEMON_BODY_S": "0.5", "ROOK_DAEMON_STALL_S": "1"}
HALF = b"GET /v1/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\n"
AUTHORIZED = f"Authorization: Bearer {TOKEN}\r\n".encode()
POST = b"POST /v1/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\n" + AUTHORIZED + b"Content-Length: %d\r\n\r\n"
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
_MANY = """WITH RECURSIVE
  s (i) AS (SELECT seq + 1 FROM teams WHERE id = :team UNION ALL SELECT i + 1 FROM s WHERE i < :last)
  INSERT INTO events (team, seq, at, type, actor, preview)
  SELECT :team, i, 1, 'status', 'ada', 'The work goes on, and this line is as long as most of them are.' FROM s"""


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """A daemon whose limits are soon reached, with a long history."""
    with running(tmp_path_factory.mktemp("limits"), **SHORT) as daemon:
        add_events(daemon, EVENTS)
        yield daemon
        assert daemon.stop() == (0, "")


def add_events(daemon: Running, last: int) -> None:
    daemon.door.of(TEAM).task()
    connection = open_connection(f"{daemon.door.home}/rookery.db", Patience(), PATIENCE_S)
    try:
        (team,) = rows(connection, "SELECT id FROM teams WHERE name = :name", {"name": TEAM})[0]
        rows(connection, "BEGIN IMMEDIATE")
        rows(connection, _MANY, {"team": team, "last": last})
        rows(connection, "UPDATE teams SET seq = :last WHERE id = :team", {"team": team, "last": last})
        rows(connection, "COMMIT")
    finally:
        connection.close()


@contextmanager
def connected(daemon: Running, said: bytes = b"", buffer: int = 0) -> Generator[socket.socket]:
    host, _, port = daemon.door.address.partition(":")
    with socket.socket() as plug:
        if buffer:
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        plug.settimeout(PATIENCE_S)
        plug.connect((host, int(port)))
        plug.sendall(said)
        yield plug


def read_to_end(plug: socket.socket) -> bytes:
    got = b""
    while more := plug.recv(1 << 16):
        got += more
    return got


def code_of(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head[9:12]), json.loads(body)["error"]["code"]


def number(daemon: Running, name: str) -> float:
    return float(re.search(rf"^{re.escape(name)} (\S+)$", daemon.door.get("/metrics").body, re.MULTILINE)[1])  # type: ignore[index]


def ask_for_events(query: str = "after=0", accept: str = "text/event-stream") -> bytes:
    line = f"GET /v1/events?teamId={TEAM}&{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {accept}\r\n"
    return line.encode() + AUTHORIZED + b"\r\n"


# -- requests that do not arrive ---------------------------------------------------------------------------------------


def test_a_half_open_request_is_refused_in_time(short: Running):
    with connected(short, HALF) as plug:
        assert code_of(read_to_end(plug)) == (408, "REQUEST_TIMEOUT")


def test_a_request_that_drips_in_is_refused_too(short: Running):
    with connected(short, HALF) as plug:
        while not select.select([plug], [], [], 0.05)[0]:
            plug.sendall(b"X")
        assert code_of(read_to_end(plug)) == (408, "REQUEST_TIMEOUT")


def test_a_connection_that_asks_nothing_is_closed_without_an_answer(short: Running):
    with connected(short) as plug:
        assert read_to_end(plug) == b""


def test_a_body_that_does_not_come_is_refused(short: Running):
    with connected(short, POST % 99 + b"{") as plug:
        assert code_of(read_to_end(plug)) == (408, "REQUEST_TIMEOUT")


def test_a_connection_that_was_answered_is_kept_longer_than_a_request_may_take(short: Running):
    """The control: what closes half-open connections leaves those alone that have asked and were answered."""
    with connected(short, WHOLE) as kept, connected(short, HALF) as half:
        kept.recv(1 << 16)
        read_to_end(half)  # the limit on requests has passed
        kept.sendall(WHOLE)
        assert kept.recv(1 << 16).startswith(b"HTTP/1.1 200")
        kept.sendall(HALF)
        assert code_of(read_to_end(kept)) == (408, "REQUEST_TIMEOUT")


def test_a_body_that_comes_in_pieces_is_read(short: Running):
    body = b'{"title": "in pieces"}'
    with connected(short, POST % len(body)) as plug:
        for at in range(len(body)):
            plug.sendall(body[at : at + 1])
        assert plug.recv(1 << 16).startswith(b"HTTP/1.1 201")


# -- more connections than there may be --------------------------------------------------------------------------------


def test_idle_connections_keep_nobody_out(tmp_path: Path):
    with running(tmp_path, ROOK_DAEMON_CONNECTIONS="4") as daemon, ExitStack() as stack:
        crowd = [stack.enter_context(connected(daemon, said)) for said in (b"", HALF)]
        assert daemon.door.get("/healthz").status == 200, "what was said before has been read"
        crowd += [stack.enter_context(connected(daemon, said)) for said in (b"", HALF, b"", HALF)]
        assert daemon.door.get("/healthz").status == 200
        assert read_to_end(crowd[0]) == b""
        assert code_of(read_to_end(crowd[1])) == (503, "TOO_MANY_CONNECTIONS")
        crowd[5].sendall(AUTHORIZED + b"\r\n")
        assert crowd[5].recv(1 << 16).startswith(b"HTTP/1.1 200"), "the newest ones stay"
        assert number(daemon, 'rook_connections_closed_total{reason="full"}') == 0
        assert daemon.stop() == (0, "")


def test_where_every_connection_is_busy_the_next_one_is_told_so(tmp_path: Path):
    with running(tmp_path, ROOK_DAEMON_CONNECTIONS="3") as daemon, ExitStack() as stack:
        daemon.door.of(TEAM).task()
        crowd = [stack.enter_context(connected(daemon, ask_for_events())) for _ in range(3)]
        for each in crowd:
            assert each.recv(1 << 16).startswith(b"HTTP/1.1 200")
        refused = daemon.door.get("/healthz")
        assert (refused.status, refused.code) == (503, "TOO_MANY_CONNECTIONS")
        assert refused.body["error"]["hint"]
        crowd[0].close()
        until(lambda: daemon.door.get("/healthz").status == 200, "room")
        assert number(daemon, 'rook_connections_closed_total{reason="full"}') >= 1
        assert daemon.stop() == (0, "")


def test_more_streams_than_there_may_be_are_refused(tmp_path: Path):
    with running(tmp_path, ROOK_DAEMON_STREAMS="1") as daemon:
        door = daemon.door.of(TEAM)
        door.task()
        with stream(daemon.door, TEAM) as first:
            events(first, 1)
            with stream(daemon.door, TEAM) as second:
                assert (second.status, json.loads(second.read())["error"]["code"]) == (429, "TOO_MANY_STREAMS")
            assert door.get("/v1/events", after=0).status == 200, "pages are not streams"
        until(lambda: number(daemon, "rook_event_streams") == 0, "the end of the stream")
        with stream(daemon.door, TEAM) as third:
            assert third.status == 200


def test_few_descriptors_are_enough_for_many_connections(tmp_path: Path):
    """Both limits on descriptors are low, so that the daemon can not raise them."""
    few = ("/bin/sh", "-c", 'ulimit -n 200 && exec "$@"', "sh")
    with running(tmp_path, before=few) as daemon, ExitStack() as stack:
        for said in (b"", HALF) * 200:
            stack.enter_context(connected(daemon, said))
        assert daemon.door.get("/healthz").status == 200
        assert daemon.door.of(TEAM).post("/v1/tasks", title="written").status == 201
        assert number(daemon, "rook_connections") < 200
        assert daemon.stop() == (0, "")


# -- readers -----------------------------------------------------------------------------------------------------------


def test_nothing_is_read_for_a_reader_that_has_left(short: Running):
    before = number(short, "rook_event_pages_total")
    with connected(short, ask_for_events(), buffer=4096) as plug:
        assert plug.recv(1 << 16).startswith(b"HTTP/1.1 200")
    until(lambda: number(short, "rook_event_streams") == 0, "the end of the stream")
    assert number(short, "rook_event_pages_total") - before < EVENTS / PAGE / 2


def test_a_reader_that_stays_gets_everything(short: Running):
    """The control: the same stream, read to its end."""
    with stream(short.door, TEAM) as answer:
        numbers = [int(event["id"]) for event in events(answer, EVENTS)]
    assert numbers == list(range(1, EVENTS + 1))


def test_a_slow_reader_is_bounded_told_and_can_resume(short: Running):
    before = number(short, "rook_event_pages_total")
    with connected(short, ask_for_events(), buffer=4096) as plug:
        until(lambda: number(short, "rook_event_streams") == 1, "the stream")
        until(lambda: number(short, "rook_event_streams") == 0, "the end of the stream")
        pages = number(short, "rook_event_pages_total") - before
        answer = http.client.HTTPResponse(plug)
        answer.begin()
        *sent, last = answer.read().decode().split("\n\n")[1:-1]
    assert pages < EVENTS / PAGE / 2, "the rest was not even read"
    numbers = [int(event.partition("\n")[0].removeprefix("id: ")) for event in sent]
    assert numbers == list(range(1, len(numbers) + 1))
    kind, _, data = last.partition("\ndata: ")
    error = json.loads(data)["error"]
    assert (kind, error["code"], error["cursor"]) == ("event: refused", "SLOW_READER", numbers[-1])
    with stream(short.door, TEAM, **{"Last-Event-ID": str(error["cursor"])}) as resumed:
        assert events(resumed, 1)[0]["id"] == str(numbers[-1] + 1)


def test_a_reader_that_never_reads_is_cut_off(short: Running):
    before = number(short, 'rook_connections_closed_total{reason="stall"}')
    with connected(short, ask_for_events("limit=10000", "application/json"), buffer=4096) as plug:
        until(lambda: number(short, 'rook_connections_closed_total{reason="stall"}') > before, "the daemon's patience")
        answer = http.client.HTTPResponse(plug)
        answer.begin()
        with pytest.raises(http.client.IncompleteRead):
            answer.read()


def test_a_slow_reader_does_not_hold_up_the_end_of_the_daemon(tmp_path: Path):
    with running(tmp_path) as daemon:
        add_events(daemon, EVENTS)
        with connected(daemon, ask_for_events(), buffer=4096):
            pages = 0.0
            while (
                now := number(daemon, "rook_event_pages_total")
            ) != pages or not now:  # until it waits for its reader
                pages = now
            assert daemon.stop(signal.SIGTERM) == (0, "")
        log = (tmp_path / "rook" / "logs" / "daemon.log").read_text()
        assert "ERROR" not in log


def test_others_are_served_between_the_pages_of_many_readers(short: Running):
    """Ten readers want everything. Whoever asks meanwhile is answered while they are still at it."""
    done: list[int] = []

    def read() -> None:
        with stream(short.door, TEAM) as answer:
            done.append(len(events(answer, EVENTS)))

    readers = [threading.Thread(target=read) for _ in range(10)]
    for reader in readers:
        reader.start()
    until(lambda: number(short, "rook_event_streams") == len(readers), "the readers")
    for _ in range(5):
        assert short.door.get("/healthz").status == 200
        assert short.door.of(TEAM).post("/v1/call/who").status == 200
    assert not done, "none of them has got everything yet"
    for reader in readers:
        reader.join(PATIENCE_S)
    assert done == [EVENTS] * len(readers)


def test_a_page_is_the_same_as_the_verb_answers(short: Running):
    door = short.door.of(TEAM)
    page: dict[str, Any] = door.get("/v1/events", after=7, limit=3).body
    assert [event["seq"] for event in page["events"]] == [8, 9, 10]
    assert (page["cursor"], page["newest"], page["horizon"]) == (10, EVENTS, 0)
    assert door.post("/v1/call/events", after=7, limit=3).body == page
    assert (
        door.get("/v1/events", after=0, limit=10_001).code == door.post("/v1/call/events", limit=0).code == "BAD_INPUT"
    )
