"""Tokens made, listed and revoked; and what a caller can do who came with one."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from rookery.core import tokens
from rookery.core.caller import Caller, Grant, Role
from rookery.core.errors import RookError
from rookery.service import tokens as service
from tests.support import ledger
from tests.support.fakes import FakeChance
from tests.support.stage import DAY, HOUR, Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    return build()


def another_team(stage: Stage) -> Stage:
    other = Stage("", store=stage.store, clock=stage.clock, team="other")
    other.chance = FakeChance(2)
    return other


def grant_of(stage: Stage, token: str) -> Grant | None:
    return stage.store.read("", lambda db: service.presented(db, tokens.digest(token)))


def new(stage: Stage, agent: str = "", **args: Any) -> dict[str, Any]:
    return stage.call("token.new", **({"agent": agent} if agent else {"read_only": True}), **args)


def bearer(stage: Stage, agent: str = "", **more: Any) -> Caller:
    """Someone who comes with a new token for this agent; without one, with a reader's."""
    grant = grant_of(stage, new(stage, agent)["token"])
    assert grant is not None
    return Caller(grant=grant, cwd="/far", **more)


def code_of(stage: Stage, verb: str, caller: Caller, **args: Any) -> tuple[int, str]:
    refused = stage.refused(verb, caller, **args)
    assert refused.hint
    return refused.http_status, refused.code


# -- making, listing, revoking -----------------------------------------------------------------------------------------


def test_a_token_from_its_making_to_its_end(stage: Stage):
    stage.join("ada")
    made = new(stage, "ada", note="  sandbox \n one ")
    assert made | {"token": ""} == {
        "id": "token-0001", "token": "", "kind": "agent", "agent": "ada", "team": "crew", "note": "sandbox one",
        "expires_at": None,
    }  # fmt: skip
    grant = grant_of(stage, made["token"])
    assert grant is not None
    assert (grant.team, grant.id, grant.reads_only, grant.name) == ("crew", "token-0001", False, "ada")
    assert grant_of(stage, new(stage)["token"]) == Grant("crew", "token-0002", Role.VIEWER)
    listed = stage.call("token.list")["tokens"]
    assert [(t["id"], t["kind"], t["agent"], t["state"], t["by"]) for t in listed] == [
        ("token-0002", "viewer", None, "good", "user"), ("token-0001", "agent", "ada", "good", "user"),
    ]  # fmt: skip
    assert stage.call("token.revoke", id="token-0001") == {"id": "token-0001", "state": "revoked", "changed": True}
    assert stage.call("token.revoke", id="token-0001")["changed"] is False, "it may be said twice"
    with pytest.raises(RookError) as caught:
        grant_of(stage, made["token"])
    assert caught.value.code == "TOKEN_REVOKED"
    assert [t["id"] for t in stage.call("token.list")["tokens"]] == ["token-0002"]
    assert [t["state"] for t in stage.call("token.list", all=True)["tokens"]] == ["good", "revoked"]
    told = [(e["type"], e["actor"], e["ref"]) for e in stage.events("token.new", "token.revoked")]
    made_by_user = [("token.new", "user", f"token-000{n}") for n in (1, 2)]
    assert told == [*made_by_user, ("token.revoked", "user", "token-0001")]


def test_a_token_ends_by_itself(stage: Stage):
    made = new(stage, "ada", ttl=HOUR)
    assert made["expires_at"]
    stage.clock.pass_time(HOUR - 1)
    assert grant_of(stage, made["token"])
    stage.clock.jump(-30 * DAY)
    stage.clock.pass_time(1)
    with pytest.raises(RookError) as caught:
        grant_of(stage, made["token"])
    assert caught.value.code == "TOKEN_EXPIRED", "whatever was done to the calendar"
    assert stage.call("token.list")["tokens"] == []
    assert [t["state"] for t in stage.call("token.list", all=True)["tokens"]] == ["expired"]


def test_the_text_is_kept_nowhere(stage: Stage):
    made = [new(stage, "ada", note="n"), new(stage)]
    stage.call("token.list", all=True)
    stage.call("token.revoke", id="token-0001")
    kept = "".join(str(rows) for rows in ledger.everything(stage.store.location).values())
    file = Path(stage.store.location)
    parts = [str(path) for path in file.parent.glob(f"{file.name}*")]
    on_disk = subprocess.run(["cat", *parts], capture_output=True, check=True).stdout  # not by this process (H39)
    for token in made:
        secret = token["token"].partition("_")[2]
        assert secret not in kept
        assert secret.encode() not in on_disk
        assert secret not in str(stage.events())
        assert tokens.digest(token["token"]) in kept, "the search would find it"
        assert tokens.digest(token["token"]).encode() in on_disk


def test_an_unknown_text_is_nobodys(stage: Stage):
    new(stage, "ada")
    assert grant_of(stage, tokens.written(Role.AGENT, 1)) is None


def test_a_token_is_for_someone_who_may_not_have_come_yet(stage: Stage):
    made = new(stage, "later")
    assert stage.call("join", bearer(stage, "later"))["name"] == "later"
    assert grant_of(stage, made["token"]) is not None


