"""Names and sessions: who may live under a name, and who a caller is."""

from collections.abc import Callable
from typing import Any

import pytest

from rookery.core import errors
from rookery.service import mesh
from tests.support.fakes import BOOT
from tests.support.stage import DAY, MINUTE, SECOND, Build, Stage

BAD_NAMES = [
    "..", ".", "../x", "a/b/c", "/", "a/", "/a", "//", "a\0b", "\0", "x" * 51, "x" * 300, "a\nb", "a\x1b[31m", "\x7f",
    " ", "a b", "-a", ".a", "a.", "a:b", "broadcast:x", "caf\u00e9", "\u0430da", "ad\u0430", "\uff41da", "ada\u200b",
    "\u202eada", "a\u0301", "a\ud800", "*", "a,b", "a;b", "$(x)", "`x`", "a'b", 'a"b', "a\\b", "~", "CON/..", "a/../b",
]  # fmt: skip
RESERVED = ["user", "USER", "system", "System", "ops/user", "system/x"]


@pytest.fixture
def stage(build: Build) -> Stage:
    return build()


def card(stage: Stage, name: str) -> dict[str, Any]:
    return next(card for card in stage.call("who", all=True)["agents"] if card["name"] == name)


def held(stage: Stage, joined: dict[str, Any]) -> Any:
    """A caller that speaks through the handle that `join` gave it."""
    return stage.caller(joined["name"], session=joined["session"])


# --- join -------------------------------------------------------------------------------------------------------------


def test_a_first_join(stage: Stage) -> None:
    joined = stage.join("ada", role="architect", model="m-1", program="claude", spec="docs/x.md", branch="main")
    assert (joined["name"], joined["team"], joined["epoch"], joined["arrival"]) == ("ada", "crew", 1, "fresh")
    assert (joined["unread"], joined["inherited"], joined["peers"]) == (0, 0, [])
    seen = stage.call("whois", name="ada")
    assert {key: seen[key] for key in ("role", "model", "program", "spec", "branch", "cwd", "host", "boot")} == {
        "role": "architect", "model": "m-1", "program": "claude", "spec": "docs/x.md", "branch": "main",
        "cwd": "/work", "host": "here", "boot": BOOT,
    }  # fmt: skip
    assert seen["pid"] == 1001
    assert seen["started"] == "t1001"
    assert seen["is_human"] is False
    assert [event["type"] for event in stage.events()] == ["join"]


def test_a_join_tells_who_else_is_there(stage: Stage) -> None:
    gone = stage.process()
    stage.join("ada")
    stage.join("bob", process=gone)
    stage.prober.states[gone] = "dead"
    assert stage.join("cat")["peers"] == ["ada"]


def test_a_person_who_joins(stage: Stage) -> None:
    stage.join("lea", human=True)
    assert card(stage, "lea")["is_human"] is True


@pytest.mark.parametrize("theme", ["default", "nature", "space", "minimal"])
def test_generated_names_never_collide(build: Build, theme: str) -> None:
    stage = build(names__theme=theme)
    names = [stage.join()["name"] for _ in range(25)]
    assert len({name.casefold() for name in names}) == 25
    assert all(name.isalnum() for name in names)


def test_generated_names_from_own_words(build: Build) -> None:
    stage = build(names__theme="custom", names__words=["red", "fox"])
    assert {stage.join()["name"] for _ in range(2)} == {"RedFox", "FoxRed"}
    assert stage.join()["name"] in ("RedFox2", "FoxRed2")


def test_a_bad_name_can_not_be_joined(stage: Stage) -> None:
    stage.join("ada")
    for name in (*BAD_NAMES, *RESERVED):
        error = stage.refused("join", stage.caller(process=stage.process()), name=name)
        assert isinstance(error, errors.BadInput), name
        assert error.hint
        assert error.code in ("BAD_NAME", "RESERVED_NAME", "BAD_TEXT")
        assert len(error.message) < 300


