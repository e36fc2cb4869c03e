"""A whole small house with made-up time, chance, processes and bell: verbs run on a real store."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from rookery import config
from rookery.client.local import LocalClient
from rookery.core.caller import Caller
from rookery.core.errors import RookError
from rookery.core.ownership import Claim
from rookery.runtime.acceptances import Acceptances
from rookery.runtime.changesets import Worktrees
from rookery.runtime.shelf import Shelf
from rookery.service.policies import POLICIES
from rookery.service.world import WritePolicy
from rookery.store.sqlite import SqliteStore
from tests.support import ledger
from tests.support.fakes import BOOT, HOST, FakeBell, FakeChance, FakeClock, FakeDirectory, FakeMachine, FakeProber
from tests.support.stores import prepared

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
Build = Callable[..., "Stage"]  # of the fixture `build`


class Stage:
    """Also the `World` that its verbs see. Agents that join here get a process of their own, running until told."""

    host = HOST
    policies: Sequence[WritePolicy] = POLICIES

    def __init__(
        self,
        path: Path | str,
        *,
        team: str = "crew",
        groups: Mapping[str, Sequence[str]] = {},
        roles: Mapping[str, str] = {},
        store: SqliteStore | None = None,
        clock: FakeClock | None = None,
        **settings: Any,
    ) -> None:
        self.clock = clock or FakeClock()
        self.prober = FakeProber()
        self.machine = FakeMachine()
        self.chance = FakeChance()
        self.bell = FakeBell()
        self.directory = FakeDirectory(groups, roles)
        self.store = store or SqliteStore(prepared(path), self.clock)
        self.team = team
        flags = {name.replace("__", "."): value for name, value in settings.items()}
        self.settings = config.load(environ={}, user_file=None, repo_file=None, flags=flags)
        self.claim: Claim | None = None
        self.acceptances = Acceptances(os.path.dirname(self.store.location), os.path.dirname(self.store.location))
        self.client = LocalClient(self.store, self.bell, self, team)
        self._pids = 1000
        self._joined: dict[str, tuple[int, str]] = {}
        self._eye: apsw.Connection | None = None  # what looks at the ledger from outside is kept: opening costs most

    @property
    def shelf(self) -> Shelf:
        return Shelf(os.path.dirname(self.store.location), ("teams", self.team, "artifacts"))

    @property
    def workspaces(self) -> Worktrees:
        return Worktrees()

    @property
    def boot(self) -> str:
        return self.clock.boot()

    # -- calling -----------------------------------------------------------------------------------------------------

    def caller(self, agent: str | None = None, **more: Any) -> Caller:
        """Someone who says a name calls from beneath the process that joined under it, as commands do."""
        above = {"lineage": (self._joined[agent.lower()],)} if agent and agent.lower() in self._joined else {}
        return Caller(**{"agent": agent, "host": HOST, "boot": BOOT, "cwd": "/work", **above, **more})

    def call(self, verb: str, as_: str | Caller | None = None, **args: Any) -> Any:
        caller = as_ if isinstance(as_, Caller) else self.caller(as_)
        return self.client.call(verb, args, caller)

    def process(self, state: str = "running") -> tuple[int, str]:
        """A new process of this machine."""
        self._pids += 1
        identity = (self._pids, f"t{self._pids}")
        self.prober.states[identity] = state
        return identity

    def join(
        self, name: str = "", *, process: tuple[int, str] | None = None, cwd: str = "/work", **args: Any
    ) -> dict[str, Any]:
        process = process or self.process()
        joined = self.call("join", self.caller(process=process, cwd=cwd), name=name, **args)
        self._joined[joined["name"].lower()] = process
        return joined

    def join_all(self, *names: str) -> None:
        for name in names:
            self.join(name)

    def send(self, sender: str | Caller | None, to: str | list[str], subject: str = "Hello", **args: Any) -> Any:
        return self.call("send", sender, to=[to] if isinstance(to, str) else to, subject=subject, **args)

    # -- looking -----------------------------------------------------------------------------------------------------

    def seq(self) -> int:
        """The number of the team's newest event."""
        return self.call("events")["newest"]

    def events(self, *types: str) -> list[dict[str, Any]]:
        found = self.call("events", limit=10_000)["events"]
        return [event for event in found if not types or event["type"] in types]

    def inbox(self, agent: str, **filters: Any) -> list[dict[str, Any]]:
        return self.call("inbox", agent, **filters)["messages"]

    def subjects(self, agent: str, **filters: Any) -> list[str]:
        return [message["subject"] for message in self.inbox(agent, **filters)]

    def refused(self, verb: str, as_: str | Caller | None = None, **args: Any) -> RookError:
        """The refusal of a call, which must leave nothing behind but, at most, a record that it was tried."""
        before = self.rows()
        with pytest.raises(RookError) as caught:
            self.call(verb, as_, **args)
        left = ledger.without_attempts(self.rows())
        assert left == ledger.without_attempts(before), "a refused call left something behind"
        assert caught.value.message
        assert str(caught.value).isprintable(), "an error must be fit for a terminal"
        return caught.value

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything the ledger holds but the full-text shadow tables."""
        return ledger.everything_in(self._look())

    def faults(self) -> list[str]:
        return ledger.faults_in(self._look())

    def _look(self) -> apsw.Connection:
        self._eye = self._eye or ledger.look(self.store.location)
        return self._eye

    def close(self) -> None:
        if self._eye is not None:
            self._eye.close()
        self.store.close()
