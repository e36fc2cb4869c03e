"""Budgets through the verbs: counting, limits, who is told, and what passes in any case."""

from functools import partial
from typing import Any

import pytest

from rookery.core import budget as law
from tests.support.stage import Build, Stage

LEADER, ADA, BOB = "boss", "ada", "bob"
PRICES = {"sonnet": {"input": 3, "output": 15.0}, "haiku": {"input": 0.8, "output": 4}}


@pytest.fixture
def stage(build: Build) -> Stage:
    """A leader, two agents, one task, 1,000 tokens."""
    made = build(prices=PRICES)
    made.join_all(LEADER, ADA, BOB)
    made.call("team.set", leader=LEADER, max_tokens=1000, hard_limit=True)
    made.call("task.add", title="Work")
    return made


def use(stage: Stage, tokens: int, agent: str = ADA, **more: Any) -> dict[str, Any]:
    return stage.call("usage_report", agent, input=tokens, **more)


def told(stage: Stage, agent: str = LEADER) -> list[str]:
    return [subject for subject in stage.subjects(agent, all=True) if "budget" in subject]


def team(stage: Stage) -> dict[str, Any]:
    return stage.call("budget")


# --- counting --------------------------------------------------------------------------------------------------------


def test_a_report_is_counted_for_the_agent_the_task_and_the_team(stage: Stage) -> None:
    stage.call("task.claim", ADA, id="task-0001")
    made = stage.call("usage_report", ADA, input=30, output=12, task="task-0001", model="sonnet")
    assert (made["agent"], made["task"], made["counted"]) == (ADA, "task-0001", True)
    assert made["costMicros"] == 30 * 3 + 12 * 15
    assert {kind: card["tokens"] for kind, card in made["standing"].items()} == {"team": 42, "agent": 42, "task": 42}
    use(stage, 8, BOB, model="haiku")
    shown = team(stage)
    assert (shown["tokens"], shown["costMicros"], shown["percent"]) == (50, 270 + 7, 5)  # 6.4 is rounded up
    assert [(each["agent"], each["tokens"]) for each in shown["agents"]] == [(ADA, 42), (BOB, 8)]
    assert [(each["task"], each["tokens"]) for each in shown["tasks"]] == [("task-0001", 42)]
    assert stage.call("task.show", id="task-0001")["tokens"] == 42
    (row,) = stage.call("budget", agent=ADA, task="task-0001")["usage"]
    assert row == {"agent": ADA, "task": "task-0001", "model": "sonnet", "inputTokens": 30, "outputTokens": 12,
                   "costMicros": 270, "reports": 1}  # fmt: skip
    (event,) = [each for each in stage.events("usage") if each["actor"] == ADA]
    told = {"input": 30, "output": 12, "cost": 270, "model": "sonnet", "for": ["ada", "user"],
            "status": "in_progress"}  # fmt: skip
    assert (event["ref"], event["data"]) == ("task-0001", told)


def test_the_one_task_an_agent_holds_is_what_it_works_on(stage: Stage) -> None:
    stage.call("task.claim", ADA, id="task-0001")
    assert use(stage, 5)["task"] == "task-0001"
    stage.call("task.add", title="More")
    stage.call("task.claim", ADA, id="task-0002")
    assert use(stage, 5)["task"] is None
    assert use(stage, 5, task="task-0002")["task"] == "task-0002"


def test_a_model_is_the_one_told_or_joined_with_or_defined(stage: Stage) -> None:
    stage.join("cat", model="haiku")
    stage.call("team.set", members=["dan:dev:sonnet"])
    stage.join("dan")
    assert use(stage, 1, "cat", model="sonnet")["model"] == "sonnet"
    assert use(stage, 1, "cat")["model"] == "haiku"
    assert use(stage, 1, "dan")["model"] == "sonnet"


def test_a_model_without_a_price_is_said_to_have_none(stage: Stage) -> None:
    assert use(stage, 10, model="new-model")["costMicros"] is None
    use(stage, 10, model="haiku")
    shown = team(stage)
    assert (shown["unpricedTokens"], shown["costMicros"]) == (10, 8)


def test_a_key_counts_once(stage: Stage) -> None:
    first = use(stage, 10, key="k")
    again = use(stage, 10, key="k")
    assert again == first | {"replayed": True}
    assert team(stage)["tokens"] == 10
    assert stage.refused("usage_report", ADA, input=11, key="k").code == "IDEMPOTENCY_MISMATCH"
    use(stage, 10, BOB, key="k")  # another agent's key is another key
    assert team(stage)["tokens"] == 20


