"""Budgets: what was used is reported and counted, limits are set and shown, and whoever leads is told once.

Totals are counters, changed in the transaction of the report; a check compares them and adds nothing up.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from rookery.core import budget as law
from rookery.core import errors, mail, names, team, text
from rookery.core.budget import Account, Rules, Stage, Used
from rookery.store.port import Row

from . import held, idempotency, limits
from .tx import LIMITED, Tx
from .verbs import Arg

MOST = 1_000

MaxTokens = Annotated[int | None, Arg("the limit in tokens", metavar="N")]
MaxCost = Annotated[int | None, Arg("the limit in money, as 12.50 (to programs: micro-units)", kind="money")]


# -- verbs ---------------------------------------------------------------------------------------------------------


def report(
    tx: Tx,
    *,
    input: Annotated[int, Arg("tokens read by the model", flag="-i", metavar="N")] = 0,
    output: Annotated[int, Arg("tokens written by the model", flag="-o", metavar="N")] = 0,
    task: Annotated[str, Arg("what it was used for; when left out, the one task the agent holds", metavar="ID")] = "",
    model: Annotated[str, Arg("which model; when left out, the one the agent joined with")] = "",
    agent: Annotated[str, Arg("whose use it is; yours when left out", metavar="NAME")] = "",
    meter: Annotated[str, Arg("the numbers are the readings of this counter, which only rises", metavar="NAME")] = "",
    key: Annotated[str, Arg("idempotency key: a repeat is counted once")] = "",
) -> dict[str, Any]:
    """Always let through, whatever is spent."""
    me, who = tx.me(), _whose(tx, agent)
    law.check_tokens(input, "input")
    law.check_tokens(output, "output")
    said = {"verb": "usage_report", "input": input, "output": output, "task": task, "model": model, "agent": agent,
            "meter": meter}  # fmt: skip
    if key and (before := idempotency.remembered(tx, me, key, said)):
        return before
    task = _charged(tx, task) if task else _only_task(tx, who)
    model = _model(tx, who, model)
    more = _since(tx, who, meter, input, output) if meter else (input, output)
    if any(more):
        _count(tx, who, task, model, *more)
    tx.beat()
    result = _told(tx, who, task, model, *more)
    if key:
        idempotency.remember(tx, me, key, said, result)
    return result


def show(
    tx: Tx,
    *,
    agent: Annotated[str, Arg("only this agent, by task and model", metavar="NAME")] = "",
    task: Annotated[str, Arg("only this task, by agent and model", metavar="ID")] = "",
    limit: Annotated[int, Arg("how many agents and tasks at most", flag="-n")] = 20,
) -> dict[str, Any]:
    if not 1 <= limit <= MOST:
        raise errors.BadInput(f"A limit of {limit} is out of range.", f"1 to {MOST}.")
    rules, found = limits.rules_of(tx), _known(tx, agent) if agent else None
    agents, tasks = _chosen(tx, found, task, limit)
    shown = {
        "schemaVersion": "1.0.0",
        "teamId": tx.team,
        **_card(limits.team_account(tx, rules), rules),
        "unpricedTokens": tx.terms()["unpriced"],
        "currency": rules.currency,
        "budget": as_json(rules),
        "agents": [
            {"agent": row["name"], **_card(limits.account("agent", row["name"], row, rules.agent), rules)}
            for row in agents
        ],
        "tasks": [
            {"task": row["id"], "title": row["title"], "status": row["status"],
             **_card(limits.task_account(rules, row), rules)}
            for row in tasks
        ],
    }  # fmt: skip
    return shown | {"usage": _rows(tx, found, task, limit)} if found or task else shown


def set_limits(
    tx: Tx,
    *,
    agent: Annotated[str, Arg("the limit of this agent", metavar="NAME")] = "",
    task: Annotated[str, Arg("the limit of this task", metavar="ID")] = "",
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    agent_max_tokens: Annotated[int | None, Arg("of every agent without a limit of its own", metavar="N")] = None,
    agent_max_cost: Annotated[int | None, Arg("the same in money", kind="money")] = None,
    task_max_tokens: Annotated[int | None, Arg("of every task without a limit of its own", metavar="N")] = None,
    task_max_cost: Annotated[int | None, Arg("the same in money", kind="money")] = None,
    hard_limit: Annotated[bool | None, Arg("whether a spent limit refuses claims and sends")] = None,
    warn_percent: Annotated[int | None, Arg("when the leader is told before a hard limit", metavar="PERCENT")] = None,
    unset: Annotated[list[str] | None, Arg("take this limit back: maxTokens ... (repeatable)", metavar="WHAT")] = None,
) -> dict[str, Any]:
    """The team's limits are the person's to set; an agent's or a task's the leader's too."""
    given = {
        "max_tokens": max_tokens, "max_cost": max_cost, "agent_max_tokens": agent_max_tokens,
        "agent_max_cost": agent_max_cost, "task_max_tokens": task_max_tokens, "task_max_cost": task_max_cost,
        "hard_limit": None if hard_limit is None else int(hard_limit), "warn_percent": warn_percent,
    }  # fmt: skip
    said = _checked({name: value for name, value in given.items() if value is not None}, unset or [])
    if agent and task:
        raise errors.BadInput("An agent or a task, not both.", "Set one limit after the other.")
    if not agent and not task:
        _limit_team(tx, said)
        return show(tx)
    extra = [name for name in said if name not in ("max_tokens", "max_cost")]
    if extra:
        raise errors.BadInput(
            f"Only the whole team has {', '.join(extra)}.", "Of an agent or a task: --max-tokens, --max-cost."
        )
    _limit_one(tx, agent, task, said)
    return show(tx, agent=agent, task=task)


