"""Commands of the guard that are more than one call: standing in line, and running a command under a slot."""

import os
import signal
from typing import Any

from rookery.client.holds import Granted, Hold, obtain
from rookery.client.leases import keep
from rookery.core import errors, times
from rookery.core.caller import Caller
from rookery.runtime import children, process

from .call import Desk, Reply
from .router import answer, typed


def reserve(desk: Desk, read: dict[str, Any]) -> Reply:
    granted, _ = _obtain(desk, "reserve", read, bound=False)
    return answer(desk, "reserve", granted.answer)


def slot_take(desk: Desk, read: dict[str, Any]) -> Reply:
    command = read.pop("command")
    granted, caller = _obtain(desk, "slot.take", read, bound=bool(command))
    if not command:
        return answer(desk, "slot.take", granted.answer)
    return _run_under(desk, keep(Hold(desk.house.client, caller, granted), lambda: _another(desk)), command)


def _obtain(desk: Desk, verb: str, read: dict[str, Any], *, bound: bool) -> tuple[Granted, Caller]:
    """Whoever stands in line is this process, and it is gone from the line when it is gone."""
    ttl, wait = read.pop("ttl"), read.pop("wait")
    args = typed(desk, verb, read) | {"bound": bound}
    if ttl is not None:
        args["ttl_ms"] = times.parse_span(ttl)
    wait_s = times.parse_span(wait) / 1000 if wait is not None else None
    caller = desk.caller(process=process.identify(os.getpid()))
    house = desk.house
    return obtain(house.client, caller, verb, args, wait_s=wait_s, poll_s=house.settings["poll.s"]), caller


def _another(desk: Desk) -> Any:
    from rookery.app import open_house

    return open_house(cwd=desk.call.cwd, environ=desk.call.environ, team=desk.options.team).client


def _run_under(desk: Desk, hold: Hold, command: list[str]) -> Reply:
    """The slot is the command's own from its start on: it stays taken while the command runs, even if we are killed."""
    with hold:
        try:
            child = children.Foreground(command, environ=desk.call.environ, cwd=desk.call.cwd)
        except errors.Refused as error:
            hold.release(error.message)
            return Reply(err=f"rook: {error.message}\n", code=error.facts["exit"])
        hold.on_lost = lambda: child.send(signal.SIGTERM)
        identity = process.identify(child.pid)
        try:
            if identity is not None:
                hold.pass_to(identity)
        except errors.RookError:  # ended already, or lost: both are found out below
            pass
        code = child.finished()
        if hold.lost is not None:
            hold.finish()
            told = f"rook: {hold.lost.message} The command was told to end.\n      {hold.lost.hint}\n"
            return Reply(err=told, code=hold.lost.exit_code)
        hold.release(f"{command[0]} ended with {code}")
        return Reply(code=code)
