"""The bell: it may be lost, it may not be late by more than a poll, and it may never hurt who rings or who listens."""

import os
import resource
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from rookery.client import waiting
from rookery.wake import datagram
from rookery.wake.datagram import DatagramBell, DatagramListener, bell_folder, is_private, label
from rookery.wake.port import EVERYONE
from tests.support.fakes import FakeListener
from tests.support.procs import environment
from tests.support.stage import Stage


@pytest.fixture
def home() -> Generator[str]:
    """Short, unlike tmp_path: a socket's path has 107 characters at most."""
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="rk", dir="/tmp")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def bell(home: str) -> DatagramBell:
    return DatagramBell(home)


def rang(listener: DatagramListener) -> bool:
    return listener.wait(0)


def fds() -> int:
    return len(os.listdir("/proc/self/fd"))


# --- who is rung ------------------------------------------------------------------------------------------------------


def test_only_the_addressed_and_all_are_rung(bell: DatagramBell) -> None:
    with (
        bell.listen("t", "ada") as ada,
        bell.listen("t", "bob") as bob,
        bell.listen("t", EVERYONE) as everyone,
        bell.listen("other", "ada") as stranger,
        bell.listen("other", EVERYONE) as strangers,
    ):
        assert bell.ring("t", ["ada"]) == {"ada": 1, EVERYONE: 1}
        assert [rang(each) for each in (ada, bob, everyone, stranger, strangers)] == [True, False, True, False, False]


def test_every_listener_of_a_name_is_rung(bell: DatagramBell) -> None:
    with bell.listen("t", "ada") as one, bell.listen("t", "ada") as two:
        assert bell.ring("t", ["ada", "bob"]) == {"ada": 2}
        assert (rang(one), rang(two)) == (True, True)


def test_a_listener_that_comes_or_goes_after_many_rings_is_noticed(bell: DatagramBell) -> None:
    with bell.listen("t", "ada") as ada:
        os.utime(bell.folder, ns=(1, 1))  # long settled: the bell may remember whom it saw
        assert [bell.ring("t", ["ada", "bob"]) for _ in range(3)] == [{"ada": 1}] * 3
        with bell.listen("t", "bob") as bob:
            assert bell.ring("t", ["ada", "bob"]) == {"ada": 1, "bob": 1}
            assert (rang(ada), rang(bob)) == (True, True)
        assert bell.ring("t", ["ada", "bob"]) == {"ada": 1}


def test_a_folder_that_changed_just_now_is_not_remembered(bell: DatagramBell) -> None:
    """Two changes within one tick of the file system's clock look alike."""
    with bell.listen("t", "ada"):
        moment = time.time_ns() + 3_600_000_000_000  # as if it changed this very moment, however slow this test is
        os.utime(bell.folder, ns=(moment, moment))
        assert bell.ring("t", ["ada", "bob"]) == {"ada": 1}
        with bell.listen("t", "bob"):
            os.utime(bell.folder, ns=(moment, moment))
            assert bell.ring("t", ["ada", "bob"]) == {"ada": 1, "bob": 1}


def test_rings_that_queued_up_count_as_one(bell: DatagramBell) -> None:
    with bell.listen("t", "ada") as ada:
        for _ in range(5):
            bell.ring("t", ["ada"])
        assert rang(ada)
        assert not rang(ada)


def test_a_ring_before_the_wait_is_not_lost(bell: DatagramBell) -> None:
    with bell.listen("t", "ada") as ada:
        bell.ring("t", ["ada"])
        assert ada.wait(60)


def test_a_ring_from_another_process(bell: DatagramBell, home: str) -> None:
    program = (
        "import sys; from rookery.wake.datagram import DatagramBell as B; print(B(sys.argv[1]).ring('t', ['ada']))"
    )
    with bell.listen("t", "ada") as ada:
        command = [sys.executable, "-c", program, home]
        told = subprocess.run(command, env=environment(), check=True, capture_output=True, text=True).stdout
        assert told.strip() == "{'ada': 1}"
        assert ada.wait(60)


