"""The port of the bell: datagrams on one machine; LISTEN/NOTIFY will be the fleet's."""

from collections.abc import Iterable
from typing import Protocol

EVERYONE = "all"  # a listener under this name is rung for whatever happens in its team


class Listener(Protocol):
    def wait(self, seconds: float) -> bool:
        """True if the bell rang before the time was over. Rings that queued up count as one."""
        ...

    def fileno(self) -> int: ...
    def close(self) -> None: ...
    def __enter__(self) -> "Listener": ...
    def __exit__(self, *exc: object) -> None: ...


class Bell(Protocol):
    def ring(self, team: str, names: Iterable[str]) -> dict[str, int]:
        """Ring these agents and everyone who listens to the whole team; how many listeners heard, by name."""
        ...

    def listen(self, team: str, name: str) -> Listener: ...
