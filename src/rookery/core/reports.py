"""A worker's report written as a file: what `rook progress | ask | done | fail` say, in front matter.

    ---
    from: KeenEagle
    type: done
    outcome: completed
    tests:
      - pytest -q: 12 passed
    ---
    the body is the summary, the question, the reason or the note

The same fields may stand in rear matter under `report:`. It goes to whoever waits for it, so `to` is not needed.
"""

from collections.abc import Mapping
from typing import Any, cast

from . import drop, errors, names, text

TYPES = ("progress", "ask", "done", "fail")
_BODY = {"progress": "note", "ask": "question", "done": "summary", "fail": "reason"}
_LISTS = ("evidence", "commits", "tests", "options", "steps")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "progress": ("steps", "note"), "ask": ("question", "risk", "options", "recommendation", "plan"),
    "done": ("outcome", "summary", "evidence", "commits", "tests", "unchanged"), "fail": ("reason",),
}  # fmt: skip
_ALWAYS = ("type", "run")
_OF_A_LETTER = ("from", "to", "subject", "msg-id", "timestamp", "priority", "status", "reply-to")


def letter(front: Mapping[str, Any], body: str, rear: Mapping[str, Any]) -> drop.Letter | None:
    """None if the file is an ordinary message."""
    below = rear.get("report")
    if below is None and front.get("type") not in TYPES:
        return None
    sender = front.get("from", "")
    if not isinstance(sender, str) or not sender.strip():
        raise errors.BadInput("from is missing.", "Add a line `from: NAME`: the worker that reports.")
    if below is None:
        said = {name: value for name, value in front.items() if name not in _OF_A_LETTER}
    elif isinstance(below, Mapping) and set(rear) == {"report"}:
        said = dict(cast("Mapping[str, Any]", below))
    else:
        raise errors.BadInput("report is no mapping, or something stands beside it.", "With `type` and its fields.")
    return drop.Letter(sender.strip(), {"report": _kind(said), "sender": sender.strip(), "args": _args(said, body)})


def _kind(said: Mapping[str, Any]) -> str:
    kind = said.get("type", "")
    if kind not in TYPES:
        raise errors.BadInput(f"There is no report {text.quoted(str(kind), 40)}.", f"One of: {', '.join(TYPES)}.")
    return kind


def _args(said: Mapping[str, Any], body: str) -> dict[str, Any]:
    kind = _kind(said)
    known = (*_ALWAYS, *_FIELDS[kind])
    for name in said:
        if name not in known:
            hint = names.did_you_mean(name, known) or f"It has: {', '.join(known)}."
            raise errors.BadInput(f"{kind} has no {text.quoted(name, 40)}.", hint)
    args = {name: _value(name, value) for name, value in said.items() if name != "type"}
    if body.strip():
        if args.get(_BODY[kind]):
            raise errors.BadInput(f"{_BODY[kind]} stands there twice.", "In the body, or as a field.")
        args[_BODY[kind]] = body
    return args


def _value(name: str, value: Any) -> Any:
    if name in _LISTS:
        return [_line(name, each) for each in (cast("list[Any]", value) if isinstance(value, list) else [value])]
    if name == "plan":
        return str(value).strip().lower() in ("true", "yes", "on")
    return _line(name, value)


def _line(name: str, value: Any) -> str:
    """Text; `- pytest -q: 12 passed` is a mapping to YAML, and the line that it was to whoever wrote it."""
    if isinstance(value, Mapping):
        pairs = list(cast("Mapping[str, Any]", value).items())
        if len(pairs) == 1 and isinstance(pairs[0][1], str):
            return f"{pairs[0][0]}: {pairs[0][1]}"
    if not isinstance(value, str):
        raise errors.BadInput(f"{name} is no text.", f"As in `{name}: words`; quote what YAML reads otherwise.")
    return value
