"""Seed 002's budget: what was used, told and asked for."""

from typing import Any

from starlette.responses import Response

from .answer import json_answer
from .ask import Ask

REPORT = {"inputTokens": "input", "outputTokens": "output", "taskId": "task", "model": "model", "meter": "meter"}


async def shown(ask: Ask) -> Any:
    """Of everyone, or of the agent or task that is named."""
    asked = {"agent": ask.agent() or "", "task": ask.query("taskId"), "limit": ask.whole("limit", 100)}
    return await ask.call("budget", asked)


async def report(ask: Ask) -> Response:
    """201 for what was counted; a repeat under the same key, or of a meter's reading, is not, and gets 200."""
    args = {REPORT[name]: value for name, value in ask.given(*REPORT).items()}
    made = await ask.call("usage_report", args | ask.key)
    repeated = made.pop("replayed", False) or not made["counted"]
    return json_answer(made, 200 if repeated else 201)
