"""Reservations as verbs on a real store: taken whole, refused with a reason, waited for in line, lapsed aloud."""

from typing import Any

import pytest

from rookery.core import errors, feed
from rookery.store.sqlite import SqliteTransaction
from tests.support.chores import add, claim, done, stop
from tests.support.stage import MINUTE, SECOND, Build, Stage

TTL = 10 * MINUTE
PLACE = 10 * SECOND  # how long a place in line lasts without a word


@pytest.fixture
def stage(build: Build) -> Stage:
    stage = build()
    stage.join_all("ada", "bob", "cat")
    return stage


def reserve(stage: Stage, who: str, *paths: str, **args: Any) -> dict[str, Any]:
    return stage.call("reserve", who, paths=list(paths), **args)


def wait(stage: Stage, who: str, *paths: str, **args: Any) -> str:
    answer = reserve(stage, who, *paths, wait=True, **args)
    assert answer["state"] == "waiting"
    return answer["id"]


def take(stage: Stage, who: str, id: str) -> str:
    return stage.call("hold.take", who, id=id)["state"]


def held(stage: Stage) -> list[tuple[str, str]]:
    found = stage.call("reservations")["reservations"]
    return [(row["path"], row["agent"]) for row in found if row["state"] == "held"]


def line(stage: Stage) -> list[tuple[str, str]]:
    found = stage.call("reservations")["reservations"]
    return [(row["path"], row["agent"]) for row in found if row["state"] == "waiting"]


# --- taking -----------------------------------------------------------------------------------------------------------


def test_a_reservation(stage: Stage) -> None:
    answer = reserve(stage, "ada", "./src//io/", "docs/*.md", reason="the parser")
    assert (answer["state"], answer["agent"], answer["paths"]) == ("held", "ada", ["src/io/", "docs/*.md"])
    assert held(stage) == [("docs/*.md", "ada"), ("src/io/", "ada")]
    (event,) = stage.events("reserve")
    assert (event["actor"], event["target"], event["preview"]) == ("ada", "src/io/, docs/*.md", "the parser")
    assert event["ref"] == answer["id"]


def test_a_conflict_is_refused_with_everything_one_needs(stage: Stage) -> None:
    reserve(stage, "ada", "src/", reason="editing the parser")
    error = stage.refused("reserve", "bob", paths=["src/io/x.py"])
    assert (error.code, error.http_status, error.exit_code) == ("RESERVED", 409, 1)
    for part in ("src/", "ada", "editing the parser", "until", "since"):
        assert part in error.message
    assert "rook send ada" in error.hint
    assert "rook reserve src/io/x.py --wait" in error.hint
    (other,) = error.facts["others"]
    assert {"name", "what", "reason", "since", "until", "place", "host"} <= set(other)


def test_h23_all_paths_or_none(stage: Stage) -> None:
    """The conflict is the last of several, and spelt otherwise."""
    reserve(stage, "ada", "docs/a.md")
    stage.refused("reserve", "bob", paths=["lib/", "src/", "./docs//*.md"])
    assert held(stage) == [("docs/a.md", "ada")]
    reserve(stage, "bob", "lib/", "src/")


