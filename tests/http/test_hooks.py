"""Hooks by HTTP: the same answers as from `rook hook`, to whoever the token or the session says."""

import json
from typing import Any

import pytest

from tests.support.doors import Answer, Door
from tests.support.hooking import meaning

SESSION = "claude-session-1"


@pytest.fixture
def asked(door: Door) -> Door:
    """ada's session is known to Claude Code, as its first hook makes it known; bob holds a file."""
    door.post("/v1/call/join", name="bob")
    door.post("/v1/call/turn.start", host="claude", host_id=SESSION, name="ada")
    door.post("/v1/call/reserve", agentId="bob", paths=["src/x.py"], reason="editing the parser")
    return door


def hook(door: Door, event: str, headers: dict[str, str] | None = None, **more: Any) -> Answer:
    return door.post("/v1/hook/claude", headers or {}, **{"hook_event_name": event, "session_id": SESSION, **more})


def write(door: Door, path: str, **more: Any) -> Any:
    return hook(door, "PreToolUse", tool_name="Write", tool_input={"file_path": path}, **more).body


def test_an_edit_of_what_another_holds_is_denied(asked: Door):
    denied = write(asked, "src/x.py")["hookSpecificOutput"]
    assert denied["permissionDecision"] == "deny"
    assert "held by bob" in denied["permissionDecisionReason"]
    assert write(asked, "src/y.py") == {}


def test_the_holder_itself_is_let_through(asked: Door):
    assert write(asked, "src/x.py", agentId="bob", session_id="bobs own") == {}


def test_mail_is_handed_over_once_and_written_down(asked: Door):
    sent = asked.post("/v1/messages", agentId="bob", to="ada", subject="Ready", body="Start").body
    tool = {"tool_name": "Read", "tool_input": {"file_path": "x"}}
    assert "| Start" in hook(asked, "PostToolUse", **tool).body["hookSpecificOutput"]["additionalContext"]
    assert hook(asked, "PostToolUse", **tool).body == {}
    (told,) = asked.post("/v1/call/receipts", agentId="bob", id=sent["id"]).body["recipients"]
    assert [each["stage"] for each in told["receipts"]] == ["accepted", "handed-over"]


def test_an_end_is_held_once(asked: Door):
    asked.post("/v1/messages", agentId="bob", to="ada", subject="Wait")
    assert hook(asked, "Stop").body["decision"] == "block"
    assert hook(asked, "Stop", stop_hook_active=True).body == {}


def test_a_session_that_nobody_knows_is_given_nobodys_mail(asked: Door):
    asked.post("/v1/messages", agentId="bob", to="user", subject="private")
    assert asked.post("/v1/hook/claude", hook_event_name="Stop", session_id="another").body == {}
    assert "held by bob" in json.dumps(asked.post(
        "/v1/hook/claude", hook_event_name="PreToolUse", tool_name="Write", tool_input={"file_path": "src/x.py"},
    ).body)  # fmt: skip


def test_a_session_of_one_agent_is_not_anothers(asked: Door):
    bob = asked.having(asked.operator.post("/v1/call/token.new", agent="bob").body["token"])
    answer = hook(bob, "Stop")
    assert (answer.status, answer.code) == (403, "NOT_YOUR_SESSION")
    assert "ROOK_AGENT=bob" in answer.body["error"]["hint"]


def test_an_agents_token_is_that_agent_and_nobody_else(asked: Door):
    made = asked.operator.post("/v1/call/token.new", agent="bob").body
    bob = asked.having(made["token"])
    assert write(bob, "src/x.py", session_id="unknown") == {}, "bob holds it"
    refused = hook(bob, "PreToolUse", tool_name="Write", tool_input={"file_path": "src/x.py"}, agentId="ada")
    assert refused.status == 403
    reader = asked.having(asked.operator.post("/v1/call/token.new", read_only=True).body["token"])
    assert hook(reader, "Stop").status == 403


@pytest.mark.parametrize(
    "body", [{}, {"hook_event_name": 7}, {"cwd": "\0", "hook_event_name": "Stop"}, {"tool_input": []}]
)
def test_what_is_hardly_an_event_breaks_nothing(asked: Door, body: dict[str, Any]):
    assert asked.post("/v1/hook/claude", **body).status in (200, 422)


# -- errors are answered by policy -------------------------------------------------------------------------------------


BROKEN = [b"{", b"[]", b"\xff", b"[" * 50_000, b'{"tool_name": 5}', b'{"tool_name": "Bash", "tool_input": 7}']


@pytest.mark.parametrize("body", BROKEN)
def test_what_is_no_event_is_refused_by_a_closed_hook(asked: Door, body: bytes):
    """To the program any status but 200 is a yes."""
    answer = asked.raw("POST", "/v1/hook/claude?closed=1", body)
    assert answer.status == 200
    assert meaning(answer.body) == "deny"
    assert asked.raw("POST", "/v1/hook/claude", body).status in (200, 422)


def test_a_body_that_is_too_large_is_refused_by_a_closed_hook(asked: Door):
    answer = asked.raw("POST", "/v1/hook/claude?closed=1", b"x", {"Content-Length": str(1 << 40)})
    assert (answer.status, meaning(answer.body)) == (200, "deny")


def test_a_path_that_can_not_be_judged_is_refused_or_warned_of(asked: Door):
    given = {"hook_event_name": "PreToolUse", "session_id": SESSION, "tool_name": "Write"}
    body = json.dumps({**given, "tool_input": {"file_path": "src/\0"}}).encode()
    assert meaning(asked.raw("POST", "/v1/hook/claude?closed=1", body).body) == "deny"
    assert meaning(asked.raw("POST", "/v1/hook/claude", body).body) == "warn"


def test_a_token_of_someone_else_is_refused_by_a_closed_hook(asked: Door):
    bob = asked.having(asked.operator.post("/v1/call/token.new", agent="bob").body["token"])
    given = {"hook_event_name": "PreToolUse", "session_id": SESSION, "tool_name": "Write", "tool_input": {}}
    answer = bob.post("/v1/hook/claude?closed=1", {}, **given)
    assert (answer.status, meaning(answer.body)) == (200, "deny")


def test_an_unknown_program_is_not_found(asked: Door):
    answer = asked.post("/v1/hook/cluade", hook_event_name="Stop")
    assert (answer.status, answer.body["error"]["code"]) == (404, "UNKNOWN_HOST")
