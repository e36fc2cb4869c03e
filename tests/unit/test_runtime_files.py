"""Whole files or none, and bounded reading."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from rookery.core.errors import BadInput, RookError, StoreFull, StoreReadOnly, StoreUnusable, TooLarge
from rookery.runtime.files import read_limited, write_atomic


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture(params=[0o000, 0o022, 0o777])
def umask(request: pytest.FixtureRequest, folder: Path) -> Iterator[int]:
    assert folder.is_dir()  # made before, and so under the usual umask
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def fails(code: int) -> object:
    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_written_whole_with_its_mode_under_any_umask(folder: Path, mode: int) -> None:
    path = folder / "a"
    write_atomic(str(path), b"one", mode)
    write_atomic(str(path), b"two", mode)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert os.listdir(folder) == ["a"]


def test_the_longest_name_can_be_written(folder: Path) -> None:
    path = folder / ("x" * 255)
    write_atomic(str(path), b"a")
    assert path.read_bytes() == b"a"


def test_a_symlink_is_replaced_not_followed(folder: Path) -> None:
    (folder / "target").write_bytes(b"old")
    (folder / "link").symlink_to("target")
    write_atomic(str(folder / "link"), b"new")
    assert (folder / "target").read_bytes() == b"old"
    assert not (folder / "link").is_symlink()


def test_content_and_name_are_both_made_durable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def noted_replace(source: str, target: str) -> None:
        steps.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_atomic(str(folder / "a"), b"one")
    assert steps == ["file", "rename", "folder"]


def test_a_short_write_is_continued(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    write_atomic(str(folder / "a"), b"0123456789")
    assert (folder / "a").read_bytes() == b"0123456789"


@pytest.mark.parametrize("step", ["open", "write", "fchmod", "fsync", "replace"])
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errno.ENOSPC, StoreFull),
        (errno.EDQUOT, StoreFull),
        (errno.EROFS, StoreReadOnly),
        (errno.EACCES, StoreReadOnly),
        (errno.EIO, StoreUnusable),
    ],
)
def test_a_failure_leaves_what_was_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str, code: int, kind: type[RookError]
) -> None:
    path = folder / "a"
    path.write_bytes(b"old")
    with monkeypatch.context() as broken:
        broken.setattr(os, step, fails(code))
        with pytest.raises(kind) as caught:
            write_atomic(str(path), b"new")
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert os.listdir(folder) == ["a"]
    assert path.read_bytes() == b"old"


def test_an_interrupt_leaves_no_temporary_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: int) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(str(folder / "a"), b"new")
    assert os.listdir(folder) == []


def test_a_missing_folder_is_named(folder: Path) -> None:
    with pytest.raises(StoreUnusable, match="does not exist") as caught:
        write_atomic(str(folder / "no" / "a"), b"")
    assert "mkdir -p" in caught.value.hint


def test_reading_stops_at_the_limit(folder: Path) -> None:
    path = folder / "a"
    path.write_bytes(b"12345")
    assert read_limited(str(path), 5) == b"12345"
    with pytest.raises(TooLarge) as caught:
        read_limited(str(path), 4)
    assert caught.value.facts["limit"] == 4


def test_what_is_no_file_is_refused_at_once(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for path in (str(folder), str(folder / "pipe"), "/dev/zero"):
        with pytest.raises(BadInput, match="is not a file") as caught:
            read_limited(path, 10)
        assert caught.value.code == "UNREADABLE_FILE"


def test_what_cannot_be_read_says_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="does not exist") as caught:
        read_limited(str(folder / "none"), 10)
    assert caught.value.code == "NO_SUCH_FILE"
    with pytest.raises(BadInput, match="null"):
        read_limited("a\0b", 10)
    monkeypatch.setattr(os, "open", fails(errno.EACCES))
    with pytest.raises(BadInput, match="Permission denied"):
        read_limited(str(folder / "none"), 10)


def test_no_descriptor_is_left_open(folder: Path) -> None:
    path = folder / "a"
    before = len(os.listdir("/proc/self/fd"))
    write_atomic(str(path), b"12345")
    read_limited(str(path), 5)
    with pytest.raises(TooLarge):
        read_limited(str(path), 1)
    with pytest.raises(BadInput):
        read_limited(str(folder), 1)
    assert len(os.listdir("/proc/self/fd")) == before
