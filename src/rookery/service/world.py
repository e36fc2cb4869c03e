"""The ports that a verb reaches through its `Tx`, as one object: machine, settings, the team's files."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rookery.config import Settings
from rookery.core.ports import Acceptances, Chance, Machine, Prober, Shelf, Workspaces
from rookery.store.port import Row

if TYPE_CHECKING:
    from rookery.core.kinds import Found
    from rookery.core.ownership import Claim
    from rookery.core.trust import Request

    from .tx import Tx


class Directory(Protocol):
    """Who belongs to a group by definition, joined or not."""

    def members(self, group: str) -> Sequence[str]: ...
    def groups(self) -> Sequence[str]: ...
    def is_defined(self, name: str) -> bool: ...
    def role(self, name: str) -> str: ...
    def with_role(self, role: str) -> Sequence[str]: ...
    def lens(self, name: str) -> str | None: ...
    def lenses(self) -> Sequence[tuple[str, str, str]]:
        """Name, text and where it comes from."""
        ...

    def kind(self, name: str) -> "Sequence[Found]":
        """The files that describe a kind of workers, the weakest first."""
        ...

    def kinds(self) -> "Sequence[Found]": ...
    def file_requests(self) -> "Sequence[Request]":
        """Other files of the repository that count only once the user accepted them."""
        ...


class ReadFirst(Exception):
    """A verb asks for files, or for what is installed, while it holds the write lock. Nothing of it was written: call
    `read` without the lock, then run the verb again."""

    def __init__(self, read: Callable[[], object]) -> None:
        super().__init__("to be read before the transaction")
        self.read = read


class KindsRead:
    """A directory whose kinds are read outside of write transactions, and once for all runs of a call."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._known: dict[str, Sequence[Found]] = {}
        self.locked = False  # is the write lock held?

    def kind(self, name: str) -> "Sequence[Found]":
        return self._read(name, lambda: self._directory.kind(name))

    def kinds(self) -> "Sequence[Found]":
        return self._read("", self._directory.kinds)

    def _read(self, name: str, ask: "Callable[[], Sequence[Found]]") -> "Sequence[Found]":
        if name not in self._known:
            if self.locked:
                raise ReadFirst(lambda: self._known.setdefault(name, ask()))
            self._known[name] = ask()
        return self._known[name]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._directory, name)


class WritePolicy(Protocol):
    """What keeps an agent from writing besides reservations: a kind that only reads, a plan that is not approved."""

    def refusal(self, tx: "Tx", agent: Row) -> str:
        """Why it may write nothing now, wherever, and what to do; "" if nothing is against it. It only looks."""
        ...


class World(Protocol):
    """The ports a verb reaches through its Tx."""

    @property
    def prober(self) -> Prober: ...
    @property
    def chance(self) -> Chance: ...
    @property
    def directory(self) -> Directory: ...
    @property
    def shelf(self) -> Shelf: ...
    @property
    def workspaces(self) -> Workspaces: ...
    @property
    def machine(self) -> Machine: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def policies(self) -> Sequence[WritePolicy]: ...
    @property
    def team(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def boot(self) -> str: ...
    @property
    def claim(self) -> "Claim | None":
        """The repository whose file names the team; None where the user or the folder's own name says it."""
        ...

    @property
    def acceptances(self) -> Acceptances: ...


class CallWorld:
    """The ports of one call: what they are elsewhere, with a directory that reads no kinds under the write lock."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.host, self.boot = world.host, world.boot  # asked for at every look at a process
        self.directory = KindsRead(world.directory)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)
