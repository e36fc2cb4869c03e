"""What the daemon's own token may do. Every process of the machine's user can read that token in `runtime.json`.

It exists for clients that name their agents (the pi-team contract). A caller inside an agent tree is that agent, with
this token too. For all others:

    CONTRACT   for any agent that is named, never `user`; what is written without a name is the system's
    TEAM       what shows the team to everybody and no one's mail; hooks of a session that nobody knows. A name that the
               token does not prove is left out
    SELF       what an agent does for itself. Only for an agent that nobody else vouches for (a guest), or if the caller
               runs below the process that the agent's session is bound to; never for a process that Linux does not tell

Verbs for the user, the leader, those who judge and the background services (`core.authority`) are refused, and verbs
for agents (the mark `agent`) are SELF. A verb with the mark `anyone` or without a mark stands in one of these lists; a
test says so.
"""

from rookery.core import authority
from rookery.core.errors import NotYours

CONTRACT = frozenset((
    "task.add", "task.list", "task.show", "task.claim", "task.renew", "task.release", "task.done", "task.fail",
    "task.block", "task.progress", "task.assign", "task.cancel", "task.unblock", "task.reset", "task.revise",
    "task.split", "task.delete", "thread.new", "thread.post", "thread.list", "thread.tail", "thread.search",
    "thread.link", "thread.about", "notices", "notices.open", "can-write", "team.new", "team.list", "team.show",
    "usage_report", "budget",
    "send", "broadcast", "handoff", "escalate", "drop", "plan.new", "artifacts.add", "sweep", "settle", "chase",
))  # fmt: skip
TEAM = frozenset((
    "who", "whois", "lenses", "escalations", "search", "task.claims", "plan.list", "plan.show", "plan.graph",
    "artifacts", "show", "artifacts.show", "bundle.candidates", "bundle.list", "bundle.show", "kinds", "kind.show",
    "deliverables", "decisions", "decisions.summary", "debt", "rule.list", "changes", "changes.show", "conflicts",
    "conflicts.bases", "land.list", "reservations", "slot.list", "turn.whose", "turn.workspaces", "turn.heard",
    "workers", "worker.show", "worker.self", "questions", "question.show", "docket", "card",
    "crew.list", "crew.status", "trust.look", "feed", "events", "health", "stats", "due",
    "turn.offer", "turn.step", "turn.others", "turn.idle",
))  # fmt: skip
SELF = frozenset((
    "join", "status", "reply", "inbox", "read", "ack", "archive", "thread", "receipts", "pending", "context", "letters",
    "spec.claim", "spec.done", "spec.release", "plan.cancel", "evidence.take", "bundle.save", "bundle.load",
    "bundle.unload", "bundle.consume", "bundle.delete", "load", "unload", "loaded", "expand",
    "reserve", "release", "transfer", "slot.take", "slot.give", "hold.look", "hold.take", "hold.renew",
    "turn.start", "turn.program",
    "wake", "dead", "dead.show", "dead.resend", "dead.drop", "spawn", "tell", "stop", "respawn", "delete",
    "progress", "ask", "done", "fail", "crew.run", "crew.scale", "crew.stop",
))  # fmt: skip

TAKES_NAME = ("join", "turn.start", "turn.program")  # judged by the name that they end up with

NEVER = (authority.USER, authority.LEADER, authority.JUDGE, authority.DAEMON)


def is_self(verb: str, who: str) -> bool:
    return verb in SELF or who == authority.AGENT


def not_proven(verb: str, agent: str) -> NotYours:
    """The token may name this agent in the contract, and may not be it."""
    return NotYours(
        f"The daemon's own token does not prove that {agent} calls `{verb.replace('.', ' ')}`.",
        f"Use that agent's own token: `rook token new --agent {agent}`. On the daemon's machine, run `rook` without"
        " ROOK_URL.", attempt=authority.OTHER_NAME,
    )  # fmt: skip
