"""`rook bundle save`: at a terminal a person prunes what goes in, and looks at it before it is saved. `rook show`: a
piece of evidence, or what stands behind a reference."""

from typing import Any

from rookery.core import bundles, errors
from rookery.core.text import one_line

from . import show
from .call import Desk, Reply
from .router import answer, call_verb, typed

QUESTION = "Keep which? 1 3-5 keeps those, -2 leaves one out, Enter keeps all, q saves nothing: "
NO = ("n", "no", "q", "quit")
TRIES = 5
SELECTION = ("refs", "worker", "task", "limit")


def save(desk: Desk, read: dict[str, Any]) -> Reply:
    """Piped, or with --yes, exactly what is named; else what is chosen."""
    yes = read.pop("yes")
    if not yes and not desk.options.json and desk.call.terminal and desk.call.ask is not None:
        chosen = _pruned(desk, read)
        if chosen is None:
            return Reply("Nothing was saved.\n")
        read["refs"] = chosen
    made = call_verb(desk, "bundle.save", read)
    if made["summarizer"]:
        from .special_workers import started_daemon

        desk.call.emit(started_daemon(desk))
    return answer(desk, "bundle.save", made)


def _pruned(desk: Desk, read: dict[str, Any]) -> list[str] | None:
    """The refs that a person keeps; None if they do not want it after all."""
    given = typed(desk, "bundle.save", read)
    found = desk.verb("bundle.candidates", {name: given[name] for name in SELECTION if name in given})
    kept = _kept(desk, found)
    if kept is None:
        return None
    review = desk.verb("bundle.candidates", {"refs": kept, **{n: given[n] for n in ("worker", "task") if n in given}})
    _show(desk, "bundle.review", review)
    return None if _asked(desk, "Save this? [Y/n] ").lower() in NO else kept


def _kept(desk: Desk, found: dict[str, Any]) -> list[str] | None:
    _show(desk, "bundle.candidates", found)
    items = found["candidates"]
    for _ in range(TRIES):
        said = _asked(desk, QUESTION)
        if said.lower() in NO:
            return None
        try:
            numbers = bundles.chosen(said, len(items))
        except errors.BadInput as error:
            desk.call.emit(f"{one_line(error.message, 200)} {error.hint}\n")
            continue
        if numbers:
            return [items[number - 1]["ref"] for number in numbers]
        desk.call.emit("That leaves nothing.\n")
    return None


def _asked(desk: Desk, question: str) -> str:
    assert desk.call.ask is not None
    return desk.call.ask(question).strip()


def _show(desk: Desk, shown_as: str, what: Any) -> None:
    desk.call.emit(show.text(shown_as, what, desk.call.width, terminal=desk.call.terminal))


def shown(desk: Desk, read: dict[str, Any]) -> Reply:
    if bundles.is_chip(read["ref"]):
        return answer(desk, "expand", desk.verb("expand", {"chip": read["ref"]}))
    return answer(desk, "show", call_verb(desk, "show", read))
