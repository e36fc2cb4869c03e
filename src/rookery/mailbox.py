"""Seed 004's mailbox API on Rookery's ledger: `from rookery.mailbox import send_handoff, check_my_mailbox`.

docs/mailbox.md tells how its words map to Rookery's, and where the two differ.
"""

from rookery.bridge.mailbox import (
    HandoffContext,
    MailboxManager,
    Message,
    MessagePriority,
    MessageStatus,
    MessageType,
    broadcast_to_swarm,
    check_my_mailbox,
    get_mailbox_manager,
    send_handoff,
    send_message,
)

__all__ = [
    "HandoffContext",
    "MailboxManager",
    "Message",
    "MessagePriority",
    "MessageStatus",
    "MessageType",
    "broadcast_to_swarm",
    "check_my_mailbox",
    "get_mailbox_manager",
    "send_handoff",
    "send_message",
]
