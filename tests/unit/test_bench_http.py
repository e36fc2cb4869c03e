"""The bench over HTTP: its client, its homes, and the check that keeps its floor honest."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench import http, http_home, scene
from bench.floor import differences
from bench.http_load import Wire, exchange, request
from rookery.store.opening import Patience, open_connection, rows

TASKS = 20


@contextmanager
def server(*pieces: bytes) -> Generator[str]:
    """Answers every request with the same bytes, in pieces, and then closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                while connection.recv(1 << 16):
                    for piece in pieces:
                        connection.sendall(piece)
                    if not pieces[-1]:
                        return

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def test_answers_come_in_the_order_of_the_requests_whatever_the_pieces():
    with server(b"HTTP/1.1 20", b"1 Made\r\nContent-Length: 4\r\n\r", b"\nab", b"cd") as address:
        wire = Wire(address)
        answered = exchange([wire], [request("GET", f"/{n}", address) for n in range(3)])
        wire.close()
    assert answered.answers == [(201, b"abcd")] * 3
    assert answered.seconds > 0


def test_a_connection_that_ends_too_early_is_an_error():
    with server(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab", b"") as address:
        wire = Wire(address)
        with pytest.raises(ConnectionError):
            exchange([wire], [request("GET", "/", address)])
        wire.close()


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("bench")
    made = {name: str(folder / name) for name in ("ours", "floor")}
    for home in made.values():
        http_home.load(home, TASKS)
    return made


def changed(home: str, statement: str) -> None:
    connection = open_connection(scene.database(home), Patience(), 10.0)
    try:
        rows(connection, statement)
    finally:
        connection.close()


def look(homes: dict[str, str]) -> list[str]:
    return differences(homes["ours"], homes["floor"], http.NEWEST, http.VOLATILE)


@pytest.mark.slow
def test_a_home_holds_what_is_asked_for(homes: dict[str, str]):
    connection = open_connection(scene.database(homes["ours"]), Patience(), 10.0)
    try:
        counted: Any = dict(rows(connection, "SELECT status, count(*) FROM tasks GROUP BY status"))
        (mail,) = rows(connection, "SELECT min(seq), max(seq), count(*) FROM events WHERE type = 'message'")
    finally:
        connection.close()
    assert counted == {"in_progress": http_home.AGENTS, "pending": TASKS - http_home.AGENTS}
    begins = http_home.mail_begins(homes["ours"])
    assert begins[0] == mail[0] - 1
    assert begins[-1] == mail[1] - http_home.MAIL


def test_equal_rows_show_no_difference_and_one_that_was_left_out_does(homes: dict[str, str]):
    assert look(homes) == []
    changed(homes["floor"], f"UPDATE tasks SET why = 'else' WHERE n = {TASKS}")
    assert [each.partition(":")[0] for each in look(homes)] == ["tasks.why"]
    changed(homes["floor"], f"UPDATE tasks SET why = '' WHERE n = {TASKS}")
    changed(homes["floor"], "DELETE FROM reservations WHERE task = 'task-0003'")
    assert any("counts" in each for each in look(homes))


@pytest.mark.slow
def test_trimming_takes_away_what_a_round_made(tmp_path: Path):
    home = str(tmp_path / "home")
    http_home.load(home, TASKS)
    http_home.trim(home, TASKS - 5)
    connection = open_connection(scene.database(home), Patience(), 10.0)
    try:
        assert rows(connection, "SELECT max(n) FROM tasks") == [(TASKS - 5,)]
    finally:
        connection.close()
