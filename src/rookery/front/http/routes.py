"""Every route, once: the application and its description are drawn from this table."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from rookery.core import errors

from . import openapi, resources, tasks, threads
from .answer import json_answer, refusal
from .ask import Ask, read_body
from .daemon import Daemon
from .guard import Guard

log = logging.getLogger("rookery.http")

Act = Callable[[Ask], Awaitable[Any]]


class Line(NamedTuple):
    method: str
    path: str
    act: Act
    help: str
    query: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    created: bool = False  # answers 201 for what is new


AGENT = ("agentId", "teamId")


async def description(_ask: Ask) -> Any:
    return openapi.document(TABLE)


TABLE: tuple[Line, ...] = (
    Line("GET", "/healthz", resources.health, "Is a daemon here, and of which version"),
    Line("GET", "/openapi.json", description, "This description"),
    Line("GET", "/metrics", resources.numbers, "Numbers for Prometheus"),
    Line("POST", "/v1/call/{verb}", resources.call, "Any verb, by its name"),
    Line("GET", "/v1/teams", resources.teams, "Every team of this store"),
    Line("POST", "/v1/teams", resources.make_team, "Make a team", body=("teamId", "agents"), created=True),
    Line("GET", "/v1/teams/{id}", resources.team, "A team and who belongs to it"),
    Line("GET", "/v1/agents", resources.agents, "Everyone with an address", ("teamId",)),
    Line("GET", "/v1/messages", resources.messages, "An agent's mail", (*AGENT, "after", "limit")),
    Line("POST", "/v1/messages", resources.send, "Send a message", body=(*AGENT, "to", "subject", "body"),
         created=True),
    Line("GET", "/v1/tasks", tasks.listed, "Tasks", ("teamId", "status", "plan", "after", "limit")),
    Line("POST", "/v1/tasks", tasks.create, "Add a task", body=(*AGENT, *tasks.CREATE), created=True),
    Line("GET", "/v1/tasks/{id}", tasks.show, "One task", ("teamId",)),
    *(
        Line("POST", f"/v1/tasks/{{id}}/{name}", tasks.step(name), f"{name.capitalize()} a task",
             body=(*AGENT, *step.fields))
        for name, step in tasks.STEPS.items()
    ),
    Line("GET", "/v1/inbox", threads.inbox, "What an agent should know of, after a cursor",
         (*AGENT, "since", "limit", "wait")),
    Line("GET", "/v1/threads", threads.listed, "Discussions, newest first", ("teamId", "taskId", "limit")),
    Line("POST", "/v1/threads", threads.start, "Start a discussion",
         body=(*AGENT, "title", "participants", "taskId", "tasks", "body"), created=True),
    Line("GET", "/v1/threads/search", threads.search, "Find what was said", ("teamId", "q", "limit")),
    Line("GET", "/v1/threads/{id}/messages", threads.messages, "What was said", ("teamId", "tail")),
    Line("POST", "/v1/threads/{id}/messages", threads.say, "Say something", body=(*AGENT, "body", "message", "to"),
         created=True),
    Line("GET", "/v1/threads/{id}/tail", threads.tail, "What was said last", ("teamId", "limit")),
    Line("POST", "/v1/threads/{id}/link", threads.link, "Tie a discussion to a task", body=(*AGENT, "taskId")),
    Line("GET", "/v1/reservations", resources.reservations, "Who has which paths, and who waits for them",
         ("teamId", "path", "holder", "limit")),
    Line("GET", "/v1/slots", resources.slots, "Slots, who has them and who waits", ("teamId", "name")),
    Line("GET", "/v1/can-write", resources.can_write, "May an agent write this path", (*AGENT, "path")),
    Line("GET", "/v1/events", resources.events, "The ledger as a stream, or as JSON a page at a time",
         ("teamId", "after", "limit", "wait")),
)  # fmt: skip


def application(daemon: Daemon) -> ASGIApp:
    routes = [_route(daemon, line) for line in TABLE]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _not_found})
    app.router.redirect_slashes = False
    return Guard(app, daemon)


def _route(daemon: Daemon, line: Line) -> Route:
    route = Route(line.path, _endpoint(daemon, line), methods=[line.method])
    route.methods = {line.method}  # without HEAD, which would keep a stream running that nobody reads
    return route


def _endpoint(daemon: Daemon, line: Line) -> Callable[[Request], Awaitable[Response]]:
    async def answered(request: Request) -> Response:
        request.scope["rook.route"] = line.path
        try:
            body = await read_body(request, daemon.body_limit) if line.method == "POST" else {}
            result = await line.act(Ask(daemon, request, body))
        except errors.RookError as error:
            return refusal(error)
        except Exception:  # a door: whatever went wrong, the caller gets an answer, and the log the reason
            log.exception("%s %s", line.method, line.path)
            return refusal(errors.RookError("Something broke in the daemon.", "Its log tells more.", code="INTERNAL"))
        return result if isinstance(result, Response) else json_answer(result)

    return answered


def _not_found(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 405:
        return refusal(errors.BadInput("Not with this method.", "GET /openapi.json", code="BAD_METHOD", http=405))
    return refusal(errors.UnknownName("There is nothing here.", "GET /openapi.json", code="NOT_FOUND", http=status))
