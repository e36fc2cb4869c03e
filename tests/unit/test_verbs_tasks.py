"""Tasks: exactly one holds one, and what each verb does to it. (Steering and reviews are in test_verbs_steering.py.)"""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rookery.core import errors, patterns
from rookery.service import resources
from rookery.service.tx import Tx
from rookery.store.port import Transaction
from rookery.store.sqlite import SqliteTransaction
from tests.support.chores import TTL, add, best, claim, done, finish, items, reserved, show, status, stop
from tests.support.described import Described
from tests.support.stage import HOUR, MINUTE, SECOND, Stage


@pytest.fixture
def stage(tmp_path: Path) -> Generator[Stage]:
    stage = Described(tmp_path / "ledger.db", leader="lea")
    stage.join_all("ada", "bob")
    yield stage
    stage.close()


# --- adding and looking ----------------------------------------------------------------------------------------------


def test_a_task_as_it_is_shown(stage: Stage) -> None:
    first = add(stage, "First", "ada")
    card = stage.call(
        "task.add", "bob", title="  Parse \n the   header ", description="All of it", spec="# Spec", deps=[first],
        resources=["src/io/", "./src//x.py"], priority="high", kind="coder", assignee="ada", review=True,
        max_tokens=1000,
    )  # fmt: skip
    assert card["schemaVersion"]
    assert (first, card["id"]) == ("task-0001", "task-0002")
    facts = {name: card[name] for name in ("title", "description", "spec", "deps", "resources", "priority", "kind")}
    assert facts == {
        "title": "Parse the header", "description": "All of it", "spec": "# Spec", "deps": [first],
        "resources": ["src/io/", "src/x.py"], "priority": "high", "kind": "coder",
    }  # fmt: skip
    assert (card["status"], card["owner"], card["lease"], card["epoch"]) == ("blocked", "ada", None, 0)
    assert (card["review"], card["createdBy"], card["maxTokens"], card["attempts"]) == ("wanted", "bob", 1000, 0)
    assert show(stage, first)["dependents"] == [card["id"]]
    made = stage.events("task.created", "task.assigned")
    assert [(e["type"], e["actor"], e["ref"]) for e in made] == [
        ("task.created", "ada", "task-0001"), ("task.created", "bob", "task-0002"),
        ("task.assigned", "bob", "task-0002"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"title": ""}, "BAD_INPUT"),
        ({"title": " \n "}, "BAD_INPUT"),
        ({"title": "x" * 301}, "BAD_INPUT"),
        ({"deps": ["task-0099"]}, "UNKNOWN_DEP"),
        ({"deps": ["\x1b[31m"]}, "UNKNOWN_DEP"),
        ({"plan": "plan-0001"}, "UNKNOWN_PLAN"),
        ({"priority": "asap"}, "BAD_INPUT"),
        ({"kind": "../x"}, None),
        ({"assignee": "nobody"}, "UNKNOWN_AGENT"),
        ({"resources": ["../secret"]}, None),
        ({"resources": ["/etc/passwd"]}, None),
        ({"resources": [f"f{n}" for n in range(101)]}, "BAD_INPUT"),
        ({"max_tokens": 0}, "BAD_INPUT"),
        ({"description": "x" * 2_000_000}, "TOO_LARGE"),
        ({"key": "k" * 201}, "TOO_LARGE"),
    ],
)
def test_bad_input_leaves_nothing_behind(stage: Stage, args: dict[str, Any], code: str | None) -> None:
    before = stage.seq()
    error = stage.refused("task.add", "ada", **({"title": "Do it"} | args))
    assert code in (None, error.code)
    assert error.hint
    assert stage.seq() == before
    assert add(stage) == "task-0001", "the number was not used up"


def test_an_idempotency_key(stage: Stage) -> None:
    first = stage.call("task.add", "ada", title="Once", key="k1")
    again = stage.call("task.add", "ada", title="Once", key="k1")
    assert again == first | {"replayed": True}
    error = stage.refused("task.add", "ada", title="Twice", key="k1")
    assert (error.code, error.http_status) == ("IDEMPOTENCY_MISMATCH", 422)
    assert stage.refused("task.add", "ada", title="Once", max_tokens=5, key="k1").code == "IDEMPOTENCY_MISMATCH"
    assert stage.call("task.add", "bob", title="Once", key="k1")["id"] == "task-0002", "a key belongs to its agent"
    assert len(stage.call("task.list")["tasks"]) == 2


def test_a_replay_tells_what_was_told_then(stage: Stage) -> None:
    stage.call("task.add", "ada", title="Once", key="k1")
    claim(stage, "bob", "task-0001")
    assert stage.call("task.add", "ada", title="Once", key="k1")["status"] == "pending"


def test_lists(stage: Stage) -> None:
    ids = [add(stage, f"T{n}") for n in range(5)]
    claim(stage, "ada", ids[1])
    finish(stage, ids[2], "bob")

    def listed(**args: Any) -> list[str]:
        return [task["id"] for task in stage.call("task.list", "ada", **args)["tasks"]]

    assert listed() == ids
    assert listed(status="in_progress") == listed(mine=True) == [ids[1]]
    assert listed(status="completed") == [ids[2]]
    page = stage.call("task.list", limit=2)
    assert ([t["id"] for t in page["tasks"]], page["next"]) == (ids[:2], 2)
    assert listed(after=2, limit=2) == ids[2:4]
    assert stage.call("task.list", after=4)["next"] is None
    nonsense: list[dict[str, Any]] = [{"limit": 0}, {"limit": 10_000}, {"status": "open"}]
    for wrong in nonsense:
        assert isinstance(stage.refused("task.list", **wrong), errors.BadInput)


