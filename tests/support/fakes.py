"""Stand-ins for the ports of `core.ports`, the bell and the team's definition. They remember, and obey the test."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rookery.app import OUR_KINDS
from rookery.core.kinds import Found
from rookery.core.lenses import BUILT_IN
from rookery.core.trust import Request
from rookery.runtime import folders
from rookery.wake.port import EVERYONE

NOON_MS = 1_900_000_000_000  # some day in 2030; no test may care which
HOST, BOOT = "here", "boot-1"


class FakeClock:
    """A clock that moves when told. `pass_time` moves both hands, `jump` only the calendar, as a person or NTP does."""

    def __init__(self, wall: int = NOON_MS, mono: int = 5_000_000, boot: str = BOOT) -> None:
        self.wall = wall
        self.mono = mono
        self.boot_name = boot
        self.on_look: Callable[[], None] = lambda: None

    def mono_ms(self) -> int:
        self.on_look()
        return self.mono

    def wall_ms(self) -> int:
        return self.wall

    def boot(self) -> str:
        return self.boot_name

    def pass_time(self, ms: int) -> None:
        self.mono += ms
        self.wall += ms

    def jump(self, ms: int) -> None:
        self.wall += ms

    def reboot(self, boot: str, mono: int = 1_000) -> None:
        self.boot_name = boot
        self.mono = mono


class FakeProber:
    """Processes that exist because a test says so; any other is dead."""

    def __init__(self) -> None:
        self.states: dict[tuple[int, str], str] = {}

    def state(self, pid: int, started: str) -> str:
        return self.states.get((pid, started), "dead")


class FakeMachine:
    """What surrounds the ledger, as a test says; nothing was looked at until it does."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}

    def mark_program(self, program: tuple[int, str]) -> None:
        """The processes of these tests are made up, or the test's own."""

    def own_record(self, host: str, session: str, path: str, program: tuple[int, str]) -> str:
        return path

    def look(self) -> dict[str, Any]:
        return self.facts


class FakeChance:
    """The same numbers in every run."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)

    def below(self, n: int) -> int:
        return self._random.randrange(n)


class FakeDirectory:
    def __init__(self, groups: Mapping[str, Sequence[str]] = {}, roles: Mapping[str, str] = {}) -> None:
        self._groups = {name: list(members) for name, members in groups.items()}
        self._roles = dict(roles)  # agents known before they join
        self.accepted_kinds: set[str] = set()  # of the repository
        self.kind_folders: list[tuple[str, str]] = []  # (layer, folder) besides our own

    def members(self, group: str) -> Sequence[str]:
        return self._groups.get(group, [])

    def groups(self) -> Sequence[str]:
        return sorted(self._groups)

    def is_defined(self, name: str) -> bool:
        known = [*self._roles, *(member for members in self._groups.values() for member in members)]
        return name.casefold() in {other.casefold() for other in known}

    def role(self, name: str) -> str:
        return self._roles.get(name, "")

    def with_role(self, role: str) -> Sequence[str]:
        return [name for name, known in self._roles.items() if known == role]

    def lens(self, name: str) -> str | None:
        return next((written for known, written, _ in self.lenses() if known == name), None)

    def lenses(self) -> Sequence[tuple[str, str, str]]:
        return [(name, written, "built in") for name, written in sorted(BUILT_IN.items())]

    def kind(self, name: str) -> Sequence[Found]:
        return [self._judged(each) for each in folders.kinds([("built in", OUR_KINDS), *self.kind_folders], name)]

    def kinds(self) -> Sequence[Found]:
        return self.kind("")

    def _judged(self, found: Found) -> Found:
        return found._replace(accepted=found.layer != "repository" or found.name in self.accepted_kinds)

    def file_requests(self) -> Sequence[Request]:
        return []


class FakeListener:
    """Waits for nothing: each `wait` is written down and answered from a list, then with `otherwise`."""

    def __init__(self, answers: Iterable[bool] = (), otherwise: bool = False) -> None:
        self.waits: list[float] = []
        self.closed = False
        self._answers = list(answers)
        self._otherwise = otherwise

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return self._answers.pop(0) if self._answers else self._otherwise

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> "FakeListener":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class FakeBell:
    """Remembers who was rung; `waiting` says how many listeners a name has."""

    def __init__(self) -> None:
        self.rung: list[set[str]] = []
        self.waiting: dict[str, int] = {}

    def ring(self, team: str, names: Iterable[str]) -> dict[str, int]:
        rung = set(names)
        self.rung.append(rung)
        return {name: count for name, count in self.waiting.items() if name in rung or name == EVERYONE}

    def listen(self, team: str, name: str) -> FakeListener:
        return FakeListener()
