"""The memory: rows that are true now, and the log of what happened, written together.

May touch: the database, nothing else. Knows no domain: it is given names of queries and runs them in transactions.
Invariant: a write transaction holds the team from its first statement; its clock is read after the lock; its event
numbers follow the last committed one without a gap; nothing of it is seen before commit, all of it after.

    port.py      what a store is: write, read, one, all, run
    sqlite.py    the embedded store (apsw)
    opening.py   the one connection factory: pragmas, busy handler, permissions, schema
    write_queue.py  who writes next, when many want to
    queries.py   loads the named statements and numbered migrations from sql/
    faults.py    named points where crash tests stop

A lease is fenced in the statement that writes; which refusal it was is for core to say.
"""
