"""The supervisor in a real daemon, with real programs, terminals and worktrees; killed wherever it may be killed."""

import json
import signal
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rookery.runtime import ourtmux, starting, tmux
from rookery.store import faults
from tests.support.panes import until
from tests.support.supervised import Site, site
from tests.support.trusting import trust_repository

BACKENDS = (
    "headless",
    pytest.param("tmux", marks=[pytest.mark.tmux, pytest.mark.slow]),
    pytest.param("pty", marks=pytest.mark.slow),
)
POINTS = [point for point in faults.BEYOND if point.startswith("worker_")]
STARTING = ("worker_begun", "worker_prepared", "worker_launched", "worker_told")


@pytest.fixture
def here() -> Generator[Site]:
    with site() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_program_runs_in_its_own_worktree_and_its_end_is_recorded(here: Site, backend: str) -> None:
    with here.up():
        here.program("program", more="env >env; pwd >where; git rev-parse HEAD >head")
        here.spawn(backend=backend)
        ((run, pid),) = here.begun()
        card = here.becomes("running")
        assert card["tree"] == str(here.files() / "workspace")
        assert here.call("task.show", id="task-0001")["lease"]["holder"] == card["name"]
        assert pid in here.processes(run)
        token = here.files() / "token"
        assert token.stat().st_mode & 0o777 == 0o600
        here.finish(3)
        card = here.becomes("ended")
        assert (card["ending"], card["exit_code"], card["status"]) == ("crashed", 3, "failed")
        tail = (here.files() / "pane-tail.txt").read_text()
        assert "hello from w1" in tail
        assert "bye from w1" in tail
        assert "Pane is dead" not in tail
        assert not token.exists()
        here.nothing_runs()
    tree = Path(card["tree"])
    assert (tree / "where").read_text().strip() == str(tree)
    assert (tree / "head").read_text().strip() == card["base"]
    known = dict(line.split("=", 1) for line in (tree / "env").read_text().splitlines() if "=" in line)
    assert known["ROOK_RUN"] == run
    assert (known["ROOK_AGENT"], known["ROOK_TEAM"], known["ROOK_TASK"]) == (card["name"], here.team, "task-0001")
    assert "ROOK_TOKEN" not in known
    assert "PYTHONPATH" not in known, "what is not named is not passed on"


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("backend", [
    "headless", pytest.param("tmux", marks=pytest.mark.tmux), "pty",
])  # fmt: skip
def test_a_daemon_killed_anywhere_leaves_one_process_a_worker(here: Site, backend: str, point: str) -> None:
    killed_at(here, backend, point)


@pytest.mark.slow
def test_a_daemon_killed_between_starting_and_writing_it_down_finds_what_it_began(here: Site) -> None:
    killed_at(here, "headless", "worker_launched")


def killed_at(here: Site, backend: str, point: str) -> None:
    if point not in STARTING:
        here.finish(7)
    with here.up(program="tests.support.dying", DIES_AT=point, DIES_AT_TIME="1") as dying:
        here.spawn(backend=backend)
        assert dying.wait() == -signal.SIGKILL
    with here.up():
        if point in STARTING:
            ((run, pid),) = here.begun()
            assert here.becomes("running")["state"] == "running"
            assert here.starts() == [(run, pid)]
            assert pid in here.processes(run)
            assert here.card()["runs"][0]["id"] == run
            here.finish(7)
        card = here.becomes("ended")
        assert (card["exit_code"], card["ending"]) == (7, "crashed")
        assert "bye from w1" in card["tail"]
        assert len(here.starts()) == 1, "its program was started once"
        assert len([each for each in here.events("worker.ended") if each["data"]["reason"] == "crashed"]) == 1
        here.nothing_runs()
    assert here.worktrees() == [str(here.files() / "workspace")]
    assert here.call("task.show", id="task-0001")["status"] == "pending"


@pytest.mark.slow
def test_a_restarted_daemon_finds_its_workers_as_they_are(here: Site) -> None:
    with here.up() as first:
        here.spawn()
        here.begun()
        here.becomes("running")
        first.process.kill()
        first.wait()
    ((_, pid),) = here.starts()
    assert runs(pid)
    with here.up():
        here.finish(0)
        card = here.becomes("ended")
        assert (card["ending"], card["exit_code"]) == ("ended", 0)
        here.nothing_runs()


