"""What lies near a path: reservations that could meet it, whoever waits for it, and ringing them when it is free.

Reservations are found by their roots, the literal path before the first wildcard: one look per ancestor, one for what
lies beneath. So the cost grows with the depth of a path and what is near it, not with how much is reserved; patterns
that begin with a wildcard have the root "" and are near everything.
"""

from collections.abc import Iterable

from rookery.core import patterns
from rookery.store.port import Row

from .tx import Tx

_AFTER_ALL = "\U0010ffff"


def overlapping(tx: Tx, pattern: patterns.Pattern) -> list[Row]:
    """Everything that overlaps, held or waited for, live or not. Roots narrow the search; core decides."""
    root = patterns.root(pattern)
    near = above(tx, root)
    # "0" follows "/": every path beneath the root, and none beside it
    near += tx.all("reservations_below", low=f"{root}/" if root else "\x01", high=f"{root}0" if root else _AFTER_ALL)
    return [row for row in near if patterns.overlap(pattern, patterns.parse(row["pattern"]))]


def covering(tx: Tx, path: str) -> list[Row]:
    """Everything that covers one file."""
    return [row for row in above(tx, path) if patterns.covers(patterns.parse(row["pattern"]), path)]


def above(tx: Tx, path: str) -> list[Row]:
    return [row for root in patterns.lineage(path) for row in tx.all("reservations_at", root=root)]


# -- ringing -------------------------------------------------------------------------------------------------------


def ring_waiting(tx: Tx, freed: Iterable[Row]) -> None:
    """Whoever waits for what became free looks again as soon as this is committed."""
    if tx.one("anyone_waits") is None:
        return
    for row in freed:
        near = rows_like(tx, row)
        for other in near:
            if other["state"] == "waiting":
                tx.ring(other["name"])


def rows_like(tx: Tx, row: Row) -> list[Row]:
    """Everything that is for the same slot, or overlaps."""
    if row["kind"] == "slot":
        return tx.all("slot_rows", name=row["root"])
    return overlapping(tx, patterns.parse(row["pattern"]))


def free_task(tx: Tx, task: str) -> None:
    """A task's paths are free."""
    rows = tx.all("paths_of_task", task=task)
    if rows:
        tx.run("drop_task_reservations", task=task)
        ring_waiting(tx, rows)
