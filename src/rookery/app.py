"""The composition root: the only place that names implementations. Doors ask here for a house to work in."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rookery import config
from rookery.client.local import LocalClient
from rookery.client.placed import Ground, PlacedClient
from rookery.core import errors, names, trust
from rookery.core.caller import Caller
from rookery.runtime import acceptances, clock, files, folders, git, lineage, places, process

if TYPE_CHECKING:
    from rookery.client.handles import Team
    from rookery.client.port import Client
    from rookery.client.queued import QueuedClient
    from rookery.core.caller import Grant
    from rookery.core.kinds import Found
    from rookery.core.ownership import Claim
    from rookery.core.ports import Clock, Machine, Shelf, Workspaces
    from rookery.service.world import WritePolicy
    from rookery.store.port import Store
    from rookery.wake.port import Bell


QUICK_READ_S = 0.02  # as long as a read may keep a resident process from everything else
CHECK_S = 1.0  # as long as the store is checked when someone asks for health
KNOWN_TEAMS = 1000
OUR_KINDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hosts", "kinds")
HOST_FOLDER = os.path.join(".rook", "hosts")
HOST_LIMIT = 1 << 18
BUILT_IN_LENS = "built in"
PATIENCE = ("store.busy_s", "store.read_s")  # settings that a connection is opened with


class TeamDirectory:
    """Who belongs to a group by the team's definition: the settings, and folders of agent files."""

    def __init__(
        self,
        settings: config.Settings,
        root: str,
        cwd: str,
        user_file: str | None = None,
        accepts: config.Accepts = config.accepts_nothing,
    ) -> None:
        self._settings = settings
        self._root = root
        self._cwd = cwd
        self._user_file = user_file
        self._accepts = accepts

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
        return folders.lens(self._lens_folders, name, self._may_replace)

    def lenses(self) -> Sequence[tuple[str, str, str]]:
        return folders.lenses(self._lens_folders, self._may_replace)

    def _may_replace(self, path: str, written: str) -> bool:
        """A lens of the repository takes no other's place before it is accepted; the user's own does."""
        ours = os.path.join(self._root, ".rook") + os.sep
        return not path.startswith(ours) or self._accepts(self._digest(path, written))

    def kind(self, name: str) -> "Sequence[Found]":
        return self._kinds(name)

    def kinds(self) -> "Sequence[Found]":
        return self._kinds("")

    def _kinds(self, name: str) -> "Sequence[Found]":
        ours, *others = self._kind_folders
        files = [self._judged(found) for found in folders.kinds(others, name)]
        return [*folders.kinds([ours], name), *self._kinds_of_extensions(name), *files]

    def _judged(self, found: "Found") -> "Found":
        """A repository's file counts as far as the user accepted it."""
        if found.layer != "repository":
            return found
        digest = self._digest(found.where, found.written)
        return found._replace(accepted=self._accepts(digest), digest=digest)

    def _digest(self, path: str, written: str) -> str:
        """Of a file in the repository: the same in every worktree."""
        return trust.digest(os.path.relpath(path, self._root), written)

    def host(self, name: str) -> tuple[bytes, str]:
        """The repository's description of an agent program and its path; refused while the user has not accepted it."""
        path = os.path.join(self._root, HOST_FOLDER, f"{name}.toml")
        if os.path.islink(path) or not os.path.exists(path):
            return b"", ""
        data = files.read_limited(path, HOST_LIMIT)
        if not self._accepts(self._digest(path, data.decode("utf-8", "replace"))):
            raise errors.NotYours(
                f"{path} describes the agent program {name}, and you have not accepted it.", "`rook trust` shows it.",
                code="NOT_TRUSTED",
            )  # fmt: skip
        return data, path

    def file_requests(self) -> "Sequence[trust.Request]":
        """Files that count only once they are accepted: agent programs, and lenses that replace others."""
        return [self._requested(*each) for each in (*self._host_files(), *self._replacing_lenses())]

    def _requested(self, path: str, written: str, key: str, allows: str) -> trust.Request:
        digest = self._digest(path, written)
        return trust.Request(path, key, f"{len(written.encode()):,} bytes", allows, digest, self._accepts(digest))

    def _host_files(self) -> "Iterator[tuple[str, str, str, str]]":
        for name in folders.host_names(os.path.join(self._root, HOST_FOLDER)):
            path = os.path.join(self._root, HOST_FOLDER, f"{name}.toml")
            allows = "Describe an agent program: which of its tools the guard looks at, and how its terminal is read."
            yield path, files.read_limited(path, HOST_LIMIT).decode("utf-8", "replace"), f"host {name}", allows

    def _replacing_lenses(self) -> "Iterator[tuple[str, str, str, str]]":
        others = {names.key(name): where for name, _, where in folders.lenses(self._lens_folders[1:])}
        for name, written, path in folders.lenses(self._lens_folders[:1]):
            if names.key(name) in others and path != BUILT_IN_LENS:
                yield path, written, f"lens {name}", f"Replace the lens {name} ({others[names.key(name)]})."

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
        accepted: acceptances.Acceptances | None = None,
    ) -> None:
        self.places = where
        self.acceptances = accepted or acceptances.Acceptances(_home_of_store(where), where.root)
        self.remote = remote  # a daemon that keeps the ledger; there is none of it here then
        self.settings = settings
        self.cwd = cwd
        self.environ = environ
        self.team = where.team
        self.clock: Clock = clock.SystemClock()
        self.prober = clock.SystemProber()
        self.chance = clock.SystemChance()
        self.directory = TeamDirectory(settings, where.root, cwd, where.user_file, self.acceptances.accepts)
        self.host = process.host_name()
        self.services: Callable[[], list[dict[str, Any]]] | None = None  # the background services, in a daemon

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

        where = self.places
        return changesets.Worktrees("" if where.root == where.home else where.root)

    @property
    def machine(self) -> "Machine":
        from rookery.hosts import records
        from rookery.runtime import surroundings

        return surroundings.Surroundings(
            self.places.home, self.team, self.places.store, self._is_whole, records, self.services
        )

    def _is_whole(self) -> tuple[bool | None, str]:
        """On a connection of its own: whatever is wrong with the store, opening it is a part of the question."""
        store = self.new_store()
        try:
            return store.is_whole(CHECK_S)
        finally:
            store.close()

    @property
    def user_file(self) -> str:
        return self.places.user_file or ""

    @property
    def account_file(self) -> str:
        """The file of settings in the home of this Unix user, whatever the environment says."""
        return places.account_file()

    @property
    def boot(self) -> str:
        return self.clock.boot()

    @property
    def claim(self) -> "Claim | None":
        """The repository whose file names the team; None where the user named it, or nobody did."""
        return self._claim if self.places.team_source == self.places.repo_file else None

    @cached_property
    def _claim(self) -> "Claim":
        from rookery.core import trust
        from rookery.core.ownership import Claim, Owner
        from rookery.runtime import identity

        mine = identity.establish(self.acceptances.repository)
        accepted = self.acceptances.accepts(trust.digest("team", self.team))
        return Claim(
            self.places.team_source, Owner(mine.id, mine.path), accepted,
            lambda owner: owner.path != mine.path and identity.read(owner.path) == owner.id,
        )  # fmt: skip

    @cached_property
    def store(self) -> "Store":
        return self.new_store()

    def new_store(self, read_s: float | None = None) -> "Store":
        """A connection of its own."""
        from rookery.store.opening import check_same_file
        from rookery.store.sqlite import SqliteStore

        if self.remote is not None:
            raise errors.Refused(
                f"The store is with the daemon at {self.remote.url}.", "Do this there, without ROOK_URL.", code="REMOTE"
            )
        check_same_file(self.places.store)  # before anything could be made in the place of what was removed
        places.check_ledger(self.places.store)
        places.prepare_home(self.places.home)
        places.create_private(self.places.store)
        made = SqliteStore(
            self.places.store,
            self.clock,
            busy_s=self.settings["store.busy_s"],
            read_s=self.settings["store.read_s"] if read_s is None else read_s,
        )
        places.stamp_ledger(self.places.store)
        return made

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

            self._refuse_claim_elsewhere(self.remote)
            return HttpClient(self.remote.url, self.remote.token, self.team)
        return LocalClient(self.store, self.bell, self, self.team)

    def _refuse_claim_elsewhere(self, remote: places.Remote) -> None:
        """Which repository owns a team is not known of another machine's ledger: the user says the team there."""
        if self.claim is not None:
            raise errors.NotYours(
                f"{self.claim.file} asks for the team {self.team} at {remote.url}; a file does not choose it there.",
                f"Set ROOK_TEAM={self.team} if you want that team.", code="TEAM_NOT_YOURS", team=self.team,
            )  # fmt: skip

    def neighbour(self, team: str) -> "House":
        """Another team of the same home. Its repository is not known here, so its file of settings is not read."""
        where = self.places._replace(
            team=team, root=self.places.home, repo_file=None, artifacts=places.artifacts_of(team)
        )
        settings = config.load(environ=self.environ, user_file=where.user_file, repo_file=None)
        found = House(where, settings, self.places.home, self.environ)
        found.services = self.services
        return found

    def check_team(self) -> None:
        """Refuse a team that is not this repository's before anything else is begun: any verb would."""
        self.client.call("due", {}, self.caller(names.SYSTEM))

    def caller(self, agent: str | None = None, **more: Any) -> Caller:
        """A caller on this machine, in this folder."""
        return Caller(agent=agent, host=self.host, boot=self.boot, cwd=self.cwd, tree=self.places.root,
                      grant=self._operator, **more)  # fmt: skip

    @cached_property
    def _operator(self) -> "Grant | None":
        """What an operator's token in the environment proves, on this machine too; other tokens are for HTTP."""
        if self.remote is not None or not (self.environ.get("ROOK_TOKEN") or self.environ.get("ROOK_TOKEN_FILE")):
            return None
        from rookery.core import tokens
        from rookery.service.tokens import presented

        token = places.token_of(self.cwd, self.environ)
        if not tokens.is_operator(token):
            return None
        grant = self.store.read("", lambda db: presented(db, tokens.digest(token)))
        if grant is None:
            raise tokens.unknown()
        return grant if grant.team == self.team else None

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()
        if self.remote is not None and "client" in self.__dict__:
            self.client.close()


