"""Every route of the table: its fields, statuses, defaults and codes."""

import json
import re
import threading
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.piteam.conftest import TEAM
from tests.support.doors import Answer, Door, Running
from tests.support.drops import until

Name = Callable[[str], str]
TASK_FIELDS = {
    "schemaVersion", "id", "title", "description", "status", "owner", "deps", "resources", "lease", "epoch",
    "timestamps",
}  # fmt: skip
THREAD_FIELDS = {"schemaVersion", "id", "title", "participants", "taskId", "createdAt", "updatedAt"}
MESSAGE_FIELDS = {"schemaVersion", "id", "threadId", "from", "body", "ts"}
EVENT_FIELDS = {"schemaVersion", "id", "cursor", "type", "teamId", "agentId", "actor", "summary", "ts"}
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
STEPS = ("renew", "complete", "fail")
_paths = count(1)


def task(wire: Door, **more: Any) -> str:
    """A task whose path no other test's task has."""
    body = {"teamId": TEAM, "title": "work", "resources": [f"src/{next(_paths)}/"], **more}
    made = wire.post("/v1/tasks", **body)
    assert made.status == 201, made
    return made.body["task"]["id"]


def claim(wire: Door, id: str, agent: str, **more: Any) -> int:
    claimed = wire.post(f"/v1/tasks/{id}/claim", teamId=TEAM, agentId=agent, **more)
    assert claimed.status == 200, claimed
    return claimed.body["lease"]["epoch"]


def step(wire: Door, id: str, name: str, agent: str, **more: Any) -> Answer:
    return wire.post(f"/v1/tasks/{id}/{name}", teamId=TEAM, agentId=agent, **more)


def read(wire: Door, id: str) -> dict[str, Any]:
    return wire.get(f"/v1/tasks/{id}", teamId=TEAM).body["task"]


