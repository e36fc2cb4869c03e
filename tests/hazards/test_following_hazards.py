"""Hazards of files that several processes write and others follow: what broke elsewhere, and what is promised here."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rookery.core.errors import StoreBusy
from rookery.runtime import files, ndjson
from rookery.runtime.ndjson import Appender, Follower
from tests.support import linewriters
from tests.support.procs import Child, child, children

LIMIT = 90_000  # more than a round writes: a file is put aside once in it at most, and its reader comes in time
BATCH = 12
WRITERS = 3
PLAIN_LIMIT = 1 << 20


class Plain:
    """A follower as systems of this kind have it: it remembers how far it read, and nothing of which file."""

    def __init__(self, path: str) -> None:
        self._path, self._offset = path, 0

    def read(self) -> list[bytes]:
        data, end = files.read_from(self._path, self._offset, PLAIN_LIMIT)
        whole = data.rfind(b"\n") + 1
        self._offset = end - len(data) + whole
        return [line for line in data[:whole].split(b"\n") if line]


class Seen:
    """What a reader was given: lines, and what was none."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int]] = []
        self.torn = 0

    def add(self, lines: list[bytes]) -> bool:
        for line in lines:
            try:
                said = json.loads(line)
                self.lines.append((said["writer"], said["n"]))
            except ValueError:
                self.torn += 1
        return bool(lines)


class Play:
    """Writers that write at once and are killed, one in each round, while both readers follow."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen, self.plain = Seen(), Seen()
        self.follower, self._plain = Follower(str(path)), Plain(str(path))
        self.told: set[tuple[str, int]] = set()
        self._names = (f"w{number}" for number in range(1000))

    def round(self, kill: bool) -> None:
        names = [next(self._names) for _ in range(WRITERS)]
        started = [
            Child(linewriters.append, path=str(self.path), limit=LIMIT, name=name, count=BATCH) for name in names
        ]
        with children(*started):
            for writer in started:
                assert writer.hear() == "ready"
            for writer in started:
                writer.say()
            if kill:
                self._hear(names[0], started[0].hear())
                for said in started[0].kill():
                    self._hear(names[0], said)
            for name, writer in zip(names[kill:], started[kill:], strict=True):
                while (said := writer.hear()) != "all":
                    self._hear(name, said)
                    self.seen.add(self.follower.read(4096))

    def tear(self) -> None:
        with child(linewriters.tear, path=str(self.path)) as writer:
            assert writer.kill_said() == []

    def read(self) -> None:
        while self.seen.add(self.follower.read()):
            pass
        self.plain.add(self._plain.read())

    def _hear(self, name: str, said: Any) -> None:
        if said != "all":
            self.told.add((name, said))


def played(path: Path, rounds: int) -> Play:
    play = Play(path)
    for number in range(rounds):
        play.round(kill=number % 2 == 0)
        play.tear()
        play.read()
    Appender(str(path), LIMIT).append(linewriters.line_of("last", 0))  # which ends what was torn
    play.told.add(("last", 0))
    play.read()
    play.follower.close()
    return play


def check(play: Play, rounds: int) -> None:
    times = Counter(play.seen.lines)
    assert play.told <= set(times), "lost"
    assert max(times.values()) == 1, "told twice"
    by_writer = [[n for name, n in play.seen.lines if name == writer] for writer, _ in play.told]
    assert all(numbers == sorted(numbers) for numbers in by_writer)
    assert rounds <= play.seen.torn <= 2 * rounds  # ours, and what the killed one may have left
    assert play.follower.gaps == 0
    assert Path(f"{play.path}.1").exists(), "it was never rotated"


@pytest.mark.slow
def test_h32_lines_of_writers_that_are_killed_are_followed_over_rotations_without_loss(tmp_path: Path) -> None:
    play = played(tmp_path / "events.ndjson", 3)
    check(play, 3)
    # The negative control: whoever reads by an offset alone loses what was rotated away before it looked.
    assert play.told - set(play.plain.lines)


@pytest.mark.torture
def test_h32_the_same_for_long(tmp_path: Path) -> None:
    check(played(tmp_path / "events.ndjson", 25), 25)


def test_h32_a_follower_that_is_started_anew_goes_on_where_the_one_before_was(tmp_path: Path) -> None:
    path = str(tmp_path / "events.ndjson")
    lines = Appender(path, 2_000)
    seen: list[bytes] = []
    place = None
    for number in range(200):
        lines.append(json.dumps({"n": number, "text": "x" * 50}))
        if number % 7 == 0:
            follower = Follower(path, place)
            while more := follower.read(100):
                seen += more
            place = follower.place
            assert follower.gaps == 0
            follower.close()
    assert [json.loads(line)["n"] for line in seen] == list(range(197))


def test_h32_a_file_that_has_the_inode_of_one_that_is_gone_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    path.write_bytes(b'{"n": 1}\n{"n": 2}\n')
    follower = Follower(str(path))
    assert len(follower.read()) == 2
    place = follower.place
    follower.close()
    path.write_bytes(b'{"n": 3}\n{"n": 4}\n{"n": 5}\n')  # the same inode, as a new file may get it
    follower = Follower(str(path), place)
    assert follower.read() == [b'{"n": 3}', b'{"n": 4}', b'{"n": 5}']
    assert follower.gaps == 1
    follower.close()
    # The negative control: by inode and offset alone the first two would be taken for read.
    blind = Follower(str(path), place._replace(head=0))
    blind._is_known = lambda kept: True  # type: ignore[method-assign]
    assert blind.read() == [b'{"n": 5}']
    blind.close()


@pytest.mark.slow
def test_h32_a_writer_that_was_stopped_does_not_stop_the_others_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "events.ndjson")
    monkeypatch.setattr(ndjson, "PATIENCE_S", 0.1)
    with child(linewriters.hold, path=path) as holder:
        assert holder.hear() == "held"
        holder.stop()
        with pytest.raises(StoreBusy):
            Appender(path).append("{}")
        holder.kill()
    Appender(path).append("{}")
    assert ndjson.tail(path, 5) == [b"{}"]
