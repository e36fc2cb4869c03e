"""Other systems' layouts, read and written: seed 004's mailbox folders, and its Python API.

May touch: the verbs, through a client; `app`, to open a house of its own; files, through `runtime`. Invariant: nothing
is kept here. What another system calls a message is one delivery of the ledger, looked at anew each time.

    message.py    its data: Message, HandoffContext, the enumerations; a delivery as a Message
    mailbox.py    its API: MailboxManager, the singleton, the convenience functions (public as `rookery.mailbox`)
    mailboxes.py  its files: `<folder>/<agent>/inbox/MSG-*.json` and `archive/`
"""
