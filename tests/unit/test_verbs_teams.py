"""The stored definition: who belongs to a team, who leads, how strict it is; and what it does to mail and claims."""

from typing import Any

import pytest

from tests.support.stage import Build, Stage

SEED: dict[str, Any] = {
    "schemaVersion": "1.0.0",
    "teamId": "crew",
    "agents": [
        {"id": "lead", "role": "leader", "model": "anthropic/claude-3-5-sonnet"},
        {"id": "worker_a", "role": "worker", "model": "anthropic/claude-3-5-haiku", "maxTokens": 500},
    ],
    "groups": {"reviewers": ["worker_a", "ops/checker", "user"]},
    "guard": "strict",
    "budget": {"maxTokens": 1000000, "hardLimit": True},
}


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.call("team.set", definition=SEED)
    return made


def test_the_definition_is_stored_and_shown(stage: Stage) -> None:
    shown = stage.call("team.show")
    assert shown["agents"][:2] == SEED["agents"]
    assert (shown["leader"], shown["strict"], shown["guard"]) == ("lead", True, "strict")
    assert shown["groups"] == {"reviewers": ["ops/checker", "user", "worker_a"]}
    assert (shown["budget"]["maxTokens"], shown["budget"]["hardLimit"]) == (1000000, True)
    assert shown["sources"] == dict.fromkeys(shown["sources"], "default") | {
        "leader": "stored", "strict": "stored", "maxTokens": "stored", "hardLimit": "stored",
    }  # fmt: skip
    (event,) = stage.events("team.set")
    assert event["data"]["agents"] == ["lead", "worker_a"]
    assert event["data"]["leader"] == "lead"


def test_what_is_shown_can_be_set(stage: Stage) -> None:
    shown = stage.call("team.show")
    again = stage.call("team.set", definition=shown)
    again.pop("created")
    assert again == shown | {"sources": again["sources"]}


def test_setting_the_same_again_changes_nothing(stage: Stage) -> None:
    before = stage.seq()
    stage.call("team.set", definition=SEED)
    assert stage.seq() == before


def test_agents_of_the_definition_are_known_before_they_join(stage: Stage) -> None:
    stage.join("ada")
    assert stage.send("ada", "worker_a")["recipients"][0]["how"].startswith("never joined")
    assert stage.send("ada", "any:worker")["recipients"][0]["name"] == "worker_a"
    reached = stage.send("ada", "broadcast:reviewers")["recipients"]
    assert [each["name"] for each in reached] == ["ops/checker", "user", "worker_a"]
    assert stage.send("ada", "broadcast:Reviewers")["id"]
    assert stage.refused("send", "ada", to=["worker_b"], subject="s").code == "UNKNOWN_AGENT"
    assert "reviewers" in stage.refused("send", "ada", to=["broadcast:nobody"], subject="s").hint
    stage.join("worker_a")
    assert len(stage.subjects("worker_a")) == 4


def test_the_leader_steers_and_hears_escalations(stage: Stage) -> None:
    stage.join_all("lead", "worker_a")
    stage.call("task.add", "worker_a", title="Work")
    stage.call("task.cancel", "lead", id="task-0001")
    assert stage.call("escalate", "worker_a", title="Stuck")["to"] == "lead"
    stage.call("team.set", leader="worker_a")
    assert stage.call("escalate", "lead", title="Stuck")["to"] == "worker_a"
    stage.call("rename", "worker_a", name="chief")
    assert stage.call("team.show")["leader"] == "chief"
    assert stage.call("team.show")["groups"]["reviewers"] == ["chief", "ops/checker", "user"]


def test_the_guard_is_strict_or_not(stage: Stage) -> None:
    stage.join("worker_a")
    assert stage.call("can-write", "worker_a", paths=["src/x.py"])["allow"] is False
    stage.call("team.set", strict=False)
    assert stage.call("can-write", "worker_a", paths=["src/x.py"])["allow"] is True


