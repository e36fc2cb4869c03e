"""The table of verbs. A verb stands here once; CLI, HTTP, MCP and the reference are drawn from this table.

Each line names a typed function `verb(tx, ...) -> result` in this room. Its arguments are read from its signature:
`Annotated[type, Arg(...)]` gives the help text, and how the command line writes it. Results are plain JSON values.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, cast, get_args, get_origin

from rookery.core import errors, names, text
from rookery.core.authority import AGENT, ANYONE, DAEMON, JUDGE, LEADER, USER
from rookery.core.record import NamedTuple

BIGGEST = (1 << 53) - 1


class Arg(NamedTuple):
    """How an argument is explained and written on a command line."""

    help: str
    flag: str = ""  # a short flag besides --name
    positional: bool = False
    choices: tuple[str, ...] = ()
    metavar: str = ""
    # "when", "past", "span", "json", "money": text that a door turns into the value; "paths", "patterns", "wild",
    # "document": files, resolved where the caller stands
    kind: str = ""
    hidden: bool = False  # not on the command line
    cleans: bool = False  # the verb makes text of whatever the objects hold; half characters are not refused


Ask = Callable[[str, Mapping[str, Any]], Any]  # a verb that only looks, and its arguments


class Parameter(NamedTuple):
    name: str
    type: Any
    arg: Arg
    required: bool
    default: Any


class Verb(NamedTuple):
    name: str
    place: str  # module.function in this room
    help: str
    writes: bool = True
    who: str = ""  # who may call it: a mark of `core.authority`. A verb that writes has one; a test says so
    # With an agent's token a verb acts as that agent, with a reader's only what does not write is done. Besides:
    acts_as: str = ""  # an argument that says who acts: it has to be the token's own agent
    by_token: bool = True  # can be called with an agent's or a viewer's token at all
    secret: bool = False  # its answer is told once and kept nowhere, so no idempotency key can bring it back
    before: str = ""  # module.function(world, args) -> args: what touches files goes before the transaction
    any_team: bool = False  # also in a team that is not the one of the caller's repository: what the user decides of it
    asks: bool = False  # and before(world, args, ask): what it touches, it asks the ledger first, as the same caller

    def load(self) -> Callable[..., Any]:
        return _load(self.place)

    def prepared(self, world: Any, args: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
        if not self.before:
            return args
        return _load(self.before)(world, args, ask) if self.asks else _load(self.before)(world, args)


def _load(place: str) -> Callable[..., Any]:
    module, _, function = place.partition(".")
    return getattr(_module(module), function)


@cache
def _module(name: str) -> ModuleType:
    return import_module(f"rookery.service.{name}")


TABLE: tuple[Verb, ...] = (
    # mesh
    Verb("join", "mesh.join", "Take a name in the team and be reachable under it", acts_as="name", who=ANYONE),
    Verb("leave", "mesh.leave", "End this session; mail keeps waiting for the name", who=AGENT),
    Verb("rename", "mesh.rename", "Change this agent's name; its mail follows", who=AGENT),
    Verb("status", "mesh.status", "Say what you are doing, or see how you are seen", who=ANYONE),
    Verb("heartbeat", "mesh.heartbeat", "Tell that this session lives", who=AGENT),
    Verb("activity", "mesh.activity", "Record an edit, a test run, a commit, a read or a tool call", who=AGENT),
    Verb("who", "presence.who", "Who is here, and how they are", writes=False),
    Verb("whois", "presence.whois", "Everything about one agent, and what you two last said", writes=False),
    # mail
    Verb("send", "post.send", "Send a message to one or more agents", who=ANYONE),
    Verb("broadcast", "post.broadcast", "Send one message to the whole team or a group", who=ANYONE),
    Verb("reply", "post.reply", "Answer a message in its thread", who=ANYONE),
    Verb("handoff", "post.handoff", "Pass work on with its context", who=ANYONE),
    Verb("drop", "drops.take", "Take in a message that was written as a file", by_token=False, who=ANYONE),
    Verb("lenses", "features.lenses", "Perspectives that a message can ask for", writes=False),
    Verb("escalate", "escalation.escalate", "Put a problem before the leader or the person", who=ANYONE),
    Verb("escalations", "escalation.listed", "Escalations, open ones first", writes=False),
    Verb("inbox", "mailbox.inbox", "What waits for you, most urgent first", writes=False),
    Verb("read", "mailbox.read", "Show a message and mark it read", who=ANYONE),
    Verb("ack", "mailbox.ack", "Acknowledge messages: completed, processing or failed", who=ANYONE),
    Verb("archive", "mailbox.archive", "Put away messages that are dealt with", who=ANYONE),
    Verb("thread", "mailbox.thread", "A conversation from its first message on", writes=False),
    Verb("receipts", "mailbox.receipts", "What became of a message in every mailbox", writes=False),
    Verb("pending", "mailbox.pending", "How much unread mail waits, by priority", writes=False),
    Verb("context", "mailbox.context", "Waiting mail as text for an agent's prompt", writes=False),
    Verb("search", "finding.search", "Find artifacts, messages, tasks and decisions by their words", writes=False),
    # tasks
    Verb("task.add", "tasks.add", "Add a task to the team's list", who=ANYONE),
    Verb("task.list", "tasks.listed", "Tasks in the order they were made", writes=False),
    Verb("task.show", "tasks.show", "Everything about one task", writes=False),
    Verb("task.claim", "leases.claim", "Take a task: exactly one holds it", who=ANYONE),
    Verb("task.renew", "leases.renew", "Keep a task for longer", who=ANYONE),
    Verb("task.release", "leases.release", "Give a task back", who=ANYONE),
    Verb("task.done", "leases.done", "Complete a task you hold, with evidence", who=ANYONE),
    Verb("task.fail", "leases.fail", "Give up a task you hold, and say why", who=ANYONE),
    Verb("task.block", "leases.block", "Say what is in the way; the lease ends", who=ANYONE),
    Verb("task.progress", "leases.progress", "Add a note to a task you hold", who=ANYONE),
    Verb("task.assign", "steering.assign", "Keep a task for one agent", who=ANYONE),
    Verb("task.cancel", "steering.cancel", "Cancel a task, alone or with what waits for it", who=ANYONE),
    Verb("task.unblock", "steering.unblock", "Open a task that someone blocked", who=ANYONE),
    Verb("task.reset", "steering.reset", "Back to the start, alone or with what waits for it", who=ANYONE),
    Verb("task.revise", "steering.revise", "Change what a task says or waits for", who=ANYONE),
    Verb("task.split", "steering.split", "Make parts of a task; it completes when they do", who=ANYONE),
    Verb("task.delete", "steering.delete", "Remove a task that nothing waits for", who=ANYONE),
    Verb("task.review", "reviews.review", "Judge a completed task: SHIP, NEEDS_WORK or MAJOR_RETHINK", who=JUDGE),
    Verb("task.claims", "specs.listed", "Claims and completions in outside documents", writes=False),
    Verb("spec.claim", "specs.claim", "Claim an item of an outside document", who=ANYONE),
    Verb("spec.done", "specs.complete", "Complete an item of an outside document", who=ANYONE),
    Verb("spec.release", "specs.give_back", "Give back an item of an outside document", who=ANYONE),
    Verb("plan.new", "plans.new", "Start a plan: a goal and its tasks", who=ANYONE),
    Verb("plan.list", "plans.listed", "Plans and how far they are", writes=False),
    Verb("plan.show", "plans.show", "A plan's tasks, what is ready, the critical path", writes=False),
    Verb("plan.graph", "plans.drawn", "A plan as text, Mermaid or SVG", writes=False),
    Verb("plan.cancel", "plans.cancel", "Cancel a plan and its open tasks", who=ANYONE),
    # discussions
    Verb("thread.new", "threads.new", "Start a discussion", who=ANYONE),
    Verb("thread.post", "threads.say", "Say something in a discussion", who=ANYONE),
    Verb("thread.list", "threads.listed", "Discussions, newest first", writes=False),
    Verb("thread.tail", "threads.tail", "The end of a discussion", writes=False),
    Verb("thread.search", "threads.search", "Find what was said in discussions", writes=False),
    Verb("thread.about", "threads.about", "Find discussions by title, task, participant or words", writes=False),
    Verb("thread.link", "threads.link", "Tie a discussion to a task", who=ANYONE),
    # evidence, and shared outputs
    Verb("artifacts", "evidence.listed", "What happened and what was shared, newest first", writes=False),
    Verb("show", "evidence.show", "One artifact, with its text", writes=False),
    Verb("pin", "evidence.pin", "Keep artifacts, however many come after them", who=LEADER),
    Verb("unpin", "evidence.unpin", "Let pinned artifacts go with the others", who=LEADER),
    Verb("evidence.take", "evidence.take", "Take in what happened: commands, edits, errors, answers", acts_as="agent",
         before="evidence.shelve", who=ANYONE),
    Verb("artifacts.add", "artifacts.add", "Share a patch, a summary or another file", before="artifacts.shelve",
         who=ANYONE),
    Verb("artifacts.show", "artifacts.show", "What was shared, with its content", writes=False),
    # bundles of evidence, and what is loaded into an agent's context
    Verb("bundle.candidates", "bundles.candidates", "What would go into a bundle", writes=False),
    Verb("bundle.save", "bundles.save", "Save evidence as a bundle for whoever goes on with it", who=ANYONE),
    Verb("bundle.list", "bundles.listed", "Bundles, newest first", writes=False),
    Verb("bundle.show", "bundles.show", "All of a bundle", writes=False),
    Verb("bundle.load", "loading.load_bundle", "Put a bundle into an agent's context, a line for each item",
         who=ANYONE),
    Verb("bundle.unload", "loading.unload_bundle", "Take a bundle out of an agent's context", who=ANYONE),
    Verb("bundle.consume", "bundles.consume", "Mark a bundle as used up: it goes when it is old", who=ANYONE),
    Verb("bundle.delete", "bundles.delete", "Delete a bundle", who=ANYONE),
    Verb("load", "loading.load_worker", "Put a worker's result into an agent's context, a line for each item",
         who=ANYONE),
    Verb("unload", "loading.unload_worker", "Take a worker's result out of an agent's context", who=ANYONE),
    Verb("loaded", "loading.loaded", "What stands in an agent's context as references", writes=False),
    Verb("expand", "loading.expand", "All that stands behind a reference", who=ANYONE),
    # kinds of workers
    Verb("kinds", "kinds.listed", "Kinds of workers, and where each comes from", writes=False),
    Verb("kind.show", "kinds.show", "All of a kind: what binds its workers, and what they are told", writes=False),
    Verb("kind.add", "kinds.add", "Register a kind for this team", who=USER),
    Verb("kind.drop", "kinds.drop", "Take a registered kind back", who=USER),
    # the docket
    Verb("docket", "docket.queue", "What needs you, in order, and what happens if you do nothing", writes=False),
    Verb("card", "docket.card", "All that is needed to decide about one item", writes=False),
    Verb("docket.pin", "docket.pin", "Put an item before all others", who=LEADER),
    Verb("verdict", "verdicts.verdict", "Decide about exactly what you looked at", who=JUDGE),
    Verb("deliverables", "deliverables.listed", "Results of workers, each a version that never changes", writes=False),
    Verb("decisions", "decisions.listed", "What was decided, by whom and on what, newest first", writes=False),
    Verb("decisions.summary", "decisions.summary", "Decisions over a window: how many, by whom, how quickly",
         writes=False),
    Verb("debt", "decisions.debt", "Results that were put away before anybody judged them", writes=False),
    Verb("rule.add", "rules.add", "Let results that match be promoted without a person", who=USER),
    Verb("rule.list", "rules.listed", "What is decided without a person", writes=False),
    Verb("rule.remove", "rules.remove", "Have a person decide again", who=USER),
    # what workers made, and how it gets onto the branch
    Verb("changes", "changes.listed", "Change sets of workers, newest first", writes=False),
    Verb("changes.show", "changes.show", "A change set: its commits, files and checks", writes=False),
    Verb("conflicts", "conflicts.listed", "Change sets that come close to each other, and how close", writes=False),
    Verb("conflicts.bases", "conflicts.bases", "Where the change sets of others begin", writes=False),
    Verb("land.list", "landing.listed", "What lands, landed or failed to, newest first", writes=False),
    Verb("land.add", "landing.add", "Put a change set in line to land on its branch", who=USER),
    Verb("land.retry", "landing.retry", "Try again to land what failed", who=USER),
    Verb("land.undo", "landing.undo", "Take back what landed, by a commit of its own", who=USER),
    Verb("land.drop", "landing.drop", "Take a landing out of the line", who=USER),
    # landing, for keepers
    Verb("land.teams", "lander.teams", "Teams in which something waits to land here", writes=False, who=DAEMON),
    Verb("land.due", "lander.due", "Branches on which something can land now", writes=False, who=DAEMON),
    Verb("land.take", "lander.take", "Be the one that lands on a branch", who=DAEMON),
    Verb("land.keep", "lander.keep", "Go on landing", who=DAEMON),
    Verb("land.checked", "lander.checked", "A check was run on what would land",
         before="lander.shelve", who=DAEMON),
    Verb("land.moving", "lander.moving", "What the branch is about to become", who=DAEMON),
    Verb("land.waits", "lander.waits", "The branch can not be moved yet", who=DAEMON),
    Verb("land.again", "lander.again", "Back into the line", who=DAEMON),
    Verb("land.done", "lander.done", "The branch has moved", who=DAEMON),
    Verb("land.failed", "lander.failed", "It can not land as it is", who=DAEMON),
    # guard
    Verb("reserve", "reserving.reserve", "Keep files or folders for yourself, or share them", who=ANYONE),
    Verb("release", "reserving.release", "Give reserved paths back", who=ANYONE),
    Verb("transfer", "reserving.transfer", "Pass what you reserved to another agent, with a handoff", who=ANYONE),
    Verb("reservations", "reserving.listed", "Who has which paths, and who waits for them", writes=False),
    Verb("can-write", "guard.can_write", "May these paths be written?", writes=False),
    Verb("slot.take", "slots.take", "Take one of a limited thing: a build, a port, a database", who=ANYONE),
    Verb("slot.give", "slots.give", "Give a slot back", who=ANYONE),
    Verb("slot.list", "slots.listed", "Slots, who has them and who waits", writes=False),
    Verb("slot.set", "slots.put", "Say how many of a thing there are", who=LEADER),
    Verb("hold.look", "reserving.look", "How a request in line stands", writes=False),
    Verb("hold.take", "reserving.take", "Take what was waited for, or keep the place in line", who=ANYONE),
    Verb("hold.renew", "reserving.renew", "Keep what is held for longer", who=ANYONE),
    # an agent's turn, for hooks
    Verb("turn.start", "turns.start", "A session of an agent program begins or goes on", acts_as="name", who=ANYONE),
    Verb("turn.program", "turns.program", "An agent program was seen: what runs below it acts as its agent",
         by_token=False, who=ANYONE),
    Verb("turn.whose", "turns.whose", "Which agent a session of an agent program is", writes=False),
    Verb("turn.offer", "turns.offer", "What to put before an agent at this moment", writes=False),
    Verb("turn.step", "turns.step", "A tool was used; what waits is offered", who=ANYONE),
    Verb("turn.others", "guard.others", "What others hold where the caller works", writes=False),
    Verb("turn.workspaces", "guard.workspaces", "Working trees of any team that paths lie in", writes=False,
         by_token=False),
    Verb("turn.watch", "watching.watch", "How others' files look before a command", who=AGENT),
    Verb("turn.changed", "watching.changed", "How they look after it; what changed is told to both sides", who=AGENT),
    Verb("turn.told", "turns.told", "Mail was put before an agent", who=AGENT),
    Verb("turn.phase", "turns.enter", "Where an agent's program is: busy, idle, or blocked on a dialog", who=AGENT),
    Verb("turn.wait", "waiters.wait", "A process waits beside an idle agent, or no longer", who=AGENT),
    Verb("turn.idle", "waiters.idle", "What to wake an idle agent with, for such a process", writes=False),
    Verb("turn.heard", "heard.by_host", "When each agent program's hooks were last heard of", writes=False),
    # delivery, for keepers
    Verb("delivery.due", "delivery.due", "What can be handed over now", writes=False, who=DAEMON),
    Verb("delivery.phase", "delivery.phase", "How a session is, as its hooks told", writes=False, who=DAEMON),
    Verb("delivery.offer", "delivery.offer", "The text to hand over", writes=False, who=DAEMON),
    Verb("delivery.letter", "delivery.letter", "A message whole, as a file", writes=False, who=DAEMON),
    Verb("delivery.seen", "delivery.seen", "An agent's own record shows that it was given mail", who=DAEMON),
    Verb("delivery.own", "delivery.own", "Be the one that delivers to an agent", who=DAEMON),
    Verb("delivery.leave", "delivery.leave", "Let another deliver", who=DAEMON),
    Verb("delivery.teams", "delivery.teams", "Teams in which anyone can be reached", writes=False, who=DAEMON),
    Verb("delivery.done", "delivery.done", "Mail was handed over", who=DAEMON),
    Verb("delivery.failed", "delivery.failed", "Mail could not be handed over", who=DAEMON),
    Verb("delivery.ways", "delivery.ways", "Ways to agents that the settings give", who=DAEMON),
    # sessions, for keepers
    Verb("monitor.teams", "monitor.teams", "Teams with a session of this machine", writes=False, who=DAEMON),
    Verb("monitor.sessions", "monitor.sessions", "Sessions of this machine to look at", writes=False, who=DAEMON),
    Verb("monitor.news", "monitor.news", "Whether what was seen says anything new", writes=False, who=DAEMON),
    Verb("monitor.report", "monitor.report", "Write down and tell how sessions are", who=DAEMON),
    # what agent programs write down of their sessions, for keepers
    Verb("transcripts.teams", "transcripts.teams", "Teams with a record to read on", writes=False, who=DAEMON),
    Verb("transcripts.due", "transcripts.due", "Records of sessions of this machine", writes=False, who=DAEMON),
    Verb("transcripts.read", "transcripts.read", "How far a record was read", who=DAEMON),
    # telling people, for keepers
    Verb("notify.teams", "notifying.teams", "Where a person was not told of what needs them", writes=False, who=DAEMON),
    Verb("notify.take", "notifying.take", "Be the one that tells a person what needs them", who=DAEMON),
    Verb("notify.done", "notifying.done", "A person was told", who=DAEMON),
    Verb("notify.failed", "notifying.failed", "A person could not be told", who=DAEMON),
    Verb("wake", "delivery.wake", "Try at once to reach an agent for which mail waits", who=ANYONE),
    Verb("dead", "dead.listed", "Mail that could not be delivered", writes=False),
    Verb("dead.show", "dead.show", "What was tried for a dead letter", writes=False),
    Verb("dead.resend", "dead.resend", "Try again to deliver a dead letter", who=ANYONE),
    Verb("dead.drop", "dead.drop", "Let a dead letter be", who=ANYONE),
    # workers
    Verb("spawn", "workers.spawn", "Start a worker: an agent program of its own for a task", who=ANYONE),
    Verb("workers", "workers.listed", "Workers, and how they are", writes=False),
    Verb("worker.show", "workers.show", "Everything about one worker", writes=False),
    Verb("worker.attach", "upkeep.allow_whole", "Whether you may type into the terminals of workers",
         writes=False, who=USER),
    Verb("tell", "workers.tell", "Say something to a worker", who=ANYONE),
    Verb("stop", "workers.stop", "Have a worker wrap up and end", who=ANYONE),
    Verb("respawn", "workers.respawn", "Start a worker's program anew", who=ANYONE),
    Verb("delete", "workers.delete", "Forget a worker that is over", who=ANYONE),
    # what a worker says of its work
    Verb("worker.self", "protocol.who_am_i", "The worker that the caller is, if it is one", writes=False),
    Verb("progress", "protocol.progress", "Show how far you are: your steps, up to 12", who=ANYONE),
    Verb("ask", "questions.ask", "Put a question before whoever started you, and wait", who=ANYONE),
    Verb("answer", "questions.answer", "Answer a worker's question, or decide about its plan", who=JUDGE),
    Verb("questions", "questions.listed", "Questions of workers that wait for an answer", writes=False),
    Verb("question.show", "questions.show", "One question, and its answer", writes=False),
    Verb("done", "protocol.done", "Report your result: an outcome, a summary, and evidence that can be looked up",
         before="protocol.gathered", asks=True, who=ANYONE),
    Verb("fail", "protocol.fail", "Report that you can not go on, and why", who=ANYONE),
    # crews
    Verb("crew.run", "crews.run", "Work off a plan with a crew of workers", who=ANYONE),
    Verb("crew.list", "crews.listed", "Crews, and how far they are", writes=False),
    Verb("crew.status", "crews.status", "How far a crew is, and who works on what", writes=False),
    Verb("crew.scale", "crews.scale", "Change how many of a crew work at once", who=ANYONE),
    Verb("crew.stop", "crews.stop", "Have a crew wrap up", who=ANYONE),
    Verb("crew.teams", "crews.teams", "Teams with a crew on this machine", writes=False, who=DAEMON),
    Verb("crew.due", "crews.due", "Crews for which there is something to do", writes=False, who=DAEMON),
    Verb("crew.step", "crews.step", "Do what is due for a crew", who=DAEMON),
    Verb("crew.give", "crews.give", "A waiting worker is given a task", who=DAEMON),
    # workers, for keepers
    Verb("worker.teams", "supervising.teams", "Teams with a worker on this machine", writes=False, who=DAEMON),
    Verb("worker.due", "supervising.due", "Workers to begin, and those to look at", writes=False, who=DAEMON),
    Verb("worker.begin", "supervising.begin", "A run of a worker is about to be started", secret=True, who=DAEMON),
    Verb("worker.started", "supervising.started", "The program of a worker runs", who=DAEMON),
    Verb("worker.beat", "supervising.beat", "Workers were seen running", who=DAEMON),
    Verb("worker.used", "supervising.used", "What a run of a worker has used so far", who=DAEMON),
    Verb("worker.stopping", "supervising.stopping", "A worker is being stopped", who=DAEMON),
    Verb("worker.ended", "supervising.ended", "The program of a worker is over", who=DAEMON),
    Verb("worker.record", "records.record", "Keep what a run of a worker was told and said",
         before="records.shelve", who=DAEMON),
    Verb("worker.down", "supervising.down", "All workers of this machine are to stop", who=DAEMON),
    Verb("worker.left", "supervising.left", "What of old workers may be put away", writes=False, who=DAEMON),
    Verb("worker.evict", "supervising.evict", "Workers that are over leave the list", who=DAEMON),
    Verb("worker.forget", "supervising.forget", "The files of an old worker are gone", who=DAEMON),
    Verb("worker.keep", "supervising.keep", "The worktree of an old worker stays, and why", who=DAEMON),
    Verb("worker.trees", "reclaiming.done_with", "Worktrees of old workers that nobody needs", writes=False,
         who=DAEMON),
    Verb("worker.away", "reclaiming.hold", "Hold a worker while its files are taken away", who=DAEMON),
    Verb("worker.reclaim", "reclaiming.reclaim", "The worktree of an old worker goes", who=DAEMON),
    # teams
    Verb("team.list", "teams.listed", "Every team of this store", writes=False),
    Verb("team.show", "teams.show", "A team and who belongs to it", writes=False),
    Verb("team.new", "teams.make", "Make a team, with the agents known from the start", by_token=False, who=ANYONE),
    Verb("team.set", "teams.define", "Say who belongs to the team, who leads, and what it may use", who=USER),
    # tokens
    Verb("token.new", "tokens.new", "Make a token for an agent or a reader; it is shown once", secret=True, who=USER),
    Verb("token.list", "tokens.listed", "Tokens that are good", writes=False, who=LEADER, by_token=False),
    Verb("token.revoke", "tokens.revoke", "End a token now, wherever it is in use", who=USER),
    # settings of the store itself
    Verb("config.set", "stored_settings.put", "Change a setting that only the user may change", who=USER),
    # what a repository asks for
    Verb("trust.look", "ownership.look", "What a repository asks for and may not set by itself", writes=False,
         any_team=True, by_token=False),
    Verb("trust.accept", "ownership.accept", "Let a repository have what it asks for", any_team=True, who=USER),
    Verb("trust.revoke", "ownership.revoke", "Take back what a repository was trusted with", any_team=True,
         who=USER),
    # budgets
    Verb("budget", "budget.show", "What was used, against what may be used", writes=False),
    Verb("budget.set", "budget.set_limits", "Limit what the team, an agent or a task may use", who=USER),
    Verb("usage_report", "budget.report", "Tell what a model has used, for whom and for what", who=ANYONE),
    # the log
    Verb("notices", "notices.notices", "What an agent should know of, after a cursor", writes=False),
    Verb("notices.open", "notices.open_inbox", "Be told of all tasks from now on, as pi-team's inbox does", who=ANYONE),
    Verb("feed", "feed.feed", "What happened lately, for people", writes=False),
    Verb("events", "feed.events", "The ledger after a cursor, for programs", writes=False),
    # upkeep
    Verb("health", "health.health", "Is everything well, and if not, what to do", writes=False,
         before="health.look_around"),
    Verb("stats", "upkeep.stats", "How much mail, by whom, of which kind", writes=False),
    Verb("sweep", "upkeep.sweep", "Write down what expired and let go of what is past retention",
         before="upkeep.old_files", who=ANYONE),
    Verb("due", "settling.due", "What a resident process should see to", writes=False),
    Verb("settle", "settling.settle", "Settle leases that ran out", who=ANYONE),
    Verb("chase", "chasing.chase", "Put mail that got no answer before whoever leads", who=ANYONE),
    Verb("export_mail", "exchange.export_mail", "Deliveries in order, for an export", writes=False, who=USER),
    Verb("letters", "exchange.letters", "Your own deliveries, sent and received, by message or conversation",
         writes=False),
    Verb("store.backup", "upkeep.allow_whole", "Whether you may copy the whole store, every mailbox included",
         writes=False, who=USER),
    Verb("daemon.stop", "upkeep.allow_whole", "Whether you may stop the daemon, and with it what it does for all",
         writes=False, who=USER),
    Verb("import_mail", "exchange.import_mail", "Take in messages that were exported", who=USER),
)  # fmt: skip

VERBS: Mapping[str, Verb] = {verb.name: verb for verb in TABLE}


def find(name: str) -> Verb:
    if name not in VERBS:
        hint = names.did_you_mean(name, VERBS) or f"Known: {', '.join(VERBS)}."
        raise errors.UnknownName(f"There is no verb {text.quoted(name)}.", hint, code="UNKNOWN_VERB")
    return VERBS[name]


@cache
def parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The arguments of a verb after `tx`, from its signature (read by hand: `inspect` is slow to import)."""
    code = function.__code__
    positional = code.co_varnames[1 : code.co_argcount]
    keyword = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    defaults: dict[str, Any] = dict(function.__kwdefaults__ or {})
    given: tuple[Any, ...] = function.__defaults__ or ()
    defaults.update(zip(positional[len(positional) - len(given) :], given, strict=True))
    found: list[Parameter] = []
    for name in (*positional, *keyword):
        hint = function.__annotations__[name]
        kind, arg = get_args(hint)[:2] if hasattr(hint, "__metadata__") else (hint, Arg(""))
        found.append(Parameter(name, kind, arg, name not in defaults, defaults.get(name)))
    return tuple(found)


