"""Teams of a store as things: list, show, define. What the stored definition does not say, the settings say."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rookery.core import errors, names, team

from . import budget, decide, limits
from .tx import DEFINED, LIMITED, Tx
from .verbs import Arg

STORED = "stored"


def listed(tx: Tx) -> dict[str, Any]:
    """Every team; with a token, which is for one team, that one."""
    rows = [row for row in tx.all("store_teams") if tx.caller.grant is None or row["name"] == tx.team]
    return {"teams": [{"teamId": row["name"], "events": row["seq"], "tokens": row["tokens"]} for row in rows]}


def show(tx: Tx) -> dict[str, Any]:
    position = tx.one("ledger_position")
    if position is None:
        raise errors.UnknownName(f"No team {tx.team}.", "A team exists from its first write on.", code="UNKNOWN_TEAM")
    return _card(tx)


def make(
    tx: Tx,
    *,
    agents: Annotated[list[dict[str, Any]] | None, Arg("who belongs to it: {id, role}", kind="json")] = None,
) -> dict[str, Any]:
    """The team, with the agents known from the start. One that exists is added to; who leads it, the user says."""
    leaders = {names.key(str(each.get("id"))) for each in agents or () if each.get("role") == "leader"}
    if _known(tx) and leaders - {names.key(tx.leader())}:
        decide.require_user(tx, "say who leads a team")
    if any(_changes_terms(tx, each) for each in team.parse({"agents": agents or []}, _known(tx)).agents):
        decide.require_user(tx, "change the role, model or budget of an agent")
    return define(tx, definition={"agents": agents} if agents is not None else {})


def _known(tx: Tx) -> list[str]:
    return [row["name"] for row in tx.all("agent_names") if row["name"] not in names.RESERVED]


def define(
    tx: Tx,
    *,
    leader: Annotated[str, Arg("the agent that leads", metavar="NAME")] = "",
    members: Annotated[
        list[str] | None, Arg("an agent of it (repeatable)", flag="--agent", metavar="NAME[:ROLE[:MODEL]]")
    ] = None,
    drop: Annotated[list[str] | None, Arg("no longer an agent of it (repeatable)", metavar="NAME")] = None,
    grouped: Annotated[
        list[str] | None, Arg("a group (repeatable); without names it goes", flag="--group", metavar="NAME=A,B")
    ] = None,
    strict: Annotated[bool | None, Arg("whether only what a lease covers may be written", hidden=True)] = None,
    max_tokens: Annotated[int | None, Arg("tokens the team may use", metavar="N")] = None,
    hard_limit: Annotated[bool | None, Arg("whether a spent limit refuses claims and sends")] = None,
    unset: Annotated[
        list[str] | None, Arg("leave this to the settings again: leader, guard, budget (repeatable)", metavar="WHAT")
    ] = None,
    definition: Annotated[dict[str, Any] | None, Arg("the same as a team.json", hidden=True)] = None,
) -> dict[str, Any]:
    """What is said is set, what is not said stays."""
    known = _known(tx)
    said: dict[str, Any] = dict(definition or {})
    _add_options(said, leader, members or [], grouped or [], strict, max_tokens, hard_limit, unset or [])
    asked = team.parse(said, [*known, *tx.settings["agents"]])
    if asked.team not in (None, tx.team):
        raise errors.BadInput(
            f"This is the definition of team {asked.team}; you are in {tx.team}.",
            f"Say so: --team {asked.team}.",
        )
    me = tx.me()
    changed = _apply(tx, asked, drop or [])
    if changed:
        tx.event("team.set", me["name"], ref=tx.team, preview=", ".join(changed), **changed)
        tx.beat()
    return _card(tx) | {"created": not known}


def _add_options(
    said: dict[str, Any], leader: str, members: list[str], grouped: list[str], strict: bool | None,
    max_tokens: int | None, hard_limit: bool | None, unset: list[str],
) -> None:  # fmt: skip
    """Options are written over what a file says."""
    for name in unset:
        if name not in ("leader", "guard", "budget"):
            near = names.did_you_mean(name, ("leader", "guard", "budget")) or "leader, guard or budget."
            raise errors.BadInput(f"{name!r} can not be left to the settings.", near)
        said[name] = None
    if members:
        said["agents"] = [*(said.get("agents") or []), *map(team.member_of, members)]
    if grouped:
        said["groups"] = {**(said.get("groups") or {}), **dict(map(team.group_of, grouped))}
    if leader:
        said["leader"] = leader
    if strict is not None:
        said.pop("guard", None)
        said["strict"] = strict
    limit = {"maxTokens": max_tokens, "hardLimit": hard_limit}
    if given := {name: value for name, value in limit.items() if value is not None}:
        said["budget"] = {**(said.get("budget") or {}), **given}


def _apply(tx: Tx, asked: team.Definition, drop: Sequence[str]) -> dict[str, Any]:
    """Write it down. What was changed, for the log; empty when all of it was so already."""
    agents = [each.id for each in asked.agents if _define_agent(tx, each)]
    dropped = [name for name in drop if _drop_agent(tx, name)]
    groups = [name for name, listed in asked.groups.items() if _define_group(tx, name, listed)]
    rules: dict[str, Any] = {
        name: int(value) if isinstance(value, bool) else value for name, value in asked.rules.items()
    }
    if leader := rules.get("leader"):
        rules["leader"] = (tx.find_agent(leader) or tx.make_agent(leader))["id"]
    changed = limits.keep(tx, rules)
    if "leader" in changed:
        changed["leader"] = tx.leader()
    if changed.keys() & {*limits.LIMITS, "hard_limit", "warn_percent"}:
        budget.look_at_team(tx)
    listed = {"agents": agents, "dropped": dropped, "groups": groups}
    return changed | {name: values for name, values in listed.items() if values}


def _changes_terms(tx: Tx, each: team.Member) -> bool:
    """Does this say something else of an agent that is there?"""
    made = tx.find_agent(each.id)
    row = tx.one("agent_terms", id=made["id"]) if made else None
    return row is not None and any(row[name] not in (value, None, "") for name, value in each.said.items())


def _define_agent(tx: Tx, each: team.Member) -> bool:
    made = tx.find_agent(each.id)
    row = tx.one("agent_terms", id=(made or tx.make_agent(each.id))["id"])
    assert row is not None
    before = {name: row[name] for name in ("defined", "role", "model", "max_tokens", "max_cost")}
    after = before | {"defined": 1} | each.said
    if before != after:
        tx.run("define_agent", id=row["id"], **after)
    tx.run("open_inbox", agent=row["id"], seq=(tx.one("ledger_position") or {"seq": 0})["seq"])
    if before["max_tokens"] != after["max_tokens"] or before["max_cost"] != after["max_cost"]:
        tx.raise_flags(LIMITED)
        budget.look_at_agent(tx, row["id"])
    return before != after


def _drop_agent(tx: Tx, name: str) -> bool:
    """Its address and its mail stay: whoever joined may go on under its name."""
    agent = tx.agent(name)
    if names.key(tx.leader()) == agent["key"]:
        raise errors.Refused(f"{agent['name']} leads.", "Name another leader first: --leader NAME.", code="IS_LEADER")
    row = tx.one("agent_terms", id=agent["id"])
    if row is None or not row["defined"]:
        return False
    tx.run("define_agent", id=agent["id"], defined=0, role="", model="", max_tokens=None, max_cost=None)
    return True


def _define_group(tx: Tx, name: str, listed: Sequence[str]) -> bool:
    key = names.key(name)
    before = {row["name"] for row in tx.all("stored_group", key=key)}
    rows = [tx.find_agent(each) or tx.make_agent(each) for each in listed]
    if before == {row["name"] for row in rows}:
        return False
    tx.run("drop_group", key=key)
    for row in rows:
        tx.run("add_group_member", key=key, agent=row["id"], name=name)
    tx.raise_flags(DEFINED)
    return True


# -- showing -------------------------------------------------------------------------------------------------------


def _card(tx: Tx) -> dict[str, Any]:
    """Seed 002's `team.json` as it holds now, and where each rule comes from."""
    rules = limits.rules_of(tx)
    return {
        "schemaVersion": "1.0.0",
        "teamId": tx.team,
        "leader": tx.leader() or None,
        "strict": tx.is_strict(),
        "guard": "strict" if tx.is_strict() else "advisory",
        "agents": _agents(tx),
        "groups": _groups(tx),
        "budget": budget.as_json(rules),
        "sources": _sources(tx),
    }


