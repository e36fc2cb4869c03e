"""The keeper: what a resident process does on its own. It delivers mail and watches over sessions.

May touch: the ledger through verbs of the client's port, the machine through `runtime`, agent programs through `hosts`.
It decides nothing that a verb or `core` could: it looks, asks `core` what that means, acts, and has a verb write down
what happened, afterwards. Nothing depends on it: whoever asks for mail gets it without a keeper.

    courier     the mail that waits, taken to whoever it is for, by the best way there is
    monitor     sessions that died, are blocked, stuck or stalled, noticed and told
    typing      text put into a terminal, when and only when that is safe
"""
