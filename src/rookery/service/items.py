"""Items: what needs a person or an owner, each a row with what exactly is judged. The law is `core.docket`.

An item is made by the verb that makes it necessary and closed by the one that settles it, in its transaction.
"""

from rookery.core import docket, text
from rookery.core.docket import Rank, Risk
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from .tx import WORKED, Tx

TITLE, DETAIL, LINE = 300, 2_000, 200


class Asked(NamedTuple):
    """What is asked of whom, and what happens if nobody answers."""

    kind: str  # question, failure, result
    ref: str  # what settles it by its own verbs: a task, a landing, a worker, a session
    title: str
    asked_of: int
    otherwise: str
    detail: str = ""
    subject: str = ""  # left out: the item itself
    worker: str = ""
    rank: int = Rank.FAILED
    risk: int = Risk.NONE


def ask(tx: Tx, asked: Asked, *, by: int | None = None) -> str:
    """Put it on the docket; its id."""
    id = tx.new_id(docket.ITEM)
    tx.run(
        "new_review_item", id=id, kind=asked.kind, ref=asked.ref, title=text.one_line(asked.title, TITLE),
        detail=asked.detail[:DETAIL], asked_by=tx.me()["id"] if by is None else by, asked_of=asked.asked_of,
        subject=asked.subject or id, worker=asked.worker, rank=int(asked.rank), risk=int(asked.risk),
        otherwise=text.one_line(asked.otherwise, LINE), at=tx.wall,
    )  # fmt: skip
    return id


def close(tx: Tx, ref: str) -> None:
    """Whatever was asked about it."""
    tx.run("close_review_items", ref=ref)


def close_subject(tx: Tx, subject: str) -> None:
    tx.run("close_subject", subject=subject)


def goes_on(tx: Tx, worker: str) -> None:
    """A worker is started anew, or reports: that a run of it failed before asks nothing any more."""
    tx.run("close_failures_of", worker=worker)


def failed_run(tx: Tx, task: str, agent: int) -> Row | None:
    """The worker whose run fails at this task, if it is one."""
    row = tx.one("worker_of_agent", agent=agent) if tx.flags & WORKED else None
    return row if row is not None and row["task"] == task and row["role"] != "review" else None


def pinned(tx: Tx, row: Row, pinned: int) -> None:
    """What failed, or a file that was changed, is on the docket while somebody holds on to it: an agent has hundreds of
    both, and most of them ask nobody anything."""
    if not pinned:
        close_subject(tx, row["id"])
    elif row["failed"] or row["kind"] == "edit":
        what = "failed" if row["failed"] else "changed"
        ask(tx, Asked(
            "failure" if row["failed"] else "result", row["id"], f"{row['kind']} {what}: {row['title']}", tx.me()["id"],
            "it stays pinned", subject=row["id"], worker=row["worker"], rank=Rank.ERROR if row["failed"] else Rank.FILE,
        ))  # fmt: skip
