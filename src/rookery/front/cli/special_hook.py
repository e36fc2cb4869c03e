"""`rook hook`: an agent program asks before, after and between its tools. (The design is in `front.hook`.)"""

from typing import Any

from rookery.core import errors
from rookery.core.hooks import Moment
from rookery.front.hook import answering
from rookery.hosts import known, profile

from .call import Desk, Reply

REFUSED = 2  # what every agent program takes for a no


def answered(desk: Desk, read: dict[str, Any]) -> Reply:
    """Its own failures are told on standard error, and never stop a tool unless that was asked for."""
    try:
        return _answered(desk, read)
    except errors.RookError as error:
        told = f"rook: {error.message}\n      {error.hint}\n"
        if read["closed"]:
            return Reply(err=f"{told}      The tool is refused: its hook was set up so.\n", code=REFUSED)
        return Reply(err=told, code=1 if isinstance(error, errors.BadInput | errors.UnknownName) else 0)


def _answered(desk: Desk, read: dict[str, Any]) -> Reply:
    host = _host(desk, read["host"])
    moment = _moment(read["moment"])
    event = profile.read(host, answering.parsed(desk.call.read_stdin()), moment)
    there = answering.placed(desk, event)
    if moment is Moment.IDLE:
        return _waited(there, desk, host)
    try:
        done = answering.at(there, host, event)
    finally:
        if there is not desk:
            there.close()
    return Reply(profile.write(host, event, done.answer), later=done.later)


def _waited(there: Desk, desk: Desk, host: profile.Profile) -> Reply:
    from rookery.front.hook import waiter

    try:
        return waiter.waited(there, host)
    finally:
        if there is not desk:
            there.close()


def _host(desk: Desk, name: str) -> profile.Profile:
    """Files are looked for only where the name is none of ours: hooks of the known programs are not made to wait."""
    if name in known.TITLES:
        return known.find(name)
    from . import own_hosts

    return known.find(name, own_hosts.written(desk, name))


def _moment(word: str | None) -> Moment | None:
    if word is None or word in tuple(Moment):
        return Moment(word) if word else None
    raise errors.BadInput(f"There is no moment {word[:40]!r}.", f"One of: {', '.join(Moment)}.", code="USAGE")