@pytest.mark.parametrize("args", [
    {}, {"agent": "ada", "read_only": True}, {"agent": "user"}, {"agent": "system"}, {"agent": "a b"},
    {"agent": "ops/user"}, {"agent": "ada", "ttl": 0}, {"agent": "ada", "ttl": -1}, {"agent": "ada", "ttl": 1 << 53},
    {"agent": "ada", "note": "x" * 201}, {"agent": "ada", "note": "a\0b"},
])  # fmt: skip
def test_a_token_that_makes_no_sense(stage: Stage, args: dict[str, Any]):
    assert stage.refused("token.new", **args).exit_code == 2


def test_only_the_user_makes_and_revokes_tokens(build: Build):
    stage = build(leader="boss")
    stage.join_all("ada", "boss")
    assert stage.call("token.new", agent="ada")["id"] == "token-0001"
    assert stage.call("token.list", "boss")["tokens"]
    for verb, args in (("token.new", {"agent": "ada"}), ("token.list", {}), ("token.revoke", {"id": "token-0001"})):
        assert code_of(stage, verb, stage.caller("ada"), **args) == (403, "NOT_YOURS")
        if verb != "token.list":
            assert code_of(stage, verb, stage.caller("boss"), **args) == (403, "NOT_YOURS")
    assert stage.call("token.revoke", id="token-0001")["changed"]
    assert stage.refused("token.revoke", id="token-9999").code == "UNKNOWN_TOKEN"


def test_a_revocation_rings(stage: Stage):
    new(stage, "ada")
    before = len(stage.bell.rung)
    stage.call("token.revoke", id="token-0001")
    assert stage.bell.rung[before:] == [{"user"}], "and with it whoever listens to everything"


# -- with an agent's token ---------------------------------------------------------------------------------------------


def test_h30_a_token_is_its_agent_without_a_name(stage: Stage):
    stage.join_all("ada", "bob")
    ada = bearer(stage, "ada")
    sent = stage.call("send", ada, to=["bob"], subject="Hello")
    assert sent["from"] == "ada"
    assert stage.call("inbox", ada)["agent"] == "ada"
    for name in ("ada", "ADA"):
        assert stage.call("pending", ada._replace(agent=name))["agent"] == "ada"


@pytest.mark.parametrize("name", ["bob", "BOB", "user", "system", "nobody-yet", "ops/bob"])
@pytest.mark.parametrize("verb", ["inbox", "task.list", "heartbeat", "sweep"])
def test_h30_a_token_is_nobody_else(stage: Stage, name: str, verb: str):
    stage.join_all("ada", "bob")
    assert code_of(stage, verb, bearer(stage, "ada")._replace(agent=name)) == (403, "NOT_YOURS")


def test_h30_neither_a_session_nor_a_process_makes_another_of_it(stage: Stage):
    process = stage.process()
    session = stage.join("bob", process=process)["session"]
    assert code_of(stage, "inbox", bearer(stage, "ada", session=session)) == (403, "NOT_YOURS")
    stage.call("leave", Caller(session=session))
    assert code_of(stage, "inbox", bearer(stage, "ada", session=session)) == (403, "NOT_YOURS"), "an ended one neither"
    stage.join("bob", process=process)
    from_bobs = bearer(stage, "ada", lineage=(process,), process=process, host=stage.host, boot=stage.boot)
    assert stage.call("inbox", from_bobs)["agent"] == "ada"
    assert stage.call("join", from_bobs, resume=True)["name"] == "ada", "not who else joined from that process"


@pytest.mark.parametrize("more", [{}, {"takeover": True}, {"resume": True}])
def test_h30_a_token_joins_under_its_own_name(stage: Stage, more: dict[str, Any]):
    stage.join_all("bob")
    ada = bearer(stage, "ada")
    assert code_of(stage, "join", ada, name="bob", **more) == (403, "NOT_YOURS")
    assert code_of(stage, "join", ada, name="new-one", **more) == (403, "NOT_YOURS")
    assert stage.refused("join", ada, name="b b", **more).http_status == 422
    first = stage.call("join", ada, **more)
    assert first["name"] == "ada"
    assert stage.call("join", ada, name="Ada", takeover=True)["epoch"] == first["epoch"] + 1
    assert stage.refused("inbox", ada._replace(session=first["session"])).code == "SESSION_FENCED", (
        "fenced all the same"
    )


def test_h30_an_agent_keeps_its_token_when_it_is_renamed(stage: Stage):
    ada, bob = bearer(stage, "ada"), bearer(stage, "bob")
    stage.call("join", ada)
    stage.call("rename", ada, name="eve")
    assert stage.call("inbox", ada)["agent"] == "eve"
    assert stage.call("inbox", ada._replace(agent="ada"))["agent"] == "eve", "its former name is still its own"
    stage.call("join", bob)
    assert code_of(stage, "rename", bob, name="ada") == (403, "NAME_KEPT"), "its mail goes to eve"
    assert stage.call("inbox", ada)["agent"] == "eve"


