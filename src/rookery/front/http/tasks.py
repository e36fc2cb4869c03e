"""Seed 002's task routes: its names and shapes, over the verbs."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.responses import Response

from rookery.core.record import NamedTuple

from .answer import json_answer
from .ask import Ask

CREATE = {
    "title": "title", "description": "description", "spec": "spec", "deps": "deps", "resources": "resources",
    "priority": "priority", "kind": "kind", "assignee": "assignee", "milestone": "milestone", "review": "review",
    "plan": "plan", "maxTokens": "max_tokens",
}  # fmt: skip


class Step(NamedTuple):
    verb: str
    fields: Mapping[str, str]  # of the body, and the verb's arguments they become; the later of two wins
    needs: tuple[str, ...] = ()


HELD = ("agentId", "epoch")
EVIDENCE = {name: name for name in ("summary", "commits", "tests", "prs", "evidence")}
JUDGED = {name: name for name in ("verdict", "feedback", "epoch", "commit")}
STEPS: Mapping[str, Step] = {
    "claim": Step("task.claim", {"ttlMs": "ttl_ms"}, ("agentId",)),
    "renew": Step("task.renew", {"epoch": "epoch", "ttlMs": "ttl_ms"}, HELD),
    "complete": Step("task.done", {"epoch": "epoch", **EVIDENCE}, HELD),
    "fail": Step("task.fail", {"epoch": "epoch", "error": "reason", "reason": "reason"}, HELD),
    "release": Step("task.release", {"epoch": "epoch", "reason": "reason"}),
    "progress": Step("task.progress", {"epoch": "epoch", "note": "said"}, (*HELD, "note")),
    "cancel": Step("task.cancel", {"reason": "reason", "tree": "tree"}),
    "block": Step("task.block", {"epoch": "epoch", "reason": "reason"}, ("reason",)),
    "unblock": Step("task.unblock", {"reason": "reason"}),
    "reset": Step("task.reset", {"reason": "reason", "cascade": "tree", "tree": "tree"}),
    "assign": Step("task.assign", {"assignee": "to"}),
    "review": Step("task.review", JUDGED, ("verdict",)),
}


async def listed(ask: Ask) -> Any:
    args = {"status": ask.query("status"), "plan": ask.query("plan")}
    return await ask.call("task.list", args | {"after": ask.whole("after", 0), "limit": ask.whole("limit", 200)})


async def create(ask: Ask) -> Response:
    """201 the first time; a repeat under the same key gets the same body, with 200."""
    ask.need("title")
    made = await ask.call("task.add", _renamed(ask, CREATE) | ask.key)
    return json_answer(made, 200 if made.pop("replayed", False) else 201)


async def show(ask: Ask) -> Any:
    return await ask.call("task.show", {"id": ask.path("id")})


def step(name: str) -> Callable[[Ask], Awaitable[Any]]:
    taken = STEPS[name]

    async def act(ask: Ask) -> Any:
        # Who it is may come by header; what the fence compares has to be in the body.
        ask.need(*(field for field in taken.needs if field != "agentId" or ask.agent() is None))
        done = await ask.call(taken.verb, {"id": ask.path("id"), **_renamed(ask, taken.fields)})
        return done if "task" in done else {**done, "taskId": ask.path("id"), "task": done}

    return act


def _renamed(ask: Ask, fields: Mapping[str, str]) -> dict[str, Any]:
    return {fields[name]: value for name, value in ask.given(*fields).items()}
