"""The commands of corpus.toml, and readings written the way they are written there."""

import tomllib
from pathlib import Path
from typing import NamedTuple

from rookery.core.shell import Reach, Reading, Write

CWD = "/w"
HOME = "/home/u"


class Case(NamedTuple):
    group: str
    command: str
    writes: list[str]
    flags: list[str]

    @property
    def opaque(self) -> bool:
        return "opaque" in self.flags

    @property
    def reasons(self) -> list[str]:
        return [flag for flag in self.flags if flag not in ("opaque", "dry")]


def load() -> list[Case]:
    told = tomllib.loads(Path(__file__).with_name("corpus.toml").read_text())
    return [
        Case(group, command, writes, [word for flag in flags for word in str(flag).split()])
        for group, cases in told.items()
        for command, writes, *flags in cases
    ]


CASES = load()


def shown(write: Write, cwd: str = CWD) -> str:
    path = "." if write.path == cwd else write.path.removeprefix(f"{cwd}/")
    mark = "@" if write.reach is Reach.REPOSITORY else "~" if write.pattern else ""
    return mark + path + ("/" if write.reach is Reach.BENEATH else "")


def paths(reading: Reading, cwd: str = CWD) -> list[str]:
    return sorted(shown(write, cwd) for write in reading.writes)
