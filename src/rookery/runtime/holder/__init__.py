"""The holder: a small process of its own in which one program has its terminal. It outlives whoever started it.

    starter ── python -m rookery.runtime.holder ── forks, and is gone
                     │ what to run, as JSON                 └─ the holder: its own session, `<folder>/<pid>.<chance>`
                     ▼                                          │ pty                    │ unix socket, 0600
              one line: where it is, or why not              the program           frames of JSON, then raw for a person

    program runs ──> ended: its exit code and last screen are kept ──> asked for, or `keep_s` later: the holder leaves,
                                                                       and its socket with it
    __main__    how it comes to be
    loop        what it does, one thing after the other; the requests
    program     the program and its pty
    lines       the connections, and what waits to be sent over them

Always: requests are done one after the other, so that the question where the cursor is and the typing are one step. The
program is read no faster than its output is understood, and a person who does not read is passed over and painted anew:
so memory is bounded, and neither can hold up the other. Only the same user is served. A connection is one request and
one answer; only `attach` makes it a person's, and `ended` may wait.
"""
