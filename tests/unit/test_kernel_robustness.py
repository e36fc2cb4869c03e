"""What one failure in a process must not take with it: handles after a fork, renewal of leases, git, the write lock."""

import os
import signal
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rookery import extensions
from rookery.client import leases
from rookery.client.queued import QueuedClient, Stores
from rookery.core.errors import ForkedHandle, LeaseLost, RookError
from rookery.runtime import gitpolicy, repository
from rookery.store.sqlite import SqliteStore
from tests.support.procs import PATIENCE_S
from tests.support.stage import Build, Stage
from tests.unit import gitrepo

# --- a fork while another thread writes -------------------------------------------------------------------------------

FORKED, RETURNED = 7, 8


def code_of_child(work: Callable[[], object]) -> int:
    """The exit code of a forked child: FORKED if it refused, -SIGALRM if it hangs."""
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)  # a child that hangs ends all the same
        code = RETURNED
        try:
            work()
        except ForkedHandle:
            code = FORKED
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


CALLS: dict[str, Callable[[SqliteStore], object]] = {
    "write": lambda store: store.write("crew", lambda tx: None),
    "write_batch": lambda store: store.write_batch([("crew", lambda tx: None)] * 2),
    "read": lambda store: store.read("crew", lambda tx: None),
    "checks": lambda store: store.checks(),
    "is_whole": lambda store: store.is_whole(1.0),
    "backup": lambda store: store.backup(f"{store.location}.copy"),
    "close": lambda store: store.close(),
}


@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("call", CALLS)
def test_a_child_forked_while_another_thread_writes_is_told_so(build: Build, call: str) -> None:
    store = build().store
    begun, go_on = threading.Event(), threading.Event()

    def write(_tx: object) -> None:
        begun.set()
        assert go_on.wait(PATIENCE_S)

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(store.write, "crew", write)
        assert begun.wait(PATIENCE_S)
        try:
            code = code_of_child(lambda: CALLS[call](store))
        finally:
            go_on.set()
        written.result()
    assert code == (RETURNED if call == "close" else FORKED)


# --- renewal of leases ------------------------------------------------------------------------------------------------


class Held(leases.Kept):
    """Something that is renewed by a function of the test."""

    def __init__(self, renew: Callable[[], object], ttl_ms: int = 30) -> None:
        super().__init__(None, None, ttl_ms, leases.time.monotonic())  # type: ignore[arg-type]
        self._renew = renew

    def _renew_on(self, client: Any, ttl_ms: int | None = None) -> None:
        self._renew()
        self.trusted_until = leases.time.monotonic() + self.ttl_s


class NoClient:
    def close(self) -> None:
        return