def test_a_lapsed_lease_is_seen_as_lapsed_by_every_read(stage: Stage) -> None:
    id = add(stage)
    claim(stage, "ada", id)
    stop(stage, "ada")
    stage.clock.pass_time(TTL - 1)
    assert status(stage, id) == ["in_progress"], "never early"
    stage.clock.pass_time(1)
    card = show(stage, id)
    assert (card["status"], card["lease"], card["owner"]) == ("pending", None, None)
    assert [t["id"] for t in stage.call("task.list", status="pending")["tasks"]] == [id]
    assert stage.call("task.list", status="in_progress")["tasks"] == []
    assert stage.call("task.list", "ada", mine=True)["tasks"] == []
    stage.call("sweep")
    assert stage.call("task.list", "ada", mine=True)["tasks"] == [], "what it once held it does not hold"


def test_an_unknown_task(stage: Stage) -> None:
    for verb in ("task.show", "task.claim", "task.renew", "task.done", "task.fail", "task.reset", "task.delete"):
        error = stage.refused(verb, "ada", id="task-9\x1b[2J")
        assert (error.code, error.http_status) == ("UNKNOWN_TASK", 404)


# --- claiming --------------------------------------------------------------------------------------------------------


def test_a_claim(stage: Stage) -> None:
    id = add(stage)
    taken = stage.call("task.claim", "ada", id=id)
    assert taken["taskId"] == id
    assert (taken["lease"]["holder"], taken["lease"]["epoch"], taken["ttlMs"]) == ("ada", 1, TTL)
    assert taken["lease"]["expiresAt"].endswith("Z")
    assert (taken["task"]["status"], taken["task"]["owner"], taken["task"]["attempts"]) == ("in_progress", "ada", 1)
    assert stage.events("task.start")[0]["ref"] == id
    error = stage.refused("task.claim", "bob", id=id)
    assert (error.code, error.http_status) == ("TASK_NOT_CLAIMABLE", 409)
    assert "ada" in error.message
    assert stage.refused("task.claim", "ada", id=id).code == "TASK_NOT_CLAIMABLE"


def test_which_task(stage: Stage) -> None:
    assert isinstance(stage.refused("task.claim", "ada"), errors.BadInput)


@pytest.mark.parametrize("ttl", [86_400_001, 0, -1])
def test_a_lease_within_bounds(stage: Stage, ttl: int) -> None:
    id = add(stage)
    assert stage.refused("task.claim", "ada", id=id, ttl_ms=ttl).code == "BAD_TTL"
    claim(stage, "ada", id, ttl_ms=1000)
    assert stage.refused("task.renew", "ada", id=id, ttl_ms=ttl).code == "BAD_TTL"


def test_each_claim_raises_the_epoch(stage: Stage) -> None:
    id = add(stage)
    for epoch, who in ((1, "ada"), (3, "bob"), (5, "ada")):
        assert claim(stage, who, id) == epoch
        assert stage.call("task.release", who, id=id)["epoch"] == epoch + 1


def test_the_next_one_by_priority_then_rank_then_age(stage: Stage) -> None:
    old = add(stage, "old")
    head = add(stage, "head of a chain")
    add(stage, "its second", deps=[head])
    urgent = add(stage, "urgent", priority="urgent")
    young = add(stage, "young")
    assert [best(stage) for _ in range(5)] == [urgent, head, old, young, None]


def test_a_chain_that_grows_later_counts_as_well(stage: Stage) -> None:
    first, second, third = (add(stage, name) for name in ("first", "second", "third"))
    tail = add(stage, "tail", deps=[third])
    add(stage, "after the tail", deps=[tail])
    stage.call("task.revise", id=tail, deps=[second])
    assert best(stage) == second
    assert best(stage) == third, "a rank that has risen stays"
    assert best(stage) == first


def test_nothing_is_ready(stage: Stage) -> None:
    assert stage.call("task.claim", "ada", next=True) == {"taskId": None, "task": None, "lease": None}


def test_the_next_one_skips_what_is_not_for_this_agent(stage: Stage) -> None:
    add(stage, "for bob", priority="urgent", assignee="bob")
    add(stage, "a milestone", priority="urgent", milestone=True)
    add(stage, "another kind", priority="urgent", kind="tester")
    mine = add(stage, "for ada", assignee="ada")
    plain = add(stage, "for anyone", kind="coder")
    assert best(stage, kind="coder") == mine
    assert best(stage, kind="coder") == plain
    assert best(stage, kind="coder") is None


def test_the_next_one_of_a_plan(stage: Stage) -> None:
    add(stage, priority="urgent")
    plan = stage.call("plan.new", "ada", goal="Ship", tasks=[{"id": "a", "title": "A"}])
    assert best(stage, plan=plan["id"]) == plan["tasks"][0]["id"]
    assert best(stage, plan=plan["id"]) is None


def test_the_next_one_skips_what_can_not_be_had(stage: Stage) -> None:
    """However many stand before it."""
    holder = add(stage, "holder", resources=["src/"])
    claim(stage, "bob", holder)
    for n in range(60):
        add(stage, f"in the way {n}", priority="high", resources=[f"src/{n % 3}.py"])
    free = add(stage, "free", resources=["docs/"])
    assert best(stage) == free
    assert best(stage) is None
    done(stage, "bob", holder)
    assert best(stage) is not None


