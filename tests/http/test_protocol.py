"""The routes of the pi-team contract in a daemon of a whole home; the contract itself is in tests/piteam."""

import threading
from typing import Any

import pytest

from tests.support.doors import Door


def test_a_task_from_creation_to_completion(door: Door):
    made = door.post("/v1/tasks", title="Fix bug", description="The race", resources=["src/io/"])
    assert made.status == 201
    task = made.body["task"]
    assert (task["status"], task["epoch"], task["lease"], task["owner"]) == ("pending", 0, None, None)
    assert task["schemaVersion"] == "1.0.0"
    assert task["timestamps"]["createdAt"].endswith("Z")
    claimed = door.post(f"/v1/tasks/{task['id']}/claim", agentId="worker_a", ttlMs=60_000)
    assert claimed.status == 200
    assert claimed.body["taskId"] == task["id"]
    assert claimed.body["task"]["status"] == "in_progress"
    lease = claimed.body["lease"]
    assert (lease["holder"], lease["epoch"]) == ("worker_a", 1)
    assert lease["expiresAt"].endswith("Z")
    renewed = door.post(f"/v1/tasks/{task['id']}/renew", agentId="worker_a", epoch=1)
    assert (renewed.status, renewed.body["lease"]["epoch"]) == (200, 1)
    done = door.post(f"/v1/tasks/{task['id']}/complete", agentId="worker_a", epoch=1, summary="Done", commits=["abc"])
    assert done.status == 200
    assert done.body["task"]["status"] == "completed"
    shown = door.get(f"/v1/tasks/{task['id']}").body["task"]
    assert shown["result"]["evidence"]["commits"] == ["abc"]
    assert [each["id"] for each in door.get("/v1/tasks").body["tasks"]] == [task["id"]]
    assert door.get("/v1/tasks", status="pending").body["tasks"] == []


def test_a_dependency_holds_a_task_back(door: Door):
    first = door.task("first")
    second = door.task("second", deps=[first])
    assert door.get(f"/v1/tasks/{second}").body["task"]["status"] == "blocked"
    refused = door.post(f"/v1/tasks/{second}/claim", agentId="ada")
    assert (refused.status, refused.code) == (409, "TASK_NOT_CLAIMABLE")
    door.post(f"/v1/tasks/{first}/complete", agentId="ada", epoch=door.claim(first))
    assert door.get(f"/v1/tasks/{second}").body["task"]["status"] == "pending"
    unknown = door.post("/v1/tasks", title="x", deps=["task-9999"])
    assert (unknown.status, unknown.code) == (400, "INVALID_TASK")


def test_the_lease_has_300_seconds_when_none_is_asked_for(door: Door):
    claimed = door.post(f"/v1/tasks/{door.task()}/claim", agentId="ada").body
    assert claimed["ttlMs"] == 300_000
    longest = door.post(f"/v1/tasks/{door.task()}/claim", agentId="ada", ttlMs=10**12)
    assert longest.body["ttlMs"] == 86_400_000
    refused = door.post(f"/v1/tasks/{door.task()}/claim", agentId="ada", ttlMs=0)
    assert (refused.status, refused.code) == (422, "BAD_TTL")


def test_a_claim_is_refused_while_another_holds_it(door: Door):
    id = door.task()
    assert door.claim(id, "ada") == 1
    refused = door.post(f"/v1/tasks/{id}/claim", agentId="bob")
    assert (refused.status, refused.code) == (409, "TASK_NOT_CLAIMABLE")
    assert "ada" in refused.body["error"]["message"]
    assert refused.body["error"]["hint"]


def test_overlapping_resources_refuse_the_claim(door: Door):
    door.claim(door.task(resources=["src/io/"]), "ada")
    refused = door.post(f"/v1/tasks/{door.task(resources=['src/io/x.py'])}/claim", agentId="bob")
    assert (refused.status, refused.code) == (409, "TASK_NOT_CLAIMABLE")
    assert refused.body["error"]["cause"] == "RESOURCE_HELD"


