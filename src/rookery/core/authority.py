"""Who may call which verb, and the refusals that say so. `docs/authority.md` is the same for users.

    mark      who may call a verb that carries it
    anyone    every caller; the verb judges by its rows
    agent     every caller that has a name of its own (not the user)
    leader    the user and the team's leader
    judge     whoever the verb lets judge a result, if the caller's identity is proven
    user      the user alone: a deciding verb
    daemon    the background services of this machine

Identity is proven by the process tree (an agent program that this store recorded), by a token of an agent or an
operator, or by a controlling terminal outside every agent tree. A name given with a call proves nothing.
"""

from rookery.core import names
from rookery.core.caller import Caller
from rookery.core.errors import NotYours, Refused

ANYONE, AGENT, LEADER, JUDGE, USER, DAEMON = MARKS = ("anyone", "agent", "leader", "judge", "user", "daemon")

TERMINAL_RULE = "authority.terminal"  # a stored setting: `off` lets a user without a terminal decide
ON, OFF = "on", "off"

# What was attempted, as a fact of the refusal and of the event that records it.
DECIDE, OTHER_NAME, SECOND_NAME = "decide", "other-name", "second-name"
NO_TERMINAL = "NO_TERMINAL"  # the code where only the terminal is missing; all others are NOT_YOURS

# Commands of verbs for the user, the leader and judges that are not called as their verb is.
COMMANDS = {
    "kind.add": "kinds add", "kind.drop": "kinds drop", "trust.accept": "trust", "trust.revoke": "trust --revoke",
    "export_mail": "export mailboxes", "import_mail": "import mailboxes", "store.backup": "backup",
    "daemon.stop": "down", "worker.attach": "attach",
}  # fmt: skip

_WHERE = "The user can do it in a terminal of their own, outside every agent program"


def is_proven(caller: Caller, *, by_process: bool, terminal_rule: bool) -> bool:
    """Is it known who calls, by more than a name? `by_process`: the caller runs below the process of its session."""
    if caller.grant is not None:
        return by_process if caller.grant.run else not caller.grant.reads_only
    if caller.daemon_token:
        return False
    return by_process or not terminal_rule or has_terminal(caller)


def has_terminal(caller: Caller) -> bool:
    """Has the caller a terminal that no agent program opened, and can every process above it be seen?"""
    origin = caller.origin
    return origin is not None and origin.terminal and origin.whole and not (origin.marked or origin.below)


def decision_refusal(caller: Caller, what: str, *, tree_agent: str | None, terminal_rule: bool) -> NotYours | None:
    """Why this caller may not decide for the user; None if it may.

    `tree_agent` is the agent whose process tree the caller is in: "" for a program without a name, None outside.
    """
    if caller.grant is not None:
        return None if caller.grant.is_operator else by_token(what)
    if caller.daemon_token:
        return by_daemon_token(what)
    if tree_agent is not None:
        return by_agent(what, tree_agent)
    return without_terminal(what) if terminal_rule and not has_terminal(caller) else None


def by_agent(what: str, agent: str) -> NotYours:
    return NotYours(
        f"Only the user may {what}; this process belongs to {agent or 'an agent program'}.",
        f"{_WHERE}. To ask them: `rook escalate \"WHAT YOU NEED\"`.", attempt=DECIDE,
    )  # fmt: skip


def as_agent(what: str, agent: str) -> NotYours:
    return NotYours(
        f"Only the user may {what}; you act as {agent} here.", "Say who decides: --as user.", attempt=DECIDE
    )


def by_token(what: str) -> NotYours:
    return NotYours(
        f"Only the user may {what}; this token is not an operator's.",
        f"{_WHERE}, or with an operator token: `rook token new --role operator`.", attempt=DECIDE,
    )  # fmt: skip


def by_daemon_token(what: str) -> NotYours:
    return NotYours(
        f"The daemon's own token may not {what}: it acts for agents, never for the user.",
        f"{_WHERE}, or with an operator token: `rook token new --role operator`.", attempt=DECIDE,
    )  # fmt: skip


def without_terminal(what: str) -> NotYours:
    return NotYours(
        f"Only the user may {what}, and this process has no terminal to tell that it is theirs.",
        "Run it in a terminal. Scripts and CI use an operator token (ROOK_TOKEN): `rook token new --role operator`.",
        code=NO_TERMINAL, attempt=DECIDE,
    )  # fmt: skip


def other_name(agent: str, asked: str) -> NotYours:
    me = f"This process belongs to {agent}" if agent else "This process belongs to an agent program without a name"
    if asked == names.PERSON:
        return NotYours(f"{me}; only the user can do this.", f"{_WHERE}.", attempt=OTHER_NAME)
    hint = "Leave out --as and ROOK_AGENT." if agent else "`rook join NAME` takes a name first."
    return NotYours(f"{me}; it can not act as {asked}.", hint, attempt=OTHER_NAME)


def second_name(agent: str, asked: str) -> NotYours:
    return NotYours(
        f"This program is {agent} and keeps that name; it can not join as {asked}.",
        "Go on as it is. Another agent is another program: `rook spawn`.", attempt=SECOND_NAME,
    )  # fmt: skip


def live_name(agent: str) -> NotYours:
    return NotYours(
        f"{agent} is here; the daemon's own token takes no name from a session that goes on.",
        f"Use that agent's own token: `rook token new --agent {agent}`, or join under another name.",
        attempt=OTHER_NAME,
    )  # fmt: skip


def left_behind(asked: str) -> NotYours:
    return NotYours(
        f"This process was started by an agent program that is gone; it can not join as {asked}.",
        "Start the agent program from a terminal that no agent opened.", attempt=OTHER_NAME,
    )  # fmt: skip


def not_human(asked: str) -> NotYours:
    return NotYours(
        f"This process belongs to an agent program; {asked} can not join as a person.",
        "Leave out --human. People join from a terminal of their own.", attempt=OTHER_NAME,
    )  # fmt: skip


def no_name() -> Refused:
    return Refused("This agent program has no name in the team yet.", "`rook join NAME` takes one.", code="WHO_ARE_YOU")


def unproven(what: str) -> NotYours:
    return NotYours(
        f"To {what}, a caller must be known by more than a name.",
        "Run it in your own terminal, inside the agent's program, or with that agent's token.",
        code=NO_TERMINAL, attempt=DECIDE,
    )  # fmt: skip


def daemon_only(verb: str) -> NotYours:
    return NotYours(f"{verb} is for the daemon's own services.", "`rook --help` lists the commands.", attempt=DECIDE)


def nameless_token(verb: str) -> NotYours:
    return NotYours(
        f"The daemon's own token is nobody: {verb} needs an agent.",
        "Name one (agentId, --as NAME), or use an operator token: `rook token new --role operator`.",
        attempt=OTHER_NAME,
    )  # fmt: skip