@pytest.mark.parametrize("name", ["Ada", "ADA", "aDa"])
def test_the_case_of_a_name_does_not_matter(bell: DatagramBell, name: str) -> None:
    """A name is one name in any case; whoever waits under another spelling waits for the same mail."""
    with bell.listen("t", name) as ada:
        assert bell.ring("t", ["ada"]) == {"ada": 1}
        assert rang(ada)


@pytest.mark.parametrize("name", ["ops/dan", "n" * 50, "g" * 50 + "/" + "n" * 50, "a.b.c", "x-._y", EVERYONE + "."])
def test_every_name_can_listen(bell: DatagramBell, name: str) -> None:
    team = "a-long-name-of-a-team-that-goes-on.and.on.and-on-x"
    with bell.listen(team, name) as listener:
        assert listener.fileno() >= 0
        assert len(os.path.basename(listener.path)) <= datagram.NAME_LIMIT
        assert bell.ring(team, [name]) == {name: 1}
        assert bell.ring(team, [name[:-1] + "z"]) == {}


def test_names_that_are_cut_stay_apart() -> None:
    labels = {label("n" * 49 + last) for last in "abcdef"}
    assert len(labels) == 6
    assert all(len(each) <= datagram.LABEL_LIMIT for each in labels)


# --- rings that reach nobody ------------------------------------------------------------------------------------------


def test_nobody_listens(bell: DatagramBell) -> None:
    assert bell.ring("t", ["ada"]) == {}
    assert not os.path.exists(bell.folder), "ringing makes no folders"


@pytest.mark.slow
def test_a_full_queue_is_ignored(bell: DatagramBell) -> None:
    """The listener sleeps; whoever rings neither waits nor fails, however often."""
    with bell.listen("t", "ada") as ada:
        heard = [bell.ring("t", ["ada"]) for _ in range(2_000)]
        assert heard == [{"ada": 1}] * 2_000
        assert rang(ada)
        assert not rang(ada)


def test_the_socket_of_a_dead_process_is_removed(bell: DatagramBell) -> None:
    with bell.listen("t", "ada") as ada:
        pass
    left = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    left.bind(ada.path)
    left.close()  # as after SIGKILL: the file stays, nobody reads
    assert os.path.exists(ada.path)
    assert bell.ring("t", ["ada"]) == {}
    assert not os.path.exists(ada.path)


@pytest.mark.parametrize("litter", ["t.ada.1.x", "t.ada", "t.ada.99.aa.bb", "..", "readme"])
def test_other_things_in_the_folder_do_no_harm(bell: DatagramBell, litter: str) -> None:
    with bell.listen("t", "ada") as ada:
        if litter != "..":
            Path(bell.folder, litter).write_text("not a socket")
        assert bell.ring("t", ["ada"])["ada"] == 1
        assert rang(ada)


