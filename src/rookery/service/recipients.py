"""Whom an address means: a name, a group, everyone, or one agent of a role."""

from collections.abc import Sequence
from typing import NamedTuple

from rookery.core import errors, names, presence, routing
from rookery.store.port import Row

from .tx import DEFINED, Tx


class Recipients(NamedTuple):
    rows: list[Row]
    address: str
    group: str
    reasons: dict[str, str]


def resolve(tx: Tx, sender: Row, to: Sequence[str]) -> Recipients:
    """Everyone an address list means, each once, in the order given."""
    if not to:
        raise errors.BadInput("Nobody to send to.", "Name at least one agent.")
    found: dict[int, Row] = {}
    group, reasons = "", {}
    for word in to:
        target = names.parse_target(word)
        if target.kind == "broadcast":
            rows = [
                row for row in members(tx, "" if target.name == "all" else target.name) if row["id"] != sender["id"]
            ]
            group = target.name
        elif target.kind == "any":
            name, reason = _choose(tx, sender, target.name)
            rows, reasons[name] = [tx.agent(name)], reason
        else:
            rows = [tx.agent(target.name)]
        found.update((row["id"], row) for row in rows)
    if not found:
        raise errors.Refused(f"Nobody but you is in {', '.join(to)}.", "`rook who --all` shows who is.", code="NOBODY")
    return Recipients(list(found.values()), ", ".join(to), group, reasons)


def members(tx: Tx, group: str) -> list[Row]:
    if not group:
        return [tx.agent(row["name"]) for row in tx.all("agents_expected")]
    key = names.key(names.check_name(group))
    stored = [row["name"] for row in tx.all("stored_group", key=key)] if tx.flags & DEFINED else []
    listed = stored or [_member(tx, group, name) for name in tx.world.directory.members(group)]
    within = [row["name"] for row in tx.all("agents_of_group", low=f"{key}/", high=f"{key}0")]
    chosen = dict.fromkeys([*listed, *within])
    if not chosen:
        known = sorted({*tx.world.directory.groups(), *(row["name"] for row in tx.all("stored_groups"))})
        if tx.caller.open_addresses:
            return []
        raise errors.UnknownName(
            f"No group named {group}.",
            f"Known: {', '.join(known)}." if known else "Define it under [groups] in rookery.toml.",
            code="UNKNOWN_GROUP",
        )
    return [tx.find_agent(name) or tx.make_agent(name) for name in chosen]


def _member(tx: Tx, group: str, name: str) -> str:
    """A listed member is `name`, unless only `group/name` is known."""
    if name != names.PERSON:
        names.check_new_name(name)  # written by hand in a settings file: no impossible agent may come of it
    inside = f"{group}/{name}"
    if "/" not in name and tx.find_agent(name) is None and tx.find_agent(inside) is not None:
        return inside
    return name


def _choose(tx: Tx, sender: Row, role: str) -> tuple[str, str]:
    for name in tx.world.directory.with_role(role):  # defined, though it may never have joined
        if tx.find_agent(name) is None:
            tx.make_agent(name, role=role)
    rows = tx.all("candidates_for_role", role=role, sender=sender["id"])
    candidates = [
        routing.Candidate(row["name"], tx.liveness(row) is presence.Liveness.LIVE, row["load"], row["shared"])
        for row in rows
    ]
    return routing.choose(role, candidates, [row["role"] for row in tx.all("agent_roles")])