def test_a_task_and_a_reservation_exclude_each_other(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    id = add(stage, resources=["src/x.py"])
    assert stage.refused("task.claim", "bob", id=id).code == "RESOURCE_HELD"
    claim(stage, "ada", id)
    stage.call("release", "ada", all=True)
    error = stage.refused("reserve", "bob", paths=["src/x.py"])
    assert (error.code, error.facts["others"][0]["task"]) == ("RESERVED", id)
    done(stage, "ada", id)
    reserve(stage, "bob", "src/x.py")


def test_sharing(stage: Stage) -> None:
    reserve(stage, "ada", "src/", shared=True)
    reserve(stage, "bob", "src/x.py", shared=True)
    assert stage.refused("reserve", "cat", paths=["src/x.py"]).code == "RESERVED"
    assert stage.refused("reserve", "ada", paths=["src/"]).code == "RESERVED", "bob has a part of it"
    stage.call("release", "bob", all=True)
    reserve(stage, "ada", "src/")
    assert stage.refused("reserve", "bob", paths=["src/y"], shared=True).code == "RESERVED"


def test_asking_twice_is_not_having_it_twice(stage: Stage) -> None:
    first = reserve(stage, "ada", "src/", reason="one")
    stage.clock.pass_time(TTL - 1)
    again = reserve(stage, "ada", "src/", "lib/", reason="two")
    assert again["paths"] == ["src/", "lib/"]
    assert again["id"] != first["id"]
    assert held(stage) == [("lib/", "ada"), ("src/", "ada")]
    assert {row["reason"] for row in stage.call("reservations")["reservations"]} == {"two"}
    stage.call("release", "ada", paths=["src/"])
    reserve(stage, "bob", "src/")


def test_one_s_own_paths_are_in_nobody_s_way(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    reserve(stage, "ada", "src/io/x.py", shared=True)
    reserve(stage, "ada", "**/x.py")


def test_the_person_may_reserve_without_a_session(stage: Stage) -> None:
    reserve(stage, "user", "src/", ttl_ms=MINUTE)
    error = stage.refused("reserve", "ada", paths=["src/"])
    assert "Ask the person" in error.hint
    stage.clock.pass_time(MINUTE)
    reserve(stage, "ada", "src/")


@pytest.mark.parametrize("paths", [[], ["x"] * 101, [""], ["../x"], ["/x"], ["a\\b"], ["a**b"]])
def test_no_reservations(stage: Stage, paths: list[str]) -> None:
    assert isinstance(stage.refused("reserve", "ada", paths=paths), errors.BadInput)


@pytest.mark.parametrize("ttl", [0, -1, 999, 86_400_001])
def test_no_leases(stage: Stage, ttl: int) -> None:
    assert stage.refused("reserve", "ada", paths=["x"], ttl_ms=ttl).code == "BAD_TTL"


# --- how long it lasts ------------------------------------------------------------------------------------------------


def test_h25_a_hold_ends_neither_early_nor_silently(stage: Stage) -> None:
    reserve(stage, "ada", "src/", "lib/", ttl_ms=MINUTE)
    stop(stage, "ada")
    stage.clock.pass_time(MINUTE - 1)
    assert stage.refused("reserve", "bob", paths=["src/x"]).code == "RESERVED"
    stage.clock.pass_time(1)
    assert held(stage) == [], "whoever looks sees it as lapsed"
    reserve(stage, "bob", "src/x")
    (event,) = stage.events("reserve.lapsed")
    assert event["target"] == "ada"
    assert "src/" in event["preview"]
    stage.call("sweep")
    assert len(stage.events("reserve.lapsed")) == 2, "and the other path with the sweep"
    assert stage.subjects("ada") == ["No longer yours: src/", "No longer yours: lib/"]


def test_whatever_a_session_does_renews(stage: Stage) -> None:
    reserve(stage, "ada", "src/", ttl_ms=MINUTE)
    stop(stage, "ada")  # so that nothing but the lease keeps it
    for _ in range(20):
        stage.clock.pass_time(MINUTE - 1)
        stage.send("ada", "bob")
    assert stage.refused("reserve", "bob", paths=["src/x"]).code == "RESERVED"


def test_what_was_waited_for_twice_goes_on_together(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    first, second = wait(stage, "bob", "src/x", ttl_ms=MINUTE), wait(stage, "bob", "src/x", ttl_ms=2 * MINUTE)
    stage.call("release", "ada", all=True)
    assert (take(stage, "bob", first), take(stage, "bob", second)) == ("held", "held")
    again = reserve(stage, "bob", "src/x", ttl_ms=5 * MINUTE)
    assert again["id"] in (first, second)
    ends = [row["expiresAt"] for row in stage.call("reservations")["reservations"]]
    assert ends == [again["expiresAt"]] * 2


RENEWALS = {"renew_held", "renew_holds"}


@pytest.mark.parametrize(("takes", "passed", "due"), [
    ((), 5 * TTL, False), (("path",), TTL // 2 - 1, False), (("path",), TTL // 2 + 1, True),
    (("slot",), TTL // 2 - 1, False), (("slot",), TTL // 2 + 1, True), (("task",), 2 * MINUTE, False),
    (("task",), 3 * MINUTE, True), (("path", "slot", "task"), MINUTE, False), (("path", "task"), 3 * MINUTE, True),
])  # fmt: skip
def test_a_session_with_nothing_to_renew_writes_nothing_for_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, takes: tuple[str, ...], passed: int, due: bool
) -> None:
    """Most sends are by someone who holds nothing, or renewed it a moment ago."""
    dan = stage.caller(session=stage.join("dan")["session"])
    things = {"path": lambda: stage.call("reserve", dan, paths=["src/"]),
              "slot": lambda: stage.call("slot.take", dan, name="build"),
              "task": lambda: stage.call("task.claim", dan, id=add(stage))}  # fmt: skip
    for thing in takes:
        things[thing]()
    ran: list[str] = []
    run = SqliteTransaction.run

    def noted(self: SqliteTransaction, query: str, /, **params: Any) -> int:
        ran.append(query)
        return run(self, query, **params)

    monkeypatch.setattr(SqliteTransaction, "run", noted)
    stage.clock.pass_time(passed)
    for _ in range(2):
        stage.send(dan, "bob")
    assert "beat_sent" in ran
    assert [query for query in ran if query in RENEWALS] == (["renew_held", "renew_holds"] if due else []), "once"


@pytest.mark.parametrize("verb", ["reserve", "slot.take"])
def test_a_handle_renews_by_whatever_it_does(stage: Stage, verb: str) -> None:
    dan = stage.caller(session=stage.join("dan")["session"])
    asked: dict[str, Any] = {"paths": ["src/"]} if verb == "reserve" else {"name": "build"}
    stage.call(verb, dan, **asked, ttl_ms=MINUTE)
    stop(stage, "dan")
    for _ in range(20):
        stage.clock.pass_time(MINUTE - 1)
        stage.send(dan, "bob")
    assert stage.refused(verb, "bob", **asked).code == "RESERVED"
    stage.clock.pass_time(MINUTE)
    stage.call(verb, "bob", **asked)


def test_a_running_process_keeps_it_up_to_six_leases(stage: Stage) -> None:
    reserve(stage, "ada", "src/", ttl_ms=MINUTE)
    stage.clock.pass_time(6 * MINUTE - 1)
    assert stage.refused("reserve", "bob", paths=["src/x"]).code == "RESERVED"
    assert held(stage) == [("src/", "ada")]
    stage.clock.pass_time(1)
    reserve(stage, "bob", "src/x")


def test_a_long_silence_of_one_s_own_costs_nothing(stage: Stage) -> None:
    reserve(stage, "ada", "src/", ttl_ms=MINUTE)
    stage.clock.pass_time(5 * MINUTE)
    stage.send("ada", "bob")
    stage.clock.pass_time(5 * MINUTE)
    assert stage.refused("reserve", "bob", paths=["src/x"]).code == "RESERVED"


def test_the_dead_hold_nothing(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    stop(stage, "ada", "dead")
    assert held(stage) == []
    reserve(stage, "bob", "src/")
    assert "its process is gone" in stage.events("reserve.lapsed")[0]["preview"]
    stage.join("ada")
    assert stage.subjects("ada") == ["No longer yours: src/"]


def test_leaving_gives_everything_back(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    id = wait(stage, "bob", "src/")
    stage.bell.rung.clear()
    stage.call("leave", "ada")
    assert "bob" in {name for names in stage.bell.rung for name in names}
    assert [event["preview"] for event in stage.events("release")] == ["left"]
    assert take(stage, "bob", id) == "held"


def test_a_takeover_starts_with_nothing(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    stage.join("ada", takeover=True)
    assert held(stage) == []
    assert stage.subjects("ada") == ["No longer yours: src/"]


def test_the_daemon_s_sweep_settles_and_extends(stage: Stage) -> None:
    reserve(stage, "ada", "a", ttl_ms=MINUTE)
    reserve(stage, "bob", "b", ttl_ms=MINUTE)
    stop(stage, "bob")
    assert stage.call("due")["leases"] is False
    stage.clock.pass_time(MINUTE)
    assert stage.call("due")["leases"] is True
    assert stage.call("settle")["holds"] == 1
    assert stage.call("due")["leases"] is False, "ada's was extended: she runs"
    assert held(stage) == [("a", "ada")]


# --- standing in line -------------------------------------------------------------------------------------------------


def test_waiting_and_getting_it(stage: Stage) -> None:
    reserve(stage, "ada", "src/", reason="mine")
    id = wait(stage, "bob", "src/x.py", reason="a small fix")
    assert line(stage) == [("src/x.py", "bob")]
    assert stage.call("hold.look", "bob", id=id)["ready"] is False
    assert take(stage, "bob", id) == "waiting"
    (told,) = stage.call("inbox", "ada", whole=True)["messages"]
    assert told["subject"] == "bob waits for src/"
    assert "a small fix" in told["body"]
    assert "rook release src/" in told["body"]
    stage.call("release", "ada", paths=["src/"])
    assert stage.call("hold.look", "bob", id=id)["ready"] is True
    assert take(stage, "bob", id) == "held"
    assert take(stage, "bob", id) == "held", "asking again changes nothing"
    assert (held(stage), line(stage)) == ([("src/x.py", "bob")], [])


def test_the_holder_is_told_once(stage: Stage) -> None:
    reserve(stage, "ada", "src/", "lib/")
    for _ in range(3):
        id = wait(stage, "bob", "src/x.py", "lib/y")
        stage.call("release", "bob", ids=[id])
    wait(stage, "cat", "src/x.py")
    assert stage.subjects("ada") == ["bob waits for src/", "cat waits for src/"] or stage.subjects("ada") == [
        "bob waits for lib/", "cat waits for src/",
    ]  # fmt: skip


def test_nobody_overtakes(stage: Stage) -> None:
    """cat's path is free, and overlaps what bob waits for: bob was first."""
    reserve(stage, "ada", "src/a.py")
    bob = wait(stage, "bob", "src/")
    error = stage.refused("reserve", "cat", paths=["src/b.py"])
    assert "bob is before you in line" in error.message
    cat = wait(stage, "cat", "src/b.py")
    task = add(stage, resources=["src/c.py"])
    assert stage.refused("task.claim", "cat", id=task).code == "RESOURCE_HELD"
    assert take(stage, "cat", cat) == "waiting"
    stage.call("release", "ada", all=True)
    assert take(stage, "cat", cat) == "waiting", "although nobody holds it"
    assert take(stage, "bob", bob) == "held"
    assert take(stage, "cat", cat) == "waiting"
    stage.call("release", "bob", all=True)
    assert take(stage, "cat", cat) == "held"


def test_those_who_share_do_not_wait_for_each_other(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    bob, cat = wait(stage, "bob", "src/", shared=True), wait(stage, "cat", "src/x", shared=True)
    stage.call("release", "ada", all=True)
    assert take(stage, "cat", cat) == "held"
    assert take(stage, "bob", bob) == "held"


def test_a_writer_is_not_starved_by_readers(stage: Stage) -> None:
    reserve(stage, "ada", "src/", shared=True)
    bob = wait(stage, "bob", "src/")
    assert stage.refused("reserve", "cat", paths=["src/x"], shared=True).code == "RESERVED"
    stage.call("release", "ada", all=True)
    assert take(stage, "bob", bob) == "held"


def test_a_holder_goes_on_within_what_it_holds(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    wait(stage, "bob", "src/")
    reserve(stage, "ada", "src/x.py")
    assert stage.refused("reserve", "ada", paths=["lib/", "."]).code == "RESERVED", "more of it is behind bob"


def test_a_waiter_that_falls_silent_is_passed_over(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    bob, cat = wait(stage, "bob", "src/"), wait(stage, "cat", "src/")
    for _ in range(4):
        stage.clock.pass_time(PLACE - 1)
        assert take(stage, "cat", cat) == "waiting", "whoever asks keeps its place"
    stage.call("release", "ada", all=True)
    assert take(stage, "cat", cat) == "held"
    assert stage.call("hold.look", "bob", id=bob)["state"] == "gone"
    assert stage.refused("hold.take", "bob", id=bob).code == "PLACE_LOST"


@pytest.mark.parametrize("how", ["dead", "left"])
def test_a_waiter_that_is_gone_is_passed_over_at_once(stage: Stage, how: str) -> None:
    reserve(stage, "ada", "src/")
    wait(stage, "bob", "src/")
    cat = wait(stage, "cat", "src/")
    stage.call("release", "ada", all=True)
    assert take(stage, "cat", cat) == "waiting"
    if how == "dead":
        stop(stage, "bob", "dead")
    else:
        stage.call("leave", "bob")
    assert take(stage, "cat", cat) == "held"


def test_the_waiting_process_is_what_counts(stage: Stage) -> None:
    """`rook reserve --wait` was killed; its agent lives on."""
    reserve(stage, "ada", "src/")
    command = stage.process()
    asked = stage.call("reserve", stage.caller("bob", process=command), paths=["src/"], wait=True)
    cat = wait(stage, "cat", "src/")
    stage.call("release", "ada", all=True)
    stage.prober.states[command] = "dead"
    assert take(stage, "cat", cat) == "held"
    assert stage.refused("hold.take", "bob", id=asked["id"]).code == "PLACE_LOST"


def test_what_was_waited_for_belongs_to_the_session(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    command = stage.process()
    asked = stage.call("reserve", stage.caller("bob", process=command), paths=["src/"], wait=True)
    stage.call("release", "ada", all=True)
    assert take(stage, "bob", asked["id"]) == "held"
    stage.prober.states[command] = "dead"
    assert held(stage) == [("src/", "bob")], "the command has ended, as commands do"


def test_whoever_waits_is_rung(stage: Stage) -> None:
    task = add(stage, resources=["lib/"])
    claim(stage, "ada", task)
    reserve(stage, "ada", "src/")
    wait(stage, "bob", "src/x")
    wait(stage, "cat", "lib/x")

    def rung() -> set[str]:
        names = {name for names in stage.bell.rung for name in names}
        stage.bell.rung.clear()
        return names

    rung()
    stage.call("release", "ada", paths=["src/"])
    assert "bob" in rung()
    done(stage, "ada", task)
    assert "cat" in rung()


def test_a_circle_is_refused(stage: Stage) -> None:
    reserve(stage, "ada", "a")
    reserve(stage, "bob", "b")
    reserve(stage, "cat", "c")
    wait(stage, "ada", "b")
    wait(stage, "bob", "c")
    error = stage.refused("reserve", "cat", paths=["a"], wait=True)
    assert error.code == "CIRCLE"
    assert stage.refused("reserve", "cat", paths=["a"]).code == "RESERVED"
    assert stage.refused("reserve", "cat", paths=["b"], wait=True).code == "CIRCLE"
    stage.join("dan")
    reserve(stage, "dan", "d")
    wait(stage, "cat", "d")


def test_who_waits_is_told_to_whoever_gets_it(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    bob = wait(stage, "bob", "src/")
    wait(stage, "cat", "src/")
    stage.call("release", "ada", all=True)
    assert stage.call("hold.take", "bob", id=bob)["waiting"] == ["cat"]


def test_a_request_is_its_agent_s_alone(stage: Stage) -> None:
    mine = reserve(stage, "ada", "src/")["id"]
    waiting = wait(stage, "bob", "src/")
    assert stage.refused("hold.take", "cat", id=waiting).code == "PLACE_LOST"
    assert stage.refused("hold.renew", "bob", id=mine).code == "LEASE_EXPIRED"
    assert stage.refused("hold.renew", "bob", id=waiting).code == "LEASE_EXPIRED"
    assert stage.call("release", "bob", ids=[mine])["released"] == []
    for id in ("", "res-nothing"):
        assert stage.refused("hold.take", "ada", id=id).code == "PLACE_LOST"
        assert stage.refused("hold.renew", "ada", id=id).code == "LEASE_EXPIRED"
        assert stage.call("hold.look", "ada", id=id)["state"] == "gone"


# --- bound to a process -----------------------------------------------------------------------------------------------


def test_a_bound_hold_lives_and_dies_with_its_process(stage: Stage) -> None:
    process = stage.process()
    bound = stage.call("reserve", stage.caller("ada", process=process), paths=["src/"], ttl_ms=MINUTE, bound=True)
    for _ in range(6):
        stage.clock.pass_time(MINUTE - 1)
        stage.send("ada", "bob")  # what the session does is no sign of the process
    stage.clock.pass_time(6)
    reserve(stage, "bob", "src/")
    assert stage.refused("hold.renew", stage.caller("ada", process=process), id=bound["id"]).code == "LEASE_EXPIRED"
    stage.call("release", "bob", all=True)
    stage.call("reserve", stage.caller("ada", process=process), paths=["src/"], bound=True)
    stage.prober.states[process] = "dead"
    reserve(stage, "bob", "src/")


def test_a_bound_hold_passes_to_another_process(stage: Stage) -> None:
    first, second = stage.process(), stage.process()
    bound = stage.call("reserve", stage.caller("ada", process=first), paths=["src/"], bound=True)
    stage.call("hold.renew", stage.caller("ada", process=second), id=bound["id"])
    stage.prober.states[first] = "dead"
    assert held(stage) == [("src/", "ada")]
    stage.prober.states[second] = "dead"
    assert held(stage) == []


def test_blocks_in_blocks_are_apart(stage: Stage) -> None:
    process = stage.process()
    outer, inner = (
        stage.call("reserve", stage.caller("ada", process=process), paths=["src/"], bound=True)["id"] for _ in range(2)
    )
    stage.call("release", "ada", ids=[inner])
    stage.call("hold.renew", "ada", id=outer)


# --- giving up and passing on -----------------------------------------------------------------------------------------


def test_release_by_path(stage: Stage) -> None:
    reserve(stage, "ada", "src/a.py", "src/b.py", "docs/")
    assert stage.call("release", "ada", paths=["src/"])["released"] == ["src/a.py", "src/b.py"]
    assert [event["target"] for event in stage.events("release")] == ["src/a.py, src/b.py"]
    error = stage.refused("release", "ada", paths=["docs/x.md"])
    assert error.code == "NOT_HELD"
    assert "docs/" in error.hint, "a part of what one holds is not held by itself"
    assert isinstance(stage.refused("release", "ada"), errors.BadInput)
    assert stage.call("release", "ada", all=True)["released"] == ["docs/"]
    assert stage.call("release", "ada", all=True)["released"] == []


def test_the_paths_of_a_task_go_with_it(stage: Stage) -> None:
    id = add(stage, resources=["src/"])
    claim(stage, "ada", id)
    assert f"rook task release {id}" in stage.refused("release", "ada", paths=["src/"]).hint
    assert stage.call("release", "ada", all=True)["released"] == []
    assert stage.refused("release", paths=["src/"], force=True).code == "OF_A_TASK"


def test_force_is_the_person_s_and_is_recorded(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    bob = wait(stage, "bob", "src/x")
    assert isinstance(stage.refused("release", "bob", paths=["src/"], force=True), errors.NotYours)
    answer = stage.call("release", paths=["src/x"], force=True, reason="a release is due")
    assert (answer["released"], answer["holders"]) == (["src/"], ["ada"])
    (event,) = stage.events("release")
    assert (event["actor"], event["data"]) == ("user", {"forced": True, "holder": "ada"})
    told = stage.call("inbox", "ada", whole=True)["messages"][-1]
    assert told["subject"] == "Taken from you: src/"
    assert "a release is due" in told["body"]
    assert take(stage, "bob", bob) == "held"
    assert stage.refused("release", paths=["lib/"], force=True).code == "NOT_HELD"
    assert isinstance(stage.refused("release", all=True, force=True), errors.BadInput)


def test_transfer_with_a_handoff(stage: Stage) -> None:
    reserve(stage, "ada", "src/", "lib/", "docs/", reason="the parser")
    answer = stage.call(
        "transfer", "ada", to="bob", paths=["src/", "lib/"], work_completed="half", next_steps=["the other half"]
    )
    assert held(stage) == [("docs/", "ada"), ("lib/", "bob"), ("src/", "bob")]
    (message,) = stage.call("inbox", "bob", whole=True)["messages"]
    assert (message["type"], message["id"]) == ("handoff", answer["message"])
    assert message["context"]["next_steps"] == ["the other half"]
    (event,) = stage.events("reserve.transfer")
    assert (event["actor"], event["target"]) == ("ada", "bob")
    assert stage.refused("release", "ada", paths=["src/"]).code == "NOT_HELD"
    stage.call("release", "bob", paths=["src/"])


def test_a_transfer_goes_to_someone_who_is_there(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    stage.call("leave", "bob")
    stop(stage, "cat", "dead")
    for name in ("bob", "cat"):
        assert stage.refused("transfer", "ada", to=name, all=True).code == "NOT_HERE"
    assert isinstance(stage.refused("transfer", "ada", to="ada", all=True), errors.BadInput)
    assert isinstance(stage.refused("transfer", "ada", to="nobody", all=True), errors.UnknownName)
    stage.join("dan")
    assert stage.refused("transfer", "ada", to="dan", paths=["lib/"]).code == "NOT_HELD"
    assert stage.refused("transfer", "dan", to="ada", all=True).code == "NOT_HELD"


# --- who has what -----------------------------------------------------------------------------------------------------


def test_the_list(stage: Stage) -> None:
    reserve(stage, "ada", "src/", reason="r")
    reserve(stage, "bob", "docs/*.md", shared=True)
    wait(stage, "cat", "src/x")
    found = stage.call("reservations")
    assert [(row["path"], row["mode"], row["state"], row["agent"]) for row in found["reservations"]] == [
        ("docs/*.md", "shared", "held", "bob"), ("src/", "exclusive", "held", "ada"),
        ("src/x", "exclusive", "waiting", "cat"),
    ]  # fmt: skip
    assert found["reservations"][1]["cwd"] == "/work"
    near = stage.call("reservations", paths=["src/x/y"])["reservations"]
    assert {row["agent"] for row in near} == {"ada", "cat"}
    assert [row["path"] for row in stage.call("reservations", agent="bob")["reservations"]] == ["docs/*.md"]
    assert stage.call("reservations", limit=1)["more"] is True
    for limit in (0, 1001):
        assert isinstance(stage.refused("reservations", limit=limit), errors.BadInput)


def test_looking_writes_nothing(stage: Stage) -> None:
    reserve(stage, "ada", "src/", ttl_ms=MINUTE)
    id = wait(stage, "bob", "src/")
    stop(stage, "ada", "dead")
    before = stage.rows()
    stage.call("reservations", "cat")
    stage.call("can-write", "cat", paths=["src/x"])
    stage.call("hold.look", "bob", id=id)
    assert stage.rows() == before


def test_every_event_of_the_guard_has_a_known_type(stage: Stage) -> None:
    reserve(stage, "ada", "src/")
    wait(stage, "bob", "src/")
    stage.call("transfer", "ada", to="cat", all=True)
    stage.call("slot.set", name="one", capacity=2)
    for _ in range(2):
        stage.call("slot.take", "ada", name="one")
    stage.call("slot.take", "bob", name="one", wait=True)
    stage.call("slot.give", "ada", name="one")
    stop(stage, "ada", "dead")
    stop(stage, "cat", "dead")
    stage.call("sweep")
    written = {event["type"] for event in stage.events()}
    assert written <= {*feed.FEED, *feed.GUARD_MORE, *feed.LEDGER}
    assert {"reserve", "reserve.wait", "reserve.transfer", "reserve.lapsed", "slot.set", "slot.take", "slot.wait",
            "slot.give", "slot.lapsed"} <= written  # fmt: skip
    shown = {event["type"] for event in stage.call("feed")["events"]}
    assert {"reserve", "reserve.lapsed", "slot.take"} <= shown
    assert not {"reserve.wait", "slot.set"} & shown, "too fine for people"
