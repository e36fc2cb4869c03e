"""Watching over the sessions of this machine: a look every half minute, and a word only when something changed.

One look takes the processes of the machine as they are and asks every tmux server once for its panes, and every holder
of a terminal for its own. No screen is read, and while all is as it was nothing is written.

    sessions ──> processes, panes ──> news ──> report (only those of which there is any)

An agent program that was started anew in the pane of a session whose process is gone, in the same folder, and that has
the terminal, is offered as that session's successor once it was there at two looks in a row: a program that joins by
its own hooks has done so by then, under a name of its own.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from rookery.core import agent_programs
from rookery.core.record import NamedTuple
from rookery.core.vitals import Terminal
from rookery.runtime import process, ptys, tmux, vitals

from .courier import Verbs
from .services import BackgroundService

SERVICE = "monitor"
log = logging.getLogger("rookery.monitor")

Session = Mapping[str, Any]
Panes = Callable[[str], "dict[str, tmux.Shown] | None"]


class Used(NamedTuple):
    cpu_ms: int
    at: float


class Monitor:
    def __init__(self, verbs: Verbs, *, every_s: float, panes: Panes = tmux.panes) -> None:
        self._verbs = verbs
        self.service = BackgroundService(SERVICE, self.look, every_s=every_s, waits_first=True)
        self._panes = panes
        self._used: dict[tuple[int, str], Used] = {}  # at the look before
        self._successors: dict[str, tuple[int, str]] = {}  # by the session they would go on with, at the look before
        self.looks = 0

    async def look(self) -> None:
        """One look at every session of this machine."""
        found = {team: await self._sessions(team) for team in await self._verbs.teams()}
        if any(found.values()):
            seen = await asyncio.to_thread(self._seen, [each for sessions in found.values() for each in sessions])
            for team, sessions in found.items():
                await self._tell(team, [seen[each["session"]] for each in sessions if each["session"] in seen])
        self.looks += 1

    async def _sessions(self, team: str) -> list[Session]:
        return (await self._verbs.call(team, "monitor.sessions", {}))["sessions"]

    async def _tell(self, team: str, seen: Sequence[Mapping[str, Any]]) -> None:
        if not seen:
            return
        new = set((await self._verbs.call(team, "monitor.news", {"seen": seen}))["sessions"])
        if not new:
            return
        worth = [each for each in seen if each["session"] in new]
        told = (await self._verbs.call(team, "monitor.report", {"seen": worth}))["told"]
        if told:
            log.info("sessions of %s: %s", team, ", ".join(f"{name} {what}" for name, what in told.items()))

    # -- one look ------------------------------------------------------------------------------------------------------

    def _seen(self, sessions: Sequence[Session]) -> dict[str, dict[str, Any]]:
        """By session. One whose successor is not certain yet is left out: it is looked at again."""
        processes = vitals.snapshot()
        servers = self._servers(sessions)
        before, self._used = self._used, {}
        waiting, self._successors = self._successors, {}
        found: dict[str, dict[str, Any]] = {}
        for each in sessions:
            pane = _pane(each, servers.get(_socket(each)))
            told: dict[str, Any] = {"session": each["session"], "terminal": _state(each, pane, servers)}
            told |= self._measured(each, processes, before)
            heir = _successor(each, pane, processes) if each["dead"] and pane else None
            if heir is not None:
                self._successors[each["session"]] = heir
                if waiting.get(each["session"]) != heir:
                    continue
                told["successor"] = {"pid": heir[0], "started": heir[1]}
            found[each["session"]] = told
        return found

    def _servers(self, sessions: Sequence[Session]) -> dict[str, dict[str, tmux.Shown] | None]:
        """Everything that shows terminals, by its socket, each asked once."""
        found = {_socket(each): each["terminal"] for each in sessions if _socket(each)}
        return {
            socket: ptys.panes(where) if where.get("kind") == ptys.KIND else self._panes(socket)
            for socket, where in found.items()
        }

    def _measured(
        self, each: Session, processes: vitals.Snapshot, before: Mapping[tuple[int, str], Used]
    ) -> dict[str, int]:
        who = (each["pid"], each["started"])
        if each["dead"] or processes.find(*who) is None:
            return {}
        now, taken = monotonic(), processes.taken(each["pid"])
        self._used[who] = Used(taken.cpu_ms, now)
        told = {"memory": taken.memory_kib}
        last = before.get(who)
        if last and now > last.at:  # children that went elsewhere take their time with them
            told["cpu"] = max(0, round((taken.cpu_ms - last.cpu_ms) / (now - last.at) / 10))
        return told


# -- terminals -------------------------------------------------------------------------------------------------------


def _socket(each: Session) -> str:
    found = each["terminal"].get("socket", "")
    return found if isinstance(found, str) else ""


def _pane(each: Session, panes: Mapping[str, tmux.Shown] | None) -> tmux.Shown | None:
    """The pane of its address, if it is still that one: after a restart of the server its id is someone else's."""
    found = (panes or {}).get(each["terminal"].get("pane", ""))
    return found if found and _server(each) in ("", found.server) else None


def _server(each: Session) -> str:
    """The process that shows its terminal, a server of tmux or a holder."""
    return each["terminal"].get("server", "") or each["terminal"].get("holder", "")


def _state(each: Session, pane: tmux.Shown | None, servers: Mapping[str, Any]) -> str:
    if servers.get(_socket(each)) is None:
        return Terminal.UNKNOWN
    return Terminal.LIVES if pane else Terminal.GONE


def _successor(each: Session, pane: tmux.Shown, processes: vitals.Snapshot) -> tuple[int, str] | None:
    """The same agent program, younger than the session's own process, in its pane, folder and terminal."""
    if not pane.server or _server(each) != pane.server or each["program"] not in agent_programs.NAMES:
        return None
    born = each["started"].partition("@")[0]
    for found in processes.tree(pane.first):
        if agent_programs.recognize(found.name, process.command(found.pid)) != each["program"]:
            continue
        younger = born.isdecimal() and found.age > int(born)
        if younger and process.folder(found.pid) == each["cwd"] and process.has_its_terminal(found.pid):
            return found.pid, found.started
        return None  # below it there are only its own
    return None
