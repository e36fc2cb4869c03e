"""The voice: one `call(verb, args)`, in process or over HTTP; and the handles people program with.

May touch: the store and the bell through their ports, a daemon over HTTP. Invariant: a call returns after commit, and
rings after it.

    port.py     what a client is            deed.py     one call: checked, done, followed up
    local.py    the verbs in this process   queued.py   the same for a resident process: batches, quick reads
    http.py     the verbs of a daemon       placed.py   paths among the arguments, resolved where the caller stands
    waiting.py  wait for mail, follow the log            handles.py  Team, Agent, Message, Receipt
"""
