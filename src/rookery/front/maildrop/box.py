"""One folder: what lies in it, which of it is whole, and what becomes of it."""

import os
from collections.abc import Callable, Container, Iterator, Mapping
from time import monotonic
from typing import Any

from rookery.core import drop, errors, text
from rookery.core.record import NamedTuple
from rookery.runtime import dropbox

from . import matter

SENT, REJECTED, LATE = "sent", "rejected", "late"
UNSURE_S = 2.0  # where the kernel does not tell whether someone writes, a file has to have been left alone for so long
TRACKED = "It is tracked by git, so it came with the repository: it is not delivered, and stays where it is."
NOTE, REASON = ".note.txt", ".reason.txt"

Call = Callable[[Mapping[str, Any]], Mapping[str, Any]]  # the verb `drop`


class Terms(NamedTuple):
    """The settings that a pass goes by."""

    settle_s: float  # unchanged for so long, a file is looked into
    patience_s: float  # and for so long, one that is not whole is put aside
    limit: int
    rounds_max: int


class Outcome(NamedTuple):
    """What became of a file."""

    file: str
    state: str  # sent, rejected, late (told once: someone has had it open for long)
    told: str  # the message's id, or the reason
    answer: Mapping[str, Any] = {}


class _Seen(NamedTuple):
    look: tuple[int, ...]
    since: float


class Waiting(NamedTuple):
    """A file that was left where it is, and why."""

    file: str
    why: str
    until: float  # when it is worth another look, though nobody may have touched it
    settles: bool  # time alone will do


