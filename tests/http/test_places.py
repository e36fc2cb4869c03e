"""H47: nothing that a caller over HTTP says about its place, host or process is believed."""

import json
import os
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rookery import app
from rookery.runtime import process
from rookery.runtime.clock import SystemClock
from tests.support.doors import Answer, Door, Running, running
from tests.support.hostile import HOOKS
from tests.unit.gitrepo import git, repository

TEAM = "nest"


class Nest(NamedTuple):
    """A daemon in a repository of its own, a second repository that wants to run something, and who has which token."""

    daemon: Running
    repo: Path
    foreign: Path
    mark: Path
    person: Door
    ada: Door
    eyes: Door

    def claims(self, **more: Any) -> dict[str, str]:
        """What a local process would say that stands in the foreign repository; it is this test's."""
        own = process.identify(os.getpid())
        assert own is not None
        said = {
            "tree": str(self.foreign), "cwd": str(self.foreign), "host": process.host_name(),
            "boot": SystemClock().boot(), "process": list(own), "lineage": [list(own)], **more,
        }  # fmt: skip
        return {"X-Rook-Caller": json.dumps(said)}

    def spawn(self, door: Door, **args: Any) -> Answer:
        named = {"agent": "bob"} if door is self.person else {}  # nobody vouches for bob: the daemon's token may be it
        return door.post("/v1/call/spawn", self.claims(**named), assignment="Look", host="claude", **args)


@pytest.fixture(scope="module")
def nest(tmp_path_factory: pytest.TempPathFactory) -> Generator[Nest]:
    base = tmp_path_factory.mktemp("nest")
    repo, foreign, mark = repository(base / "home"), repository(base / "foreign"), base / "mark"
    trap = base / "trap.sh"
    trap.write_text(f"#!/bin/sh\necho ran >> {mark}\n")
    trap.chmod(0o755)
    (foreign / "rookery.toml").write_text('team = "elsewhere"\n[guard]\nopaque = "deny"\noutside = "deny"\n')
    (foreign / ".gitattributes").write_text("* filter=trap\n")
    git("add", "--all", cwd=foreign)
    git("commit", "-q", "-m", "traps", cwd=foreign)
    for key in ("filter.trap.smudge", "filter.trap.clean", "core.fsmonitor"):
        git("config", key, str(trap), cwd=foreign)
    for name in HOOKS:
        (foreign / ".git" / "hooks").mkdir(exist_ok=True)
        (foreign / ".git" / "hooks" / name).symlink_to(trap)
    mark.unlink(missing_ok=True)
    with running(repo, ROOK_TEAM=TEAM, ROOK_WORKER_LIMIT="0", ROOK_GUARD_WORKTREES="warn") as daemon:
        person = daemon.door.of(TEAM)
        person.post("/v1/call/join", name="bob")
        ada, eyes = (
            person.operator.post("/v1/call/token.new", **who) for who in ({"agent": "ada"}, {"read_only": True})
        )
        own = (person.having(each.body["token"]) for each in (ada, eyes))
        yield Nest(daemon, repo, foreign, mark, person, *own)
    assert not mark.exists(), "something of the foreign repository ran"


# -- where a worker starts ---------------------------------------------------------------------------------------------


def test_h47_a_worker_starts_in_the_repository_of_its_team_whatever_the_caller_says(nest: Nest) -> None:
    for door in (nest.ada, nest.person):
        made = nest.spawn(door)
        assert made.status == 200, made
        assert nest.person.get(f"/v1/workers/{made.body['id']}").body["root"] == str(nest.repo)


def test_h47_where_no_working_copy_is_registered_none_is_taken(nest: Nest) -> None:
    other = nest.daemon.door.of("another")
    refused = other.post(
        "/v1/call/spawn", nest.claims(agent="eve", open_addresses=True), assignment="Look", host="claude"
    )
    assert (refused.status, refused.code) == (422, "NO_ROOT")
    plan = other.post("/v1/call/plan.new", goal="x").body["id"]
    assert other.post("/v1/call/crew.run", nest.claims(agent="eve", open_addresses=True), plan=plan).code == "NO_ROOT"


@pytest.mark.parametrize("args", [{"root": "foreign"}, {"start": "--orphan"}, {"start": "-f"}, {"start": "HEAD"}])
def test_h47_no_place_and_no_option_comes_by_an_argument(nest: Nest, args: dict[str, str]) -> None:
    said = {name: str(nest.foreign) if value == "foreign" else value for name, value in args.items()}
    for door in (nest.ada, nest.person):
        assert nest.spawn(door, **said).code == "NOT_BY_TOKEN"
    answer = nest.spawn(nest.person.operator, **said)
    if args.get("start") == "HEAD":
        assert answer.status == 200
    else:
        assert answer.code == ("NOT_BY_HTTP" if "root" in args else "BAD_REVISION")


