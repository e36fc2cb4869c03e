"""The law: pure rules and types. No I/O, no clock, no chance: time and ids come in as arguments.

Invariant: the same arguments give the same verdict. A rule lives here once; SQL only fences what these modules decide.

                       ┌────────── expires ──────────┐
    delivery:  unread ─┴─ read ── processing ── completed ── archived
                  └────────┴───────────┴──── failed ─┘ (can be retried)
"""
