"""What a rule about a program is given: where the command stands, and how to tell what it would do."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from . import holes, reading
from .options import Given
from .reading import Reach


class Site(Protocol):
    @property
    def stdin(self) -> str | None:
        """What the command is given to read, where this text shows it."""
        ...

    @property
    def modes(self) -> bool:
        """Whether a change of mode or owner counts as a write."""
        ...

    def write(self, field: str, reach: Reach = Reach.FILE) -> None: ...

    def opaque(self, reason: str, fragment: str = "") -> None: ...

    def record(self) -> None:
        """It changes what a version control keeps for itself, beside the files of the working tree."""
        ...

    def run(self, words: list[str], *, reads: bool = False) -> None:
        """A command in the place of this one, in a process of its own; `reads`: with the same standard input."""
        ...

    def shell(self, script: str, parameters: tuple[str, ...]) -> None:
        """A script in a shell of its own: `$0` and what follows it, and none of our variables."""
        ...

    def into(self, folder: str) -> "Site":
        """The same in another folder."""
        ...

    def is_folder(self, field: str) -> bool:
        """Whether it surely is one: False means that it is not known."""
        ...


Rule: TypeAlias = Callable[[str, list[str], Site], None]  # program, arguments, site


def doubt(given: Given, site: Site) -> None:
    """A writer's undeclared option might write, and a word that is not told might be such an option."""
    for word in given.strange:
        site.opaque(reading.OPTION_UNKNOWN if holes.is_told(word) else reading.ARGUMENTS_UNKNOWN, holes.shown(word))


def basename(field: str) -> str:
    return field.rstrip("/").rpartition("/")[2]


def dirname(field: str) -> str:
    head, slash, _ = field.rstrip("/").rpartition("/")
    return head or slash or "."
