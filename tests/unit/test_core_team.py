"""A team's definition: everything that is wrong with it is told at once, and nothing else is taken."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import errors, team

SEED: dict[str, Any] = {
    "schemaVersion": "1.0.0",
    "teamId": "pi-team-dev",
    "agents": [
        {"id": "leader", "role": "leader", "model": "anthropic/claude-3-5-sonnet"},
        {"id": "worker_a", "role": "worker", "model": "anthropic/claude-3-5-haiku"},
    ],
    "budget": {"maxTokens": 1000000, "hardLimit": True},
}


def problems(data: dict[str, Any], *known: str) -> list[str]:
    with pytest.raises(errors.BadInput) as caught:
        team.parse(data, known)
    assert caught.value.code == "BAD_TEAM"
    assert str(caught.value).isprintable()
    return caught.value.facts["problems"]


def test_seed_002s_own_example() -> None:
    made = team.parse(SEED)
    assert made.team == "pi-team-dev"
    assert [each.id for each in made.agents] == ["leader", "worker_a"]
    assert made.agents[1].said == {"role": "worker", "model": "anthropic/claude-3-5-haiku"}
    assert made.rules == {"max_tokens": 1_000_000, "hard_limit": True, "leader": "leader"}


def test_every_problem_is_told_at_once() -> None:
    told = problems({
        "schemaVersion": 2, "teamId": "a b", "leader": "ada", "strict": "yes", "agnets": [], "budgets": {},
        "agents": [{"id": "ada"}, {"id": "ADA"}, {"id": "a b"}, {"id": "c", "modle": "x"}, 7, {"role": "dev"},
                   {"id": "d", "role": "x y", "maxTokens": 0}],
        "groups": {"g": ["system"], "all": ["ada"], "h": "ada"},
        "budget": {"maxTokens": -1, "hardLimit": 1, "maxTokns": 5, "warnPercent": 101, "maxCostMicros": 1.5},
    })  # fmt: skip
    expected = (
        "'agnets'. Did you mean agents?", "'budgets'. Did you mean budget", "schemaVersion:", "teamId:", "strict:",
        "ADA is there twice", "agents[2].id:", "Did you mean model", "agents[4]: is no agent",
        "agents[5]: is no agent",
        "agents[6].role:", "agents[6].maxTokens:", "'system' is reserved", "all is everyone", "groups.'h'",
        "budget.maxTokens: -1", "budget.hardLimit:", "Did you mean maxTokens", "budget.warnPercent: 101",
        "budget.maxCostMicros: 1.5",
    )  # fmt: skip
    for words in expected:
        assert any(words in each for each in told), words
    assert len(told) == len(expected)


def test_many_problems_are_counted() -> None:
    told = {"agents": [{"id": "a b"} for _ in range(50)]}
    assert len(problems(told)) == 50
    with pytest.raises(errors.BadInput, match=r"50 problems.*and 30 more"):
        team.parse(told)


def test_the_leader_is_one_of_the_agents() -> None:
    (told,) = problems({"leader": "laeder"}, "leader", "ben")
    assert told == "leader: laeder is no agent of this team. Did you mean leader?"
    assert team.parse({"leader": "Ben"}, ["ben"]).rules == {"leader": "Ben"}
    assert team.parse({"leader": "ada", "agents": [{"id": "ada"}]}).rules == {"leader": "ada"}
    assert team.parse({"leader": None}).rules == {"leader": None}


def test_an_agent_of_the_role_leads_only_if_it_is_the_only_one() -> None:
    two = [{"id": "a", "role": "leader"}, {"id": "b", "role": "leader"}]
    assert team.parse({"agents": two}).rules == {}
    assert team.parse({"agents": two, "leader": "b"}).rules == {"leader": "b"}


@pytest.mark.parametrize(
    ("data", "strict"),
    [({"guard": "strict"}, True), ({"guard": "advisory"}, False), ({"strict": True}, True), ({"guard": None}, None)],
)
def test_the_guard(data: dict[str, Any], strict: bool | None) -> None:
    assert team.parse(data).rules == {"strict": strict}


def test_two_words_for_the_guard_must_agree() -> None:
    assert team.parse({"guard": "strict", "strict": True}).rules == {"strict": True}
    assert problems({"guard": "strict", "strict": False}) == [
        "guard: says another thing than strict does. One of them is enough."
    ]
    assert problems({"guard": "lax"}) == ["guard: 'lax' is not known. strict or advisory."]


def test_null_takes_back_and_silence_leaves() -> None:
    assert team.parse({"budget": None}).rules == dict.fromkeys(team.BUDGET.values())
    assert team.parse({"budget": {"maxTokens": None}}).rules == {"max_tokens": None}
    assert team.parse({}).rules == {}
    assert team.parse({"agents": [{"id": "a"}]}).agents[0].said == {}


@pytest.mark.parametrize("value", [True, 1.0, float("nan"), float("inf"), "5", [], {}, 1 << 53, 10**400])
def test_a_limit_is_a_positive_whole_number(value: Any) -> None:
    (told,) = problems({"budget": {"maxTokens": value}})
    assert told.startswith("budget.maxTokens: ")


def test_what_is_nested_deeply_is_not_written_down() -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    assert problems({"budget": {"maxTokens": deep}})
    assert problems({"leader": deep})


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*team.KEYS, "x"]), json, max_size=4))
def test_any_json_is_a_definition_or_refused(data: dict[str, Any]) -> None:
    with suppress(errors.BadInput):
        assert isinstance(team.parse(data), team.Definition)


def test_as_the_command_line_writes_it() -> None:
    assert team.member_of("ada") == {"id": "ada"}
    assert team.member_of("ada:dev") == {"id": "ada", "role": "dev"}
    assert team.member_of("ada:dev:host/model:free") == {"id": "ada", "role": "dev", "model": "host/model:free"}
    assert team.group_of("g = ada, ben,") == ("g", ["ada", "ben"])
    assert team.group_of("g=") == ("g", [])
