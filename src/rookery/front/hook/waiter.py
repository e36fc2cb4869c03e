"""A process beside an idle agent program: it ends, with the mail, when there is some.

It is started by the program itself (a hook in the background, a plugin) and lives no longer than there is a use for it:
until it has handed something over, until another waits in its place, until the session is someone else's, until the
program is gone, or until its time is over. In between it sleeps on the bell. What comes in a burst is one digest.
"""

import time
from collections.abc import Mapping
from typing import Any

from rookery.client import waiting
from rookery.core import errors, names
from rookery.core.hooks import WAIT_S, Moment, Phase
from rookery.front.cli.call import Desk, Later, Reply
from rookery.hosts import profile
from rookery.hosts.profile import Profile
from rookery.runtime import lineage, process
from rookery.wake.port import EVERYONE, Listener

from .answering import mail_limit

JOIN_S = 20.0  # a session is begun by another hook of the same moment
POLL_S = 5.0  # beneath the bell: a lost ring costs this much
QUIET_S, GATHER_S = 0.25, 2.0  # what comes without such a pause is one digest; but nothing waits longer than that
MARGIN_S = 60.0  # it ends before it is ended


def waited(desk: Desk, host: Profile) -> Reply:
    if host.forms.wake is None:
        raise errors.BadInput(
            f"{host.title} has no door of its own to an idle session.", "Mail reaches it in its turns.", code="USAGE"
        )
    name, value = host.stays
    if name and desk.call.environ.get(name) != value:
        return Reply()  # it ends with its turn, and would wait for us
    process.end_in_order()
    waiter = _Waiter(desk, host)
    try:
        return waiter.run()
    finally:
        waiter.leave()


class _Waiter:
    def __init__(self, desk: Desk, host: Profile) -> None:
        self._desk = desk
        self._host = host
        self._client = desk.house.client
        self._program = lineage.binding(desk.chain)
        mine = process.identify(desk.call.peer)
        self._mine = {"pid": mine.pid, "started": mine.started} if mine else None
        self._caller = desk.caller()
        self._listed = False
        self._name = ""
        self._ends = time.monotonic() + WAIT_S - MARGIN_S

    def run(self) -> Reply:
        if self._mine is None or not self._registered():
            return Reply()
        while True:
            found = self._heard()
            if not isinstance(found, str):
                return found or Reply()

    def _heard(self) -> Reply | str | None:
        with self._client.listen(self._name) as listener:
            left = self._ends - time.monotonic()
            return waiting.until(listener, lambda: self._look(listener), timeout_s=left, poll_s=POLL_S)

    def leave(self) -> None:
        """Whoever looks for a way to this session finds no process that is not there."""
        if not self._listed:
            return
        try:
            self._client.call("turn.wait", {**(self._mine or {}), "over": True}, self._caller)
        except errors.RookError:
            return  # the session is another's by now, or the store is busy: its address tells that nobody is there

    # -- being there -----------------------------------------------------------------------------------------------

    def _registered(self) -> bool:
        with self._client.listen(EVERYONE) as listener:
            return bool(waiting.until(listener, self._register, timeout_s=JOIN_S, poll_s=1.0))

    def _register(self) -> bool:
        try:
            told = self._client.call("turn.wait", self._mine or {}, self._caller)
            # From here on it is this very session, whoever has the name later.
            self._caller = self._caller._replace(agent=None, lineage=(), session=told["session"])
            self._listed, self._name = True, told["agent"]
            if self._host.rests_later:
                self._client.call("turn.phase", {"phase": Phase.IDLE}, self._caller)
        except errors.RookError:
            return False
        return True

    # -- looking ---------------------------------------------------------------------------------------------------

    def _look(self, listener: Listener) -> Reply | str | None:
        """The reply to end with; the agent's new name, to listen to; or nothing so far."""
        if self._program is not None and process.state(*self._program) == process.DEAD:
            return Reply()
        try:
            told = self._asked()
            if told["text"]:
                end = time.monotonic() + GATHER_S
                while time.monotonic() < end and listener.wait(QUIET_S):
                    pass
                told = self._asked()
        except errors.Unreachable:
            return None  # the store is busy, or the daemon away
        except errors.RookError:
            self._listed = False
            return Reply()
        if told["leave"]:
            self._listed = False
            return Reply()
        if told["text"]:
            return self._handed(told)
        return self._moved(told["agent"])

    def _asked(self) -> Mapping[str, Any]:
        return self._client.call("turn.idle", {**(self._mine or {}), "limit": mail_limit(self._host)}, self._caller)

    def _moved(self, name: str) -> str | None:
        if names.key(name) == names.key(self._name):
            return None
        self._name = name
        return name

    def _handed(self, told: Mapping[str, Any]) -> Reply:
        """It is busy with that as soon as it was said, whether or not a hook tells so too."""
        self._listed = False  # until then it is reached here, and by nothing else
        out, err, code = profile.wake(self._host, told["text"])
        shown = {"moment": Moment.IDLE, "shown": told["shown"], "upto": told["upto"], "channel": "door",
                 "phase": Phase.BUSY}  # fmt: skip
        return Reply(out, err, code, Later("turn.told", shown, self._desk.call.cwd, self._desk.options))