# -- reporting -----------------------------------------------------------------------------------------------------


def metered(tx: Tx, who: Row, meter: str, model: str, input: int, output: int) -> None:
    """The reading of a meter that a keeper has, for the one task this agent holds."""
    law.check_tokens(input, "input")
    law.check_tokens(output, "output")
    more = _since(tx, who, meter, input, output)
    if any(more):
        _count(tx, who, _only_task(tx, who), _model(tx, who, model), *more)


def _whose(tx: Tx, agent: str) -> Row:
    """For itself everyone reports; for another agent who leads or started it: a report uses up its limit."""
    me = tx.me()
    if not agent or names.key(agent) == me["key"]:
        return me
    found = tx.find_agent(names.check_address(agent)) if not tx.may_steer(me) else tx.agent(agent)
    if found is None or not (tx.may_steer(me) or _is_started_by(tx, found["id"], me)):
        raise errors.NotYours(
            f"You may not report what {text.one_line(agent, 50)} used.", "Report your own use: leave out --agent."
        )
    return found


def _charged(tx: Tx, id: str) -> str:
    """A task that the caller holds, is to have or has completed, or a worker that it started: a report uses up the
    task's limit. Of a task that nobody has, whoever made it."""
    me, row = tx.me(), held.find(tx, id)
    those = {row[name] for name in ("holder", "assignee", "author") if row[name]} or {row["created_by"]}
    if tx.may_steer(me) or any(each == me["id"] or _is_started_by(tx, each, me) for each in those):
        return row["id"]
    raise errors.NotYours(
        f"{row['id']} is not yours to charge.", f"`rook task claim {row['id']}` first, or leave out --task."
    )


def _is_started_by(tx: Tx, agent: int | None, me: Row) -> bool:
    worker = tx.one("worker_of_agent", agent=agent) if agent else None
    return worker is not None and worker["asked_by"] == me["id"]


def _only_task(tx: Tx, who: Row) -> str:
    rows = tx.all("tasks_held_by", agent=who["id"])
    return rows[0]["id"] if len(rows) == 1 else ""


def _model(tx: Tx, who: Row, model: str) -> str:
    if len(model) > 200 or not model.isprintable():
        raise errors.BadInput(f"No model {text.quoted(model, 40)}.", "A name of at most 200 characters on one line.")
    if model or who["model"]:
        return model or who["model"]
    terms = tx.one("agent_terms", id=who["id"])
    return terms["model"] if terms else ""


def _since(tx: Tx, who: Row, meter: str, input: int, output: int) -> tuple[int, int]:
    """What a meter has moved by since its last reading. A repeat and a late one move it by nothing."""
    meter = mail.reference(meter, "the meter")
    last = tx.one("meter", agent=who["id"], meter=meter) or {"input": 0, "output": 0}
    tx.run("read_meter", agent=who["id"], meter=meter, input=input, output=output)
    return law.risen(last["input"], input), law.risen(last["output"], output)


def _count(tx: Tx, who: Row, task: str, model: str, input: int, output: int) -> None:
    price = law.price_of(model, limits.prices(tx))
    tokens, cost = input + output, law.cost(input, output, price)
    before = tx.terms()
    law.plus(before["tokens"], tokens)  # every other total is a part of the team's
    law.plus(before["cost"], cost)
    accounts = _accounts(tx, who, task) if tx.is_limited() else []
    used = {"tokens": tokens, "cost": cost}
    tx.run("add_usage", agent=who["id"], task=task, model=model, input=input, output=output, cost=cost)
    tx.run("count_team_usage", unpriced=0 if price else tokens, **used)
    tx.run("count_agent_usage", id=who["id"], **used)
    if task:
        tx.run("count_task_usage", id=task, **used)
    tx.forget_terms()
    tx.event(
        "usage", who["name"], ref=task, preview=f"{tokens:,} tokens" + (f" ({model})" if model else ""), input=input,
        output=output, cost=cost, model=model,
    )  # fmt: skip
    rules = limits.rules_of(tx)
    for account, told in accounts:
        _tell_once(tx, rules, account, Used(tokens, cost), told)


