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
    def choice(self) -> bool:
        """Whether perhaps not every line of what it reads is there."""
        ...

    @property
    def modes(self) -> bool:
        """Whether a change of mode or owner counts as a write."""
        ...

    @property
    def folder(self) -> str | None:
        """The folder it runs in, where there is only one possible."""
        ...

    @property
    def root(self) -> str | None:
        """The top of the working tree, where the caller told it."""
        ...

    def write(self, field: str, reach: Reach = Reach.FILE, *, itself: bool = False) -> None:
        """`itself`: a link of that name is replaced or removed, not followed."""
        ...

    def opaque(self, reason: str, fragment: str = "") -> None: ...

    def code(self, text: str, arguments: list[str] | None = None) -> None:
        """Code in another language: it may write what it names, if it has something that writes."""
        ...

    def commands(self, text: str) -> None:
        """Shell text that is not followed: it may write what it names."""
        ...

    def may_write(self, paths: list[str], *, deep: bool = False) -> None:
        """Words that are paths, which a program of which too little is known may write."""
        ...

    def content(self, field: str) -> str | None:
        """The text of a file, if this command put it there; `-` is standard input."""
        ...

    def text(self, field: str) -> str | None:
        """The text of a file, if this command put it there or the disk has it."""
        ...

    def fill(self, field: str, text: str | None) -> None:
        """The program puts this text into a file."""
        ...

    def plant(self, field: str) -> None:
        """The program makes a program of that name."""
        ...

    def planted(self) -> list[str]:
        """Paths of files that this command wrote so far and that a program may load."""
        ...

    def path(self, field: str) -> str:
        """The path of a word, as `planted` has it."""
        ...

    def filled_data(self) -> list[str]:
        """The texts of files that this command wrote and that are neither documents nor code."""
        ...

    def searched(self, text: str, *, deep: bool = False) -> None:
        """Text that says what is written, in a form that is not read: it may write whatever it names."""
        ...

    def variable(self, name: str) -> str | None:
        """A variable of the environment that the program is given, where this text sets it."""
        ...

    def feeders(self, file: str = "") -> str:
        """The text of the commands that print what it reads: from its standard input, or from a file they wrote."""
        ...

    def define(self, name: str, text: str) -> None:
        """A name for other words (an alias of git), for the rest of the command."""
        ...

    def definition(self, name: str) -> str | None: ...

    def environment(self) -> list[str]:
        """The values of the variables that this command is given before its first word."""
        ...

    def environ(self) -> list[tuple[str, str]]:
        """The variables of its environment that this command sets, with each value they may have."""
        ...

    def filled(self) -> list[str]:
        """The texts of files that this command filled and that may be run: not those of documents."""
        ...

    def giving(self, name: str, value: str) -> "Site":
        """The same with one more variable in the environment."""
        ...

    def link(self, field: str, target: str, *, symbolic: bool) -> None:
        """A link is made: writes to it are writes to its target."""
        ...

    def renamed(self, source: str, target: str) -> None:
        """A file gets another name; if it is a link that was made here, it leads where it led."""
        ...

    def record(self) -> None:
        """It changes what a version control keeps for itself, beside the files of the working tree."""
        ...

    def run(self, words: list[str], *, reads: bool = False, fed: bool = False) -> None:
        """A command in the place of this one, in a process of its own; `reads`: with the same standard input; `fed`:
        its unknown words come from there."""
        ...

    def fed(self) -> None:
        """It runs its standard input, which is not known: the text of what prints it may name what is written."""
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


def listed(files: list[str], site: Site) -> list[str]:
    """The names in lists that a program is given; what prints a list that is not known is searched."""
    names: list[str] = []
    for file in files:
        text = site.text(file)
        names += [line for line in (text or "").replace("\0", "\n").split("\n") if line]
        if text is None:
            site.searched(site.feeders(file), deep=True)
    return names
