"""The words of the ledger. The 26 of the feed (seed 000) are what people follow; the others tell programs more."""

from . import names

MESH = ("join", "leave", "message", "reserve", "release")
DEVELOPMENT = ("commit", "test", "edit")
TASKS = (
    "task.start", "task.done", "task.block", "task.unblock", "task.reset",
    "task.delete", "task.split", "task.revise", "task.revise-tree",
)  # fmt: skip
PLANNING = (
    "plan.start", "plan.pass.start", "plan.pass.done", "plan.review.start",
    "plan.review.done", "plan.done", "plan.cancel", "plan.failed",
)  # fmt: skip
STATUS = ("stuck",)

# What happens to tasks besides; seed 000 has no word for these, people want to see them all the same.
TASKS_MORE = (
    "task.created",
    "task.assigned",
    "task.released",
    "task.failed",
    "task.canceled",
    "task.lapsed",
    "task.review",
)

# The guard besides `reserve` and `release`.
GUARD_MORE = ("reserve.lapsed", "reserve.transfer", "slot.take", "slot.give", "slot.lapsed")
# What was decided about the team, and what it may still use.
TEAM = ("team.set", "budget.set", "budget.near", "budget.spent", "authority.refused", "config.set")
# How sessions are, as whoever watches over them finds; `stuck` is one of the feed's own.
SESSIONS = (
    "session.died", "session.terminal-gone", "session.stopped", "session.blocked", "session.stalled", "session.well",
    "session.attached",
)  # fmt: skip

# Finished work on its way to the branch.
LANDING = ("land.queued", "land.started", "land.landed", "land.failed", "land.undone", "land.dropped", "land.waits",
           "land.undo-asked", "land.not-undone", "change.contested")  # fmt: skip

# Workers, from the request to the end of the last run.
WORKERS = (
    "worker.spawned", "worker.started", "worker.stop", "worker.lost", "worker.ended", "worker.respawn",
    "worker.deleted", "worker.asked", "worker.answered", "worker.done", "worker.failed",
    "crew.start", "crew.scale", "crew.stopping", "crew.finished", "crew.stopped", "crew.failed",
)  # fmt: skip

# Mail that nobody is woken for any more.
DELIVERY = ("mail.dead",)

FEED = (*MESH, *DEVELOPMENT, *TASKS, *PLANNING, *STATUS)
CREW = (*TASKS, *TASKS_MORE, *PLANNING, *LANDING)

# Told to programs that follow the ledger, too fine for the feed.
LEDGER = (
    "rename", "status", "mail.handed", "mail.read", "mail.processing", "mail.completed", "mail.failed", "mail.archived",
    "mail.expired", "mail.rerouted", "mail.seen", "mail.announced", "mail.resent", "mail.dropped", "delivery.opened",
    "delivery.closed", "usage", "reserve.wait", "slot.wait", "slot.set", "task.note", "thread.new", "thread.link",
    "inbox.open", "escalation.open", "escalation.closed", "spawn.requested", "route.warned", "swept", "imported",
    "token.new", "token.revoked", "artifact", "evidence", "evidence.pin", "worker.starting", "worker.recorded",
    "worker.progress", "worker.withdrew", "worker.nudged", "change",
)  # fmt: skip


def shown(*, crew_events: bool) -> tuple[str, ...]:
    """The types a feed shows."""
    known = (*FEED, *TASKS_MORE, *GUARD_MORE, *TEAM, *SESSIONS, *DELIVERY, *WORKERS, *LANDING)
    return known if crew_events else tuple(word for word in known if word not in CREW)


def concerns(actor: str, target: str, agent: str) -> bool:
    """Did this agent do it, or was it done to them?"""
    key = names.key(agent)
    return key in (names.key(actor), *(names.key(part.strip()) for part in target.split(",")))


def plain(type: str) -> str:
    """A type as seed 002 writes it: task_assigned."""
    return type.replace(".", "_").replace("-", "_")
