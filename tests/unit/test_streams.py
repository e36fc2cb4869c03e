"""What programs print of themselves, read: what was seen of each, what may stand in any line, and what counts twice."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.hosts import launching, streams, transcripts, values
from rookery.hosts.streams import Event, Tally

SEEN = Path(__file__).parents[1] / "hosts" / "streams"
HOSTS = ("claude", "codex", "gemini", "opencode", "copilot", "pi")
TOOLS = {
    "claude": ["Write /src/nest/made.txt", "Bash rook task add Reported"],
    "codex": ["file_change /src/nest/made.txt", "command_execution /bin/bash -lc 'rook task add Reported'"],
    "gemini": ["write_file /src/nest/made.txt", "run_shell_command rook task add Reported"],
    "opencode": ["write /src/nest/made.txt", "bash rook task add Reported"],
    "copilot": ["create /src/nest/made.txt", "bash rook task add Reported"],
    "pi": ["write /src/nest/made.txt", "bash rook task add Reported"],
}
NAMES = """type subtype system init assistant user result message content usage tool_use tool_result item.started
item.completed item turn.completed turn.failed error thread.started changes path stats part state tokens cache data
arguments tool.execution_start assistant.message session message_end agent_settled payload response_item
token_usage_record function_call toolCalls gemini model_usage_since_last_result input_tokens role text step_finish
name input is_error status"""
WORDS = st.sampled_from(NAMES.split())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=25,
)


def tally(host: str, lines: list[Any]) -> Tally:
    counted = Tally()
    for line in lines:
        counted.add(streams.read(host, line if isinstance(line, str | bytes) else json.dumps(line)))
    return counted


def seen(host: str) -> list[str]:
    return (SEEN / f"{host}.jsonl").read_text().splitlines()


@pytest.mark.parametrize("host", HOSTS)
def test_what_was_seen_of_a_program_is_read(host: str) -> None:
    counted = tally(host, list(seen(host)))
    assert (counted.calls, counted.failures, counted.foreign) == (2, 0, 0)
    assert (counted.ended, counted.ok, counted.text, counted.error) == (True, True, "All done.", "")
    assert counted.session
    events = [event for line in seen(host) for event in streams.read(host, line) or ()]
    assert [f"{event.tool} {event.target}" for event in events if event.kind == streams.CALL] == TOOLS[host]
    assert any("Reported" in event.text for event in events if event.kind == streams.ANSWER)


@pytest.mark.parametrize("host", HOSTS)
def test_a_stream_that_is_torn_anywhere_is_read_as_far_as_it_goes(host: str) -> None:
    whole = "\n".join(seen(host))
    for part in range(1, 20):
        torn = whole[: len(whole) * part // 20].splitlines()
        counted = tally(host, list(torn))
        assert counted.foreign <= 1
        assert not counted.ended or torn[-1] == whole.splitlines()[-1] or counted.text == "All done."


@given(host=st.sampled_from(HOSTS), value=JSON)
def test_no_line_whatever_stands_in_it_makes_reading_fail(host: str, value: Any) -> None:
    counted = Tally()
    for read in (streams.read, transcripts.read):
        line = json.dumps(value)
        counted.add(read(host, line))
        counted.add(read(host, line[: len(line) // 2]))
    assert min(counted.input, counted.output, counted.cached, counted.calls, counted.foreign) >= 0


@pytest.mark.parametrize(
    "line", [b"", b"\xff\xfe", b"[" * 100_000, b"null", b"[1]", b'"text"', b"1", b"{", b"Warning: x"]
)
def test_a_line_that_is_not_the_programs_is_counted(line: bytes) -> None:
    assert [streams.read(host, line) for host in HOSTS] == [None] * len(HOSTS)
    assert tally("claude", [line]).foreign == 1


def test_an_event_that_is_not_known_is_passed_over() -> None:
    assert [streams.read(host, '{"type": "quite.new"}') for host in HOSTS] == [[]] * len(HOSTS)


def said(id: str, read: int, wrote: int, cached: int = 0) -> dict[str, Any]:
    usage = {"input_tokens": read - cached, "cache_read_input_tokens": cached, "output_tokens": wrote}
    return {"type": "assistant", "message": {"id": id, "usage": usage, "content": [{"type": "text", "text": id}]}}


def test_what_a_message_used_counts_once_however_often_it_is_told() -> None:
    counted = tally("claude", [said("m1", 10, 1), said("m1", 10, 5), said("m2", 30, 2, cached=20)])
    assert (counted.input, counted.output, counted.cached) == (40, 7, 20)
    # The negative control: without the message's id all three would count.
    assert tally("claude", [said("", 10, 1), said("", 10, 5), said("", 30, 2)]).input == 50


def test_what_a_turn_used_stands_in_the_place_of_its_messages_and_is_added_to_the_turn_before() -> None:
    def result(read: int, wrote: int) -> dict[str, Any]:
        used = {"big": {"inputTokens": read - 1, "outputTokens": wrote, "costUSD": 0.5}, "small": {"inputTokens": 1}}
        return {"type": "result", "result": "r", "num_turns": 2, "model_usage_since_last_result": used}

    counted = tally("claude", [said("m1", 10, 1), result(100, 50), said("m2", 10, 1), result(40, 20)])
    assert (counted.input, counted.output, counted.cost, counted.turns) == (140, 70, 1.0, 4)


def test_a_turn_that_failed_is_told_so() -> None:
    failing = {
        "claude": [{"type": "result", "subtype": "error_during_execution", "is_error": True, "result": "broke"}],
        "codex": [{"type": "turn.failed", "error": {"message": "broke"}}],
        "gemini": [{"type": "error", "message": "broke"}, {"type": "result", "status": "error"}],
        "opencode": [{"type": "error", "error": {"name": "X", "data": {"message": "broke"}}}],
        "copilot": [{"type": "session.error", "data": {"message": "broke"}}, {"type": "result", "exitCode": 1}],
        "pi": [
            {"type": "message_end", "message": {"role": "assistant", "stopReason": "error", "errorMessage": "broke"}}
        ],
    }
    for host in HOSTS:
        counted = tally(host, failing[host])
        assert (counted.ended, counted.ok, counted.error) == (True, False, "broke"), host


def test_a_text_is_cut_and_a_number_that_is_none_counts_nothing() -> None:
    counted = tally("claude", [said("m" * 50_000, 1, 1)])
    assert len(counted.text) == values.MOST_TEXT
    wild = {"input_tokens": -5, "output_tokens": 1 << 60, "cache_read_input_tokens": True}
    counted = tally("claude", [{"type": "assistant", "message": {"usage": wild}}])
    assert (counted.input, counted.output, counted.cached) == (0, 0, 0)


def test_every_program_that_can_be_started_headless_has_a_stream_that_is_known() -> None:
    assert [host for host in HOSTS if not streams.streamed(host)] == []
    assert not streams.streamed(launching.SCRIPT)
    assert [host for host in HOSTS if transcripts.kept(host)] == ["claude", "codex", "gemini", "copilot", "pi"]
    assert streams.read("script", "{}") is None


def test_a_record_is_counted_the_same_when_it_is_read_again() -> None:
    gemini = {"id": "a", "type": "gemini", "content": "x", "tokens": {"input": 10, "output": 5}, "model": "m"}
    codex = {"type": "token_usage_record", "payload": {"response_id": "r1", "usage": {"input_tokens": 10}}}
    copilot = {"id": "c", "type": "session.usage_record", "data": {"usage": {"inputTokens": 10, "outputTokens": 5}}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "x"}], "usage": {"input": 10, "output": 5}}
    pi = {"id": "p", "type": "message", "message": said}
    for host, line in (("gemini", gemini), ("codex", codex), ("copilot", copilot), ("pi", pi)):
        counted = Tally()
        for _ in range(2):
            counted.add(transcripts.read(host, json.dumps(line)))
        assert counted.input == 10


def test_an_event_is_as_small_as_it_can_be() -> None:
    assert Event(streams.TEXT) == Event("text", text="")