def test_a_meter_counts_what_it_rose_by(stage: Stage) -> None:
    assert use(stage, 10, output=5, meter="s1")["inputTokens"] == 10
    again = use(stage, 10, output=5, meter="s1")
    assert (again["counted"], again["inputTokens"], again["outputTokens"]) == (False, 0, 0)
    later = use(stage, 40, output=5, meter="s1")
    assert (later["inputTokens"], later["outputTokens"]) == (30, 0)
    assert use(stage, 20, output=9, meter="s1")["outputTokens"] == 4  # the input reading came late
    use(stage, 7, meter="s2")
    use(stage, 7, BOB, meter="s1")
    assert team(stage)["tokens"] == 40 + 9 + 7 + 7
    assert len(stage.events("usage")) == 5


def test_only_who_leads_reports_for_another(stage: Stage) -> None:
    assert stage.refused("usage_report", BOB, input=5, agent=ADA).code == "NOT_YOURS"
    assert stage.call("usage_report", BOB, input=5, agent=BOB)["agent"] == BOB
    for leader in (LEADER, None):
        assert stage.call("usage_report", leader, input=5, agent=ADA)["agent"] == ADA
    assert stage.call("budget", agent=ADA)["agents"][0]["tokens"] == 10


def test_nobody_charges_the_task_of_another(stage: Stage) -> None:
    """Held, completed, to be had by another, or nobody's: an agent's report counts for its own tasks alone."""
    own = stage.call("task.add", BOB, title="made by bob")["id"]
    assert use(stage, 1, BOB, task=own)["task"] == own
    assert stage.refused("usage_report", BOB, input=5, task="task-0001").code == "NOT_YOURS"
    stage.call("task.claim", ADA, id="task-0001")
    stage.call("task.claim", ADA, id=own)
    for id in ("task-0001", own):
        assert stage.refused("usage_report", BOB, input=5, task=id).code == "NOT_YOURS"
    stage.call("task.done", ADA, id=own, summary="done", evidence=["x"])
    assert stage.refused("usage_report", BOB, input=5, task=own).code == "NOT_YOURS"
    assert use(stage, 5, ADA, task=own)["task"] == own
    assert use(stage, 5, LEADER, task=own)["task"] == own


def test_who_started_a_worker_reports_for_it(stage: Stage) -> None:
    caller = stage.caller(BOB, tree="/work")
    worker = stage.call("spawn", caller, assignment="Parse", host="script", program=["true"])
    of = {"agent": worker["name"], "task": worker["task"]}
    assert stage.call("usage_report", BOB, input=5, **of)["agent"] == worker["name"]
    assert stage.refused("usage_report", ADA, input=5, agent=worker["name"]).code == "NOT_YOURS"
    assert stage.refused("usage_report", ADA, input=5, task=worker["task"]).code == "NOT_YOURS"


def test_usage_follows_a_rename(stage: Stage) -> None:
    use(stage, 5)
    stage.call("rename", ADA, name="ada2")
    assert [each["agent"] for each in team(stage)["agents"]] == ["ada2"]


HOSTILE: list[dict[str, Any]] = [
    {"input": -1}, {"output": -1}, {"input": 1 << 53}, {"input": 10**12 + 1}, {"input": 1.5}, {"input": float("nan")},
    {"input": "5"}, {"input": True}, {"input": None}, {"input": 5, "task": "task-9999"},
    {"input": 5, "agent": "nobody"},
    {"input": 5, "model": "x" * 201}, {"input": 5, "model": "a\nb"}, {"input": 5, "meter": "m" * 201},
    {"input": 5, "meter": "a\nb"}, {"input": 5, "key": "k" * 201}, {"input": 5, "key": "\ud800"}, {"tokens": 5},
]  # fmt: skip


@pytest.mark.parametrize("args", HOSTILE, ids=repr)
def test_what_is_no_report_is_refused_and_leaves_nothing(stage: Stage, args: dict[str, Any]) -> None:
    assert stage.refused("usage_report", ADA, **args).hint


