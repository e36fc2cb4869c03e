"""Tokens for operators, agents and viewers that come over HTTP: made, listed and revoked by the user."""

from typing import Annotated, Any

from rookery.core import errors, names, text, times, tokens
from rookery.core.caller import Grant, Role
from rookery.store.port import Row, Transaction

from .mailbox import checked_limit
from .tx import Tx
from .verbs import Arg

NOTE_LIMIT = 200


def new(
    tx: Tx,
    *,
    role: Annotated[
        str, Arg("operator: acts as the user; agent: as one agent; viewer: reads only", choices=("", *Role))
    ] = "",
    agent: Annotated[str, Arg("the agent that its bearer acts as", metavar="NAME")] = "",
    read_only: Annotated[bool, Arg("the same as --role viewer")] = False,
    note: Annotated[str, Arg("what it is for", flag="-m")] = "",
    ttl: Annotated[int | None, Arg("how long it is good: 12h, 30d; until revoked when left out", kind="span")] = None,
) -> dict[str, Any]:
    """The answer is the only place that ever holds the token's text."""
    made_for = _role(role, agent, read_only)
    note, expires_at = _note(note), _expiry(tx, ttl)
    return _minted(tx, made_for, _holder(tx, agent) if agent else None, note, expires_at)


def _role(said: str, agent: str, read_only: bool) -> Role:
    """What --role says, or else what --agent or --read-only means."""
    if said and said not in tuple(Role):
        raise errors.BadInput(f"No role {text.quoted(said, 40)}.", f"One of: {', '.join(Role)}.")
    meant = {Role(said)} if said else set[Role]()
    meant |= ({Role.AGENT} if agent else set[Role]()) | ({Role.VIEWER} if read_only else set[Role]())
    if len(meant) != 1 or (Role.AGENT in meant and not agent):
        raise errors.BadInput("For whom?", "--agent NAME, --role operator or --role viewer.")
    return meant.pop()


def mint(tx: Tx, agent: Row, note: str) -> dict[str, Any]:
    """For a program that is started as this agent; whoever made it ends it."""
    return _minted(tx, Role.AGENT, agent, note, None)


def _minted(tx: Tx, kind: Role, holder: Row | None, note: str, expires_at: int | None) -> dict[str, Any]:
    me = tx.me()
    number = tx.one("raise_counter", name="token")
    assert number is not None
    id = f"token-{number['value']:04d}"
    secret = tokens.written(kind, _chance(tx))
    tx.run(
        "new_token", n=number["value"], id=id, digest=tokens.digest(secret), kind=kind, note=note, at=tx.wall,
        agent=holder["id"] if holder else None, created_by=me["id"], expires_at=expires_at,
    )  # fmt: skip
    name = holder["name"] if holder else None
    tx.event("token.new", me["name"], target=name or "", ref=id, preview=note, type=kind)
    tx.beat()
    return {
        "id": id, "token": secret, "kind": kind, "agent": name, "team": tx.team, "note": note,
        "expires_at": None if expires_at is None else tx.shown(expires_at),
    }  # fmt: skip


def _note(written: str) -> str:
    note = " ".join(text.check_text(written, "the note").split())
    if len(note) > NOTE_LIMIT:
        raise errors.TooLarge(f"A note has at most {NOTE_LIMIT} characters.", "One line that says what it is for.")
    return note


def _expiry(tx: Tx, ttl: int | None) -> int | None:
    if ttl is not None and not 0 < ttl <= times.LAST_MS - tx.wall:
        raise errors.BadInput("That is no time a token could last.", "12h, 30d; until revoked when left out.")
    return None if ttl is None else tx.now + ttl


def _holder(tx: Tx, name: str) -> Row:
    """It may be made before the agent first comes. Nobody gets one for the user: that is an operator's."""
    return tx.find_agent(names.check_new_name(name)) or tx.make_agent(name)


def _chance(tx: Tx) -> int:
    drawn = 0
    for _ in range(tokens.CHANCE_BITS // tokens.DRAW_BITS):
        drawn = drawn << tokens.DRAW_BITS | tx.world.chance.below(1 << tokens.DRAW_BITS)
    return drawn


def listed(
    tx: Tx,
    *,
    all: Annotated[bool, Arg("also those that were revoked or have expired")] = False,
    limit: Annotated[int | None, Arg("how many at most", flag="-n")] = None,
) -> dict[str, Any]:
    rows = tx.all("tokens_of_team", ended=int(all), limit=checked_limit(limit, 100))
    return {"tokens": [_card(tx, row) for row in rows]}


def _card(tx: Tx, row: Row) -> dict[str, Any]:
    over = _ended(row, tx.now)
    return {
        "id": row["id"], "kind": row["kind"], "agent": row["agent_name"], "note": row["note"],
        "by": row["creator_name"], "at": times.iso(row["at"]),
        "expires_at": None if row["expires_at"] is None else tx.shown(row["expires_at"]),
        "state": {"": "good", "TOKEN_REVOKED": "revoked", "TOKEN_EXPIRED": "expired"}[over.code if over else ""],
    }  # fmt: skip


def revoke(tx: Tx, id: Annotated[str, Arg("the token's id, as in `token list`", positional=True)]) -> dict[str, Any]:
    """From its commit on nothing is answered to that token, and who waits with it is sent away. May be repeated."""
    if tx.one("token", id=id) is None:
        raise errors.UnknownName(
            f"No token {text.one_line(id, 40)}.", "`rook token list --all` shows them.", code="UNKNOWN_TOKEN"
        )
    me = tx.me()
    changed = bool(tx.run("revoke_token", id=id))
    if changed:
        tx.event("token.revoked", me["name"], ref=id)
        tx.ring(me["name"])  # and with it everyone who waits in this team
    tx.beat()
    return {"id": id, "state": "revoked", "changed": changed}


# -- using one -------------------------------------------------------------------------------------------------------


def presented(db: Transaction, digest: str) -> Grant | None:
    """What the token with this digest proves; None where there is none, a refusal where it is over."""
    row = db.one("store_token", digest=digest)
    if row is None:
        return None
    over = _ended(row, db.now)
    if over is not None:
        raise over
    return Grant(row["team_name"], row["id"], row["kind"], row["agent"] or 0, row["agent_name"] or "", row["run"] or "")


def _ended(row: Row, now: int) -> errors.NotYours | None:
    return tokens.ended(row["id"], revoked_at=row["revoked_at"], expires_at=row["expires_at"], now=now)
