"""Names that give rights, or lead to someone's mail, are not taken by another: every verb that takes a new name, with
every kind of name that is somebody's."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rookery.core import names
from rookery.core.caller import Caller
from rookery.core.errors import RookError
from tests.support.stage import Build, Stage

SRC = Path(__file__).parents[2] / "src" / "rookery"
REFUSALS = {"RESERVED_NAME", "NAME_KEPT", "NAME_TAKEN", "BAD_NAME"}
RESERVED = ("user", "system", "USER", "System", "u5er", "ops/user", "user/x")
LEADER = ("boss", "BOSS", "B0SS", "bo5s")
DEFINED = ("kept", "KEPT", "stored", "Stored")
LIVE = ("ada", "ADA")
FORMER = ("old", "OLD")
LOOKALIKE = ("b\u043ess", "us\u0435r", "bos\u200bs", "boss ", "boss\u00a0")  # Cyrillic letters, no width, spaces
SOMEBODYS = (*RESERVED, *LEADER, *DEFINED, *LIVE, *FORMER, *LOOKALIKE)


@pytest.fixture
def stage(build: Build) -> Stage:
    """A leader and an agent that are defined and not there, one that the team's own definition names, one that is live,
    and one that had another name before."""
    made = build(leader="boss", roles={"kept": "dev"})
    made.call("team.set", members=["stored:dev"])
    for name in ("ada", "bob", "old"):
        made.join(name)
    made.call("rename", made.caller("old"), name="renamed")
    return made


def outcome(stage: Stage, verb: str, caller: str | Caller | None, **args: Any) -> str:
    """ "taken", or the code of the refusal; a refusal leaves nothing behind."""
    before = stage.rows()
    try:
        stage.call(verb, caller, **args)
    except RookError as error:
        assert stage.rows() == before
        return error.code
    return "taken"


def inside_bob(stage: Stage) -> Caller:
    """A call from the process of a live agent, as `rook join` makes it: no name, its process."""
    bob = stage.caller("bob")
    return bob._replace(agent=None, process=bob.lineage[0])


def test_spawn_takes_nobodys_name(stage: Stage) -> None:
    for who in (None, "bob"):
        found = {name: outcome(stage, "spawn", who, assignment="x", name=name, root="/r", host="script")
                 for name in SOMEBODYS}  # fmt: skip
        assert not {name: code for name, code in found.items() if code not in REFUSALS}
    assert outcome(stage, "spawn", "bob", assignment="x", name="fresh", root="/r", host="script") == "taken"


def test_rename_takes_nobodys_name(stage: Stage) -> None:
    found = {name: outcome(stage, "rename", "bob", name=name) for name in SOMEBODYS}
    assert not {name: code for name, code in found.items() if code not in REFUSALS}
    assert outcome(stage, "rename", "bob", name="fresh") == "taken"
    assert outcome(stage, "rename", stage.caller("bob"), name="bob") == "taken", "its own former name is its own"


@pytest.mark.parametrize("verb", ["join", "turn.start"])
def test_an_agents_program_joins_under_nobodys_name(stage: Stage, verb: str) -> None:
    args = {"host": "claude"} if verb == "turn.start" else {}
    names_of_others = [name for name in SOMEBODYS if name not in FORMER]
    found = {name: outcome(stage, verb, inside_bob(stage), name=name, **args) for name in names_of_others}
    assert not {name: code for name, code in found.items() if code not in REFUSALS}
    assert outcome(stage, verb, inside_bob(stage), name="boss", **args) == "NAME_KEPT"


def test_nor_by_putting_out_whoever_lives_there(stage: Stage) -> None:
    stage.join("boss")
    for name in ("boss", "BOSS"):
        assert outcome(stage, "join", inside_bob(stage), name=name, takeover=True) == "NAME_KEPT"


def test_whoever_comes_first_joins_as_the_leader(stage: Stage) -> None:
    assert stage.join("boss")["arrival"] == "fresh"
    assert stage.join("kept")["arrival"] == "fresh"
    another = stage.caller(process=stage.process())
    assert outcome(stage, "join", another, name="boss") == "NAME_TAKEN", "somebody lives there"


def test_a_token_is_for_no_reserved_name(stage: Stage) -> None:
    found = {outcome(stage, "token.new", None, agent=name) for name in (*RESERVED, *LOOKALIKE)}
    assert found <= REFUSALS


def test_a_file_is_from_no_reserved_name_and_makes_no_former_one(stage: Stage) -> None:
    system = stage.caller("system")
    for name in (*RESERVED, *LOOKALIKE):
        assert outcome(stage, "drop", system, sender=name, to=["ada"], subject="x") in REFUSALS, name
    agents = stage.rows()["agents"]
    assert outcome(stage, "drop", system, sender="old", to=["ada"], subject="x") == "taken"
    assert [message["from"] for message in stage.inbox("ada")] == ["renamed"], (
        "its mail goes on to whoever had the name"
    )
    assert len(stage.rows()["agents"]) == len(agents)


def test_a_definition_has_no_reserved_name(stage: Stage) -> None:
    for name in RESERVED:
        assert outcome(stage, "team.set", None, members=[name]) == "BAD_TEAM", name
        assert outcome(stage, "team.set", None, leader=name) == "BAD_TEAM", name


def test_generated_names_are_nobodys(build: Build) -> None:
    words = ["boss", "kept"]
    stage = build(leader="BossKept", roles={"KeptBoss": ""}, names__theme="custom", names__words=words)
    made = {stage.join()["name"] for _ in range(4)}
    assert not {names.key(each) for each in made} & {"bosskept", "keptboss"}


def test_every_place_that_makes_an_agent_is_known() -> None:
    """Pinned: a new one has to be put into the walk above."""
    found = Counter(
        path.relative_to(SRC).as_posix()
        for path in SRC.rglob("*.py")
        for _ in re.finditer(r"(?<!def )\bmake_agent\(", path.read_text())
    )
    creators = {"service/mesh.py", "service/workers.py", "service/drops.py", "service/tokens.py", "service/teams.py",
                "service/exchange.py", "service/summoning.py", "service/tx.py"}  # fmt: skip
    addressed = {"service/recipients.py", "service/delivery.py", "service/chasing.py", "service/escalation.py",
                 "service/budget.py"}  # names that the definition or the settings give, as recipients  # fmt: skip
    ours = {"service/monitor.py", "service/supervising.py", "service/lander.py", "service/questions.py",
            "service/results.py", "service/held.py"}  # `user` and `system` themselves  # fmt: skip
    assert set(found) == creators | addressed | ours
