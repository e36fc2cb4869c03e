"""The wire of Claude Code: `POST /v1/messages`, an answer as named server-sent events."""

import json
from collections.abc import Iterator
from typing import Any

from .script import Asked, Move
from .sse import event, flat

USAGE = {"input_tokens": 10, "output_tokens": 5}


def serves(path: str) -> bool:
    return path.endswith(("/v1/messages", "/v1/messages/count_tokens"))


def read(body: dict[str, Any]) -> Asked:
    results: list[str] = []
    texts = [flat(body.get("system"))]
    for message in body.get("messages", []):
        content = message["content"]
        for block in [{"text": content}] if isinstance(content, str) else content:
            if block.get("type") == "tool_result":
                results.append(flat(block.get("content")))
            elif message["role"] != "assistant":
                texts.append(flat(block.get("text")))
    turns = sum(message["role"] == "assistant" for message in body.get("messages", []))
    return Asked(turns, [tool["name"] for tool in body.get("tools", [])], results, texts)


def answer(path: str, body: dict[str, Any], move: Move, key: str) -> tuple[str, Iterator[bytes]]:
    if path.endswith("count_tokens"):
        return "application/json", iter([json.dumps({"input_tokens": 10}).encode()])
    block, delta, reason = blocks(move, key)
    message = {"id": f"msg_{key}", "type": "message", "role": "assistant", "model": body["model"]}
    if not body.get("stream"):
        whole = block | ({"text": move["say"]} if "say" in move else {"input": move["args"]})
        plain = message | {"content": [whole], "stop_reason": reason, "stop_sequence": None, "usage": USAGE}
        return "application/json", iter([json.dumps(plain).encode()])
    return "text/event-stream", stream(message, block, delta, reason)


def blocks(move: Move, key: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """The empty block that opens, the delta that fills it, and why the message ends."""
    if "say" in move:
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": move["say"]}, "end_turn"
    block = {"type": "tool_use", "id": f"toolu_{key}", "name": move["call"], "input": {}}
    return block, {"type": "input_json_delta", "partial_json": json.dumps(move["args"])}, "tool_use"


def stream(message: dict[str, Any], block: dict[str, Any], delta: dict[str, Any], reason: str) -> Iterator[bytes]:
    opened = message | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": USAGE}
    yield event({"type": "message_start", "message": opened})
    yield event({"type": "content_block_start", "index": 0, "content_block": block})
    yield event({"type": "content_block_delta", "index": 0, "delta": delta})
    yield event({"type": "content_block_stop", "index": 0})
    yield event({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": USAGE})
    yield event({"type": "message_stop"})