def test_an_assigned_task_is_kept_for_its_agent(stage: Stage) -> None:
    id = add(stage, assignee="bob")
    error = stage.refused("task.claim", "ada", id=id)
    assert error.code == "TASK_NOT_CLAIMABLE"
    assert "bob" in error.message
    claim(stage, "bob", id)
    stage.call("task.release", "bob", id=id)
    assert stage.refused("task.claim", "ada", id=id).code == "TASK_NOT_CLAIMABLE", "it is still assigned"


# --- the lease -------------------------------------------------------------------------------------------------------

WRITES: dict[str, dict[str, Any]] = {
    "task.renew": {},
    "task.done": {"summary": "finished"},
    "task.fail": {"reason": "no"},
    "task.progress": {"said": "half"},
    "task.block": {"reason": "no key"},
    "task.release": {},
}


@pytest.mark.parametrize("verb", WRITES)
def test_a_write_needs_holder_live_lease_and_epoch(stage: Stage, verb: str) -> None:
    id = add(stage)
    args = WRITES[verb]

    def code(who: str, epoch: int | None) -> str:
        error = stage.refused(verb, who, id=id, epoch=epoch, **args)
        assert isinstance(error, errors.LeaseLost)
        return error.code

    assert code("ada", 0) == code("ada", None) == "TASK_NOT_IN_PROGRESS"
    epoch = claim(stage, "ada", id)
    assert code("bob", epoch) == code("bob", None) == "LEASE_HOLDER_MISMATCH"
    assert code("ada", epoch - 1) == code("ada", epoch + 1) == "EPOCH_MISMATCH"
    stop(stage, "ada")
    stage.clock.pass_time(TTL)
    assert code("ada", epoch) == code("ada", None) == code("bob", epoch) == "LEASE_EXPIRED"
    stage.call("sweep")
    assert code("ada", epoch) == code("ada", None) == "LEASE_EXPIRED", "whether or not a sweep has run"
    again = claim(stage, "bob", id)
    assert code("ada", epoch) == "LEASE_HOLDER_MISMATCH"
    assert code("bob", epoch) == "EPOCH_MISMATCH"
    stage.call(verb, "bob", id=id, epoch=again, **args)


@pytest.mark.parametrize("verb", WRITES)
def test_without_an_epoch_the_session_is_the_fence(stage: Stage, verb: str) -> None:
    id = add(stage)
    epoch = claim(stage, "ada", id)
    stage.join("ada", takeover=True)
    assert stage.refused(verb, "ada", id=id, **WRITES[verb]).code == "EPOCH_MISMATCH"
    stage.call(verb, "ada", id=id, epoch=epoch, **WRITES[verb])


def test_renewing(stage: Stage) -> None:
    id = add(stage)
    epoch = claim(stage, "ada", id, ttl_ms=10_000)
    stop(stage, "ada")
    for _ in range(5):
        stage.clock.pass_time(9_999)
        renewed = stage.call("task.renew", "ada", id=id, epoch=epoch)
        assert (renewed["lease"]["epoch"], renewed["ttlMs"]) == (epoch, 10_000), "as long as it was asked for"
    assert stage.call("task.renew", "ada", id=id, epoch=epoch, ttl_ms=60_000)["ttlMs"] == 60_000
    stage.clock.pass_time(59_999)
    assert status(stage, id) == ["in_progress"]
    stage.clock.pass_time(1)
    assert status(stage, id) == ["pending"]


def test_a_clock_that_jumps_ends_no_lease(stage: Stage) -> None:
    id = add(stage)
    claim(stage, "ada", id)
    stop(stage, "ada")
    stage.clock.jump(30 * HOUR)
    assert status(stage, id) == ["in_progress"]
    stage.clock.jump(-60 * HOUR)
    stage.clock.pass_time(TTL)
    assert status(stage, id) == ["pending"]


DEEDS: list[tuple[str, dict[str, Any]]] = [
    ("send", {"to": ["bob"], "subject": "Still at it"}),
    ("status", {"note": "testing"}),
    ("heartbeat", {}),
    ("activity", {"kind": "test", "target": "make test"}),
    ("ack", {"ids": ["MSG"]}),
    ("task.add", {"title": "Another"}),
    ("inbox", {}),
]


@pytest.mark.parametrize(("verb", "args"), DEEDS, ids=[verb for verb, _ in DEEDS])
def test_anything_its_session_does_renews_a_lease_and_its_paths(stage: Stage, verb: str, args: dict[str, Any]) -> None:
    id = add(stage, resources=["src/"])
    other = add(stage, resources=["src/a.py"])
    claim(stage, "ada", id)
    stop(stage, "ada")  # so that nothing but its deeds speaks for it
    for turn in range(20):
        stage.clock.pass_time(4 * MINUTE)
        if verb == "ack":
            args = {"ids": [stage.send("bob", "ada", f"Hello {turn}")["id"]]}
        stage.call(verb, "ada", **args)
    assert status(stage, id) == ["in_progress"]
    assert stage.refused("task.claim", "bob", id=other).code == "RESOURCE_HELD"
    stage.clock.pass_time(TTL)
    claim(stage, "bob", other)


