"""What a program at a terminal wrote down of its session, as events of `core.activity`. Pure: lines in, events out.

Its hooks tell where that file is. It lags, and it is read on from where one was; whoever begins anew counts the same.
OpenCode keeps a database instead: what it does at a terminal is known by its hooks alone.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from rookery.core.activity import ANSWER, CALL, DONE, ERROR, PROMPT, STARTED, TEXT, USAGE, Edit, Event

from . import deeds, streams
from .streams import Known
from .values import (
    MOST_OUTPUT,
    MOST_TARGET,
    Json,
    after,
    called,
    count,
    number,
    parts,
    patches,
    rows,
    string,
    table,
    target,
)

OWN = ("<session_context>", "<environment_context>", "<user_instructions>", "<hook_prompt>", "# AGENTS.md instructions")


def read(host: str, line: bytes | str) -> list[Event] | None:
    """The events of one line; None if the line is none of this program's."""
    return streams.told(_KNOWN.get(host), line)


def kept(host: str) -> bool:
    """Whether this program's record can be read."""
    return host in _KNOWN


@lru_cache(maxsize=64)
def _of(session: str) -> Event:
    """Every line names its session: it is made an event once."""
    return Event(STARTED, session=session)


def _claude(said: Json) -> Iterable[Event]:
    if session := string(said.get("sessionId"), MOST_TARGET):
        yield _of(session)
    role = table(said.get("message")).get("role")
    if role in ("assistant", "user") and said.get("type") in (None, role):
        yield from streams.claude_message({**said, "type": role}, said.get("toolUseResult"))


# -- Codex: what its model was sent and said, and besides what was done, with everything that is known of it. A command
# that takes long is answered before it is over: only what was done tells how it ended.


def _codex(said: Json) -> Iterable[Event]:
    kind, payload = said.get("type"), table(said.get("payload"))
    if kind == "session_meta":
        yield Event(STARTED, session=string(payload.get("id"), MOST_TARGET))
    elif kind == "turn_context":
        yield Event(STARTED, model=string(payload.get("model"), MOST_TARGET))
    elif kind == "token_usage_record":
        yield streams.codex_usage(table(payload.get("usage")), of=string(payload.get("response_id")))
    elif kind == "response_item":
        yield from _codex_item(payload)
    elif kind == "event_msg" and payload.get("type") == "item_completed":
        yield from _codex_done(table(payload.get("item")))
    elif kind == "event_msg" and payload.get("type") == "error":
        yield Event(ERROR, text=string(payload.get("message")), ok=False)


def _codex_item(item: Json) -> Iterable[Event]:
    kind, id = item.get("type"), string(item.get("call_id"), MOST_TARGET) or string(item.get("id"), MOST_TARGET)
    if kind == "message" and item.get("role") in ("assistant", "user"):
        text = parts(item.get("content"))
        if item.get("role") == "assistant" or not text.startswith(OWN):
            yield Event(TEXT if item.get("role") == "assistant" else PROMPT, text=text, id=id)
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        yield _codex_call(item, id)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield Event(ANSWER, text=parts(item.get("output"), MOST_OUTPUT), id=id)


def _codex_call(item: Json, id: str) -> Event:
    """Arguments are written as JSON; those of a tool that takes free text are that text."""
    import json

    said = string(item.get("arguments"), MOST_OUTPUT) or string(item.get("input"), MOST_OUTPUT)
    try:
        args = table(json.loads(said))
    except (ValueError, RecursionError):
        args = {}
    where = target(args) or string(said.partition("\n")[0], MOST_TARGET)
    return Event(CALL, tool=string(item.get("name"), MOST_TARGET), target=where, id=id, args=args or {"input": said})


def _codex_done(item: Json) -> Iterable[Event]:
    kind, id = item.get("type"), string(item.get("id"), MOST_TARGET)
    ok = item.get("status") == "completed"
    if kind == "CommandExecution":
        words = item.get("command")
        line = deeds.spoken([str(word) for word in words]) if isinstance(words, list) else ""
        text, code = string(item.get("aggregated_output"), MOST_OUTPUT), number(item.get("exit_code"))
        yield Event(DONE, id=id, tool="shell", command=line, text=text, code=code, ok=ok and not code)
    elif kind == "FileChange":
        changed = list(table(item.get("changes")).items())[: deeds.MANY]
        edits = tuple(_codex_edit(path, table(change)) for path, change in changed)
        text = string(item.get("stderr"), MOST_OUTPUT) or string(item.get("stdout"), MOST_OUTPUT)
        yield Event(DONE, id=id, tool="apply_patch", edits=edits, text=text, ok=ok)


