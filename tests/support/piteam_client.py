"""A small client as pi-team's extension is one: it finds the daemon by its runtime.json, polls its inbox with the
cursor it was given last, and claims what is pending.

Written from the contract's table. Like the extension it takes a cursor only if that is a text: a number is taken for
none, and the next poll starts over.
"""

import json
import threading
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit


class Refused(Exception):
    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"{status} {code}")
        self.status, self.code = status, code


class Client:
    def __init__(self, runtime: Path, team: str, agent: str) -> None:
        told = json.loads(runtime.read_text())
        self.team, self.agent = team, agent
        self._address, self._token = urlsplit(told["url"]).netloc, told["token"]
        self._since: str | None = None
        self.seen: list[dict[str, Any]] = []
        self.ended: list[str] = []

    def ask(self, method: str, path: str, query: Mapping[str, Any] = {}, body: dict[str, Any] | None = None) -> Any:
        given = {name: value for name, value in query.items() if value is not None}
        headers = {"Authorization": f"Bearer {self._token}"} | ({"Content-Type": "application/json"} if body else {})
        connection = HTTPConnection(self._address, timeout=60)
        try:
            where = path + (f"?{urlencode(given)}" if given else "")
            connection.request(method, where, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            told = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status >= 400:
            raise Refused(answer.status, told["error"]["code"])
        return told

    # -- the inbox -------------------------------------------------------------------------------------------------

    def poll(self) -> list[dict[str, Any]]:
        query = {"teamId": self.team, "agentId": self.agent, "since": self._since}
        told = self.read_cursor(self.ask("GET", "/v1/inbox", query))
        self.seen += told["events"]
        return told["events"]

    def read_cursor(self, told: dict[str, Any]) -> dict[str, Any]:
        self._since = told["nextSince"] if isinstance(told["nextSince"], str) and told["nextSince"] else None
        return told

    # -- tasks -----------------------------------------------------------------------------------------------------

    def create(self, title: str, **more: Any) -> str:
        return self.ask("POST", "/v1/tasks", body={"teamId": self.team, "title": title, **more})["task"]["id"]

    def tasks(self) -> list[dict[str, Any]]:
        return self.ask("GET", "/v1/tasks", {"teamId": self.team})["tasks"]

    def step(self, id: str, name: str, **more: Any) -> Any:
        body = {"teamId": self.team, "agentId": self.agent, **more}
        return self.ask("POST", f"/v1/tasks/{quote(id, safe='')}/{name}", body=body)

    def work(self, mine: Callable[[dict[str, Any]], bool]) -> bool:
        """Claim the first task of `mine` that is pending, write under its lease, and complete it; False: none was."""
        for task in self.tasks():
            if not mine(task) or task["status"] != "pending":
                continue
            try:
                lease = self.step(task["id"], "claim", ttlMs=60_000)["lease"]
            except Refused as error:
                if error.code != "TASK_NOT_CLAIMABLE":
                    raise
                continue  # the other was faster
            query = {"teamId": self.team, "agentId": self.agent, "path": task["resources"][0] + "x"}
            assert self.ask("GET", "/v1/can-write", query)["allow"] is True
            self.step(task["id"], "complete", epoch=lease["epoch"])
            self.ended.append(task["id"])
            return True
        return False


class Forgetful(Client):
    """The same client with a server that answers a number: what the string in the contract is for."""

    def read_cursor(self, told: dict[str, Any]) -> dict[str, Any]:
        return super().read_cursor(told | {"nextSince": int(told["nextSince"])})


def work_together(clients: list[Client], ids: list[str]) -> None:
    """Each in a thread of its own, until all tasks are ended; polling between any two."""
    broken: list[BaseException] = []

    def run(client: Client) -> None:
        try:
            while any(task["status"] != "completed" for task in client.tasks() if task["id"] in ids):
                client.poll()
                client.work(lambda task: task["id"] in ids)
            client.poll()
        except BaseException as error:  # told to the test, whose thread this is not
            broken.append(error)

    threads = [threading.Thread(target=run, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broken:
        raise broken[0]