def refused(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.code


def expire(wire: Door, id: str) -> None:
    """Wait until the lease of a task is over, as everyone sees it."""
    until(lambda: read(wire, id)["status"] == "pending", "the lease ran out")


# -- the server ------------------------------------------------------------------------------------------------------


def test_healthz_is_exactly_this_without_a_token(teamd: Running):
    answer = Door(teamd.door.url, None).get("/healthz")
    assert (answer.status, answer.body) == (200, {"status": "ok", "version": "1.0.0"})


def test_an_answer_is_json_and_a_newline(teamd: Running):
    import http.client

    for path in ("/healthz", "/v1/tasks", "/v1/nothing"):
        connection = http.client.HTTPConnection(teamd.door.address, timeout=60)
        connection.request("GET", path, headers={"Authorization": f"Bearer {teamd.told['token']}"})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        assert data.endswith(b"}\n")
        assert not data[:-1].endswith(b"\n")
        assert int(answer.getheader("Content-Length", "0")) == len(data)
        assert answer.getheader("Content-Type", "").startswith("application/json")
        json.loads(data)


@pytest.mark.parametrize("token", [None, "wrong"])
@pytest.mark.parametrize("path", ["/v1/teams", "/v1/tasks", "/v1/inbox", "/v1/can-write", "/v1/threads/search"])
def test_everything_else_needs_the_token(teamd: Running, token: str | None, path: str):
    answer = Door(teamd.door.url, token).get(path, teamId=TEAM)
    assert answer.status == 401
    assert set(answer.body["error"]) >= {"code", "message"}


# -- teams -----------------------------------------------------------------------------------------------------------


def test_teams(wire: Door, agent: Name):
    made = wire.post("/v1/teams", teamId=TEAM, agents=[{"id": agent("w"), "role": "worker", "model": "small"}])
    assert made.status == 201
    team = made.body["team"]
    assert (team["schemaVersion"], team["teamId"]) == ("1.0.0", TEAM)
    assert {"id": agent("w"), "role": "worker", "model": "small"} in team["agents"]
    assert wire.post("/v1/teams", agents=[]).status == 201, "teamId is the daemon's own when it is left out"
    (listed,) = wire.get("/v1/teams").body["teams"]
    shown = wire.get(f"/v1/teams/{TEAM}")
    assert shown.status == 200
    for each in (listed, shown.body["team"]):
        assert each["teamId"] == TEAM
        assert agent("w") in [member["id"] for member in each["agents"]]


def test_who_leads_is_for_the_user_to_say(wire: Door, agent: Name):
    """The contract's own rule has no such thing; the rules of authority stay in force (ADR 0047)."""
    wire.post("/v1/teams", agents=[{"id": agent("w"), "role": "worker"}])
    assert wire.post("/v1/teams", agents=[{"id": agent("w"), "role": "leader"}]).status == 403


@pytest.mark.parametrize("team", ["nobody", "..", "../x", "a b", "x" * 80])
def test_another_team_is_not_found(wire: Door, team: str):
    assert refused(wire.raw("GET", f"/v1/teams/{team.replace('/', '%2F').replace(' ', '%20')}")) == (
        404, "TEAM_NOT_FOUND",
    )  # fmt: skip
    assert refused(wire.get("/v1/tasks", teamId=team)) == (404, "TEAM_NOT_FOUND")
    assert refused(wire.post("/v1/tasks", teamId=team, title="x")) == (404, "TEAM_NOT_FOUND")
    assert refused(wire.post("/v1/teams", teamId=team, agents=[])) == (404, "TEAM_NOT_FOUND")


# -- tasks -----------------------------------------------------------------------------------------------------------


def test_a_new_task(wire: Door):
    made = wire.post("/v1/tasks", teamId=TEAM, title="  Fix bug ", description=" The race ", resources=["src/new/", ""])
    assert made.status == 201
    record = made.body["task"]
    assert set(record) >= TASK_FIELDS
    assert re.fullmatch(r"task-\d{4,}", record["id"])
    expected = {"schemaVersion": "1.0.0", "title": "Fix bug", "description": "The race", "status": "pending",
                "owner": None, "deps": [], "resources": ["src/new/"], "lease": None, "epoch": 0}  # fmt: skip
    assert {name: record[name] for name in expected} == expected
    stamps = record["timestamps"]
    assert STAMP.fullmatch(stamps["createdAt"])
    assert (stamps["startedAt"], stamps["completedAt"], stamps["failedAt"]) == (None, None, None)
    assert read(wire, record["id"]).items() >= record.items()
    assert wire.get(f"/v1/tasks/{record['id']}").body["task"]["id"] == record["id"], "teamId may be left out"


@pytest.mark.parametrize("body", [
    {}, {"title": ""}, {"title": "  "}, {"title": None}, {"title": 7}, {"title": ["x"]}, {"title": "x" * 400},
    {"title": "x", "deps": "task-0001"}, {"title": "x", "deps": ["task-9999"]}, {"title": "x", "deps": [7]},
    {"title": "x", "resources": "src/"}, {"title": "x", "resources": ["../x"]}, {"title": "x", "resources": [{}]},
    {"title": "x", "description": 7},
])  # fmt: skip
def test_a_task_that_makes_no_sense(wire: Door, body: dict[str, Any]):
    before = len(wire.get("/v1/tasks", teamId=TEAM).body["tasks"])
    assert refused(wire.post("/v1/tasks", teamId=TEAM, **body)) == (400, "INVALID_TASK")
    assert len(wire.get("/v1/tasks", teamId=TEAM).body["tasks"]) == before


@pytest.mark.parametrize("data", [b"{", b"[]", b'"x"', b"null", b"\xff\xfe", b'{"title": NaN}', b'{"title": "x"} x'])
@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/tasks/task-0001/claim", "/v1/threads", "/v1/teams",
                                  "/v1/threads/thread-0001/messages", "/v1/threads/thread-0001/link"])  # fmt: skip
def test_what_is_no_json_object(wire: Door, path: str, data: bytes):
    assert refused(wire.raw("POST", path, data)) == (400, "INVALID_JSON")


