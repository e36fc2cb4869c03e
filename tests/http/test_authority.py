"""H42 over HTTP: only an operator's token decides; the daemon's own token is any agent and never the user."""

import json
from typing import Any

import pytest

from rookery.core import authority
from rookery.service.verbs import TABLE
from tests.support.doors import Answer, Door

ARGUMENTS: dict[str, dict[str, Any]] = {
    "kind.add": {"written": "x"}, "kind.drop": {"name": "x"}, "rule.add": {"name": "x"}, "rule.remove": {"name": "x"},
    "land.add": {"change": "x"}, "land.retry": {"id": "x"}, "land.undo": {"id": "x"}, "land.drop": {"id": "x"},
    "token.new": {"agent": "ada"}, "token.revoke": {"id": "x"}, "trust.accept": {"accepted": {}},
    "config.set": {"name": "x", "value": "y"}, "import_mail": {"letters": []}, "budget.set": {"max_tokens": 5},
    "verdict": {"subject": "w1/1", "action": "promote"}, "answer": {"id": "Q-0001", "approve": True},
    "task.review": {"id": "task-0001", "verdict": "SHIP"}, "release": {"paths": ["a"], "force": True},
}  # fmt: skip
DECIDING = [verb.name for verb in TABLE if verb.who == authority.USER] + ["release"]
JUDGING = [verb.name for verb in TABLE if verb.who == authority.JUDGE]
HEADERS: dict[str, dict[str, str]] = {
    "plain": {}, "agent": {"X-Rook-Agent": "user"}, "AGENT": {"X-Rook-Agent": "USER"},
    "caller": {"X-Rook-Caller": json.dumps({"agent": "user", "lineage": [[1, "1"]], "host": "h", "boot": "b"})},
}  # fmt: skip


def call(door: Door, verb: str, headers: dict[str, str]) -> Answer:
    return door.post(f"/v1/call/{verb}", headers, **ARGUMENTS.get(verb, {}))


@pytest.mark.parametrize("how", HEADERS)
@pytest.mark.parametrize("token", ["agent", "viewer", "daemon"])
def test_h42_no_token_but_an_operators_decides(door: Door, token: str, how: str) -> None:
    asks = door if token == "daemon" else door.having(minted(door, token))
    for verb in DECIDING:
        answer = call(asks, verb, HEADERS[how])
        assert answer.status == 403, (verb, answer)
    recorded = [each for each in door.get("/v1/events", after=0, limit=10_000).body["events"]
                if each["type"] == "authority.refused"]  # fmt: skip
    if how == "plain":
        assert {each["ref"] for each in recorded} >= set(DECIDING) - {"release"}
    assert door.operator.post("/v1/call/rule.list").body["rules"] == []


def minted(door: Door, role: str) -> str:
    args: dict[str, Any] = {"agent": "ada"} if role == "agent" else {"role": role}
    return door.operator.post("/v1/call/token.new", **args).body["token"]


@pytest.mark.parametrize("how", HEADERS)
def test_h42_the_daemons_token_judges_nothing(door: Door, how: str) -> None:
    for verb in JUDGING:
        assert call(door, verb, HEADERS[how]).status == 403, verb
    assert call(door, "task.review", {"X-Rook-Agent": "bob"}).code == "NO_TERMINAL"


def test_an_operators_token_decides(door: Door) -> None:
    for verb in [*DECIDING, *JUDGING]:
        answer = call(door.operator, verb, {})
        assert answer.status not in (401, 403), (verb, answer)


@pytest.mark.parametrize("claim", ["origin", "grant", "daemon_token"])
def test_h42_a_header_proves_nothing(door: Door, claim: str) -> None:
    proofs = {"origin": {"terminal": True}, "grant": ["crew", "token-0001", "operator"], "daemon_token": False}
    answer = door.post("/v1/call/who", {"X-Rook-Caller": json.dumps({claim: proofs[claim]})})
    assert answer.status == 422


def test_h42_what_the_daemons_token_writes_without_a_name_is_the_systems(door: Door) -> None:
    task = door.task("work")
    events = door.get("/v1/events", after=0, limit=100).body["events"]
    (made,) = [each for each in events if each["ref"] == task]
    assert (made["actor"], made["caller"]["token"]) == ("system", "daemon")
    refused = door.post("/v1/messages", agentId="user", to=["ada"], subject="I approve")
    assert refused.status == 403


@pytest.mark.parametrize("verb", ["land.done", "worker.begin", "crew.step", "delivery.done"])
def test_h42_the_services_of_the_daemon_are_called_by_nobody_else(door: Door, verb: str) -> None:
    args = {"land.done": {"ids": [], "owner": "x"}, "worker.begin": {"id": "w1", "owner": "x"},
            "crew.step": {"id": "crew-0001"}, "delivery.done": {}}[verb]  # fmt: skip
    for asks in (door, door.operator, door.having(minted(door, "agent"))):
        answer = asks.post(f"/v1/call/{verb}", **args)
        assert answer.status in (403, 422), answer
