"""What a daemon under mixed load takes in memory, in the last tenth of the time against the second one."""

import json
import time
from itertools import count
from typing import Any

from . import http_home
from .daemon import resident_mib
from .helper import Helper
from .http_load import Wire, exchange, request
from .http_sides import TOKEN, Running, ours
from .report import Row, Section, at_most
from .scene import Scene
from .sizes import Sizes
from .timing import median

TASKS = 100
ROUNDS_S = 0.05  # a round of requests begins this often
STREAMED = 20  # so often in a round of rounds somebody reads a part of the ledger and leaves
LOOKS = 200
STEADY = at_most(1.2)
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
MCP = {**AUTHORIZED, "Accept": "application/json, text/event-stream"}
VERSION = "2025-11-25"
OPEN = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def measure(place: Scene, sizes: Sizes) -> Section:
    """An abandoned session ends after half of the time, as it does in ten minutes with the usual settings."""
    home = place.home("memory")
    http_home.load(home, TASKS)
    with ours(place, home, ROOK_MCP_UNJOINED_S=str(sizes.memory_s / 2)) as running, Helper(mix) as load:
        load.hear()
        load.tell((running.address, sizes.memory_s, sizes.memory_sessions))
        load.hear()
        samples = _watch(running, sizes.memory_s)
        done = load.hear()
    tenth = len(samples) // 10
    note = f"{done['requests']:,} requests and {done['sessions']} MCP sessions in {sizes.memory_s:g} s."
    return Section("Memory under mixed load", "second tenth", [
        Row("resident memory, last tenth", median(samples[-tenth:]), median(samples[tenth : 2 * tenth]), "MiB", STEADY,
            note),
        Row("resident memory, most of all", max(samples), median(samples[tenth : 2 * tenth]), "MiB", None, note),
    ])  # fmt: skip


def _watch(running: Running, seconds: float) -> list[float]:
    """Resident memory, at even intervals of the given time."""
    samples: list[float] = []
    for _ in range(LOOKS):
        time.sleep(seconds / LOOKS)
        samples.append(resident_mib(running))
    return samples


def mix(pipe: Any) -> None:
    """A process of its own: told (address, seconds, MCP sessions), asks all sorts of things for so long, and tells how
    many. Says when it has asked each of them once, which loads what the daemon loads when it is first needed."""
    pipe.send("ready")
    address, seconds, sessions = pipe.recv()
    clients = Mixed(address)
    clients.work(0)
    clients.read_and_leave()
    clients.speak_mcp()
    pipe.send("warm")
    began = time.monotonic()
    for number in count(1):
        passed = time.monotonic() - began
        if passed >= seconds:
            break
        clients.work(number)
        if number % STREAMED == 0:
            clients.read_and_leave()
        while clients.sessions < sessions * passed / seconds:
            clients.speak_mcp()
        time.sleep(max(0.0, ROUNDS_S - (time.monotonic() - began - passed)))
    pipe.send({"requests": clients.requests, "sessions": clients.sessions})


class Mixed:
    """Many kinds of clients in one."""

    def __init__(self, address: str) -> None:
        self.requests = 0
        self.sessions = 0
        self._address = address
        self._wire = Wire(address)

    def work(self, number: int) -> None:
        """A task from its creation to its end, mail, and what agents look at."""
        agent, other = http_home.agent(number), http_home.agent(number + 1)
        made = self._post("/v1/tasks", agentId=agent, title=f"Part {number}", resources=[f"src/mixed-{number}/"])
        id = made["task"]["id"]
        self._post(f"/v1/tasks/{id}/claim", agentId=agent)
        self._post("/v1/messages", agentId=agent, to=[other], subject=f"Part {number}", body="Have a look. " * 20)
        self._ask("GET", f"/v1/inbox?agentId={other}&since=0&limit=20")
        self._ask("GET", f"/v1/can-write?agentId={agent}&path=src/mixed-{number}/x.py")
        self._post(f"/v1/tasks/{id}/complete", agentId=agent, epoch=1)
        self._ask("GET", "/v1/events?after=0&limit=500", Accept="application/json")

    def read_and_leave(self) -> None:
        """A new connection that goes while its stream of events is under way."""
        wire = Wire(self._address)
        wire.send(0, request("GET", "/v1/events?after=0", self._address, {**AUTHORIZED, "Accept": "text/event-stream"}))
        wire.receive()
        wire.close()
        self.requests += 1

    def speak_mcp(self) -> None:
        """A session on a connection of its own; every second one ends without a word."""
        wire = Wire(self._address)
        head, _ = self._rpc(wire, {}, "initialize", OPEN)
        session = {"mcp-session-id": _header(head, b"mcp-session-id"), "mcp-protocol-version": VERSION}
        self._rpc(wire, session, "tools/list", {})
        self._rpc(wire, session, "tools/call", {"name": "who", "arguments": {}})
        self.sessions += 1
        if self.sessions % 2:
            self._exchanged(wire, request("DELETE", "/mcp", self._address, MCP | session))
        wire.close()

    def _rpc(self, wire: Wire, session: dict[str, str], method: str, params: dict[str, Any]) -> tuple[bytes, bytes]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        return self._exchanged(wire, request("POST", "/mcp", self._address, MCP | session, body))

    def _post(self, path: str, /, **body: Any) -> Any:
        return json.loads(self._exchanged(self._wire, self._written("POST", path, json.dumps(body).encode()))[1])

    def _ask(self, method: str, path: str, **headers: str) -> None:
        self._exchanged(self._wire, self._written(method, path, None, headers))

    def _written(self, method: str, path: str, body: bytes | None, headers: dict[str, str] | None = None) -> bytes:
        return request(method, path, self._address, AUTHORIZED | (headers or {}), body)

    def _exchanged(self, wire: Wire, asked: bytes) -> tuple[bytes, bytes]:
        """Head and body of the answer, which has to be a good one."""
        status, body = exchange([wire], [asked]).answers[0]
        self.requests += 1
        if not 200 <= status < 300:
            raise AssertionError(f"{asked[:60]!r} was answered with {status} {body[:200]!r}")
        return wire.head, body


def _header(head: bytes, name: bytes) -> str:
    _, _, rest = head.lower().partition(b"\r\n" + name + b":")
    return rest.partition(b"\r\n")[0].strip().decode()