@cache
def _by_name(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    return {p.name: p for p in parameters(function)}


@cache
def _required(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(p.name for p in parameters(function) if p.required)


def check(function: Callable[..., Any], args: Mapping[str, Any]) -> None:
    """Refuse unknown, missing and wrongly typed arguments with a sentence, whichever door they came through."""
    known = _by_name(function)
    for name, value in args.items():
        if name not in known:
            hint = names.did_you_mean(name, known) or f"It takes {', '.join(known) or 'none'}."
            raise errors.BadInput(f"There is no argument {text.quoted(name)}.", hint)
        if not fits(value, known[name].type):
            raise errors.BadInput(
                f"{name} has the wrong type: {type(value).__name__}.", f"Expected {_told(known[name].type)}."
            )
        if not known[name].arg.cleans:
            _check_value(value, name)
    missing = [name for name in _required(function) if name not in args]
    if missing:
        raise errors.BadInput(f"Missing: {', '.join(missing)}.", "Give every argument that has no default.")


def _check_value(value: Any, name: str) -> None:
    """What no store could hold would otherwise fail deep inside, without a sentence. (Objects are checked as JSON.)"""
    if isinstance(value, str):
        text.check_text(value, f"the argument {name}")
    elif isinstance(value, int) and not -BIGGEST <= value <= BIGGEST:
        raise errors.BadInput(f"{name} is too large a number.", "Whole numbers have at most 53 bits, as in JSON.")
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            _check_value(each, name)
    elif isinstance(value, dict):
        _check_characters(value, name)


def _check_characters(value: Any, name: str) -> None:
    """Refuse half of a surrogate pair at any depth; whatever else an object holds is judged as JSON."""
    todo: list[Any] = [value]
    known: set[int] = set()  # a caller in this process can give an object that holds itself
    while todo:  # not by recursion: how deep it is, nobody has checked yet
        value = todo.pop()
        if isinstance(value, str):
            text.check_characters(value, f"the argument {name}")
        elif isinstance(value, (dict, list)) and id(cast("object", value)) not in known:
            known.add(id(cast("object", value)))
            if isinstance(value, dict):
                todo += (each for item in cast("dict[Any, Any]", value).items() for each in item)
            else:
                todo += cast("list[Any]", value)


def fits(value: Any, kind: Any) -> bool:
    """Is this JSON value of that type?"""
    if type(value) is kind:  # the usual case, and quick
        return True
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is list:
        return isinstance(value, list) and all(fits(v, inner[0]) for v in value)  # pyright: ignore[reportUnknownVariableType]
    if origin is dict:
        return isinstance(value, dict)
    if inner:  # a union
        return any(fits(value, k) for k in inner)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is type(None) or kind is None:
        return value is None
    return isinstance(value, kind)


def _told(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind)) if not get_args(kind) else str(kind)
