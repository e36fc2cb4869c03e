"""A text in the notation of a settings file."""

from collections.abc import Mapping, Sequence
from typing import Any, cast


def toml(text: str) -> str:
    """A basic string: JSON writes it the same way, but for DEL."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def inline(value: Any) -> str:
    """A value on one line: tables, lists, texts, numbers and switches."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value).items()
        return "{" + ", ".join(f"{toml(key)}={inline(each)}" for key, each in members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(inline(each) for each in cast("Sequence[Any]", value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return toml(value) if isinstance(value, str) else str(value)
