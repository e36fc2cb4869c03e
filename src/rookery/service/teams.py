"""Teams of a store as things: list, make, show. Their rules are settings."""

from typing import Annotated, Any

from rookery.core import errors, names

from .tx import Tx
from .verbs import Arg


def listed(tx: Tx) -> dict[str, Any]:
    """Every team; with a token, which is for one team, that one."""
    rows = [row for row in tx.all("store_teams") if tx.caller.grant is None or row["name"] == tx.team]
    return {"teams": [{"teamId": row["name"], "events": row["seq"]} for row in rows]}


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
    """The team, with the agents known from the start; one that exists already is added to."""
    made = not tx.all("agent_names")
    for given in agents or []:
        if not set(given) <= {"id", "role", "model"} or not isinstance(given.get("id"), str):
            raise errors.BadInput(
                "An agent of a team is {id, role, model}.", 'For example {"id": "ada", "role": "dev"}.'
            )
        role = names.check_name(str(given["role"])) if given.get("role") else ""
        agent = tx.find_agent(names.check_new_name(given["id"])) or tx.make_agent(given["id"], role=role)
        if role and agent["role"] != role:
            tx.run("set_role", id=agent["id"], role=role)
    return _card(tx) | {"created": made}


def _card(tx: Tx) -> dict[str, Any]:
    leader = tx.settings["leader"]
    return {
        "schemaVersion": "1.0.0",
        "teamId": tx.team,
        "leader": leader or None,
        "strict": tx.settings["guard.strict"],
        "agents": [
            {"id": row["name"], "role": row["role"], "model": row["model"] or ""}
            for row in tx.all("present", everyone=1)
        ],
    }
