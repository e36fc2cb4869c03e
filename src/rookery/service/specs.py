"""Claims in someone else's document (seed 000, section 8): `docs/spec.md TASK-03`, without making a task first."""

from typing import Annotated, Any

from rookery.core import errors, presence, text, times
from rookery.store.port import Row

from . import held, limits
from .tx import Tx
from .verbs import Arg

Spec = Annotated[str, Arg("the document", positional=True, kind="document")]
Item = Annotated[str, Arg("the item in it", positional=True)]


def claim(
    tx: Tx, spec: Spec, item: Item, *, reason: Annotated[str, Arg("why you take it", flag="-m")] = ""
) -> dict[str, Any]:
    me = tx.me()
    spec, item = _checked(spec, "the document"), _checked(item, "the item")
    row = tx.one("spec_claim", spec=spec, item=item)
    if row is not None and row["ended"] is not None:
        raise errors.Refused(
            f"{item} of {spec} was completed by {row['name']}.",
            "`rook task claims` lists what is taken.",
            code="TASK_NOT_CLAIMABLE",
        )
    if row is not None and row["agent"] != me["id"]:
        if _holder_state(tx, row) in (None, presence.Liveness.LIVE):
            raise errors.Refused(
                f"{item} of {spec} is held by {row['name']}.",
                f"`rook send {row['name']}` to ask.",
                code="TASK_NOT_CLAIMABLE",
            )
        _take_from(tx, row)
        row = None
    if row is None:
        if tx.is_limited():
            limits.allow_claim(tx, me)
        other = tx.one("spec_claim_of", agent=me["id"])
        if other is not None:
            raise errors.Refused(
                f"You hold {other['item']} of {other['spec']}; one at a time.",
                "Complete or give it back first.",
                code="ONE_AT_A_TIME",
            )
        tx.run(
            "new_spec_claim",
            spec=spec,
            item=item,
            agent=me["id"],
            session=held.session_of(me),
            reason=text.check_text(reason, "the reason")[:300],
            at=tx.wall,
        )
        tx.event("task.start", me["name"], ref=f"{spec} {item}", preview=reason or item)
    tx.beat()
    return {"spec": spec, "item": item, "holder": me["name"]}


def _take_from(tx: Tx, row: Row) -> None:
    """Its holder is gone: the item is free, which is an event and a message like any lapse."""
    what = f"{row['item']} of {row['spec']}"
    tx.run("drop_spec_claim", spec=row["spec"], item=row["item"])
    tx.event("task.lapsed", "system", target=row["name"], ref=f"{row['spec']} {row['item']}", preview=row["item"])
    held.tell(tx, [row["name"]], f"Claim lost: {what}"[:500], f"You were gone; {tx.me()['name']} took {what}.")


def _checked(written: str, what: str) -> str:
    folded = text.check_text(written, what).strip()
    if not 1 <= len(folded) <= 300 or any(c < " " for c in folded):
        raise errors.BadInput(
            f"Not {what}: {text.one_line(written, 40)!r}.", "1 to 300 characters, no control characters."
        )
    return folded


def _holder_state(tx: Tx, row: Row) -> presence.Liveness | None:
    return tx.liveness({**row, "ended_at": row["session_ended"]})


def complete(
    tx: Tx, spec: Spec, item: Item, *, summary: Annotated[str, Arg("what was done", flag="-m")] = ""
) -> dict[str, Any]:
    me = tx.me()
    spec, item = _checked(spec, "the document"), _checked(item, "the item")
    if not tx.run(
        "end_spec_claim",
        spec=spec,
        item=item,
        agent=me["id"],
        at=tx.wall,
        summary=text.check_text(summary, "the summary")[:2000],
    ):
        raise _not_held(tx, spec, item)
    tx.event("task.done", me["name"], ref=f"{spec} {item}", preview=summary or item)
    tx.beat()
    return {"spec": spec, "item": item, "completed": True}


def give_back(tx: Tx, spec: Spec, item: Item) -> dict[str, Any]:
    me = tx.me()
    spec, item = _checked(spec, "the document"), _checked(item, "the item")
    row = tx.one("spec_claim", spec=spec, item=item)
    if row is None or row["ended"] is not None or (row["agent"] != me["id"] and not tx.may_steer(me)):
        raise _not_held(tx, spec, item)
    tx.run("drop_spec_claim", spec=spec, item=item)
    tx.event("task.released", me["name"], ref=f"{spec} {item}", preview=item)
    tx.beat()
    return {"spec": spec, "item": item, "released": True}


def _not_held(tx: Tx, spec: str, item: str) -> errors.RookError:
    row = tx.one("spec_claim", spec=spec, item=item)
    if row is None:
        return errors.UnknownName(f"Nobody has claimed {item} of {spec}.", "`rook task claims` lists what is taken.")
    if row["ended"] is not None:
        return errors.Refused(
            f"{item} of {spec} was completed by {row['name']}.",
            "`rook task claims` lists what is taken.",
            code="TASK_FINISHED",
        )
    return errors.NotYours(f"{item} of {spec} is {row['name']}'s.", "`rook task claims` lists what is taken.")


def _state(tx: Tx, row: Row) -> str:
    """ "held" and "completed"; or how the session of a holder that is gone is: its item is free."""
    if row["ended"] is not None:
        return "completed"
    state = _holder_state(tx, row)
    return "held" if state in (None, presence.Liveness.LIVE) else state.value


def listed(tx: Tx, *, spec: Annotated[str, Arg("only of this document")] = "") -> dict[str, Any]:
    return {
        "claims": [
            {
                "spec": row["spec"],
                "item": row["item"],
                "agent": row["name"],
                "state": _state(tx, row),
                "reason": row["reason"],
                "at": times.iso(row["at"]),
                "completedAt": times.iso_or_none(row["ended"]),
                "summary": row["summary"],
            }
            for row in tx.all("spec_claims", spec=spec)
        ]
    }