def _codex_edit(path: str, change: Json) -> Edit:
    if lines := string(change.get("unified_diff"), MOST_OUTPUT):
        return Edit(path, patch=lines)
    content = string(change.get("content"), MOST_OUTPUT)
    return (
        Edit(path, old=content, whole=True) if change.get("type") == "delete" else Edit(path, new=content, whole=True)
    )


# -- Gemini ----------------------------------------------------------------------------------------------------------


def _gemini(said: Json) -> Iterable[Event]:
    """A message is written when it begins, and once more with its tools."""
    if session := string(said.get("sessionId"), MOST_TARGET):
        yield _of(session)
    id, text = string(said.get("id"), MOST_TARGET), parts(said.get("content"))
    if said.get("type") == "user" and text and not text.startswith(OWN):
        yield Event(PROMPT, text=text, id=id)
    if said.get("type") != "gemini":
        return
    used, model = table(said.get("tokens")), string(said.get("model"), MOST_TARGET)
    yield Event(TEXT, text=string(said.get("content")), model=model, id=id)
    output = count(used.get("output")) + count(used.get("thoughts"))
    read, cached = count(used.get("input")), count(used.get("cached"))
    yield Event(USAGE, of=string(said.get("id")), input=read, output=output, cached=cached)
    for call in rows(said.get("toolCalls")):
        yield called("gemini", call.get("name"), call.get("args"), call.get("id"))
        yield _gemini_answer(call)


def _gemini_answer(call: Json) -> Event:
    answered = next(iter(rows(call.get("result"))), {})
    said = table(table(answered.get("functionResponse")).get("response"))
    heard = string(said.get("output"), MOST_OUTPUT) or string(said.get("error"), MOST_OUTPUT)
    shown = call.get("resultDisplay")
    changed = table(shown)
    edits = patches([string(changed.get("filePath"))], string(changed.get("fileDiff"), MOST_OUTPUT))
    _, code = after(heard.partition("\nProcess Group PGID:")[0], "\nExit Code: ")
    text = string(shown, MOST_OUTPUT) or heard
    id = string(call.get("id"), MOST_TARGET)
    return Event(ANSWER, text=text, ok=call.get("status") == "success" and not code, id=id, code=code, edits=edits)


# -- Copilot and pi: as they print it, but for the tokens of the one and the tools of the other ----------------------


def _copilot(said: Json) -> Iterable[Event]:
    data = table(said.get("data"))
    if said.get("type") != "session.usage_record":
        yield from streams.copilot(said)
        return
    used, of = table(data.get("usage")), string(said.get("id"), MOST_TARGET)
    read, output = count(used.get("inputTokens")), count(used.get("outputTokens"))
    yield Event(STARTED, model=string(used.get("model"), MOST_TARGET))
    yield Event(USAGE, of=of, input=read, output=output, cached=count(used.get("cacheReadTokens")))


def _pi(said: Json) -> Iterable[Event]:
    if said.get("type") == "session":
        yield _of(string(said.get("id"), MOST_TARGET))
    if said.get("type") != "message":
        return
    message = table(said.get("message"))
    for event in streams.pi_message(message):
        yield event._replace(of=string(said.get("id"), MOST_TARGET)) if event.kind == USAGE else event
    if message.get("role") == "toolResult":
        id = string(message.get("toolCallId"), MOST_TARGET)
        yield streams.pi_answer(message, id, ok=message.get("isError") is not True)
    for part in rows(message.get("content")):
        if part.get("type") == "toolCall":
            yield called("pi", part.get("name"), part.get("arguments"), part.get("id"))


_KNOWN: Mapping[str, Known] = {"claude": _claude, "codex": _codex, "gemini": _gemini, "copilot": _copilot, "pi": _pi}