class Box:
    """What is remembered of a folder between two looks: since when each file has been as it is."""

    def __init__(
        self,
        folder: str,
        call: Call,
        terms: Terms,
        clock: Callable[[], float] = monotonic,
        tracked: Callable[[], Container[str]] = frozenset,
    ) -> None:
        self.folder = folder
        self._call = call
        self._terms = terms
        self._clock = clock
        self._now = 0.0
        self._seen: dict[str, _Seen] = {}
        self._late: set[str] = set()
        self._tracked = tracked
        self._left_alone: dict[str, tuple[int, ...]] = {}
        self.waiting: list[Waiting] = []

    def look(self) -> Iterator[Outcome]:
        """Take in what is whole, put aside what never will be. An error of store or disk ends it; nothing is lost.

        Nothing here waits for quiet in the folder: each file has its own time, which no other one moves (H4).
        """
        self.waiting = []
        with dropbox.opened(self.folder, SENT, REJECTED) as place:
            items = place.items() if place else []
            # One moment for all of a look: what lies there longer is taken first, however long the taking takes.
            self._now = self._clock()
            self._remember(items, self._now)
            tracked = self._tracked() if items else ()
            for item in items if place else ():
                assert place
                outcome = self._leave_alone(item) if item.name in tracked else self._at(place, item)
                if outcome is None:
                    continue
                if outcome.state != LATE and item.name not in tracked:
                    del self._seen[item.name]
                if outcome.file:
                    yield outcome

    def next_look(self) -> float | None:
        """When something may have changed without anybody touching it."""
        return min((each.until for each in self.waiting), default=None)

    def _remember(self, items: list[dropbox.Item], now: float) -> None:
        before = self._seen
        self._seen = {}
        for item in items:
            old = before.get(item.name)
            self._seen[item.name] = old if old and old.look == item.look else _Seen(item.look, now)
            if old and old.look != item.look:
                self._late.discard(item.name)
        self._late &= set(self._seen)

    def _at(self, place: dropbox.Dropbox, item: dropbox.Item) -> Outcome | None:
        """What became of it; None while it waits."""
        if item.kind != "file":
            what = {"symlink": "a symlink; it is not followed", "folder": "a folder"}.get(item.kind, "no file")
            return self._reject(place, item, f"It is {what}.", "Write a file.")
        if not dropbox.is_plain(item.name):
            return self._reject(place, item, "Its name has characters that steer a terminal, or is too long.", "")
        if item.size > self._terms.limit:
            return self._reject(
                place, item, f"It has {item.size:,} bytes; {self._terms.limit:,} are allowed.",
                "Put the long part in a file of its own and name that.",
            )  # fmt: skip
        if self._is_too_early(item, self._terms.settle_s):
            return self._wait(item, "it was just changed", self._terms.settle_s)
        try:
            content = place.read(item, self._terms.limit)
        except FileNotFoundError:
            return Outcome("", "", "")  # another process was faster
        except OSError as error:
            return self._reject(place, item, f"It can not be read: {error.strerror}.", "")
        except errors.BadInput as error:
            return self._reject(place, item, error.message, error.hint)
        if content is None:
            return self._still_open(item)
        if not content.sure and self._is_too_early(item, UNSURE_S):
            return self._wait(item, "it was just changed", UNSURE_S)
        return self._take(place, item, content.data)

    def _take(self, place: dropbox.Dropbox, item: dropbox.Item, data: bytes) -> Outcome | None:
        try:
            letter = matter.letter(data, self._terms.rounds_max)
            args = letter.args | {"key": _key(item, letter)}
            answer = self._call(args)
        except errors.Unreachable:
            raise  # the store is busy or full: it stays and is taken later
        except errors.RookError as error:
            if error.code == drop.NOT_WHOLE and self._is_too_early(item, self._terms.patience_s):
                return self._wait(item, f"it is not whole: {error.message}", self._terms.patience_s, settles=False)
            return self._reject(place, item, error.message, error.hint)
        notes = answer.get("notes") or ()
        kept = place.keep(item.name, SENT, (NOTE, "\n".join(notes) + "\n") if notes else None)
        return Outcome(item.name if kept else "", SENT, answer["id"], answer)

    def _leave_alone(self, item: dropbox.Item) -> Outcome | None:
        """It came with the repository: whoever wrote it was somewhere else, and git would miss it. Said once."""
        if self._left_alone.get(item.name) == item.look:
            return None
        self._left_alone[item.name] = item.look
        return Outcome(dropbox.shown(item.name), REJECTED, TRACKED)

    def _still_open(self, item: dropbox.Item) -> Outcome | None:
        """Whoever stopped half way is waited for, and told of once."""
        age = self._clock() - self._seen[item.name].since
        self._wait(item, "someone is writing it", age + max(self._terms.settle_s, age / 2), settles=False)
        if item.name in self._late or age < self._terms.patience_s:
            return None
        self._late.add(item.name)
        return Outcome(item.name, LATE, f"Someone has had it open for {age:.0f} s without writing to it.")

    def _is_too_early(self, item: dropbox.Item, after_s: float) -> bool:
        return self._now - self._seen[item.name].since < after_s

    def _wait(self, item: dropbox.Item, why: str, after_s: float, *, settles: bool = True) -> None:
        self.waiting.append(Waiting(item.name, why, self._seen[item.name].since + after_s, settles))

    def _reject(self, place: dropbox.Dropbox, item: dropbox.Item, why: str, hint: str) -> Outcome:
        reason = text.plain(f"{why} {hint}".strip())
        kept = place.keep(item.name, REJECTED, (REASON, reason + "\n"))
        return Outcome(dropbox.shown(item.name) if kept else "", REJECTED, reason)


def _key(item: dropbox.Item, letter: drop.Letter) -> str:
    """Without an id of its own a file is known as the disk knows it: this file, not a second one like it."""
    import hashlib

    said = letter.args.get("msg_id")
    if said:
        return f"maildrop:{said}"
    device, inode, _, changed, _ = item.look
    same = "\0".join((os.fspath(item.name), str(device), str(inode), str(changed)))
    return f"maildrop::{hashlib.sha256(same.encode('utf-8', 'surrogateescape')).hexdigest()}"
