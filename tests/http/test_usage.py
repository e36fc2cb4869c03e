"""Seed 002's budget from outside: usage, limits, and 429 in the one shape of refusals."""

import threading
from typing import Any

import pytest

from tests.support.doors import Answer, Door, Running

BUDGET = {"maxTokens": 1000, "hardLimit": True}


@pytest.fixture
def limited(door: Door) -> Door:
    """A team of a leader and two workers with 1,000 tokens."""
    agents = [{"id": "leader", "role": "leader"}, {"id": "ada", "role": "dev", "model": "m1"}, {"id": "bob"}]
    made = door.operator.post("/v1/teams", agents=agents, budget=BUDGET)
    assert made.status == 201, made
    return door


def report(door: Door, tokens: int, agent: str = "ada", **more: Any) -> Answer:
    return door.post("/v1/usage", agentId=agent, inputTokens=tokens, **more)


def spend(door: Door) -> None:
    assert report(door, 1000).status == 201


# --- teams -----------------------------------------------------------------------------------------------------------


def test_a_team_is_defined_and_changed(limited: Door, daemon: Running) -> None:
    team = limited.get("/v1/agents").body["team"]
    shown = limited.get(f"/v1/teams/{team}").body["team"]
    assert shown["schemaVersion"] == "1.0.0"
    assert (shown["teamId"], shown["leader"], shown["strict"]) == (team, "leader", False)
    assert shown["agents"][1] == {"id": "ada", "role": "dev", "model": "m1"}
    assert shown["budget"].items() >= BUDGET.items()
    changed = limited.operator.post(
        "/v1/teams", leader="bob", guard="strict", groups={"g": ["ada"]}, budget={"maxTokens": 5}
    )
    assert changed.status == 201
    team = changed.body["team"]
    assert (team["leader"], team["strict"], team["groups"]) == ("bob", True, {"g": ["ada"]})
    assert team["budget"].items() >= {"maxTokens": 5, "hardLimit": True}.items()
    assert limited.get("/v1/can-write", agentId="ada", path="src/x.py").body["allow"] is False
    sent = limited.post("/v1/messages", agentId="ada", to=["broadcast:g", "any:leader"], subject="s")
    assert sent.status == 201


def test_every_problem_of_a_definition_is_told(limited: Door) -> None:
    refused = limited.operator.post(
        "/v1/teams", agnets=[], leader="nobody", budget={"maxTokens": -1, "hardLimit": "yes"}
    )
    assert (refused.status, refused.code) == (422, "BAD_TEAM")
    assert len(refused.body["error"]["problems"]) == 4
    assert "Did you mean agents" in refused.body["error"]["message"]
    assert limited.get("/v1/usage").body["budget"]["maxTokens"] == 1000


def test_an_agent_may_not_raise_its_own_budget(limited: Door) -> None:
    for agent in ("ada", "leader"):
        assert limited.post("/v1/teams", agentId=agent, budget={"maxTokens": 10**9}).status == 403
        assert limited.post("/v1/call/budget.set", agentId=agent, max_tokens=10**9).status == 403


# --- usage -----------------------------------------------------------------------------------------------------------


def test_usage_is_reported_and_shown(limited: Door) -> None:
    id = limited.task()
    limited.claim(id)
    made = limited.post("/v1/usage", agentId="ada", taskId=id, inputTokens=30, outputTokens=12, model="m1")
    assert made.status == 201
    assert (made.body["agent"], made.body["task"], made.body["inputTokens"]) == ("ada", id, 30)
    assert made.body["standing"]["team"]["tokens"] == 42
    shown = limited.get("/v1/usage").body
    assert (shown["tokens"], shown["maxTokens"], shown["percent"], shown["stage"]) == (42, 1000, 4, "ok")
    assert [each["agent"] for each in shown["agents"]] == ["ada"]
    assert limited.get("/v1/usage", agentId="ada").body["usage"][0]["outputTokens"] == 12
    assert limited.get("/v1/usage", taskId=id).body["tasks"][0]["tokens"] == 42
    assert limited.get(f"/v1/tasks/{id}").body["task"]["tokens"] == 42
    assert limited.get("/v1/usage", agentId="nobody").status == 404
    assert limited.get("/v1/usage", taskId="task-9999").status == 404


def test_a_repeat_is_not_counted(limited: Door) -> None:
    key = {"Idempotency-Key": "turn-1"}
    first = limited.post("/v1/usage", key, agentId="ada", inputTokens=10)
    again = limited.post("/v1/usage", key, agentId="ada", inputTokens=10)
    assert (first.status, again.status) == (201, 200)
    assert first.body == again.body
    assert limited.post("/v1/usage", key, agentId="ada", inputTokens=11).status == 422
    assert [report(limited, 10, meter="s").status for _ in range(3)] == [201, 200, 200]
    assert limited.get("/v1/usage").body["tokens"] == 20


