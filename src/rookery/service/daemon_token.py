"""Calls with the daemon's own token from outside every agent tree: which agents it may be (`core.daemon_token`)."""

from rookery.core import authority, names
from rookery.core import daemon_token as rules
from rookery.store.port import Row

from . import decide
from .tx import Tx
from .verbs import Verb


def admit(tx: Tx, verb: Verb) -> None:
    """Refuse, and record, what this token does not prove."""
    if verb.who == authority.DAEMON:
        raise tx.refuse(authority.daemon_only(verb.name))
    if verb.who == authority.LEADER:
        command = authority.COMMANDS.get(verb.name) or verb.name.replace(".", " ")
        raise tx.refuse(authority.by_daemon_token(f"`rook {command}`"))
    is_user = names.key(tx.caller.agent or "") == names.PERSON
    is_self = rules.is_self(verb.name, verb.who)
    if is_user and (verb.writes or is_self):
        raise tx.refuse(authority.nameless_token(verb.name), names.PERSON)
    if is_self and verb.name not in rules.TAKES_NAME:
        agent = tx.me()
        if agent["name"] in ("", names.SYSTEM):
            raise tx.refuse(authority.nameless_token(verb.name))
        require(tx, verb.name, agent)
    elif verb.name in rules.TEAM and (tx.caller.agent or tx.caller.session) and not owns_mail(tx):
        tx.name_nobody()


def require(tx: Tx, verb: str, agent: Row) -> None:
    """The agent that calls, or that a join would make of the caller, must be a guest or proven by its process."""
    if tx.caller.daemon_token and tx.tree is None and not _may_be(tx, agent):
        raise tx.refuse(rules.not_proven(verb, agent["name"]), agent["name"])


def owns_mail(tx: Tx) -> bool:
    """May the caller see the mail of the agent that it calls as?"""
    return not tx.caller.daemon_token or tx.tree is not None or _may_be(tx, tx.me())


def _may_be(tx: Tx, agent: Row) -> bool:
    """A process that should have been found and was not may be any agent's: to it not even guests are open."""
    if tx.caller.origin is not None and not tx.caller.origin.found:
        return False
    return _is_guest(tx, agent) or decide.is_session_of_caller(tx, agent)


def _is_guest(tx: Tx, agent: Row) -> bool:
    """Does nobody vouch for this agent: no process of this machine, no run of a worker, no token, no leadership?"""
    leader = tx.leader()
    if agent["name"] in (names.PERSON, names.SYSTEM, "") or (leader and names.key(leader) == agent["key"]):
        return False
    row = tx.one("agent_is_vouched_for", agent=agent["id"])
    return row is None or not row["vouched"]
