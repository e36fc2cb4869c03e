"""What a program without a terminal tells of itself, line by line, as the events of `core.activity`. Pure.

A line that is torn, is no object or is not of this program is passed over and counted; an event that is not known is
passed over. Nothing that a program prints makes reading it fail: its text, and its numbers, are the program's word.
`tests/hosts/streams` holds what each of them was seen to print, `tests/data/streams` a longer session of each.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rookery.core.activity import (
    ALL,
    ANSWER,
    CALL,
    DONE,
    ERROR,
    PROMPT,
    RESULT,
    STARTED,
    TEXT,
    TURN,
    USAGE,
    Edit,
    Event,
)  # fmt: skip

from . import deeds
from .values import (
    MOST_OUTPUT,
    MOST_TARGET,
    Json,
    after,
    amount,
    called,
    count,
    number,
    parts,
    patches,
    rows,
    string,
    table,
    target,
)  # fmt: skip

REMEMBERED = 64  # messages whose usage may still be corrected
Known = Callable[[Json], Iterable[Event]]


def read(host: str, line: bytes | str) -> list[Event] | None:
    """The events of one line; None if the line is none of this program's."""
    return told(_KNOWN.get(host), line)


def streamed(host: str) -> bool:
    """Whether this program's stream is known."""
    return host in _KNOWN


def told(known: Known | None, line: bytes | str) -> list[Event] | None:
    import json

    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if known is None or not isinstance(said, dict):
        return None
    return list(known(said))


class Tally:
    """What a run came to so far: its session, what it used, what it did, and what it said at last."""

    def __init__(self) -> None:
        self.session = self.model = self.text = self.error = self.doing = ""
        self.input = self.output = self.cached = 0
        self.cost = 0.0
        self.calls = self.failures = self.turns = self.foreign = 0
        self.ended = False
        self.ok: bool | None = None  # None: no result was told
        self._recent: dict[str, tuple[int, int, int]] = {}
        self._before = (0, 0, 0)  # when the last result was told

    def add(self, events: Iterable[Event] | None) -> None:
        """What one line told; None is a line that is not the program's."""
        if events is None:
            self.foreign += 1
        for event in events or ():
            self.session = self.session or event.session
            self.model = event.model or self.model
            self.cost += event.cost
            _ADDING[event.kind](self, event)

    def _started(self, event: Event) -> None:
        self.ended = False

    def _passed(self, event: Event) -> None:
        """Neither counts: what is done is told as a call besides."""

    def _said(self, event: Event) -> None:
        self.text = event.text or self.text

    def _called(self, event: Event) -> None:
        self.calls += 1
        self.doing = f"{event.tool} {event.target}".strip()

    def _answered(self, event: Event) -> None:
        self.failures += not event.ok
        self.doing = ""

    def _failed(self, event: Event) -> None:
        self.error = event.text

    def _used(self, event: Event) -> None:
        now, used = self._now(), (event.input, event.output, event.cached)
        if event.whole:
            base = self._before if event.whole == TURN else (0, 0, 0)
        else:
            told = self._recent.pop(event.of, (0, 0, 0))
            base = tuple(each - old for each, old in zip(now, told, strict=True))
        self.input, self.output, self.cached = (old + new for old, new in zip(base, used, strict=True))
        if event.of:
            self._recent[event.of] = used
            while len(self._recent) > REMEMBERED:
                self._recent.pop(next(iter(self._recent)))

    def _ended(self, event: Event) -> None:
        self.ended, self.ok = True, event.ok
        self.text = event.text or self.text
        self.turns += event.turns
        self._before = self._now()
        self._recent.clear()

    def _now(self) -> tuple[int, int, int]:
        return self.input, self.output, self.cached


_ADDING: Mapping[str, Callable[[Tally, Event], None]] = {
    STARTED: Tally._started, TEXT: Tally._said, CALL: Tally._called, ANSWER: Tally._answered, ERROR: Tally._failed,
    USAGE: Tally._used, RESULT: Tally._ended, PROMPT: Tally._passed, DONE: Tally._passed,
}  # fmt: skip


# -- each program ----------------------------------------------------------------------------------------------------


def claude_usage(said: Json, **more: Any) -> Event:
    cached = count(said.get("cache_read_input_tokens"))
    read = count(said.get("input_tokens")) + count(said.get("cache_creation_input_tokens")) + cached
    return Event(USAGE, input=read, output=count(said.get("output_tokens")), cached=cached, **more)