CALLS_WITH_A_NAME: dict[str, Callable[[str], tuple[str, str, dict[str, Any]]]] = {
    "whois": lambda name: ("whois", "ada", {"name": name}),
    "rename": lambda name: ("rename", "ada", {"name": name}),
    "send": lambda name: ("send", "ada", {"to": ["ada", name], "subject": "x"}),
    "any": lambda name: ("send", "ada", {"to": [f"any:{name}"], "subject": "x"}),
    "inbox": lambda name: ("inbox", "ada", {"sender": name}),
    "group": lambda name: ("broadcast", "ada", {"group": name, "subject": "x"}),
    "feed": lambda name: ("feed", "ada", {"agent": name}),
    "caller": lambda name: ("inbox", name, {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("place", sorted(CALLS_WITH_A_NAME))
def test_a_bad_name_is_refused_wherever_it_is_given(stage: Stage, place: str) -> None:
    stage.join("ada")
    for name in BAD_NAMES:
        if (place, name) == ("send", "broadcast:x"):
            continue  # an address, if of an unknown group
        verb, caller, args = CALLS_WITH_A_NAME[place](name)
        error = stage.refused(verb, caller, **args)
        assert isinstance(error, errors.BadInput), f"{name!r}: {error.code}: {error}"
        assert error.hint


def test_a_name_is_one_name_in_any_case(stage: Stage) -> None:
    stage.join("Ada")
    error = stage.refused("join", stage.caller(process=stage.process()), name="ADA")
    assert error.code == "NAME_TAKEN"
    stage.send("ada", "aDa", "To myself")
    assert stage.subjects("ADA") == ["To myself"]


def test_an_unknown_coordination_level(stage: Stage) -> None:
    error = stage.refused("join", stage.caller(), name="ada", coordination="loud")
    assert "moderate" in error.hint


# --- one live session per name ----------------------------------------------------------------------------------------


def test_a_second_live_join_is_refused(stage: Stage) -> None:
    stage.join("ada", cwd="/work/api")
    error = stage.refused("join", stage.caller(process=stage.process()), name="ada")
    assert error.code == "NAME_TAKEN"
    assert "/work/api" in error.message
    assert "--takeover" in error.hint


def test_a_takeover_fences_the_loser(stage: Stage) -> None:
    first = held(stage, stage.join("ada"))
    stage.join("bob")
    second = stage.join("ada", takeover=True)
    assert (second["arrival"], second["epoch"]) == ("takeover", 2)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("send", {"to": ["bob"], "subject": "x"}), ("inbox", {}), ("heartbeat", {}), ("status", {"note": "x"}),
        ("leave", {}), ("rename", {"name": "eve"}), ("broadcast", {"subject": "x"}), ("pending", {}),
        ("activity", {"kind": "edit"}), ("context", {}), ("search", {"query": ["x"]}), ("whois", {"name": "bob"}),
        ("handoff", {"to": ["bob"], "subject": "x", "work_completed": "y"}), ("escalate", {"title": "x"}),
        ("archive", {"completed": True}), ("thread", {"id": "x"}), ("read", {"id": "x"}), ("ack", {"ids": ["x"]}),
        ("reply", {"id": "x", "body": "y"}), ("receipts", {"id": "x"}),
    ]  # fmt: skip
    for verb, args in calls:
        error = stage.refused(verb, first, **args)
        assert error.code == "SESSION_FENCED" or error.code == "UNKNOWN_MESSAGE", verb
        assert verb in ("thread", "reply") or error.code == "SESSION_FENCED"
    assert stage.send(held(stage, second), "bob")["status"] == "accepted"


def test_a_fenced_session_is_told_how_it_ended(stage: Stage) -> None:
    first = held(stage, stage.join("ada"))
    stage.join("ada", takeover=True)
    error = stage.refused("inbox", first)
    assert "taken over" in error.message
    assert "--takeover" in error.hint


def test_a_dead_holder_is_replaced_without_asking(stage: Stage) -> None:
    process = stage.process()
    stage.join("ada", process=process)
    stage.prober.states[process] = "dead"
    again = stage.join("ada")
    assert (again["arrival"], again["epoch"]) == ("return", 2)


def test_the_same_process_goes_on(stage: Stage) -> None:
    process = stage.process()
    first = stage.join("ada", process=process)
    again = stage.join("ada", process=process, resume=True, branch="fix", model="m-2")
    assert (again["arrival"], again["session"], again["epoch"]) == ("resume", first["session"], 1)
    assert (card(stage, "ada")["branch"], card(stage, "ada")["model"]) == ("fix", "m-2")
    unnamed = stage.join("", process=process, resume=True)
    assert (unnamed["name"], unnamed["session"]) == ("ada", first["session"])


def test_a_session_elsewhere_lives_by_its_lease(stage: Stage) -> None:
    """No process to look at: the heartbeat decides."""
    stage.call("join", stage.caller(host="there", boot="b", process=(1, "x")), name="ada")
    stage.clock.pass_time(59 * SECOND)
    assert stage.refused("join", stage.caller(process=stage.process()), name="ada").code == "NAME_TAKEN"
    stage.call("heartbeat", "ada")
    stage.clock.pass_time(59 * SECOND)
    assert card(stage, "ada")["live"] is True
    stage.clock.pass_time(SECOND)
    assert card(stage, "ada")["liveness"] == "lapsed"
    assert stage.join("ada")["arrival"] == "return"


def test_a_known_process_lives_without_heartbeats(stage: Stage) -> None:
    stage.join("ada")
    stage.clock.pass_time(30 * DAY)
    assert card(stage, "ada")["live"] is True


def test_a_new_boot_makes_old_processes_unknown(stage: Stage) -> None:
    """A pid of the boot before means nothing: the lease decides."""
    stage.join("ada")
    stage.clock.pass_time(2 * MINUTE)
    stage.clock.boot_name = "boot-2"
    assert card(stage, "ada")["liveness"] == "lapsed"


# --- leave, rename ----------------------------------------------------------------------------------------------------


def test_leaving(stage: Stage) -> None:
    stage.join_all("ada", "bob")
    stage.send("ada", "bob", "Before")
    assert stage.call("leave", "bob") == {"name": "bob", "unread": 1}
    assert [each["name"] for each in stage.call("who")["agents"]] == ["ada"]
    assert card(stage, "bob")["status"] == "offline"
    sent = stage.send("ada", "bob", "After")
    assert sent["recipients"][0]["state"] == "queued"
    assert stage.refused("broadcast", "ada", subject="Anyone?").code == "NOBODY"
    back = stage.join("bob")
    assert (back["arrival"], back["unread"], back["inherited"]) == ("return", 2, 2)


def test_leaving_twice(stage: Stage) -> None:
    stage.join("ada")
    stage.call("leave", "ada")
    error = stage.refused("leave", "ada")
    assert error.code == "NOT_JOINED"
    assert "rook join" in error.hint


@pytest.mark.parametrize("verb", ["leave", "heartbeat"])
def test_the_person_has_no_session(stage: Stage, verb: str) -> None:
    stage.join("ada")
    assert stage.refused(verb).code == "NOT_JOINED"


def test_renaming(stage: Stage) -> None:
    joined = stage.join("ada")
    stage.join("bob")
    stage.send("bob", "ada", "To ada")
    assert stage.call("rename", held(stage, joined), name="eve") == {"name": "eve", "was": "ada"}
    assert stage.subjects("eve") == ["To ada"]
    assert stage.refused("whois", "bob", name="ada").hint == "ada is now eve."
    assert stage.call("inbox", "ada")["agent"] == "eve", "whoever speaks by the old name is still the same agent"
    assert stage.refused("rename", held(stage, joined), name="eve").code == "SAME_NAME"
    assert stage.inbox("bob", all=True) == []
    assert stage.call("inbox", held(stage, joined))["agent"] == "eve"


def test_renaming_to_a_name_that_is_taken(stage: Stage) -> None:
    stage.join_all("ada", "bob")
    stage.call("leave", "bob")
    error = stage.refused("rename", "ada", name="BOB")
    assert error.code == "NAME_TAKEN"
    assert stage.call("rename", "ada", name="Ada")["name"] == "Ada"


def test_the_old_name_is_free_for_someone_new(stage: Stage) -> None:
    joined = stage.join("ada")
    stage.call("rename", held(stage, joined), name="eve")
    assert stage.join("ada")["arrival"] == "fresh"
    assert stage.call("inbox", "ada")["agent"] == "ada"


def test_a_live_session_elsewhere_is_not_ended_or_renamed_by_saying_its_name(stage: Stage) -> None:
    stage.join("ada")
    elsewhere = stage.caller("ada", lineage=(stage.process(),))
    assert stage.refused("leave", elsewhere).code == "NOT_YOUR_SESSION"
    assert stage.refused("rename", elsewhere, name="eve").code == "NOT_YOUR_SESSION"


def test_saying_the_name_is_no_way_round_a_takeover(stage: Stage) -> None:
    first = stage.process()
    stage.join("ada", process=first)
    stage.join("ada", takeover=True)
    put_out = stage.caller("ada", lineage=(first,))
    assert stage.refused("inbox", put_out).code == "SESSION_FENCED"
    assert stage.call("inbox", stage.caller("ada", lineage=(stage.process(),)))["agent"] == "ada"


# --- who am I? --------------------------------------------------------------------------------------------------------


def below(stage: Stage, *processes: tuple[int, str]) -> Any:
    return stage.caller(lineage=processes)


def test_the_nearest_bound_process_says_who_calls(stage: Stage) -> None:
    shell, program = stage.process(), stage.process()
    stage.join("ada", process=shell)
    stage.join("bob", process=program)
    assert stage.call("inbox", below(stage, (9, "t9"), program, shell))["agent"] == "bob"
    assert stage.call("inbox", below(stage, (9, "t9"), shell))["agent"] == "ada"
    assert stage.call("inbox", below(stage, (9, "t9")))["agent"] == "user"


@pytest.mark.parametrize(
    "other",
    [{"started": "later"}, {"boot": "boot-2"}, {"host": "there"}],
    ids=["reused pid", "other boot", "other host"],
)
def test_another_process_of_that_number_is_nobody(stage: Stage, other: dict[str, str]) -> None:
    pid, started = stage.process()
    stage.join("ada", process=(pid, started))
    caller = stage.caller(
        lineage=((pid, other.get("started", started)),), boot=other.get("boot", BOOT), host=other.get("host", "here")
    )
    assert stage.call("inbox", caller)["agent"] == "user"


def test_several_agents_from_one_shell(stage: Stage) -> None:
    shell = stage.process()
    stage.join("ada", process=shell)
    stage.join("bob", process=shell)
    error = stage.refused("inbox", below(stage, shell))
    assert error.code == "WHO_ARE_YOU"
    assert "ada, bob" in error.message
    assert "--as" in error.hint
    assert stage.call("inbox", stage.caller("bob", lineage=(shell,)))["agent"] == "bob"


@pytest.mark.parametrize("state", ["running", "stopped"])
def test_a_process_whose_name_was_taken_does_not_speak_as_the_person(stage: Stage, state: str) -> None:
    """Put out while it ran, or replaced while it was stopped: when it speaks again it is told, and is not `user`."""
    process = stage.process()
    stage.join("ada", process=process)
    stage.prober.states[process] = state
    stage.join("ada", takeover=True)
    stage.prober.states[process] = "running"
    assert stage.refused("send", below(stage, process), to=["ada"], subject="x").code == "SESSION_FENCED"


def test_a_process_that_left_speaks_as_the_person(stage: Stage) -> None:
    process = stage.process()
    stage.join("ada", process=process)
    stage.call("leave", "ada")
    assert stage.call("inbox", below(stage, process))["agent"] == "user"


def test_a_name_that_nobody_has(stage: Stage) -> None:
    stage.join("ada")
    assert stage.refused("inbox", "bob").code == "UNKNOWN_AGENT"
    assert stage.refused("send", "bob", to=["ada"], subject="x").code == "UNKNOWN_AGENT"


def test_a_defined_agent_is_known_before_it_joins(build: Build) -> None:
    stage = build(roles={"critic": "reviewer"})
    stage.join("ada")
    sent = stage.send("ada", "critic", "Soon")
    assert sent["recipients"][0]["state"] == "queued"
    assert stage.subjects("critic") == ["Soon"]
    assert card(stage, "critic")["role"] == "reviewer"


def test_a_join_looks_at_no_more_sessions_than_it_tells_of(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    own = stage.prober.state
    monkeypatch.setattr(stage.prober, "state", lambda pid, started: looks.append(pid) or own(pid, started))
    joined: dict[str, Any] = {}
    counted: dict[int, int] = {}
    for number in range(1, 401):
        stage.clock.pass_time(1)
        looks.clear()
        joined = stage.join(f"agent-{number}")
        counted[number] = len(looks)
    assert counted[400] == counted[200] <= mesh.PEERS + 1
    assert joined["peers"] == [f"agent-{number}" for number in range(350, 400)]