def _accounts(tx: Tx, who: Row, task: str) -> list[tuple[Account, int]]:
    """What a report counts against, as it stands before, each with how far the leader was told."""
    rules = limits.rules_of(tx)
    agent = tx.one("agent_terms", id=who["id"])
    assert agent is not None
    found = [
        (limits.team_account(tx, rules), tx.terms()["told"]),
        (limits.account("agent", agent["name"], agent, rules.agent), agent["told"]),
    ]
    row = tx.one("task_terms", id=task) if task else None
    return [*found, (limits.task_account(rules, row), row["told"])] if row else found


def _told(tx: Tx, who: Row, task: str, model: str, input: int, output: int) -> dict[str, Any]:
    """What was counted, and how everything it counts against stands now."""
    rules = limits.rules_of(tx)
    price = law.price_of(model, limits.prices(tx))
    return {
        "agent": who["name"], "task": task or None, "model": model, "counted": bool(input or output),
        "inputTokens": input, "outputTokens": output,
        "costMicros": law.cost(input, output, price) if price else None, "currency": rules.currency,
        "standing": {account.kind: _card(account, rules) for account, _ in _accounts(tx, who, task)},
    }  # fmt: skip


# -- telling -------------------------------------------------------------------------------------------------------


def _tell_once(tx: Tx, rules: Rules, before: Account, more: Used, told: int) -> None:
    """The leader learns of each stage once; a limit that was raised and is crossed anew is news again."""
    used = Used(before.used.tokens + more.tokens, before.used.cost + more.cost)
    after = before._replace(used=used)
    known, news = law.noted(Stage(told), law.stage(before, rules), law.stage(after, rules))
    if known != told:
        _remember_told(tx, after, known)
    if news is not None:
        _tell(tx, rules, after, news)


def _remember_told(tx: Tx, account: Account, known: Stage) -> None:
    if account.kind == "team":
        tx.run("tell_team", told=int(known))
    elif account.kind == "task":
        tx.run("tell_task", id=account.name, told=int(known))
    else:
        tx.run("tell_agent", id=tx.agent(account.name)["id"], told=int(known))


def _tell(tx: Tx, rules: Rules, account: Account, news: Stage) -> None:
    """Mail and event. Where only the person can help, or nobody leads, the person is told."""
    leader = tx.leader()
    spent = news is Stage.SPENT
    to = [leader] if leader else [names.PERSON]
    if spent and rules.hard and account.kind == "team" and leader:
        to.append(names.PERSON)
    rows = [tx.find_agent(name) or tx.make_agent(name) for name in to]
    used = law.told(account, rules)
    head = f"{law.whose(account)} is {'spent' if spent else 'nearly spent'}: {used}"
    refused = "Claims and sends are refused until it is raised; reports still pass. " if spent and rules.hard else ""
    held.tell(
        tx,
        [row["name"] for row in rows],
        head,
        f"{head}. {refused}{law.who_raises(account)} `rook budget` shows who used what.",
    )
    tx.event(
        "budget.spent" if spent else "budget.near", names.SYSTEM, target=", ".join(row["name"] for row in rows),
        ref=account.name, preview=head, scope=account.kind, tokens=account.used.tokens, cost=account.used.cost,
    )  # fmt: skip


# -- setting -------------------------------------------------------------------------------------------------------


def _checked(said: dict[str, Any], unset: Sequence[str]) -> dict[str, Any]:
    for name, value in said.items():
        if name == "warn_percent" and not 1 <= value <= 100:
            raise errors.BadInput(f"warn_percent is {value}.", "1 to 100.", code="BAD_LIMIT")
        if name not in ("warn_percent", "hard_limit"):
            law.check_limit(value, name)
    for word in unset:
        column = team.BUDGET.get(word, word.replace("-", "_"))
        if column not in team.BUDGET.values():
            near = names.did_you_mean(word, team.BUDGET) or f"Known: {', '.join(team.BUDGET)}."
            raise errors.BadInput(f"There is no limit {text.quoted(word, 40)}.", near)
        said[column] = None
    if not said:
        raise errors.BadInput("Which limit?", "--max-tokens N, --max-cost AMOUNT, --hard-limit ...", code="USAGE")
    return said