def claude_message(said: Json, came: object = None) -> Iterable[Event]:
    """What a model said, was told, or what its tools answered: the same in a stream and in a record of the session.
    `came` is what the program itself knows of a tool's answer."""
    message, id = table(said.get("message")), string(said.get("uuid"), MOST_TARGET)
    model, is_model = string(message.get("model"), MOST_TARGET), said.get("type") == "assistant"
    content = message.get("content")
    for n, part in enumerate([{"type": "text", "text": content}] if isinstance(content, str) else rows(content)):
        if part.get("type") == "text" and (is_model or not _is_own(said)):
            kind = TEXT if is_model else PROMPT
            yield Event(kind, text=string(part.get("text")), model=model, id=f"{id}.{n}" if n and id else id)
        elif part.get("type") == "tool_use":
            yield called("claude", part.get("name"), part.get("input"), part.get("id"), model=model)
        elif part.get("type") == "tool_result":
            yield _claude_answer(part, table(came))
    if is_model and table(message.get("usage")):
        yield claude_usage(table(message["usage"]), of=string(message.get("id"), MOST_TARGET))


def _is_own(said: Json) -> bool:
    """A message in the user's place that nobody wrote: the program's own words to its model, or of an agent inside."""
    return said.get("isMeta") is True or said.get("isSidechain") is True or bool(said.get("parent_tool_use_id"))


def _claude_answer(part: Json, came: Json) -> Event:
    ok, text = part.get("is_error") is not True, parts(part.get("content"), MOST_OUTPUT)
    first, _, rest = text.partition("\n")
    code = first.removeprefix("Exit code ")
    if not ok and code != first and code.isdecimal():
        return Event(ANSWER, text=rest, ok=False, id=string(part.get("tool_use_id"), MOST_TARGET), code=int(code[:9]))
    ended = "stdout" in came and not came.get("returnCodeInterpretation") and not came.get("backgroundTaskId")
    return Event(
        ANSWER, text=text, ok=ok, id=string(part.get("tool_use_id"), MOST_TARGET), code=0 if ok and ended else None,
        edits=_claude_patch(came),
    )  # fmt: skip


def _claude_patch(came: Json) -> tuple[Edit, ...]:
    lines: list[str] = []
    for hunk in rows(came.get("structuredPatch")):
        old, new = (f"{count(hunk.get(f'{side}Start'))},{count(hunk.get(f'{side}Lines'))}" for side in ("old", "new"))
        lines.append(f"@@ -{old} +{new} @@")
        said = hunk.get("lines")
        lines += [string(line) for line in said] if isinstance(said, list) else []
    path = string(came.get("filePath"))
    return (Edit(path, patch="\n".join(lines) + "\n"),) if path and lines else ()


def _claude(said: Json) -> Iterable[Event]:
    kind = said.get("type")
    if kind == "system" and said.get("subtype") == "init":
        yield Event(STARTED, session=string(said.get("session_id")), model=string(said.get("model"), MOST_TARGET))
    elif kind in ("assistant", "user"):
        yield from claude_message(said, said.get("tool_use_result"))
    elif kind == "result":
        ok, words = said.get("is_error") is not True, string(said.get("result"))
        if not ok:
            told = words or string(said.get("subtype"), MOST_TARGET)
            yield Event(ERROR, text=told, ok=False, id=string(said.get("uuid"), MOST_TARGET))
        yield _claude_used(said)
        yield Event(RESULT, text=words, ok=ok, turns=count(said.get("num_turns")))


def _claude_used(said: Json) -> Event:
    """Of this turn, by model. Its sums over everything count what the session had used that it was forked from."""
    models = [table(each) for each in table(said.get("model_usage_since_last_result")).values()]
    if not models:
        return claude_usage(table(said.get("usage")), whole=TURN, cost=amount(said.get("total_cost_usd")))
    cached = sum(count(each.get("cacheReadInputTokens")) for each in models)
    read = sum(count(each.get("inputTokens")) + count(each.get("cacheCreationInputTokens")) for each in models)
    output = sum(count(each.get("outputTokens")) for each in models)
    cost = sum(amount(each.get("costUSD")) for each in models)
    return Event(USAGE, whole=TURN, input=read + cached, output=output, cached=cached, cost=cost)


def codex_usage(said: Json, **more: Any) -> Event:
    cached = count(said.get("cached_input_tokens"))
    read, output = count(said.get("input_tokens")), count(said.get("output_tokens"))
    return Event(USAGE, input=read, output=output, cached=cached, **more)


