"""The wire of Codex: `POST /v1/responses`, an answer as server-sent events, each item whole in one of them."""

import json
from collections.abc import Iterator
from typing import Any

from .script import Asked, Move
from .sse import event, flat

CALLS = ("function_call", "custom_tool_call", "local_shell_call")
USAGE = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}


def serves(path: str) -> bool:
    return path.endswith("/v1/responses")


def read(body: dict[str, Any]) -> Asked:
    turns = 0
    tools = names(body.get("tools", []))
    results: list[str] = []
    texts = [flat(body.get("instructions"))]
    for item in body.get("input", []):
        kind = item.get("type", "message")
        if kind == "additional_tools":
            tools += names(item["tools"])
        elif kind in CALLS or item.get("role") == "assistant":
            turns += 1
        elif kind.endswith("_call_output"):
            results.append(flat(item.get("output")))
        else:
            texts.append(flat(item.get("content")))
    return Asked(turns, tools, results, texts)


def names(tools: list[dict[str, Any]]) -> list[str]:
    """A namespace counts for the tools in it."""
    inner = [name for tool in tools for name in names(tool.get("tools", []))]
    return inner + [tool.get("name", tool["type"]) for tool in tools if tool["type"] != "namespace"]


def answer(path: str, body: dict[str, Any], move: Move, key: str) -> tuple[str, Iterator[bytes]]:
    return "text/event-stream", stream(item(move, key), f"resp_{key}")


def item(move: Move, key: str) -> dict[str, Any]:
    if "say" in move:
        content = [{"type": "output_text", "text": move["say"], "annotations": []}]
        return {"type": "message", "id": f"msg_{key}", "role": "assistant", "status": "completed", "content": content}
    head = {"call_id": f"call_{key}", "name": move["call"], "status": "completed"}
    if "namespace" in move:
        head["namespace"] = move["namespace"]
    if "text" in move:
        return head | {"type": "custom_tool_call", "id": f"ctc_{key}", "input": move["text"]}
    return head | {"type": "function_call", "id": f"fc_{key}", "arguments": json.dumps(move["args"])}


def stream(done: dict[str, Any], response: str) -> Iterator[bytes]:
    yield event({"type": "response.created", "response": {"id": response, "status": "in_progress", "output": []}})
    yield event({"type": "response.output_item.added", "output_index": 0, "item": done | {"status": "in_progress"}})
    yield event({"type": "response.output_item.done", "output_index": 0, "item": done})
    whole = {"id": response, "status": "completed", "output": [done], "usage": USAGE}
    yield event({"type": "response.completed", "response": whole})
