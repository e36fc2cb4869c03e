"""What a keeper writes down of workers: runs that were interrupted, warnings, use, and what is put away."""

from typing import Any

import pytest

from rookery.core.caller import Caller, Grant
from rookery.core.workers import Step, Stopping, ending_of, stopping
from tests.support import ledger
from tests.support.stage import MINUTE, SECOND, Build, Stage
from tests.unit.test_verbs_workers import begin, card, due, over, spawn, start

KEEPER = "here:1:t1"


@pytest.fixture
def stage(build: Build) -> Stage:
    return build()


def beat(stage: Stage, run: str, id: str = "w1", **more: Any) -> Any:
    return stage.call("worker.beat", "system", runs={id: run}, **more)


def events(stage: Stage, kind: str) -> list[dict[str, Any]]:
    return [each for each in stage.call("events")["events"] if each["type"] == kind]


def test_a_run_that_was_never_begun_is_begun_anew_and_counts_as_no_crash(stage: Stage) -> None:
    spawn(stage)
    run = begin(stage, "w1")["run"]
    assert due(stage)["watch"][0]["mine"], "its owner is no process that runs"
    assert over(stage, "w1", run, "interrupted")["state"] == "queued"
    assert (card(stage)["crashes"], due(stage)["begin"]) == (0, ["w1"])
    again = begin(stage, "w1")
    assert (again["n"], again["run"] != run) == (2, True)
    assert stage.inbox("user") == []


def test_one_that_is_to_stop_is_not_begun_anew(stage: Stage) -> None:
    spawn(stage)
    run = begin(stage, "w1")["run"]
    stage.call("stop", id="w1")
    assert over(stage, "w1", run, "interrupted")["state"] == "ended"


def test_whoever_starts_one_has_it_alone_for_a_while(stage: Stage) -> None:
    spawn(stage)
    mine = stage.process()
    stage.call("worker.begin", "system", id="w1", owner=f"{stage.host}:{mine[0]}:{mine[1]}")
    assert not due(stage)["watch"][0]["mine"]
    stage.prober.states[mine] = "dead"
    assert due(stage)["watch"][0]["mine"]
    stage.prober.states[mine] = "running"
    stage.clock.pass_time(61 * SECOND)
    assert due(stage)["watch"][0]["mine"], "one that hangs keeps nobody waiting for ever"


def test_silence_is_told_once_and_again_only_after_a_sign_of_life(stage: Stage) -> None:
    stage.join("ada")
    spawn(stage, as_="ada")
    run, _ = start(stage, "w1")
    beat(stage, run)
    assert stage.subjects("ada") == []
    stage.clock.pass_time(6 * MINUTE)
    for _ in range(3):
        beat(stage, run)
    assert [each.endswith("nothing was heard of it for 6m") for each in stage.subjects("ada")] == [True]
    assert (card(stage)["warning"], len(events(stage, "worker.silent"))) == ("silent", 1)
    beat(stage, run, moved=["w1"])
    beat(stage, run)
    assert card(stage)["warning"] == ""
    stage.clock.pass_time(6 * MINUTE)
    beat(stage, run)
    assert len(events(stage, "worker.silent")) == 2


def test_one_that_has_run_for_as_long_as_its_kind_may_is_stopped(stage: Stage) -> None:
    stage.call("kind.add", written="---\nname: brief\nmax_duration_s: 60\n---\nBe brief.\n")
    spawn(stage, kind="brief")
    run, _ = start(stage, "w1")
    beat(stage, run)
    assert card(stage)["wish"] == ""
    stage.clock.pass_time(61 * SECOND)
    beat(stage, run)
    assert (card(stage)["wish"], "60 seconds" in card(stage)["why"]) == ("stop", True)


def test_what_a_run_used_is_counted_once(stage: Stage) -> None:
    spawn(stage)
    run, _ = start(stage, "w1")
    for input, output in ((100, 10), (100, 10), (250, 30), (200, 20)):
        stage.call("worker.used", "system", id="w1", run=run, input=input, output=output, model="m")
    assert (
        card(stage)["tokens"],
        sum(each["data"]["input"] + each["data"]["output"] for each in events(stage, "usage")),
    ) == ({"input": 250, "output": 30}, 280)
    assert stage.call("worker.used", "system", id="w1", run="run-x", input=9, output=9)["fenced"]


def test_all_that_run_are_stopped_when_their_keeper_goes_down(build: Build) -> None:
    stage = build(worker__limit=2)
    for _ in range(3):
        spawn(stage)
    start(stage, "w1")
    begin(stage, "w2")
    assert stage.call("worker.down", "system")["stopping"] == ["w1", "w2"]
    assert [card(stage, id)["wish"] for id in ("w1", "w2", "w3")] == ["stop", "stop", ""]
    assert card(stage, "w3")["state"] == "queued"


def test_old_ones_leave_the_list_and_what_nobody_judged_is_counted(stage: Stage) -> None:
    spawn(stage)
    run, _ = start(stage, "w1")
    over(stage, "w1", run, "ended", exit_code=0)
    look = {"ids": ["w1", "w7"]}
    assert stage.call("worker.left", "system", **look) == {
        "evict": False, "forget": [{"id": "w7", "root": "", "tree": ""}]
    }  # fmt: skip
    stage.clock.pass_time(31 * MINUTE)
    assert stage.call("worker.left", "system", **look)["evict"]
    assert stage.call("worker.evict", "system")["evicted"] == ["w1"]
    assert stage.call("worker.evict", "system")["evicted"] == []
    assert events(stage, "worker.evicted")[0]["data"] == {"unreviewed": False}
    assert (stage.call("workers")["workers"], len(stage.call("workers", all=True)["workers"])) == ([], 1)
    stage.clock.pass_time(24 * 60 * MINUTE)
    assert [each["id"] for each in stage.call("worker.left", "system", **look)["forget"]] == ["w1", "w7"]
    assert stage.call("worker.keep", "system", id="w1", why="changes")["kept"]
    assert not stage.call("worker.keep", "system", id="w1", why="changes")["kept"], "said once"
    assert stage.call("workers", all=True)["workers"][0]["kept"] == "changes"
    assert stage.call("worker.forget", "system", id="w1")["forgotten"]
    assert stage.refused("worker.show", id="w1").code == "UNKNOWN_WORKER"