def _codex(said: Json) -> Iterable[Event]:
    kind = said.get("type")
    if kind == "thread.started":
        yield Event(STARTED, session=string(said.get("thread_id"), MOST_TARGET))
    elif kind in ("item.started", "item.completed"):
        yield from _codex_item(table(said.get("item")), kind == "item.completed")
    elif kind == "turn.completed":
        yield codex_usage(table(said.get("usage")), whole=ALL)
        yield Event(RESULT)
    elif kind in ("turn.failed", "error"):
        words = string(table(said.get("error")).get("message")) or string(said.get("message"))
        yield Event(ERROR, text=words, ok=False)
        if kind == "turn.failed":
            yield Event(RESULT, ok=False)


def _codex_item(item: Json, is_done: bool) -> Iterable[Event]:
    kind, id = string(item.get("type"), MOST_TARGET), string(item.get("id"), MOST_TARGET)
    if kind == "agent_message" and is_done:
        yield Event(TEXT, text=string(item.get("text")), id=id)
    elif kind == "error":
        yield Event(ERROR, text=string(item.get("message")), ok=False, id=id)
    elif kind in ("command_execution", "file_change", "mcp_tool_call", "web_search"):
        if is_done:
            ok = item.get("status") == "completed" and item.get("exit_code") in (None, 0)
            text, code = string(item.get("aggregated_output"), MOST_OUTPUT), number(item.get("exit_code"))
            yield Event(ANSWER, text=text, ok=ok, id=id, code=code)
        else:
            line = deeds.written(string(item.get("command"), MOST_OUTPUT))
            changed = tuple(Edit(string(each.get("path"))) for each in rows(item.get("changes"))[: deeds.MANY])
            tool = string(item.get("tool"), MOST_TARGET) or kind
            yield Event(CALL, tool=tool, target=_codex_target(item), id=id, args=item, command=line, edits=changed)


def _codex_target(item: Json) -> str:
    changed = rows(item.get("changes"))
    return string(changed[0].get("path"), MOST_TARGET) if changed else target(item) or target(item.get("arguments"))


def _gemini(said: Json) -> Iterable[Event]:
    """With which code a command ended is not in it, nor that it ended badly."""
    kind, id = said.get("type"), string(said.get("tool_id"), MOST_TARGET)
    if kind == "init":
        yield Event(STARTED, session=string(said.get("session_id")), model=string(said.get("model"), MOST_TARGET))
    elif kind == "message":
        role = PROMPT if said.get("role") == "user" else TEXT
        yield Event(role, text=string(said.get("content")), part=said.get("delta") is True)
    elif kind == "tool_use":
        yield called("gemini", said.get("tool_name"), said.get("parameters"), id)
    elif kind == "tool_result":
        failed = string(table(said.get("error")).get("message"), MOST_OUTPUT)
        text = string(said.get("output"), MOST_OUTPUT) or failed
        yield Event(ANSWER, text=text, ok=said.get("status") == "success", id=id)
    elif kind == "error":
        yield Event(ERROR, text=string(said.get("message")), ok=False)
    elif kind == "result":
        used = table(said.get("stats"))
        read, output = count(used.get("input_tokens")), count(used.get("output_tokens"))
        yield Event(USAGE, whole=ALL, input=read, output=output, cached=count(used.get("cached")))
        yield Event(RESULT, ok=said.get("status") == "success")


def _opencode(said: Json) -> Iterable[Event]:
    kind, part = said.get("type"), table(said.get("part"))
    id = string(part.get("callID"), MOST_TARGET) or string(part.get("id"), MOST_TARGET)
    if kind == "step_start":
        yield Event(STARTED, session=string(said.get("sessionID"), MOST_TARGET))
    elif kind == "text":
        yield Event(TEXT, text=string(part.get("text")), id=id)
    elif kind == "tool_use":
        state = table(part.get("state"))
        yield called("opencode", part.get("tool"), state.get("input"), id)
        yield _opencode_answer(state, id)
    elif kind == "error":
        failed = table(said.get("error"))
        words = string(table(failed.get("data")).get("message")) or string(failed.get("name"))
        yield Event(ERROR, text=words, ok=False)
        yield Event(RESULT, ok=False)
    elif kind == "step_finish":
        yield from _opencode_step(part)


def _opencode_answer(state: Json, id: str) -> Event:
    text = string(state.get("output"), MOST_OUTPUT) or string(state.get("error"))
    known = table(state.get("metadata"))
    code, changed = number(known.get("exit")), table(known.get("filediff"))
    edits = patches([string(changed.get("file"))], string(changed.get("patch"), MOST_OUTPUT))
    return Event(ANSWER, text=text, ok=state.get("status") == "completed" and not code, id=id, code=code, edits=edits)


