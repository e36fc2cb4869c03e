"""The protocol's own suite against the daemon.

It knows no token, so its requests go through a passage that adds one. Most of its scenarios call tools, resources and
prompts that a server made for the suite would have; which those are, and what else we do not offer, is listed here, and
a scenario that is in neither list fails.
"""

import re
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest

from tests.support.doors import TOKEN, Running
from tests.tools import kit

pytestmark = pytest.mark.slow

SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
PASSED = (
    "server-initialize", "ping", "tools-list", "resources-list", "server-sse-multiple-streams",
    "dns-rebinding-protection",
)  # fmt: skip
NOT_OURS = {
    "they call a tool of the suite's own": (
        "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
        "tools-call-mixed-content", "tools-call-with-logging", "tools-call-error", "tools-call-with-progress",
        "tools-call-sampling", "tools-call-elicitation", "json-schema-2020-12", "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums", "server-sse-polling",
    ),
    "they use a resource of the suite's own": (
        "resources-read-text", "resources-read-binary", "resources-templates-read", "resources-subscribe",
        "resources-unsubscribe",
    ),
    "we have no prompts, and offer neither logging nor completion": (
        "prompts-list", "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource",
        "prompts-get-with-image", "logging-set-level", "completion-complete",
    ),
}  # fmt: skip


@contextmanager
def passage(to: str, token: str) -> Generator[str]:
    """Adds a token to each request, and is otherwise not there: one request per connection, bytes as they come."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener, to, token), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        listener.shutdown(socket.SHUT_RDWR)


def accept(listener: socket.socket, to: str, token: str) -> None:
    with suppress(OSError):
        while True:
            client = listener.accept()[0]
            threading.Thread(target=pass_on, args=(client, to, token), daemon=True).start()


def pass_on(client: socket.socket, to: str, token: str) -> None:
    host, port = to.split(":")
    with client, socket.create_connection((host, int(port))) as server, suppress(OSError):
        head = client.recv(65536)
        while head and b"\r\n\r\n" not in head:
            head += client.recv(65536)
        line, _, rest = re.sub(rb"(?i)\bconnection: keep-alive\r\n", b"", head).partition(b"\r\n")
        server.sendall(b"\r\n".join((line, b"Authorization: Bearer " + token.encode(), b"Connection: close", rest)))
        threading.Thread(target=carry, args=(client, server), daemon=True).start()
        carry(server, client)


def carry(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def run(daemon: Running, scenario: str, token: str = TOKEN) -> tuple[int, str]:
    with passage(daemon.door.address, token) as url:
        done = kit.node(SUITE, "server", "--url", url, "--scenario", scenario)
    return done.returncode, done.stdout + done.stderr


def test_every_scenario_is_run_or_said_not_to_be_ours() -> None:
    done = kit.node(SUITE, "list", "--server")
    known = re.findall(r"^  - (\S+)", done.stdout, re.MULTILINE)
    assert sorted(known) == sorted([*PASSED, *(name for names in NOT_OURS.values() for name in names)]), done.stderr


@pytest.mark.parametrize("scenario", PASSED)
def test_the_suite_is_content(daemon: Running, scenario: str) -> None:
    code, told = run(daemon, scenario)
    assert code == 0, told
    passed = re.search(r"Passed: (\d+)/(\d+), 0 failed", told)
    assert passed, told
    assert int(passed[1]) == int(passed[2]) > 0, told


def test_the_suite_can_be_discontent(daemon: Running) -> None:
    assert run(daemon, "ping", "another token")[0] != 0
    assert run(daemon, "resources-subscribe")[0] != 0