def test_nothing_revives_a_lease_that_lapsed(stage: Stage) -> None:
    id = add(stage)
    claim(stage, "ada", id)
    stop(stage, "ada")
    stage.clock.pass_time(TTL)
    stage.send("ada", "bob", "I am back")
    assert status(stage, id) == ["pending"]
    claim(stage, "bob", id)


# --- lapsing (H25) ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["sweep", "claim", "next"])
def test_a_lapse_is_an_event_and_a_message(stage: Stage, how: str) -> None:
    id = add(stage, "Long work", resources=["src/"])
    claim(stage, "ada", id)
    stop(stage, "ada")
    stage.clock.pass_time(TTL)
    before = stage.seq()
    if how == "sweep":
        assert stage.call("sweep")["lapsed"] == 1
        assert stage.call("sweep")["lapsed"] == 0
        assert reserved(stage) == []
    elif how == "claim":
        assert claim(stage, "bob", id) == 2
    else:
        assert best(stage, "bob") == id
    (event,) = stage.events("task.lapsed")
    assert (event["ref"], event["target"]) == (id, "ada")
    assert event["seq"] > before
    assert stage.subjects("ada") == [f"Lease lost: {id} Long work"]
    assert "lapse" in [note["kind"] for note in show(stage, id)["notes"]]


def test_a_sweep_leaves_live_leases_alone(stage: Stage) -> None:
    id = add(stage)
    claim(stage, "ada", id)
    stage.clock.pass_time(TTL - 1)
    assert stage.call("sweep")["lapsed"] == 0
    assert status(stage, id) == ["in_progress"]


def test_a_running_holder_loses_nothing(stage: Stage) -> None:
    """A test run of ten minutes, silent all the while: whoever looks extends the lease."""
    id, other = add(stage, resources=["src/"]), add(stage, resources=["src/x"])
    epoch = claim(stage, "ada", id)
    for _ in range(5):
        stage.clock.pass_time(TTL)
        error = stage.refused("task.claim", "bob", id=id)
        assert error.code == "TASK_NOT_CLAIMABLE"
        assert "ada" in error.message
        assert best(stage, "bob") is None, "its paths are kept as well"
        assert stage.refused("task.claim", "bob", id=other).code == "RESOURCE_HELD"
    done(stage, "ada", id, epoch=epoch)
    assert stage.events("task.lapsed") == []
    claim(stage, "bob", other)


def test_nobody_has_to_look_for_it(stage: Stage) -> None:
    id = add(stage)
    epoch = claim(stage, "ada", id)
    stage.clock.pass_time(2 * TTL)
    assert stage.call("task.renew", "ada", id=id, epoch=epoch)["lease"]["epoch"] == epoch
    assert status(stage, id) == ["in_progress"]


@pytest.mark.parametrize("renewals", [0, 9])
def test_up_to_six_times_its_ttl_after_it_was_last_renewed(stage: Stage, renewals: int) -> None:
    id = add(stage)
    epoch = claim(stage, "ada", id)
    for _ in range(renewals):
        stage.clock.pass_time(TTL - 1)
        stage.call("task.renew", "ada", id=id, epoch=epoch)
    stage.clock.pass_time(6 * TTL - 1)
    assert stage.refused("task.claim", "bob", id=id).code == "TASK_NOT_CLAIMABLE"
    assert stage.call("sweep")["lapsed"] == 0
    stage.clock.pass_time(1)
    assert stage.refused("task.done", "ada", id=id, epoch=epoch).code == "LEASE_EXPIRED"
    claim(stage, "bob", id)


def test_a_dead_holder_is_free_at_once(stage: Stage) -> None:
    first, second, third = add(stage, resources=["src/"]), add(stage), add(stage, resources=["src/x"])
    for id in (first, second):
        claim(stage, "ada", id)
    stop(stage, "ada", "dead")
    claim(stage, "bob", third)
    assert stage.subjects("ada") == [f"Lease lost: {first} Do it"], "its paths are free, and so is its task"
    claim(stage, "bob", first)
    assert best(stage, "bob") == second, "also when nobody names it"


@pytest.mark.parametrize("again", ["rejoined", "died again", "swept", "taken over and died", "left and died"])
def test_a_holder_that_died_before_is_free_at_once(stage: Stage, again: str) -> None:
    id, other = add(stage, resources=["src/"]), add(stage, resources=["src/x"])
    epoch = claim(stage, "ada", id)
    if again == "left and died":
        stage.call("leave", "ada")
    if again != "taken over and died":
        stop(stage, "ada", "dead")
    if again == "swept":
        session = stage.call("whois", name="ada")["session"]
        stage.store.write("crew", lambda db: db.run("end_session", session=session, reason="died"))
    if again in ("rejoined", "died again", "taken over and died"):
        stage.join("ada", takeover=True)
    if again in ("died again", "taken over and died"):
        stop(stage, "ada", "dead")
    assert show(stage, id)["ownerState"] == "dead"
    claim(stage, "bob", other)
    assert stage.subjects("ada") == [f"Lease lost: {id} Do it"]
    stage.join("ada", takeover=True)
    assert stage.refused("task.done", "ada", id=id, epoch=epoch).code == "LEASE_EXPIRED"


def test_an_agent_that_died_takes_its_own_task_again(stage: Stage) -> None:
    id = add(stage)
    claim(stage, "ada", id)
    stop(stage, "ada", "dead")
    stage.join("ada")
    assert claim(stage, "ada", id) == 2
    assert show(stage, id)["ownerState"] == "live"