def _opencode_step(part: Json) -> Iterable[Event]:
    used = table(part.get("tokens"))
    cache = table(used.get("cache"))
    cached = count(cache.get("read"))
    read = count(used.get("input")) + count(cache.get("write")) + cached
    cost = amount(part.get("cost"))
    yield Event(USAGE, input=read, output=count(used.get("output")), cached=cached, cost=cost)
    if part.get("reason") != "tool-calls":
        yield Event(RESULT)


def copilot(said: Json) -> Iterable[Event]:
    """It tells no tokens of a model of the user's own. `assistant.usage` is in its documentation, and was not seen."""
    kind, data = said.get("type"), table(said.get("data"))
    id = string(data.get("toolCallId"), MOST_TARGET) or string(data.get("messageId"), MOST_TARGET)
    if kind == "session.start":
        yield Event(STARTED, session=string(data.get("sessionId"), MOST_TARGET))
    elif kind == "session.tools_updated":
        yield Event(STARTED, model=string(data.get("model"), MOST_TARGET))
    elif kind in ("assistant.message", "user.message") and string(data.get("content")):
        role = TEXT if kind == "assistant.message" else PROMPT
        yield Event(role, text=string(data.get("content")), model=string(data.get("model"), MOST_TARGET), id=id)
    elif kind == "assistant.usage":
        read, output = count(data.get("inputTokens")), count(data.get("outputTokens"))
        yield Event(USAGE, input=read, output=output, cached=count(data.get("cacheReadTokens")))
    elif kind == "tool.execution_start":
        yield called("copilot", data.get("toolName"), data.get("arguments"), id)
    elif kind == "tool.execution_complete":
        yield _copilot_answer(data, id)
    elif kind == "session.error":
        yield Event(ERROR, text=string(data.get("message")), ok=False)
    elif kind == "result":
        yield Event(RESULT, session=string(said.get("sessionId"), MOST_TARGET), ok=said.get("exitCode") == 0)


def _copilot_answer(data: Json, id: str) -> Event:
    text = string(table(data.get("result")).get("content"), MOST_OUTPUT)
    code = number(table(data.get("shellExecution")).get("exitCode"))
    if code is not None:
        text = text.rpartition("<shellId: ")[0] or text
    text = text or string(table(data.get("error")).get("message"))
    lines = string(table(data.get("result")).get("detailedContent"), MOST_OUTPUT)
    edits = patches([string(each.get("path")) for each in rows(data.get("fileEdits"))], lines)
    return Event(ANSWER, text=text, ok=data.get("success") is True and not code, id=id, code=code, edits=edits)


def _pi(said: Json) -> Iterable[Event]:
    kind, id = said.get("type"), string(said.get("toolCallId"), MOST_TARGET)
    if kind == "session":
        yield Event(STARTED, session=string(said.get("id"), MOST_TARGET))
    elif kind == "message_end":
        yield from pi_message(table(said.get("message")))
    elif kind == "tool_execution_start":
        yield called("pi", said.get("toolName"), said.get("args"), id)
    elif kind == "tool_execution_end":
        yield pi_answer(table(said.get("result")), id, ok=said.get("isError") is not True)
    elif kind == "agent_settled":
        yield Event(RESULT)


def pi_answer(result: Json, id: str, *, ok: bool) -> Event:
    text, code = after(parts(result.get("content"), MOST_OUTPUT), "\nCommand exited with code ")
    lines = string(table(result.get("details")).get("patch"), MOST_OUTPUT)
    edits = patches([lines.partition("\n+++ ")[2].partition("\n")[0]], lines)
    return Event(ANSWER, text=text, ok=ok, id=id, code=code, edits=edits)


def pi_message(message: Json) -> Iterable[Event]:
    if message.get("role") == "user":
        yield Event(PROMPT, text=parts(message.get("content")))
    if message.get("role") != "assistant":
        return
    used, model = table(message.get("usage")), string(message.get("model"), MOST_TARGET)
    cached = count(used.get("cacheRead"))
    read = count(used.get("input")) + count(used.get("cacheWrite")) + cached
    yield Event(TEXT, text=parts(message.get("content")), model=model, id=string(message.get("responseId")))
    cost = amount(table(used.get("cost")).get("total"))
    yield Event(USAGE, input=read, output=count(used.get("output")), cached=cached, cost=cost)
    if message.get("stopReason") in ("error", "aborted"):
        yield Event(ERROR, text=string(message.get("errorMessage")), ok=False)
        yield Event(RESULT, ok=False)


_KNOWN: Mapping[str, Known] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "copilot": copilot,
    "pi": _pi,
}