def test_the_owner_steers_without_a_lease(door: Door):
    id = door.task()
    epoch = door.claim(id)
    assert door.post(f"/v1/tasks/{id}/cancel", reason="not needed").body["status"] == "canceled"
    refused = door.post(f"/v1/tasks/{id}/complete", agentId="ada", epoch=epoch)
    assert (refused.status, refused.code) == (409, "TASK_NOT_IN_PROGRESS")
    assert door.post(f"/v1/tasks/{id}/reset").body["status"] == "pending"
    assert door.post(f"/v1/tasks/{id}/block", reason="waiting for a key").body["status"] == "blocked"
    assert door.post(f"/v1/tasks/{id}/unblock").body["status"] == "pending"
    assert door.post(f"/v1/tasks/{id}/assign", assignee="bob").body["owner"] == "bob"
    assert door.post(f"/v1/tasks/{id}/claim", agentId="ada").code == "TASK_NOT_CLAIMABLE"
    assert door.post(f"/v1/tasks/{id}/cancel", agentId="ada").status == 403
    held = door.claim(id, "bob")
    assert door.post(f"/v1/tasks/{id}/progress", agentId="bob", epoch=held, note="half way").status == 200
    assert door.post(f"/v1/tasks/{id}/release", agentId="bob", epoch=held).body["status"] == "pending"
    assert door.post(f"/v1/tasks/{id}/block").status == 422


def test_a_review_over_http(door: Door):
    id = door.task(review=True)
    door.post(f"/v1/tasks/{id}/complete", agentId="ada", epoch=door.claim(id))
    said = door.post(f"/v1/tasks/{id}/review", agentId="bob", verdict="SHIP")
    assert (said.status, said.code) == (403, "NO_TERMINAL"), "the daemon's token names bob and proves nothing"
    ada, bob = (
        door.having(door.operator.post("/v1/call/token.new", agent=each).body["token"]) for each in ("ada", "bob")
    )
    own = ada.post(f"/v1/tasks/{id}/review", verdict="SHIP")
    assert (own.status, own.code) == (403, "OWN_WORK")
    assert bob.post(f"/v1/tasks/{id}/review", verdict="SHIP").body["review"] == "SHIP"


@pytest.mark.slow
def test_more_tasks_than_one_look_returns(door: Door):
    for number in range(1005):
        door.task(f"n{number}")
    listed = door.get("/v1/tasks").body
    assert [task["title"] for task in listed["tasks"]] == [f"n{number}" for number in range(1005)]
    page = door.get("/v1/tasks", limit=3, after=1000).body
    assert ([task["title"] for task in page["tasks"]], page["next"]) == (["n1000", "n1001", "n1002"], 1003)


# -- idempotency -----------------------------------------------------------------------------------------------------


def test_a_repeat_with_the_same_key_gets_the_same_body(door: Door):
    key = {"Idempotency-Key": "unique-uuid-123"}
    first = door.post("/v1/tasks", key, title="Once")
    again = door.post("/v1/tasks", key, title="Once")
    assert (first.status, again.status) == (201, 200)
    assert again.body == first.body
    other = door.post("/v1/tasks", key, title="Another")
    assert (other.status, other.code) == (422, "IDEMPOTENCY_MISMATCH")
    assert len(door.get("/v1/tasks").body["tasks"]) == 1
    assert door.post("/v1/tasks", {"Idempotency-Key": "x" * 500}, title="Once").status == 422


def test_a_key_is_safe_under_concurrent_replay(door: Door):
    answers: list[Any] = []

    def send() -> None:
        answers.append(door.post("/v1/tasks", {"Idempotency-Key": "k"}, title="Once"))

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status for answer in answers) == [200] * 7 + [201]
    assert all(answer.body == answers[0].body for answer in answers), "the same answer to all"
    assert len(door.get("/v1/tasks").body["tasks"]) == 1, "and one effect"


@pytest.mark.parametrize("path", ["/v1/threads", "/v1/threads/thread-0001/messages", "/v1/messages"])
def test_every_creating_route_keeps_its_key(door: Door, path: str):
    body = {"title": "t", "body": "said", "subject": "s", "agentId": "ada"}
    body = {"to": ["bob"], "subject": "s", "agentId": "ada"} if path == "/v1/messages" else body
    door.post("/v1/threads", title="the first", agentId="ada")
    first = door.post(path, {"Idempotency-Key": "k"}, **body)
    again = door.post(path, {"Idempotency-Key": "k"}, **body)
    assert (first.status, again.status) == (201, 200)
    assert again.body == first.body
    assert door.post(path, {"Idempotency-Key": "k"}, **body | {"body": "other"}).status == 422


