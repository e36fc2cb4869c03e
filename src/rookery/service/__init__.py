"""The deeds: every verb, once. A verb is one transaction: lock, clock, law, save; the bell rings after commit.

May touch: its `Tx` and nothing else, so that it can be run again. Rules come from core, statements by name from the
store. Invariant: a verb either changes the rows and appends the events that tell of it, or raises and leaves nothing.

    verbs.py    the table of verbs: every door is drawn from it
    admission.py who may, by the table and by a token       tokens.py   tokens of agents and readers
    tx.py       what a verb is given: the transaction, the clock, who calls, the settings
    mesh.py     join, leave, rename, status      presence.py  who, whois
    post.py     send, broadcast, reply, handoff  mailbox.py   inbox, read, ack, archive, thread, receipts, search
    drops.py    a message written as a file      features.py  lenses, routes; rounds.py: again and again
    delivery.py mail that goes to its reader     ways.py      by which ways, and how they stand
    crews.py    plans worked off by workers
    dead.py     mail that was given up           chasing.py   mail that got no answer
    workers.py  spawn, stop, respawn, show       supervising.py the same for their keeper: begin, started, ended
    kinds.py    kinds of workers                 policies.py what keeps one of them from writing
    spawning.py workers that messages ask for
    protocol.py progress, done, fail of workers  questions.py ask, answer
    tasks.py    add, list, show                  leases.py    claim, renew, release, done, fail, block, progress
    steering.py assign, cancel, reset, revise    reviews.py   SHIP, NEEDS_WORK, MAJOR_RETHINK
    plans.py    goals and graphs                 specs.py     claims in outside documents
    held.py     what a claim holds               unlocking.py what one task's fate means for others
    reserving.py reserve, release, transfer      slots.py     take, give, list, set
    holding.py  what both share: the line, lapses resources.py the paths of a claim
    nearby.py   what is reserved near a path     guard.py     can-write
    teams.py    what a team is                   budget.py    what it used, and may use
    limits.py   asked before a claim or a send   turns.py    an agent's turn, for hooks: offer, step, told, phase
    endpoints.py the ways to an agent            waiters.py  processes beside idle programs
    evidence.py what happened, kept and shown    finding.py  search in all of it
    artifacts.py shared outputs                  idempotency.py keys and the answers given under them
    records.py  what is kept of a worker's run   transcripts.py records of sessions, and how far they were read
    bundles.py  evidence saved for others        loading.py  what of it stands in an agent's context
    changes.py  what workers made                landing.py  the line of what lands; lander.py: for its keeper
    monitor.py  sessions that are not well         rerouting.py mail of one that is gone, to another of its role
    items.py    what needs somebody              docket.py   the queue of that, and one item's card
    verdicts.py a decision with its effect       decisions.py their log, and what nobody judged
    deliverables.py versions of results          results.py  whom a result is put before; rules.py: or nobody
    escalation.py, raising.py (its record), feed.py, health.py, upkeep.py (sweep, stats), exchange.py (export, import)
"""