def _home_of_store(where: places.Places) -> str:
    """What the user accepted lies beside the store: another home does not speak for it."""
    return os.path.dirname(where.store) if os.path.isabs(where.store) else where.home


def open_house(
    *,
    cwd: str,
    environ: Mapping[str, str],
    team: str | None = None,
    flags: Mapping[str, Any] | None = None,
    root: str | None = None,
) -> House:
    """The house of a folder; `root`: the working tree, where it is known already."""
    where = places.find(cwd=cwd, environ=environ, team=team)
    where = where._replace(root=root) if root else where
    accepted = acceptances.Acceptances(_home_of_store(where), where.root)
    settings = config.load(
        environ=environ, user_file=where.user_file, repo_file=where.repo_file, flags=flags or {},
        accepts=accepted.accepts,
    )  # fmt: skip
    return House(where, settings, os.path.abspath(cwd), environ, places.remote(cwd, environ), accepted)


def open_queue(house: House) -> "QueuedClient":
    """The verbs of every team of the home, for a resident process."""
    from rookery.client.queued import QueuedClient, Stores

    stores = Stores(house.new_store(), house.new_store(QUICK_READ_S), house.new_store)
    return QueuedClient(stores, house.bell, _worlds(house))


def open_guests(own: House, queue: "QueuedClient") -> Callable[..., House]:
    """Opens houses for callers of a resident process: their folder, settings and team; its ledger and bell."""
    from rookery.client.queued import TeamOfQueue

    def opened(*, cwd: str, environ: Mapping[str, str], team: str | None = None, root: str | None = None) -> House:
        house = open_house(cwd=cwd, environ=environ, team=team, root=root)
        if house.remote is not None or house.places.store != own.places.store:
            raise errors.Refused(
                f"This daemon keeps {own.places.store}.", "Do it in a process of its own.", code="OTHER_STORE"
            )
        house.services = own.services
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


