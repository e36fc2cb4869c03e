"""Discussions, notices, can-write, teams and settling, as verbs on a real store."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.described import Described
from tests.support.stage import MINUTE, Stage


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    made = Described(tmp_path / "ledger.db")
    made.join_all("ada", "bob", "eve")
    yield made
    made.close()


# -- discussions -------------------------------------------------------------------------------------------------------


def test_what_is_said_in_a_discussion_is_mail_for_those_who_take_part(stage: Stage):
    id = stage.call("thread.new", "ada", title="The spec", participants=["bob"])["id"]
    stage.call("thread.post", "ada", id=id, body="First")
    assert stage.bell.rung[-1] == {"bob"}
    assert stage.subjects("bob") == ["The spec"]
    assert stage.subjects("eve") == []
    stage.call("thread.post", "eve", id=id, body="Me too")
    assert [m["body"] for m in stage.call("thread.tail", "bob", id=id)["messages"]] == ["First", "Me too"]
    assert stage.call("thread.tail", "bob", id=id)["participants"] == ["bob", "ada", "eve"]
    stage.send("bob", "ada", "By mail", thread=id)
    assert len(stage.call("thread.tail", "bob", id=id)["messages"]) == 3


def test_a_discussion_with_oneself(stage: Stage):
    id = stage.call("thread.new", "ada", title="Notes")["id"]
    assert stage.call("thread.post", "ada", id=id, body="To self")["to"] == []
    assert len(stage.call("thread.tail", "ada", id=id, limit=1)["messages"]) == 1


@pytest.mark.parametrize(("verb", "args"), [
    ("thread.post", {"id": "thread-0009", "body": "x"}), ("thread.tail", {"id": "../x"}),
    ("thread.link", {"id": "thread-0009", "task": "task-0001"}), ("thread.new", {"title": " "}),
    ("thread.new", {"title": "x" * 301}), ("thread.new", {"title": "x", "participants": ["nobody"]}),
    ("thread.new", {"title": "x", "tasks": ["task-0009"]}), ("thread.search", {"query": [" "]}),
])  # fmt: skip
def test_what_a_discussion_refuses(stage: Stage, verb: str, args: dict[str, object]):
    stage.refused(verb, "ada", **args)


def test_a_search_finds_discussions_and_not_other_mail(stage: Stage):
    id = stage.call("thread.new", "ada", title="The spec", participants=["bob"], body="about marmalade")["id"]
    stage.send("ada", "bob", "marmalade")
    found = stage.call("thread.search", "eve", query=["marmalade"])
    assert [m["threadId"] for m in found["messages"]] == [id]
    assert [t["id"] for t in found["threads"]] == [id]


# -- notices -----------------------------------------------------------------------------------------------------------


def test_notices_are_of_others_and_for_me(stage: Stage):
    start = stage.seq()

    def types(agent: str) -> list[str]:
        return [event["type"] for event in stage.call("notices", agent, since=start)["events"]]

    stage.call("broadcast", "ada", subject="all hands")
    stage.send("ada", "eve", "for eve")
    stage.call("task.add", "ada", title="Work", assignee="bob")
    stage.call("task.claim", "bob", id="task-0001")
    stage.call("task.done", "bob", id="task-0001", summary="done")
    assert types("bob") == ["message", "task_created", "task_assigned"]
    assert types("eve") == ["message", "message"]
    assert types("ada") == ["task_start", "task_done"]


def test_an_open_inbox_gets_the_task_events_of_the_whole_team(stage: Stage):
    def types(agent: str) -> list[str]:
        return [event["type"] for event in stage.call("notices", agent)["events"] if event["type"] != "message"]

    stage.call("task.add", "ada", title="Before")
    stage.call("task.claim", "bob", id="task-0001")
    assert stage.call("notices", "eve")["opened"] is False
    assert stage.call("notices.open", "eve") == {"opened": True}
    assert stage.call("notices.open", "eve") == {"opened": False}, "the first poll counts"
    stage.call("task.done", "bob", id="task-0001", summary="done")
    stage.call("task.add", "ada", title="Own")
    stage.call("task.claim", "eve", id="task-0002")
    assert types("eve") == ["task_done", "task_start"], "also what it did itself, and nothing from before"
    assert types("bob") == []


def test_discussions_are_found_by_what_they_are_about(stage: Stage):
    stage.call("task.add", "ada", title="Work")
    first = stage.call("thread.new", "ada", title="100% of the Spec", tasks=["task-0001"])["id"]
    second = stage.call("thread.new", "ada", title="Other", participants=["bob"], body="about marmalade")["id"]

    def found(query: str) -> list[str]:
        return [thread["id"] for thread in stage.call("thread.about", "eve", query=query)["threads"]]

    assert found("") == found(" ") == found("ada") == [first, second]
    assert found("spec") == found("0% OF") == found("task-0001") == [first]
    assert found("BOB") == found("marmalade") == [second]
    assert found("%%") == found("_") == found('"') == []


def test_notices_are_the_same_whenever_they_are_computed(stage: Stage):
    """An inbox is a reading of the log: in one go, in pages, or again from the start."""
    for number in range(20):
        stage.send("ada", "bob", f"s{number}")
        stage.send("ada", "eve", f"other {number}")
    whole = stage.call("notices", "bob")["events"]
    paged, cursor = [], 0
    while (page := stage.call("notices", "bob", since=cursor, limit=3))["events"]:
        paged += page["events"]
        cursor = page["nextSince"]
    assert paged == whole == stage.call("notices", "bob")["events"]
    assert len(whole) == 20


# -- can-write ---------------------------------------------------------------------------------------------------------


def test_can_write_looks_at_all_paths(stage: Stage):
    stage.call("task.add", "ada", title="Work", resources=["src/io/*.py"])
    stage.call("task.claim", "ada", id="task-0001")
    held = stage.call("can-write", "bob", paths=["README.md", "src/io/x.py"])
    assert held["allow"] is False
    assert [each["allow"] for each in held["paths"]] == [True, False]
    assert stage.call("can-write", "bob", paths=["src/io/x.txt"])["allow"] is True
    assert stage.call("can-write", "bob", paths=["src/io/*.txt"])["allow"] is True, "a name, not a pattern"
    for path in ("../x", "/x", "a/../../x", "", ".", "a\\b"):
        assert stage.call("can-write", "ada", paths=[path])["reason"] == "outside the workspace"


def test_a_lapsed_hold_holds_nothing(stage: Stage):
    stage.call("task.add", "ada", title="Work", resources=["src/"])
    session = stage.call("task.claim", "ada", id="task-0001", ttl_ms=MINUTE)
    assert session["lease"]
    for identity in stage.prober.states:
        stage.prober.states[identity] = "dead"
    stage.clock.pass_time(MINUTE)
    assert stage.call("can-write", "bob", paths=["src/x"])["allow"] is True


def test_a_strict_team_wants_a_lease(tmp_path: Path):
    stage = Described(tmp_path / "strict.db", guard__strict=True)
    stage.join_all("ada")
    assert stage.call("can-write", "ada", paths=["src/x"])["allow"] is False
    stage.call("task.add", "ada", title="Work", resources=["src/"])
    stage.call("task.claim", "ada", id="task-0001", ttl_ms=MINUTE)
    assert stage.call("can-write", "ada", paths=["src/x"])["allow"] is True
    assert stage.call("can-write", "ada", paths=["docs/x"])["allow"] is False
    stage.clock.pass_time(MINUTE)
    assert stage.call("can-write", "ada", paths=["src/x"])["allow"] is False
    stage.close()


# -- teams and settling ------------------------------------------------------------------------------------------------


def test_a_team_is_made_with_its_agents(stage: Stage):
    made = stage.call("team.new", agents=[{"id": "zoe", "role": "reviewer"}, {"id": "ada", "role": "dev"}])
    assert made["created"] is False
    roles = {agent["id"]: agent["role"] for agent in stage.call("team.show")["agents"]}
    assert (roles["zoe"], roles["ada"]) == ("reviewer", "dev")
    assert [team["teamId"] for team in stage.call("team.list")["teams"]] == ["crew"]
    for agents in ([{"id": "system"}], [{"id": 1}], [{"name": "x"}], [{"id": "x", "role": "a b"}]):
        stage.refused("team.new", agents=agents)


def test_settling_writes_down_what_lapsed_and_tells_its_holder(stage: Stage):
    stage.call("task.add", "ada", title="Work")
    stage.call("task.claim", "bob", id="task-0001", ttl_ms=MINUTE)
    assert stage.call("due") == {"sweep": False, "leases": False, "unanswered": False}
    for identity in stage.prober.states:
        stage.prober.states[identity] = "dead"
    stage.clock.pass_time(MINUTE)
    assert stage.call("due") == {"sweep": False, "leases": True, "unanswered": False}
    assert stage.call("settle")["settled"] == ["task-0001"]
    assert stage.call("due")["leases"] is False
    assert stage.subjects("bob") == ["Lease lost: task-0001 Work"]
    assert stage.call("settle")["settled"] == []


def test_settling_leaves_a_lease_to_a_holder_that_runs(stage: Stage):
    stage.call("task.add", "ada", title="Work")
    stage.call("task.claim", "bob", id="task-0001", ttl_ms=MINUTE)
    stage.clock.pass_time(MINUTE)
    stage.call("settle")
    assert stage.call("task.show", id="task-0001")["owner"] == "bob"
    assert stage.call("due")["leases"] is False