def _agents(tx: Tx) -> list[dict[str, Any]]:
    rows = [row for row in tx.all("team_agents") if names.key(row["name"]) not in names.RESERVED]
    told = [_agent(row["name"], row["role"], row["model"], row["max_tokens"], row["max_cost"]) for row in rows]
    here = {names.key(row["name"]) for row in rows}
    settings: Mapping[str, Mapping[str, str]] = tx.settings["agents"]
    return told + [
        _agent(name, entry.get("role", ""), entry.get("model", ""), None, None)
        for name, entry in settings.items()
        if names.key(name) not in here
    ]


def _agent(name: str, role: str, model: str, max_tokens: int | None, max_cost: int | None) -> dict[str, Any]:
    limit = {"maxTokens": max_tokens, "maxCostMicros": max_cost}
    said = {key: value for key, value in limit.items() if value is not None}
    return {"id": name, "role": role, "model": model, **said}


def _groups(tx: Tx) -> dict[str, list[str]]:
    """A stored group takes the place of one that the settings define."""
    found: dict[str, list[str]] = {}
    for row in tx.all("stored_groups"):
        found.setdefault(row["name"], []).append(row["member"])
    stored, directory = {names.key(name) for name in found}, tx.world.directory
    others = [name for name in directory.groups() if names.key(name) not in stored]
    return {name: list(directory.members(name)) for name in others} | found


def _sources(tx: Tx) -> dict[str, str]:
    """By rule: stored, or the setting's own source."""
    terms = tx.terms() if tx.flags & DEFINED else {}
    settings = {"leader": "leader", "strict": "guard.strict"} | {
        column: f"budget.{column}" for column in team.BUDGET.values()
    }
    json_names = {column: name for name, column in team.BUDGET.items()}
    return {
        json_names.get(column, column): STORED if terms.get(column) is not None else tx.settings.source(setting)
        for column, setting in settings.items()
    }
