"""The keeper: what a resident process does on its own. It delivers mail, watches over sessions, lands work.

May touch: the ledger through verbs of the client's port, the machine through `runtime`, agent programs through `hosts`.
It decides nothing that a verb or `core` could: it looks, asks `core` what that means, acts, and has a verb write down
what happened, afterwards. Nothing depends on it: whoever asks for mail gets it without a keeper.

    courier     the mail that waits, taken to whoever it is for, by the best way there is
    reaching    the agent program itself called: a message queued, a turn begun in a session that was
    supervisor  workers begun, watched, stopped, and their ends written down; `orders` says what each is started with,
                `metering` what it uses, `telling` how it is to readers outside, `tidying` puts old ones away
    reader      what agents' programs write down of their sessions, as evidence; `giving` hands it to the ledger
    monitor     sessions that died, are blocked, stuck or stalled, noticed and told
    crews       a step of each crew whenever one may be due
    notifying   people, told of what needs them
    listening   programs of others, called with what happened
    lander      finished work, merged, checked and taken to its branch
    terminals   the hand that types, and typing: when and only when that is safe
    calling     commands, webhooks and notifications that the user set up
    programs    a program that mail is handed to, run to its end
    letters     long messages as files                 proof   what shows that mail was seen
    services    the loop that every service runs in, and the registry of them; `blocking` threads for work that blocks
    bells       the bell in an event loop
"""
