"""A message that comes in rounds: completed, it is put before its reader again, as often as was asked for."""

import json
from typing import Any

from rookery.core import extras, mail
from rookery.store.port import Row

from . import post
from .recipients import Recipients
from .tx import Tx


def next_round(tx: Tx, me: Row, message: Row) -> dict[str, Any]:
    """After a round was completed: the same words again in the same conversation, to the one who completed it.

    What was decided about the message already (who may send it, what it costs) is not asked again; how often it comes
    is bounded by what was sent and by the setting, whichever is less.
    """
    context = extras.next_round(json.loads(message["context"]), tx.settings["mail.rounds_max"])
    over = message["expires_at"] is not None and message["expires_at"] <= tx.now
    sender = tx.one("agent_by_id", id=message["sender"])
    if context is None or over or sender is None:
        return {}
    draft = mail.Draft(
        type=mail.Type(message["type"]), label=message["label"], priority=mail.Priority(message["priority"]),
        subject=message["subject"], body=message["body"], payload=message["payload"],
        context=mail.as_json(context, "the context"), attachments=message["attachments"], tags=message["tags"],
        expires_at=message["expires_at"], asks=bool(message["asks"]),
    )  # fmt: skip
    made = post.deliver(
        tx, sender, draft, Recipients([me], me["name"], "", {}), group=message["grp"], thread=message["thread"],
        reply_to=message["id"],
    )  # fmt: skip
    return {"next": made["id"], **context["rounds"]}
