"""The mailbox API of the agent mailbox design, made of Rookery's verbs. Public as `rookery.mailbox`.

Names and signatures are the design's; docs/mailbox.md lists the answers that differ, and why. Outside every agent tree
a message id is enough to read, mark and answer, and any sender but `user` may be named. Inside one the caller is that
agent. An address exists from its first use on. Nothing is cached: each call reads the ledger.
"""

import logging
import os
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

from rookery.app import House, open_house
from rookery.core import errors, names, text
from rookery.core.caller import Origin
from rookery.runtime import lineage, process, trees
from rookery.service.exchange import NO_SUBJECT

from .message import (
    HandoffContext,
    Message,
    MessagePriority,
    MessageStatus,
    MessageType,
    milliseconds,
    of_card,
)

__all__ = [
    "HandoffContext", "MailboxManager", "Message", "MessagePriority", "MessageStatus", "MessageType",
    "broadcast_to_swarm", "check_my_mailbox", "get_mailbox_manager", "send_handoff", "send_message",
]  # fmt: skip

logger = logging.getLogger(__name__)

HOME = ".rookery"
TEAM = "mailboxes"
PAGE = 500
BROADCAST = "broadcast:"
COUNTED = ("urgent", "high", "normal", "low", "total")
Card = dict[str, Any]


