"""The composition root: the only place that names implementations. Doors ask here for a house to work in."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rookery import config
from rookery.client.local import LocalClient
from rookery.client.placed import Ground, PlacedClient
from rookery.core import errors, names
from rookery.core.caller import Caller
from rookery.runtime import clock, folders, git, places, process

if TYPE_CHECKING:
    from rookery.client.handles import Team
    from rookery.client.port import Client
    from rookery.client.queued import QueuedClient
    from rookery.core.kinds import Found
    from rookery.core.ports import Clock, Machine, Shelf, Workspaces
    from rookery.service.tx import WritePolicy
    from rookery.store.port import Store
    from rookery.wake.port import Bell


QUICK_READ_S = 0.02  # as long as a read may keep a resident process from everything else
CHECK_S = 1.0  # as long as the store is checked when someone asks for health
KNOWN_TEAMS = 1000
OUR_KINDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hosts", "kinds")
PATIENCE = ("store.busy_s", "store.read_s")  # settings that a connection is opened with


class TeamDirectory:
    """Who belongs to a group by the team's definition: the settings, and folders of agent files."""

    def __init__(self, settings: config.Settings, root: str, cwd: str, user_file: str | None = None) -> None:
        self._settings = settings
        self._root = root
        self._cwd = cwd
        self._user_file = user_file

    def members(self, group: str) -> Sequence[str]:
        listed = self._settings["groups"].get(group, [])
        found = folders.group_members(self._root, self._cwd, self._settings["group_folders"], group)
        return list(dict.fromkeys([*listed, *found]))

    def groups(self) -> Sequence[str]:
        return sorted(self._settings["groups"])

    def is_defined(self, name: str) -> bool:
        key = names.key(name)
        listed = [*self._settings["agents"], *(m for group in self._settings["groups"].values() for m in group)]
        leader = self._settings["leader"]
        return key in {names.key(other) for other in ([*listed, leader] if leader else listed)}

    def role(self, name: str) -> str:
        entry = self._settings["agents"].get(name, {})
        return str(entry.get("role", ""))

    def with_role(self, role: str) -> Sequence[str]:
        return sorted(name for name, entry in self._settings["agents"].items() if entry.get("role") == role)

    def lens(self, name: str) -> str | None:
        return folders.lens(self._lens_folders, name)

    def lenses(self) -> Sequence[tuple[str, str, str]]:
        return folders.lenses(self._lens_folders)

    def kind(self, name: str) -> "Sequence[Found]":
        return self._kinds(name)

    def kinds(self) -> "Sequence[Found]":
        return self._kinds("")

    def _kinds(self, name: str) -> "Sequence[Found]":
        ours, *others = self._kind_folders
        return [*folders.kinds([ours], name), *self._kinds_of_extensions(name), *folders.kinds(others, name)]

    def _kinds_of_extensions(self, name: str) -> "Sequence[Found]":
        from rookery import extensions
        from rookery.core import kinds

        written = [
            each for each in extensions.kinds(self._settings) if not name or names.key(each.name) == names.key(name)
        ]
        large = f"it has more than {kinds.LIMIT:,} bytes"
        return [
            kinds.Found(each.name, kinds.EXTENSION, each.where, each.text, each.problem)
            if len(each.text.encode()) <= kinds.LIMIT
            else kinds.Found(each.name, kinds.EXTENSION, each.where, "", large)
            for each in written
        ]

    @property
    def _kind_folders(self) -> Sequence[tuple[str, str]]:
        """(layer, folder), the weakest first."""
        user = os.path.dirname(self._user_file) if self._user_file else ""
        found = (("built in", OUR_KINDS), ("user", user and os.path.join(user, "kinds")),
                 ("repository", os.path.join(self._root, ".rook", "kinds")))  # fmt: skip
        return [(layer, folder) for layer, folder in found if folder]

    @property
    def _lens_folders(self) -> Sequence[str]:
        """The repository's own come first."""
        user = os.path.dirname(self._user_file) if self._user_file else ""
        return [os.path.join(base, "lenses") for base in (os.path.join(self._root, ".rook"), user) if base]


