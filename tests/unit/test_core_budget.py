"""The law of budgets, rule by rule."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import budget, errors
from rookery.core.budget import Account, Act, Limit, Price, Rules, Stage, Used

RULES = Rules()
counts = st.integers(0, budget.BIGGEST)
maybe = st.none() | st.integers(1, budget.BIGGEST)
accounts = st.builds(
    Account, st.sampled_from(["team", "agent", "task"]), st.just("x"), st.builds(Used, counts, counts),
    st.builds(Limit, maybe, maybe),
)  # fmt: skip
rules = st.builds(Rules, hard=st.booleans(), warn_percent=st.integers(1, 100))


def team(tokens: int = 0, limit: int | None = 1000, *, cost: int = 0, max_cost: int | None = None) -> Account:
    return Account("team", "atlas", Used(tokens, cost), Limit(limit, max_cost))


# --- how far ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "seen"),
    [(0, Stage.OK), (799, Stage.OK), (800, Stage.NEAR), (999, Stage.NEAR), (1000, Stage.SPENT), (10**15, Stage.SPENT)],
)
def test_a_hard_limit_is_warned_of_before_it_is_spent(tokens: int, seen: Stage) -> None:
    assert budget.stage(team(tokens), RULES) is seen


@pytest.mark.parametrize(("tokens", "seen"), [(999, Stage.OK), (1000, Stage.SPENT)])
def test_a_soft_limit_is_told_when_it_is_reached(tokens: int, seen: Stage) -> None:
    assert budget.stage(team(tokens), Rules(hard=False)) is seen


def test_the_worse_of_tokens_and_money_counts() -> None:
    assert budget.stage(team(10, cost=5, max_cost=5), RULES) is Stage.SPENT
    assert budget.stage(team(800, cost=1, max_cost=5), RULES) is Stage.NEAR
    assert budget.stage(team(10, cost=10**15), RULES) is Stage.OK
    assert budget.stage(team(10**15, None), RULES) is Stage.OK


@pytest.mark.slow
@given(accounts, rules)
def test_no_limit_is_never_near(account: Account, decided: Rules) -> None:
    assert budget.stage(account._replace(limit=Limit()), decided) is Stage.OK


@given(accounts, rules, counts)
def test_more_use_is_never_a_better_stage(account: Account, decided: Rules, more: int) -> None:
    used = Used(account.used.tokens + more, account.used.cost)
    assert budget.stage(account._replace(used=used), decided) >= budget.stage(account, decided)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.sampled_from([act for act in Act if act not in budget.BOUND]), st.lists(accounts), rules)
def test_a_report_is_always_let_through(act: Act, found: list[Account], decided: Rules) -> None:
    assert budget.refusal(act, found, decided, "ada") is None


@given(st.sampled_from(sorted(budget.BOUND)), st.lists(accounts), rules)
def test_what_spends_is_refused_exactly_when_a_hard_limit_is_spent(
    act: Act, found: list[Account], decided: Rules
) -> None:
    def is_over(account: Account) -> bool:
        pairs = zip(account.used, account.limit, strict=True)
        return any(limit is not None and used >= limit for used, limit in pairs)

    refused = budget.refusal(act, found, decided, "ada")
    assert (refused is not None) == (decided.hard and any(map(is_over, found)))


def test_the_refusal_says_who_can_raise_it_and_how() -> None:
    refused = budget.refusal(Act.SEND, [team(1000)], RULES, "ada")
    assert refused is not None
    assert (refused.code, refused.http_status, refused.exit_code) == ("BUDGET_EXCEEDED", 429, 1)
    assert refused.message == "The budget of team atlas is spent: 1,000 of 1,000 tokens."
    assert "The user can raise it: `rook budget set --max-tokens N`" in refused.hint
    assert refused.facts["scope"] == "team"
    for kind in ("agent", "task"):
        other = budget.refusal(Act.CLAIM, [team(1000)._replace(kind=kind, name="x")], RULES, "ada")
        assert other is not None
        assert f"The user can raise it: `rook budget set --{kind} x --max-tokens N`" in other.hint
    money = budget.refusal(Act.SEND, [team(1, None, cost=5, max_cost=5)], RULES, "")
    assert money is not None
    assert "0.000005 of 0.000005 USD" in money.message
    assert "--max-cost" in money.hint


# --- told once -------------------------------------------------------------------------------------------------------


def test_each_stage_is_told_once() -> None:
    assert budget.noted(Stage.OK, Stage.OK, Stage.NEAR) == (Stage.NEAR, Stage.NEAR)
    assert budget.noted(Stage.NEAR, Stage.NEAR, Stage.NEAR) == (Stage.NEAR, None)
    assert budget.noted(Stage.NEAR, Stage.NEAR, Stage.SPENT) == (Stage.SPENT, Stage.SPENT)
    assert budget.noted(Stage.SPENT, Stage.OK, Stage.OK) == (Stage.OK, None)  # raised
    assert budget.noted(Stage.SPENT, Stage.OK, Stage.NEAR) == (Stage.NEAR, Stage.NEAR)  # and crossed anew
    assert budget.noted(Stage.SPENT, Stage.NEAR, Stage.NEAR) == (Stage.NEAR, None)  # not raised far enough


@given(st.lists(st.integers(0, 400), max_size=30), st.integers(1, 3000))
def test_under_one_limit_no_stage_is_told_twice(reports: list[int], limit: int) -> None:
    used, told, news = 0, Stage.OK, list[Stage]()
    for more in reports:
        before, after = budget.stage(team(used, limit), RULES), budget.stage(team(used + more, limit), RULES)
        told, said = budget.noted(told, before, after)
        news += [said] if said is not None else []
        used += more
    assert len(set(news)) == len(news)
    final = budget.stage(team(used, limit), RULES)
    assert (final in news) == (final is not Stage.OK)


# --- counting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [-1, budget.REPORT_LIMIT + 1, 1 << 53, -(1 << 60)])
def test_what_no_report_can_say(count: int) -> None:
    with pytest.raises(errors.BadInput, match="0 to 1,000,000,000,000"):
        budget.check_tokens(count, "input")


@pytest.mark.parametrize("count", [0, -5, 1 << 53])
def test_what_no_limit_can_be(count: int) -> None:
    with pytest.raises(errors.BadInput):
        budget.check_limit(count, "max_tokens")
    assert budget.check_limit(1, "max_tokens") == 1


def test_a_total_stays_countable() -> None:
    assert budget.plus(budget.BIGGEST - 1, 1) == budget.BIGGEST
    with pytest.raises(errors.BadInput, match="total"):
        budget.plus(budget.BIGGEST, 1)


@given(st.lists(counts, min_size=1))
def test_a_meter_counts_its_highest_reading_once(readings: list[int]) -> None:
    """In any order, repeated or not."""
    last = total = 0
    for reading in [*readings, *readings]:
        total += budget.risen(last, reading)
        last = max(last, reading)
    assert total == max(readings)


@pytest.mark.parametrize(
    ("input", "output", "price", "micros"),
    [
        (1_000_000, 0, Price(3_000_000, 15_000_000), 3_000_000),
        (0, 1_000_000, Price(3_000_000, 15_000_000), 15_000_000),
        (1, 0, Price(800_000, 4_000_000), 1),  # 0.8 of a micro-unit: never free
        (0, 0, Price(800_000, 4_000_000), 0),
        (10**12, 10**12, None, 0),
    ],
)
def test_what_tokens_cost(input: int, output: int, price: Price | None, micros: int) -> None:
    assert budget.cost(input, output, price) == micros


def test_a_model_without_a_price_takes_the_one_for_all() -> None:
    prices = {"a": Price(1, 1), "*": Price(2, 2)}
    assert budget.price_of("a", prices) == Price(1, 1)
    assert budget.price_of("b", prices) == Price(2, 2)
    assert budget.price_of("b", {"a": Price(1, 1)}) is None


# --- money as it is written ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "micros"),
    [("12", 12_000_000), ("12.5", 12_500_000), ("0.000001", 1), (".5", 500_000), (" 7.10 ", 7_100_000), ("0", 0)],
)
def test_an_amount_is_read_without_rounding(written: str, micros: int) -> None:
    assert budget.parse_money(written) == micros


@pytest.mark.parametrize(
    "written", ["", ".", "1.", "-1", "+1", "1e3", "nan", "inf", "1,5", "1_0", "0.0000001", "9" * 10, "٣", "1.5.2", "x"]
)
def test_what_is_no_amount(written: str) -> None:
    with pytest.raises(errors.BadInput, match="Not an amount"):
        budget.parse_money(written)


@given(st.integers(0, 10**15 - 1))
def test_money_is_written_so_that_it_is_read_the_same(micros: int) -> None:
    assert budget.parse_money(budget.money(micros).replace(",", "")) == micros


def test_the_law_holds_no_float() -> None:
    made: list[Any] = [budget.cost(3, 5, Price(333_333, 7)), *budget.noted(Stage.OK, Stage.OK, Stage.NEAR)]
    assert not any(isinstance(value, float) for value in made)
