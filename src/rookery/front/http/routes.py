"""Every route, once: the application and its description are drawn from this table."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope

from rookery.core import errors, tokens
from rookery.core.record import NamedTuple
from rookery.service import verbs

from . import bundles, hooks, openapi, resources, shapes, tasks, threads, usage
from .answer import json_answer, refusal
from .ask import Ask, read_body
from .daemon import Daemon
from .guard import GRANT, Guard
from .mcp import PATH, Mcp
from .shapes_guard import Verdict
from .shapes_team import DEFINITION

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
    verb: str = ""  # whose arguments the fields are, whose result is the answer, and what a token may
    fields: Mapping[str, str] = {}  # fields that the verb calls something else
    takes: Mapping[str, Any] = {}  # the types of those that are no argument of the verb
    needs: tuple[str, ...] = ()
    either: tuple[str, ...] = ()  # one of these
    answer: Any = None  # its shape, where that is not the verb's result
    kinds: tuple[str, ...] = ("application/json",)


AGENT = ("agentId", "teamId")
CALL = "/v1/call/{verb}"
JSON_OR_STREAM = ("application/json", "text/event-stream")


async def description(_ask: Ask) -> Any:
    return _document()


@cache
def _document() -> dict[str, Any]:
    return openapi.document(TABLE)


def _step(name: str, step: tasks.Step) -> Line:
    return Line(
        "POST", f"/v1/tasks/{{id}}/{name}", tasks.step(name), f"{name.capitalize()} a task",
        body=(*AGENT, *step.fields), verb=step.verb, fields=step.fields,
        answer=STEPPED.get(step.verb, shapes.TaskStepped),
        needs=tuple(field for field in step.needs if field != "agentId"),  # that may come by a header
    )  # fmt: skip


STEPPED = {"task.claim": shapes.Claimed, "task.renew": shapes.Claimed, "task.progress": shapes.ProgressStepped}
TABLE: tuple[Line, ...] = (
    Line("GET", "/healthz", resources.health, "Is a daemon here, and of which version", answer=shapes.Alive),
    Line("GET", "/openapi.json", description, "This description", answer=dict[str, Any]),
    Line("GET", "/metrics", resources.numbers, "Numbers for Prometheus", answer=str, kinds=("text/plain",)),
    Line("POST", CALL, resources.call, "Any verb, by its name"),
    Line("GET", "/v1/teams", resources.teams, "Every team of this store", verb="team.list"),
    Line("POST", "/v1/teams", resources.make_team, "Make a team, or change what it is", created=True, verb="team.new",
         body=("teamId", *DEFINITION), takes=DEFINITION, needs=("teamId",),
         answer=shapes.Team),
    Line("GET", "/v1/teams/{id}", resources.team, "A team and who belongs to it", verb="team.show"),
    Line("GET", "/v1/agents", resources.agents, "Everyone with an address", ("teamId",), verb="who"),
    Line("GET", "/v1/messages", resources.messages, "An agent's mail", (*AGENT, "after", "limit"), verb="inbox"),
    Line("POST", "/v1/messages", resources.send, "Send a message", body=(*AGENT, *resources.SEND), created=True,
         verb="send", needs=("to", "subject")),
    Line("GET", "/v1/tasks", tasks.listed, "Tasks", ("teamId", "status", "plan", "after", "limit"), verb="task.list"),
    Line("POST", "/v1/tasks", tasks.create, "Add a task", body=(*AGENT, *tasks.CREATE), created=True,
         verb="task.add", fields=tasks.CREATE, needs=("title",), answer=shapes.Task),
    Line("GET", "/v1/tasks/{id}", tasks.show, "One task", ("teamId",), verb="task.show"),
    *(_step(name, step) for name, step in tasks.STEPS.items()),
    Line("GET", "/v1/inbox", threads.inbox, "What an agent should know of, after a cursor",
         (*AGENT, "since", "limit", "wait"), verb="notices"),
    Line("GET", "/v1/threads", threads.listed, "Discussions, newest first", ("teamId", "taskId", "limit"),
         verb="thread.list", fields={"taskId": "task"}),
    Line("POST", "/v1/threads", threads.start, "Start a discussion",
         body=(*AGENT, "title", "subject", "participants", "taskId", "tasks", "body"), created=True,
         verb="thread.new", fields={"subject": "title"}, takes={"taskId": str}, either=("title", "subject")),
    Line("GET", "/v1/threads/search", threads.search, "Find what was said", ("teamId", "q", "limit"),
         verb="thread.search", takes={"q": str}, needs=("q",)),
    Line("GET", "/v1/threads/{id}/messages", threads.messages, "What was said", ("teamId", "tail"),
         verb="thread.tail"),
    Line("POST", "/v1/threads/{id}/messages", threads.say, "Say something", body=(*AGENT, "body", "message", "to"),
         created=True, verb="thread.post", fields={"message": "body"}, either=("body", "message")),
    Line("GET", "/v1/threads/{id}/tail", threads.tail, "What was said last", ("teamId", "limit"), verb="thread.tail"),
    Line("POST", "/v1/threads/{id}/link", threads.link, "Tie a discussion to a task", body=(*AGENT, "taskId"),
         verb="thread.link", fields={"taskId": "task"}, needs=("taskId",)),
    Line("GET", "/v1/usage", usage.shown, "What was used, against what may be used", (*AGENT, "taskId", "limit"),
         verb="budget", fields={"taskId": "task"}),
    Line("POST", "/v1/usage", usage.report, "Tell what a model has used", body=(*AGENT, *usage.REPORT), created=True,
         verb="usage_report", fields=usage.REPORT),
    Line("GET", "/v1/reservations", resources.reservations, "Who has which paths, and who waits for them",
         ("teamId", "path", "holder", "limit"), verb="reservations", fields={"holder": "agent"},
         takes={"path": list[str]}),
    Line("GET", "/v1/slots", resources.slots, "Slots, who has them and who waits", ("teamId", "name"),
         verb="slot.list"),
    Line("GET", "/v1/workers", resources.workers, "Workers, and how they are", ("teamId", "limit"), verb="workers"),
    Line("GET", "/v1/workers/{id}", resources.worker, "Everything about one worker", ("teamId",), verb="worker.show"),
    Line("GET", "/v1/docket", resources.docket, "What needs the caller, in order", (*AGENT, "all", "limit"),
         verb="docket"),
    Line("GET", "/v1/cards", resources.card, "All that is needed to decide about one item", (*AGENT, "subject"),
         verb="card", needs=("subject",)),
    Line("POST", "/v1/verdicts", resources.verdict, "Decide about exactly what was looked at",
         body=(*AGENT, *resources.VERDICT), verb="verdict", fields=resources.VERDICT, needs=("subject", "action")),
    Line("GET", "/v1/decisions", resources.decisions, "What was decided, oldest first", ("teamId", "after", "limit"),
         verb="decisions"),
    Line("GET", "/v1/bundles", bundles.listed, "Bundles of evidence, newest first", ("teamId", "all", "limit"),
         verb="bundle.list", takes={"all": bool}),
    Line("POST", "/v1/bundles", bundles.save, "Save evidence as a bundle", body=(*AGENT, *bundles.SAVE), created=True,
         verb="bundle.save", fields=bundles.SAVE),
    Line("GET", "/v1/bundles/{id}", bundles.show, "All of a bundle", ("teamId",), verb="bundle.show"),
    Line("GET", "/v1/loaded", bundles.loaded, "What stands in an agent's context", AGENT, verb="loaded"),
    Line("POST", "/v1/hook/{host}", hooks.answered, "Answer a hook of an agent program, its event as the body",
         body=AGENT, answer=dict[str, Any]),
    Line("GET", "/v1/can-write", resources.can_write, "May an agent write this path", (*AGENT, "path"),
         takes={"path": str}, needs=("path",), answer=Verdict),
    Line("GET", "/v1/events", resources.events, "The ledger as a stream, or as JSON a page at a time",
         ("teamId", "after", "limit", "wait"), verb="events", kinds=JSON_OR_STREAM),
)  # fmt: skip


def application(daemon: Daemon, mcp: Mcp | None = None) -> ASGIApp:
    return Guard(Routes(daemon, mcp or Mcp(daemon)).answer, daemon)


class Routes:
    """Finds the line for a request. By hand: every path is a few words, one of which may stand for anything."""

    def __init__(self, daemon: Daemon, mcp: Mcp) -> None:
        self._daemon = daemon
        self._mcp = mcp  # a protocol of its own, that describes itself
        self._root = Place()
        for line in TABLE:
            here = self._root
            for word in line.path.split("/"):
                here = here.made(word)
            here.lines[line.method] = line

    async def answer(self, scope: Scope, receive: Receive) -> Response | None:
        """None when nobody waits for it any more."""
        if scope["path"] == PATH:
            return await self._tried(scope, PATH, self._mcp.answer(scope, receive))
        lines, params = self._found(scope["path"])
        if not lines:
            return refusal(errors.UnknownName("There is nothing here.", "GET /openapi.json", code="NOT_FOUND"))
        if scope["method"] not in lines:
            error = errors.BadInput("Not with this method.", "GET /openapi.json", code="BAD_METHOD", http=405)
            return refusal(error, {"Allow": ", ".join(lines)})
        line = lines[scope["method"]]
        return await self._tried(scope, line.path, self._acted(line, scope, receive, params))

    async def _acted(self, line: Line, scope: Scope, receive: Receive, params: dict[str, str]) -> Response:
        _refuse_early(line, scope, params)
        body = await read_body(scope, receive, self._daemon.body_limit) if line.method == "POST" else {}
        result = await line.act(Ask(self._daemon, scope, params, body))
        return result if isinstance(result, Response) else json_answer(result)

    async def _tried(self, scope: Scope, route: str, answering: Awaitable[Response]) -> Response | None:
        scope["rook.route"] = route
        try:
            return await answering
        except errors.RookError as error:
            return refusal(error)
        except ClientDisconnect:
            return None
        except Exception:  # a door: whatever went wrong, the caller gets an answer, and the log the reason
            log.exception("%s %s", scope["method"], route)
            return refusal(errors.RookError("Something broke in the daemon.", "Its log tells more.", code="INTERNAL"))

    def _found(self, path: str) -> tuple[Mapping[str, Line], dict[str, str]]:
        """The lines of a path by their methods, and what stood where anything may stand."""
        here, params = self._root, {}
        for word in path.split("/"):
            if (there := here.words.get(word)) is None:
                if not word or (there := here.anything) is None:
                    return {}, {}
                params[here.name] = word
            here = there
        return here.lines, params


def _refuse_early(line: Line, scope: Scope, params: Mapping[str, str]) -> None:
    """What a token can never do is refused before the body is read. (The verb's own transaction asks again.)"""
    grant = scope[GRANT]
    if grant is None:
        return
    verb = verbs.VERBS.get(params["verb"] if line.path == CALL else line.verb)
    if verb is not None:
        refused = tokens.refusal(grant, verb.name, writes=verb.writes, who=verb.who, by_token=verb.by_token)
    else:
        looks = line.method == "GET" or line.path == CALL
        refused = tokens.read_only() if grant.reads_only and not looks else None
    if refused is not None:
        raise refused


class Place:
    """Somewhere on the way along a path: what may come next, and what is here."""

    def __init__(self) -> None:
        self.words: dict[str, Place] = {}
        self.anything: Place | None = None
        self.name = ""  # what that is called
        self.lines: dict[str, Line] = {}

    def made(self, word: str) -> "Place":
        if not word.startswith("{"):
            return self.words.setdefault(word, Place())
        self.name = word[1:-1]
        self.anything = self.anything or Place()
        return self.anything