class House:
    """Everything one process needs for one team. What is costly is made when it is first asked for."""

    def __init__(
        self,
        where: places.Places,
        settings: config.Settings,
        cwd: str,
        environ: Mapping[str, str],
        remote: places.Remote | None = None,
    ) -> None:
        self.places = where
        self.remote = remote  # a daemon that keeps the ledger; there is none of it here then
        self.settings = settings
        self.cwd = cwd
        self.environ = environ
        self.team = where.team
        self.clock: Clock = clock.SystemClock()
        self.prober = clock.SystemProber()
        self.chance = clock.SystemChance()
        self.directory = TeamDirectory(settings, where.root, cwd, where.user_file)
        self.host = process.host_name()

    @property
    def policies(self) -> "Sequence[WritePolicy]":
        from rookery.service.policies import POLICIES

        return POLICIES

    @property
    def shelf(self) -> "Shelf":
        from rookery.runtime import shelf

        places.prepare_home(self.places.home)
        return shelf.Shelf(self.places.home, self.places.artifacts)

    @property
    def workspaces(self) -> "Workspaces":
        from rookery.runtime import changesets

        return changesets.Worktrees()

    @property
    def machine(self) -> "Machine":
        from rookery.runtime import surroundings

        return surroundings.Surroundings(self.places.home, self.team, self.places.store, self._is_whole)

    def _is_whole(self) -> tuple[bool | None, str]:
        """On a connection of its own: whatever is wrong with the store, opening it is a part of the question."""
        store = self.new_store()
        try:
            return store.is_whole(CHECK_S)
        finally:
            store.close()

    @property
    def boot(self) -> str:
        return self.clock.boot()

    @cached_property
    def store(self) -> "Store":
        return self.new_store()

    def new_store(self, read_s: float | None = None) -> "Store":
        """A connection of its own."""
        from rookery.store.sqlite import SqliteStore

        if self.remote is not None:
            raise errors.Refused(
                f"The store is with the daemon at {self.remote.url}.", "Do this there, without ROOK_URL.", code="REMOTE"
            )
        places.prepare_home(self.places.home)
        places.create_private(self.places.store)
        return SqliteStore(
            self.places.store,
            self.clock,
            busy_s=self.settings["store.busy_s"],
            read_s=self.settings["store.read_s"] if read_s is None else read_s,
        )

    @cached_property
    def bell(self) -> "Bell":
        from rookery.wake.datagram import DatagramBell

        return DatagramBell(self.places.home)

    @cached_property
    def client(self) -> "Client":
        return PlacedClient(self._client(), Ground(self.cwd, self.places.root))

    def _client(self) -> "Client":
        if self.remote is not None:
            from rookery.client.http import HttpClient

            return HttpClient(self.remote.url, self.remote.token, self.team)
        return LocalClient(self.store, self.bell, self, self.team)

    def neighbour(self, team: str) -> "House":
        """Another team of the same home. Its repository is not known here, so its file of settings is not read."""
        where = self.places._replace(
            team=team, root=self.places.home, repo_file=None, artifacts=places.artifacts_of(team)
        )
        settings = config.load(environ=self.environ, user_file=where.user_file, repo_file=None)
        return House(where, settings, self.places.home, self.environ)

    def caller(self, agent: str | None = None, **more: Any) -> Caller:
        """A caller on this machine, in this folder."""
        return Caller(agent=agent, host=self.host, boot=self.boot, cwd=self.cwd, tree=self.places.root, **more)

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()
        if self.remote is not None and "client" in self.__dict__:
            self.client.close()


def open_house(
    *, cwd: str, environ: Mapping[str, str], team: str | None = None, flags: Mapping[str, Any] | None = None
) -> House:
    where = places.find(cwd=cwd, environ=environ, team=team)
    settings = config.load(environ=environ, user_file=where.user_file, repo_file=where.repo_file, flags=flags or {})
    return House(where, settings, os.path.abspath(cwd), environ, places.remote(cwd, environ))


def open_queue(house: House) -> "QueuedClient":
    """The verbs of every team of the home, for a resident process."""
    from rookery.client.queued import QueuedClient, Stores

    stores = Stores(house.new_store(), house.new_store(QUICK_READ_S), house.new_store)
    return QueuedClient(stores, house.bell, _worlds(house))


def open_guests(own: House, queue: "QueuedClient") -> Callable[..., House]:
    """Opens houses for callers of a resident process: their folder, settings and team; its ledger and bell."""
    from rookery.client.queued import TeamOfQueue

    def opened(*, cwd: str, environ: Mapping[str, str], team: str | None = None) -> House:
        house = open_house(cwd=cwd, environ=environ, team=team)
        if house.remote is not None or house.places.store != own.places.store:
            raise errors.Refused(
                f"This daemon keeps {own.places.store}.", "Do it in a process of its own.", code="OTHER_STORE"
            )
        if all(house.settings[name] == own.settings[name] for name in PATIENCE):
            house.bell, house.clock = own.bell, own.clock
            house.client = PlacedClient(TeamOfQueue(queue, house.team, house), Ground(house.cwd, house.places.root))
        return house  # with patience of its own it has a connection of its own, closed with it

    return opened


def _worlds(house: House) -> Callable[[str], House]:
    known = {house.team: house}

    def world_of(team: str) -> House:
        if team not in known:
            if len(known) > KNOWN_TEAMS:  # settings are read anew then; names come from outside and have no end
                known.clear()
                known[house.team] = house
            known[team] = house.neighbour(team)
        return known[team]

    return world_of


def connect(*, team: str | None = None, cwd: str | None = None, home: str | None = None) -> "Team":
    """This repository's team, in the embedded store. Nothing has to run for it."""
    from rookery.client.handles import Team

    environ = dict(os.environ)
    if home is not None:
        environ["ROOK_HOME"] = os.fspath(home)
        environ.pop("ROOK_STORE", None)
    here = cwd or os.getcwd()
    house = open_house(cwd=here, environ=environ, team=team)
    return Team(
        house.client,
        house.caller(os.environ.get("ROOK_AGENT")),
        another=lambda: open_house(cwd=here, environ=environ, team=team).client,
        process=process.identify(os.getpid()),
        poll_s=house.settings["poll.s"],
        branch=git.branch(house.cwd) or "",
        run=environ.get("ROOK_RUN", ""),
    )
