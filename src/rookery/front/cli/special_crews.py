"""`rook crew`: a plan worked off, shown as it goes."""

import os
from typing import Any

from rookery.core import crews

from . import daemon
from .call import Desk, Reply
from .router import answer, call_verb
from .special_health import shown_again

DONE = (crews.CrewState.FINISHED, crews.CrewState.STOPPED, crews.CrewState.FAILED)


def run(desk: Desk, read: dict[str, Any]) -> Reply:
    """Starts it; on a terminal it is shown to its end. Whoever leaves earlier stops nothing."""
    detach, review = read.pop("detach"), not read["no_review"]
    read["plan"] = _plan(desk, read["plan"], review=review)
    daemon.ensure(desk)
    made = call_verb(desk, "crew.run", read)
    if detach:
        return answer(desk, "crew.run", made)
    followed = _followed(desk, made["id"])
    warned = "".join(f"rook: warning: {each}\n" for each in made["warnings"])  # below the picture, where it stays
    return followed._replace(err=warned + followed.err)


def status(desk: Desk, read: dict[str, Any]) -> Reply:
    watch = read.pop("watch")
    if watch:
        return _followed(desk, call_verb(desk, "crew.status", read)["id"])
    return answer(desk, "crew.status", call_verb(desk, "crew.status", read))


def _followed(desk: Desk, id: str) -> Reply:
    """Until it is over, or waits for a person; exit 1 unless it finished."""

    def look() -> tuple[Any, int]:
        told = desk.verb("crew.status", {"id": id})
        return told, 0 if told["state"] not in (crews.CrewState.STOPPED, crews.CrewState.FAILED) else 1

    return shown_again(desk, "crew.status", look, until=lambda told: told["state"] in DONE)


def _plan(desk: Desk, named: str, *, review: bool) -> str:
    """A plan's id; or a file, of which one is made first."""
    path = os.path.join(desk.call.cwd, named)
    if named.startswith("plan-") or not os.path.isfile(path):
        return named
    from .special_tasks import plan_of

    return plan_of(desk, path, review=review)["id"]
