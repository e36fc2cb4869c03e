"""Many at once, nonsense at every door, the plug pulled: nothing is done twice, nothing that was answered is lost."""

import http.client
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.service import verbs
from tests.support.doors import Door, running


def together(count: int, act: Callable[[int], None]) -> None:
    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            act(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


@pytest.mark.slow
def test_every_task_is_claimed_exactly_once(door: Door):
    ids = [door.task(f"t{n}") for n in range(40)]
    claimed: list[str] = []

    def work(number: int) -> None:
        while True:
            answer = door.post("/v1/call/task.claim", agentId=f"w{number}", next=True)
            assert answer.status == 200
            if answer.body["taskId"] is None:
                return
            claimed.append(answer.body["taskId"])

    together(8, work)
    assert sorted(claimed) == ids


def test_one_of_many_claims_wins(door: Door):
    id = door.task()
    statuses: list[int] = []
    together(8, lambda n: statuses.append(door.post(f"/v1/tasks/{id}/claim", agentId=f"w{n}").status))
    assert sorted(statuses) == [200] + [409] * 7
    assert door.get(f"/v1/tasks/{id}").body["task"]["epoch"] == 1


@pytest.mark.slow
def test_what_was_answered_survives_the_daemons_death(tmp_path: Path):
    answered: list[str] = []
    with running(tmp_path, "--team", "t") as daemon:

        def create(number: int) -> None:
            while True:
                try:
                    made = daemon.door.post("/v1/tasks", title=f"from {number}")
                except (OSError, http.client.HTTPException):
                    return  # it is dead
                assert made.status == 201
                answered.append(made.body["task"]["id"])
                if len(answered) == 60:
                    daemon.process.send_signal(signal.SIGKILL)

        together(4, create)
    with running(tmp_path, "--team", "t") as daemon:
        kept = {task["id"] for task in daemon.door.get("/v1/tasks", limit=1000).body["tasks"]}
    assert set(answered) <= kept
    assert len(kept) <= len(answered) + 4, "at most what was on its way"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=20) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.slow
def test_no_argument_breaks_a_verb(door: Door):
    fitting: dict[Any, Any] = {str: "task-0001", int: 1, bool: True}
    broken: list[Any] = []
    for name, verb in sorted(verbs.VERBS.items()):
        parameters = verbs.parameters(verb.load())
        every = {p.name: fitting.get(p.type, ["task-0001"]) for p in parameters}
        required = {p.name: every[p.name] for p in parameters if p.required}
        for args in ({}, every, {"agentId": "ada", **required}):
            answer = door.post(f"/v1/call/{name}", **args)
            broken += [(name, args, answer)] if answer.status >= 500 else []
    assert broken == []


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_value_breaks_a_route(door: Door, data: st.DataObject):
    name = data.draw(st.sampled_from(sorted(verbs.VERBS)))
    known = [p.name for p in verbs.parameters(verbs.VERBS[name].load())]
    args = data.draw(st.dictionaries(st.sampled_from([*known, "agentId"]), ANYTHING, max_size=4))
    answer = door.post(f"/v1/call/{name}", **args)
    assert answer.status < 500, (name, args, answer)
    body = data.draw(st.dictionaries(st.sampled_from(["title", "deps", "epoch", "agentId", "ttlMs", "to"]), ANYTHING))
    step = data.draw(st.sampled_from(["", "/task-0001/claim", "/task-0001/complete", "/task-0001/review"]))
    assert door.post(f"/v1/tasks{step}", **body).status < 500
