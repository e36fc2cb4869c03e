"""Seed 004's API over the verbs: `MailboxManager`, its singleton and the convenience functions.

Every caller is trusted with every mailbox, as there: a message id is enough to read, mark and answer. An address is
made when it is first used. Nothing is kept in memory: processes that open the same place see each other's mail at once.
"""

import logging
import os
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

from rookery.app import House, open_house
from rookery.core import errors, names, text
from rookery.runtime import trees

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


class MailboxManager:
    """The mailboxes of a folder, or, without one, of this repository's team (where `rook inbox` finds them too)."""

    def __init__(self, mailboxes_dir: Path | None = None) -> None:
        self._folder = None if mailboxes_dir is None else os.path.abspath(mailboxes_dir)
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._house = self._open()
        self._abandoned: list[House] = []
        self.mailboxes_dir = Path(self._folder or self._house.places.home)

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
        """Put a message into a mailbox; with `broadcast:SWARM` a copy into each of a swarm's mailboxes.

        Then the message as it was sent is returned, and every copy has an id of its own.
        """
        to_all = to_agent.startswith(BROADCAST)
        marked = [*(tags or []), *(["broadcast"] if to_all else [])]
        sent = self._call(
            "send", from_agent, to=[to_agent], subject=subject, body=body, type=message_type.value,
            priority=priority.name.lower(), group=swarm_name or "", tags=marked,
            **_envelope(payload, context, reply_to, thread_id, expires_at, attachments),
        )  # fmt: skip
        found = self._several(sent["id"]) if to_all else None
        return found or self._stored(sent["id"])

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
        """Pass work on: the context in words as the body, and as data in `context`; its files are the attachments."""
        return self.send(
            from_agent=from_agent,
            to_agent=to_agent,
            subject=subject,
            body=handoff_context.body(from_agent, to_agent, additional_notes),
            message_type=MessageType.HANDOFF,
            priority=priority,
            context=handoff_context.to_dict(),
            swarm_name=swarm_name,
            attachments=[*handoff_context.files_modified, *handoff_context.files_created],
            tags=["handoff"],
        )

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
        """A message of its own for everyone in a swarm but the sender and `exclude`, all in one transaction."""
        sent = self._call(
            "broadcast", from_agent, group=swarm_name, subject=subject, body=body, type=message_type.value,
            priority=priority.name.lower(), exclude=exclude or [], tags=["broadcast", f"swarm:{swarm_name}"],
            separate=True, **_envelope(**kwargs),
        )  # fmt: skip
        return [self._stored(each["id"]) for each in sent["messages"]]

    def reply(
        self,
        original_message_id: str,
        from_agent: str,
        body: str,
        payload: dict[str, Any] | None = None,
    ) -> Message | None:
        """Answer a message's sender, in its thread and with its priority. None if there is no such message."""
        letter = self._letter(original_message_id)
        if letter is None and self._several(original_message_id) is None:
            logger.warning("There is no message %s to reply to.", text.quoted(original_message_id))
            return None
        original = letter["id"] if letter else original_message_id
        sent = self._call("reply", from_agent, id=original, body=body, payload=payload or {}, mark_read=False)
        return self._stored(sent["id"])

    # -- reading -----------------------------------------------------------------------------------------------

    def check_mailbox(
        self,
        agent_name: str,
        unread_only: bool = True,
        message_types: list[MessageType] | None = None,
        min_priority: MessagePriority | None = None,
    ) -> list[Message]:
        """All that matches and has not expired, most urgent first, then oldest."""
        asked: dict[str, Any] = {
            "all": not unread_only, "types": [each.value for each in message_types or []], "limit": PAGE, "whole": True,
            "priority": (min_priority or MessagePriority.LOW).name.lower(),
        }  # fmt: skip
        found: list[Message] = []
        page = None
        while True:
            box = self._call("inbox", agent_name, **asked, page=page)
            found += [of_card(card, box["agent"]) for card in box["messages"] if card["state"] != "expired"]
            page = box["next"]
            if page is None:
                return sorted(found, key=lambda message: (-message.priority.value, message.created_at))

    def read_message(self, message_id: str) -> Message | None:
        """The message, marked as read if it was unread. None if there is no such message."""
        letter = self._letter(message_id)
        if letter is None:
            return self._several(message_id)
        return of_card(self._call("read", letter["recipient"], id=letter["id"]), letter["recipient"])

    def get_thread(self, thread_id: str) -> list[Message]:
        """A conversation in order of time: the message with that id and everything that belongs to it."""
        found: list[Message] = []
        after = None
        while thread_id.isprintable():
            page = self._call("export_mail", names.PERSON, thread=thread_id, after=after)
            found += [of_card(letter, letter["recipient"]) for letter in page["letters"]]
            after = page["after"]
            if after is None:
                break
        if not found:
            alone = self._letter(thread_id)
            found = [of_card(alone, alone["recipient"])] if alone else []
        return sorted(found, key=lambda message: message.created_at)

    def get_pending_count(self, agent_name: str) -> dict[str, int]:
        """How much is unread, by priority and in total."""
        counts = self._call("pending", agent_name)
        return {name: counts[name] for name in ("urgent", "high", "normal", "low", "total")}

    # -- handling ----------------------------------------------------------------------------------------------

    def mark_processing(self, message_id: str) -> Message | None:
        """Someone works on it now. None if there is no such message; refused when it is over (completed, expired)."""
        letter = self._one_of_several(message_id)
        if letter is None:
            return None
        self._call("ack", letter["recipient"], ids=[letter["id"]], state="processing")
        return self._stored(message_id)

    def mark_completed(self, message_id: str, archive: bool = True) -> Message | None:
        """Done, and put away unless told otherwise. None if there is no such message."""
        letter = self._one_of_several(message_id)
        if letter is None:
            return None
        if letter["state"] != MessageStatus.ARCHIVED.value:
            self._call("ack", letter["recipient"], ids=[letter["id"]], state="completed")
            if archive:
                self._call("archive", letter["recipient"], ids=[letter["id"]])
        return self._stored(message_id)

    # -- what they share ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the store. Not part of seed 004, and not needed at the end of a program."""
        if self._pid == os.getpid():
            self._house.close()

    def _stored(self, id: str) -> Message:
        """A message that is there, as it stands now."""
        letter = self._letter(id)
        found = of_card(letter, letter["recipient"]) if letter else self._several(id)
        assert found is not None
        return found

    def _letter(self, id: str) -> dict[str, Any] | None:
        """The delivery of that id, with its recipient."""
        if not id.isprintable():
            return None
        letters = self._call("export_mail", names.PERSON, id=id)["letters"]
        return letters[0] if letters else None

    def _several(self, id: str) -> Message | None:
        """A message to several as its sender has it: the copies lie in the mailboxes, each with an id of its own."""
        try:
            card = self._call("read", names.PERSON, id=id, peek=True) if id.isprintable() else None
        except errors.UnknownName:
            return None
        of_copy = ("copy", "state", "read_at", "completed_at")
        return of_card({key: card[key] for key in card if key not in of_copy}, card["to"]) if card else None

    def _one_of_several(self, id: str) -> dict[str, Any] | None:
        letter = self._letter(id)
        if letter is None and self._several(id) is not None:
            raise errors.BadInput(
                f"{id} went to several agents.", "Give the id that its copy has in check_mailbox(NAME).", code="COPIES"
            )
        return letter

    def _call(self, verb: str, agent: str, **args: Any) -> Any:
        with self._lock:
            if self._pid != os.getpid():  # after a fork: the parent's connection must be neither used nor closed here
                self._abandoned.append(self._house)
                self._house, self._pid = self._open(), os.getpid()
        return self._house.client.call(verb, args, self._house.caller(agent, open_addresses=True))

    def _open(self) -> House:
        environ, team = dict(os.environ), None
        if self._folder is not None:
            trees.make_folder(self._folder, parents=True)
            environ["ROOK_HOME"], team = os.path.join(self._folder, HOME), TEAM
            environ.pop("ROOK_STORE", None)
        house = open_house(cwd=os.getcwd(), environ=environ, team=team)
        _ = house.client  # opened now, by one thread, and so that a place that can not be used is told at once
        return house


