"""What can be asked next: where an answer holds the id, the epoch or the name that another request needs."""

from collections.abc import Mapping
from typing import Any

from rookery.core.record import NamedTuple

ID, TASK, MADE, THREAD = (f"$response.body#/{field}" for field in ("id", "taskId", "task/id", "thread/id"))


class Link(NamedTuple):
    after: str  # method and path
    status: str
    then: tuple[str, ...]
    params: Mapping[str, str] = {}
    body: Mapping[str, str] = {}


_STEPS = ("claim", "cancel", "block", "unblock", "reset", "assign", "review", "release")
_HELD = ("renew", "complete", "fail", "progress", "release", "block")
_HOLDER = {"agentId": "$response.body#/lease/holder", "epoch": "$response.body#/lease/epoch"}
_STEERED = ("assign", "cancel", "unblock", "reset", "revise", "split", "delete", "review", "show")


def _steps(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"POST /v1/tasks/{{id}}/{name}" for name in names)


def _calls(*names: str) -> tuple[str, ...]:
    return tuple(f"POST /v1/call/{name}" for name in names)


LINKS: tuple[Link, ...] = (
    Link("POST /v1/tasks", "201", ("GET /v1/tasks/{id}", *_steps(_STEPS)), {"id": MADE}),
    Link("POST /v1/tasks", "201", _calls(*(f"task.{name}" for name in (*_STEERED, "claim"))), body={"id": MADE}),
    Link("POST /v1/tasks/{id}/claim", "200", _steps(_HELD), {"id": TASK}, _HOLDER),
    Link("POST /v1/tasks/{id}/complete", "200", _steps(("review", "reset")), {"id": TASK}),
    Link("POST /v1/tasks/{id}/fail", "200", _steps(("reset", "cancel", "claim")), {"id": TASK}),
    Link("POST /v1/threads", "201", ("GET /v1/threads/{id}/messages", "GET /v1/threads/{id}/tail",
                                     "POST /v1/threads/{id}/messages", "POST /v1/threads/{id}/link"), {"id": THREAD}),
    Link("POST /v1/messages", "201", _calls("read", "reply", "receipts", "thread"), body={"id": ID}),
    Link("POST /v1/call/task.add", "200", _calls(*(f"task.{name}" for name in (*_STEERED, "claim"))), body={"id": ID}),
    Link("POST /v1/call/task.claim", "200", _calls("task.renew", "task.done", "task.fail", "task.progress",
                                                   "task.release", "task.block"),
         body={"id": TASK, **_HOLDER}),
    Link("POST /v1/call/send", "200", _calls("read", "reply", "receipts", "thread"), body={"id": ID}),
    Link("POST /v1/call/plan.new", "200", _calls("plan.show", "plan.graph", "plan.cancel"), body={"id": ID}),
    Link("POST /v1/call/thread.new", "200", _calls("thread.post", "thread.tail"), body={"id": ID}),
    Link("POST /v1/call/reserve", "200", _calls("hold.look", "hold.take", "hold.renew"), body={"id": ID}),
    Link("POST /v1/call/slot.take", "200", _calls("hold.look", "hold.take", "hold.renew"), body={"id": ID}),
    Link("POST /v1/call/join", "200", _calls("leave", "heartbeat", "activity", "rename", "status"),
         body={"agentId": "$response.body#/name"}),
)  # fmt: skip


def name_of(method: str, path: str) -> str:
    """An operation's own name, which links speak of."""
    words = [word.strip("{}") for word in path.split("/") if word]
    return "_".join((method.lower(), *words))


def add(paths: dict[str, dict[str, Any]]) -> None:
    for link in LINKS:
        method, path = link.after.split(" ")
        answers = paths[path][method.lower()]["responses"][link.status]
        for then in link.then:
            name = name_of(*then.split(" "))
            told: dict[str, Any] = {"operationId": name}
            if link.params:
                told["parameters"] = dict(link.params)
            if link.body:
                told["requestBody"] = dict(link.body)
            answers.setdefault("links", {})[name] = told
