"""All folders of a maildrop: one pass now, or again and again while things arrive."""

import logging
import math
import os
import select
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, Protocol

from rookery.client.port import Client
from rookery.config import Settings
from rookery.core import drop, errors, trust
from rookery.core.caller import Caller
from rookery.runtime import dropbox, inotify

from .box import SENT, Box, Outcome, Terms

OWN = os.path.join(".rook", "msgs")
GATHER_S = 0.02  # after a ring, before the look: a fixed while that nothing prolongs (H4)
RETRIES, FIRST_S, LONGEST_S = 5, 1.0, 30.0

log = logging.getLogger("rookery.maildrop")

Told = Callable[[str, Outcome], None]


# -- which folders ---------------------------------------------------------------------------------------------------


def _refuse(error: errors.StoreUnusable) -> None:
    raise error


def folders(
    settings: Settings, root: str, repo_file: str | None, skip: Callable[[errors.StoreUnusable], None] = _refuse
) -> list[str]:
    """The workspace's own, and those of the settings; `skip` is told of one that leads out of the workspace."""
    wanted = [(OWN, False)] if settings["maildrop.on"] else []
    # A repository's folder that lies outside by its name is here only because the user accepted it.
    own = settings.source("maildrop.folders") != repo_file
    wanted += [(each, own or not trust.is_inside(each)) for each in settings["maildrop.folders"]]
    found: list[str] = []
    for folder, trusted in wanted:
        try:
            found.append(dropbox.place_of(root, folder, trusted=trusted))
        except errors.StoreUnusable as error:
            skip(error)
    return list(dict.fromkeys(found))


def boxes(client: Client, caller: Caller, settings: Settings, places: Sequence[str]) -> list[Box]:
    terms = Terms(
        settle_s=settings["maildrop.settle_s"], patience_s=settings["maildrop.patience_s"],
        limit=settings["mail.body_limit"] + drop.MATTER_LIMIT, rounds_max=settings["mail.rounds_max"],
    )  # fmt: skip
    return [
        Box(place, lambda args: taken(client, caller, args), terms, tracked=dropbox.Tracked(place).names)
        for place in places
    ]  # fmt: skip


