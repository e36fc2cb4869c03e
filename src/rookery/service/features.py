"""What a message may ask for besides being read, and what a team's routes say to it. Loaded by the few that need it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rookery.core import errors, extras, mail, names, routes, text
from rookery.core import lenses as known_lenses
from rookery.core.record import NamedTuple
from rookery.store.port import Row

from .tx import WORKED, Tx


class Asked(NamedTuple):
    context: dict[str, Any] | None
    notes: list[str]  # for the sender


def asked(
    tx: Tx, context: Mapping[str, Any] | None, type: str, lens: Sequence[str], clear_before: bool, rounds: int,
    status: str, interrupt: bool = False,
) -> Asked:  # fmt: skip
    """The context with what was asked for, checked; and what its sender should know about it."""
    for name in lens:
        _check_lens(tx, name)
    extras.check_lens_count(lens)
    made = extras.written(
        context, type=type.strip().lower(), lens=lens, clear=clear_before, count=rounds,
        most=tx.settings["mail.rounds_max"], status=status, interrupt=interrupt,
    )  # fmt: skip
    off = clear_before and not tx.settings["clear_before"]
    notes = ["Its reader is not cleared before: clear_before is off; that it was asked for is recorded."] if off else []
    if interrupt and not tx.settings["delivery.interrupt"]:
        notes.append("Its reader is not interrupted: delivery.interrupt is off; that it was asked for is recorded.")
    return Asked(None if made is None else dict(made), notes)


# -- lenses ----------------------------------------------------------------------------------------------------------


def lenses(tx: Tx) -> dict[str, Any]:
    return {
        "lenses": [
            {"name": name, "title": known_lenses.title(written), "source": source}
            for name, written, source in tx.world.directory.lenses()
        ]
    }


def _check_lens(tx: Tx, name: str) -> None:
    if tx.world.directory.lens(name) is not None:
        return
    known = [each for each, _, _ in tx.world.directory.lenses()]
    hint = names.did_you_mean(name, known) or f"Known: {', '.join(known)}. Others go to .rook/lenses/NAME.md."
    raise errors.UnknownName(f"No lens {text.quoted(name, 40)}.", hint, code="UNKNOWN_LENS")


def perspectives(tx: Tx, card: Mapping[str, Any]) -> dict[str, Any]:
    """A message's lenses with their text as it is now; nothing for a message without."""
    wanted = extras.lenses(card["context"])
    if not wanted:
        return {}
    return {"lenses": [{"name": name, "text": tx.world.directory.lens(name) or ""} for name in wanted]}


# -- workers ---------------------------------------------------------------------------------------------------------


def spawning(
    tx: Tx, sender: Row, context: Mapping[str, Any] | None, spawn: Mapping[str, Any] | None, refs: Sequence[str],
    subject: str,
) -> tuple[dict[str, Any], Callable[[dict[str, Any]], None] | None]:  # fmt: skip
    """The context with the worker that is asked for, checked as in a file; and what follows once it was sent."""
    from rookery.core import drop

    told = drop.rear_matter({"spawn": spawn} if spawn is not None else {}, refs)
    for name in told.get("spawn", {}).get("lens", ()):
        _check_lens(tx, name)
    made = {**(context or {}), **told}
    if spawn is None:
        return made, None

    def follow(result: dict[str, Any]) -> None:
        from . import spawning as asking

        asking.follow(tx, sender, told["spawn"], told.get("entity_refs", []), result, subject)

    return made, follow


# -- routes ----------------------------------------------------------------------------------------------------------


def routed(tx: Tx, sender: Row, draft: mail.Draft, recipients: Sequence[Row]) -> list[str]:
    rule = tx.settings["routing"]
    if rule == "off":
        return []
    types = [draft.type.value, *([draft.label] if draft.label else [])]
    status = extras.status(json.loads(draft.context)) if '"status"' in draft.context else ""
    verdict = routes.judge(
        routes.parse(tx.settings["routes"]), _party(tx, sender), [_party(tx, row) for row in recipients], types, status
    )
    if not verdict.refused:
        return []
    if rule == "enforce":
        raise routes.refusal(verdict, sender["name"], types[-1])
    said = routes.told(verdict, sender["name"], types[-1])
    tx.event(
        "route.warned", sender["name"], target=", ".join(verdict.refused), preview=draft.subject,
        routes=list(verdict.bound_by), type=types[-1], status=status,
    )  # fmt: skip
    return [f"{said} It was sent all the same (routing = warn)."]


def _party(tx: Tx, row: Row) -> routes.Party:
    worker = tx.one("worker_kind", agent=row["id"]) if tx.flags & WORKED else None
    return routes.Party(row["name"], row["role"] or "", row["program"] or "", worker["kind"] if worker else "")