@pytest.mark.parametrize("trouble", ["on_lost", "renewal", "opening"])
def test_an_error_about_one_lease_leaves_the_others_renewed(trouble: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[BaseException | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: reported.append(args.exc_value))
    failed, renewed = threading.Event(), threading.Event()

    def fail() -> None:
        failed.set()
        raise KeyError("mine")

    def lose() -> None:
        raise LeaseLost("it is gone", "")

    def renew() -> None:
        if failed.is_set():
            renewed.set()

    bad, good = Held(lose if trouble == "on_lost" else fail), Held(renew)
    bad._learn = lambda error: setattr(bad, "lost", error)
    if trouble == "on_lost":
        bad.lost, bad.on_lost = LeaseLost("it is gone", ""), fail
    renewer = leases._Renewer()
    renewer.keep(bad, fail if trouble == "opening" else NoClient)  # type: ignore[arg-type]
    renewer.keep(good, NoClient)  # type: ignore[arg-type]
    try:
        assert failed.wait(PATIENCE_S)
        assert renewed.wait(PATIENCE_S)
        assert isinstance(reported[0], KeyError), "and it was told"
    finally:
        renewer.forget(bad)
        renewer.forget(good)


# --- git that does not answer -----------------------------------------------------------------------------------------

READS: dict[str, Callable[[str], object]] = {
    "git": lambda top: repository.git(top, "status"),
    "output": lambda top: repository.output(top, ("diff",), 100),
    "blobs": lambda top: repository.blobs(top, ["abc"]),
}


@pytest.mark.parametrize("read", READS)
def test_a_git_that_hangs_is_refused_and_ended(read: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = str(gitrepo.repository(tmp_path / "app"))
    gitpolicy.environment(top)  # its settings are known
    program, started = tmp_path / "bin" / "git", tmp_path / "pid"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho $$ > {started}\necho some\nexec sleep 1000\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(gitpolicy, "_overrides", lambda *_: [])
    monkeypatch.setattr(gitpolicy, "LIMIT_S", 0.3)
    with pytest.raises(RookError) as caught:
        READS[read](top)
    assert caught.value.code == "GIT_FAILED"
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_no_more_of_git_is_read_than_wanted(tmp_path: Path) -> None:
    top = gitrepo.repository(tmp_path / "app")
    (top / "large").write_text("line\n" * 100_000)
    gitrepo.git("add", "large", cwd=top)
    data, whole = repository.output(str(top), ("diff", "--cached"), 1000)
    assert (len(data), whole) == (1000, False)
    data, whole = repository.output(str(top), ("diff", "--cached"), 10_000_000)
    assert (len(data) > 500_000, whole) == (True, True)


# --- files while the ledger is locked ---------------------------------------------------------------------------------


def watch(stage: Stage, stores: list[SqliteStore], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is read, and that it is read while no store writes."""
    read: list[str] = []
    own, load = stage.directory.kind, extensions._load_all

    def note(what: str) -> None:
        assert all(store._connection.get_autocommit() for store in stores), f"{what} under the lock"
        read.append(what)

    def kind(name: str) -> Any:
        note(f"kind {name}")
        return own(name)

    def load_all(group: str) -> Any:
        note(group)
        return load(group)

    monkeypatch.setattr(stage.directory, "kind", kind)
    monkeypatch.setattr(extensions, "_load_all", load_all)
    extensions.forget()
    return read


REFUSED = {"send": "UNKNOWN_AGENT", "rule.add": "UNKNOWN_POLICY"}
WRITES: dict[str, dict[str, Any]] = {
    "spawn": {"assignment": "Parse the header", "kind": "reviewer"},
    "send": {"to": ["reviewer"], "subject": "Look at it"},
    "rule.add": {"name": "small", "policies": ["nobodys"]},
    "kind.add": {"written": "---\nname: reviewer\n---\nRead it.\n"},
}


@pytest.mark.parametrize("verb", WRITES)
@pytest.mark.parametrize("queued", [False, True], ids=["embedded", "daemon"])
def test_kinds_and_entry_points_are_read_without_the_lock(
    build: Build, monkeypatch: pytest.MonkeyPatch, verb: str, queued: bool
) -> None:
    stage = build()
    stores = [stage.store]

    def another() -> SqliteStore:
        stores.append(SqliteStore(stage.store.location, stage.clock))
        return stores[-1]

    queue = QueuedClient(Stores(another(), another(), another), stage.bell, lambda _team: stage) if queued else None
    read = watch(stage, stores, monkeypatch)
    before, caller, refused = stage.rows(), stage.caller(tree="/work"), ""
    try:
        if queue is not None:
            queue.submit("crew", verb, WRITES[verb], caller).result(PATIENCE_S)
        else:
            stage.call(verb, caller, **WRITES[verb])
    except RookError as error:
        refused = error.code
    finally:
        if queue is not None:
            queue.close()
        extensions.forget()
    assert refused == REFUSED.get(verb, "")
    assert (stage.rows() == before) is bool(refused)
    assert read
    assert len(read) == len(set(read)), "each once for a call, however often the verb ran"
