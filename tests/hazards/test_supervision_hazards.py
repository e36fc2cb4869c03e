"""Hazards of supervision: how systems that start agents were seen to lose, double or hit the wrong processes."""

import os
import signal
import subprocess
from collections.abc import Generator
from datetime import datetime, timedelta
from typing import cast

import pytest

from rookery.runtime import process, runs
from tests.support.panes import until
from tests.support.supervised import Site, site


@pytest.fixture
def here() -> Generator[Site]:
    with site() as made:
        yield made


@pytest.mark.tmux
@pytest.mark.slow
def test_h16_three_concurrent_spawns_get_three_panes(here: Site) -> None:
    with here.up():
        ids = [here.spawn(backend="tmux") for _ in range(3)]
        assert ids == ["w1", "w2", "w3"]
        cards = [here.becomes("running", id) for id in ids]
        panes = [card["terminal"]["pane"] for card in cards]
        assert len(set(panes)) == 3
        listed = {pane: (int(first), run) for pane, first, run in (line.split() for line in here.windows())}
        assert {pane: listed[pane][0] for pane in panes} == {c["terminal"]["pane"]: c["pid"] for c in cards}
        assert [listed[pane][1] for pane in panes] == [card["runs"][0]["id"] for card in cards]
        here.finish(0)
        for id in ids:
            here.becomes("ended", id)
        here.nothing_runs()


@pytest.mark.slow
def test_h36_a_worker_killed_without_a_word_holds_nothing(here: Site) -> None:
    with here.up(ROOK_WORKER_LIMIT="1"):
        name = here.call("worker.show", id=here.spawn())["name"]
        here.spawn()
        here.begun("w1")
        card = here.becomes("running", "w1")
        assert here.starts("w2") == [], "there is room for one"
        os.kill(card["pid"], signal.SIGKILL)
        assert here.becomes("ended", "w1")["ending"] == "crashed"
        assert here.call("task.show", id="task-0001")["status"] == "pending"
        assert here.call("whois", name=name)["liveness"] == "ended"
        here.begun("w2")
        assert here.processes(card["runs"][0]["id"]) == {}, "nor do its children go on"


@pytest.mark.slow
def test_h28_work_longer_than_its_lease_keeps_it_and_a_lost_lease_ends_the_work(here: Site) -> None:
    with here.up(ROOK_TASKS_TTL_S="1", ROOK_WORKER_GRACE_S="0", ROOK_WORKER_TERM_S="60"):
        here.spawn()
        here.begun()
        here.becomes("running")
        first = here.call("task.show", id="task-0001")["lease"]
        until(lambda: here.call("task.show", id="task-0001")["lease"]["expiresAt"] > later(first["expiresAt"], 2))
        assert here.call("task.show", id="task-0001")["lease"]["epoch"] == first["epoch"]
        here.call("task.cancel", id="task-0001")
        card = here.becomes("ended")
        assert card["ending"] == "stopped"
        assert [each["ref"] for each in here.events("worker.lost")] == ["w1"]
        here.nothing_runs()


def later(stamp: str, seconds: int) -> str:
    return (datetime.fromisoformat(stamp) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def test_h14_h18_only_the_very_process_that_was_seen_is_signalled() -> None:
    victim = subprocess.Popen(["sleep", "1000"])
    seen = process.identify(victim.pid)
    assert seen
    bystander = cast(
        "subprocess.Popen[bytes]", until(lambda: started_after(seen))
    )  # within one tick of the clock two would look alike but for their pid
    try:
        assert not runs.send(seen._replace(started=f"{seen.started}0"), signal.SIGKILL), "its number, another's start"
        assert not runs.send(seen._replace(pid=bystander.pid), signal.SIGKILL)
        assert victim.poll() is bystander.poll() is None
        assert runs.send(seen, signal.SIGKILL), "a control: it can be hit"
        assert victim.wait(30) == -signal.SIGKILL
        assert bystander.poll() is None
    finally:
        for each in (victim, bystander):
            each.kill()
            each.wait()


def started_after(seen: process.Process) -> "subprocess.Popen[bytes] | None":
    made = subprocess.Popen(["sleep", "1000"])
    found = process.identify(made.pid)
    if found and found.started != seen.started:
        return made
    made.kill()
    made.wait()
    return None


def test_h14_only_what_carries_a_run_is_ended_with_it() -> None:
    base, run = {"PATH": os.environ["PATH"]}, f"run-{os.getpid()}"
    mine = subprocess.Popen(["sh", "-c", "sleep 1000 & wait"], env={**base, "ROOK_RUN": run}, start_new_session=True)
    others = [
        subprocess.Popen(["sleep", "1000"], env=each, start_new_session=True)
        for each in (
            base,
            {**base, "ROOK_RUN": f"{run}0"},
            {**base, "NOT_ROOK_RUN": run},
            {**base, "X": f"ROOK_RUN={run}"},
        )
    ]
    try:
        until(lambda: len(runs.members(run)) == 2)
        done = runs.end(run, process.identify(mine.pid), 5.0, reap=lambda: (mine.poll(), None)[1])
        assert (done.killed, done.left) == (0, 0)
        assert runs.members(run) == []
        assert [each.poll() for each in others] == [None] * 4
        assert runs.end("", None, 0.0) == runs.Ended(), "no run is nobody's"
    finally:
        for each in (mine, *others):
            each.kill()
            each.wait()
