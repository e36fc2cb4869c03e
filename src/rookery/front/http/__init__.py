"""The door for programs: HTTP on the loopback, kept open by `rook up`.

May touch: the network, and the house through the queued client. Routes translate and call; no rule lives here.

    serve.py    the process: sockets, lock, runtime.json, signals, sweeper    daemon.py   what every request shares
    guard.py    Host, Origin and token before anything else is looked at      ask.py      a request, read and checked
    routes.py   every route in one table                                      tasks, threads, usage, resources: acts
    news.py     waiting for the bell on the event loop                        metrics.py, answer.py
    event_stream.py  the ledger as a stream or as pages, with event_pages.py, the thread that reads and encodes them
    openapi.py  the description, with shapes*.py (what verbs answer) and links.py (what can be asked next)
    mcp.py      the door for models, opened by the first of them; guests.py  who they are and how long they stay
    wire.py     one connection: how answers leave, when it is closed; admission.py  the limits, and who makes room

Invariants: an id from a URL is only ever a value in a query, never a path. A request is answered after the commit it
was judged in. Without the token nobody learns more than that a daemon of some version is here.
"""