# -- discussions and the inbox ---------------------------------------------------------------------------------------


def test_a_discussion(door: Door):
    task = door.task()
    made = door.post("/v1/threads", title="I/O spec", participants=["worker_a"], agentId="leader", taskId=task)
    assert made.status == 201
    thread = made.body["thread"]
    id = thread["id"]
    assert id == "thread-0001"
    assert thread["participants"] == ["worker_a", "leader"]
    assert (thread["taskId"], thread["tasks"]) == (task, [task])
    said = door.post(f"/v1/threads/{id}/messages", agentId="leader", body="Please review the marmalade.")
    assert said.status == 201
    message = said.body["message"]
    assert (message["threadId"], message["from"], message["to"]) == (id, "leader", ["worker_a"])
    door.post(f"/v1/threads/{id}/messages", agentId="worker_a", message="Will do", to=["leader", "bob"])
    bodies = [each["body"] for each in door.get(f"/v1/threads/{id}/messages").body["messages"]]
    assert bodies == ["Please review the marmalade.", "Will do"]
    for path, query in ((f"/v1/threads/{id}/messages", {"tail": 1}), (f"/v1/threads/{id}/tail", {"limit": 1})):
        assert [each["body"] for each in door.get(path, **query).body["messages"]] == ["Will do"]
    found = door.get("/v1/threads/search", q="marmalade").body
    assert [each["id"] for each in found["threads"]] == [id]
    other = door.task()
    assert door.post(f"/v1/threads/{id}/link", taskId=other).body["thread"]["tasks"] == [task, other]
    assert door.get("/v1/threads", taskId=other).body["threads"][0]["participants"] == ["worker_a", "leader", "bob"]
    assert door.post(f"/v1/threads/{id}/link", taskId="task-9999").status == 404
    assert door.get("/v1/threads/thread-9999/messages").status == 404
    assert door.post("/v1/threads/thread-9999/messages", body="x").status == 404
    assert door.post(f"/v1/threads/{id}/messages", agentId="leader").status == 400
    assert door.post("/v1/threads", agentId="leader").body["thread"]["title"] == "Thread"


def test_the_inbox_tells_what_concerns_an_agent(door: Door):
    id = door.task(assignee="ada")
    door.post("/v1/threads", title="t", participants=["ada"], agentId="bob", body="hello")
    first = door.get("/v1/inbox", agentId="ada", since=0).body
    assert [event["type"] for event in first["events"]] == ["task_assigned", "thread_message"]
    event = first["events"][0]
    assert (event["taskId"], event["payload"]["taskId"], event["actor"]) == (id, id, "system")
    assert event["id"] == f"evt-{event['seq']}"
    assert set(event) >= {"id", "seq", "type", "ts", "actor", "summary", "payload"}
    assert door.get("/v1/inbox", agentId="ada", since=first["nextSince"]).body["events"] == []
    assert [event["type"] for event in door.get("/v1/inbox", agentId="nobody", since=0).body["events"]] == []
    assert door.get("/v1/inbox", agentId="ada", wait="-1").status == 422


def test_the_inbox_pages_without_losing_anything(door: Door):
    for number in range(7):
        door.post("/v1/messages", to="ada", subject=f"s{number}", agentId="bob")
    seen: list[str] = []
    page: dict[str, Any] = {"nextSince": 0, "more": True}
    while page["more"]:
        page = door.get("/v1/inbox", agentId="ada", since=page["nextSince"], limit=2).body
        seen += [event["summary"] for event in page["events"]]
    assert seen == [f"s{number}" for number in range(7)]


# -- the rest --------------------------------------------------------------------------------------------------------


