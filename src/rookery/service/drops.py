"""A message that was written as a file (seed 001): taken in under the name it gives, and marked as what it is.

A file proves that someone may write to a folder, and no more. So its sender is known by the name it says, its message
carries that it came `by` the maildrop, nothing is renewed by it, and the names that others act on, `user` and `system`,
can not be said in a file.
"""

import json
from typing import Annotated, Any

from rookery.core import drop, errors, extras, names, text
from rookery.store.port import Row

from . import features, idempotency, post, spawning
from .tx import Tx
from .verbs import Arg


def take(
    tx: Tx,
    sender: Annotated[str, Arg("who it says wrote it")],
    to: Annotated[list[str], Arg("names, as TX writes them too")],
    subject: Annotated[str, Arg("one line")],
    body: Annotated[str, Arg("the message")] = "",
    *,
    type: Annotated[str, Arg("what kind of message", choices=post.TYPES)] = "request",
    priority: Annotated[str, Arg("how soon", choices=post.PRIORITIES)] = "normal",
    status: Annotated[str, Arg("how the work stands, in the team's own words")] = "",
    payload: Annotated[dict[str, Any] | None, Arg("structured data", kind="json")] = None,
    lens: Annotated[list[str] | None, Arg("a perspective to take")] = None,
    clear_before: Annotated[bool, Arg("the reader starts afresh")] = False,
    rounds: Annotated[int, Arg("how often it is put before its reader")] = 0,
    reply_to: Annotated[str, Arg("the message it answers: its id, or the msg-id of its file")] = "",
    spawn: Annotated[dict[str, Any] | None, Arg("a worker it asks for", kind="json")] = None,
    entity_refs: Annotated[list[str] | None, Arg("what it refers to")] = None,
    msg_id: Annotated[str, Arg("the file's own id")] = "",
    written_at: Annotated[str, Arg("when it says it was written")] = "",
    key: Annotated[str, Arg("idempotency key: a repeat gets the same answer")] = "",
) -> dict[str, Any]:
    me = _sender(tx, sender)
    addressed = [_recipient(tx, word) for word in to]
    told = {"by": extras.MAILDROP, "msg_id": msg_id, "written_at": written_at, "spawn": spawn,
            "entity_refs": entity_refs}  # fmt: skip
    context = {name: value for name, value in told.items() if value}
    original = _answered(tx, me, addressed, reply_to) if reply_to else None
    if reply_to and original is None:
        context["reply_to"] = reply_to  # of a message that is not known here, or no longer
    asked = features.asked(tx, context, type, lens or [], clear_before, rounds, status)
    asks = drop.spawn_request(spawn) if spawn else None

    def follow(sent: dict[str, Any]) -> None:
        if asks:
            spawning.follow(tx, me, asks, entity_refs or [], sent, subject, extras.MAILDROP)

    args = {"to": addressed, "subject": subject, "body": body, "type": type, "priority": priority, "payload": payload,
            "context": asked.context, "reply_to": original["id"] if original else ""}  # fmt: skip
    result = post.dispatch(tx, me, args, key=key, notes=asked.notes, spend=post.spend_unseen, then=follow)
    if result.get("replayed"):
        return result
    if original is not None:
        # It counts as answered. What an answer closes besides is for those whose names are more than said.
        post.mark_answered(tx, me, original, result)
    return result


def _sender(tx: Tx, said: str) -> Row:
    """Whom a file says it is from; known from now on, so that it can be answered."""
    if any(names.key(part) in names.RESERVED for part in said.split("/")):
        raise errors.NotYours(
            f"A file can not be from {text.quoted(said, 40)}: nothing shows that it is.",
            "Give a name of your own in `from`; the person sends with `rook send`.",
            code="RESERVED_NAME",
        )
    names.check_address(said)
    former = tx.one("former_name", key=names.key(said))
    return _known(tx, said) or (former and tx.find_agent(former["name"])) or tx.make_agent(names.check_new_name(said))


def _recipient(tx: Tx, word: str) -> str:
    if ":" in word:
        return word  # a group, or one of a role
    names.check_address(word)
    found = _known(tx, word)
    if found is None and names.key(word) != names.PERSON:
        raise tx.unknown(word)
    return found["name"] if found else names.PERSON


def _known(tx: Tx, word: str) -> Row | None:
    for name in drop.addresses(word):
        found = tx.find_agent(name)
        if found is not None:
            return found
        if tx.world.directory.is_defined(name):
            return tx.make_agent(name)
    return None


def _answered(tx: Tx, me: Row, to: list[str], said: str) -> Row | None:
    """The message that a file answers: by its id, or by the msg-id of a file that one of its readers dropped."""
    if (original := tx.one("message_by_id", id=said)) is not None:
        return original
    writers = [agent for name in to if ":" not in name and (agent := tx.find_agent(name))]
    for agent in [*writers, me]:
        row = tx.one("remembered", agent=agent["id"], key=f"maildrop:{said}"[:idempotency.KEY_LIMIT],
                     after=idempotency.oldest(tx))  # fmt: skip
        if row is not None:
            return tx.one("message_by_id", id=json.loads(row["result"])["id"])
    return None