def test_h30_no_token_takes_a_name_that_is_kept_for_another(build: Build):
    stage = build(leader="boss", roles={"boss": "", "kept": "dev"})
    ada = bearer(stage, "ada")
    stage.call("join", ada)
    for name in ("boss", "BOSS", "kept"):
        assert code_of(stage, "rename", ada, name=name) == (403, "NAME_KEPT")
    assert stage.call("rename", ada, name="free")["name"] == "free"


def test_h30_no_token_makes_agents(stage: Stage):
    ada = bearer(stage, "ada", open_addresses=False)
    assert stage.refused("send", ada, to=["nobody-yet"], subject="x").code == "UNKNOWN_AGENT"
    assert code_of(stage, "team.new", ada, agents=[{"id": "nobody-yet"}]) == (403, "NOT_YOURS")


@pytest.mark.parametrize(
    ("verb", "args"), [("token.new", {"agent": "ada"}), ("token.list", {}), ("token.revoke", {"id": "token-0001"})]
)
def test_h30_no_token_makes_tokens_not_even_the_leaders(build: Build, verb: str, args: dict[str, Any]):
    stage = build(leader="boss")
    for name in ("ada", "boss", ""):
        refused = stage.refused(verb, bearer(stage, name), **args)
        assert refused.http_status == 403


def test_h30_the_leaders_token_steers_and_anothers_does_not(build: Build):
    stage = build(leader="boss")
    stage.join_all("ada", "boss")
    task = stage.call("task.add", title="work")["id"]
    assert code_of(stage, "task.cancel", bearer(stage, "ada"), id=task) == (403, "NOT_OWNER")
    assert code_of(stage, "export_mail", bearer(stage, "boss")) == (403, "NOT_YOURS"), "the person's alone"
    assert stage.call("task.cancel", bearer(stage, "boss"), id=task)["status"] == "canceled"


def test_h30_a_token_is_good_in_its_team_alone(build: Build):
    stage = build()
    other = another_team(stage)
    grant = grant_of(stage, new(stage, "ada")["token"])
    new(other, "ada")  # the same id, in another team
    assert grant is not None
    for role in Role:
        refused = other.refused("who", Caller(grant=grant._replace(role=role)))
        assert (refused.http_status, refused.code) == (403, "NOT_YOURS")
        assert "crew" in refused.hint


def test_a_token_sees_its_own_team_only(build: Build):
    stage = build()
    other = another_team(stage)
    stage.join("ada")
    other.join("bob")
    assert [team["teamId"] for team in stage.call("team.list")["teams"]] == ["crew", "other"]
    for name in ("ada", ""):
        assert [team["teamId"] for team in stage.call("team.list", bearer(stage, name))["teams"]] == ["crew"]


@pytest.mark.parametrize("agent", ["ada", ""])
@pytest.mark.parametrize("verb", ["who", "events", "task.list"])
def test_h30_a_token_is_judged_in_the_transaction_it_is_used_in(stage: Stage, agent: str, verb: str):
    """The grant was good when the request came; what counts is when it is done."""
    caller = bearer(stage, agent)
    stage.call(verb, caller)
    stage.call("token.revoke", id="token-0001")
    assert code_of(stage, verb, caller) == (401, "TOKEN_REVOKED")
    grant = grant_of(stage, new(stage, agent, ttl=HOUR)["token"])
    stage.clock.pass_time(HOUR)
    assert code_of(stage, verb, Caller(grant=grant)) == (401, "TOKEN_EXPIRED")
    assert grant is not None
    assert code_of(stage, verb, Caller(grant=grant._replace(id="token-9999"))) == (401, "UNAUTHORIZED")


# -- with a reader's token ---------------------------------------------------------------------------------------------


def test_h30_a_reader_reads_and_writes_nothing(stage: Stage):
    stage.join_all("ada", "bob")
    id = stage.send("ada", "bob")["id"]
    eyes = bearer(stage)
    before = stage.rows()
    for verb, args in (("inbox", {}), ("thread", {"id": id}), ("receipts", {"id": id}), ("who", {}), ("events", {})):
        stage.call(verb, eyes, **args)
    assert stage.call("inbox", eyes._replace(agent="bob"))["messages"][0]["state"] == "unread"
    for verb, args in (("read", {"id": id}), ("read", {"id": id, "peek": True}), ("ack", {"ids": [id]}), ("sweep", {})):
        assert code_of(stage, verb, eyes, **args) == (403, "READ_ONLY_TOKEN")
        assert code_of(stage, verb, eyes._replace(agent="bob"), **args) == (403, "READ_ONLY_TOKEN")
    assert code_of(stage, "export_mail", eyes) == (403, "NOT_YOURS")
    assert ledger.without_attempts(stage.rows()) == ledger.without_attempts(before)


def test_h30_who_only_looks_keeps_nobody_alive(stage: Stage):
    stage.join("bob")
    eyes = bearer(stage)._replace(agent="bob")
    stage.clock.pass_time(stage.settings.ms("mesh.heartbeat_s") + 1)
    before = stage.rows()
    stage.call("inbox", eyes)
    assert stage.rows() == before
    stage.call("inbox", "bob")
    assert stage.rows() != before, "bob's own look is a heartbeat"
