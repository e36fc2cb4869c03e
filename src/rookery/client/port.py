"""What a client is: the same verbs, wherever they run."""

from collections.abc import Mapping
from typing import Any, Protocol

from rookery.core.caller import Caller
from rookery.wake.port import Listener


class Client(Protocol):
    team: str

    def call(self, verb: str, args: Mapping[str, Any], caller: Caller) -> Any:
        """Do it, and answer with plain values, or raise a RookError."""
        ...

    def listen(self, name: str) -> Listener:
        """A bell that rings when something concerns this agent (or `all`)."""
        ...

    def close(self) -> None: ...
