"""Every route, once: the application and its description are drawn from this table."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope

from rookery.core import authority, errors, tokens
from rookery.core.caller import Caller
from rookery.core.record import NamedTuple
from rookery.service import verbs
from rookery.service.tx import Attempt

from . import bundles, event_stream, hooks, openapi, piteam, resources, shapes, tasks, threads, usage
from .answer import json_answer, refusal
from .ask import Ask, read_body
from .daemon import Daemon
from .guard import GRANT, Guard
from .mcp import PATH, Mcp
from .shapes_guard import WriteAnswer
from .shapes_team import DEFINITION, TeamShown, TeamsShown

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
    invalid: str | None = None  # in the pi-team contract: the route's code for what makes no sense, "" if it has none


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
        takes={"epoch": Any, "ttlMs": float} if step.contract else {},  # whatever is no epoch matches none
        answer=STEPPED.get(step.verb, shapes.TaskStepped), invalid="" if step.contract else None,
        needs=tuple(field for field in step.needs if field != "agentId"),  # that may come by a header
    )  # fmt: skip


STEPPED = {"task.claim": shapes.Claimed, "task.renew": shapes.Claimed, "task.progress": shapes.ProgressStepped,
           "task.done": shapes.TaskEnded, "task.fail": shapes.TaskEnded}  # fmt: skip
TABLE: tuple[Line, ...] = (
    Line("GET", "/healthz", resources.health, "Is a daemon here, and of which version", answer=shapes.Alive),
    Line("GET", "/openapi.json", description, "This description", answer=dict[str, Any]),
    Line("GET", "/metrics", resources.numbers, "Numbers for Prometheus", answer=str, kinds=("text/plain",)),
    Line("GET", "/v1/services", resources.services, "How the background services of this daemon are",
         answer=shapes.Services),
    Line("POST", CALL, resources.call, "Any verb, by its name"),
    Line("GET", "/v1/teams", resources.teams, "Every team of this store", verb="team.list", answer=TeamsShown,
         invalid=""),
    Line("POST", "/v1/teams", resources.make_team, "Make a team, or change what it is", created=True, verb="team.new",
         body=("teamId", *DEFINITION), takes=DEFINITION, answer=TeamShown, invalid=""),
    Line("GET", "/v1/teams/{id}", resources.team, "A team and who belongs to it", verb="team.show",
         answer=TeamShown, invalid=""),
    Line("GET", "/v1/agents", resources.agents, "Everyone with an address", ("teamId",), verb="who"),
    Line("GET", "/v1/messages", resources.messages, "An agent's mail", (*AGENT, "after", "limit"), verb="inbox"),
    Line("POST", "/v1/messages", resources.send, "Send a message", body=(*AGENT, *resources.SEND), created=True,
         verb="send", needs=("to", "subject")),
    Line("GET", "/v1/tasks", tasks.listed, "Tasks", ("teamId", "status", "plan", "after", "limit"), verb="task.list",
         answer=shapes.TaskRecords, invalid=""),
    Line("POST", "/v1/tasks", tasks.create, "Add a task", body=(*AGENT, *tasks.CREATE), created=True,
         verb="task.add", fields=tasks.CREATE, needs=("title",), answer=shapes.TaskMade, invalid="INVALID_TASK"),
    Line("GET", "/v1/tasks/{id}", tasks.show, "One task", ("teamId",), verb="task.show", answer=shapes.TaskOpened,
         invalid=""),
    *(_step(name, step) for name, step in tasks.STEPS.items()),
    Line("GET", "/v1/inbox", threads.inbox, "What an agent should know of, after a cursor",
         (*AGENT, "since", "limit", "wait"), verb="notices", takes={"since": str}, answer=shapes.InboxPage, invalid=""),
    Line("GET", "/v1/threads", threads.listed, "Discussions, newest first", ("teamId", "taskId", "limit"),
         verb="thread.list", fields={"taskId": "task"}, invalid=""),
    Line("POST", "/v1/threads", threads.start, "Start a discussion",
         body=(*AGENT, "from", "title", "subject", "participants", "taskId", "tasks", "body", "message"), created=True,
         verb="thread.new", fields={"subject": "title", "message": "body"}, takes={"taskId": str, "from": str},
         answer=shapes.ThreadMade, invalid=""),
    Line("GET", "/v1/threads/search", threads.search, "Find discussions by title, task, participant or words",
         ("teamId", "q", "limit"), verb="thread.about", takes={"q": str, "limit": str}, invalid=""),
    Line("GET", "/v1/threads/{id}/messages", threads.messages, "What was said", ("teamId", "tail"),
         verb="thread.tail", takes={"tail": str}, answer=shapes.ThreadRead, invalid=""),
    Line("POST", "/v1/threads/{id}/messages", threads.say, "Say something",
         body=(*AGENT, "from", "body", "message", "to"), created=True, verb="thread.post", fields={"message": "body"},
         takes={"from": str}, either=("body", "message"), answer=shapes.MessageMade, invalid="INVALID_THREAD_MESSAGE"),
    Line("GET", "/v1/threads/{id}/tail", threads.tail, "What was said last", ("teamId", "limit"), verb="thread.tail",
         takes={"limit": str}, answer=shapes.ThreadRead, invalid=""),
    Line("POST", "/v1/threads/{id}/link", threads.link, "Tie a discussion to a task", body=(*AGENT, "taskId"),
         verb="thread.link", fields={"taskId": "task"}, needs=("taskId",), answer=shapes.ThreadLinked, invalid=""),
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
         ("closed",), body=AGENT, takes={"closed": str}, answer=dict[str, Any]),
    Line("GET", "/v1/can-write", resources.can_write, "May an agent write this path", (*AGENT, "path"),
         takes={"path": str}, answer=WriteAnswer, invalid=""),
    Line("GET", "/v1/events", event_stream.events, "The ledger as a stream, or as JSON a page at a time",
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
        lines, params = self._found(_words(scope))
        if not lines:
            return refusal(errors.UnknownName("There is nothing here.", "GET /openapi.json", code="NOT_FOUND"))
        if scope["method"] not in lines:
            error = errors.BadInput("Not with this method.", "GET /openapi.json", code="BAD_METHOD", http=405)
            return refusal(error, {"Allow": ", ".join(lines)})
        line = lines[scope["method"]]
        return await self._tried(scope, line.path, self._acted(line, scope, receive, params))

    async def _acted(self, line: Line, scope: Scope, receive: Receive, params: dict[str, str]) -> Response:
        _refuse_early(self._daemon, line, scope, params)
        try:
            body = await read_body(scope, receive, self._daemon) if line.method == "POST" else {}
        except errors.BadInput as error:
            if line.act is not hooks.answered:
                if line.invalid is not None:
                    piteam.rename(error, line.invalid)
                raise
            return await self._daemon.aside(hooks.failed, Ask(self._daemon, scope, params, {}), None, error)
        ask = Ask(self._daemon, scope, params, body)
        result = await (line.act(ask) if line.invalid is None else _by_contract(line, ask))
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

    def _found(self, path: list[str]) -> tuple[Mapping[str, Line], dict[str, str]]:
        """The lines of a path by their methods, and what stood where anything may stand."""
        here, params = self._root, {}
        for word in path:
            if (there := here.words.get(word)) is None:
                if not word or (there := here.anything) is None:
                    return {}, {}
                params[here.name] = word
            here = there
        return here.lines, params


def _words(scope: Scope) -> list[str]:
    """The parts of a path, decoded after they were taken apart: an encoded slash belongs to an id."""
    written: bytes | None = scope.get("raw_path")
    if not written or b"%" not in written:
        return scope["path"].split("/")
    return [unquote(word) for word in written.decode("ascii", "replace").split("/")]


def _refuse_early(daemon: Daemon, line: Line, scope: Scope, params: Mapping[str, str]) -> None:
    """What a token can never do is refused before the body is read. (The verb's own transaction asks again.)"""
    grant = scope[GRANT]
    verb = verbs.VERBS.get(params["verb"] if line.path == CALL else line.verb)
    if grant is None:
        if verb is not None and verb.who == authority.DAEMON:
            attempt = Attempt("", "", authority.DECIDE)
            daemon.queue.note_attempt(daemon.team, verb.name, Caller(daemon_token=True), attempt)
            raise authority.daemon_only(verb.name)
        return
    if verb is not None:
        refused = tokens.refusal(grant, verb.name, writes=verb.writes, who=verb.who, by_token=verb.by_token)
    else:
        looks = line.method == "GET" or line.path == CALL
        refused = tokens.read_only() if grant.reads_only and not looks else None
    if refused is not None and verb is not None and "attempt" in refused.facts:
        attempt = Attempt(grant.name, "", refused.facts["attempt"])
        daemon.queue.note_attempt(grant.team, verb.name, Caller(grant=grant), attempt)
    if refused is not None:
        raise refused


async def _by_contract(line: Line, ask: Ask) -> Any:
    """A route of the pi-team contract: the same act, refused under the contract's codes."""
    try:
        piteam.check_team(ask)
        piteam.check_id(ask, line.path)
        return await line.act(ask)
    except errors.RookError as error:
        raise piteam.rename(error, line.invalid or "") from None


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
