"""What may be used: the team's rules as they hold now, and the check before a claim, a spawn or a send.

Callers ask `tx.is_limited()` first, so that where nothing is limited there is nothing to look up. Otherwise the check
reads the team's row, the agent's and what the agent holds, each by its key, however much was reported.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core import budget, errors, names
from rookery.core.budget import Account, Act, Limit, Rules, Used
from rookery.store.port import Row

from .tx import DEFINED, LIMITED, Tx

# What `keep_definition` writes, and which of it are limits.
RULES = ("leader", "strict", "max_tokens", "max_cost", "agent_max_tokens", "agent_max_cost", "task_max_tokens",
         "task_max_cost", "hard_limit", "warn_percent")  # fmt: skip
LIMITS = frozenset(RULES[2:8])


def allow_send(tx: Tx, sender: Row, to: Sequence[Row]) -> None:
    """429 where a hard limit of the team, of the sender or of what it holds is spent. What only people get makes
    nobody spend: that is an answer or a question, and passes."""
    held = [task_account(rules_of(tx), row) for row in tx.all("tasks_held_by", agent=sender["id"])]
    _allow(tx, Act.ANSWER if all(is_person(row) for row in to) else Act.SEND, sender, held)


def allow_claim(tx: Tx, agent: Row, task: Row | None = None) -> None:
    """429 where a hard limit of the team, of the agent or of the task itself is spent."""
    _allow(tx, Act.CLAIM, agent, [task_account(rules_of(tx), task)] if task else [])


def allow_spawn(tx: Tx, agent: Row) -> None:
    """429 where a hard limit of the team or of the agent that asks is spent."""
    _allow(tx, Act.SPAWN, agent, [])


def _allow(tx: Tx, act: Act, agent: Row, more: Sequence[Account]) -> None:
    """People are not bound: they do not spend."""
    if is_person(agent):
        return
    rules = rules_of(tx)
    accounts = [team_account(tx, rules), agent_account(tx, rules, agent["id"]), *more]
    refusal = budget.refusal(act, accounts, rules, tx.leader())
    if refusal is not None:
        raise refusal


def is_spent(tx: Tx, task: Row) -> bool:
    """May a task no longer be claimed, because its own limit is spent?"""
    rules = rules_of(tx)
    return rules.hard and budget.stage(task_account(rules, task), rules) is budget.Stage.SPENT


def is_person(agent: Row) -> bool:
    return bool(agent["is_human"]) or agent["name"] in names.RESERVED


# -- the rules -----------------------------------------------------------------------------------------------------


def rules_of(tx: Tx) -> Rules:
    """Field by field: what the stored definition says, else the settings."""
    stored, settings = tx.terms() if tx.flags & DEFINED else {}, tx.settings

    def limit(whose: str) -> Limit:
        tokens, cost = stored.get(f"{whose}max_tokens"), stored.get(f"{whose}max_cost")
        return Limit(
            (settings[f"budget.{whose}max_tokens"] or None) if tokens is None else tokens,
            (settings.micros(f"budget.{whose}max_cost") or None) if cost is None else cost,
        )

    hard, warn = stored.get("hard_limit"), stored.get("warn_percent")
    return Rules(
        limit(""),
        limit("agent_"),
        limit("task_"),
        settings["budget.hard_limit"] if hard is None else bool(hard),
        settings["budget.warn_percent"] if warn is None else warn,
        settings["budget.currency"],
    )


def prices(tx: Tx) -> dict[str, budget.Price]:
    """The price table in micro-units."""
    listed: Mapping[str, Mapping[str, float]] = tx.settings["prices"]
    return {
        model: budget.Price(*(round(price.get(part, 0) * budget.MILLION) for part in budget.Price._fields))
        for model, price in listed.items()
    }


def keep(tx: Tx, said: Mapping[str, Any]) -> dict[str, Any]:
    """Store what a definition says; None takes it back. What it changed, by column."""
    terms = tx.terms()
    before = {name: terms[name] for name in RULES}
    changed = {name: value for name, value in said.items() if before[name] != value}
    if changed:
        tx.run("keep_definition", **(before | changed))
        tx.raise_flags(DEFINED | (LIMITED if LIMITS & changed.keys() else 0))
        tx.forget_terms()
    return changed


# -- accounts ------------------------------------------------------------------------------------------------------


def team_account(tx: Tx, rules: Rules) -> Account:
    row = tx.terms()
    return Account("team", tx.team, Used(row["tokens"], row["cost"]), rules.team)


def agent_account(tx: Tx, rules: Rules, agent: int) -> Account:
    row = tx.one("agent_terms", id=agent)
    if row is None:
        raise errors.UnknownName("That agent is gone.", "`rook who --all` lists the names.", code="UNKNOWN_AGENT")
    return account("agent", row["name"], row, rules.agent)


def task_account(rules: Rules, row: Row) -> Account:
    return account("task", row["id"], row, rules.task)


def account(kind: str, name: str, row: Row, otherwise: Limit) -> Account:
    """A limit of its own wins over the one for all of its kind, in tokens and in money each."""
    tokens, cost = row["max_tokens"], row["max_cost"]
    limit = Limit(otherwise.tokens if tokens is None else tokens, otherwise.cost if cost is None else cost)
    return Account(kind, name, Used(row["tokens"], row["cost"]), limit)