def test_lists_tell_that_a_holder_is_dead(stage: Stage) -> None:
    add(stage)
    claim(stage, "ada", add(stage))
    stage.call("spec.claim", "ada", item="T1", **DOC)
    stage.call("spec.claim", "bob", item="T2", **DOC)

    def seen() -> tuple[list[str], list[str]]:
        tasks, claims = stage.call("task.list")["tasks"], stage.call("task.claims")["claims"]
        return [each["ownerState"] for each in tasks], [each["state"] for each in claims]

    assert seen() == (["", "live"], ["held", "held"])
    stop(stage, "ada", "dead")
    assert seen() == (["", "dead"], ["dead", "held"])
    stage.call("spec.done", "bob", item="T2", **DOC)
    assert seen()[1] == ["dead", "completed"]


def test_a_sweep_frees_the_dead(stage: Stage) -> None:
    id = add(stage)
    epoch = claim(stage, "ada", id)
    stop(stage, "ada", "dead")
    assert stage.call("sweep")["lapsed"] == 1
    assert status(stage, id) == ["pending"]
    stage.join("ada")
    assert stage.refused("task.done", "ada", id=id, epoch=epoch).code == "LEASE_EXPIRED"


@pytest.mark.parametrize("who", ["far", "user", "nobody"])
def test_only_a_process_of_this_machine_is_looked_at(stage: Stage, who: str) -> None:
    id = add(stage)
    if who == "far":
        stage.call("join", stage.caller(host="far", process=stage.process()), name="far")
    caller = stage.caller(who, open_addresses=True)
    stage.call("task.claim", caller, id=id)
    stage.clock.pass_time(TTL - 1)
    assert stage.refused("task.claim", "bob", id=id).code == "TASK_NOT_CLAIMABLE"
    stage.clock.pass_time(1)
    claim(stage, "bob", id)


def test_a_lapse_counts_as_an_attempt_and_the_fifth_asks_its_owner(stage: Stage) -> None:
    id = add(stage, "Hard", "bob")
    epoch = 0
    for attempt in range(1, 6):
        assert status(stage, id) == ["pending"]
        epoch = claim(stage, "ada", id)
        assert show(stage, id)["attempts"] == attempt
        stop(stage, "ada", "dead")
        stage.call("sweep")
        stage.join("ada")
    card = show(stage, id)
    assert card["status"] == "blocked"
    assert "5" in card["why"]
    assert (id, "failure", "open") in items(stage)
    assert any(id in subject for subject in stage.subjects("bob"))
    assert stage.refused("task.done", "ada", id=id, epoch=epoch).code == "LEASE_EXPIRED"
    stage.call("task.unblock", "bob", id=id)
    claim(stage, "ada", id)
    assert show(stage, id)["attempts"] == 1


def test_a_lapsed_task_waits_again_if_what_it_needs_was_undone(stage: Stage) -> None:
    first = add(stage)
    second = add(stage, deps=[first])
    finish(stage, first)
    claim(stage, "ada", second)
    stage.call("task.reset", id=first)
    assert status(stage, second) == ["in_progress"], "nobody is interrupted"
    stop(stage, "ada", "dead")
    stage.call("sweep")
    assert status(stage, first, second) == ["pending", "blocked"]
    finish(stage, first, "bob")
    assert status(stage, second) == ["pending"]


# --- ending ----------------------------------------------------------------------------------------------------------


def test_done_with_evidence(stage: Stage) -> None:
    id = add(stage, resources=["src/"])
    claim(stage, "ada", id)
    card = done(
        stage, "ada", id, summary="All tests pass", commits=["abc123"], tests=["make test: 9 passed"], prs=["#7"],
        evidence=["screenshot.png"],
    )  # fmt: skip
    assert (card["status"], card["lease"], card["author"]) == ("completed", None, "ada")
    assert card["result"]["summary"] == "All tests pass"
    assert card["result"]["evidence"] == {
        "commits": ["abc123"], "tests": ["make test: 9 passed"], "prs": ["#7"], "notes": ["screenshot.png"],
    }  # fmt: skip
    assert card["result"]["epoch"] == 1
    assert card["timestamps"]["completedAt"]
    assert reserved(stage) == []
    assert stage.events("task.done")[0]["actor"] == "ada"
    assert stage.refused("task.done", "ada", id=id, epoch=1).code == "TASK_NOT_IN_PROGRESS"
    assert stage.refused("task.claim", "bob", id=id).code == "TASK_NOT_CLAIMABLE"


def test_failing(stage: Stage) -> None:
    id = add(stage, "Try", "bob", resources=["src/"])
    claim(stage, "ada", id)
    card = stage.call("task.fail", "ada", id=id, reason="the API is gone")
    assert (card["status"], card["why"], card["owner"]) == ("failed", "the API is gone", "ada")
    assert card["timestamps"]["failedAt"]
    assert card["timestamps"]["completedAt"] is None
    assert card["result"]["error"] == "the API is gone"
    assert reserved(stage) == []
    assert items(stage) == [(id, "failure", "open")]
    assert stage.subjects("bob") == [f"{id} failed (attempt 1)"]
    assert stage.refused("task.claim", "bob", id=id).code == "TASK_NOT_CLAIMABLE"
    stage.call("task.reset", "bob", id=id)
    assert items(stage) == [(id, "failure", "resolved")]
    claim(stage, "ada", id)