def test_a_repeat_under_the_same_key(wire: Door, agent: Name):
    key, path = {"Idempotency-Key": agent("key")}, f"src/{agent('once')}/"
    first = wire.post("/v1/tasks", key, teamId=TEAM, title="Once", resources=[path])
    again = wire.post("/v1/tasks", key, teamId=TEAM, title="Once", resources=[path])
    assert (first.status, again.status) == (201, 200)
    assert again.body == first.body
    listed = wire.get("/v1/tasks", teamId=TEAM).body["tasks"]
    assert len([each for each in listed if each["resources"] == [path]]) == 1


@pytest.mark.parametrize("what", ["thread", "message"])
def test_threads_and_messages_keep_their_key_too(wire: Door, agent: Name, what: str):
    thread = wire.post("/v1/threads", title="keyed").body["thread"]["id"]
    path = "/v1/threads" if what == "thread" else f"/v1/threads/{thread}/messages"
    body = {"title": "t"} if what == "thread" else {"message": "m"}
    key = {"Idempotency-Key": agent(what)}
    first, again = wire.post(path, key, **body), wire.post(path, key, **body)
    assert (first.status, again.status) == (201, 200)
    assert again.body == first.body


def test_the_list_has_whole_records_of_all_tasks_sorted_by_id(wire: Door):
    have = len(wire.get("/v1/tasks", teamId=TEAM).body["tasks"])
    for number in range(max(0, 230 - have)):
        wire.post("/v1/tasks", teamId=TEAM, title=f"n{number}", description=f"whole {number}")
    listed = wire.get("/v1/tasks", teamId=TEAM).body["tasks"]
    assert len(listed) >= 230
    assert [each["id"] for each in listed] == sorted(each["id"] for each in listed)
    assert len({each["id"] for each in listed}) == len(listed)
    assert all(set(each) >= TASK_FIELDS for each in listed)
    assert any(each["description"].startswith("whole") for each in listed)
    assert wire.get("/v1/tasks").body["tasks"] == listed


@pytest.mark.parametrize("id", ["task-9999", "..%2Fruntime", "..%2f..%2fetc%2fpasswd", "%2e%2e", "%00", "%ff", "x%20y"])
def test_an_unknown_task(wire: Door, id: str):
    assert refused(wire.raw("GET", f"/v1/tasks/{id}?teamId={TEAM}")) == (404, "TASK_NOT_FOUND")
    body = json.dumps({"teamId": TEAM, "agentId": "someone", "epoch": 1}).encode()
    for name in ("claim", *STEPS):
        assert refused(wire.raw("POST", f"/v1/tasks/{id}/{name}", body)) == (404, "TASK_NOT_FOUND")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(id=st.text(min_size=1, max_size=20).filter(lambda text: text not in (".", "..")))
def test_no_id_breaks_a_route(wire: Door, id: str):
    from urllib.parse import quote

    written = quote(id.encode("utf-8", "replace"), safe="")
    known = [each["id"] for each in wire.get("/v1/tasks", limit=1).body["tasks"]]
    if id not in known:
        assert refused(wire.raw("GET", f"/v1/tasks/{written}")) == (404, "TASK_NOT_FOUND")
        assert refused(wire.raw("GET", f"/v1/threads/{written}/tail")) == (404, "THREAD_NOT_FOUND")


# -- leases ----------------------------------------------------------------------------------------------------------


def test_a_task_from_claim_to_completion(wire: Door, agent: Name):
    id, ada = task(wire), agent("ada")
    claimed = wire.post(f"/v1/tasks/{id}/claim", teamId=TEAM, agentId=ada, ttlMs=60_000)
    assert claimed.status == 200
    assert claimed.body["taskId"] == claimed.body["task"]["id"] == id
    lease = claimed.body["lease"]
    assert (lease["holder"], lease["epoch"]) == (ada, 1)
    assert STAMP.fullmatch(lease["expiresAt"])
    record = claimed.body["task"]
    assert (record["status"], record["owner"], record["lease"], record["epoch"]) == ("in_progress", ada, lease, 1)
    assert record["timestamps"]["startedAt"]
    renewed = step(wire, id, "renew", ada, epoch=1, ttlMs=120_000)
    assert renewed.status == 200
    assert renewed.body["lease"]["expiresAt"] > lease["expiresAt"]
    assert renewed.body["task"]["lease"] == renewed.body["lease"]
    done = step(wire, id, "complete", ada, epoch=1)
    assert done.status == 200
    ended = done.body["task"]
    assert (ended["status"], ended["owner"], ended["lease"], ended["epoch"]) == ("completed", ada, None, 1)
    assert ended["timestamps"]["completedAt"]
    assert ended["timestamps"]["failedAt"] is None
    assert read(wire, id).items() >= ended.items()


