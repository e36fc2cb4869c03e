"""When the folders are looked at: rings, a file's own time, a slow poll, and watchers that fail."""

import logging
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rookery.front.maildrop.box import Box
from rookery.front.maildrop.watching import Follower, Watcher, one_pass
from rookery.runtime import inotify
from tests.support.drops import Clock, letter, put, terms, until

HOUR_S = 3600.0


class Broken:
    """A watch that does as it is told."""

    def __init__(self, alive: bool = True) -> None:
        self.alive = alive
        self.closed = False
        self._ear, self.mouth = os.pipe()

    def fileno(self) -> int:
        return self._ear

    def drained(self) -> bool:
        return self.alive

    def close(self) -> None:
        self.closed = True
        os.close(self._ear)
        os.close(self.mouth)


@contextmanager
def followed(
    folder: Path, *, poll_s: float = HOUR_S, watch: Callable[[str], Any] = inotify.Watch, **more: Any
) -> Generator[list[tuple[str, str]]]:
    """(file, state) of everything that was dealt with so far."""
    found: list[tuple[str, str]] = []
    box = Box(str(folder), lambda args: {"id": f"MSG-{args['sender']}", "recipients": []}, terms(**more))
    follower = Follower([box], poll_s, lambda _, outcome: found.append((outcome.file, outcome.state)), watch)
    follower.start()
    try:
        yield found
    finally:
        follower.close()


# --- rings ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_lay_there_and_what_arrives(tmp_path: Path) -> None:
    """With an hour between polls: only the kernel's ring can tell of the second and third."""
    put(tmp_path, "before.md", letter())
    with followed(tmp_path) as found:
        until(lambda: ("before.md", "sent") in found, "what lay there")
        put(tmp_path, "moved.md", letter())
        until(lambda: ("moved.md", "sent") in found, "a file that was moved in")
        (tmp_path / "written.md").write_text(letter())
        until(lambda: ("written.md", "sent") in found, "a file that was written and closed")
        (tmp_path / "link.md").symlink_to("nowhere")
        until(lambda: ("link.md", "rejected") in found, "a symlink")


def test_a_folder_that_is_made_later_is_found_by_the_poll(tmp_path: Path) -> None:
    with followed(tmp_path / "later", poll_s=0.05) as found:
        put(tmp_path / "later", "a.md", letter())
        until(lambda: ("a.md", "sent") in found, "a folder that was not there")


@pytest.mark.slow
def test_a_folder_that_is_made_anew_is_watched_anew(tmp_path: Path) -> None:
    folder = tmp_path / "msgs"
    folder.mkdir()
    with followed(folder, poll_s=0.05) as found:
        put(folder, "a.md", letter())
        until(lambda: ("a.md", "sent") in found, "the first folder")
        folder.rename(tmp_path / "old")
        put(folder, "b.md", letter())
        until(lambda: ("b.md", "sent") in found, "the second folder")


@pytest.mark.slow
def test_a_file_whose_time_comes_is_put_aside_without_a_ring(tmp_path: Path) -> None:
    put(tmp_path, "torn.md", "---\nto: bob\n")
    with followed(tmp_path, patience_s=0.2) as found:
        until(lambda: ("torn.md", "rejected") in found, "what is never whole")


def test_without_inotify_it_is_polled(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def none(_folder: str) -> Any:
        raise OSError(38, "there is no inotify here")

    with caplog.at_level(logging.CRITICAL, "rookery.maildrop"), followed(tmp_path, poll_s=0.05, watch=none) as found:
        put(tmp_path, "a.md", letter())
        until(lambda: ("a.md", "sent") in found, "the poll")


def test_it_ends_when_told_to(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with followed(tmp_path):
            pass
    assert len(os.listdir("/proc/self/fd")) == before


# --- a watcher that fails ---------------------------------------------------------------------------------------------


def failing(_folder: str) -> Any:
    raise OSError(28, "no space left for watches")


def test_a_failing_watcher_is_tried_five_times(caplog: pytest.LogCaptureFixture) -> None:
    """After 1, 2, 4, 8 s, each counted from the one before; then the folder is polled."""
    watcher, clock = Watcher("/x", failing), Clock()
    start, tried = clock.now, []
    with caplog.at_level(logging.CRITICAL, "rookery.maildrop"):
        for _ in range(1000):
            before = watcher.tries
            watcher.ensure(clock.now)
            if watcher.tries > before:
                tried.append(round(clock.now - start, 1))
            clock.now += 0.1
    assert tried == [0.0, 1.0, 3.0, 7.0, 15.0]
    assert watcher.given_up


def test_the_longest_wait_is_bounded(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    from rookery.front.maildrop import watching

    monkeypatch.setattr(watching, "RETRIES", 10)
    watcher, now = Watcher("/x", failing), 0.0
    with caplog.at_level(logging.CRITICAL, "rookery.maildrop"):
        for _ in range(9):
            now = watcher.next_try
            watcher.ensure(now)
    assert watcher.next_try - now == watching.LONGEST_S == 30.0


def test_a_watch_that_is_lost_is_made_again(caplog: pytest.LogCaptureFixture) -> None:
    made: list[Broken] = []

    def make(_folder: str) -> Broken:
        made.append(Broken())
        return made[-1]

    watcher, clock = Watcher("/x", make), Clock()
    watcher.ensure(clock.now)
    made[0].alive = False
    with caplog.at_level(logging.CRITICAL, "rookery.maildrop"):
        watcher.drain(clock.now)
    assert made[0].closed
    watcher.ensure(clock.now + 0.9)
    assert len(made) == 1
    watcher.ensure(clock.now + 1.0)
    assert len(made) == 2
    watcher.drain(clock.now + 1.0)
    assert watcher.tries == 0, "it works again"
    watcher.close()


def test_a_folder_that_is_not_there_is_no_failure() -> None:
    watcher = Watcher("/nowhere/at/all")
    for now in range(100):
        watcher.ensure(float(now))
    assert (watcher.tries, watcher.watch) == (0, None)


# --- one pass ---------------------------------------------------------------------------------------------------------


def test_one_pass_waits_for_what_only_needs_a_moment(tmp_path: Path) -> None:
    put(tmp_path, "a.md", letter())
    put(tmp_path, "torn.md", "---\nto: bob\n")
    found: list[str] = []
    box = Box(str(tmp_path), lambda args: {"id": "MSG-1", "recipients": []}, terms())
    left = one_pass([box], lambda _, outcome: found.append(outcome.file))
    assert found == ["a.md"]
    assert [(each["file"], each["why"][:18]) for each in left] == [("torn.md", "it is not whole: I")]


# --- the kernel's word ------------------------------------------------------------------------------------------------


def test_the_watch_itself(tmp_path: Path) -> None:
    watch = inotify.Watch(str(tmp_path))
    try:
        assert watch.drained()
        put(tmp_path, "a.md", "x")
        assert os.read(watch.fileno(), 1 << 16)
        tmp_path.rename(tmp_path.with_name("moved"))
        assert not watch.drained()
    finally:
        watch.close()
        tmp_path.with_name("moved").rename(tmp_path)


@pytest.mark.parametrize("what", ["nothing", "file", "link"])
def test_only_a_folder_is_watched(tmp_path: Path, what: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match=r"No such file|Not a directory"):
        inotify.Watch(str(tmp_path / what))
    assert len(os.listdir("/proc/self/fd")) == before
