"""The wire of Gemini: `:streamGenerateContent` with function calls as parts, `:generateContent` and `:countTokens`."""

import json
from collections.abc import Iterator
from typing import Any

from .script import Asked, Move
from .sse import event, flat

USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}


def serves(path: str) -> bool:
    return path.endswith((":streamGenerateContent", ":generateContent", ":countTokens"))


def read(body: dict[str, Any]) -> Asked:
    results: list[str] = []
    texts = [flat(body.get("systemInstruction"))]
    for content in body.get("contents", []):
        for part in content.get("parts", []):
            if "functionResponse" in part:
                results.append(flat(part["functionResponse"].get("response")))
            elif content.get("role") != "model":
                texts.append(flat(part.get("text")))
    turns = sum(content.get("role") == "model" for content in body.get("contents", []))
    declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
    return Asked(turns, [one["name"] for one in declared], results, texts)


def answer(path: str, body: dict[str, Any], move: Move, key: str) -> tuple[str, Iterator[bytes]]:
    if path.endswith(":countTokens"):
        return "application/json", iter([json.dumps({"totalTokens": 10}).encode()])
    if "say" in move:
        part: dict[str, Any] = {"text": move["say"]}
    else:
        part = {"functionCall": {"id": f"call_{key}", "name": move["call"], "args": move["args"]}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    whole = {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "scripted", "responseId": key}
    if path.endswith(":generateContent"):
        return "application/json", iter([json.dumps(whole).encode()])
    return "text/event-stream", iter([event(whole)])
