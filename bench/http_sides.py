"""The two daemons that are compared, each in a process of its own, and the requests both are sent."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from . import http_home
from .helper import Helper
from .http_load import Answered, Wire, exchange, request
from .scene import Scene
from .start import ROOK

TOKEN = "a-token-of-the-bench"
WRITES = ("create", "claim", "complete")
VERBS = (*WRITES, "can-write", "inbox")
REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Running:
    """A daemon, from the moment it was started; `ready_s` until it had answered a request."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        began = time.monotonic()
        self._process = subprocess.Popen(
            command, env=environment, cwd=environment["HOME"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(command)} ended with {self._process.wait()}")
        self.address: str = json.loads(line)["url"].removeprefix("http://")
        wire = Wire(self.address)
        answered = exchange([wire], [request("GET", "/healthz", self.address)]).answers
        self.ready_s = time.monotonic() - began
        wire.close()
        if answered[0][0] != 200:
            raise RuntimeError(f"not well: {answered}")

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate()


@contextmanager
def ours(place: Scene, home: str, *, descriptors: int = 0, **settings: str) -> Generator[Running]:
    """Our daemon; with `descriptors` it may have so many open, and no more."""
    limited = ["/bin/sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh"] if descriptors else []
    command = [*limited, ROOK, "up", "--port", "0", "--json", "--token", TOKEN]
    running = Running(command, place.environment(home) | settings)
    try:
        yield running
    finally:
        running.stop()


@contextmanager
def floor(place: Scene, home: str) -> Generator[Running]:
    environment = place.environment(home) | {"PYTHONPATH": REPOSITORY}
    running = Running([sys.executable, "-m", "bench.http_floor", home], environment)
    try:
        yield running
    finally:
        running.stop()


class Side:
    """Makes the requests of a round, and keeps the ids of the tasks it is about."""

    def __init__(self, address: str, home: str, tasks: int) -> None:
        self.address = address
        self.home = home
        self._tasks = tasks
        self._since = http_home.mail_begins(home)
        self._made = tasks
        self._ids: list[str] = []

    def round(self, load: Helper, verb: str, connections: int, calls: int) -> Answered:
        load.tell((self.address, connections, [self._request(verb, number) for number in range(calls)]))
        answered: Answered = load.hear()
        wanted = 201 if verb == "create" else 200
        if wrong := [answer for answer in answered.answers if answer[0] != wanted]:
            raise AssertionError(f"{verb} was answered with {wrong[0]}")
        if verb == "create":
            self._ids = [json.loads(body)["task"]["id"] for _, body in answered.answers]
            self._made += calls
        return answered

    def trim(self) -> None:
        http_home.trim(self.home, self._tasks)

    def _request(self, verb: str, number: int) -> bytes:
        agent = http_home.agent(number)
        if verb == "create":
            part = self._made + number
            return self._post("/v1/tasks", agentId=agent, title=f"Part {part}", resources=[f"src/part-{part}/"])
        if verb == "claim":
            return self._post(f"/v1/tasks/{self._ids[number]}/claim", agentId=agent)
        if verb == "complete":
            return self._post(f"/v1/tasks/{self._ids[number]}/complete", agentId=agent, epoch=1)
        if verb == "can-write":
            return self._get("/v1/can-write", agentId=agent, path=f"src/part-{number}/parser.py")
        since = self._since[number % len(self._since)]
        return self._get("/v1/inbox", agentId=agent, since=since, limit=http_home.MAIL)

    def _post(self, path: str, /, **body: Any) -> bytes:
        return request("POST", path, self.address, {"Authorization": f"Bearer {TOKEN}"}, json.dumps(body).encode())

    def _get(self, path: str, /, **query: Any) -> bytes:
        return request("GET", f"{path}?{urlencode(query)}", self.address, {"Authorization": f"Bearer {TOKEN}"})
