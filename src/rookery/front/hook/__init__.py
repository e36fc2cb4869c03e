"""The door for agent programs' hooks: an event in, a decision out, the same for every program.

    answering.py   which moment it is, and what is asked of the ledger then
    guard.py       before a tool: may what it writes be written?
    waiter.py      beside an idle program: a process that ends, with the mail, when there is some
    watch.py       after a command that did not tell what it writes: what became of others' files?

`hosts` reads the events and writes the answers; this room decides. It prints nothing but the answer, and no token.
"""
