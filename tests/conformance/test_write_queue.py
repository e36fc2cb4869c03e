"""Many writers at once: all are served, in the order in which they asked, and one that hangs stops nobody else."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rookery.core import errors
from rookery.store.port import Transaction
from rookery.store.sqlite import SqliteStore
from rookery.store.write_queue import WriteQueue
from tests.support.fakes import FakeClock
from tests.support.procs import PATIENCE_S
from tests.support.stores import prepared

WRITERS = 80
SHORT_S = 2.0  # a writer gives up after this, unless others commit meanwhile


def forked(work: Callable[[], object]) -> int:
    """Do it in a child; its pid. It ends with 0, or with 1 if anything was raised."""
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(round(PATIENCE_S))
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def codes(pids: list[int]) -> list[int]:
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return prepared(tmp_path / "rookery.db")


def add_event(tx: Transaction) -> None:
    tx.next_seq()


def write(path: str, begin: int, busy_s: float) -> None:
    store = SqliteStore(path, FakeClock(), busy_s=busy_s)
    os.read(begin, 1)  # until the other end is closed
    store.write("crew", add_event)
    store.close()


@pytest.mark.slow
def test_all_who_write_at_once_are_served(path: str) -> None:
    """Each waits for longer than its patience, and the queue moves."""
    begin, go = os.pipe()

    def child() -> None:
        os.close(go)
        write(path, begin, SHORT_S)

    pids = [forked(child) for _ in range(WRITERS)]
    os.close(go)
    assert codes(pids) == [0] * WRITERS
    os.close(begin)
    store = SqliteStore(path, FakeClock())
    assert store.write("crew", lambda tx: tx.next_seq()) == WRITERS + 1
    store.close()


@contextmanager
def queued(path: str, count: int) -> Iterator[list[WriteQueue]]:
    made = [WriteQueue(path) for _ in range(count)]
    try:
        yield made
    finally:
        for each in made:
            each.leave()
            each.close()


def waits(path: str) -> int:
    """How many wait for the lock on the queue's file, as the kernel tells."""
    inode = os.stat(f"{path}-queue").st_ino
    lines = Path("/proc/locks").read_text().splitlines()
    return sum("->" in line and f":{inode} " in line for line in lines)


@pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="only Linux tells who waits")
def test_they_are_served_in_the_order_of_asking(path: str) -> None:
    served: list[int] = []
    with queued(path, 6) as (first, *others):
        assert first.enter(1.0)

        def take(number: int, queue: WriteQueue) -> None:
            assert queue.enter(PATIENCE_S)
            served.append(number)
            queue.leave()

        threads: list[threading.Thread] = []
        for number, queue in enumerate(others):
            threads.append(threading.Thread(target=take, args=(number, queue)))
            threads[-1].start()
            while waits(path) <= number:
                assert threads[-1].is_alive()
        first.leave()
        for thread in threads:
            thread.join(PATIENCE_S)
    assert served == list(range(5))


def test_a_writer_that_is_killed_holds_nobody_up(path: str) -> None:
    ready, told = os.pipe()

    def hang(_tx: Transaction) -> None:
        os.write(told, b"!")
        signal.pause()

    pid = forked(lambda: SqliteStore(path, FakeClock()).write("crew", hang))
    assert os.read(ready, 1) == b"!"
    store = SqliteStore(path, FakeClock(), busy_s=PATIENCE_S)
    done = threading.Thread(target=store.write, args=("crew", add_event))
    done.start()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    done.join(PATIENCE_S)
    assert not done.is_alive()
    store.close()
    for each in (ready, told):
        os.close(each)


def test_a_writer_that_hangs_is_waited_for_no_longer_than_the_patience(path: str) -> None:
    ready, told = os.pipe()

    def hang(_tx: Transaction) -> None:
        os.write(told, b"!")
        signal.pause()

    pid = forked(lambda: SqliteStore(path, FakeClock()).write("crew", hang))
    assert os.read(ready, 1) == b"!"
    store = SqliteStore(path, FakeClock(), busy_s=SHORT_S)
    for _ in range(2):
        with pytest.raises(errors.StoreBusy):
            store.write("crew", add_event)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    store.write("crew", add_event)  # a turn that came too late was given back
    another = SqliteStore(path, FakeClock(), busy_s=SHORT_S)
    another.write("crew", add_event)
    for each in (store, another):
        each.close()
    for each in (ready, told):
        os.close(each)


def test_without_a_queue_the_database_decides(path: str) -> None:
    os.mkdir(f"{path}-queue")  # no file can be opened there
    store = SqliteStore(path, FakeClock())
    store.write("crew", add_event)
    store.close()


def test_a_fork_does_not_keep_the_turn(path: str) -> None:
    """A child has the same file open, and with it the parent's turn; the parent gives it back all the same."""
    begin, go = os.pipe()
    store = SqliteStore(path, FakeClock(), busy_s=SHORT_S)
    pids: list[int] = []

    def fork_inside(_tx: Transaction) -> None:
        def child() -> None:
            os.close(go)
            os.read(begin, 1)

        pids.append(forked(child))

    store.write("crew", fork_inside)
    another = SqliteStore(path, FakeClock(), busy_s=SHORT_S)
    another.write("crew", add_event)
    os.close(go)
    assert codes(pids) == [0]
    os.close(begin)
    for each in (store, another):
        each.close()
