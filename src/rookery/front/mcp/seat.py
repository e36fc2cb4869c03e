"""Who sits at a connection: the agent that joined through it, or the one its process was bound to before.

A model cannot choose its identity call by call. It may take one name by `join`; afterwards the connection has it, and
the session's epoch fences it like any other.
"""

from collections.abc import Mapping
from typing import Any

from rookery import app
from rookery.core import errors, names
from rookery.core.caller import Caller
from rookery.runtime import git, process


class Seat:
    """One connection of a model, on this machine: the program above this process is the agent."""

    def __init__(self, house: app.House, peer: int) -> None:
        self._house = house
        self._chain = process.ancestors(peer)
        self._session: str | None = None
        self.settings = house.settings

    def caller(self) -> Caller:
        if self._session is not None:
            return self._house.caller(None, session=self._session)
        lineage = tuple((each[0].pid, each[0].started) for each in self._chain)
        return self._house.caller(self._house.environ.get("ROOK_AGENT") or None, lineage=lineage)

    def call(self, verb: str, args: Mapping[str, Any]) -> Any:
        return self._house.client.call(verb, args, self.caller())

    def me(self) -> str:
        """The agent's name. A model that has none yet is not taken for the person."""
        name: str = self.call("inbox", {"limit": 1})["agent"]
        if name == names.PERSON:
            raise errors.Refused("You have no name in this team yet.", "Call join first.", code="WHO_ARE_YOU")
        return name

    def join(self, args: Mapping[str, Any]) -> dict[str, Any]:
        bound = process.binding(self._chain)
        program = next((name for identity, name, _ in self._chain if identity == bound), "")
        known = {"branch": git.branch(self._house.cwd) or "", "program": program, "resume": True}
        named = {"name": self._house.environ["ROOK_AGENT"]} if self._house.environ.get("ROOK_AGENT") else {}
        caller = self._house.caller(None, process=tuple(bound) if bound else None)
        joined: dict[str, Any] = self._house.client.call("join", {**known, **named, **args}, caller)
        self._session = joined["session"]
        return joined

    def listen(self, name: str) -> Any:
        return self._house.client.listen(name)
