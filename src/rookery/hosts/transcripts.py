"""What a program at a terminal wrote down of its session, as the events of `streams`. Pure: lines in, events out.

Its hooks tell where that file is. It lags, and it is read on from where one was; whoever begins anew counts the same.
Claude Code, Codex and Gemini are known; the others keep a database, or write no tokens down.
"""

from collections.abc import Iterable, Mapping

from . import streams
from .streams import ANSWER, CALL, STARTED, TEXT, USAGE, Event, Json, Known, count, rows, string, table, target


def read(host: str, line: bytes | str) -> list[Event] | None:
    """The events of one line; None if the line is none of this program's."""
    return streams.told(_KNOWN.get(host), line)


def kept(host: str) -> bool:
    """Whether this program's record can be read."""
    return host in _KNOWN


def _claude(said: Json) -> Iterable[Event]:
    if session := string(said.get("sessionId"), streams.MOST_TARGET):
        yield Event(STARTED, session=session)
    message = table(said.get("message"))
    if message.get("role") in ("assistant", "user"):
        yield from streams.claude_message({"type": message["role"], "message": message})


def _codex(said: Json) -> Iterable[Event]:
    kind, payload = said.get("type"), table(said.get("payload"))
    if kind == "session_meta":
        yield Event(STARTED, session=string(payload.get("id"), streams.MOST_TARGET))
    elif kind == "turn_context":
        yield Event(STARTED, model=string(payload.get("model"), streams.MOST_TARGET))
    elif kind == "token_usage_record":
        yield streams.codex_usage(table(payload.get("usage")), of=string(payload.get("response_id")))
    elif kind == "response_item":
        yield from _codex_item(payload)


def _codex_item(item: Json) -> Iterable[Event]:
    kind = item.get("type")
    if kind == "message" and item.get("role") == "assistant":
        yield Event(TEXT, text=streams.parts(item.get("content")))
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        args = string(item.get("arguments")) or string(item.get("input"))
        yield Event(CALL, tool=string(item.get("name"), streams.MOST_TARGET), target=_codex_target(args))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield Event(ANSWER, text=string(item.get("output")))


def _codex_target(args: str) -> str:
    """Arguments are written as JSON; those of a tool that takes free text are that text."""
    import json

    try:
        return target(json.loads(args))
    except (ValueError, RecursionError):
        return string(args.partition("\n")[0], streams.MOST_TARGET)


def _gemini(said: Json) -> Iterable[Event]:
    """A message is written when it begins, and once more with its tools."""
    if session := string(said.get("sessionId"), streams.MOST_TARGET):
        yield Event(STARTED, session=session)
    if said.get("type") != "gemini":
        return
    used, model = table(said.get("tokens")), string(said.get("model"), streams.MOST_TARGET)
    yield Event(TEXT, text=string(said.get("content")), model=model)
    output = count(used.get("output")) + count(used.get("thoughts"))
    yield Event(
        USAGE,
        of=string(said.get("id")),
        input=count(used.get("input")),
        output=output,
        cached=count(used.get("cached")),
    )
    for call in rows(said.get("toolCalls")):
        yield Event(CALL, tool=string(call.get("name"), streams.MOST_TARGET), target=target(call.get("args")))
        yield Event(ANSWER, ok=call.get("status") == "success")


_KNOWN: Mapping[str, Known] = {"claude": _claude, "codex": _codex, "gemini": _gemini}
