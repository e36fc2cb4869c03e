"""A client that polls and claims as pi-team's extension does: nothing is told twice, nothing is claimed twice."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.piteam.conftest import TEAM
from tests.support.doors import Running
from tests.support.piteam_client import Client, Forgetful, Refused, work_together

Name = Callable[[str], str]
POLLS = 22


@pytest.fixture
def runtime(root: Path, teamd: Running) -> Path:
    return root / "teams" / TEAM / "runtime.json"


def test_two_clients_do_all_tasks_once_in_the_order_of_their_deps(runtime: Path, agent: Name):
    clients = [Client(runtime, TEAM, agent(name)) for name in ("one", "two")]
    for client in clients:
        assert client.poll() == []
    made: list[str] = []
    for number in range(12):  # a ladder: every third task waits for the two before it
        deps = made[-2:] if number % 3 == 2 else []
        made.append(clients[0].create(f"n{number}", deps=deps, resources=[f"lib/{agent('f')}/{number}/"]))
    waits = {task["id"]: task["deps"] for task in clients[0].tasks() if task["id"] in made}
    work_together(clients, made)
    ended = [id for client in clients for id in client.ended]
    assert sorted(ended) == sorted(made), "each by exactly one of them"
    for client in clients:
        told = [event for event in client.seen if event.get("taskId") in made]
        counted = Counter((event["type"], event["taskId"]) for event in told)
        assert counted == {(kind, id): 1 for id in made for kind in ("task_claimed", "task_completed")}
        order = [event["taskId"] for event in told if event["type"] == "task_completed"]
        claims = [(event["type"], event["taskId"]) for event in told]
        for id, deps in waits.items():
            for dep in deps:
                assert claims.index(("task_completed", dep)) < claims.index(("task_claimed", id))
        assert len(order) == len(made)
        assert client.poll() == []


def test_an_event_is_seen_once_however_often_one_polls(runtime: Path, agent: Name):
    reader, writer = Client(runtime, TEAM, agent("reader")), Client(runtime, TEAM, agent("writer"))
    reader.poll()
    thread = writer.ask("POST", "/v1/threads", body={"teamId": TEAM, "participants": [reader.agent]})["thread"]["id"]
    writer.ask("POST", f"/v1/threads/{thread}/messages", body={"message": "hello"})
    for _ in range(POLLS):
        reader.poll()
    told = [event for event in reader.seen if event.get("threadId") == thread]
    assert [(event["type"], event["content"], event["actor"]) for event in told] == [
        ("thread_message", "hello", "system")
    ]


def test_control_a_number_as_the_cursor_repeats_every_event(runtime: Path, agent: Name):
    reader, writer = Forgetful(runtime, TEAM, agent("reader")), Client(runtime, TEAM, agent("writer"))
    reader.poll()
    thread = writer.ask("POST", "/v1/threads", body={"participants": [reader.agent]})["thread"]["id"]
    writer.ask("POST", f"/v1/threads/{thread}/messages", body={"message": "hello"})
    for _ in range(POLLS):
        reader.poll()
    assert len([event for event in reader.seen if event.get("threadId") == thread]) == POLLS


def test_one_that_lost_its_lease_does_not_end_the_task(runtime: Path, agent: Name):
    slow, quick = Client(runtime, TEAM, agent("slow")), Client(runtime, TEAM, agent("quick"))
    id = slow.create("contested", resources=[f"lib/{agent('c')}/"])
    epoch = slow.step(id, "claim", ttlMs=1)["lease"]["epoch"]
    while not quick.work(lambda task: task["id"] == id):
        pass  # until the lease of the other is over
    with pytest.raises(Refused) as refused:
        slow.step(id, "complete", epoch=epoch)
    assert (refused.value.status, refused.value.code) == (409, "TASK_NOT_IN_PROGRESS")
    (task,) = [task for task in slow.tasks() if task["id"] == id]
    assert (task["owner"], task["status"]) == (quick.agent, "completed")
