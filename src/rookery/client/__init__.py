"""The voice: one `call(verb, args)`, in process here, over HTTP later; and the handles people program with.

May touch: the store and the bell through their ports. Invariant: a call returns after commit, and rings after it.

    port.py     what a client is            local.py    the verbs in this process
    waiting.py  wait for mail, follow the log            handles.py  Team, Agent, Message, Receipt
"""
