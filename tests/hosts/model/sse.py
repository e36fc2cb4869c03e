"""Server-sent events, and the text inside a nest of JSON."""

import json
from typing import Any


def event(data: dict[str, Any]) -> bytes:
    """One event, named by its own type where it has one."""
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def flat(value: Any) -> str:
    """Every text in a value, keys and types aside: programs nest what they say in strings, lists and objects."""
    match value:
        case str():
            return value
        case list():
            return "\n".join(map(flat, value))
        case dict():
            return "\n".join(flat(inner) for key, inner in value.items() if key != "type")
        case None:
            return ""
        case _:
            return json.dumps(value)