def _limit_team(tx: Tx, said: dict[str, Any]) -> None:
    me = tx.me()
    changed = limits.keep(tx, said)
    if changed:
        tx.event("budget.set", me["name"], ref=tx.team, preview=_shown(changed), scope="team", **changed)
        look_at_team(tx)


def look_at_team(tx: Tx) -> None:
    """Limits changed: what was told may no longer hold, or be news."""
    rules = limits.rules_of(tx)
    _tell_once(tx, rules, limits.team_account(tx, rules), Used(), tx.terms()["told"])


def look_at_agent(tx: Tx, agent: int) -> None:
    rules, row = limits.rules_of(tx), tx.one("agent_terms", id=agent)
    assert row is not None
    _tell_once(tx, rules, limits.account("agent", row["name"], row, rules.agent), Used(), row["told"])


def _limit_one(tx: Tx, agent: str, task: str, said: dict[str, Any]) -> None:
    me = tx.me()
    if agent:
        id = tx.agent(agent)["id"]
        row = tx.one("agent_terms", id=id)
        assert row is not None
        kept = {name: row[name] for name in ("defined", "role", "model", "max_tokens", "max_cost")}
        tx.run("define_agent", id=id, **(kept | said))
    else:
        row = _task(tx, task)
        kept = {name: row[name] for name in ("max_tokens", "max_cost")}
        tx.run("limit_task", id=task, **(kept | said))
    tx.raise_flags(LIMITED)
    who, scope = (row["name"], "agent") if agent else ("", "task")
    tx.event("budget.set", me["name"], target=who, ref=who or task, preview=_shown(said), scope=scope, **said)
    if agent:
        look_at_agent(tx, row["id"])
    else:
        rules, row = limits.rules_of(tx), _task(tx, task)
        _tell_once(tx, rules, limits.task_account(rules, row), Used(), row["told"])


def _shown(said: dict[str, Any]) -> str:
    """`max tokens 5,000,000, max cost 12.50`."""
    told = {name: "none" if value is None else f"{value:,}" for name, value in said.items()}
    told |= {name: law.money(said[name]) for name in said if name.endswith("cost") and said[name] is not None}
    if said.get("hard_limit") is not None:
        told["hard_limit"] = "on" if said["hard_limit"] else "off"
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in told.items())


# -- showing -------------------------------------------------------------------------------------------------------


def _chosen(tx: Tx, agent: Row | None, task: str, limit: int) -> tuple[list[Row], list[Row]]:
    """The agents and tasks that were asked for, or all that used something."""
    if agent is None and not task:
        return tx.all("agents_that_used", limit=limit), tx.all("tasks_that_used", limit=limit)
    agents = tx.all("agent_terms", id=agent["id"]) if agent else []
    return agents, [_task(tx, task)] if task else []


def _known(tx: Tx, agent: str) -> Row:
    found = tx.find_agent(names.check_address(agent))
    if found is None:
        raise tx.unknown(agent)
    return found


def _task(tx: Tx, id: str) -> Row:
    row = tx.one("task_terms", id=id)
    if row is None:
        raise errors.UnknownName(
            f"No task {text.one_line(id, 40)}.", "`rook task list` shows them.", code="UNKNOWN_TASK"
        )
    return row


def _card(account: Account, rules: Rules) -> dict[str, Any]:
    shares = [used * 100 // limit for used, limit in zip(account.used, account.limit, strict=True) if limit is not None]
    return {
        "tokens": account.used.tokens, "maxTokens": account.limit.tokens,
        "costMicros": account.used.cost, "maxCostMicros": account.limit.cost,
        "percent": max(shares) if shares else None, "stage": law.stage(account, rules).name.lower(),
    }  # fmt: skip


def as_json(rules: Rules) -> dict[str, Any]:
    """Seed 002's `budget`, and more."""
    return {
        "maxTokens": rules.team.tokens, "hardLimit": rules.hard, "maxCostMicros": rules.team.cost,
        "agentMaxTokens": rules.agent.tokens, "agentMaxCostMicros": rules.agent.cost,
        "taskMaxTokens": rules.task.tokens, "taskMaxCostMicros": rules.task.cost, "warnPercent": rules.warn_percent,
    }  # fmt: skip


def _rows(tx: Tx, agent: Row | None, task: str, limit: int) -> list[dict[str, Any]]:
    if agent is not None:
        rows = tx.all("usage_of_agent", agent=agent["id"], task=task, limit=limit)
    else:
        rows = tx.all("usage_of_task", task=task, limit=limit)
    return [
        {
            "agent": row["agent"], "task": row["task"] or None, "model": row["model"], "inputTokens": row["input"],
            "outputTokens": row["output"], "costMicros": row["cost"], "reports": row["reports"],
        }
        for row in rows
    ]  # fmt: skip
