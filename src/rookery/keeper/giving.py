"""Evidence given to the ledger in batches: what it takes is forgotten here, what it refuses is said, the rest waits."""

import logging
from collections.abc import Mapping
from typing import Any

from rookery.core import errors
from rookery.core.evidence import Found

from .courier import Verbs

MANY, BYTES = 50, 2_000_000  # of one batch; one that is larger goes alone
log = logging.getLogger("rookery.evidence")


async def give(verbs: Verbs, team: str, found: list[Found], whose: Mapping[str, Any]) -> int:
    """How many were given. Nothing here fails: a ledger that is busy is asked again at the next look, for `found` still
    holds what it did not take."""
    given = 0
    while found:
        batch = _batch(found)
        try:
            await _put(verbs, team, batch, whose)
        except errors.RookError as error:
            log.warning("evidence of %s waits: %s", team, error.message)
            return given
        del found[: len(batch)]
        given += len(batch)
    return given


def _batch(found: list[Found]) -> list[Found]:
    size = 0
    for n, each in enumerate(found[:MANY]):
        size += len(each.body)
        if n and size > BYTES:
            return found[:n]
    return found[:MANY]


async def _put(verbs: Verbs, team: str, batch: list[Found], whose: Mapping[str, Any]) -> None:
    """All at once; where one of them is refused for what it is, the others go alone."""
    try:
        await verbs.call(team, "evidence.take", {**whose, "found": [each._asdict() for each in batch]})
    except (errors.BadInput, errors.TooLarge) as error:
        if len(batch) > 1:
            for each in batch:
                await _put(verbs, team, [each], whose)
        else:
            log.warning("evidence %s of %s is refused: %s", batch[0].ref, team, error.message)