def test_a_ring_that_can_not_be_made_is_lost_and_nothing_else(
    bell: DatagramBell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is committed by then: an error from the bell would tell its sender that it was not."""

    def too_many(*args: object, **more: object) -> socket.socket:
        raise OSError(24, "Too many open files")

    with bell.listen("t", "ada"):
        monkeypatch.setattr(datagram, "new_socket", too_many)
        assert bell.ring("t", ["ada"]) == {}


def test_a_folder_that_goes_away_meanwhile(bell: DatagramBell, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: str) -> list[str]:
        raise FileNotFoundError(path)

    with bell.listen("t", "ada"):
        monkeypatch.setattr(datagram.os, "listdir", gone)
        assert bell.ring("t", ["ada"]) == {}


# --- where the sockets are --------------------------------------------------------------------------------------------


def test_the_folder_is_in_the_home(home: str) -> None:
    assert bell_folder(home) == f"{home}/run/bell"


def test_a_long_home_falls_back_to_a_private_folder(tmp_path: Path) -> None:
    long = str(tmp_path / ("d" * 100))
    bell = DatagramBell(long)
    try:
        with bell.listen("t", "ada") as ada:
            assert not bell.folder.startswith(long)
            assert str(os.getuid()) in os.path.basename(bell.folder)
            assert stat.S_IMODE(os.stat(bell.folder).st_mode) == 0o700
            assert DatagramBell(long).ring("t", ["ada"]) == {"ada": 1}  # found by every process, from the home alone
            assert rang(ada)
        assert DatagramBell(long + "x").folder != bell.folder
    finally:
        os.rmdir(bell.folder)


def test_the_folder_does_not_depend_on_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = str(tmp_path / ("d" * 100))
    before = bell_folder(long)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/elsewhere")
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    assert bell_folder(long) == before


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o177, 0o777])
def test_sockets_are_private_under_any_umask(bell: DatagramBell, umask: int) -> None:
    os.makedirs(bell.folder, 0o700)
    before = os.umask(umask)
    try:
        with bell.listen("t", "ada") as ada:
            os.umask(before)
            assert stat.S_IMODE(os.stat(ada.path).st_mode) == 0o600
            assert bell.ring("t", ["ada"]) == {"ada": 1}
    finally:
        os.umask(before)


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o707, 0o701])
def test_an_open_folder_is_not_used(bell: DatagramBell, mode: int) -> None:
    """Others could put sockets there, or read who listens."""
    os.makedirs(bell.folder)
    os.chmod(bell.folder, mode)
    with bell.listen("t", "ada") as ada:
        assert ada.fileno() == -1
        assert os.listdir(bell.folder) == []
        assert bell.ring("t", ["ada"]) == {}
        assert not ada.wait(0)


def test_a_folder_of_another_user_is_not_used(bell: DatagramBell, monkeypatch: pytest.MonkeyPatch) -> None:
    os.makedirs(bell.folder, 0o700)
    assert is_private(bell.folder)
    if os.getuid() == 0:
        os.chown(bell.folder, 65534, -1)
    else:
        monkeypatch.setattr(datagram.os, "getuid", lambda: 1)
    assert not is_private(bell.folder)
    with bell.listen("t", "ada") as ada:
        assert ada.fileno() == -1


def test_a_symlink_is_not_used(bell: DatagramBell, tmp_path: Path) -> None:
    os.makedirs(os.path.dirname(bell.folder))
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    os.symlink(tmp_path / "elsewhere", bell.folder)
    with bell.listen("t", "ada") as ada:
        assert ada.fileno() == -1
        assert list((tmp_path / "elsewhere").iterdir()) == []


def test_no_folder_can_be_made(home: str) -> None:
    """Then there is no bell, and the slow poll beneath still finds everything."""
    Path(home, "run").write_text("in the way")
    bell = DatagramBell(home)
    with bell.listen("t", "ada") as ada:
        assert ada.fileno() == -1
        assert not ada.wait(0)
        assert bell.ring("t", ["ada"]) == {}


# --- nothing is left behind -------------------------------------------------------------------------------------------


def test_a_listeners_file_goes_when_it_closes(bell: DatagramBell) -> None:
    with bell.listen("t", "ada") as ada, bell.listen("t", "bob") as bob:
        assert sorted(os.listdir(bell.folder)) == sorted(map(os.path.basename, (ada.path, bob.path)))
    assert os.listdir(bell.folder) == []
    ada.close()
    assert not ada.wait(0)


def test_a_file_that_is_gone_already_does_not_matter(bell: DatagramBell) -> None:
    with bell.listen("t", "ada") as ada:
        os.unlink(ada.path)


def test_descriptors_do_not_leak(bell: DatagramBell) -> None:
    with bell.listen("t", "bob"):
        before = fds()
        for _ in range(200):
            with bell.listen("t", "ada"):
                bell.ring("t", ["ada"])
            bell.ring("t", ["nobody"])
        assert fds() == before


def test_a_listener_with_a_high_descriptor_waits_all_the_same(bell: DatagramBell) -> None:
    """A daemon has more than a thousand descriptors, and select() would refuse those above 1023."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2_048), hard))
    null = os.open(os.devnull, os.O_RDONLY)
    held = [os.dup(null) for _ in range(1_024)]
    try:
        with bell.listen("t", "ada") as ada:
            assert ada.fileno() > 1_023
            bell.ring("t", ["ada"])
            assert rang(ada)
    finally:
        for fd in (null, *held):
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_child_does_not_inherit_the_socket(bell: DatagramBell) -> None:
    with bell.listen("t", "ada") as ada:
        assert not os.get_inheritable(ada.fileno())


# --- waiting ----------------------------------------------------------------------------------------------------------


def test_what_is_there_already_needs_no_bell() -> None:
    listener = FakeListener()
    assert waiting.until(listener, lambda: "mail", timeout_s=None, poll_s=1.0) == "mail"
    assert listener.waits == []


def test_a_lost_ring_costs_one_poll_and_no_message() -> None:
    """No ring ever comes; each wait ends after the poll interval, and the next look finds the mail."""
    looks = iter([None, None, "mail"])
    listener = FakeListener(otherwise=False)
    assert waiting.until(listener, lambda: next(looks), timeout_s=None, poll_s=0.25) == "mail"
    assert listener.waits == [0.25, 0.25]


def test_a_ring_without_a_message_goes_on_waiting() -> None:
    looks = iter([None, None, None, "mail"])
    listener = FakeListener(otherwise=True)
    assert waiting.until(listener, lambda: next(looks), timeout_s=None, poll_s=9.0) == "mail"
    assert len(listener.waits) == 3


def test_a_wait_ends_at_its_time() -> None:
    listener = FakeListener()
    assert waiting.until(listener, lambda: None, timeout_s=0, poll_s=1.0) is None
    assert listener.waits == []


def test_no_wait_is_longer_than_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([100.0, 100.0, 100.75, 101.5])
    monkeypatch.setattr(waiting.time, "monotonic", lambda: next(moments))
    listener = FakeListener()
    assert waiting.until(listener, lambda: None, timeout_s=1.0, poll_s=1.0) is None
    assert listener.waits == [1.0, 0.25]


def test_mail_that_came_before_the_listener_is_found(tmp_path: Path) -> None:
    """Listen first, then look: what is sent in between rings or is seen."""
    stage = Stage(tmp_path / "ledger.db")
    stage.join_all("ada", "bob")
    stage.send("ada", "bob", "Before")
    found = waiting.mail(stage.client, stage.caller("bob"), "bob", {}, timeout_s=0, poll_s=1.0)
    assert found is not None
    assert [message["subject"] for message in found["messages"]] == ["Before"]
    stage.close()


def test_a_send_stands_when_the_bell_fails(home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the whole house: out of descriptors at the moment of ringing, and the sender is still told the truth."""
    stage = Stage(tmp_path / "ledger.db")
    stage.join_all("ada", "bob")
    bell = DatagramBell(home)
    stage.client = type(stage.client)(stage.store, bell, stage, stage.team)

    def too_many(*args: object, **more: object) -> socket.socket:
        raise OSError(24, "Too many open files")

    with bell.listen(stage.team, "bob") as bob:
        monkeypatch.setattr(datagram, "new_socket", too_many)
        sent = stage.send("ada", "bob", "Still here")
        assert sent["recipients"][0]["state"] == "live"
        assert not rang(bob)
    assert stage.subjects("bob") == ["Still here"]
    stage.close()


def test_a_new_listener_removes_the_sockets_of_the_killed(tmp_path: Path) -> None:
    bell = DatagramBell(str(tmp_path))
    (tmp_path / "run").mkdir()
    for number in range(20):
        pid = os.fork()
        if pid == 0:
            bell.listen("crew", f"agent-{number}")
            os._exit(0)  # as a kill leaves it: nothing is closed
        os.waitpid(pid, 0)
    with bell.listen("crew", "live") as live:
        assert os.listdir(bell.folder) == [os.path.basename(live.path)]
        other = Path(bell.folder) / "notes.txt"
        other.write_text("not ours")
        with bell.listen("crew", "another"):
            assert bell.ring("crew", ["live"]) == {"live": 1}
            assert other.exists()
            assert live.wait(5)
