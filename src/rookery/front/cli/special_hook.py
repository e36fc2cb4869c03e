"""`rook hook`: an agent program asks before, after and between its tools. (The design is in `front.hook`.)"""

from typing import Any

from rookery import door
from rookery.core import errors
from rookery.core.hooks import Moment
from rookery.front.hook import answering
from rookery.front.hook.seen import Seen
from rookery.hosts import known, profile

from .call import Desk, Reply


def answered(desk: Desk, read: dict[str, Any]) -> Reply:
    """Whatever fails here is answered by policy (`core.hook_failures`): it stops a tool, or is told and lets it run."""
    seen = Seen(read["closed"])
    try:
        return _answered(desk, read, seen)
    except Exception as error:
        from rookery.front.hook import failures

        return failures.reply(seen.desk or desk, seen, error)
    finally:
        if seen.desk is not None:
            seen.desk.close()


def _answered(desk: Desk, read: dict[str, Any], seen: Seen) -> Reply:
    moment = seen.moment = _moment(read["moment"])
    host = seen.host = _host(desk, read["host"])
    event = profile.read(host, answering.parsed(_event(desk)), moment)
    if seen.closed and event.moment is Moment.OTHER:
        raise errors.BadInput("The event tells no moment.", "Give it: `rook hook HOST before`.", code="BAD_EVENT")
    seen.event = event
    there = answering.placed(desk, event)
    seen.desk = there if there is not desk else None
    if moment is Moment.IDLE:
        from rookery.front.hook import waiter

        return waiter.waited(there, host)
    done = answering.at(there, host, event, closed=seen.closed)
    return Reply(profile.write(host, event, done.answer), later=done.later)


def _event(desk: Desk) -> str:
    raw = desk.call.read_stdin()
    if len(raw) > door.STDIN_LIMIT:
        raise errors.BadInput(f"The event has more than {door.STDIN_LIMIT:,} characters.", code="BAD_EVENT")
    return raw


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