def test_a_failed_task(wire: Door, agent: Name):
    id, ada = task(wire), agent("ada")
    failed = step(wire, id, "fail", ada, epoch=claim(wire, id, ada)).body["task"]
    assert (failed["status"], failed["owner"], failed["lease"]) == ("failed", ada, None)
    assert failed["timestamps"]["failedAt"]
    assert failed["timestamps"]["completedAt"] is None
    listed = {each["id"]: each for each in wire.get("/v1/tasks").body["tasks"]}
    assert (listed[id]["owner"], listed[id]["timestamps"]) == (ada, failed["timestamps"])
    assert refused(step(wire, id, "claim", ada)) == (409, "TASK_NOT_CLAIMABLE")


def test_a_lease_lasts_five_minutes_when_none_is_asked_for(wire: Door, agent: Name):
    from datetime import datetime

    def lasts(answer: Answer, since: str) -> float:
        ends, began = (datetime.fromisoformat(each) for each in (answer.body["lease"]["expiresAt"], since))
        return (ends - began).total_seconds()

    id, ada = task(wire), agent("ada")
    claimed = step(wire, id, "claim", ada)
    assert lasts(claimed, claimed.body["task"]["timestamps"]["startedAt"]) == pytest.approx(300, abs=1)
    short = step(wire, id, "renew", ada, epoch=1, ttlMs=1_000)
    assert lasts(step(wire, id, "renew", ada, epoch=1), short.body["lease"]["expiresAt"]) > 290


@pytest.mark.parametrize("ttl", [1, 25, 0.5, 10**12])
def test_any_positive_ttl_is_taken(wire: Door, agent: Name, ttl: float):
    assert step(wire, task(wire), "claim", agent("ada"), ttlMs=ttl).status == 200


@pytest.mark.parametrize("ttl", [0, -1, -0.5, "1000", True])
def test_a_ttl_that_is_not_positive_is_refused(wire: Door, agent: Name, ttl: Any):
    id = task(wire)
    assert step(wire, id, "claim", agent("ada"), ttlMs=ttl).status == 422
    assert read(wire, id)["status"] == "pending"


def test_one_of_two_gets_it(wire: Door, agent: Name):
    id, answers = task(wire), list[Answer]()
    racers = [threading.Thread(target=lambda name=name: answers.append(step(wire, id, "claim", agent(name))))
              for name in ("a", "b")]  # fmt: skip
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert sorted(each.status for each in answers) == [200, 409]
    assert [each.code for each in answers if each.status == 409] == ["TASK_NOT_CLAIMABLE"]


def test_what_can_not_be_claimed(wire: Door, agent: Name):
    first = task(wire, resources=[f"src/{agent('shared')}/"])
    waiting = task(wire, deps=[first])
    assert read(wire, waiting)["status"] == "blocked"
    assert refused(step(wire, waiting, "claim", agent("bob"))) == (409, "TASK_NOT_CLAIMABLE")
    epoch = claim(wire, first, agent("ada"))
    assert refused(step(wire, first, "claim", agent("ada"))) == (409, "TASK_NOT_CLAIMABLE"), "not even its holder"
    overlapping = task(wire, resources=[f"src/{agent('shared')}/x.py"])
    against = step(wire, overlapping, "claim", agent("bob"))
    assert refused(against) == (409, "TASK_NOT_CLAIMABLE")
    assert against.body["error"]["cause"] == "RESOURCE_HELD", "more detail in further keys"
    assert step(wire, first, "complete", agent("ada"), epoch=epoch).status == 200
    assert read(wire, waiting)["status"] == "pending"
    assert claim(wire, waiting, agent("bob")) == 1
    assert refused(step(wire, first, "claim", agent("bob"))) == (409, "TASK_NOT_CLAIMABLE")


