"""Teams and budgets for people."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rookery.core.budget import money
from rookery.core.text import one_line

from .showing import new_table, say

STAGE = {"ok": "green", "near": "yellow", "spent": "bold red"}
BAR = 24
NO_USE = "Nothing was reported yet. "
HOW = "`rook budget report -i N -o N` tells what a model has used."


def _facts() -> Table:
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    facts.add_column(style="dim")
    facts.add_column(overflow="fold")
    return facts


# -- teams ---------------------------------------------------------------------------------------------------------


def team(result: dict[str, Any]) -> RenderableType:
    sources = result["sources"]
    facts = _facts()
    leader = result["leader"] or "nobody: what an agent can not settle goes to the person"
    facts.add_row("leader", _from(one_line(leader, 60), sources["leader"]))
    guard = "strict: only what a lease covers may be written" if result["strict"] else "advisory"
    facts.add_row("guard", _from(guard, sources["strict"]))
    facts.add_row("budget", _budget(result["budget"], sources))
    for name, members in result["groups"].items():
        facts.add_row(f"group {one_line(name, 30)}", one_line(", ".join(members), 200) or "nobody")
    parts: list[RenderableType] = [say(("team ", "dim"), (result["teamId"], "bold")), facts]
    if not result["agents"]:
        return Group(*parts, say("\nNo agents. ", ("`rook team set --agent NAME:ROLE` names one.", "dim")))
    return Group(*parts, Text(""), _agents(result["agents"], result["leader"]))


def _from(said: str, source: str) -> Text:
    told = {"stored": "", "default": " (default)"}.get(source, f" (from {one_line(source.rpartition('/')[2], 60)})")
    return Text.assemble(said, (told, "dim"))


def _budget(budget: dict[str, Any], sources: dict[str, str]) -> Text:
    limits = {
        "": (budget["maxTokens"], budget["maxCostMicros"]),
        "each agent ": (budget["agentMaxTokens"], budget["agentMaxCostMicros"]),
        "each task ": (budget["taskMaxTokens"], budget["taskMaxCostMicros"]),
    }
    told = [f"{whose}{_limit(tokens, cost)}" for whose, (tokens, cost) in limits.items() if tokens or cost]
    if not told:
        return Text("no limit", "dim")
    how = "hard" if budget["hardLimit"] else "only told, nothing is refused"
    return _from(f"{'; '.join(told)} ({how})", sources["maxTokens"])


def _limit(tokens: int | None, cost: int | None) -> str:
    return " and ".join([*([f"{tokens:,} tokens"] if tokens else []), *([money(cost)] if cost else [])])


def _agents(agents: list[dict[str, Any]], leader: str | None) -> Table:
    limited = any(agent.get("maxTokens") or agent.get("maxCostMicros") for agent in agents)
    shown = new_table("agent", "role", "model", *(["limit"] if limited else []))
    for agent in agents:
        mark = Text(" leads", "cyan") if agent["id"] == leader else Text("")
        limit = [_limit(agent.get("maxTokens"), agent.get("maxCostMicros"))] if limited else []
        shown.add_row(
            Text.assemble((agent["id"], "bold"), mark),
            one_line(agent["role"], 24),
            one_line(agent["model"], 40),
            *limit,
        )
    return shown


# -- budgets -------------------------------------------------------------------------------------------------------


def budget(result: dict[str, Any]) -> RenderableType:
    rules, currency = result["budget"], result["currency"]
    hard = (
        "a spent limit refuses claims and sends" if rules["hardLimit"] else "a spent limit is told, nothing is refused"
    )
    shown = _accounts()
    _add(shown, "team", result, currency)
    for title, rows in (("agents", result["agents"]), ("tasks", result["tasks"])):
        if rows:
            shown.add_row("")
            shown.add_row(Text(title, "bold"))
        for card in rows:
            name = card["agent"] if "agent" in card else f"{card['task']} {card['title']}"
            _add(shown, one_line(name, 34), card, currency)
    parts: list[RenderableType] = [say(("team ", "dim"), (result["teamId"], "bold"), (f"  {hard}", "dim")), shown]
    if result.get("usage"):
        parts += [Text("\nwhat was used", "bold"), _usage(result["usage"])]
    if not result["tokens"]:
        parts.append(say(NO_USE, (HOW, "dim")))
    if result["unpricedTokens"] and result["costMicros"]:
        parts.append(Text(f"{result['unpricedTokens']:,} tokens had no price: see `prices` in rookery.toml.", "yellow"))
    return Group(*parts)


def _accounts() -> Table:
    shown = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    shown.add_column(no_wrap=True, overflow="ellipsis", min_width=12)
    shown.add_column(no_wrap=True, min_width=BAR)
    shown.add_column(no_wrap=True, justify="right")
    shown.add_column(overflow="fold")
    return shown


def _add(shown: Table, name: str, card: dict[str, Any], currency: str) -> None:
    percent = "" if card["percent"] is None else f"{card['percent']} %"
    shown.add_row(f"  {name}", _bar(card), Text(percent, STAGE[card["stage"]]), _told(card, currency))


def _bar(card: dict[str, Any]) -> Text:
    if card["percent"] is None:
        return Text("no limit".ljust(BAR), "dim")
    cells = min(BAR, card["percent"] * BAR // 100)
    return Text.assemble(("█" * cells, STAGE[card["stage"]]), ("░" * (BAR - cells), "dim"))


def _told(card: dict[str, Any], currency: str) -> str:
    tokens = f"{card['tokens']:,}" + (f" of {card['maxTokens']:,}" if card["maxTokens"] else "") + " tokens"
    if not card["costMicros"] and not card["maxCostMicros"]:
        return tokens
    limit = f" of {money(card['maxCostMicros'])}" if card["maxCostMicros"] else ""
    return f"{tokens}, {money(card['costMicros'])}{limit} {currency}"


def _usage(rows: list[dict[str, Any]]) -> Table:
    priced = any(row["costMicros"] for row in rows)
    shown = new_table("agent", "task", "model", "read", "written", *(["cost"] if priced else []), "reports")
    for row in rows:
        shown.add_row(
            row["agent"], row["task"] or "", one_line(row["model"], 40), f"{row['inputTokens']:,}",
            f"{row['outputTokens']:,}", *([money(row["costMicros"])] if priced else []), f"{row['reports']:,}",
        )  # fmt: skip
    return shown


def report(result: dict[str, Any]) -> RenderableType:
    counted = f"{result['inputTokens'] + result['outputTokens']:,} tokens"
    what = f"{counted} counted" if result["counted"] else "nothing new, all of it was counted before"
    what = f"{counted}, counted before" if result.get("replayed") else what
    task = f" for {result['task']}" if result["task"] and result["counted"] else ""
    cost = f", {money(result['costMicros'])} {result['currency']}" if result["costMicros"] else ""
    named = {"team": "team", "agent": result["agent"], "task": result["task"] or ""}
    shown = _accounts()
    for kind, card in result["standing"].items():
        _add(shown, named[kind], card, result["currency"])
    return Group(say((result["agent"], "bold"), f": {what}{task}{cost}."), shown)


SHOWS = {"team.show": team, "budget": budget, "budget.set": budget, "usage_report": report}
