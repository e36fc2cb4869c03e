"""What a program without a terminal tells of itself, line by line, as the same few events for all of them. Pure.

    started   its session, its model           usage    tokens: of one message, of the turn, of all (`whole`)
    text      what it says                     error    what went wrong, in its words
    call      a tool, and what it is used on   result   its turn is over: what it said last, whether well, the cost
    answer    what came of that

A line that is torn, is no object or is not of this program is passed over and counted; an event that is not known is
passed over. Nothing that a program prints makes reading it fail: its text, and its numbers, are the program's word.
`tests/hosts/streams` holds what each of them was seen to print.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rookery.core.record import NamedTuple

STARTED, TEXT, CALL, ANSWER, ERROR, USAGE, RESULT = "started", "text", "call", "answer", "error", "usage", "result"
TURN, ALL = "turn", "all"
MOST_TEXT = 20_000  # characters of one event
MOST_TARGET = 400
MOST_TOKENS = 1 << 53
REMEMBERED = 64  # messages whose usage may still be corrected
Json = Mapping[str, Any]


class Event(NamedTuple):
    kind: str
    session: str = ""
    model: str = ""
    text: str = ""
    tool: str = ""
    target: str = ""
    ok: bool = True
    of: str = ""  # the message that a usage is of: what is told of it twice counts once
    whole: str = ""  # of everything since the last result (TURN), or in this session (ALL)
    input: int = 0  # all tokens that were read, those from a cache among them
    output: int = 0
    cached: int = 0
    cost: float = 0.0  # of this alone, in dollars, as the program says
    turns: int = 0


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
    USAGE: Tally._used, RESULT: Tally._ended,
}  # fmt: skip


# -- values of a line, whatever stands there -------------------------------------------------------------------------


def string(value: object, limit: int = MOST_TEXT) -> str:
    return value[:limit] if isinstance(value, str) else ""


def table(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def count(value: object) -> int:
    """A number of tokens or turns."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS:
        return value
    return 0


