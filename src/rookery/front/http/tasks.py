"""The task routes of the pi-team contract: its names and envelopes, over the verbs. More steps than it has, too."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.responses import Response

from rookery.core import errors
from rookery.core.record import NamedTuple

from . import piteam
from .answer import json_answer
from .ask import Ask

CREATE = {
    "title": "title", "description": "description", "spec": "spec", "deps": "deps", "resources": "resources",
    "priority": "priority", "kind": "kind", "assignee": "assignee", "milestone": "milestone", "review": "review",
    "plan": "plan", "maxTokens": "max_tokens",
}  # fmt: skip
PAGE = 1_000  # records that one look at the store returns


class Step(NamedTuple):
    verb: str
    fields: Mapping[str, str]  # of the body, and the verb's arguments they become; the later of two wins
    needs: tuple[str, ...] = ()
    contract: bool = False  # one of pi-team's own: its envelope, and its order of refusals


EVIDENCE = {name: name for name in ("summary", "commits", "tests", "prs", "evidence")}
JUDGED = {name: name for name in ("verdict", "feedback", "epoch", "commit")}
STEPS: Mapping[str, Step] = {
    "claim": Step("task.claim", {"ttlMs": "ttl_ms"}, contract=True),
    "renew": Step("task.renew", {"epoch": "epoch", "ttlMs": "ttl_ms"}, contract=True),
    "complete": Step("task.done", {"epoch": "epoch", **EVIDENCE}, contract=True),
    "fail": Step("task.fail", {"epoch": "epoch", "error": "reason", "reason": "reason"}, contract=True),
    "release": Step("task.release", {"epoch": "epoch", "reason": "reason"}),
    "progress": Step("task.progress", {"epoch": "epoch", "note": "said"}, ("agentId", "epoch", "note")),
    "cancel": Step("task.cancel", {"reason": "reason", "tree": "tree"}),
    "block": Step("task.block", {"epoch": "epoch", "reason": "reason"}, ("reason",)),
    "unblock": Step("task.unblock", {"reason": "reason"}),
    "reset": Step("task.reset", {"reason": "reason", "cascade": "tree", "tree": "tree"}),
    "assign": Step("task.assign", {"assignee": "to"}),
    "review": Step("task.review", JUDGED, ("verdict",)),
}


async def listed(ask: Ask) -> Any:
    """Whole records, sorted by id: all of them, or a page when a limit is given."""
    args: dict[str, Any] = {"status": ask.query("status"), "plan": ask.query("plan"), "whole": True}
    after, found = ask.whole("after", 0), list[dict[str, Any]]()
    if ask.query("limit"):
        return await ask.call("task.list", args | {"after": after, "limit": ask.whole("limit", PAGE)})
    while True:
        page = await ask.call("task.list", args | {"after": after, "limit": PAGE})
        found += page["tasks"]
        if page["next"] is None:
            break
        after = page["next"]
    if not found and ask.team() != ask.daemon.team:
        await ask.call("team.show", {})  # refused where there is no such team
    return {"tasks": found, "next": None}


async def create(ask: Ask) -> Response:
    """201 the first time; a repeat under the same key gets the same body, with 200."""
    piteam.check_sender(ask, needed=False)
    if not (isinstance(ask.body.get("title"), str) and ask.body["title"].strip()):
        raise errors.BadInput("A task needs a title.", 'Give "title" in the body.', code="INVALID_TASK", http=400)
    cleaned = {"title": piteam.title, "description": piteam.title, "deps": piteam.listed, "resources": piteam.listed}
    args = {name: cleaned[name](value) if name in cleaned else value for name, value in _renamed(ask, CREATE).items()}
    made = await ask.call("task.add", args | ask.key)
    replayed = made.pop("replayed", False)
    return json_answer({"task": made}, 200 if replayed else 201)


async def show(ask: Ask) -> Any:
    return {"task": await ask.call("task.show", {"id": ask.path("id")})}


def step(name: str) -> Callable[[Ask], Awaitable[Any]]:
    taken = STEPS[name]

    async def act(ask: Ask) -> Any:
        # Who it is may come by header; what the fence compares has to be in the body.
        ask.need(*(field for field in taken.needs if field != "agentId" or ask.agent() is None))
        done = await ask.call(taken.verb, {"id": ask.path("id"), **_renamed(ask, taken.fields)})
        return done if "task" in done else {**done, "taskId": ask.path("id"), "task": done}

    async def act_by_contract(ask: Ask) -> Any:
        piteam.check_sender(ask)
        args = _renamed(ask, taken.fields) | _fenced(ask, name)
        done = await ask.call(taken.verb, {"id": ask.path("id"), **args})
        return done if "task" in done else {"taskId": ask.path("id"), "task": done}

    return act_by_contract if taken.contract else act


def _fenced(ask: Ask, name: str) -> dict[str, Any]:
    """What the lease is compared with, and how long it is to last."""
    settings, told = ask.daemon.house.settings, ask.body.get("ttlMs")
    fence = {} if name == "claim" else {"epoch": piteam.epoch(ask.body.get("epoch"))}
    if name not in ("claim", "renew"):
        return fence
    if told is None:
        return fence | {"ttl_ms": settings.ms("tasks.ttl_s")}
    return fence | {"ttl_ms": piteam.ttl_ms(told, settings.ms("tasks.ttl_high_s"))}


def _renamed(ask: Ask, fields: Mapping[str, str]) -> dict[str, Any]:
    return {fields[name]: value for name, value in ask.given(*fields).items()}
