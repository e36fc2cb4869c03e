"""What broke in systems that deliver files (seed 001's own among them), and what the maildrop does instead."""

from pathlib import Path
from typing import Any

import pytest

from rookery.front.maildrop.box import Box
from tests.support import drops
from tests.support.drops import Clock, inbox, join, letter, lying, names, put, terms, until, up
from tests.support.procs import child
from tests.support.stores import prepared_home


@pytest.fixture
def work(tmp_path: Path) -> Path:
    prepared_home(tmp_path / "rook")
    return tmp_path


@pytest.mark.slow
def test_h1_half_a_file_is_never_read(work: Path) -> None:
    """A writer pauses in the middle of each of many files, a daemon watches: every message is whole."""
    msgs = work / ".rook" / "msgs"
    msgs.mkdir(parents=True)
    with up(work, ROOK_MAILDROP_SETTLE_S="0") as started:
        join(started, "bob")
        for number in range(5):
            parts = ["---\nto: bob\n", f"from: ada\nmsg-id: m{number}\n---\nfirst", " second", " last"]
            with child(drops.write_slowly, None, path=str(msgs / f"{number}.md"), parts=parts) as writer:
                for part in parts:
                    assert writer.hear() == "wrote", part
                    put(msgs, f"between-{number}-{len(part)}.md", letter("bob", "eve", "between"))
                    until(lambda: not [name for name in lying(msgs) if name.startswith("between")], "the others")
                    writer.say()
                assert writer.hear() == "closed"
                writer.finish()
        until(lambda: not lying(msgs), "all of them")
        bodies = {m["body"] for m in inbox(started) if m["from"] == "ada"}
        assert bodies == {"first second last"}
        assert names(msgs / "rejected") == []


@pytest.mark.slow
def test_h4_a_steady_stream_does_not_keep_the_first_waiting(work: Path) -> None:
    """Files arrive more often than one settles, and go on arriving until the first is taken: it is."""
    msgs = work / ".rook" / "msgs"
    settle_s = 0.2
    with up(work, ROOK_MAILDROP_SETTLE_S=str(settle_s)) as started:
        join(started, "bob")
        written = 0

        def first_is_taken() -> bool:
            nonlocal written
            put(msgs, f"{written:05d}.md", letter("bob", "ada", f"number {written}"))
            written += 1
            return (msgs / "sent" / "00000.md").exists()

        until(first_is_taken, "the first of a stream")  # looks, and so writes, every 0.01 s
        assert written > 2, "there was no stream"
        until(lambda: not lying(msgs), "the rest of it")
        assert len(inbox(started)) == written


class Debounced(Box):
    """The watcher that starved elsewhere: whatever arrives begins the wait anew, for all."""

    def _remember(self, items: list[Any], now: float) -> None:
        before = set(self._seen)
        super()._remember(items, now)
        if set(self._seen) - before:
            self._seen = {name: seen._replace(since=now) for name, seen in self._seen.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "starves"), [(Box, False), (Debounced, True)])
def test_h4_latency_does_not_depend_on_what_else_arrives(tmp_path: Path, kind: type[Box], starves: bool) -> None:
    """Arrivals in each half of the time that a file needs to settle; the debounce is the negative control."""
    clock, taken = Clock(), []
    box = kind(str(tmp_path), lambda args: {"id": "MSG-1", "recipients": []}, terms(settle_s=0.05), clock)
    for number in range(200):
        put(tmp_path, f"{number:04d}.md", letter("bob", "ada", str(number)))
        taken += [(each.file, number) for each in box.look()]
        clock.now += 0.025
    if starves:
        assert taken == []
        return
    waited = [looks - int(name[:4]) for name, looks in taken]
    assert len(taken) >= 197
    assert max(waited) <= 3, "each waits for its own time only"


@pytest.mark.slow
def test_h7_messages_written_while_the_daemon_was_down_are_found(work: Path) -> None:
    """Before the first start, after an orderly end, and after a kill: everything that lay there is delivered, once."""
    msgs = work / ".rook" / "msgs"
    put(msgs, "0.md", letter("user", "ada", "before the first start", msg_id="m0"))
    with up(work) as started:
        join(started, "bob")
        until(lambda: not lying(msgs), "what lay there before the start")
    put(msgs, "1.md", letter("bob", "ada", "after an orderly end", msg_id="m1"))
    with up(work) as started:
        until(lambda: not lying(msgs), "what was written while it was down")
        started.process.kill()
        started.wait()
    for number in range(2, 50):
        put(msgs, f"{number:02d}.md", letter("bob", "ada", f"after a kill {number:02d}", msg_id=f"m{number}"))
    with up(work) as started:
        until(lambda: not lying(msgs), "what was written after the kill")
        assert [m["subject"] for m in inbox(started)] == [
            "after an orderly end", *(f"after a kill {number:02d}" for number in range(2, 50))
        ]  # fmt: skip
        assert [m["subject"] for m in inbox(started, "user")] == ["before the first start"]
    assert len(names(msgs / "sent")) == 50