def test_can_write(door: Door, daemon: Any):
    door.claim(door.task(resources=["src/io/"]), "ada")
    held = door.get("/v1/can-write", agentId="bob", path="src/io/x.py").body
    assert held["allow"] is False
    assert held["holder"] == "ada"
    assert "ada" in held["detail"]
    assert door.get("/v1/can-write", agentId="ada", path="src/io/x.py").body["allow"] is True
    free = door.get("/v1/can-write", agentId="bob", path="src/ui/x.py").body
    assert (free["allow"], free["reason"]) == (True, "no_lease_needed"), "this team is not strict"
    for path in ("../x", "src/../../x", "/etc/passwd", "src/io/../../../x", "."):
        assert door.get("/v1/can-write", agentId="ada", path=path).body["allow"] is False, path
    assert door.get("/v1/can-write", agentId="bob", path="./src//io/../io/x.py").body["allow"] is False


def test_teams(door: Door, daemon: Any):
    made = daemon.door.post("/v1/teams", teamId="pi-team-dev", agents=[{"id": "leader", "role": "leader"}])
    assert made.status == 201
    assert made.body["team"]["agents"] == [{"id": "leader", "role": "leader", "model": ""}]
    assert daemon.door.post("/v1/teams", teamId="pi-team-dev").status == 201
    assert "pi-team-dev" in [team["teamId"] for team in daemon.door.get("/v1/teams").body["teams"]]
    assert daemon.door.get("/v1/teams/pi-team-dev").body["team"]["teamId"] == "pi-team-dev"
    for unknown in (daemon.door.get("/v1/teams/no-such-team"), daemon.door.get("/v1/tasks", teamId="no-such-team")):
        assert (unknown.status, unknown.code) == (404, "TEAM_NOT_FOUND")


def test_agents_and_messages(door: Door):
    sent = door.post("/v1/messages", agentId="ada", to=["bob"], subject="Hello", body="There")
    assert (sent.status, sent.body["status"]) == (201, "accepted")
    assert {agent["name"] for agent in door.get("/v1/agents").body["agents"]} == {"ada", "bob"}
    (found,) = door.get("/v1/messages", agentId="bob").body["messages"]
    assert (found["id"], found["body"]) == (sent.body["id"], "There")
    assert door.post("/v1/messages", agentId="ada", to=["bob"]).status == 422


def test_every_verb_can_be_called(door: Door):
    sent = door.post("/v1/call/send", {"X-Rook-Agent": "ada"}, to=["bob"], subject="Hi")
    assert sent.status == 200
    assert door.post("/v1/call/inbox", agentId="bob").body["messages"][0]["from"] == "ada"
    wrong = door.post("/v1/call/inbox", agentId="bob", lmit=1)
    assert (wrong.status, wrong.code) == (422, "BAD_INPUT")
    assert "limit" in wrong.body["error"]["hint"]
    unknown = door.post("/v1/call/imbox")
    assert (unknown.status, unknown.code) == (404, "UNKNOWN_VERB")
    assert door.get("/v1/call/inbox").status == 405


@pytest.mark.parametrize("agent", ["system", "System", "a b", "../x", "a/b/c", "x" * 60, ""])
def test_an_agent_id_is_a_name(door: Door, agent: str):
    answer = door.post(f"/v1/tasks/{door.task()}/claim", agentId=agent)
    assert (answer.status, answer.code) == (400, "INVALID_AGENT_ID")


def test_the_description_names_every_route_and_verb(door: Door):
    from rookery.service.verbs import VERBS

    told = door.get("/openapi.json").body
    assert told["openapi"].startswith("3.1")
    assert {f"/v1/call/{name}" for name in VERBS} <= set(told["paths"])
    assert {"/v1/tasks/{id}/claim", "/v1/inbox", "/v1/threads/search", "/v1/can-write", "/metrics"} <= set(
        told["paths"]
    )
    schema = told["paths"]["/v1/call/task.claim"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["ttl_ms"]["anyOf"][0]["type"] == "integer"


def test_numbers_for_prometheus(door: Door):
    door.task()
    told = door.get("/metrics").body
    lines = dict(line.rsplit(" ", 1) for line in told.splitlines() if not line.startswith("#"))
    assert float(lines["rook_commits_total"]) >= 1
    assert float(lines['rook_requests_total{method="POST",route="/v1/tasks",status="201"}']) >= 1
