"""Who sits at a connection: the agent that joined through it, or the one it was given from outside.

A model cannot choose its identity call by call. It may take one name by `join`; afterwards the connection has it, and
the session's epoch fences it like any other. Where the verbs are done, and what is known of whoever connects, differs
from door to door; what a seat is does not.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio import to_thread

from rookery import app
from rookery.core import errors, names
from rookery.core.caller import Caller
from rookery.front.cli.call import terminal_of
from rookery.hosts import known as hosts
from rookery.runtime import git, lineage, process

from .news import News


class Seat(ABC):
    """One connection of a model."""

    team: str
    reads_only = False
    run = ""  # of a worker's program, where that can be told: what its own token proves elsewhere

    def __init__(self, name: str = "") -> None:
        self._name = name  # given from outside, or taken
        self._session: str | None = None

    # -- what a door knows -------------------------------------------------------------------------------------

    @abstractmethod
    async def done(self, verb: str, args: Mapping[str, Any], caller: Caller) -> Any:
        """Do a verb where this door does them."""

    @abstractmethod
    def given(self) -> Caller:
        """Who calls, as far as the connection tells before anybody joined through it."""

    @abstractmethod
    def binding(self) -> Caller:
        """Whom a join binds."""

    @abstractmethod
    def known(self) -> Mapping[str, Any]:
        """What a join tells besides what the model says."""

    @abstractmethod
    def changes(self) -> AsyncGenerator[set[str]]:
        """The resources of its team that changed, for ever; at first an empty set, once nothing is missed any more."""

    @asynccontextmanager
    async def present(self) -> AsyncGenerator[None]:
        """While somebody listens here. Where a process can be looked at, that tells who is there."""
        yield

    async def is_welcome(self) -> bool:
        """Is what let it in still good? Asked before it is told that something changed."""
        return True

    def dismiss(self) -> None:
        """End what it waits for here. Whoever is always welcome waits on."""
        return

    # -- what a seat is ----------------------------------------------------------------------------------------

    def caller(self) -> Caller:
        given = self.given()
        return given if self._session is None else given._replace(agent=None, lineage=(), session=self._session)

    async def call(self, verb: str, args: Mapping[str, Any]) -> Any:
        return await self.done(verb, args, self.caller())

    async def me(self) -> str:
        """The agent's name. A model that has none yet is not taken for the person."""
        name: str = (await self.call("worker.self", {}))["agent"]
        if name in ("", names.PERSON):
            hint = f"Call join first: you become {self._name}." if self._name else "Call join first."
            raise errors.Refused("You have no name in this team yet.", hint, code="WHO_ARE_YOU")
        return name

    async def worker(self) -> dict[str, Any] | None:
        """The worker that sits here, if one does: its `done`, `ask`, `fail` and `progress` are its report."""
        return (await self.call("worker.self", {}))["worker"]

    async def join(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Once. The same name again goes on with what it has, or, where another took it over, asks for it back."""
        mine = await self._still()
        held = mine or self._name
        asked = args.get("name") or held
        if held and names.key(asked) != names.key(held):
            raise errors.Refused(
                f"You are {held} here.", "One connection is one agent: join as it, or go on.", code="ALREADY_NAMED"
            )
        named = {"name": asked} if asked else {}
        caller = self.binding()._replace(session=self._session if mine else None)
        joined: dict[str, Any] = await self.done("join", {**args, **self.known(), **named}, caller)
        self._name, self._session = joined["name"], joined["session"]
        return joined

    async def _still(self) -> str:
        """What the agent that joined here is called now; nothing if nobody did, or if it was put out."""
        if self._session is None:
            return ""
        try:
            return await self.me()
        except errors.RookError:
            return ""


class LocalSeat(Seat):
    """On this machine, in a process of its own: the program above this process is the agent."""

    def __init__(self, house: app.House, peer: int) -> None:
        self._agent = house.environ.get("ROOK_AGENT", "")
        self._is_known = False  # the name in ROOK_AGENT belongs to an agent of the team
        super().__init__(self._agent)
        self.team = house.team
        self.run = house.environ.get("ROOK_RUN", "")
        self._house = house
        self._chain = process.ancestors(peer)
        self._peer = peer
        self._origin = lineage.origin(peer, self._chain)

    async def done(self, verb: str, args: Mapping[str, Any], caller: Caller) -> Any:
        """A model whose ROOK_AGENT has not joined yet calls without a name, and `me` tells it to join."""
        named = await self._known(caller)
        return await to_thread.run_sync(self._house.client.call, verb, args, named)

    async def _known(self, caller: Caller) -> Caller:
        if caller.agent is None or self._is_known:
            return caller
        try:
            await to_thread.run_sync(self._house.client.call, "worker.self", {}, caller)
        except (errors.UnknownName, errors.BadInput):
            return caller._replace(agent=None, lineage=())
        self._is_known = True
        return caller

    def given(self) -> Caller:
        lineage = tuple((each[0].pid, each[0].started) for each in self._chain)
        return self._house.caller(self._agent or None, lineage=lineage, origin=self._origin)

    def binding(self) -> Caller:
        bound = lineage.binding(self._chain)
        return self._house.caller(None, process=tuple(bound) if bound else None, origin=self._origin)

    def known(self) -> Mapping[str, Any]:
        bound = lineage.binding(self._chain)
        program = lineage.program_name(self._chain, bound)
        terminal = terminal_of(self._house.environ, self._peer) if program in hosts.TITLES else None
        return {"branch": git.branch(self._house.cwd) or "", "program": program, "resume": True, "terminal": terminal}

    async def changes(self) -> AsyncGenerator[set[str]]:
        news, poll_s = News(self._house.client, await self._known(self.given())), self._house.settings["poll.s"]
        await to_thread.run_sync(news.begin)
        yield set()
        while True:
            try:
                found = await to_thread.run_sync(news.wait, poll_s, abandon_on_cancel=True)
            except errors.RookError:  # the store is busy, or the daemon away: a change that waits is not lost
                await anyio.sleep(poll_s)
                continue
            yield found