@pytest.mark.parametrize(
    "body",
    [
        b'{"agentId":"ada","inputTokens":-1}', b'{"agentId":"ada","inputTokens":9007199254740993}',
        b'{"agentId":"ada","inputTokens":1e3}', b'{"agentId":"ada","inputTokens":NaN}',
        b'{"agentId":"ada","inputTokens":Infinity}', b'{"agentId":"ada","inputTokens":"5"}',
        b'{"agentId":"ada","inputTokens":true}', b'{"agentId":"ada","inputTokens":[1]}',
        b'{"agentId":"ada","inputTokens":1' + b"0" * 5000 + b"}", b'{"agentId":"ada","inputTokens":1,"model":7}',
        b'{"agentId":"ada","inputTokens":1,"taskId":{}}', b'{"agentId":"../x","inputTokens":1}',
    ],
    ids=lambda body: body[:60].decode(),
)  # fmt: skip
def test_hostile_reports(limited: Door, body: bytes) -> None:
    before = limited.get("/v1/usage").body
    refused = limited.raw("POST", f"/v1/usage?teamId={before['teamId']}", body, {"Content-Type": "application/json"})
    assert refused.status == 422, refused
    assert refused.body["error"]["hint"]
    assert limited.get("/v1/usage").body == before


# --- 429 -------------------------------------------------------------------------------------------------------------


def test_what_a_spent_budget_refuses_and_lets_through(limited: Door) -> None:
    held, other = limited.task(), limited.task()
    epoch = limited.claim(held)
    limited.post("/v1/threads", title="t", participants=["bob"], agentId="ada")
    spend(limited)
    refused = limited.post(f"/v1/tasks/{other}/claim", agentId="ada")
    assert (refused.status, refused.code) == (429, "BUDGET_EXCEEDED")
    error = refused.body["error"]
    assert set(error) >= {"code", "message", "hint"}
    assert "1,000 of 1,000 tokens" in error["message"]
    assert "The user can raise it: `rook budget set --max-tokens N`" in error["hint"]
    assert (error["scope"], error["tokens"], error["maxTokens"]) == ("team", 1000, 1000)
    for path, body in {
        "/v1/messages": {"to": ["bob"], "subject": "s"},
        "/v1/threads": {"title": "t", "participants": ["bob"]},
        "/v1/threads/thread-0001/messages": {"body": "b"},
        "/v1/call/broadcast": {"subject": "s"},
        "/v1/call/task.claim": {"next": True},
    }.items():
        assert limited.post(path, agentId="ada", **body).status == 429, path
    assert limited.post(f"/v1/tasks/{held}/progress", agentId="ada", epoch=epoch, note="half").status == 200
    assert limited.post("/v1/messages", agentId="ada", to=["user"], subject="A question").status == 201
    assert limited.post("/v1/call/escalate", agentId="ada", title="Spent").status == 200
    assert report(limited, 5).status == 201
    assert limited.get("/v1/inbox", agentId="ada", since=0).status == 200
    assert limited.post(f"/v1/tasks/{held}/complete", agentId="ada", epoch=epoch).status == 200
    assert limited.operator.post("/v1/teams", budget={"maxTokens": 2000}).status == 201
    limited.claim(other)


def test_the_leader_learns_of_it_by_mail_and_by_cursor(limited: Door) -> None:
    for _ in range(10):
        report(limited, 100)
    events = limited.get("/v1/inbox", agentId="leader", since=0).body["events"]
    assert [each["type"] for each in events if "budget" in each["type"]] == ["budget_near", "budget_spent"]
    subjects = [each["subject"] for each in limited.operator.get("/v1/messages", agentId="leader").body["messages"]]
    assert [subject.partition(":")[0].partition(" is ")[2] for subject in subjects] == ["nearly spent", "spent"]


@pytest.mark.slow
def test_eight_at_once_lose_nothing(limited: Door) -> None:
    limited.operator.post("/v1/teams", budget={"maxTokens": None})
    ids = [limited.task(agentId=f"worker{number}") for number in range(4)]
    answers: list[int] = []

    def work(number: int) -> None:
        agent, id = f"worker{number % 4}", ids[number % 4]
        for turn in range(20):
            answers.append(report(limited, 1, agent, outputTokens=1, taskId=id).status)
            answers.append(report(limited, 3 * turn, agent, meter=f"m{number}", taskId=id).status)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers) <= {200, 201}
    shown = limited.get("/v1/usage").body
    assert shown["tokens"] == 8 * (20 * 2 + 3 * 19)
    assert [each["tokens"] for each in shown["agents"]] == [shown["tokens"] // 4] * 4
    assert [each["tokens"] for each in shown["tasks"]] == [shown["tokens"] // 4] * 4


@pytest.mark.slow
def test_the_numbers_for_prometheus(limited: Door) -> None:
    report(limited, 77)
    team = limited.get("/v1/usage").body["teamId"]
    assert f'rook_tokens_used{{team="{team}"}} 77' in limited.get("/metrics").body.splitlines()
