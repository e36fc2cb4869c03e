"""The floor of the daemon: a plain starlette application, run as `python -m bench.http_floor HOME`.

A handler reads its request and commits the rows that the same request makes ours commit, or runs the SELECT that ours
runs, and answers with what it knows from that. Server, settings, schema, statements and durability are those of ours.
What it leaves out is what a daemon does besides: who calls and with what right, the law, the bell, the numbers.
"""

import asyncio
import json
import socket
import sys
import time
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rookery.core import patterns
from rookery.front.http.serve import SETTINGS
from rookery.store import queries
from rookery.store.opening import Patience, open_connection, rows

from . import scene

WAIT_S = 60.0
TTL_MS = 300_000
NOTICE = ("seq", "at", "type", "actor", "target", "ref", "preview", "data", "got", "thread", "body", "content")
DONE = {"summary": "", "evidence": {"commits": [], "tests": [], "prs": [], "notes": []}, "epoch": 1}


def _told(agent: str, status: str, more: str = "") -> str:
    """What the log says of a task: whom it concerns, here always one, and how it stands."""
    return f'{{{more}"for":["{agent}"],"status":"{status}"}}'


CALLER = '{"pid":4711,"token":"daemon"}'  # what the daemon writes of a request with its own token; the pid differs


class Rows:
    """What the verbs write and read, by apsw and nothing else."""

    def __init__(self, home: str) -> None:
        self._patience = Patience()
        self._connection = open_connection(scene.database(home), self._patience, WAIT_S)
        self._execute: Any = self._connection.execute
        self._sql = queries.load("sqlite")
        self._agents = dict(rows(self._connection, "SELECT name, id FROM agents"))
        self._team, self._seq = rows(self._connection, "SELECT id, seq FROM teams")[0]

    # -- writes ------------------------------------------------------------------------------------------------

    def create(self, title: str, resources: list[str], by: str) -> str:
        now = self._begin()
        n = self._all("raise_counter", name="task")[0][0]
        id = f"task-{n:04d}"
        self._all(
            "new_task", n=n, id=id, title=title, status="pending", priority=2, rank=1, plan=None, kind="", milestone=0,
            assignee=None, created_by=self._agents[by], review="", now=now, at=now, max_tokens=None,
            resources=json.dumps(resources), description="", spec="", why="",
        )  # fmt: skip
        self._event("task.created", by, id, title, _told(by, "pending"), now)
        self._commit(now)
        return id

    def claim(self, id: str, agent: str) -> int:
        now = self._begin()
        title, written = self._execute("SELECT title, resources FROM tasks WHERE team = ? AND id = ?",
                                       (self._team, id)).fetchall()[0]  # fmt: skip
        self._all("claim_task", id=id, epoch=0, holder=self._agents[agent], session=None, ttl_ms=TTL_MS, at=now,
                  now=now)  # fmt: skip
        self._all("drop_task_reservations", task=id)
        for n, pattern in enumerate(json.loads(written)):
            self._all(
                "new_reservation", id=f"{id}.1.{n}", kind="path", state="held", request="", turn=0, pattern=pattern,
                root=pattern.rstrip("/"), mode="exclusive", agent=self._agents[agent], session=None, task=id, epoch=1,
                reason=title, now=now, at=now, expires_at=now + TTL_MS, ttl_ms=0, bound=0, tree="", keeper_pid=None,
                keeper_started="", keeper_boot="", keeper_host="",
            )  # fmt: skip
        self._event("task.start", agent, id, title, _told(agent, "in_progress", '"epoch":1,'), now)
        self._commit(now)
        return now + TTL_MS

    def complete(self, id: str, agent: str) -> None:
        now = self._begin()
        title = self._execute("SELECT title FROM tasks WHERE team = ? AND id = ?", (self._team, id)).fetchall()[0][0]
        self._all(
            "end_task", id=id, epoch=1, holder=self._agents[agent], status="completed", ended=now, now=now,
            result=json.dumps(DONE), why="", review="", author=self._agents[agent],
        )  # fmt: skip
        self._all("drop_task_reservations", task=id)
        self._event("task.done", agent, id, title, _told(agent, "completed", '"review":"",'), now)
        self._commit(now)

    def _begin(self) -> int:
        self._patience.write_until = time.monotonic() + WAIT_S
        self._execute("BEGIN IMMEDIATE").fetchall()
        return time.time_ns() // 1_000_000

    def _event(self, kind: str, actor: str, ref: str, preview: str, data: str, at: int) -> None:
        self._seq += 1
        self._all("append_event", seq=self._seq, at=at, type=kind, actor=actor, target="", ref=ref, preview=preview,
                  data=data, caller=CALLER)  # fmt: skip

    def _commit(self, now: int) -> None:
        self._all("store_save_team", seq=self._seq, now=now)
        self._execute("COMMIT").fetchall()

    # -- reads -------------------------------------------------------------------------------------------------

    def near(self, path: str, agent: str) -> list[tuple[Any, ...]]:
        """What others have reserved on the way to a path."""
        return [row for above in patterns.lineage(path) for row in self._all("reservations_at", root=above)]

    def mail_after(self, cursor: int, limit: int, agent: str) -> list[dict[str, Any]]:
        events = self._all("notices_after", agent=self._agents[agent], cursor=cursor, limit=limit)
        return [dict(zip(NOTICE, event, strict=True)) for event in events]

    def _all(self, query: str, /, **params: Any) -> list[tuple[Any, ...]]:
        params["team"] = self._team
        return self._execute(self._sql[query], params).fetchall()


def application(written: Rows) -> Starlette:
    async def create(request: Request) -> Response:
        body = await request.json()
        id = written.create(body["title"], body["resources"], body["agentId"])
        return JSONResponse({"task": {"id": id, "title": body["title"], "status": "pending"}}, 201)

    async def claim(request: Request) -> Response:
        id, body = request.path_params["id"], await request.json()
        until = written.claim(id, body["agentId"])
        return JSONResponse({"taskId": id, "lease": {"holder": body["agentId"], "epoch": 1, "expiresAt": until}})

    async def complete(request: Request) -> Response:
        id, body = request.path_params["id"], await request.json()
        written.complete(id, body["agentId"])
        return JSONResponse({"taskId": id, "task": {"status": "completed"}})

    async def can_write(request: Request) -> Response:
        asked = request.query_params
        return JSONResponse({"allow": not written.near(asked["path"], asked["agentId"])})

    async def inbox(request: Request) -> Response:
        asked = request.query_params
        events = written.mail_after(int(asked["since"]), int(asked["limit"]), asked["agentId"])
        return JSONResponse({"events": events, "nextSince": events[-1]["seq"] if events else 0})

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    return Starlette(routes=[
        Route("/healthz", health),
        Route("/v1/tasks", create, methods=["POST"]),
        Route("/v1/tasks/{id}/claim", claim, methods=["POST"]),
        Route("/v1/tasks/{id}/complete", complete, methods=["POST"]),
        Route("/v1/can-write", can_write),
        Route("/v1/inbox", inbox),
    ])  # fmt: skip


def main(home: str) -> None:
    listener = socket.socket(
        socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # said so: or asyncio leaves Nagle on
    listener.bind(("127.0.0.1", 0))
    listener.listen(SETTINGS["backlog"])
    server = uvicorn.Server(uvicorn.Config(application(Rows(home)), **SETTINGS, timeout_keep_alive=75))
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}), flush=True)
    asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main(sys.argv[1])