def connect(
    *,
    team: str | None = None,
    cwd: str | None = None,
    home: str | None = None,
    url: str | None = None,
    token: str | None = None,
) -> "Team":
    """Open this repository's team in the embedded store, or with `url` a team of the daemon there.

    `url` and `token` count before ROOK_URL and ROOK_TOKEN, `home` before ROOK_HOME, ROOK_STORE and ROOK_URL. With `url`
    and no name of a team (`team`, ROOK_TEAM) it is the token's own team, else the daemon's.
    """
    from rookery.client.handles import Team

    here = cwd or os.getcwd()
    environ = _environ_of(home, url, token)
    if url is not None and team is None and not environ.get("ROOK_TEAM"):
        team = _team_of_daemon(here, environ)
    house = open_house(cwd=here, environ=environ, team=team)
    mine = os.getpid()
    return Team(
        house.client,
        house.caller(os.environ.get("ROOK_AGENT"), origin=lineage.origin(mine, process.ancestors(mine), itself=True)),
        another=lambda: open_house(cwd=here, environ=environ, team=team).client,
        process=process.identify(mine),
        poll_s=house.settings["poll.s"],
        branch=git.branch(house.cwd) or "",
        run=environ.get("ROOK_RUN", ""),
    )


def _environ_of(home: str | None, url: str | None, token: str | None) -> dict[str, str]:
    """The environment with what was given to `connect` in the place of its variables."""
    environ = dict(os.environ)
    if home is not None:
        if url is not None:
            raise errors.BadInput("A store of this machine (home) and a daemon (url) were given.", "Give one of them.")
        environ["ROOK_HOME"] = os.fspath(home)
        for elsewhere in ("ROOK_STORE", "ROOK_URL"):
            environ.pop(elsewhere, None)
    if url is not None:
        if not url:
            raise errors.BadInput("The url of the daemon is empty.", "As in http://127.0.0.1:4500.")
        environ["ROOK_URL"] = url
    if token is not None:
        environ["ROOK_TOKEN"] = token
    return environ


def _team_of_daemon(cwd: str, environ: Mapping[str, str]) -> str:
    from rookery.client.http import HttpClient

    remote = places.remote(cwd, environ)
    assert remote is not None
    client = HttpClient(remote.url, remote.token, "")
    try:
        return client.call("who", {}, Caller())["team"]
    finally:
        client.close()
