"""The maildrop: a folder in which agents that can only write files put messages (docs/maildrop.md).

    matter.py   what a file says: YAML, read so that nothing but text comes of it
    box.py      one folder: what lies in it, which of it is whole, taken in or put aside
    watching.py all folders: one pass now, or again and again while things arrive

A file is taken in by the verb `drop` and moved after that committed, so a crash between the two leaves it to be taken
again under the same idempotency key: one message. A watcher only rings, as the bell does; what counts is the look.
"""