def taken(client: Client, caller: Caller, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message is taken in; a worker's report is what the worker would have said itself, and repeats do no harm.

    The id of its run is what shows that the worker wrote it: its launcher gave it to that program alone.
    """
    if "report" not in args:
        return client.call("drop", args, caller)
    if not args["args"].get("run"):
        raise errors.BadInput(
            "A report by file needs the id of its worker's run.", "Add a line `run: ID` with what $ROOK_RUN says.",
            code="RUN_NEEDED",
        )  # fmt: skip
    return client.call(args["report"], args["args"], caller._replace(agent=args["sender"]))


# -- one pass --------------------------------------------------------------------------------------------------------


def one_pass(watched: Sequence[Box], told: Told) -> list[dict[str, Any]]:
    """Everything that is whole now; what is left, and why. A file that was only just written is waited for a moment."""
    while True:
        for box in watched:
            for outcome in box.look():
                told(box.folder, outcome)
        settling = [each.until for box in watched for each in box.waiting if each.settles]
        if not settling:
            left = [(box.folder, each) for box in watched for each in box.waiting]
            return [{"folder": folder, "file": each.file, "why": each.why} for folder, each in left]
        threading.Event().wait(max(0.0, min(settling) - monotonic()))


# -- again and again -------------------------------------------------------------------------------------------------


class Watch(Protocol):
    def fileno(self) -> int: ...
    def drained(self) -> bool: ...
    def close(self) -> None: ...


class Watcher:
    """The ring of one folder. One that fails is tried again after 1 s, then twice as long, five times; then the folder
    is only looked at now and then, as every folder is besides."""

    def __init__(self, folder: str, watch: Callable[[str], Watch] = inotify.Watch) -> None:
        self.folder = folder
        self.watch: Watch | None = None
        self.tries = 0
        self.next_try = 0.0
        self._make = watch

    @property
    def given_up(self) -> bool:
        return self.tries >= RETRIES

    def ensure(self, now: float) -> None:
        if self.watch is not None or self.given_up or now < self.next_try:
            return
        try:
            self.watch = self._make(self.folder)
        except FileNotFoundError:
            pass  # it is no failure that nobody has made the folder yet
        except OSError as error:
            self._failed(now, error.strerror or str(error))

    def drain(self, now: float) -> None:
        if self.watch is None:
            return
        try:
            alive, why = self.watch.drained(), "the folder is gone, or another one"
        except OSError as error:
            alive, why = False, error.strerror or str(error)
        if alive:
            self.tries = 0
            return
        self.close()
        self._failed(now, why)

    def close(self) -> None:
        if self.watch is not None:
            self.watch.close()
            self.watch = None

    def _failed(self, now: float, why: str) -> None:
        self.next_try = now + min(LONGEST_S, FIRST_S * 2**self.tries)
        self.tries += 1
        then = "it is polled from now on" if self.given_up else f"tried again in {self.next_try - now:.0f} s"
        log.warning("watching %s failed: %s; %s", self.folder, why, then)


class Follower:
    """Looks whenever a watcher rings, when a file's time has come, and every `poll_s`, until it is stopped."""

    def __init__(
        self, watched: Sequence[Box], poll_s: float, told: Told, watch: Callable[[str], Watch] = inotify.Watch
    ) -> None:
        self._boxes = watched
        self._poll_s = poll_s
        self._told = told
        self._watchers = [Watcher(box.folder, watch) for box in watched]
        self._ear, self._mouth = os.pipe()
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        try:
            while not self.round():
                pass
        finally:
            self._unwatch()

    def round(self) -> bool:
        """One look, and the wait until the next one is due. True: it is over."""
        for watcher in self._watchers:
            watcher.ensure(monotonic())  # before the look: what comes after it rings
        self._look()
        return self._waited(self._until_next())

    def _unwatch(self) -> None:
        for watcher in self._watchers:
            watcher.close()

    def start(self) -> None:
        self._thread = threading.Thread(target=self.run, name="rookery-maildrop", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with suppress(OSError):
            os.write(self._mouth, b".")

    def close(self) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()
        self._unwatch()
        os.close(self._ear)
        os.close(self._mouth)

    def _look(self) -> None:
        for box in self._boxes:
            try:
                for outcome in box.look():
                    self._told(box.folder, outcome)
            except errors.RookError as error:
                log.warning("maildrop %s: %s", box.folder, error)  # what was not taken is taken at the next look
            except OSError as error:
                log.warning("maildrop %s: %s", box.folder, error.strerror or error)

    def _until_next(self) -> float:
        now = monotonic()
        due = [at for box in self._boxes if (at := box.next_look()) is not None]
        due += [each.next_try for each in self._watchers if each.watch is None and not each.given_up and each.tries]
        return max(0.0, min([self._poll_s, *(at - now for at in due)]))

    def _waited(self, seconds: float) -> bool:
        """Until something calls; what was told is taken in. True: it is over."""
        watching = {each.watch.fileno(): each for each in self._watchers if each.watch is not None}
        ready = _ready([self._ear, *watching], seconds)
        for descriptor in ready & watching.keys():
            watching[descriptor].drain(monotonic())
        return self._ear in ready or bool(ready and _ready([self._ear], GATHER_S))


def _ready(descriptors: Sequence[int], seconds: float) -> set[int]:
    """By `poll`: a daemon with many connections has descriptors that `select` can not take."""
    asked = select.poll()
    for descriptor in descriptors:
        asked.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in asked.poll(math.ceil(seconds * 1000))}


def logged(folder: str, outcome: Outcome) -> None:
    if outcome.state == SENT:
        log.info("maildrop %s: %s sent as %s", folder, outcome.file, outcome.told)
    else:
        log.warning("maildrop %s: %s %s: %s", folder, outcome.file, outcome.state, outcome.told)


def entry(folder: str, outcome: Outcome) -> dict[str, Any]:
    """What became of a file, for people and programs."""
    known: dict[str, Any] = {"folder": folder, "file": outcome.file, "state": outcome.state}
    if outcome.state != SENT:
        return known | {"reason": outcome.told}
    recipients = [each["name"] for each in outcome.answer.get("recipients", ())]
    more = {"notes": outcome.answer["notes"]} if outcome.answer.get("notes") else {}
    return known | {"id": outcome.told, "from": outcome.answer.get("from", ""), "to": recipients, **more}