@pytest.mark.parametrize("name", STEPS)
def test_the_order_of_refusals(wire: Door, agent: Name, name: str):
    id, ada, bob = task(wire), agent("ada"), agent("bob")
    assert refused(step(wire, id, name, bob, epoch=99)) == (409, "TASK_NOT_IN_PROGRESS")
    claim(wire, id, ada)
    assert refused(step(wire, id, name, bob, epoch=99)) == (403, "LEASE_HOLDER_MISMATCH")
    for epoch in ({"epoch": 99}, {"epoch": 0}, {"epoch": "1"}, {"epoch": None}, {"epoch": True}, {"epoch": 1e300}, {}):
        assert refused(step(wire, id, name, ada, **epoch)) == (409, "EPOCH_MISMATCH"), epoch
    assert read(wire, id)["status"] == "in_progress"
    assert step(wire, id, name, ada, epoch=1.0).status == 200
    if name != "renew":
        assert refused(step(wire, id, name, ada, epoch=1)) == (409, "TASK_NOT_IN_PROGRESS")


@pytest.mark.parametrize("name", STEPS)
def test_an_expired_lease_is_told_until_someone_claims_anew(wire: Door, agent: Name, name: str):
    id, ada, bob = task(wire), agent("ada"), agent("bob")
    epoch = claim(wire, id, ada, ttlMs=25)
    expire(wire, id)
    for who, number in ((ada, epoch), (bob, epoch), (ada, 99)):
        assert refused(step(wire, id, name, who, epoch=number)) == (403, "LEASE_EXPIRED")
    assert claim(wire, id, bob) == epoch + 1
    assert refused(step(wire, id, name, ada, epoch=epoch)) == (403, "LEASE_HOLDER_MISMATCH")
    assert refused(step(wire, id, name, bob, epoch=epoch)) == (409, "EPOCH_MISMATCH")


def test_a_task_is_free_again_however_often_a_lease_ran_out(wire: Door, agent: Name):
    id = task(wire)
    for number in range(7):
        assert claim(wire, id, agent("ada"), ttlMs=1) == number + 1
        expire(wire, id)
    epoch = claim(wire, id, agent("ada"))
    assert step(wire, id, "fail", agent("ada"), epoch=epoch).body["task"]["status"] == "failed"


@pytest.mark.parametrize("sender", ["", "a b", "../x", "x" * 60, "system", None, 7])
def test_an_agent_id_that_is_none(wire: Door, sender: Any):
    id = task(wire)
    assert refused(wire.post(f"/v1/tasks/{id}/claim", teamId=TEAM, agentId=sender)) == (400, "INVALID_AGENT_ID")
    assert refused(wire.post(f"/v1/tasks/{id}/complete", agentId=sender, epoch=1)) == (400, "INVALID_AGENT_ID")


def test_the_daemons_token_is_never_the_user(wire: Door):
    assert step(wire, task(wire), "claim", "user").status == 403
    assert wire.post("/v1/threads", agentId="user").status == 403
    thread = wire.post("/v1/threads").body["thread"]["id"]
    for sender in ("agentId", "from"):
        assert wire.post(f"/v1/threads/{thread}/messages", message="x", **{sender: "user"}).status == 403


# -- threads ---------------------------------------------------------------------------------------------------------


