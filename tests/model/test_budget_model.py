"""Budgets under any sequence of reports, limits and attempts, beside a model that adds everything up anew.

After every step the totals equal the sum of what was reported; a claim or a send is refused exactly when a hard limit
that binds it is spent; a report is refused only for a task that the agent does not hold; and no stage is told twice
without the limit having been raised.
"""

from collections import defaultdict
from collections.abc import Generator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from rookery.core.errors import BudgetSpent
from rookery.store import queries
from rookery.store.sqlite import SqliteStore
from tests.support import ledger
from tests.support.fakes import FakeClock
from tests.support.stage import Stage
from tests.support.stores import prepared

AGENTS = ("ada", "bob")
TASKS = ("task-0001", "task-0002")
PRICES = {"sonnet": {"input": 3, "output": 15}, "haiku": {"input": 0.8, "output": 4}}
TEAMS = count(1)

agents = st.sampled_from(AGENTS)
tasks = st.sampled_from(["", *TASKS])
models = st.sampled_from(["sonnet", "haiku", "unknown"])
tokens = st.integers(0, 300)
limits = st.none() | st.integers(1, 1500)


class Sums:
    """The model: every report, kept."""

    def __init__(self) -> None:
        self.reports: list[tuple[str, str, int, int]] = []  # agent, task, tokens, cost
        self.meters: dict[tuple[str, str], tuple[int, int]] = {}
        self.keys: set[tuple[str, str]] = set()
        self.limits: dict[str, int | None] = defaultdict(lambda: None)  # by team, agent or task
        self.hard = True

    def add(self, agent: str, task: str, model: str, input: int, output: int) -> None:
        price = PRICES.get(model, {"input": 0, "output": 0})
        millionths = input * round(price["input"] * 10**6) + output * round(price["output"] * 10**6)
        self.reports.append((agent, task, input + output, (millionths + 10**6 - 1) // 10**6))

    def used(self, who: str = "") -> tuple[int, int]:
        found = [(each[2], each[3]) for each in self.reports if who in ("", each[0], each[1])]
        return sum(each[0] for each in found), sum(each[1] for each in found)

    def is_spent(self, who: str) -> bool:
        limit = self.limits[who]
        return self.hard and limit is not None and self.used("" if who == "team" else who)[0] >= limit


class BudgetMachine(RuleBasedStateMachine):
    def __init__(self, store: SqliteStore, clock: FakeClock) -> None:
        super().__init__()
        self.stage = Stage("", store=store, clock=clock, team=f"team-{next(TEAMS)}", prices=PRICES)
        self.sums = Sums()
        self.raised = 0

    @initialize()
    def begin(self) -> None:
        self.stage.join_all("boss", *AGENTS)
        self.stage.call("team.set", leader="boss")
        for id in TASKS:
            self.stage.call("task.add", title=id)

    # -- reporting -----------------------------------------------------------------------------------------------------

    @rule(agent=agents, task=tasks, model=models, input=tokens, output=tokens)
    def report(self, agent: str, task: str, model: str, input: int, output: int) -> None:
        args = {"task": task, "model": model, "input": input, "output": output}
        if task and task not in self.all_held_by(agent):
            assert self.stage.refused("usage_report", agent, **args).code == "NOT_YOURS"
            return
        self.stage.call("usage_report", agent, **args)
        if input or output:
            self.sums.add(agent, task or self.held_by(agent), model, input, output)

    @rule(agent=agents, key=st.sampled_from(["k1", "k2"]))
    def report_under_a_key(self, agent: str, key: str) -> None:
        self.stage.call("usage_report", agent, input=7, model="haiku", key=key)
        if (agent, key) not in self.sums.keys:
            self.sums.keys.add((agent, key))
            self.sums.add(agent, self.held_by(agent), "haiku", 7, 0)

    @rule(agent=agents, meter=st.sampled_from(["m1", "m2"]), input=tokens, output=tokens)
    def read_a_meter(self, agent: str, meter: str, input: int, output: int) -> None:
        self.stage.call("usage_report", agent, input=input, output=output, model="sonnet", meter=meter)
        last = self.sums.meters.get((agent, meter), (0, 0))
        more = max(0, input - last[0]), max(0, output - last[1])
        self.sums.meters[agent, meter] = max(last[0], input), max(last[1], output)
        if any(more):
            self.sums.add(agent, self.held_by(agent), "sonnet", *more)

    # -- deciding ------------------------------------------------------------------------------------------------------

    @rule(who=st.sampled_from(["team", *AGENTS, *TASKS]), limit=limits)
    def set_a_limit(self, who: str, limit: int | None) -> None:
        scope = {} if who == "team" else {"task" if who in TASKS else "agent": who}
        said: dict[str, Any] = {"unset": ["maxTokens"]} if limit is None else {"max_tokens": limit}
        self.stage.call("budget.set", **scope, **said)
        self.sums.limits[who] = limit
        self.raised += 1

    @rule(hard=st.booleans())
    def harden(self, hard: bool) -> None:
        self.stage.call("budget.set", hard_limit=hard)
        self.sums.hard = hard
        self.raised += 1

    # -- trying --------------------------------------------------------------------------------------------------------

    def held_by(self, agent: str) -> str:
        mine = self.all_held_by(agent)
        return mine[0] if len(mine) == 1 else ""

    def all_held_by(self, agent: str) -> list[str]:
        shown = [self.stage.call("task.show", id=id) for id in TASKS]
        return [task["id"] for task in shown if task["status"] == "in_progress" and task["owner"] == agent]

    def attempt(self, verb: str, agent: str, *binding: str, **args: Any) -> None:
        spent = any(self.sums.is_spent(who) for who in ("team", agent, *binding))
        if not spent:
            self.stage.call(verb, agent, **args)
            return
        with pytest.raises(BudgetSpent) as caught:
            self.stage.call(verb, agent, **args)
        assert (caught.value.code, caught.value.http_status) == ("BUDGET_EXCEEDED", 429)

    @rule(agent=agents, id=st.sampled_from(TASKS))
    def claim(self, agent: str, id: str) -> None:
        if self.stage.call("task.show", id=id)["status"] == "pending":
            self.attempt("task.claim", agent, id, id=id)

    @rule(agent=agents)
    def send(self, agent: str) -> None:
        self.attempt("send", agent, *self.all_held_by(agent), to=["boss"], subject="s")

    @rule(agent=agents)
    def always_passes(self, agent: str) -> None:
        self.stage.send(agent, "user", "How it stands")
        self.stage.call("escalate", agent, title="Help")
        self.stage.call("inbox", agent)
        for id in self.all_held_by(agent):
            self.stage.call("task.progress", agent, id=id, said="x")
            self.stage.call("task.release", agent, id=id)

    @rule(agent=agents)
    def the_person_is_not_bound(self, agent: str) -> None:
        self.stage.send(None, agent, "Go on")

    # -- what holds ----------------------------------------------------------------------------------------------------

    @invariant()
    def totals_are_the_sums_of_the_reports(self) -> None:
        shown = self.stage.call("budget")
        assert (shown["tokens"], shown["costMicros"]) == self.sums.used()
        told = {each["agent"]: (each["tokens"], each["costMicros"]) for each in shown["agents"]}
        assert {who: used for who, used in told.items() if any(used)} == {
            who: self.sums.used(who) for who in AGENTS if any(self.sums.used(who))
        }
        for id in TASKS:
            task = self.stage.call("task.show", id=id)
            assert (task["tokens"], task["costMicros"]) == self.sums.used(id)

    @invariant()
    def nothing_is_told_twice_without_a_change(self) -> None:
        told = [(each["type"], each["ref"]) for each in self.stage.events("budget.near", "budget.spent")]
        accounts = 1 + len(AGENTS) + len(TASKS)
        assert len(told) <= 2 * accounts * (1 + self.raised)
        if not self.raised:
            assert len(told) == len(set(told))


@pytest.fixture
def shop(tmp_path: Path) -> Generator[tuple[SqliteStore, Any]]:
    clock = FakeClock()
    with closing(SqliteStore(prepared(tmp_path / "ledger.db"), clock)) as store:
        yield store, lambda: BudgetMachine(store, clock)


@pytest.mark.slow
def test_budgets_beside_a_model(shop: tuple[SqliteStore, Any]) -> None:
    store, machine = shop
    run_state_machine_as_test(machine, settings=settings(max_examples=10, stateful_step_count=20))
    assert ledger.faults(store.location) == []


@pytest.mark.slow
def test_budgets_beside_a_model_for_longer(shop: tuple[SqliteStore, Any]) -> None:
    store, machine = shop
    run_state_machine_as_test(machine, settings=settings(max_examples=30, stateful_step_count=40))
    assert ledger.faults(store.location) == []


BUGS = {  # each with a seed from which it shows soon
    "a counter that forgets": (1, "count_agent_usage", "tokens = tokens + :tokens", "tokens = :tokens"),
    "a meter that falls": (1, "read_meter", "max(usage_meters.input, excluded.input)", "excluded.input"),
    "a limit that sees no use": (4, "agent_terms", "max_cost, tokens", "max_cost, 0 AS tokens"),
    "a task that is not looked at": (6, "tasks_held_by", "holder = :agent", "holder = :agent + 99"),
}


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_control_a_seeded_bug_is_found(
    shop: tuple[SqliteStore, Any], monkeypatch: pytest.MonkeyPatch, bug: str
) -> None:
    store, machine = shop
    from_seed, name, old, new = BUGS[bug]
    text = queries.load("sqlite")
    assert old in text[name], "the statement was rewritten: spoil it another way"
    monkeypatch.setitem(store._queries, name, text[name].replace(old, new))
    thorough = settings(max_examples=300, stateful_step_count=30, phases=[Phase.generate], database=None)
    with pytest.raises((AssertionError, pytest.fail.Exception, BudgetSpent)):
        run_state_machine_as_test(seed(from_seed)(machine), settings=thorough)
