"""Whom an address means: a name, a group, everyone, or one agent of a role."""

from collections.abc import Mapping, Sequence

from rookery.core import errors, names, presence, routing
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from .tx import DEFINED, Tx


class Recipients(NamedTuple):
    rows: list[Row]
    address: str
    group: str
    reasons: dict[str, str]
    started: Mapping[str, str] = {}  # who was made for this message, each with its kind


def resolve(tx: Tx, sender: Row, to: Sequence[str], *, starts: bool = False) -> Recipients:
    """Everyone an address list means, each once, in the order given. `starts`: a kind may stand for a worker of it."""
    if not to:
        raise errors.BadInput("Nobody to send to.", "Name at least one agent.")
    found: dict[int, Row] = {}
    group, reasons, started = "", dict[str, str](), dict[str, str]()
    for word in dict.fromkeys(to):
        target = names.parse_target(word)
        if target.kind == "broadcast":
            rows = other_members(tx, sender, "" if target.name == "all" else target.name)
            group = target.name
        else:
            meant = (_of_role if target.kind == "any" else _named)(tx, sender, target.name, starts)
            rows = [meant.agent]
            started |= {meant.agent["name"]: meant.kind} if meant.kind else {}
            reasons |= {meant.agent["name"]: meant.reason} if meant.reason else {}
        found.update((row["id"], row) for row in rows)
    if not found:
        raise errors.Refused(f"Nobody but you is in {', '.join(to)}.", "`rook who --all` shows who is.", code="NOBODY")
    return Recipients(list(found.values()), ", ".join(to), group, reasons, started)


class _Meant(NamedTuple):
    agent: Row
    kind: str = ""  # it was made for this mail: the kind of its worker
    reason: str = ""  # it was chosen among others


def _named(tx: Tx, sender: Row, name: str, starts: bool) -> _Meant:
    row = tx.find_agent(name)
    return _Meant(row) if row else (starts and _started(tx, sender, name)) or _Meant(tx.agent(name))


def _started(tx: Tx, sender: Row, name: str) -> _Meant | None:
    """An agent for a worker that this mail starts, where a kind says so. What the team defines comes first."""
    if name == names.PERSON or tx.world.directory.is_defined(name):
        return None
    from . import summoning  # most mail is for somebody who is there

    made = summoning.reader(tx, sender, name)
    return _Meant(made, made["role"]) if made else None


def other_members(tx: Tx, sender: Row, group: str, exclude: Sequence[str] = ()) -> list[Row]:
    """The members but the sender and `exclude`. `ada` and `dev/ada` are one member of dev unless both have joined."""
    out = {names.member(group, name) for name in exclude}

    def is_other(row: Row) -> bool:
        same = names.member(group, row["key"]) == names.member(group, sender["key"])
        return row["id"] != sender["id"] and (not same or (_has_joined(row) and _has_joined(sender)))

    return [row for row in members(tx, group) if is_other(row) and names.member(group, row["key"]) not in out]


def members(tx: Tx, group: str) -> list[Row]:
    """The agents that the team's definition lists. An address `group/name` that is not listed is a member once it has
    joined, and in a group without a definition from its first use on."""
    if not group:
        return [tx.agent(row["name"]) for row in tx.all("agents_expected")]
    key = names.key(names.check_name(group))
    stored = [tx.agent(row["name"]) for row in tx.all("stored_group", key=key)] if tx.flags & DEFINED else []
    listed = stored or [_listed_member(tx, group, name) for name in tx.world.directory.members(group)]
    within = [tx.agent(row["name"]) for row in tx.all("agents_of_group", low=f"{key}/", high=f"{key}0")]
    chosen = {row["key"]: row for row in (*listed, *(row for row in within if not listed or _has_joined(row)))}
    if not chosen and not tx.caller.open_addresses:
        known = sorted({*tx.world.directory.groups(), *(row["name"] for row in tx.all("stored_groups"))})
        raise errors.UnknownName(
            f"No group named {group}.",
            f"Known: {', '.join(known)}." if known else "Define it under [groups] in rookery.toml.",
            code="UNKNOWN_GROUP",
        )
    return list(chosen.values())


def _listed_member(tx: Tx, group: str, name: str) -> Row:
    """The agent `name`; `group/name` where only that one is known, or only that one has joined."""
    if name != names.PERSON:
        names.check_new_name(name)  # written by hand in a settings file: no impossible agent may come of it
    plain = tx.find_agent(name)
    inside = tx.find_agent(f"{group}/{name}") if "/" not in name else None
    if inside is not None and (plain is None or (_has_joined(inside) and not _has_joined(plain))):
        return inside
    return plain or tx.make_agent(name)


def _has_joined(row: Row) -> bool:
    return row["session"] is not None


def _of_role(tx: Tx, sender: Row, role: str, starts: bool) -> _Meant:
    for name in tx.world.directory.with_role(role):  # defined, though it may never have joined
        if tx.find_agent(name) is None:
            tx.make_agent(name, role=role)
    rows = tx.all("candidates_for_role", role=role, sender=sender["id"])
    if starts and not rows and (made := _started(tx, sender, role)):
        return made
    candidates = [
        routing.Candidate(row["name"], tx.liveness(row) is presence.Liveness.LIVE, row["load"], row["shared"])
        for row in rows
    ]
    name, reason = routing.choose(role, candidates, [row["role"] for row in tx.all("agent_roles")])
    return _Meant(tx.agent(name), reason=reason)
