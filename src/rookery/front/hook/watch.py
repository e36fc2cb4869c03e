"""After a command that did not tell what it writes, and when its turn is over: what became of others' files?"""

from collections.abc import Sequence
from typing import Any

from rookery.core import errors, text
from rookery.core.hooks import Event
from rookery.front.cli.call import Desk
from rookery.runtime import marks


def begin(desk: Desk, event: Event) -> None:
    """How others' files look now. Where nobody holds anything there is nothing to look at."""
    wanted = desk.verb("turn.others", {})["patterns"]
    if not wanted:
        return
    seen = _marks(desk, wanted)
    args = {"call": _call(event), "command": event.command, "looked_at": wanted, "marks": seen}
    try:
        desk.verb("turn.watch", args)
    except errors.Refused:
        return  # nobody's session: nobody could be told either


def end(desk: Desk, event: Event, wanted: Sequence[str]) -> str:
    """What to tell the agent, if anything; whoever holds it is told too."""
    if not wanted:
        return ""
    seen = _marks(desk, wanted)
    found: list[dict[str, Any]] = desk.verb("turn.changed", {"call": _call(event), "marks": seen})["changed"]
    if not found:
        return ""
    lines = [f"{text.one_line(each['path'], 200)}, held by {each['holder']}" for each in found[:10]]
    return (
        "Rookery: while your command ran, files changed that others hold, and their holders were told:\n"
        + "\n".join(lines)
        + "\nIf that was your command, put them back (`git diff PATH` shows what changed) or ask the holder."
    )


def look_again(desk: Desk, event: Event, wanted: Sequence[str]) -> bool:
    """At the end of a turn and at the next prompt: what a command left running may have written later. Whoever is
    concerned gets mail; is there any for the caller?"""
    args = {"over": event.moment.value, "marks": _marks(desk, wanted)}
    try:
        return bool(desk.verb("turn.changed", args)["changed"])
    except errors.Refused:
        return False  # its session is over, or another's


def _marks(desk: Desk, wanted: Sequence[str]) -> dict[str, str]:
    store = desk.house.places.store
    return marks.marks(desk.house.places.root, wanted, (store, f"{store}-wal", f"{store}-shm"))


def _call(event: Event) -> str:
    """Programs that give their calls no names run one at a time: one is enough then."""
    return event.call[:200]
