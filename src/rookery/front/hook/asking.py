"""The question before a write, put to a team: one call for all paths, or one for each where one of them spoils it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rookery.core import errors, text
from rookery.core.record import NamedTuple
from rookery.front.cli.call import Desk

ASKED = 900  # paths asked about at once
SINGLY = 50  # of those, asked about one by one


class Told(NamedTuple):
    verdicts: Sequence[Mapping[str, Any]] = ()
    warned: Sequence[str] = ()
    failed: Sequence[str] = ()  # paths that could not be judged, and why
    strict: bool = False
    elsewhere: bool = False  # paths are held in other working trees too


class Stranger(Desk):
    """A caller whose name its team refuses (unknown there, taken over). Only its process counts: what an agent holds
    keeps it out, unless the process is that agent's."""

    def __init__(self, desk: Desk) -> None:
        environ = {name: value for name, value in desk.call.environ.items() if name != "ROOK_AGENT"}
        super().__init__(desk.call._replace(environ=environ), desk.options._replace(agent=None))


def others(desk: Desk, *, visiting: bool = False) -> Mapping[str, Any]:
    """What others hold in the working tree of the desk."""
    return desk.verb("turn.others", {"visiting": True} if visiting or isinstance(desk, Stranger) else {})


def can_write(desk: Desk, paths: Sequence[str], patterns: Sequence[str], *, visiting: bool = False) -> Told:
    count = len(paths) + len(patterns)
    if count > ASKED:
        much = {"path": f"{count} files", "allow": False, "reason": "too many at once; do it in parts"}
        return Told([much])
    try:
        return _asked(desk, paths, patterns, visiting)
    except errors.BadInput as error:
        if count == 1:
            return Told(failed=[f"{text.one_line([*paths, *patterns][0], 80)} ({error.message.rstrip('.')})"])
        if count > SINGLY:
            raise
    each = [([path], []) for path in paths] + [([], [pattern]) for pattern in patterns]
    return _joined([can_write(desk, *one, visiting=visiting) for one in each])


def _asked(desk: Desk, paths: Sequence[str], patterns: Sequence[str], visiting: bool) -> Told:
    args: dict[str, Any] = {"paths": [*paths], "covered": [*patterns]}
    told = desk.verb("can-write", args | ({"visiting": True} if visiting or isinstance(desk, Stranger) else {}))
    return Told(told["paths"], told["warnings"], (), told["strict"], told.get("elsewhere", False))


def _joined(told: Sequence[Told]) -> Told:
    return Told(
        [verdict for each in told for verdict in each.verdicts],
        [warning for each in told for warning in each.warned],
        [failure for each in told for failure in each.failed],
        any(each.strict for each in told),
        any(each.elsewhere for each in told),
    )
