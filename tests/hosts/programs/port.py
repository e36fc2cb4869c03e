"""What the tests ask of an agent program."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from tests.hosts.model.script import Move

BASE_URL = "http://127.0.0.1:8080"
"""The port of `tests.hosts.jail`, written out: a program's settings are made before its network is."""

ANSWERING = Path(__file__).parents[1] / "answering"


class Place(NamedTuple):
    """The folders of one run. `folder` is the rig's own: script, logs, rules and what the hooks were given."""

    home: Path
    project: Path
    folder: Path
    python: str


class Program(ABC):
    name: ClassVar[str]
    executable: ClassVar[str]
    package: ClassVar[str]
    speaks_mcp: ClassVar[bool] = True

    @abstractmethod
    def settle(self, place: Place) -> None:
        """Write what the program needs to find the scripted model and to ask nobody for leave."""

    @abstractmethod
    def command(self, prompt: str) -> list[str]: ...

    @abstractmethod
    def environment(self) -> dict[str, str]: ...

    @abstractmethod
    def add_hooks(self, place: Place) -> None:
        """Install what the rig's rules are answered by, in the project, as a user of the program would."""

    def add_mcp(self, place: Place, server: str, command: Sequence[str]) -> None:
        raise NotImplementedError(f"{self.name} speaks no MCP")

    # --- moves, in the program's own tools ---

    @abstractmethod
    def write(self, path: Path, text: str) -> Move: ...

    @abstractmethod
    def edit(self, path: Path, old: str, new: str) -> Move: ...

    @abstractmethod
    def bash(self, command: str) -> Move: ...

    def mcp(self, server: str, tool: str, args: Mapping[str, Any]) -> list[Move]:
        """One call, after whatever the program wants before it shows the tools of a server."""
        raise NotImplementedError(f"{self.name} speaks no MCP")


def hook_command(place: Place, program: str, moment: str) -> str:
    """The command line of the rig's own hook; moments are those of `answering/hook.py`."""
    return " ".join([place.python, str(ANSWERING / "hook.py"), program, moment, str(place.folder)])


def save_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")


def merge_json(path: Path, more: Mapping[str, Any]) -> None:
    """Settings have several writers here: the model's address first, then hooks, then servers."""
    save_json(path, {**(json.loads(path.read_text()) if path.exists() else {}), **more})