def test_one_that_runs_is_never_forgotten(stage: Stage) -> None:
    spawn(stage)
    start(stage, "w1")
    stage.clock.pass_time(48 * 60 * MINUTE)
    assert stage.call("worker.left", "system", ids=["w1"])["forget"] == []
    assert stage.call("worker.forget", "system", id="w1")["forgotten"] is False


def test_deleting_waits_for_its_files(stage: Stage) -> None:
    spawn(stage)
    spawn(stage)
    run, _ = start(stage, "w1")
    over(stage, "w1", run, "ended")
    stage.call("delete", id="w1")
    assert [each["id"] for each in stage.call("worker.left", "system", ids=["w1"])["forget"]] == ["w1"]
    assert [each["id"] for each in stage.call("workers")["workers"]] == ["w2"]
    stage.call("stop", id="w2")
    stage.call("delete", id="w2")
    assert stage.refused("worker.show", id="w2").code == "UNKNOWN_WORKER", "it had none"


# -- its session -----------------------------------------------------------------------------------------------------


def test_its_programs_hooks_go_on_in_the_session_that_was_begun_for_it(stage: Stage) -> None:
    name = spawn(stage)["name"]
    _, first = start(stage, "w1")
    program = stage.process()
    below = stage.caller(name, lineage=(first,), process=program)
    joined = stage.call("turn.start", below, host="claude", host_id="x", name=name)
    assert joined["arrival"] == "resume"
    other = stage.caller(name, lineage=(), process=stage.process())
    assert stage.refused("turn.start", other, host="claude", name=name).code == "NAME_TAKEN", "a control"


def test_a_program_that_joined_before_its_start_was_written_down_keeps_its_session(stage: Stage) -> None:
    name = spawn(stage)["name"]
    order, first, program = begin(stage, "w1"), stage.process(), stage.process()
    joined = stage.call("turn.start", stage.caller(name, lineage=(first,), process=program), host="claude", name=name)
    stage.call("worker.started", "system", id="w1", run=order["run"], pid=first[0], since=first[1])
    assert card(stage)["runs"][0]["session"] == joined["session"]
    assert stage.call("task.show", id="task-0001")["lease"]["holder"] == name


def test_a_workers_end_is_told_by_its_supervisor_alone(stage: Stage) -> None:
    name = spawn(stage)["name"]
    _, process = start(stage, "w1")
    stage.join("ada")
    sessions = {each["agent"]: each["session"] for each in stage.call("monitor.sessions", "system")["sessions"]}
    for each in (process, stage._joined["ada"]):
        stage.prober.states[each] = "dead"
    seen = [{"session": session} for session in sessions.values()]
    assert stage.call("monitor.report", "system", seen=seen)["told"] == {"ada": "died"}, f"and not {name}"


def test_with_an_agents_token_nobody_says_which_program_runs(stage: Stage) -> None:
    stage.join("ada")
    ((id,),) = ledger.ask(stage.store.location, "SELECT id FROM agents WHERE name = 'ada'")
    made = stage.call("token.new", agent="ada")
    grant = Grant("crew", made["id"], role="agent", agent=id, name="ada")
    caller = Caller(grant=grant, tree="/work")
    for more in ({"program": ["sh"]}, {"root": "/"}, {"start": "HEAD"}):
        assert stage.refused("spawn", caller, assignment="x", host="script", **more).code == "NOT_BY_TOKEN"
    plan = stage.call("plan.new", goal="Any", tasks=[{"key": "a", "title": "A"}])["id"]
    for more in ({"program": ["sh"]}, {"root": "/"}, {"check": ["sh"]}):
        assert stage.refused("crew.run", caller, plan=plan, **more).code == "NOT_BY_TOKEN"
    assert stage.call("workers")["workers"] == []
    assert stage.call("crew.list")["crews"] == []


# -- how it is stopped -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("it", "step"),
    [
        (Stopping("kill", 0, 30_000), Step.KILL),
        (Stopping("stop", 0, 30_000), Step.WAIT),
        (Stopping("stop", 29_999, 30_000), Step.WAIT),
        (Stopping("stop", 30_000, 30_000), Step.ASK),
        (Stopping("stop", 0, 30_000, "done", "idle"), Step.ASK),
        (Stopping("stop", 0, 30_000, "done", "busy"), Step.WAIT),
        (Stopping("stop", 0, 30_000, "", "idle"), Step.WAIT),
        (Stopping("respawn", 0, 30_000), Step.ASK),
    ],
)
def test_what_is_done_now_about_one_that_is_to_end(it: Stopping, step: Step) -> None:
    assert stopping(it) is step


def test_how_a_run_ended() -> None:
    assert [ending_of("", code, killed=False) for code in (0, 1, None)] == ["ended", "crashed", "crashed"]
    assert [ending_of("stop", 0, killed=killed) for killed in (False, True)] == ["stopped", "killed"]