def test_the_fifth_attempt_that_fails_blocks_it(stage: Stage) -> None:
    id = add(stage, "Try", "bob")
    for _ in range(4):
        claim(stage, "ada", id)
        stop(stage, "ada", "dead")
        stage.call("sweep")
        stage.join("ada")
    claim(stage, "ada", id)
    card = stage.call("task.fail", "ada", id=id, reason="never works")
    assert card["status"] == "blocked"
    assert "never works" in card["why"]
    assert card["timestamps"]["completedAt"] is None
    assert (id, "failure", "open") in items(stage)
    assert stage.refused("task.claim", "bob", id=id).code == "TASK_NOT_CLAIMABLE"


def test_how_many_attempts_is_a_setting(tmp_path: Path) -> None:
    stage = Described(tmp_path / "other.db", tasks__attempts=1)
    stage.join("ada")
    id = add(stage)
    claim(stage, "ada", id)
    assert stage.call("task.fail", "ada", id=id)["status"] == "blocked"
    stage.close()


def test_blocking_ends_the_lease(stage: Stage) -> None:
    id = add(stage, "Deploy", "bob", resources=["ops/"])
    claim(stage, "ada", id)
    card = stage.call("task.block", "ada", id=id, reason="no key\nfor the host")
    assert (card["status"], card["lease"]) == ("blocked", None)
    assert card["why"].startswith("no key")
    assert reserved(stage) == []
    assert items(stage) == [(id, "question", "open")]
    assert stage.subjects("bob") == [f"Blocked: {id} Deploy"]
    assert stage.refused("task.claim", "bob", id=id).code == "TASK_NOT_CLAIMABLE"
    assert stage.refused("task.block", "ada", id=id, reason=" ").code == "BAD_INPUT"
    card = stage.call("task.unblock", "bob", id=id, reason="it is in the vault")
    assert (card["status"], card["why"]) == ("pending", "")
    assert items(stage) == [(id, "question", "resolved")]
    assert {"task.block", "task.unblock"} <= {e["type"] for e in stage.events()}


def test_the_person_blocks_what_nobody_holds(stage: Stage) -> None:
    id, held = add(stage), add(stage)
    epoch = claim(stage, "ada", held)
    stage.call("task.block", id=id, reason="not now")
    assert status(stage, id) == ["blocked"]
    assert stage.refused("task.block", id=held, reason="not now").code == "LEASE_HOLDER_MISMATCH"
    stop(stage, "ada")
    stage.clock.pass_time(TTL)
    stage.call("task.block", id=held, reason="not now")
    assert status(stage, held) == ["blocked"]
    assert stage.events("task.lapsed"), "not silently"
    assert stage.refused("task.done", "ada", id=held, epoch=epoch).code == "TASK_NOT_IN_PROGRESS"
    assert isinstance(stage.refused("task.block", "bob", id=add(stage), reason="x"), errors.LeaseLost)


def test_progress_is_a_dated_log(stage: Stage) -> None:
    id = add(stage)
    claim(stage, "ada", id)
    for said in ("read the code", "wrote a test"):
        stage.clock.pass_time(SECOND)
        stage.call("task.progress", "ada", id=id, said=said)
    notes = show(stage, id)["notes"]
    assert [(n["kind"], n["by"], n["note"]) for n in notes] == [
        ("progress", "ada", "read the code"), ("progress", "ada", "wrote a test"),
    ]  # fmt: skip
    assert notes[0]["at"] < notes[1]["at"]
    assert stage.refused("task.progress", "ada", id=id, said=" ").code == "BAD_INPUT"


def test_giving_back(stage: Stage) -> None:
    id = add(stage, resources=["src/"])
    epoch = claim(stage, "ada", id)
    card = stage.call("task.release", "ada", id=id, reason="something else came up")
    assert (card["status"], card["attempts"], card["epoch"]) == ("pending", 0, epoch + 1)
    assert reserved(stage) == []
    assert stage.events("task.released")[0]["actor"] == "ada"
    assert stage.inbox("ada") == [], "it knows"
    assert stage.refused("task.renew", "ada", id=id, epoch=epoch).code == "TASK_NOT_IN_PROGRESS"


# --- dependencies ----------------------------------------------------------------------------------------------------


def test_a_task_opens_when_the_last_dependency_completes(stage: Stage) -> None:
    a, b = add(stage, "A"), add(stage, "B")
    c = add(stage, "C", deps=[a, b, a])
    error = stage.refused("task.claim", "ada", id=c)
    assert error.code == "TASK_NOT_CLAIMABLE"
    assert a in error.message
    assert b in error.message
    finish(stage, a)
    assert status(stage, c) == ["blocked"]
    finish(stage, b)
    assert status(stage, c) == ["pending"]
    assert [e["ref"] for e in stage.events("task.unblock")] == [c]
    assert status(stage, add(stage, "D", deps=[a, b])) == ["pending"]


def test_a_reason_someone_gave_outlasts_the_dependencies(stage: Stage) -> None:
    a = add(stage)
    b = add(stage, deps=[a])
    stage.call("task.block", id=b, reason="wait for the person")
    finish(stage, a)
    assert status(stage, b) == ["blocked"]
    stage.call("task.unblock", id=b)
    assert status(stage, b) == ["pending"]


