"""Mail for somebody who is not there: a kind can say that mail starts its worker (`on_mail`).

    rook send scout ...    nobody is called so, but a kind is: a new worker of it, which is given the message
    rook send WORKER ...   its worker is over: it is started anew, if the message asks and nothing of it is unjudged

That is spawning by message: switched on by `spawn.by_message`, for the same senders, with the same bound in a minute.
"""

from typing import Any

from rookery.core import errors, extras, mail, spawning, text
from rookery.core.kinds import Kind
from rookery.core.workers import State, Wish
from rookery.store.port import Row

from . import kinds, mesh
from . import spawning as asking
from . import workers as working
from .recipients import Recipients
from .tx import Tx


def reader(tx: Tx, sender: Row, name: str) -> Row | None:
    """An agent for the worker that is to be started for this mail; None if there is no kind that wants it so."""
    kind = _kind(tx, name)
    if kind is None:
        return None
    if not tx.settings["spawn.by_message"]:
        raise errors.UnknownName(
            f"No agent named {kind.name}; mail would start a worker of that kind, but spawn.by_message is off.",
            f"`rook spawn -k {kind.name} ...` starts one.", code="UNKNOWN_AGENT",
        )  # fmt: skip
    asking.allow(tx, sender, _by(tx, sender), 1)
    asking.order(tx, sender, kind.name)
    return tx.make_agent(mesh.new_name(tx), role=kind.name)


def _kind(tx: Tx, name: str) -> Kind | None:
    try:
        found = kinds.find(tx, name)
    except errors.RookError:  # no kind, or one that can not be used: then it is a name that nobody has
        return None
    return found if found.on_mail else None


def _by(tx: Tx, sender: Row) -> str:
    """Whoever calls for another takes in what that one wrote to a file."""
    return "" if tx.me()["id"] == sender["id"] else extras.MAILDROP


# -- once it was sent --------------------------------------------------------------------------------------------------


def follow(tx: Tx, sender: Row, draft: mail.Draft, to: Recipients, result: dict[str, Any]) -> None:
    """The workers of those who were made for it, or are over. The answer says so: `spawned`, or a note."""
    for row in to.rows:
        if row["name"] in to.started:
            _start(tx, sender, draft, row, to.started[row["name"]], result)
        elif draft.asks and not to.group:
            _recall(tx, sender, draft, row, result)


def _start(tx: Tx, sender: Row, draft: mail.Draft, row: Row, kind: str, result: dict[str, Any]) -> None:
    words = "\n\n".join(filter(None, (draft.subject, draft.body)))
    kept = spawning.extra({}, result["id"], (), _by(tx, sender), 1)
    id = working.write(tx, sender, words, asking.order(tx, sender, kind), agent=row, extra=kept)
    _told(tx, sender, working.find(tx, id), result)


def _recall(tx: Tx, sender: Row, draft: mail.Draft, row: Row, result: dict[str, Any]) -> None:
    worker = tx.one("worker_of_agent", agent=row["id"])
    if worker is None or worker["state"] != State.ENDED or worker["wish"] == Wish.DELETE:
        return
    if not working.kind_of(worker).on_mail or not tx.settings["spawn.by_message"]:
        return
    try:
        tx.attempt(lambda: _start_again(tx, sender, worker, draft.subject))
    except errors.RookError as refusal:
        asking.note(result, f"{worker['id']} is not started for it: {refusal.message} {refusal.hint}".strip())
        return
    _told(tx, sender, worker, result)


def _start_again(tx: Tx, sender: Row, worker: Row, subject: str) -> None:
    _refuse_unjudged(tx, worker)
    asking.allow(tx, sender, _by(tx, sender), 1)
    working.again(tx, worker, f"mail from {sender['name']}: {text.one_line(subject, 200)}")


def _refuse_unjudged(tx: Tx, worker: Row) -> None:
    if tx.all("items_of_worker", worker=worker["id"], limit=1):
        raise errors.Refused("It is over, and what came of it waits on the docket.", "`rook docket`.", code="UNJUDGED")


def _told(tx: Tx, sender: Row, worker: Row, result: dict[str, Any]) -> None:
    asking.count(tx, sender, result["id"], 1)
    told = {"id": worker["id"], "name": worker["name"], "kind": worker["kind"]}
    result["spawned"] = [*result.get("spawned", ()), told]