def test_the_stored_definition_wins_over_the_settings_field_by_field(build: Build) -> None:
    stage = build(
        leader="toml_lead", guard__strict=True, budget__max_tokens=5, groups={"g": ["x"], "h": ["y"]},
        agents={"dev1": {"role": "dev", "model": "m"}},
    )  # fmt: skip
    stage.join("ada")
    shown = stage.call("team.show")
    assert (shown["leader"], shown["strict"], shown["budget"]["maxTokens"]) == ("toml_lead", True, 5)
    assert shown["agents"] == [{"id": "ada", "role": "", "model": ""}, {"id": "dev1", "role": "dev", "model": "m"}]
    assert set(shown["sources"].values()) == {"flag", "default"}
    stage.call("team.set", leader="ada", grouped=["g=ada"])
    shown = stage.call("team.show")
    assert (shown["leader"], shown["strict"], shown["budget"]["maxTokens"]) == ("ada", True, 5)
    assert shown["groups"] == {"g": ["ada"], "h": ["y"]}
    stage.call("team.set", definition={"strict": False, "budget": {"maxTokens": 9}})
    shown = stage.call("team.show")
    assert (shown["strict"], shown["budget"]["maxTokens"]) == (False, 9)
    stage.call("team.set", unset=["leader", "guard", "budget"])
    shown = stage.call("team.show")
    assert (shown["leader"], shown["strict"], shown["budget"]["maxTokens"]) == ("toml_lead", True, 5)


def test_options(build: Build) -> None:
    stage = build()
    shown = stage.call(
        "team.set", members=["ada:leader:m1", "bob"], grouped=["g=ada,bob"], max_tokens=5, hard_limit=False, strict=True
    )
    assert shown["agents"] == [{"id": "ada", "role": "leader", "model": "m1"}, {"id": "bob", "role": "", "model": ""}]
    assert (shown["leader"], shown["created"], shown["guard"]) == ("ada", True, "strict")
    assert (shown["budget"]["maxTokens"], shown["budget"]["hardLimit"]) == (5, False)
    shown = stage.call("team.set", members=["bob:dev"], grouped=["g="])
    assert shown["agents"][1] == {"id": "bob", "role": "dev", "model": ""}
    assert shown["groups"] == {}
    over = stage.call(
        "team.set", definition={"guard": "strict", "budget": {"maxTokens": 9}}, strict=False, max_tokens=7
    )
    assert (over["strict"], over["budget"]["maxTokens"], over["created"]) == (False, 7, False)


def test_an_agent_is_dropped_from_the_definition_and_keeps_its_mail(stage: Stage) -> None:
    stage.send(None, "worker_a")
    stage.call("team.set", drop=["worker_a"])
    assert {"id": "worker_a", "role": "", "model": ""} in stage.call("team.show")["agents"]
    assert len(stage.subjects("worker_a")) == 1
    assert stage.refused("send", to=["any:worker"], subject="s").code == "UNKNOWN_NAME"
    assert stage.refused("team.set", drop=["lead"]).code == "IS_LEADER"
    assert stage.refused("team.set", drop=["nobody"]).code == "UNKNOWN_AGENT"


def test_who_may_change_what(stage: Stage) -> None:
    stage.join_all("lead", "worker_a")
    for rules in ({"leader": "worker_a"}, {"strict": False}, {"max_tokens": 10**9}, {"unset": ["budget"]}):
        for who in ("lead", "worker_a"):
            assert stage.refused("team.set", who, **rules).code == "NOT_YOURS"
        stage.call("team.set", None, **rules)
    for crew in ({"members": ["new:dev"]}, {"grouped": ["g=lead"]}, {"drop": ["ops/checker"]}):
        for who in ("lead", "worker_a"):
            assert stage.refused("team.set", who, **crew).code == "NOT_YOURS"
        stage.call("team.set", None, **crew)


@pytest.mark.parametrize(
    "args",
    [
        {"definition": {"agnets": []}}, {"definition": {"teamId": "other"}}, {"leader": "nobody"}, {"leader": "user"},
        {"members": ["a b"]}, {"members": [":dev"]}, {"grouped": ["a b=x"]}, {"grouped": ["all=lead"]},
        {"max_tokens": 0}, {"max_tokens": -1}, {"max_tokens": 1.0}, {"unset": ["lader"]}, {"definition": []},
        {"definition": {"budget": {"maxTokens": float("nan")}}}, {"members": ["lead", "LEAD"]},
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_definition_changes_nothing(stage: Stage, args: dict[str, Any]) -> None:
    assert stage.refused("team.set", **args).hint


def test_a_limit_of_an_agent_comes_with_the_definition(stage: Stage) -> None:
    stage.join_all("worker_a", "lead")
    stage.call("usage_report", "worker_a", input=500)
    assert stage.refused("send", "worker_a", to=["lead"], subject="s").facts["maxTokens"] == 500
    stage.call("team.set", definition={"agents": [{"id": "worker_a", "maxTokens": None}]})
    stage.send("worker_a", "lead")
