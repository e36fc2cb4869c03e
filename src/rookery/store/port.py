"""The port: what a store is to the rest of the house. SQLite is one implementation, PostgreSQL will be another.

A store knows no domain. It runs named queries inside transactions; whoever holds a write transaction holds the team.
Every query is given `:team` and `:now` besides its own parameters.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from rookery.core.search import Term

Row = dict[str, Any]
T = TypeVar("T")


class Transaction(Protocol):
    """One team, locked (or, for reads, seen at one moment)."""

    @property
    def team(self) -> int: ...
    @property
    def team_name(self) -> str: ...
    @property
    def writable(self) -> bool: ...
    @property
    def now(self) -> int:
        """Ledger milliseconds, read once after the lock was taken. Leases and expiry compare with this."""
        ...

    @property
    def wall(self) -> int:
        """The wall clock, for people; never compared."""
        ...

    @property
    def flags(self) -> int:
        """What the team's row says about itself, read with it; the services give each bit its meaning."""
        ...

    def one(self, query: str, /, **params: Any) -> Row | None:
        """The first row, or None."""
        ...

    def all(self, query: str, /, **params: Any) -> list[Row]:
        """Every row."""
        ...

    def run(self, query: str, /, **params: Any) -> int:
        """How many rows changed."""
        ...

    def match(self, terms: Sequence[Term], columns: str = "subject body tags") -> str:
        """A search of these columns in the language of the store's full-text index (a dialect difference)."""
        ...

    def next_seq(self) -> int:
        """The next event number of the team. Given back if the transaction ends without commit: no gaps."""
        ...

    def savepoint(self, work: Callable[[], T]) -> T:
        """Run `work`. What it raises is raised again, after what it wrote was undone: rows, flags, event numbers."""
        ...


class Store(Protocol):
    dialect: str
    location: str

    def write(self, team: str, work: Callable[[Transaction], T]) -> T:
        """Run `work` in one transaction and commit. It may be run again, so it touches nothing but its transaction."""
        ...

    def write_batch(self, jobs: Sequence[tuple[str, Callable[[Transaction], T]]]) -> list[T | Exception]:
        """Several writes, each of a team, in one commit; a result or an error for each, returned after it.

        A job that raises undoes itself alone. An error that ends the transaction for all makes each run by itself.
        """
        ...

    def read(self, team: str, work: Callable[[Transaction], T]) -> T:
        """Run `work` on one snapshot; it is cut off after the read limit."""
        ...

    def checks(self) -> list[tuple[str, bool, str]]:
        """What `rook doctor` asks of the store: (what, is it well, what was seen)."""
        ...

    def is_whole(self, limit_s: float) -> tuple[bool | None, str]:
        """Is it undamaged, and what was seen; None if that took longer than there was time."""
        ...

    def backup(self, path: str) -> None:
        """A consistent copy, made while others write."""
        ...

    def close(self) -> None: ...
