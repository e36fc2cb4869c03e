"""May this caller call that verb at all? Checked in the verb's own transaction, before the verb.

The table of verbs carries a mark (`core.authority`); a token, if the caller has one, says what it proves; the process
tree tells whether an agent program calls. What rows say (whose task, which lease) the verb judges.
"""

from collections.abc import Mapping
from typing import Any

from rookery.core import authority, errors, names
from rookery.core.caller import Grant, Role

from .tx import Tx
from .verbs import Verb

_NAMELESS = ("turn.", "join")  # what an agent program without a name may write: it takes one


def admit(tx: Tx, verb: Verb, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments to call the verb with, or a refusal."""
    if tx.tree is not None:
        _enter_tree(tx)
    grant = tx.caller.grant
    if grant is not None:
        args = _with_token(tx, grant, verb, args)
    elif tx.caller.daemon_token and tx.tree is None:
        from . import daemon_token  # clients over HTTP only

        daemon_token.admit(tx, verb)
    elif (
        verb.writes and tx.tree is not None and not tx.tree.names and not verb.name.startswith(_NAMELESS)
        and verb.who not in (authority.USER, authority.JUDGE)  # these are refused and recorded below
    ):  # fmt: skip
        raise authority.no_name()
    _check_mark(tx, verb)
    return args


def _enter_tree(tx: Tx) -> None:
    """Inside an agent tree the caller is that agent, whatever token, name, variable or flag it brings."""
    tx.narrow()
    grant, tree = tx.caller.grant, tx.tree
    if grant is not None and grant.role == Role.AGENT:
        if tree is not None and tree.names and names.key(grant.name) not in map(names.key, tree.names):
            raise tx.refuse(authority.other_name(tree.names[0], grant.name), grant.name)
    else:
        tx.caller = tx.caller._replace(grant=None)
    if tx.caller.agent or tx.caller.session:
        tx.me()  # another's name is refused whatever it is for


def _check_mark(tx: Tx, verb: Verb) -> None:
    if verb.who in (authority.USER, authority.JUDGE):
        from . import decide  # most verbs decide nothing

        if verb.who == authority.USER:
            decide.require_user(tx, _command(verb), writes=verb.writes)
        else:
            decide.require_proof(tx, _command(verb))
    elif verb.who == authority.LEADER and not tx.may_steer(tx.me()):
        hint = 'Ask them: `rook escalate "WHAT YOU NEED"`.'
        raise errors.NotYours(f"Only the user and the leader may {_command(verb)}.", hint)
    elif verb.who == authority.DAEMON and tx.tree is not None:
        raise tx.refuse(authority.daemon_only(verb.name))


def _command(verb: Verb) -> str:
    return f"`rook {authority.COMMANDS.get(verb.name) or verb.name.replace('.', ' ')}`"


def _with_token(tx: Tx, grant: Grant, verb: Verb, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Looked at again here, so that nothing commits with a token that was revoked while its request was on its way."""
    from rookery.core import tokens  # few callers have one

    if tx.team != grant.team:
        raise tokens.other_team(grant)
    row = tx.one("token", id=grant.id)
    if row is None:
        raise tokens.unknown()
    over = tokens.ended(row["id"], revoked_at=row["revoked_at"], expires_at=row["expires_at"], now=tx.now)
    if over is not None:
        raise over
    if grant.run and tx.caller.origin is not None and (tx.tree is None or not tx.tree.names):
        raise tx.refuse(tokens.outside_run(grant), grant.name)
    refusal = tokens.refusal(grant, verb.name, writes=verb.writes, who=verb.who, by_token=verb.by_token)
    if refusal is not None:
        raise tx.refuse(refusal) if "attempt" in refusal.facts else refusal
    if grant.reads_only or grant.is_operator:
        return args
    me = tx.me()["name"]  # also where the verb would not ask: naming another is refused whatever it is for
    return {**args, verb.acts_as: _own(grant, me, args.get(verb.acts_as))} if verb.acts_as else args


def _own(grant: Grant, me: str, said: str | None) -> str:
    from rookery.core import tokens

    if said and names.key(said) != names.key(me):
        raise tokens.not_you(grant, names.check_address(said))
    return me
