"""Lines that are appended and followed: whatever happens to the file, nothing is told twice or in another order."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.errors import StoreUnusable, TooLarge
from rookery.runtime import ndjson
from rookery.runtime.ndjson import Appender, Follower, Place, tail

LIMIT = 200
STEPS = st.lists(st.sampled_from(["append", "long", "read", "little", "again"]), max_size=60)


@given(STEPS)
def test_what_is_appended_is_told_once_and_in_order_if_it_is_read_in_time(steps: list[str]) -> None:
    """In time: before a generation is replaced, which here is after two rotations."""
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "lines")
        lines, follower = Appender(path, LIMIT), Follower(path)
        wrote: list[bytes] = []
        seen: list[bytes] = []
        unread = 0
        for step in steps:
            if step in ("append", "long"):
                text = f"{len(wrote)} " + "x" * (90 if step == "long" else 3)
                unread += len(text) + 1
                if unread > LIMIT:
                    seen += drained(follower)
                    unread = len(text) + 1
                lines.append(text)
                wrote.append(text.encode())
            elif step == "again":
                follower.close()
                follower = Follower(path, Place(*follower.place))
            else:
                seen += follower.read(7 if step == "little" else 1000)
        seen += drained(follower)
        follower.close()
        assert seen == wrote
        assert (follower.gaps, follower.skipped) == (0, 0)


def drained(follower: Follower) -> list[bytes]:
    found: list[bytes] = []
    while more := follower.read(50):
        found += more
    return found


@given(st.lists(st.binary(max_size=30), max_size=20), st.integers(1, 40))
def test_any_bytes_are_lines_and_long_ones_are_passed_over(pieces: list[bytes], longest: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "lines"
        data = b"\n".join(pieces)
        path.write_bytes(data)
        follower = Follower(str(path), longest=longest)
        seen = drained(follower)
        whole = data.split(b"\n")[:-1]
        assert seen == [line for line in whole if line and len(line) <= longest]
        rest = data.rpartition(b"\n")[2]
        assert follower.skipped == sum(len(line) > longest for line in [*whole, rest])
        follower.close()


def test_a_follower_begins_with_the_oldest_that_is_kept(tmp_path: Path) -> None:
    (tmp_path / "lines.1").write_bytes(b"one\n")
    (tmp_path / "lines").write_bytes(b"two\n")
    follower = Follower(str(tmp_path / "lines"))
    assert drained(follower) == [b"one", b"two"]
    assert tail(str(tmp_path / "lines"), 1) == [b"two"]
    assert tail(str(tmp_path / "lines"), 9) == [b"one", b"two"]
    follower.close()


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    follower = Follower(str(path))
    assert follower.read() == [], "a file that is not there yet holds nothing"
    with path.open("ab", buffering=0) as file:
        file.write(b"one\ntw")
        assert (follower.read(), follower.read()) == ([b"one"], [])
        file.write(b"o\n")
        assert follower.read() == [b"two"]
    follower.close()


def test_a_file_that_is_shortened_or_vanishes_is_followed_on(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\n")
    follower = Follower(str(path))
    assert follower.read() == [b"one", b"two"]
    os.truncate(path, 0)
    assert follower.read() == []
    path.write_bytes(b"3\n")
    assert (follower.read(), follower.gaps) == ([b"3"], 1)
    path.unlink()
    assert follower.read() == []
    Appender(str(path)).append("four")
    assert follower.read() == [b"four"]
    follower.close()


def test_a_generation_that_is_gone_is_told(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    lines = Appender(str(path), 10)
    lines.append("11111111")
    follower = Follower(str(path))
    assert follower.read() == [b"11111111"]
    for digit in "234":
        lines.append(digit * 8)
    assert drained(follower) == [b"33333333", b"44444444"]
    assert follower.gaps == 1
    follower.close()


def test_a_writer_whose_file_is_put_aside_under_its_hands_writes_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lines"
    lines, lock = Appender(str(path)), ndjson._lock
    lines.append("one")

    def put_aside_first(descriptor: int, where: str) -> None:
        if not Path(f"{path}.1").exists():
            path.rename(f"{path}.1")
        lock(descriptor, where)

    monkeypatch.setattr(ndjson, "_lock", put_aside_first)
    lines.append("two")
    assert (Path(f"{path}.1").read_text(), path.read_text()) == ("one\n", "two\n")


def test_a_line_is_one_line_and_not_too_long(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    for text in ("a\nb", "x" * 1_000_001):
        with pytest.raises(TooLarge):
            Appender(str(path)).append(text)
    assert not path.exists()


def test_neither_writer_nor_reader_follows_a_symlink(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"mine\n")
    (tmp_path / "lines").symlink_to(secret)
    with pytest.raises(StoreUnusable):
        Appender(str(tmp_path / "lines")).append("{}")
    assert Follower(str(tmp_path / "lines")).read() == []
    assert secret.read_bytes() == b"mine\n"


def test_a_named_pipe_in_the_place_of_the_file_holds_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lines")
    with pytest.raises(StoreUnusable):
        Appender(str(tmp_path / "lines")).append("{}")
    assert Follower(str(tmp_path / "lines")).read() == []


def test_what_is_made_is_private_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Appender(str(tmp_path / "lines")).append("{}")
    finally:
        os.umask(before)
    assert (tmp_path / "lines").stat().st_mode & 0o777 == 0o600