def test_a_thread_and_its_defaults(wire: Door, agent: Name):
    plain = wire.post("/v1/threads")
    assert plain.status == 201
    thread = plain.body["thread"]
    assert set(thread) >= THREAD_FIELDS
    assert re.fullmatch(r"thread-\d{4,}", thread["id"])
    assert (thread["schemaVersion"], thread["title"], thread["participants"], thread["taskId"]) == (
        "1.0.0", "Thread", [], None,
    )  # fmt: skip
    assert thread["createdAt"] == thread["updatedAt"]
    a, b, c = agent("b"), agent("a"), agent("c")
    full = wire.post("/v1/threads", teamId=TEAM, title=" handoff ", participants=[a, b, a, " "], agentId=c,
                     taskId=task(wire)).body["thread"]  # fmt: skip
    assert (full["title"], full["participants"]) == ("handoff", [a, b, c]), "in the order they were named"
    assert full["taskId"]
    blank = wire.post("/v1/threads", title="", participants=[], taskId="").body["thread"]
    assert (blank["title"], blank["taskId"]) == ("Thread", None), "as the extension sends it"
    assert refused(wire.post("/v1/threads", taskId="task-9999")) == (404, "TASK_NOT_FOUND")
    assert refused(wire.post("/v1/threads", participants=["a b"])) == (400, "INVALID_AGENT_ID")


def test_who_speaks(wire: Door, agent: Name):
    thread = wire.post("/v1/threads", participants=[agent("a")]).body["thread"]["id"]
    path = f"/v1/threads/{thread}/messages"
    nobody = wire.post(path, message="  hello ")
    assert nobody.status == 201
    assert set(nobody.body["message"]) >= MESSAGE_FIELDS
    said = nobody.body["message"]
    assert (said["from"], said["threadId"], said["body"]) == ("system", thread, "hello")
    assert wire.post(path, body="x", agentId=agent("b")).body["message"]["from"] == agent("b")
    assert wire.post(path, message="x", **{"from": agent("c")}).body["message"]["from"] == agent("c")
    assert wire.post(path, message="x", agentId=agent("b"), **{"from": agent("c")}).body["message"]["from"] == agent(
        "b"
    )
    assert "system" not in wire.get(f"/v1/threads/{thread}/tail").body["thread"]["participants"]


def test_a_message_that_makes_no_sense(wire: Door, agent: Name):
    thread = wire.post("/v1/threads").body["thread"]["id"]
    for body in ({}, {"message": ""}, {"message": "  "}, {"message": None}, {"body": ""}, {"message": 7}):
        answer = wire.post(f"/v1/threads/{thread}/messages", agentId=agent("a"), **body)
        assert refused(answer) == (400, "INVALID_THREAD_MESSAGE"), body
    assert refused(wire.post(f"/v1/threads/{thread}/messages", agentId="a b", message="x")) == (400, "INVALID_AGENT_ID")
    assert refused(wire.post("/v1/threads/thread-9999/messages", message="x")) == (404, "THREAD_NOT_FOUND")
    assert refused(wire.post("/v1/threads/thread-9999/messages")) == (400, "INVALID_THREAD_MESSAGE"), "looked at first"
    assert refused(wire.raw("POST", "/v1/threads/..%2Fx/messages", b'{"message":"x"}')) == (404, "THREAD_NOT_FOUND")


def test_reading_a_thread(wire: Door, agent: Name):
    thread = wire.post("/v1/threads", participants=[agent("a")]).body["thread"]
    path = f"/v1/threads/{thread['id']}"
    for number in range(25):
        wire.post(f"{path}/messages", agentId=agent("b"), message=f"m{number}")

    def bodies(answer: Answer) -> list[str]:
        assert answer.status == 200
        assert answer.body["thread"]["id"] == thread["id"]
        assert all(set(each) >= MESSAGE_FIELDS for each in answer.body["messages"])
        return [each["body"] for each in answer.body["messages"]]

    whole = [f"m{number}" for number in range(25)]
    assert bodies(wire.get(f"{path}/tail")) == whole[-20:], "twenty when no limit is given"
    assert bodies(wire.get(f"{path}/tail", limit=5)) == whole[-5:]
    for odd in ("0", "-1", "x", ""):
        assert bodies(wire.get(f"{path}/tail", limit=odd)) == whole[-20:]
    assert bodies(wire.get(f"{path}/tail", limit=10**9)) == whole
    assert bodies(wire.get(f"{path}/messages")) == whole
    assert bodies(wire.get(f"{path}/messages", tail=3)) == whole[-3:]
    assert wire.get(f"{path}/tail").body["thread"]["updatedAt"] > thread["updatedAt"]
    for missing in ("tail", "messages"):
        assert refused(wire.get(f"/v1/threads/thread-9999/{missing}")) == (404, "THREAD_NOT_FOUND")