@pytest.mark.slow
def test_totals_stay_countable(build: Build) -> None:
    """A hostile sum is refused before it overflows, and says so."""
    stage = build()
    stage.join(ADA)
    for _ in range(law.BIGGEST // law.REPORT_LIMIT):
        use(stage, law.REPORT_LIMIT)
    assert stage.refused("usage_report", ADA, input=law.REPORT_LIMIT).code == "BAD_USAGE"
    assert team(stage)["tokens"] == law.BIGGEST // law.REPORT_LIMIT * law.REPORT_LIMIT


# --- told once -------------------------------------------------------------------------------------------------------


def test_the_leader_is_told_once_on_the_way_and_once_at_the_end(stage: Stage) -> None:
    use(stage, 799)
    assert told(stage) == []
    use(stage, 1)
    use(stage, 100)
    assert told(stage) == ["The budget of team crew is nearly spent: 800 of 1,000 tokens"]
    use(stage, 100)
    use(stage, 500)
    assert len(told(stage)) == 2
    assert "spent: 1,000 of 1,000 tokens" in told(stage)[1]
    assert [each["type"] for each in stage.events("budget.near", "budget.spent")] == ["budget.near", "budget.spent"]
    assert told(stage, "user") == told(stage)[1:]  # who alone can raise it learns of it too


def test_raising_the_limit_makes_crossing_it_news_again(stage: Stage) -> None:
    use(stage, 900)
    assert len(told(stage)) == 1
    stage.call("budget.set", max_tokens=1100)  # 81 %: raised, but not from under the line
    use(stage, 1)
    assert len(told(stage)) == 1
    stage.call("budget.set", max_tokens=2000)
    use(stage, 600)
    assert len(told(stage)) == 1
    use(stage, 200)
    assert told(stage)[1:] == ["The budget of team crew is nearly spent: 1,701 of 2,000 tokens"]


def test_lowering_a_limit_below_the_use_is_told(stage: Stage) -> None:
    use(stage, 500)
    stage.call("budget.set", max_tokens=400)
    assert len(told(stage)) == 1
    stage.call("budget.set", max_tokens=300)
    assert len(told(stage)) == 1


def test_without_a_leader_the_person_is_told(build: Build) -> None:
    stage = build()
    stage.join(ADA)
    stage.call("budget.set", max_tokens=10)
    use(stage, 9)
    assert len(told(stage, "user")) == 1


def test_a_soft_limit_is_told_once_and_refuses_nothing(stage: Stage) -> None:
    stage.call("budget.set", hard_limit=False)
    for tokens in (900, 100, 500):
        use(stage, tokens)
    assert len(told(stage)) == 1
    stage.send(ADA, BOB)
    stage.call("task.claim", ADA, id="task-0001")


# --- what is refused, and what is not --------------------------------------------------------------------------------


@pytest.fixture
def spent(stage: Stage) -> Stage:
    """Everything is used; ada holds a task, has mail from bob and from the person."""
    stage.call("task.claim", ADA, id="task-0001")
    stage.call("task.add", title="Other")
    stage.send(BOB, ADA, "From bob")
    stage.send(None, ADA, "From the person")
    stage.call("thread.new", title="Talk", participants=[ADA, BOB])
    use(stage, 1000)
    return stage


def mail_of(stage: Stage, subject: str) -> str:
    return next(each["id"] for each in stage.inbox(ADA) if each["subject"] == subject)


REFUSED: dict[str, dict[str, Any]] = {
    "send": {"to": [BOB], "subject": "s"},
    "broadcast": {"subject": "s"},
    "handoff": {"to": [BOB], "subject": "s", "work_completed": "w", "current_state": "c", "next_steps": ["n"]},
    "task.claim": {"id": "task-0002"},
    "spec.claim": {"spec": "docs/spec.md", "item": "TASK-03"},
    "thread.new": {"title": "t", "participants": [BOB]},
    "thread.post": {"id": "thread-0001", "body": "b"},
}


@pytest.mark.parametrize("verb", REFUSED)
def test_a_spent_hard_limit_refuses(spent: Stage, verb: str) -> None:
    refused = spent.refused(verb, ADA, **REFUSED[verb])
    assert (refused.code, refused.http_status) == ("BUDGET_EXCEEDED", 429)
    assert "The user can raise it: `rook budget set --max-tokens N`" in refused.hint


@pytest.mark.parametrize("verb", REFUSED)
def test_control_the_same_passes_when_the_person_raised_it(spent: Stage, verb: str) -> None:
    spent.call("budget.set", max_tokens=2000)
    spent.call(verb, ADA, **REFUSED[verb])


def test_the_next_task_is_refused_too(spent: Stage) -> None:
    assert spent.refused("task.claim", BOB, next=True).code == "BUDGET_EXCEEDED"


def test_an_answer_to_an_agent_is_refused_and_one_to_a_person_passes(spent: Stage) -> None:
    assert spent.refused("reply", ADA, id=mail_of(spent, "From bob"), body="x").code == "BUDGET_EXCEEDED"
    spent.call("reply", ADA, id=mail_of(spent, "From the person"), body="here is how it stands")
    spent.send(ADA, "user", "A question")
    assert spent.refused("send", ADA, to=["user", BOB], subject="s").code == "BUDGET_EXCEEDED"


REPORTS: list[tuple[str, dict[str, Any]]] = [
    ("task.progress", {"id": "task-0001", "said": "half"}),
    ("task.renew", {"id": "task-0001"}),
    ("escalate", {"title": "Out of budget"}),
    ("status", {"note": "waiting"}),
    ("usage_report", {"input": 10}),
    ("inbox", {}),
    ("who", {}),
    ("heartbeat", {}),
    ("task.done", {"id": "task-0001", "summary": "done"}),
]


def test_reports_always_pass(spent: Stage) -> None:
    id = mail_of(spent, "From bob")
    for verb, args in [("read", {"id": id}), ("ack", {"ids": [id]}), *REPORTS]:
        spent.call(verb, ADA, **args)
    for ending in ("task.fail", "task.block", "task.release"):
        spent.call("task.reset", id="task-0001")
        spent.call("budget.set", max_tokens=5000)
        spent.call("task.claim", ADA, id="task-0001")
        spent.call("budget.set", max_tokens=1000)
        spent.call(ending, ADA, id="task-0001", reason="r")


def test_people_are_not_bound(spent: Stage) -> None:
    spent.send(None, ADA, "Stop")
    spent.call("task.claim", id="task-0002")


def test_a_repeat_of_what_was_accepted_gets_its_answer(stage: Stage) -> None:
    sent = stage.send(ADA, BOB, key="k")
    use(stage, 1000)
    assert stage.send(ADA, BOB, key="k")["id"] == sent["id"]


# --- agents and tasks ------------------------------------------------------------------------------------------------


def test_an_agents_own_limit_binds_that_agent_alone(stage: Stage) -> None:
    stage.call("budget.set", agent=ADA, max_tokens=100)
    use(stage, 100)
    refused = stage.refused("send", ADA, to=[BOB], subject="s")
    assert refused.facts["scope"] == "agent"
    assert "The user can raise it: `rook budget set --agent ada" in refused.hint
    stage.send(BOB, ADA)
    stage.call("budget.set", agent=ADA, max_tokens=200)
    stage.send(ADA, BOB)
    assert [subject for subject in told(stage) if "ada" in subject] == ["The budget of ada is spent: 100 of 100 tokens"]


def test_a_limit_for_every_agent_and_one_of_its_own(stage: Stage) -> None:
    stage.call("budget.set", agent_max_tokens=50)
    stage.call("budget.set", agent=BOB, max_tokens=500)
    for agent in (ADA, BOB):
        use(stage, 60, agent)
    assert stage.refused("send", ADA, to=[BOB], subject="s").code == "BUDGET_EXCEEDED"
    stage.send(BOB, ADA)
    stage.call("budget.set", agent=BOB, unset=["maxTokens"])
    assert stage.refused("send", BOB, to=[ADA], subject="s").code == "BUDGET_EXCEEDED"


def test_a_tasks_limit_binds_its_claim_and_its_holder(stage: Stage) -> None:
    stage.call("task.add", title="Small", max_tokens=100, priority="urgent")
    stage.call("task.claim", ADA, id="task-0002")
    use(stage, 100)
    assert stage.refused("send", ADA, to=[BOB], subject="s").facts["scope"] == "task"
    stage.call("task.release", ADA, id="task-0002")
    stage.send(ADA, BOB)
    assert stage.refused("task.claim", BOB, id="task-0002").facts["name"] == "task-0002"
    assert stage.call("task.claim", BOB, next=True)["taskId"] == "task-0001"  # the urgent one is spent
    stage.call("budget.set", task="task-0002", max_tokens=200)
    assert stage.call("task.claim", BOB, next=True)["taskId"] == "task-0002"


def test_a_task_limit_needs_no_other(build: Build) -> None:
    stage = build()
    stage.join(ADA)
    stage.call("task.add", title="Small", max_tokens=100)
    stage.call("task.claim", ADA, id="task-0001")
    use(stage, 100)
    stage.call("task.release", ADA, id="task-0001")
    assert stage.refused("task.claim", ADA, id="task-0001").code == "BUDGET_EXCEEDED"


def test_limits_in_money(stage: Stage) -> None:
    stage.call("budget.set", max_tokens=10**9, max_cost=3_000_000)
    use(stage, 999_999, model="sonnet")
    stage.send(ADA, BOB)
    assert "2.999997 of 3.00 USD" in told(stage)[-1]
    use(stage, 1, model="sonnet")
    refused = stage.refused("send", ADA, to=[BOB], subject="s")
    assert "3.00 of 3.00 USD" in refused.message
    assert "--max-cost" in refused.hint
    stage.call("budget.set", agent=ADA, max_cost=1)
    stage.call("budget.set", max_cost=4_000_000)
    assert stage.refused("send", ADA, to=[BOB], subject="s").facts["scope"] == "agent"


def test_limits_of_the_settings_hold_until_the_team_decides_otherwise(build: Build) -> None:
    stage = build(budget__max_tokens=100, budget__task_max_cost=0.5)
    stage.join_all(ADA, BOB)
    use(stage, 100)
    assert stage.refused("send", ADA, to=[BOB], subject="s").code == "BUDGET_EXCEEDED"
    assert (team(stage)["budget"]["maxTokens"], team(stage)["budget"]["taskMaxCostMicros"]) == (100, 500_000)
    stage.call("budget.set", max_tokens=200)
    stage.send(ADA, BOB)
    stage.call("budget.set", unset=["maxTokens"])
    assert stage.refused("send", ADA, to=[BOB], subject="s").code == "BUDGET_EXCEEDED"


# --- setting ---------------------------------------------------------------------------------------------------------


def test_who_may_set_what(stage: Stage) -> None:
    for scope in ({}, {"agent": BOB}, {"task": "task-0001"}):
        for who in (ADA, LEADER):
            assert stage.refused("budget.set", who, max_tokens=5, **scope).code == "NOT_YOURS"
    for scope in ({"agent": BOB}, {"task": "task-0001"}):
        stage.call("budget.set", max_tokens=5, **scope)
    stage.call("budget.set", max_tokens=10**6)
    assert [each["data"]["scope"] for each in stage.events("budget.set")] == ["agent", "task", "team"]


@pytest.mark.parametrize(
    "args",
    [
        {}, {"max_tokens": 0}, {"max_tokens": -1}, {"max_tokens": 1 << 53}, {"max_tokens": 1.5}, {"max_cost": 0},
        {"warn_percent": 0}, {"warn_percent": 101}, {"agent": ADA},
        {"agent": ADA, "task": "task-0001", "max_tokens": 5}, {"agent": "nobody", "max_tokens": 5},
        {"agent": ADA, "hard_limit": True}, {"task": "task-9999", "max_tokens": 5},
        {"unset": ["maxTokns"]},
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_limit(stage: Stage, args: dict[str, Any]) -> None:
    assert stage.refused("budget.set", **args).hint


def test_the_same_limit_again_is_no_news(stage: Stage) -> None:
    before = stage.seq()
    stage.call("budget.set", max_tokens=1000)
    assert stage.seq() == before


# --- what it costs ---------------------------------------------------------------------------------------------------


class Counting:
    """A transaction that counts its statements."""

    def __init__(self, stage: Stage) -> None:
        self.queries: list[str] = []
        self._stage = stage

    def of(self, verb: str, agent: str, **args: Any) -> list[str]:
        from rookery.client.deed import Deed
        from rookery.store.port import Transaction

        read = partial(self._stage.store.read, self._stage.team)
        deed = Deed(verb, args, self._stage.caller(agent), self._stage, read)
        asked: list[str] = []

        def work(db: Transaction) -> Any:
            plain: Any = db

            class Watched:
                def __getattr__(self, name: str) -> Any:
                    found = getattr(plain, name)
                    if name not in ("one", "all", "run"):
                        return found
                    return lambda query, /, **params: (asked.append(query), found(query, **params))[1]

            return deed.work(Watched())  # type: ignore[arg-type]

        self._stage.store.write(self._stage.team, work)
        return asked


BUDGET_QUERIES = {"team_terms", "agent_terms", "tasks_held_by"}


def test_a_send_costs_nothing_more_where_nothing_is_limited(build: Build) -> None:
    stage = build()
    stage.join_all(ADA, BOB)
    stage.call("team.set", leader=ADA)  # a definition without limits
    for number in range(3):
        use(stage, 5, meter=f"m{number}")
    asked = Counting(stage).of("send", ADA, to=[BOB], subject="s")
    assert not BUDGET_QUERIES & set(asked)
    stage.call("budget.set", max_tokens=10**9)
    limited = Counting(stage).of("send", ADA, to=[BOB], subject="s")
    assert [query for query in limited if query not in BUDGET_QUERIES] == asked
    assert sorted(set(limited) & BUDGET_QUERIES) == sorted(BUDGET_QUERIES)
    assert len(limited) == len(asked) + len(BUDGET_QUERIES)


def test_a_check_costs_the_same_however_much_was_reported(stage: Stage) -> None:
    before = Counting(stage).of("send", ADA, to=[BOB], subject="s")
    for number in range(50):
        use(stage, 1, model=f"m{number}")
    assert Counting(stage).of("send", ADA, to=[BOB], subject="s") == before
