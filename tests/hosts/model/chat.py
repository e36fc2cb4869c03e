"""The wire of OpenCode, Copilot CLI and pi: `POST /v1/chat/completions`, an answer as chunks or whole."""

import json
from collections.abc import Iterator
from typing import Any

from .script import Asked, Move
from .sse import event, flat

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def serves(path: str) -> bool:
    return path.endswith("/chat/completions")


def read(body: dict[str, Any]) -> Asked:
    messages = body.get("messages", [])
    results = [flat(message.get("content")) for message in messages if message["role"] == "tool"]
    texts = [flat(message.get("content")) for message in messages if message["role"] not in ("tool", "assistant")]
    turns = sum(message["role"] == "assistant" for message in messages)
    names = [tool.get("function", tool).get("name", tool["type"]) for tool in body.get("tools") or []]
    return Asked(turns, names, results, texts)


def answer(path: str, body: dict[str, Any], move: Move, key: str) -> tuple[str, Iterator[bytes]]:
    head = {"id": f"chatcmpl-{key}", "created": 1, "model": body["model"]}
    if "say" in move:
        message: dict[str, Any] = {"role": "assistant", "content": move["say"]}
        reason = "stop"
    else:
        function = {"name": move["call"], "arguments": json.dumps(move["args"])}
        called = {"index": 0, "id": f"call_{key}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [called]}
        reason = "tool_calls"
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        whole = head | {"object": "chat.completion", "choices": [choice], "usage": USAGE}
        return "application/json", iter([json.dumps(whole).encode()])
    return "text/event-stream", stream(head | {"object": "chat.completion.chunk"}, message, reason)


def stream(head: dict[str, Any], message: dict[str, Any], reason: str) -> Iterator[bytes]:
    yield event(head | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]})
    yield event(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": USAGE})
    yield b"data: [DONE]\n\n"
