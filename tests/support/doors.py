"""A real daemon in a process of its own, and a plain client that lets a test say exactly what is sent."""

import http.client
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.procs import PATIENCE_S, ROOT
from tests.support.stores import prepared_home

TOKEN = "a-token-of-the-tests"


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Nothing of the person who runs the tests; the code of this very tree."""
    return {
        "PATH": os.environ["PATH"], "HOME": str(folder), "ROOK_HOME": str(folder / "rook"), "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))), "PYTHONWARNINGS": "error",
        "ROOK_DAEMON_SWEEP_S": "0.2", "ROOK_DAEMON_BODY_LIMIT": "200000", **more,
    }  # fmt: skip


class Answer(NamedTuple):
    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def code(self) -> str:
        return self.body["error"]["code"]


class Door:
    """Requests to a daemon, for one team."""

    def __init__(self, url: str, token: str | None, team: str = "", home: str = "") -> None:
        self.url = url
        self.address = url.removeprefix("http://")
        self.home = home  # of the daemon
        self._token = token
        self._team = team

    def of(self, team: str) -> "Door":
        return Door(self.url, self._token, team, self.home)

    def having(self, token: str) -> "Door":
        """The same with another token."""
        return Door(self.url, token, self._team, self.home)

    @cached_property
    def operator(self) -> "Door":
        """The same with an operator's token, as the user makes one on the daemon's machine."""
        from rookery import app

        house = app.open_house(cwd="/", environ={"ROOK_HOME": self.home}, team=self._team)
        try:
            made = house.client.call("token.new", {"role": "operator"}, house.caller())
        finally:
            house.close()
        return self.having(made["token"])

    def raw(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}) -> Answer:
        sent = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE_S)
        try:
            connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
            for name, value in {**sent, "Content-Length": str(len(body or b"")), **headers}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            data = answer.read()
            kind = answer.getheader("Content-Type", "")
            told = json.loads(data) if kind == "application/json" and data else data.decode()
            return Answer(answer.status, told, {name.lower(): value for name, value in answer.getheaders()})
        finally:
            connection.close()

    def get(self, path: str, /, **query: Any) -> Answer:
        from urllib.parse import urlencode

        asked = {"teamId": self._team, **query} if self._team else query
        return self.raw("GET", path + (f"?{urlencode(asked)}" if asked else ""), headers={"Accept": "application/json"})

    def post(self, path: str, headers: Mapping[str, str] = {}, /, **body: Any) -> Answer:
        told = {"teamId": self._team, **body} if self._team else body
        return self.raw("POST", path, json.dumps(told).encode(), {"Content-Type": "application/json", **headers})

    def task(self, title: str = "work", **more: Any) -> str:
        made = self.post("/v1/tasks", title=title, **more)
        assert made.status == 201, made
        return made.body["task"]["id"]

    def claim(self, id: str, agent: str = "ada", **more: Any) -> int:
        claimed = self.post(f"/v1/tasks/{id}/claim", agentId=agent, **more)
        assert claimed.status == 200, claimed
        return claimed.body["lease"]["epoch"]


class Running:
    """`rook up` as a person or a program starts it."""

    def __init__(
        self,
        folder: Path,
        *flags: str,
        token: str = TOKEN,
        program: str = "rookery",
        before: Sequence[str] = (),
        **environ: str,
    ) -> None:
        """`before` is a command that runs its arguments."""
        self.environ = environment(folder, **environ)
        if "--workspace-root" not in flags:
            prepared_home(self.environ["ROOK_HOME"])
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", program, "up", "--port", "0", "--json", "--token", token, *flags],
            env=self.environ, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.told: dict[str, Any] = json.loads(self._line() or "{}")
        self.door = Door(self.told.get("url", ""), token, home=self.environ["ROOK_HOME"])

    def _line(self) -> bytes:
        assert self.process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            assert selector.select(PATIENCE_S), "the daemon says nothing"
        return self.process.stdout.readline()

    def wait(self) -> int:
        return self.process.wait(PATIENCE_S)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """(exit code, what it complained of)."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            _, complaints = self.process.communicate(timeout=2 * PATIENCE_S)  # workers have 45 s of it
        finally:
            self.process.kill()
        return self.process.returncode, complaints.decode()


@contextmanager
def running(folder: Path, *flags: str, **more: Any) -> Generator[Running]:
    folder.mkdir(parents=True, exist_ok=True)
    started = Running(folder, *flags, **more)
    try:
        yield started
    finally:
        started.stop()