class MailboxManager:
    """The mailboxes of a folder; without a folder those of this repository's team, which `rook inbox` shows too."""

    def __init__(self, mailboxes_dir: Path | None = None) -> None:
        self._ledger = _Ledger(None if mailboxes_dir is None else os.path.abspath(mailboxes_dir))
        self.mailboxes_dir = Path(self._ledger.folder)

    def close(self) -> None:
        """Close the store. An addition to the design; a program that ends need not call it."""
        self._ledger.close()

    # -- sending -----------------------------------------------------------------------------------------------

    def send(
        self,
        from_agent: str,
        to_agent: str,
        subject: str,
        body: str,
        message_type: MessageType = MessageType.REQUEST,
        priority: MessagePriority = MessagePriority.NORMAL,
        payload: dict[str, Any] | None = None,
        context: dict[str, Any] | None = None,
        swarm_name: str | None = None,
        reply_to: str | None = None,
        thread_id: str | None = None,
        expires_at: datetime | None = None,
        attachments: list[str] | None = None,
        tags: list[str] | None = None,
    ) -> Message:
        """Deliver a message to one address, or with `broadcast:SWARM` a copy to each member of a swarm.

        A broadcast returns the message as sent; each copy has an id of its own.
        """
        is_broadcast = to_agent.startswith(BROADCAST)
        group = to_agent.removeprefix(BROADCAST) if is_broadcast else swarm_name
        sent = self._send_as(
            from_agent, "send", to=[to_agent], subject=subject.strip() or NO_SUBJECT, body=body,
            type=message_type.value, priority=priority.name.lower(), group=group or "",
            tags=[*(tags or []), "broadcast"] if is_broadcast else tags or [],
            **_options(payload, context, reply_to, thread_id, expires_at, attachments),
        )  # fmt: skip
        return self._message(sent["id"], is_broadcast=is_broadcast)

    def handoff(
        self,
        from_agent: str,
        to_agent: str,
        subject: str,
        handoff_context: HandoffContext,
        priority: MessagePriority = MessagePriority.NORMAL,
        swarm_name: str | None = None,
        additional_notes: str = "",
    ) -> Message:
        """Send a handoff: its context as text in the body and as data in `context`, its files as attachments."""
        files = [*handoff_context.files_modified, *handoff_context.files_created]
        return self.send(
            from_agent, to_agent, subject, handoff_context.body(from_agent, to_agent, additional_notes),
            MessageType.HANDOFF, priority, context=handoff_context.to_dict(), swarm_name=swarm_name,
            attachments=files, tags=["handoff"],
        )  # fmt: skip

    def broadcast(
        self,
        from_agent: str,
        swarm_name: str,
        subject: str,
        body: str,
        message_type: MessageType = MessageType.NOTIFICATION,
        priority: MessagePriority = MessagePriority.NORMAL,
        exclude: list[str] | None = None,
        **kwargs: Any,
    ) -> list[Message]:
        """Send every member of a swarm a message of its own, in one transaction. The sender and `exclude` get none."""
        if not _is_name(swarm_name):
            _check_sender(from_agent)
            return []  # no swarm can have that name
        sent = self._send_as(
            from_agent, "broadcast", group=swarm_name, subject=subject.strip() or NO_SUBJECT, body=body,
            type=message_type.value, priority=priority.name.lower(), exclude=exclude or [],
            tags=["broadcast", f"swarm:{swarm_name}"], separate=True, **_options(**kwargs),
        )  # fmt: skip
        return [self._message(each["id"]) for each in sent["messages"]]

    def reply(
        self,
        original_message_id: str,
        from_agent: str,
        body: str,
        payload: dict[str, Any] | None = None,
    ) -> Message | None:
        """Answer the sender of a message in its thread, with its priority. None if there is no such message."""
        delivery = self._delivery(original_message_id)
        if delivery is None and self._as_sent(original_message_id) is None:
            logger.warning("No message %s to reply to.", text.quoted(original_message_id))
            return None
        id = delivery["id"] if delivery else original_message_id
        sent = self._send_as(from_agent, "reply", id=id, body=body, payload=payload or {}, mark_read=False)
        return self._message(sent["id"])

    # -- reading -----------------------------------------------------------------------------------------------

    def check_mailbox(
        self,
        agent_name: str,
        unread_only: bool = True,
        message_types: list[MessageType] | None = None,
        min_priority: MessagePriority | None = None,
    ) -> list[Message]:
        """Every matching message that has not expired, most urgent first, then oldest first."""
        if not _is_address(agent_name):
            return []  # nothing can be sent to it
        filters: dict[str, Any] = {
            "all": not unread_only, "types": [each.value for each in message_types or []], "limit": PAGE, "whole": True,
            "priority": (min_priority or MessagePriority.LOW).name.lower(),
        }  # fmt: skip
        found: list[Message] = []
        page, has_more = None, True
        while has_more:
            box = self._ledger.call("inbox", agent_name, **filters, page=page)
            found += [of_card(card, box["agent"]) for card in box["messages"] if card["state"] != "expired"]
            page, has_more = box["next"], box["next"] is not None
        return sorted(found, key=lambda message: (-message.priority.value, message.created_at))

    def read_message(self, message_id: str) -> Message | None:
        """The message; it counts as read from now on. None if there is no such message."""
        delivery = self._delivery(message_id)
        if delivery is None:
            return self._as_sent(message_id)
        recipient = delivery["recipient"]
        return of_card(self._ledger.call("read", recipient, id=delivery["id"]), recipient)

    def get_thread(self, thread_id: str) -> list[Message]:
        """The messages of a thread and the message with that id, oldest first."""
        found: dict[str, Card] = {}
        after, has_more = None, thread_id.isprintable()
        while has_more:
            page = self._deliveries(thread=thread_id, after=after)
            found |= {each.get("copy", each["id"]): each for each in page["letters"]}
            after, has_more = page["after"], page["after"] is not None
        if thread_id not in found and (first := self._delivery(thread_id)):
            found[thread_id] = first
        messages = [of_card(each, each["recipient"]) for each in found.values()]
        return sorted(messages, key=lambda message: message.created_at)

    def get_pending_count(self, agent_name: str) -> dict[str, int]:
        """The number of unread messages by priority, and `total`."""
        if not _is_address(agent_name):
            return dict.fromkeys(COUNTED, 0)
        counts = self._ledger.call("pending", agent_name)
        return {name: counts[name] for name in COUNTED}

    # -- marking -----------------------------------------------------------------------------------------------

    def mark_processing(self, message_id: str) -> Message | None:
        """Record that its recipient works on it. None if there is no such message; refused if completed or expired."""
        delivery = self._markable(message_id)
        if delivery is None:
            return None
        self._ledger.call("ack", delivery["recipient"], ids=[delivery["id"]], state="processing")
        return self._message(message_id)

    def mark_completed(self, message_id: str, archive: bool = True) -> Message | None:
        """Complete it, and archive it unless `archive` is false. None if there is no such message."""
        delivery = self._markable(message_id)
        if delivery is None:
            return None
        if delivery["state"] != MessageStatus.ARCHIVED.value:
            self._ledger.call("ack", delivery["recipient"], ids=[delivery["id"]], state="completed")
            if archive:
                self._ledger.call("archive", delivery["recipient"], ids=[delivery["id"]])
        return self._message(message_id)

    # -- lookups -----------------------------------------------------------------------------------------------

    def _send_as(self, sender: str, verb: str, **args: Any) -> Any:
        _check_sender(sender)
        return self._ledger.call(verb, sender, **args)

    def _message(self, id: str, *, is_broadcast: bool = False) -> Message:
        """A message that is known to exist, as it stands now."""
        delivery = None if is_broadcast else self._delivery(id)
        found = of_card(delivery, delivery["recipient"]) if delivery else self._as_sent(id)
        assert found is not None
        return found

    def _delivery(self, id: str) -> Card | None:
        """The one delivery that goes by this id, with its recipient."""
        found = self._deliveries(id=id)["letters"] if id.isprintable() else []
        return found[0] if found else None

    def _deliveries(self, **which: Any) -> dict[str, Any]:
        """A page of deliveries: anyone's; inside an agent tree those that this agent sent or received."""
        me = self._ledger.call("worker.self", None)["agent"]
        return self._ledger.call("export_mail" if me == names.PERSON else "letters", None, **which)

    def _as_sent(self, id: str) -> Message | None:
        """A message to several recipients without the state that one of them has it in."""
        try:
            card = self._ledger.call("read", None, id=id, peek=True) if id.isprintable() else None
        except errors.UnknownName:
            return None
        of_copy = ("copy", "state", "read_at", "completed_at")
        return of_card({key: card[key] for key in card if key not in of_copy}, card["to"]) if card else None

    def _markable(self, id: str) -> Card | None:
        delivery = self._delivery(id)
        if delivery is None and self._as_sent(id) is not None:
            raise errors.BadInput(
                f"{id} went to several agents.", "Give the id that its copy has in check_mailbox(NAME).", code="COPIES"
            )
        return delivery