def amount(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS:
        return float(value)
    return 0.0


_TARGETS = (
    "file_path", "path", "filePath", "notebook_path", "command", "cmd", "pattern", "query", "url", "file", "description"
)  # fmt: skip


def target(args: object) -> str:
    """What a tool is used on, from its arguments."""
    known = table(args)
    return next((found for name in _TARGETS if (found := string(known.get(name), MOST_TARGET))), "")


def parts(content: object) -> str:
    """The text of a message that may consist of parts."""
    if isinstance(content, str):
        return string(content)
    return string("\n".join(string(part.get("text")) for part in rows(content) if string(part.get("text"))))


# -- each program ----------------------------------------------------------------------------------------------------


def claude_usage(said: Json, **more: Any) -> Event:
    cached = count(said.get("cache_read_input_tokens"))
    read = count(said.get("input_tokens")) + count(said.get("cache_creation_input_tokens")) + cached
    return Event(USAGE, input=read, output=count(said.get("output_tokens")), cached=cached, **more)


def claude_message(said: Json) -> Iterable[Event]:
    """What a model said, or what its tools answered: the same in a stream and in a record of the session."""
    message = table(said.get("message"))
    model = string(message.get("model"), MOST_TARGET)
    for part in rows(message.get("content")):
        if part.get("type") == "text" and said.get("type") == "assistant":
            yield Event(TEXT, text=string(part.get("text")), model=model)
        elif part.get("type") == "tool_use":
            yield Event(CALL, tool=string(part.get("name"), MOST_TARGET), target=target(part.get("input")), model=model)
        elif part.get("type") == "tool_result":
            yield Event(ANSWER, text=parts(part.get("content")), ok=part.get("is_error") is not True)
    if said.get("type") == "assistant" and table(message.get("usage")):
        yield claude_usage(table(message["usage"]), of=string(message.get("id"), MOST_TARGET))


def _claude(said: Json) -> Iterable[Event]:
    kind = said.get("type")
    if kind == "system" and said.get("subtype") == "init":
        yield Event(STARTED, session=string(said.get("session_id")), model=string(said.get("model"), MOST_TARGET))
    elif kind in ("assistant", "user"):
        yield from claude_message(said)
    elif kind == "result":
        ok, words = said.get("is_error") is not True, string(said.get("result"))
        if not ok:
            yield Event(ERROR, text=words or string(said.get("subtype"), MOST_TARGET), ok=False)
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
    kind = string(item.get("type"), MOST_TARGET)
    if kind == "agent_message" and is_done:
        yield Event(TEXT, text=string(item.get("text")))
    elif kind == "error":
        yield Event(ERROR, text=string(item.get("message")), ok=False)
    elif kind in ("command_execution", "file_change", "mcp_tool_call", "web_search"):
        if is_done:
            ok = item.get("status") == "completed" and item.get("exit_code") in (None, 0)
            yield Event(ANSWER, text=string(item.get("aggregated_output")), ok=ok)
        else:
            yield Event(CALL, tool=string(item.get("tool"), MOST_TARGET) or kind, target=_codex_target(item))


def _codex_target(item: Json) -> str:
    changed = rows(item.get("changes"))
    return string(changed[0].get("path"), MOST_TARGET) if changed else target(item) or target(item.get("arguments"))


def _gemini(said: Json) -> Iterable[Event]:
    kind = said.get("type")
    if kind == "init":
        yield Event(STARTED, session=string(said.get("session_id")), model=string(said.get("model"), MOST_TARGET))
    elif kind == "message" and said.get("role") == "assistant":
        yield Event(TEXT, text=string(said.get("content")))
    elif kind == "tool_use":
        yield Event(CALL, tool=string(said.get("tool_name"), MOST_TARGET), target=target(said.get("parameters")))
    elif kind == "tool_result":
        yield Event(ANSWER, text=string(said.get("output")), ok=said.get("status") == "success")
    elif kind == "error":
        yield Event(ERROR, text=string(said.get("message")), ok=False)
    elif kind == "result":
        used = table(said.get("stats"))
        read, output = count(used.get("input_tokens")), count(used.get("output_tokens"))
        yield Event(USAGE, whole=ALL, input=read, output=output, cached=count(used.get("cached")))
        yield Event(RESULT, ok=said.get("status") == "success")


def _opencode(said: Json) -> Iterable[Event]:
    kind, part = said.get("type"), table(said.get("part"))
    if kind == "step_start":
        yield Event(STARTED, session=string(said.get("sessionID"), MOST_TARGET))
    elif kind == "text":
        yield Event(TEXT, text=string(part.get("text")))
    elif kind == "tool_use":
        state = table(part.get("state"))
        yield Event(CALL, tool=string(part.get("tool"), MOST_TARGET), target=target(state.get("input")))
        text = string(state.get("output")) or string(state.get("error"))
        yield Event(ANSWER, text=text, ok=state.get("status") == "completed")
    elif kind == "error":
        failed = table(said.get("error"))
        yield Event(
            ERROR, text=string(table(failed.get("data")).get("message")) or string(failed.get("name")), ok=False
        )
        yield Event(RESULT, ok=False)
    elif kind == "step_finish":
        yield from _opencode_step(part)


def _opencode_step(part: Json) -> Iterable[Event]:
    used = table(part.get("tokens"))
    cache = table(used.get("cache"))
    cached = count(cache.get("read"))
    read = count(used.get("input")) + count(cache.get("write")) + cached
    cost = amount(part.get("cost"))
    yield Event(USAGE, input=read, output=count(used.get("output")), cached=cached, cost=cost)
    if part.get("reason") != "tool-calls":
        yield Event(RESULT)


def _copilot(said: Json) -> Iterable[Event]:
    """It tells no tokens of a model of the user's own. `assistant.usage` is in its documentation, and was not seen."""
    kind, data = said.get("type"), table(said.get("data"))
    if kind == "session.start":
        yield Event(STARTED, session=string(data.get("sessionId"), MOST_TARGET))
    elif kind == "session.tools_updated":
        yield Event(STARTED, model=string(data.get("model"), MOST_TARGET))
    elif kind == "assistant.message" and string(data.get("content")):
        yield Event(TEXT, text=string(data.get("content")), model=string(data.get("model"), MOST_TARGET))
    elif kind == "assistant.usage":
        read, output = count(data.get("inputTokens")), count(data.get("outputTokens"))
        yield Event(USAGE, input=read, output=output, cached=count(data.get("cacheReadTokens")))
    elif kind == "tool.execution_start":
        yield Event(CALL, tool=string(data.get("toolName"), MOST_TARGET), target=target(data.get("arguments")))
    elif kind == "tool.execution_complete":
        text = string(table(data.get("result")).get("content")) or string(table(data.get("error")).get("message"))
        yield Event(ANSWER, text=text, ok=data.get("success") is True)
    elif kind == "session.error":
        yield Event(ERROR, text=string(data.get("message")), ok=False)
    elif kind == "result":
        yield Event(RESULT, session=string(said.get("sessionId"), MOST_TARGET), ok=said.get("exitCode") == 0)


def _pi(said: Json) -> Iterable[Event]:
    kind = said.get("type")
    if kind == "session":
        yield Event(STARTED, session=string(said.get("id"), MOST_TARGET))
    elif kind == "message_end":
        yield from _pi_message(table(said.get("message")))
    elif kind == "tool_execution_start":
        yield Event(CALL, tool=string(said.get("toolName"), MOST_TARGET), target=target(said.get("args")))
    elif kind == "tool_execution_end":
        answered = parts(table(said.get("result")).get("content"))
        yield Event(ANSWER, text=answered, ok=said.get("isError") is not True)
    elif kind == "agent_settled":
        yield Event(RESULT)


def _pi_message(message: Json) -> Iterable[Event]:
    if message.get("role") != "assistant":
        return
    used, model = table(message.get("usage")), string(message.get("model"), MOST_TARGET)
    cached = count(used.get("cacheRead"))
    read = count(used.get("input")) + count(used.get("cacheWrite")) + cached
    yield Event(TEXT, text=parts(message.get("content")), model=model)
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
    "copilot": _copilot,
    "pi": _pi,
}