def test_searching_threads(wire: Door, agent: Name):
    id = task(wire)
    marmalade, other = agent("marmalade"), agent("other")
    first = wire.post("/v1/threads", title=f"About {marmalade}", taskId=id).body["thread"]["id"]
    second = wire.post("/v1/threads", title="Second", participants=[other]).body["thread"]["id"]
    wire.post(f"/v1/threads/{second}/messages", message=f"A word: quince{agent('')}")

    def found(query: str) -> list[str]:
        answer = wire.get("/v1/threads/search", q=query)
        assert answer.status == 200
        assert all(set(each) >= THREAD_FIELDS for each in answer.body["threads"])
        return [each["id"] for each in answer.body["threads"]]

    assert found(marmalade) == found(marmalade.upper()) == [first]
    assert first in found(id)
    assert found(other[:-1] + other[-1]) == [second]
    assert found(f"quince{agent('')}") == [second], "what was said"
    everything = found("")
    assert {first, second} <= set(everything)
    assert [each["id"] for each in wire.get("/v1/threads/search").body["threads"]] == everything
    for odd in ('"', "*", "%", "((", "nothing has this"):
        assert isinstance(found(odd), list)


def test_linking_a_thread(wire: Door):
    first, second = task(wire), task(wire)
    thread = wire.post("/v1/threads", taskId=first).body["thread"]
    linked = wire.post(f"/v1/threads/{thread['id']}/link", taskId=second)
    assert linked.status == 200
    assert linked.body["thread"]["taskId"] == second
    assert linked.body["thread"]["updatedAt"] > thread["updatedAt"]
    assert wire.post(f"/v1/threads/{thread['id']}/link", taskId=first).body["thread"]["taskId"] == first
    for body in ({"taskId": "task-9999"}, {"taskId": ""}, {}, {"taskId": 7}):
        assert refused(wire.post(f"/v1/threads/{thread['id']}/link", **body)) == (404, "TASK_NOT_FOUND")
    assert refused(wire.post("/v1/threads/thread-9999/link", taskId=first)) == (404, "THREAD_NOT_FOUND")


# -- the inbox -------------------------------------------------------------------------------------------------------


def poll(wire: Door, agent: str, since: Any = "") -> tuple[list[dict[str, Any]], str]:
    answer = wire.get("/v1/inbox", teamId=TEAM, agentId=agent, **({"since": since} if since != "" else {}))
    assert answer.status == 200, answer
    return answer.body["events"], answer.body["nextSince"]


def kinds(events: list[dict[str, Any]], task: str = "") -> list[str]:
    return [each["type"] for each in events if not task or each.get("taskId") == task]


def test_task_events_reach_everyone_who_has_polled_the_actor_too(wire: Door, agent: Name):
    watcher, actor, late = agent("watcher"), agent("actor"), agent("late")
    for each in (watcher, actor):
        events, since = poll(wire, each)
        assert events == [], "what happened before is not told"
        assert isinstance(since, str)
    done, failed = task(wire), task(wire)
    step(wire, done, "complete", actor, epoch=claim(wire, done, actor))
    step(wire, failed, "fail", actor, epoch=claim(wire, failed, actor))
    for each in (watcher, actor):
        events, _ = poll(wire, each)
        assert kinds(events, done) == ["task_claimed", "task_completed"]
        assert kinds(events, failed) == ["task_claimed", "task_failed"]
        for event in events:
            assert set(event) >= EVENT_FIELDS
            assert (event["schemaVersion"], event["teamId"], event["agentId"]) == ("1.0.0", TEAM, each)
            assert event["actor"] == actor
            assert STAMP.fullmatch(event["ts"])
        assert [event["cursor"] for event in events] == sorted({event["cursor"] for event in events})
    assert kinds(poll(wire, late)[0]) == [], "nobody told one who had never polled"