class _Ledger:
    """The verbs on the store of a folder, or of this repository's team. A forked child gets a connection of its own."""

    def __init__(self, folder: str | None) -> None:
        self._chosen = folder
        self._lock = threading.RLock()
        self._inherited: list[House] = []  # kept: closing a connection of the parent would break its locks
        self._open()
        self.folder = folder or self._house.places.home

    def call(self, verb: str, agent: str | None, **args: Any) -> Any:
        """`agent` None: as whoever this process proves to be, which is the user outside every agent tree."""
        with self._lock:
            if self._pid != os.getpid():
                self._inherited.append(self._house)
                self._open()
        caller = self._house.caller(agent, open_addresses=True, origin=self._origin)
        return self._house.client.call(verb, args, caller)

    def close(self) -> None:
        if self._pid == os.getpid():
            self._house.close()

    def _open(self) -> None:
        environ, team = dict(os.environ), None
        if self._chosen is not None:
            trees.make_folder(self._chosen, parents=True)
            environ["ROOK_HOME"], team = os.path.join(self._chosen, HOME), TEAM
            for elsewhere in ("ROOK_STORE", "ROOK_URL"):
                environ.pop(elsewhere, None)
        self._house = open_house(cwd=os.getcwd(), environ=environ, team=team)
        _ = self._house.client  # connect now: a folder that can not be used is an error of this call
        self._pid, self._origin = os.getpid(), _own_origin()


def _own_origin() -> Origin:
    me = os.getpid()
    return lineage.origin(me, process.ancestors(me), itself=True)


def _check_sender(name: str) -> None:
    names.check_address(name)
    if names.key(name) == names.PERSON:
        raise errors.NotYours(
            "A mailbox names any sender but `user`: nothing shows that it is you.",
            "Send as yourself with `rook send`.", code="RESERVED_NAME",
        )  # fmt: skip


def _is_address(name: str) -> bool:
    return all(map(_is_name, name.split("/", 1)))


def _is_name(name: str) -> bool:
    try:
        return bool(names.check_name(name))
    except errors.BadInput:
        return False


def _options(
    payload: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    reply_to: str | None = None,
    thread_id: str | None = None,
    expires_at: datetime | None = None,
    attachments: list[str] | None = None,
) -> dict[str, Any]:
    """The options that `send` and `broadcast` share, as arguments of the verbs. `expires_at` may lie in the past."""
    return {
        "payload": payload or {}, "context": context or {}, "reply_to": reply_to or "", "thread": thread_id or "",
        "expires": milliseconds(expires_at) if expires_at else None, "attachments": attachments or [], "stale": True,
    }  # fmt: skip


# -- one manager per process -------------------------------------------------------------------------------------

_process_wide: list[MailboxManager] = []  # empty until first used
_opening = threading.Lock()


def get_mailbox_manager(mailboxes_dir: Path | None = None) -> MailboxManager:
    """The manager that this process shares. The first call opens it; a folder given later is ignored."""
    with _opening:
        if not _process_wide:
            _process_wide.append(MailboxManager(mailboxes_dir))
        return _process_wide[0]


def send_message(
    from_agent: str,
    to_agent: str,
    subject: str,
    body: str,
    priority: MessagePriority = MessagePriority.NORMAL,
    **kwargs: Any,
) -> Message:
    """Send through the shared manager; further arguments are those of `MailboxManager.send`."""
    return get_mailbox_manager().send(from_agent, to_agent, subject, body, priority=priority, **kwargs)


def check_my_mailbox(agent_name: str, unread_only: bool = True) -> list[Message]:
    """Check a mailbox through the shared manager."""
    return get_mailbox_manager().check_mailbox(agent_name, unread_only)


def send_handoff(
    from_agent: str,
    to_agent: str,
    subject: str,
    work_completed: str,
    current_state: str,
    next_steps: list[str],
    files_modified: list[str] | None = None,
    blockers: list[str] | None = None,
    swarm_name: str | None = None,
    priority: MessagePriority = MessagePriority.NORMAL,
) -> Message:
    """Send a handoff through the shared manager, with the usual fields of its context as arguments."""
    given = HandoffContext(
        work_completed, files_modified or [], current_state=current_state, next_steps=next_steps,
        blockers=blockers or [],
    )  # fmt: skip
    return get_mailbox_manager().handoff(from_agent, to_agent, subject, given, priority, swarm_name)


def broadcast_to_swarm(
    from_agent: str,
    swarm_name: str,
    subject: str,
    body: str,
    priority: MessagePriority = MessagePriority.NORMAL,
) -> list[Message]:
    """Broadcast through the shared manager."""
    return get_mailbox_manager().broadcast(from_agent, swarm_name, subject, body, priority=priority)