@pytest.mark.slow
def test_children_of_a_worker_end_with_it_wherever_they_went(here: Site) -> None:
    """One in a session of its own, and one that nothing says whose it is but the session it stands in."""
    bare = """env -i sh -c 'echo $$ >"$1"; exec sleep 1001' sh "{folder}/bare" &"""
    here.program(
        "program", more=f'setsid sleep 1000 & echo $! >"{{folder}}/apart"; ({bare})'.format(folder=here.folder)
    )
    with here.up():
        here.spawn()
        here.begun()
        here.becomes("running")
        children = [int(until(lambda name=name: written(here.folder / name))) for name in ("apart", "bare")]
        assert all(map(runs, children))
        here.call("stop", id="w1", now=True)
        assert here.becomes("ended")["ending"] == "killed"
        here.nothing_runs()
    assert not any(map(runs, children))


def written(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


def runs(pid: int) -> bool:
    """Not one that only waits to be forgotten."""
    try:
        return bool(Path("/proc", str(pid), "cmdline").read_bytes())
    except OSError:
        return False


# -- what others read ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_outside_readers_find_how_it_is_and_what_happened(here: Site) -> None:
    """And whoever comes back after a kill goes on where the last one stopped: nothing twice, nothing left out."""
    with here.up() as first:
        here.spawn()
        here.begun()
        until(lambda: status(here).get("state") == "running")
        first.process.kill()
        first.wait()
    here.finish(0)
    with here.up():
        here.becomes("ended")
        until(lambda: status(here).get("state") == "ended")
        until(lambda: "worker.ended" in told(here))
        assert told(here) == [each["type"] for each in here.events("") if concerns(here, each)]
        assert told(here).count("worker.spawned") == 1
        card = here.card()
        kept = here.call("artifacts", kind="run")["artifacts"]
        run = card["runs"][0]["id"]
        assert {each["name"] for each in kept} == {
            f"{run}-{n}" for n in ("prompt.md", "output.txt", "events.ndjson", "meta.json")
        }
    assert (here.files() / "status.json").stat().st_mode & 0o777 == 0o600


def status(here: Site) -> dict[str, Any]:
    return json.loads(written(here.files() / "status.json") or "{}")


def told(here: Site) -> list[str]:
    lines = written(here.files() / "events.ndjson").splitlines()
    return [json.loads(line)["type"] for line in lines]


def concerns(here: Site, event: Mapping[str, Any]) -> bool:
    name = here.card()["name"]
    last = json.loads(written(here.files() / "events.ndjson").splitlines()[-1])["seq"]
    return (event["ref"] == "w1" or name in (event["actor"], event["target"])) and event["seq"] <= last


# -- stopping --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_worker_that_is_stopped_is_asked_then_told_then_killed(here: Site) -> None:
    deaf = here.program("deaf", more="trap : TERM INT HUP")
    here.program("program", more="trap 'exit 9' TERM")
    with here.up(ROOK_WORKER_TERM_S="0.3"):
        here.spawn()
        here.spawn(program=[deaf])
        for id in ("w1", "w2"):
            here.begun(id)
            here.becomes("running", id)
            here.call("stop", id=id)
        polite, rude = here.becomes("ended", "w1"), here.becomes("ended", "w2")
        assert (polite["ending"], polite["exit_code"]) == ("stopped", 9)
        assert rude["ending"] == "killed"
        here.nothing_runs()


@pytest.mark.slow
def test_nothing_is_done_to_a_worker_while_it_has_time_to_wrap_up(here: Site) -> None:
    with here.up(ROOK_WORKER_GRACE_S="600"):
        name = here.call("worker.show", id=here.spawn())["name"]
        here.begun()
        here.becomes("running")
        here.call("stop", id="w1", reason="enough")
        here.becomes("stopping")
        assert [each["subject"] for each in here.call("inbox", as_=name)["messages"]] == ["Wrap up"]
        here.finish(0)
        card = here.becomes("ended")
        assert (card["ending"], card["exit_code"]) == ("stopped", 0)


@pytest.mark.slow
def test_down_ends_all_workers_and_leaves_what_waits_waiting(here: Site) -> None:
    with here.up(ROOK_WORKER_LIMIT="2", ROOK_WORKER_TERM_S="60") as daemon:
        for _ in range(3):
            here.spawn()
        for id in ("w1", "w2"):
            here.begun(id)
            here.becomes("running", id)
        assert daemon.stop(signal.SIGUSR1)[0] == 0
    here.nothing_runs()
    assert [here.card(id)["state"] for id in ("w1", "w2", "w3")] == ["ended", "ended", "queued"]
    assert here.card("w1")["ending"] == "stopped"
    with here.up(ROOK_WORKER_LIMIT="2"):
        here.begun("w3")


@pytest.mark.slow
@pytest.mark.tmux
def test_a_window_that_came_late_is_closed(here: Site) -> None:
    """Its starter was killed after asking for it: no row knows its run."""
    kept = ourtmux.Kept(mark="run-nobodys")
    with here.up() as daemon:
        address = ourtmux.new_window(str(here.home), ["true"], cwd="/", environ={}, kept=kept).address
        until(lambda: "run-nobodys" in ourtmux.ended(str(here.home)))
        starting.close_windows(str(here.home), ourtmux.ended(str(here.home)), running=["run-nobodys"])
        assert here.windows(), "whoever sees to it closes it"
        assert daemon.stop(signal.SIGUSR1)[0] == 0
    here.nothing_runs()
    assert not tmux.is_there(address)


@pytest.mark.slow
def test_a_daemon_that_goes_without_its_workers_leaves_them(here: Site) -> None:
    with here.up() as daemon:
        here.spawn()
        ((run, pid),) = here.begun()
        here.becomes("running")
        assert daemon.stop(signal.SIGTERM)[0] == 0
    assert pid in here.processes(run)
    with here.up():
        here.call("stop", id="w1", now=True)
        here.becomes("ended")
        here.nothing_runs()


# -- what is not so --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_can_not_be_started_says_why_and_leaves_nothing(here: Site) -> None:
    with here.up():
        here.spawn(program=[str(here.folder / "nowhere")])
        card = here.becomes("ended")
        assert (card["ending"], card["exit_code"]) == ("crashed", 127)
        assert "nowhere" in card["tail"]
        here.call("spawn", assignment="x", host="script", backend="headless", root=str(here.folder), program=["true"])
        card = here.becomes("ended", "w2")
        assert card["ending"] == "not-started"
        assert "is no git repository" in card["tail"]
        here.spawn(no_worktree=True, program=["sh", "-c", "pwd"])
        card = here.becomes("ended", "w3")
        assert (card["tail"].strip(), card["tree"]) == (str(here.repo), None)
        here.nothing_runs()
    assert len(here.worktrees()) == 1


@pytest.mark.slow
def test_a_git_that_was_killed_does_not_lock_out_the_next_run(here: Site) -> None:
    (here.repo / ".rook" / "kinds").mkdir(parents=True)
    steady = "---\nname: steady\ndescription: goes on\nrespawn:\n  policy: on-crash\n  backoff_s: 0\n---\nGo on.\n"
    (here.repo / ".rook" / "kinds" / "steady.md").write_text(steady)
    trust_repository(here.repo, here.house.environ)
    killed = 'touch "$(git rev-parse --git-path index.lock)"; kill -9 $$'
    more = f'[ -e "{here.folder}/once" ] || {{ touch "{here.folder}/once"; {killed}; }}; git add --all || exit 9'
    here.finish(0)
    with here.up():
        here.spawn(program=[here.program("locked", more=more)], kind="steady")
        card = here.becomes("ended")
        assert (card["runs"][0]["n"], card["exit_code"]) == (2, 0)


# -- long after ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_old_workers_are_put_away_and_what_is_nowhere_else_stays(here: Site) -> None:
    here.finish(0)
    commit = "git -c user.name=a -c user.email=a@localhost commit -q --allow-empty -m mine"
    dirty, ahead = here.program("dirty", more="echo x >new.txt"), here.program("ahead", more=commit)
    with here.up(ROOK_WORKER_PRUNE_S="0", ROOK_WORKER_EVICT_S="0", ROOK_WORKER_TIDY_S="0.1"):
        here.spawn()
        here.spawn(program=[dirty])
        here.spawn(program=[ahead])
        until(lambda: not here.files("w1").exists())
        until(lambda: here.call("workers", all=True)["workers"][-1]["id"] == "w2")
        kept = {each["id"]: each for each in until(lambda: all_kept(here))}
        assert "not committed" in kept["w2"]["kept"]
        assert "no branch has" in kept["w3"]["kept"]
        assert here.call("workers")["workers"] == []
        assert {each["ref"] for each in here.events("worker.evicted")} >= {"w2", "w3"}
    assert (here.files("w2") / "workspace" / "new.txt").exists()
    assert len(here.worktrees()) == 2


def all_kept(here: Site) -> list[dict[str, str]]:
    found = here.call("workers", all=True)["workers"]
    return found if len(found) == 2 and all(each["kept"] for each in found) else []
