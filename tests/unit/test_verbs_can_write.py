"""can-write: everything that may be in the way of a write, and a reason that tells what to do."""

from collections.abc import Sequence
from typing import Any

import pytest

from rookery.service.tx import Tx
from rookery.store.port import Row
from tests.support.chores import add, claim, stop
from tests.support.stage import MINUTE, Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    stage = build()
    stage.join_all("ada", "bob")
    return stage


def ask(stage: Stage, who: Any, *paths: str) -> dict[str, Any]:
    return stage.call("can-write", who, paths=list(paths))


def may(stage: Stage, who: Any, path: str) -> bool:
    return ask(stage, who, path)["allow"]


# --- what others hold -------------------------------------------------------------------------------------------------


def test_the_reason_says_who_where_until_when_and_how_to_ask(build: Build) -> None:
    stage = build()
    stage.join("ada", cwd="/work/main", branch="feature")
    stage.join("bob")
    stage.call("reserve", "ada", paths=["src/"], reason="editing the parser")
    (told,) = ask(stage, "bob", "src/x.py")["paths"]
    assert told["allow"] is False
    for part in ("held by ada", "until", "editing the parser", "/work/main", "branch feature", f"at {stage.host}",
                 "rook send ada", "rook reserve src/x.py --wait"):  # fmt: skip
        assert part in told["reason"]
    assert (told["holder"], told["holds"], told["branch"], told["place"]) == ("ada", "src/", "feature", "/work/main")
    assert told["until"].endswith("Z")


def test_each_path_for_itself(stage: Stage) -> None:
    stage.call("reserve", "ada", paths=["src/*.py", "docs/"])
    found = ask(stage, "bob", "src/x.txt", "src/x.py", "docs/deep/er.md", "README")
    assert [each["allow"] for each in found["paths"]] == [True, False, False, True]
    assert found["allow"] is False
    assert ask(stage, "ada", "src/x.py", "docs/y")["allow"]


def test_a_path_is_a_name_not_a_pattern(stage: Stage) -> None:
    stage.call("reserve", "ada", paths=["src/x.py"])
    assert may(stage, "bob", "src/*.py")
    assert may(stage, "bob", "src/?.py")
    stage.call("reserve", "ada", paths=["lib/*.py"])
    assert not may(stage, "bob", "lib/*.py"), "a file of that odd name is covered"


def test_a_folder_is_everything_beneath_it(stage: Stage) -> None:
    stage.call("reserve", "ada", paths=["src/io/x.py"])
    assert may(stage, "bob", "src"), "a file called src"
    assert not may(stage, "bob", "src/")
    assert not may(stage, "bob", "src/io/")
    assert may(stage, "bob", "src/ui/")
    stage.call("reserve", "ada", paths=["**/*.md"])
    assert not may(stage, "bob", "src/ui/")


def test_sharing_lets_those_write_who_share(stage: Stage) -> None:
    stage.call("reserve", "ada", paths=["src/"], shared=True)
    assert may(stage, "ada", "src/x")
    assert not may(stage, "bob", "src/x")
    stage.call("reserve", "bob", paths=["src/x"], shared=True)
    assert may(stage, "bob", "src/x")
    assert may(stage, "ada", "src/x")
    assert not may(stage, "bob", "src/y")


def test_whoever_waits_holds_nothing(stage: Stage) -> None:
    stage.join("cat")
    stage.call("reserve", "ada", paths=["src/x"])
    stage.call("reserve", "bob", paths=["src/"], wait=True)
    assert may(stage, "cat", "src/y")


@pytest.mark.parametrize("state", ["running", "stopped", "dead"])
def test_what_lapsed_is_seen_as_lapsed(stage: Stage, state: str) -> None:
    stage.call("reserve", "ada", paths=["src/"], ttl_ms=MINUTE)
    stop(stage, "ada", state)
    assert may(stage, "bob", "src/x") is (state == "dead")
    stage.clock.pass_time(MINUTE)
    assert may(stage, "bob", "src/x") is (state != "running")


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", ".", "a\\b", "./", "src/../.."])
def test_the_boundary(stage: Stage, path: str) -> None:
    (told,) = ask(stage, "ada", path)["paths"]
    assert (told["allow"], told["reason"]) == (False, "outside the workspace")
    assert told["hint"]


# --- strict teams -----------------------------------------------------------------------------------------------------