def test_task_events_reach_the_agents_of_the_definition(wire: Door, agent: Name):
    member = agent("member")
    wire.post("/v1/teams", teamId=TEAM, agents=[{"id": member, "role": "worker"}])
    id = task(wire)
    claim(wire, id, agent("actor"))
    assert kinds(poll(wire, member)[0], id) == ["task_claimed"], "though it has never polled"


def test_thread_events_reach_participants_but_the_author(wire: Door, agent: Name):
    a, b, stranger = agent("a"), agent("b"), agent("stranger")
    for each in (a, b, stranger):
        poll(wire, each)
    thread = wire.post("/v1/threads", title="handoff", participants=[a, b]).body["thread"]["id"]
    text = "done with it " + "x" * 600
    wire.post(f"/v1/threads/{thread}/messages", agentId=b, message=text)
    events, _ = poll(wire, a)
    (event,) = [each for each in events if each.get("threadId") == thread]
    assert (event["type"], event["actor"], event["agentId"]) == ("thread_message", b, a)
    assert event["content"] == text, "all of it"
    assert event["summary"] == text[:120]
    for other in (b, stranger):
        assert [each for each in poll(wire, other)[0] if each.get("threadId") == thread] == []


def test_a_cursor(wire: Door, agent: Name):
    reader, actor = agent("reader"), agent("actor")
    _, since = poll(wire, reader)
    for _ in range(3):
        claim(wire, task(wire), actor)
    events, later = poll(wire, reader, since)
    assert kinds(events) == ["task_claimed"] * 3
    assert poll(wire, reader, later) == ([], later)
    assert poll(wire, reader, str(events[0]["cursor"]))[0] == events[1:]
    for odd in ("x", "-1", "0", "1e3"):
        assert poll(wire, reader, odd)[0] == events, "what is no cursor is the beginning"
    assert poll(wire, reader, 10**12) == ([], str(10**12))


@pytest.mark.parametrize("query", ["", "agentId=", "agentId=a%20b", "agentId=..%2Fx", "agentId=system"])
def test_an_inbox_of_nobody(wire: Door, query: str):
    assert refused(wire.raw("GET", f"/v1/inbox?teamId={TEAM}&{query}")) == (400, "INVALID_AGENT_ID")


# -- can-write -------------------------------------------------------------------------------------------------------


def test_can_write(wire: Door, agent: Name):
    ada, bob, folder = agent("ada"), agent("bob"), f"src/{agent('cw')}"
    id = task(wire, resources=[f"{folder}/"])

    def asked(who: str | None, path: str) -> tuple[bool, str]:
        query = {"teamId": TEAM, "path": path} | ({"agentId": who} if who is not None else {})
        answer = wire.get("/v1/can-write", **query)
        assert answer.status == 200
        return answer.body["allow"], answer.body["reason"]

    no_lease = (False, "no_active_lease_for_path")
    assert asked(ada, f"{folder}/x.py") == no_lease
    epoch = claim(wire, id, ada)
    assert asked(ada, f"{folder}/x.py") == (True, "lease_active_for_resource")
    assert asked(ada, f"./{folder}//a/../x.py") == (True, "lease_active_for_resource")
    assert asked(ada, f"{folder}x/y.py") == no_lease, "a prefix of segments, not of letters"
    for who in (bob, "", None, "a b", "system"):
        assert asked(who, f"{folder}/x.py") == no_lease
    for path in ("../x", f"{folder}/../../../x", "/etc/passwd"):
        assert asked(ada, path) == (False, "path_traversal_denied")
    for path in ("", "/", ".", "./"):
        assert asked(ada, path) == (False, "invalid_path")
    assert wire.get("/v1/can-write", agentId=ada).body["reason"] == "invalid_path"
    held = wire.get("/v1/can-write", agentId=bob, path=f"{folder}/x.py").body
    assert held["holder"] == ada, "more detail in further keys"
    step(wire, id, "complete", ada, epoch=epoch)
    assert asked(ada, f"{folder}/x.py") == no_lease