def test_a_circle_is_refused_and_shown(stage: Stage) -> None:
    a = add(stage, "A")
    b = add(stage, "B", deps=[a])
    c = add(stage, "C", deps=[b])
    error = stage.refused("task.revise", id=a, deps=[c])
    assert error.code == "CIRCULAR_DEPS"
    assert f"{a} -> {c} -> {b} -> {a}" in error.message
    assert stage.refused("task.revise", id=a, deps=[a]).code == "CIRCULAR_DEPS"
    assert stage.refused("task.revise", id=a, deps=["task-0099"]).code == "UNKNOWN_DEP"


def test_milestones_complete_by_themselves(stage: Stage) -> None:
    a, b = add(stage, "A"), add(stage, "B")
    alpha = add(stage, "Alpha", deps=[a, b], milestone=True)
    beta = add(stage, "Beta", deps=[alpha], milestone=True)
    after = add(stage, "After", deps=[beta])
    assert stage.refused("task.claim", "ada", id=alpha).code == "TASK_NOT_CLAIMABLE"
    finish(stage, a)
    assert status(stage, alpha, beta, after) == ["blocked", "blocked", "blocked"]
    finish(stage, b)
    assert status(stage, alpha, beta, after) == ["completed", "completed", "pending"]
    assert [e["ref"] for e in stage.events("task.done")] == [a, b, alpha, beta]


def test_a_milestone_of_what_is_done_already(stage: Stage) -> None:
    a = add(stage, "A")
    finish(stage, a)
    assert status(stage, add(stage, "Alpha", deps=[a], milestone=True)) == ["completed"]


def test_a_milestone_gets_its_dependencies_later(stage: Stage) -> None:
    m = add(stage, "Alpha", milestone=True)
    assert status(stage, m) == ["blocked"], "an empty one is not complete"
    a = add(stage, "A")
    stage.call("task.revise", id=m, deps=[a])
    finish(stage, a)
    assert status(stage, m) == ["completed"]


def test_a_milestone_that_asks_for_review_waits_for_its_parts_only(stage: Stage) -> None:
    a = add(stage, "A", review=True)
    m = add(stage, "Alpha", deps=[a], milestone=True, review=True)
    after = add(stage, "After", deps=[m])
    finish(stage, a)
    assert status(stage, m, after) == ["blocked", "blocked"]
    stage.call("task.review", "bob", id=a, verdict="SHIP")
    assert status(stage, m, after) == ["completed", "pending"]


def test_h27_a_failure_tells_its_dependents_and_its_owner(stage: Stage) -> None:
    stage.join_all("cat", "dan")
    a = add(stage, "Base", "bob")
    b = add(stage, "Above", "cat", deps=[a], assignee="dan")
    claim(stage, "ada", a)
    stage.call("task.fail", "ada", id=a, reason="does not compile")
    for name in ("bob", "cat", "dan"):
        (message,) = stage.call("inbox", name, whole=True)["messages"]
        assert message["subject"] == f"{a} failed (attempt 1)"
        assert "does not compile" in message["body"]
        assert f"rook task reset {a}" in message["body"]
        assert f"rook task cancel {a} --tree" in message["body"]
        assert b in message["body"]
    assert show(stage, b)["notes"][-1]["kind"] == "setback"
    assert status(stage, b) == ["blocked"]


# --- resources (H23) -------------------------------------------------------------------------------------------------


def test_all_paths_or_none(stage: Stage) -> None:
    first = add(stage, "One", resources=["src/io/", "docs/*.md"])
    second = add(stage, "Two", resources=["lib/", "docs/a.md"])
    claim(stage, "ada", first)
    assert reserved(stage) == [("docs/*.md", first), ("src/io/", first)]
    error = stage.refused("task.claim", "bob", id=second)
    assert (error.code, error.http_status) == ("RESOURCE_HELD", 409)
    assert "ada" in error.message
    assert "One" in error.message
    assert reserved(stage) == [("docs/*.md", first), ("src/io/", first)]
    done(stage, "ada", first)
    claim(stage, "bob", second)
    assert reserved(stage) == [("docs/a.md", second), ("lib/", second)]


OVERLAPS = [
    ("src/", "src/a.py"), ("src/a.py", "src/"), ("src/**/x.py", "src/a/b/x.py"), ("*", "README"), (".", "a/b"),
    ("src/*.py", "src/a*"), ("src", "src/deep/er"), ("src/?.py", "src/a.py"), ("./src/a", "src//a"),
]  # fmt: skip
APART = [("src/a", "src/ab"), ("src/*.py", "src/*.js"), ("src0/", "src/"), ("src/a/", "src/b/"), ("a?", "abc")]


@pytest.mark.parametrize(("one", "two"), OVERLAPS)
def test_overlapping_paths_are_refused(stage: Stage, one: str, two: str) -> None:
    first, second = add(stage, resources=["x/", one]), add(stage, resources=["y/", two])
    claim(stage, "ada", first)
    assert stage.refused("task.claim", "bob", id=second).code == "RESOURCE_HELD"
    claim(stage, "ada", second)  # its own paths are in nobody's way


@pytest.mark.parametrize(("one", "two"), APART)
def test_paths_that_only_look_alike(stage: Stage, one: str, two: str) -> None:
    claim(stage, "ada", add(stage, resources=[one]))
    claim(stage, "bob", add(stage, resources=[two]))