def test_h47_nobody_goes_on_from_a_session_that_it_only_names(nest: Nest) -> None:
    """A worker that forks a session knows all that was said in it."""
    started = nest.ada.post("/v1/call/turn.start", nest.claims(), host="claude", host_id="someone-elses")
    assert started.status == 200, started
    assert nest.spawn(nest.ada, seed=True).code == "NO_SEED"


# -- whether it lives --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["ada", "person"])
def test_h47_a_session_over_http_lives_by_its_lease(nest: Nest, who: str) -> None:
    """The process that it names is gone, or another's: neither ends it, and no way to that process is used."""
    door: Door = nest.ada if who == "ada" else nest.person
    name = who if who == "ada" else "cat"
    dead = nest.claims(process=[1 << 22, "1"], lineage=[])
    ways = {"terminal": {"kind": "tmux", "pane": "%0", "socket": "/tmp/x"}, "takeover": True}
    joined = door.post("/v1/call/join", dead, name=name, **ways)
    assert joined.status == 200, joined
    (card,) = [each for each in nest.person.get("/v1/agents").body["agents"] if each["name"] == name]
    assert card["liveness"] not in ("dead", "ended"), card
    found = nest.person.post("/v1/call/whois", name=name).body
    assert found["ways"] == []
    assert found["host"] != process.host_name()
    if who == "ada":
        assert (found["pid"], found["cwd"], found["host"]) == (None, "", "")


def test_h47_a_hold_of_another_tree_is_one_of_this_tree(nest: Nest) -> None:
    """Where reservations of other working trees only warn, nobody leaves the tree by saying so."""
    nest.person.post("/v1/call/reserve", agentId="bob", paths=["src/x.py"])
    for door in (nest.ada, nest.person):
        said = {} if door is nest.ada else {"agent": "ada"}
        told = door.post("/v1/call/can-write", nest.claims(**said), paths=["src/x.py"]).body
        assert told["paths"][0]["allow"] is False, told


# -- hooks -------------------------------------------------------------------------------------------------------------


def hook(door: Door, event: str, **more: Any) -> Answer:
    return door.post("/v1/hook/claude", hook_event_name=event, session_id="s-1", **more)


def test_h47_the_folder_that_a_hook_names_is_not_opened(nest: Nest) -> None:
    """Its settings would refuse every command, and its team is another."""
    for door in (nest.ada, nest.person):
        told = hook(door, "PreToolUse", cwd=str(nest.foreign), tool_name="Bash", tool_input={"command": "make"})
        assert (told.status, told.body) == (200, {})
    alone = Door(nest.person.url, nest.person._token)
    told = hook(alone, "PreToolUse", cwd=str(nest.foreign), tool_name="Bash", tool_input={"command": "make"})
    assert (told.status, told.body) == (200, {})


def test_the_folder_of_a_session_that_this_machine_registered_counts(nest: Nest) -> None:
    """The control: the same hook after a process of this machine began the session there."""
    environ = {name: nest.daemon.environ[name] for name in ("HOME", "ROOK_HOME")}
    with closing(app.open_house(cwd=str(nest.foreign), environ=environ)) as house:
        caller = house.caller(None, process=tuple(process.identify(os.getpid()) or ()))
        house.client.call("turn.start", {"host": "claude", "host_id": "s-9", "name": "eve"}, caller)
    alone = Door(nest.person.url, nest.person._token)
    asked = {"hook_event_name": "PreToolUse", "session_id": "s-9", "tool_name": "Bash"}
    told = alone.post("/v1/hook/claude", cwd=str(nest.foreign), tool_input={"command": "make"}, **asked)
    assert "refuses such commands" in json.dumps(told.body)


def test_a_hook_of_another_machine_is_judged_by_the_names_of_its_files(nest: Nest) -> None:
    nest.person.post("/v1/call/reserve", agentId="bob", paths=["src/x.py"])
    for path in ("src/x.py", "/far/away/src/x.py"):
        tool = {"tool_name": "Write", "tool_input": {"file_path": path}}
        denied = hook(nest.ada, "PreToolUse", cwd="/far/away", **tool).body
        assert denied["hookSpecificOutput"]["permissionDecision"] == "deny", path
