"""May this caller do that at all? Asked in the verb's own transaction, before the verb.

The table of verbs says who may; a token, if the caller came with one, what it proves. What rows say (whose task, which
lease) is for the verb to judge.
"""

from collections.abc import Mapping
from typing import Any

from rookery.core import errors, names
from rookery.core.caller import Grant

from .tx import Tx
from .verbs import Verb


def admit(tx: Tx, verb: Verb, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments to call the verb with, or a refusal."""
    grant = tx.caller.grant
    if grant is not None:
        args = _with_token(tx, grant, verb, args)
    if verb.who == "person" and tx.me()["name"] != names.PERSON:
        raise errors.NotYours(f"Only the person may {verb.name}.", "Ask them: `rook escalate`.")
    if verb.who == "leader" and not tx.may_steer(tx.me()):
        raise errors.NotYours(f"Only the person and the leader may {verb.name}.", "Ask them: `rook escalate`.")
    return args


def _with_token(tx: Tx, grant: Grant, verb: Verb, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Looked at again here, so that nothing commits with a token that was revoked while its request was on its way."""
    from rookery.core import tokens  # few callers have one

    if tx.team != grant.team:
        raise tokens.other_team(grant)
    row = tx.one("token", id=grant.id)
    if row is None:
        raise tokens.unknown()
    over = tokens.ended(row["id"], revoked_at=row["revoked_at"], expires_at=row["expires_at"], now=tx.now)
    refusal = over or tokens.refusal(grant, verb.name, writes=verb.writes, who=verb.who, by_token=verb.by_token)
    if refusal is not None:
        raise refusal
    if grant.reads_only:
        return args
    me = tx.me()["name"]  # also where the verb would not ask: naming another is refused whatever it is for
    return {**args, verb.acts_as: _own(grant, me, args.get(verb.acts_as))} if verb.acts_as else args


def _own(grant: Grant, me: str, said: str | None) -> str:
    from rookery.core import tokens

    if said and names.key(said) != names.key(me):
        raise tokens.not_you(grant, names.check_address(said))
    return me
