"""What the law and the deeds need from the world: time, chance, a look at processes, a shelf for files.

`runtime` provides the real ones; tests and the simulator bring their own, so that every run can be repeated.
"""

from typing import NamedTuple, Protocol


class Clock(Protocol):
    def mono_ms(self) -> int:
        """Milliseconds that never go back while the machine is up; they mean something only together with `boot`."""
        ...

    def wall_ms(self) -> int:
        """Milliseconds since the epoch, as the machine's calendar has it: it may jump either way."""
        ...

    def boot(self) -> str:
        """Which run of the machine this is."""
        ...


class Prober(Protocol):
    def state(self, pid: int, started: str) -> str:
        """ "running", "stopped" or "dead"; "unknown" where this process cannot look at that one."""
        ...


class Chance(Protocol):
    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1, each as likely as the others."""
        ...


class Kept(NamedTuple):
    """A file on the shelf: where it is, relative to the home, and what it holds."""

    file: str
    bytes: int
    digest: str


class Shelf(Protocol):
    """Files that rows refer to. Never used inside a transaction: kept before it, read and removed after it."""

    def keep(self, folder: str, name: str, data: bytes) -> Kept:
        """Write a new file, durable when this returns."""
        ...

    def read(self, file: str, limit: int) -> bytes:
        """At most so many bytes of it."""
        ...

    def old(self, age_s: float, limit: int) -> list[str]:
        """Some of the files that are older than that."""
        ...

    def remove(self, file: str) -> None: ...
