"""Bundles of evidence, and what of them stands in an agent's context."""

from typing import Any

from starlette.responses import Response

from .answer import json_answer
from .ask import Ask

SAVE = {"refs": "refs", "title": "title", "workerId": "worker", "taskId": "task", "limit": "limit",
        "summarize": "summarize"}  # fmt: skip


async def listed(ask: Ask) -> Any:
    every = ask.query("all") in ("1", "true")
    return await ask.call("bundle.list", {"all": every, "limit": ask.whole("limit", 50)})


async def save(ask: Ask) -> Response:
    args = {SAVE[name]: value for name, value in ask.given(*SAVE).items()}
    return json_answer(await ask.call("bundle.save", args), 201)


async def show(ask: Ask) -> Any:
    return await ask.call("bundle.show", {"id": ask.path("id")})


async def loaded(ask: Ask) -> Any:
    return await ask.call("loaded", {})
