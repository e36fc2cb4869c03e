"""Seed 002's discussions and its inbox."""

from typing import Any

from starlette.responses import Response

from rookery.core import errors

from .answer import json_answer
from .ask import Ask


async def start(ask: Ask) -> Response:
    title = ask.body.get("title") or ask.body.get("subject")
    if title is None:
        ask.need("title")
    args = {"title": title, **ask.given("participants"), **ask.key}
    args |= {"body": said} if (said := _said(ask)) else {}
    if tasks := ask.body.get("tasks") or _one(ask.body.get("taskId")):
        args["tasks"] = tasks
    made = await ask.call("thread.new", args)
    return json_answer(made, 200 if made.pop("replayed", False) else 201)


async def say(ask: Ask) -> Response:
    said = _said(ask)
    if not said:
        raise errors.BadInput("Missing: body.", 'Give "body" (or "message").', code="MISSING_FIELD")
    to = ask.body.get("to")
    args = {"id": ask.path("id"), "body": said, **ask.key}
    args |= {"to": [to] if isinstance(to, str) else to} if to else {}
    made = await ask.call("thread.post", args)
    return json_answer(made, 200 if made.pop("replayed", False) else 201)


def _said(ask: Ask) -> Any:
    return ask.body.get("body") or ask.body.get("message")


def _one(value: Any) -> list[Any] | None:
    return [value] if value else None


async def messages(ask: Ask) -> Any:
    return await _tail(ask, "tail")


async def tail(ask: Ask) -> Any:
    return await _tail(ask, "limit")


async def _tail(ask: Ask, field: str) -> Any:
    asked = {"limit": ask.whole(field, 0)} if ask.query(field) else {}
    return await ask.call("thread.tail", {"id": ask.path("id"), **asked})


async def listed(ask: Ask) -> Any:
    return await ask.call("thread.list", {"task": ask.query("taskId"), "limit": ask.whole("limit", 100)})


async def search(ask: Ask) -> Any:
    return await ask.call("thread.search", {"query": [ask.query("q")], "limit": ask.whole("limit", 20)})


async def link(ask: Ask) -> Any:
    ask.need("taskId")
    return await ask.call("thread.link", {"id": ask.path("id"), "task": ask.body["taskId"]})


async def inbox(ask: Ask) -> Any:
    if ask.agent() is None:
        raise errors.BadInput("Missing: agentId.", "Say whose inbox: ?agentId=NAME.", code="MISSING_FIELD")
    return await ask.wait_for("notices", {"since": ask.whole("since", 0), "limit": ask.whole("limit", 100)})