def _envelope(
    payload: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    reply_to: str | None = None,
    thread_id: str | None = None,
    expires_at: datetime | None = None,
    attachments: list[str] | None = None,
) -> dict[str, Any]:
    """What `send` and `broadcast` have in common, as the verbs call it. A time that is over already is allowed here."""
    return {
        "payload": payload or {}, "context": context or {}, "reply_to": reply_to or "", "thread": thread_id or "",
        "expires": milliseconds(expires_at) if expires_at else None, "attachments": attachments or [], "stale": True,
    }  # fmt: skip


# -- the singleton and the short ways ----------------------------------------------------------------------------

_mailbox_manager: MailboxManager | None = None
_singleton_lock = threading.Lock()


def get_mailbox_manager(mailboxes_dir: Path | None = None) -> MailboxManager:
    """The one manager of this process; the folder counts on the first call."""
    global _mailbox_manager
    if _mailbox_manager is None:
        with _singleton_lock:
            if _mailbox_manager is None:
                _mailbox_manager = MailboxManager(mailboxes_dir)
    return _mailbox_manager


def send_message(
    from_agent: str,
    to_agent: str,
    subject: str,
    body: str,
    priority: MessagePriority = MessagePriority.NORMAL,
    **kwargs: Any,
) -> Message:
    """`MailboxManager.send`."""
    return get_mailbox_manager().send(
        from_agent=from_agent, to_agent=to_agent, subject=subject, body=body, priority=priority, **kwargs
    )


def check_my_mailbox(agent_name: str, unread_only: bool = True) -> list[Message]:
    """`MailboxManager.check_mailbox`."""
    return get_mailbox_manager().check_mailbox(agent_name, unread_only=unread_only)


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
    """`MailboxManager.handoff`, the context written out."""
    context = HandoffContext(
        work_completed=work_completed,
        current_state=current_state,
        next_steps=next_steps,
        files_modified=files_modified or [],
        blockers=blockers or [],
    )
    return get_mailbox_manager().handoff(
        from_agent=from_agent,
        to_agent=to_agent,
        subject=subject,
        handoff_context=context,
        priority=priority,
        swarm_name=swarm_name,
    )


def broadcast_to_swarm(
    from_agent: str,
    swarm_name: str,
    subject: str,
    body: str,
    priority: MessagePriority = MessagePriority.NORMAL,
) -> list[Message]:
    """`MailboxManager.broadcast`."""
    return get_mailbox_manager().broadcast(
        from_agent=from_agent, swarm_name=swarm_name, subject=subject, body=body, priority=priority
    )
