"""The law of budgets: what was used against what may be used, whom that concerns, and what it refuses.

    used    0 ───────────── warn_percent of a hard limit ───────────── the limit ─────>
    stage        ok                                         near                 spent

A limit is in tokens, in money or both; the team has one, every agent and every task may have one. A hard limit that is
spent refuses what makes someone spend more: claims, spawns and sends. It never refuses a report. Tokens are whole
numbers, money is whole micro-units of a currency; nothing here is a float.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum

from rookery.core.record import NamedTuple

from . import errors, text

MILLION = 1_000_000
BIGGEST = (1 << 53) - 1  # what every reader of JSON can count to
REPORT_LIMIT = 10**12  # tokens of one report; whoever says more does not count but shout


class Act(StrEnum):
    CLAIM = "claim"
    SPAWN = "spawn"
    SEND = "send"
    # Reports: what tells how it stands is worth more than what it costs.
    ASK = "ask"
    DONE = "done"
    FAIL = "fail"
    PROGRESS = "progress"
    ESCALATE = "escalate"
    ANSWER = "answer"  # mail that only people get
    ACK = "ack"
    READ = "read"
    USAGE = "usage"


BOUND = frozenset((Act.CLAIM, Act.SPAWN, Act.SEND))


class Stage(IntEnum):
    OK = 0
    NEAR = 1
    SPENT = 2


class Limit(NamedTuple):
    """None is no limit."""

    tokens: int | None = None
    cost: int | None = None


class Used(NamedTuple):
    tokens: int = 0
    cost: int = 0


class Rules(NamedTuple):
    """What a team decided: its own limit, and that of every agent and task that has none of its own."""

    team: Limit = Limit()
    agent: Limit = Limit()
    task: Limit = Limit()
    hard: bool = True
    warn_percent: int = 80
    currency: str = "USD"


class Account(NamedTuple):
    """Whose use is compared with which limit."""

    kind: str  # team, agent or task
    name: str
    used: Used
    limit: Limit


class Price(NamedTuple):
    """Micro-units for a million tokens."""

    input: int
    output: int


def stage(account: Account, rules: Rules) -> Stage:
    """How far an account is: the worse of tokens and money. Only a limit that will refuse is warned of beforehand."""
    warned_at = rules.warn_percent if rules.hard else 100
    found = Stage.OK
    for used, limit in zip(account.used, account.limit, strict=True):
        if limit is not None and used >= limit:
            return Stage.SPENT
        if limit is not None and used * 100 >= limit * warned_at:
            found = Stage.NEAR
    return found


def refusal(act: Act, accounts: Sequence[Account], rules: Rules, leader: str) -> errors.BudgetSpent | None:
    """Why this may not be done now; None if it may."""
    if act not in BOUND or not rules.hard:
        return None
    for account in accounts:
        if stage(account, rules) is Stage.SPENT:
            return _spent(account, rules, leader)
    return None


def _spent(account: Account, rules: Rules, leader: str) -> errors.BudgetSpent:
    return errors.BudgetSpent(
        f"{whose(account)} is spent: {told(account, rules)}.",
        f"{who_raises(account)} Reporting still works: done, fail, progress, escalate, answers to a person.",
        code="BUDGET_EXCEEDED",
        scope=account.kind,
        name=account.name,
        tokens=account.used.tokens,
        maxTokens=account.limit.tokens,
        costMicros=account.used.cost,
        maxCostMicros=account.limit.cost,
    )


def whose(account: Account) -> str:
    return f"The budget of {'team ' if account.kind == 'team' else ''}{account.name}"


def told(account: Account, rules: Rules) -> str:
    """What of it is used: the measure that is furthest, as people read it."""
    measures = [
        (used * 100 // limit, used, limit, number == 1)
        for number, (used, limit) in enumerate(zip(account.used, account.limit, strict=True))
        if limit is not None
    ]
    if not measures:
        return f"{account.used.tokens:,} tokens used, no limit"
    _, used, limit, in_money = max(measures)
    if in_money:
        return f"{money(used)} of {money(limit)} {rules.currency}"
    return f"{used:,} of {limit:,} tokens"


def who_raises(account: Account) -> str:
    """Who can raise a limit, and with which command: the user alone, so that no crew raises its own."""
    spent = account.limit.tokens is not None and account.used.tokens >= account.limit.tokens
    flag = "--max-tokens N" if spent or account.limit.cost is None else "--max-cost N"
    scope = "" if account.kind == "team" else f"--{account.kind} {account.name} "
    return f"The user can raise it: `rook budget set {scope}{flag}`."


def noted(before_told: Stage, before: Stage, after: Stage) -> tuple[Stage, Stage | None]:
    """How far the leader has been told from now on, and what to tell; each stage once.

    A limit that was raised takes back what was told, as far as it no longer holds: crossing it anew is news again.
    """
    known = min(before_told, before)
    return after, after if after > known else None


# -- counting ------------------------------------------------------------------------------------------------------


def check_tokens(count: int, what: str) -> int:
    if not 0 <= count <= REPORT_LIMIT:
        raise errors.BadInput(
            f"{what} is {text.quoted(str(count), 30)}; a report has 0 to {REPORT_LIMIT:,} tokens.",
            "Report what was used since the last report, or what a meter shows: --meter NAME.",
            code="BAD_USAGE",
        )
    return count


def check_limit(count: int, what: str) -> int:
    if not 1 <= count <= BIGGEST:
        raise errors.BadInput(
            f"{what} is {text.quoted(str(count), 30)}; a limit is a whole number from 1 to {BIGGEST}.",
            "`--unset` takes a limit away.",
            code="BAD_LIMIT",
        )
    return count


def plus(total: int, more: int) -> int:
    """A total that stays countable."""
    if total + more > BIGGEST:
        raise errors.BadInput(
            f"The total would be more than {BIGGEST}.", "Nothing was counted: look at what is reported.",
            code="BAD_USAGE",
        )  # fmt: skip
    return total + more


def risen(last: int, now: int) -> int:
    """What a meter that only rises has moved by. An older reading that comes late has moved it by nothing."""
    return max(0, now - last)


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """The model's own price, or that of `*`."""
    return prices.get(model) or prices.get("*")


def cost(input: int, output: int, price: Price | None) -> int:
    """Micro-units, rounded up once for a report: use is never counted as free."""
    if price is None:
        return 0
    return -(-(input * price.input + output * price.output) // MILLION)


# -- money as it is written ----------------------------------------------------------------------------------------


def money(micros: int) -> str:
    """`12.50`: at least two decimals, and as many as it takes to say all of it."""
    whole, rest = divmod(micros, MILLION)
    decimals = f"{rest:06d}".rstrip("0").ljust(2, "0")
    return f"{whole:,}.{decimals}"


def parse_money(written: str) -> int:
    """`12`, `12.5`, `0.000001`: to whole micro-units, without a float in between."""
    whole, dot, rest = written.strip().partition(".")
    digits = whole + rest
    if not digits.isascii() or not digits.isdigit() or (dot and not rest) or len(rest) > 6 or len(whole) > 9:
        raise errors.BadInput(
            f"Not an amount: {text.quoted(written, 30)}.", "As in 12.50, with at most six decimals.", code="BAD_LIMIT"
        )
    return int(whole or "0") * MILLION + int(rest.ljust(6, "0"))
