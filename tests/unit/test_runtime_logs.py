"""The log of a resident process: private, rotated, without secrets; its end, and what is added."""

import errno
import io
import logging
import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from rookery.core.errors import Refused, RookError
from rookery.runtime import logs

SECRET = "s3cret-token"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "daemon.log")


@pytest.fixture
def log(path: str) -> Iterator[logging.Logger]:
    handler = logs.PrivateLog(path, size=2000, count=3, secrets=[SECRET])
    logger = logging.Logger("test")
    logger.addHandler(handler)
    yield logger
    handler.close()


def files(path: str) -> list[str]:
    return sorted(name for name in os.listdir(os.path.dirname(path)) if name.startswith("daemon"))


def test_private_under_any_umask_and_rotated_by_size(path: str, log: logging.Logger) -> None:
    before = os.umask(0)
    try:
        for number in range(500):
            log.info("line %d", number)
    finally:
        os.umask(before)
    assert files(path) == ["daemon.log", "daemon.log.1", "daemon.log.2", "daemon.log.3"]
    for name in files(path):
        seen = os.stat(os.path.join(os.path.dirname(path), name))
        assert stat.S_IMODE(seen.st_mode) == 0o600
        assert seen.st_size <= 2000


def test_a_symlink_in_its_place_is_refused(path: str, tmp_path: Path) -> None:
    os.symlink(tmp_path / "elsewhere", path)
    with pytest.raises(RookError):
        logs.PrivateLog(path, size=2000, count=3, secrets=[])
    assert not (tmp_path / "elsewhere").exists()


SAID = (
    SECRET,
    f"x{SECRET}y",
    f"Authorization: Bearer {SECRET}",
    "authorization: bearer other-token",
    f"?token={SECRET}",
)


@pytest.mark.parametrize("said", SAID)
def test_no_secret_is_written(path: str, log: logging.Logger, said: str) -> None:
    log.warning("it said %s", said)
    try:
        raise ValueError(said)
    except ValueError:
        log.exception("broke with %r", said)
    written = Path(path).read_text()
    assert SECRET not in written
    assert "other-token" not in written
    assert "ValueError" in written


def test_control_a_plain_formatter_would_have_written_it() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "it said %s", (SECRET,), None)
    assert SECRET in logging.Formatter().format(record)
    assert SECRET not in logs.Lines([SECRET]).format(record)


def test_the_end_of_it_over_the_rotated_files(path: str, log: logging.Logger) -> None:
    for number in range(60):
        log.info("line %d", number)
    lines, _ = logs.tail(path, 50)
    assert [line.rpartition(" ")[2] for line in lines] == [str(number) for number in range(10, 60)]
    assert len(logs.tail(path, 2)[0]) == 2
    assert logs.tail(path, 0)[0] == []


def test_there_is_none_yet(path: str) -> None:
    with pytest.raises(Refused) as caught:
        logs.tail(path, 10)
    assert caught.value.code == "NO_LOG"


def test_what_is_added_is_followed_through_a_rotation(path: str, log: logging.Logger) -> None:
    log.info("first 0")
    _, end = logs.tail(path, 10)
    followed = logs.follow(path, end, look_s=0.001)
    seen: list[str] = []
    for number in range(200):  # several rotations
        log.info("line %d", number)
        seen += [line.rpartition(" ")[2] for line in islice(followed, 1)]
    assert seen == [str(number) for number in range(200)]


class Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, text)


def test_a_full_disk_stops_nobody(
    log: logging.Logger, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(log.handlers[0], "stream", Full())
        log.info("nowhere to put this")
    assert capfd.readouterr() == ("", "")
