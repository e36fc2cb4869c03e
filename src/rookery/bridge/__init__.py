"""Other systems' layouts, read and written: seed 004's mailbox folders and Python API, seed 002's audit log.

May touch: the verbs, through a client; `app`, to open a house of its own; files, through `runtime`. Invariant: nothing
is kept here. What another system calls a message is one delivery of the ledger, looked at anew each time.

    message.py    its data: Message, HandoffContext, the enumerations; a delivery as a Message
    mailbox.py    its API: MailboxManager, the singleton, the convenience functions (public as `rookery.mailbox`)
    audit.py      seed 002's audit log, as lines of JSON
    mailboxes.py  seed 004's files: `<folder>/<agent>/inbox/MSG-*.json` and `archive/`
"""