def test_paths_live_exactly_as_long_as_the_lease(stage: Stage) -> None:
    first, second = add(stage, resources=["src/"]), add(stage, resources=["src/"])
    epoch = claim(stage, "ada", first)
    stop(stage, "ada")
    stage.clock.pass_time(TTL - 1)
    stage.call("task.renew", "ada", id=first, epoch=epoch)
    stage.clock.pass_time(TTL - 1)
    assert stage.refused("task.claim", "bob", id=second).code == "RESOURCE_HELD"
    stage.clock.pass_time(1)
    claim(stage, "bob", second)
    assert stage.subjects("ada") == [f"Lease lost: {first} Do it"], "its claim went with its paths"
    assert stage.refused("task.done", "ada", id=first, epoch=epoch).code == "LEASE_EXPIRED"


@pytest.mark.parametrize("state", ["running", "stopped", "dead"])
def test_looking_at_paths_writes_nothing(stage: Stage, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook asks before every edit, in a read."""
    claim(stage, "ada", add(stage, resources=["src/"]))
    stop(stage, "ada", state)

    def held_by() -> str | None:
        def ask(db: Transaction) -> str | None:
            tx = Tx(db, stage.caller("bob"), stage)
            other = resources.conflict(tx, patterns.parse("src/x.py"), tx.me()["id"])
            return other["name"] if other else None

        return stage.store.read(stage.team, ask)

    def forbidden(*_args: object, **_params: object) -> int:
        raise AssertionError("a read that writes")

    monkeypatch.setattr(SqliteTransaction, "run", forbidden)
    assert held_by() == (None if state == "dead" else "ada")
    stage.clock.pass_time(TTL)
    assert held_by() == ("ada" if state == "running" else None)
    stage.clock.pass_time(5 * TTL)
    assert held_by() is None


# --- claims in outside documents -------------------------------------------------------------------------------------

DOC = {"spec": "docs/spec.md"}


def test_a_claim_in_a_document(stage: Stage) -> None:
    assert stage.call("spec.claim", "ada", item="TASK-03", reason="I know it", **DOC)["holder"] == "ada"
    stage.call("spec.claim", "ada", item=" TASK-03 ", **DOC)  # again: the same claim
    error = stage.refused("spec.claim", "bob", item="TASK-03", **DOC)
    assert error.code == "TASK_NOT_CLAIMABLE"
    assert "ada" in error.message
    error = stage.refused("spec.claim", "ada", item="TASK-04", **DOC)
    assert error.code == "ONE_AT_A_TIME"
    assert "TASK-03" in error.message
    assert isinstance(stage.refused("spec.done", "bob", item="TASK-03", **DOC), errors.NotYours)
    stage.call("spec.done", "ada", item="TASK-03 ", summary="done", **DOC)
    assert stage.refused("spec.claim", "bob", item="TASK-03", **DOC).code == "TASK_NOT_CLAIMABLE"
    assert stage.refused("spec.done", "ada", item="TASK-03", **DOC).code == "TASK_FINISHED"
    stage.call("spec.claim", "ada", item="TASK-04", **DOC)
    stage.call("spec.claim", "bob", item="TASK-03", spec="docs/other.md")
    listed = stage.call("task.claims")["claims"]
    assert {(c["item"], c["agent"]) for c in listed if not c["completedAt"]} == {("TASK-04", "ada"), ("TASK-03", "bob")}
    assert [(c["item"], c["agent"], c["summary"]) for c in listed if c["completedAt"]] == [("TASK-03", "ada", "done")]
    assert len(stage.call("task.claims", **DOC)["claims"]) == 2
    assert [e["type"] for e in stage.events() if e["ref"] == "docs/spec.md TASK-03"] == ["task.start", "task.done"]


def test_giving_an_item_back(stage: Stage) -> None:
    stage.call("spec.claim", "ada", item="T1", **DOC)
    assert isinstance(stage.refused("spec.release", "bob", item="T1", **DOC), errors.NotYours)
    stage.call("spec.release", "ada", item="T1", **DOC)
    assert stage.refused("spec.release", "ada", item="T1", **DOC).http_status == 404
    stage.call("spec.claim", "bob", item="T1", **DOC)
    stage.call("spec.release", item="T1", **DOC)  # the person may
    assert stage.call("task.claims")["claims"] == []


@pytest.mark.parametrize("how", ["dead", "left"])
def test_an_item_of_someone_who_is_gone(stage: Stage, how: str) -> None:
    stage.call("spec.claim", "ada", item="T1", **DOC)
    if how == "dead":
        stop(stage, "ada", "dead")
    else:
        stage.call("leave", "ada")
    stage.call("spec.claim", "bob", item="T1", **DOC)
    assert [e["target"] for e in stage.events("task.lapsed")] == ["ada"]
    assert stage.subjects("ada") == ["Claim lost: T1 of docs/spec.md"]
    stage.join("ada")
    assert isinstance(stage.refused("spec.done", "ada", item="T1", **DOC), errors.NotYours)


@pytest.mark.parametrize("item", ["", " ", "x" * 301, "a\nb", "a\x1b[0m"])
def test_an_item_is_one_line(stage: Stage, item: str) -> None:
    assert isinstance(stage.refused("spec.claim", "ada", item=item, **DOC), errors.BadInput)


# --- who may ---------------------------------------------------------------------------------------------------------


def test_every_refusal_of_a_task_is_json(stage: Stage) -> None:
    id = add(stage)
    error = stage.refused("task.done", "ada", id=id)
    assert json.loads(json.dumps(error.as_dict()))["error"]["code"] == "TASK_NOT_IN_PROGRESS"
