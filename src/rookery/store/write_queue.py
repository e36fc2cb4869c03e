"""The queue of writers of a database: who waits for the write lock is woken when it is free, in the order of asking.

SQLite has no queue: whoever finds the database locked sleeps and looks again. With 200 processes on two cores the
looking itself takes the processor away from whoever holds the lock, and 32 to 117 of them gave up. Here a writer takes
an flock on a file of its own beside the database first, for as long as its transaction lasts. The kernel keeps those
who wait in a queue and gives the lock back when a process dies.

The queue decides nothing: the transaction does. A writer that can not take part (a file system without flock), or that
stands in a queue that does not move, asks the database as if there were none.
"""

import os
import stat
from _thread import allocate_lock, start_new_thread

MODE = 0o600
ROUNDS = 30  # how many times its patience a writer waits while others commit


class WriteQueue:
    """The place of one connection in the queue; used by one thread at a time."""

    def __init__(self, database: str) -> None:
        self._path = f"{database}-queue"
        self._journal = f"{database}-wal"
        self._file = -1
        self._held = False

    def enter(self, wait_s: float) -> bool:
        """Wait for our turn. False: the queue did not move for so long, or there is none; nothing is held then."""
        from fcntl import LOCK_EX, LOCK_NB, flock

        try:
            if self._file < 0:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, MODE)
                if stat.S_IMODE(os.fstat(self._file).st_mode) != MODE:  # made under an umask
                    os.fchmod(self._file, MODE)
            flock(self._file, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            self._held = self._wait(wait_s)
        except OSError:
            return True  # no queue here; nobody was waited for
        else:
            self._held = True
        return self._held

    def leave(self) -> None:
        if self._held:
            from fcntl import LOCK_UN, flock

            self._held = False
            flock(self._file, LOCK_UN)  # not by closing it: a forked child may have the same file open

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _wait(self, wait_s: float) -> bool:
        """A thread waits in the kernel, because flock knows no time limit. One that is too late gives its turn back."""
        waiter = _Waiter(self._file)
        seen = self._progress()
        try:
            for _ in range(ROUNDS):
                if waiter.done.acquire(timeout=max(0.0, wait_s)):
                    return waiter.has_turn
                before, seen = seen, self._progress()
                if seen == before:  # whoever has the turn does not commit: it hangs, or another program has the lock
                    break
        finally:
            if waiter.gives_up():
                self._file = -1  # the thread closes it when its turn has come
        return waiter.has_turn

    def _progress(self) -> int:
        """Changes with every commit: each one is written to the journal."""
        try:
            return os.stat(self._journal).st_mtime_ns
        except OSError:
            return 0


class _Waiter:
    def __init__(self, file: int) -> None:
        self.done = allocate_lock()
        self.done.acquire()
        self.has_turn = False
        self._file = file
        self._mutex = allocate_lock()
        self._is_over = False  # one side has decided: the turn is taken, or it is not wanted any more
        start_new_thread(self._run, ())

    def _run(self) -> None:
        from fcntl import LOCK_EX, flock

        try:
            flock(self._file, LOCK_EX)
        except OSError:
            has_turn = False
        else:
            has_turn = True
        with self._mutex:
            wanted, self._is_over = not self._is_over, True
            self.has_turn = has_turn and wanted
        if wanted:
            self.done.release()
        else:
            os.close(self._file)

    def gives_up(self) -> bool:
        """No longer wanted. False if the turn came before that."""
        with self._mutex:
            is_first, self._is_over = not self._is_over, True
        return is_first
