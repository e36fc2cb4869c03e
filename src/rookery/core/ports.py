"""What the law and the deeds need from the world: time, chance, a look at processes, a shelf for files, a terminal.

`runtime` provides the real ones; tests and the simulator bring their own, so that every run can be repeated.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rookery.core.record import NamedTuple

if TYPE_CHECKING:
    from rookery.core.overlap import Hunk, Shift
    from rookery.core.symbols import Symbol


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

    def place(self, *names: str) -> str:
        """Where a file that is published under these names is."""
        ...

    def publish(self, file: str, data: bytes) -> str:
        """A product under a name of its own: "written", or "whole" if it was there. Another file there is refused."""
        ...

    def beside(self, file: str) -> str:
        """Where a file of the team lies that is no part of the shelf, relative to the home as all the others are."""
        ...

    def put(self, file: str, data: bytes) -> None:
        """Write such a file under this very name: a product of rows, which can make it anew. What was there is
        replaced."""
        ...

    def keep_same(self, folder: str, data: bytes) -> Kept:
        """The same under the hash of its content: once, however often it is kept."""
        ...

    def read(self, file: str, limit: int) -> bytes:
        """At most so many bytes of it."""
        ...

    def old(self, age_s: float, limit: int) -> list[str]:
        """Some of the files that are older than that."""
        ...

    def remove(self, file: str, age_s: float = 0.0) -> None:
        """If it is still older than that."""
        ...


class ChangeSet(NamedTuple):
    """What a worktree holds besides the branch it is to land on: its own changes, committed."""

    base: str  # where it parted from that branch
    head: str
    branch: str  # that branch, "" if none is known
    files: list[dict[str, Any]]  # {path, added, removed, status}, with `from` of a rename and `binary` besides
    paths: int  # how many there are; `files` are the first of them
    added: int
    removed: int
    patch: bytes | None  # None: it is larger than was asked for
    commits: Sequence[Mapping[str, str]] = ()  # {sha, short, subject}, the newest first


class Touched(NamedTuple):
    """What a change set does, looked at more closely."""

    hunks: "dict[str, list[Hunk]]"  # by path, in lines of its base; folders end in /
    symbols: "list[Symbol]"


class Workspaces(Protocol):
    """Working copies of a version control system. Only `own` and `top` are used inside a transaction."""

    @property
    def own(self) -> str:
        """The working copy that this process was opened in for its team; "" for other teams and outside of one."""
        ...

    def top(self, folder: str) -> str:
        """The top of the working copy that a folder belongs to; "" if there is none. Reads a few small files."""
        ...

    def capture(
        self,
        tree: str,
        base: str,
        author: str,
        message: str,
        *,
        root: str = "",
        branch: str = "",
        keep: str = "",
        limit: int = 0,
    ) -> ChangeSet:
        """Commit what is not committed there, as the author; what it has of its own since it parted from the branch
        (left out: the one that is checked out in the root). With `keep`, a ref under that name holds on to its head."""
        ...

    def touched(self, tree: str, base: str, head: str) -> Touched:
        """The lines of its base that a change set touches, and the names of code that it takes away or uses."""
        ...

    def shifts(self, tree: str, base: str, other: str, paths: Sequence[str]) -> "dict[str, Shift] | None":
        """What became of these files from one base to the other; None if the other is not of this repository."""
        ...

    def unknown_commits(self, where: str, names: Sequence[str]) -> list[str]:
        """Those that stand for no commit of the repository that this working copy belongs to."""
        ...

    def has_file(self, where: str, written: str) -> bool:
        """Is there such a file inside this working copy? A line may be named behind it."""
        ...

    def reclaimable(self, tree: str, root: str, branch: str, captured: str) -> str:
        """Why a worktree may not be removed; "" if nothing would be lost: all is committed, and the branch has it or
        it is the commit that was captured."""
        ...


class Machine(Protocol):
    """What surrounds the ledger. Only `own_record` is used inside a transaction."""

    def mark_program(self, program: tuple[int, str]) -> None:
        """Mark the process of an agent program, so that what it starts is known wherever it ends up."""
        ...

    def own_record(self, host: str, session: str, path: str, program: tuple[int, str]) -> str:
        """The canonical path of the record that an agent program keeps of this session; "" if the path names any
        other file. The environment of `program`, a process, says where its records are."""
        ...

    def look(self) -> dict[str, Any]:
        """`store`, `daemons`, `logs` and `disk`, as `core.health` reads them; in a bounded time."""
        ...


class Acceptances(Protocol):
    """What the user accepted of one repository. Changed after a commit, never inside a transaction."""

    @property
    def path(self) -> str: ...
    def accepts(self, digest: str) -> bool: ...
    def count(self) -> int: ...
    def accept(self, accepted: Mapping[str, str]) -> None: ...
    def revoke(self) -> None: ...


class Screen(NamedTuple):
    """One look at a terminal: what a person would see there now."""

    lines: tuple[str, ...] = ()
    firm: tuple[str, ...] = ()  # the same lines with what is written faintly left blank: hints, not content
    column: int = 0  # of the cursor, from 0
    row: int = 0
    pid: int = 0  # of the first process in it
    read_back: bool = False  # a person scrolls through what was there before
    elsewhere: str = ""  # why what is typed would not reach the program it is meant for
    dead: bool = False  # it is gone, or nothing runs in it any more


GONE = Screen(dead=True)
Spot = tuple[int, int]  # column and row of the cursor, as a look told them


class Terminal(Protocol):
    """A terminal in which an agent program runs. Whoever types into it holds its lock."""

    async def look(self) -> Screen: ...

    async def paste(self, text: str, at: Spot | None = None) -> bool:
        """The text as one paste, whatever it holds; False, and nothing typed, if the cursor is no longer there."""
        ...

    async def press(self, key: str, at: Spot | None = None) -> bool:
        """A key by its name, one of `KEYS`; False, and nothing pressed, if the cursor is no longer there."""
        ...

    async def lock(self) -> bool:
        """To be the only one that types here, of all processes of this machine; False while another one is."""
        ...

    async def unlock(self) -> None: ...

    async def left(self) -> str:
        """What was pasted here last and never seen to be submitted, by whoever held the lock then; "" if nothing."""
        ...

    async def forget(self) -> None:
        """What was pasted last was submitted, or is not ours any more."""
        ...


# What each key sends.
KEYS = {
    "enter": "\r", "escape": "\x1b", "tab": "\t", "space": " ", "up": "\x1b[A", "down": "\x1b[B", "ctrl-c": "\x03",
    "ctrl-u": "\x15", **{letter: letter for letter in "123456789yn"},
}  # fmt: skip


class Pace(Protocol):
    """Time for whoever waits while others go on: a simulator brings one that costs none."""

    def now(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None: ...