def test_strict_no_lease_no_write(build: Build) -> None:
    stage = build(guard__strict=True)
    stage.join_all("ada", "bob")
    (told,) = ask(stage, "ada", "src/x")["paths"]
    assert told["reason"] == "no lease of yours covers it"
    assert "rook task claim" in told["hint"]
    id = add(stage, resources=["src/"])
    claim(stage, "ada", id, ttl_ms=MINUTE)
    assert may(stage, "ada", "src/x")
    assert not may(stage, "ada", "lib/x")
    assert not may(stage, "bob", "lib/x")
    stage.call("reserve", "bob", paths=["lib/"])
    assert may(stage, "bob", "lib/x"), "a reservation is a lease too"
    stage.call("task.release", "ada", id=id)
    assert not may(stage, "ada", "src/x")


# --- policies ---------------------------------------------------------------------------------------------------------


class ReadsOnly:
    """As the workers' kinds will be."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.asked: list[str] = []

    def refusal(self, tx: Tx, agent: Row) -> str:
        self.asked.append(agent["name"])
        return "a reviewer only reads: say what should change instead" if agent["name"] in self.names else ""


class PlanGate:
    """As plan mode will be: it looks at the ledger."""

    def refusal(self, tx: Tx, agent: Row) -> str:
        waiting = [row["id"] for row in tx.all("plans") if row["status"] == "active"]
        return f"{waiting[0]} is not approved" if waiting else ""


def policed(build: Build, policies: Sequence[Any]) -> Stage:
    stage = build()
    stage.policies = policies
    stage.join_all("ada", "bob")
    return stage


def test_a_policy_says_no_and_why(build: Build) -> None:
    only = ReadsOnly("bob")
    stage = policed(build, [only])
    assert may(stage, "ada", "src/x")
    told = ask(stage, "bob", "./src//x", "y")["paths"]
    assert [each["allow"] for each in told] == [False, False]
    assert all(each["reason"].startswith("a reviewer only reads") for each in told)
    assert only.asked == ["ada", "bob"], "once, however many paths"
    assert ask(stage, "bob", "../x")["reason"].startswith("a reviewer only reads"), "wherever that is"
    assert stage.refused("reserve", "bob", paths=["src/"]).code == "READ_ONLY"
    stage.call("reserve", "ada", paths=["src/"])


def test_policies_are_asked_in_turn_and_may_look(build: Build) -> None:
    stage = policed(build, [ReadsOnly(), PlanGate()])
    assert may(stage, "ada", "src/x")
    plan = stage.call("plan.new", goal="G", tasks=[{"id": "1", "title": "T"}])["id"]
    assert ask(stage, "ada", "src/x")["reason"] == f"{plan} is not approved"
    assert not may(stage, "ada", "docs/x")


# --- worktrees --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "elsewhere"), [("warn", True), ("enforce", False), ("off", True)])
def test_another_working_tree(build: Build, rule: str, elsewhere: bool) -> None:
    stage = build(guard__worktrees=rule)
    stage.join_all("ada", "bob")
    stage.call("reserve", stage.caller("ada", tree="/repo"), paths=["src/"])
    claim_there = stage.caller("ada", tree="/repo")
    stage.call("task.claim", claim_there, id=add(stage, resources=["lib/"]))
    for path in ("src/x", "lib/x"):
        here = ask(stage, stage.caller("bob", tree="/repo"), path)
        assert (here["allow"], here["warnings"]) == (False, []), "in a shared tree it is enforced"
        there = ask(stage, stage.caller("bob", tree="/repo-2"), path)
        assert there["allow"] is elsewhere
        assert bool(there["warnings"]) is (rule == "warn")
        assert not may(stage, stage.caller("bob"), path), "where nothing is known it is enforced"
    if rule == "warn":
        assert "held by ada" in there["warnings"][0]
        assert "merge" in there["warnings"][0]


@pytest.mark.parametrize("rule", ["warn", "enforce", "off"])
def test_reserving_in_another_working_tree(build: Build, rule: str) -> None:
    """Off: each tree has its own paths. Tasks exclude each other wherever they are worked on."""
    stage = build(guard__worktrees=rule)
    stage.join_all("ada", "bob")
    stage.call("reserve", stage.caller("ada", tree="/repo"), paths=["src/"])
    other = stage.caller("bob", tree="/repo-2")
    if rule == "off":
        stage.call("reserve", other, paths=["src/x"])
        stage.call("release", other, all=True)
    else:
        assert stage.refused("reserve", other, paths=["src/x"]).code == "RESERVED"
    id = add(stage, resources=["src/"])
    assert stage.refused("task.claim", other, id=id).code == "RESOURCE_HELD"


def test_two_machines_have_two_trees(stage: Stage) -> None:
    stage.call("reserve", stage.caller("ada", tree="/repo"), paths=["src/"])
    far = ask(stage, stage.caller("bob", tree="/repo", host="elsewhere"), "src/x")
    assert far["allow"] is True
    assert far["warnings"]
