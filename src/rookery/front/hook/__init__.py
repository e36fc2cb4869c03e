"""The door for agent programs' hooks: an event in, a decision out, the same for every program.

    answering.py   which moment it is, and what is asked of the ledger then
    guard.py       before a tool: may what it writes be written?
    targets.py     what it writes, as full paths, per working tree
    asking.py      the question whether these may be written, put to one team
    elsewhere.py   targets in other working trees than the event's: which teams are asked, and as whom
    failures.py    the decision failed: the policy answers (core.hook_failures)
    seen.py        what was known of the hook by then
    waiter.py      beside an idle program: a process that ends, with the mail, when there is some
    watch.py       after a command that did not tell what it writes, and after its turn: what became of others' files?

`hosts` reads the events and writes the answers; this room decides. It prints nothing but the answer, and no token.
"""
