"""Who is here and how they seem: status, activity, who, whois; and the log as a feed and by cursor."""

from typing import Any

import pytest

from rookery.core import errors, feed
from rookery.core.errors import RookError
from tests.support.stage import DAY, HOUR, MINUTE, SECOND, Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    return build()


def card(stage: Stage, name: str) -> dict[str, Any]:
    return next(card for card in stage.call("who", all=True)["agents"] if card["name"] == name)


# --- status -----------------------------------------------------------------------------------------------------------


AGES = [
    # age of the last activity, status without work, status with work
    (0, "active", "active"),
    (30 * SECOND - 1, "active", "active"),
    (30 * SECOND, "idle", "idle"),
    (5 * MINUTE, "idle", "idle"),
    (5 * MINUTE + 1, "away", "idle"),
    (15 * MINUTE, "away", "idle"),
    (15 * MINUTE + 1, "away", "stuck"),
    (DAY, "away", "stuck"),
]


@pytest.mark.parametrize(("age", "free", "busy"), AGES)
def test_the_status_follows_the_last_activity(stage: Stage, age: int, free: str, busy: str) -> None:
    stage.join_all("free", "busy")
    stage.call("status", "busy", task="the parser")
    stage.call("status", "free", note="")
    stage.clock.pass_time(age)
    assert (card(stage, "free")["status"], card(stage, "busy")["status"]) == (free, busy)


def test_the_limits_are_settings(build: Build) -> None:
    stage = build(mesh__active_s=2, mesh__idle_s=4, mesh__stuck_s=6)
    stage.join("ada")
    stage.call("status", "ada", task="x")
    seen = [card(stage, "ada")["status"]]
    for _ in range(2):
        stage.clock.pass_time(3 * SECOND + 500)
        seen.append(card(stage, "ada")["status"])
    assert seen == ["active", "idle", "stuck"]


def test_a_machines_heartbeat_is_no_activity(stage: Stage) -> None:
    stage.join("ada")
    stage.clock.pass_time(MINUTE)
    stage.call("heartbeat", "ada")
    assert card(stage, "ada")["status"] == "idle"


def test_a_dead_process_is_offline_whatever_it_last_did(stage: Stage) -> None:
    process = stage.process()
    stage.join("ada", process=process)
    stage.prober.states[process] = "dead"
    assert card(stage, "ada")["status"] == "offline"
    assert stage.call("who")["agents"] == []


def test_a_status_text(stage: Stage) -> None:
    stage.join("ada")
    assert stage.call("status", "ada", note="reading the spec")["message"] == "reading the spec"
    assert stage.call("status", "ada", task="parser")["message"] == "reading the spec"
    assert card(stage, "ada")["task"] == "parser"
    assert stage.call("status", "ada", note="")["message"] == "just arrived"
    assert stage.call("status", "ada", task="")["task"] == ""
    assert stage.events("status")[0]["preview"] == "reading the spec"


def test_a_long_status_is_cut(stage: Stage) -> None:
    stage.join("ada")
    assert len(stage.call("status", "ada", note="x" * 10_000)["message"]) == 300


def test_asking_for_the_own_status_writes_no_event(stage: Stage) -> None:
    stage.join("ada")
    before = stage.seq()
    assert stage.call("status", "ada")["status"] == "active"
    assert stage.seq() == before


def test_stuck_is_told_once_until_it_moves(stage: Stage) -> None:
    stage.join_all("ada", "bob")
    stage.call("status", "ada", task="parser")
    stage.clock.pass_time(15 * MINUTE + 1)
    assert stage.call("sweep")["stuck"] == 1
    assert stage.call("sweep")["stuck"] == 0
    assert "parser" in stage.events("stuck")[0]["preview"]
    stage.call("activity", "ada", kind="edit", target="x.py")
    stage.clock.pass_time(15 * MINUTE + 1)
    assert stage.call("sweep")["stuck"] == 1


def test_nobody_is_stuck_who_is_not_there(stage: Stage) -> None:
    process = stage.process()
    stage.join("ada", process=process)
    stage.call("status", "ada", task="parser")
    stage.prober.states[process] = "dead"
    stage.clock.pass_time(HOUR)
    assert stage.call("sweep")["stuck"] == 0


AUTO = [
    ({}, ""),
    ({"commit": 1, "test": 5, "edit": 9}, "just shipped"),
    ({"test": 3, "edit": 9}, "debugging..."),
    ({"test": 2, "edit": 8}, "on fire"),
    ({"test": 2, "edit": 7}, ""),
    ({"read": 1}, "exploring the codebase"),
    ({"read": 4, "edit": 1}, ""),
    ({"tool": 9}, ""),
]


@pytest.mark.parametrize(("doings", "told"), AUTO)
def test_the_automatic_status(stage: Stage, doings: dict[str, int], told: str) -> None:
    stage.join("ada")
    assert card(stage, "ada")["message"] == "just arrived"
    stage.clock.pass_time(30 * SECOND)
    for kind, times in doings.items():
        for number in range(times):
            stage.call("activity", "ada", kind=kind, target=f"{kind}{number}")
    assert card(stage, "ada")["message"] == told
    stage.clock.pass_time(10 * MINUTE + 1)
    assert card(stage, "ada")["message"] == ""


def test_an_own_word_goes_before_the_automatic_one(stage: Stage) -> None:
    stage.join("ada")
    stage.call("status", "ada", note="mine")
    assert card(stage, "ada")["message"] == "mine"


def test_the_automatic_status_can_be_switched_off(build: Build) -> None:
    stage = build(mesh__auto_status=False)
    stage.join("ada")
    assert card(stage, "ada")["message"] == ""


# --- activity ---------------------------------------------------------------------------------------------------------


def test_activity_counts_and_tells(stage: Stage) -> None:
    stage.join("ada")
    for kind, target in (("edit", "a.py"), ("edit", "a.py"), ("edit", "b.py"), ("test", "pytest"), ("test", "pytest"),
                         ("commit", "abc"), ("read", "c.py"), ("tool", "ls")):  # fmt: skip
        stage.call("activity", "ada", kind=kind, target=target, tokens=10)
    assert [(e["type"], e["target"]) for e in stage.events("edit", "test", "commit", "read", "tool")] == [
        ("edit", "a.py"), ("edit", "b.py"), ("test", "pytest"), ("test", "pytest"), ("commit", "abc"),
    ]  # fmt: skip
    stats = card(stage, "ada")["stats"]
    assert (stats["tool_calls"], stats["tokens"], stats["files_modified"]) == (8, 80, 2)


def test_the_same_edit_later_is_told_again(stage: Stage) -> None:
    stage.join("ada")
    stage.call("activity", "ada", kind="edit", target="a.py")
    stage.clock.pass_time(MINUTE + 1)
    stage.call("activity", "ada", kind="edit", target="a.py")
    assert len(stage.events("edit")) == 2


@pytest.mark.parametrize(
    "args", [{"kind": "sing"}, {"kind": "edit", "tokens": -1}, {"kind": "edit", "target": "\ud800"}]
)
def test_bad_activity(stage: Stage, args: dict[str, Any]) -> None:
    stage.join("ada")
    assert isinstance(stage.refused("activity", "ada", **args), errors.BadInput)


def test_verbs_are_heartbeats(stage: Stage) -> None:
    """Also those that only read, though no more often than the heartbeat asks for."""
    stage.call("join", stage.caller(host="there", process=(1, "x")), name="ada")
    for _ in range(10):
        stage.clock.pass_time(50 * SECOND)
        assert card(stage, "ada")["live"] is True
        stage.inbox("ada")


def test_a_read_stands_although_its_heartbeat_can_not_be_written(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk or a busy store keeps nobody from reading mail."""
    stage.join_all("ada", "bob")
    stage.send("ada", "bob", "Readable")
    stage.clock.pass_time(MINUTE)

    def no(*args: object) -> None:
        raise errors.StoreFull("The disk is full.")

    monkeypatch.setattr(stage.store, "write", no)
    assert stage.subjects("bob") == ["Readable"]


# --- who and whois ----------------------------------------------------------------------------------------------------


def test_who_shows_the_living_and_all_the_rest(stage: Stage) -> None:
    stage.join_all("ada", "bob", "cat")
    stage.call("leave", "bob")
    assert [each["name"] for each in stage.call("who")["agents"]] == ["ada", "cat"]
    assert [each["name"] for each in stage.call("who", all=True)["agents"]] == ["ada", "bob", "cat"]


def test_who_is_here(build: Build) -> None:
    stage = build()
    stage.join("ada", cwd="/work/api")
    stage.join("bob", cwd="/work/web")
    here = stage.caller(cwd="/work/web")
    assert [each["name"] for each in stage.call("who", here, here=True)["agents"]] == ["bob"]
    assert len(stage.call("who", here)["agents"]) == 2


def test_scope_to_folder(build: Build) -> None:
    stage = build(mesh__scope_to_folder=True)
    stage.join("ada", cwd="/work/api")
    stage.join("bob", cwd="/work/web")
    here = stage.caller(cwd="/work/web")
    assert [each["name"] for each in stage.call("who", here)["agents"]] == ["bob"]
    assert len(stage.call("who", here, here=False)["agents"]) == 2


def test_whois_tells_the_recent_exchange(stage: Stage) -> None:
    stage.join_all("ada", "bob", "cat")
    for number in range(4):
        stage.send("ada", "bob", f"Down {number}")
        stage.send("bob", "ada", f"Up {number}")
    stage.send("cat", "bob", "Aside")
    told = stage.call("whois", "ada", name="bob")
    assert [m["subject"] for m in told["exchange"]] == ["Up 1", "Down 2", "Up 2", "Down 3", "Up 3"]
    assert told["unread_by_sender"] == {"ada": 4, "cat": 1}
    assert told["unread_from_them"] == 4


def test_an_unknown_agent_gets_suggestions(stage: Stage) -> None:
    stage.join_all("SwiftRaven", "SwiftRover", "ops/Dan")
    error = stage.refused("whois", name="swiftravn")
    assert error.code == "UNKNOWN_AGENT"
    assert "SwiftRaven" in error.hint
    assert "ops/Dan" in stage.refused("whois", name="dan").hint
    assert "rook who" in stage.refused("whois", name="zzzzzz").hint


# --- feed and events --------------------------------------------------------------------------------------------------


def test_the_feed_has_26_types() -> None:
    assert len(feed.FEED) == len(set(feed.FEED)) == 26
    assert not set(feed.FEED) & set(feed.LEDGER)


def test_every_event_that_a_verb_writes_has_a_known_type(stage: Stage) -> None:
    stage.join_all("ada", "bob")
    sent = stage.send("ada", "bob", "x", expires=stage.clock.wall + HOUR)
    for state in ("processing", "failed", "completed"):
        stage.call("ack", "bob", ids=[sent["id"]], state=state)
    stage.call("archive", "bob", ids=[sent["id"]])
    raised = stage.call("escalate", "ada", title="x")
    stage.call("reply", id=raised["id"], body="y")
    for kind in ("edit", "test", "commit"):
        stage.call("activity", "ada", kind=kind)
    stage.call("rename", "ada", name="eve")
    stage.call("status", "eve", note="x", task="y")
    stage.send("eve", "bob", "Short", expires=stage.clock.wall + 1)
    stage.clock.pass_time(DAY)
    stage.call("sweep")
    stage.call("leave", "ada")  # by its former name
    known = {*feed.FEED, *feed.LEDGER}
    written = {event["type"] for event in stage.events()}
    assert written <= known
    assert {"join", "leave", "message", "stuck", "swept", "mail.expired", "escalation.closed", "rename"} <= written


def test_the_feed_shows_what_people_follow(stage: Stage) -> None:
    stage.join_all("ada", "bob")
    sent = stage.send("ada", "bob", "Hello")
    stage.call("read", "bob", id=sent["id"])
    stage.call("activity", "bob", kind="commit", target="abc", detail="Fix it")
    shown = stage.call("feed")["events"]
    assert [(event["type"], event["actor"], event["preview"]) for event in shown] == [
        ("join", "ada", "fresh"), ("join", "bob", "fresh"), ("message", "ada", "Hello"), ("commit", "bob", "Fix it"),
    ]  # fmt: skip


def test_the_feed_through_filters(stage: Stage) -> None:
    stage.join_all("ada", "bob")
    stage.clock.pass_time(HOUR)
    noon = stage.clock.wall
    sent = stage.send("ada", ["bob", "ada"], "Hello")
    stage.call("read", "bob", id=sent["id"])

    def told(**filters: Any) -> list[str]:
        return [event["type"] for event in stage.call("feed", **filters)["events"]]

    assert told(types=["join"]) == ["join", "join"]
    assert told(types=["mail.read"]) == ["mail.read"]
    assert told(agent="BOB") == ["join", "message"]
    assert told(since=noon) == ["message"]
    assert told(limit=1) == ["message"]
    assert told(types=["message", "join"], agent="ada", limit=2) == ["join", "message"]


def test_crew_events_can_be_left_out(build: Build) -> None:
    assert "task.done" in feed.shown(crew_events=True)
    assert set(feed.shown(crew_events=False)).isdisjoint(feed.CREW)
    stage = build(feed__crew_events=False)
    stage.join("ada")
    assert [event["type"] for event in stage.call("feed")["events"]] == ["join"]


def test_the_feed_shows_fifty_by_default(stage: Stage) -> None:
    stage.join("ada")
    for number in range(60):
        stage.send("ada", "ada", str(number))
    told = stage.call("feed")
    assert [event["preview"] for event in told["events"]] == [str(number) for number in range(10, 60)]
    assert told["cursor"] == stage.seq()


def test_an_unknown_type_gets_suggestions(stage: Stage) -> None:
    error = stage.refused("feed", types=["mesage"])
    assert "message" in error.hint


@pytest.mark.parametrize("limit", [0, -1, 10_001])
@pytest.mark.parametrize("verb", ["feed", "events"])
def test_limits_out_of_range(stage: Stage, verb: str, limit: int) -> None:
    assert isinstance(stage.refused(verb, limit=limit), errors.BadInput)


def test_events_by_cursor(stage: Stage) -> None:
    stage.join("ada")
    for number in range(7):
        stage.send("ada", "ada", str(number))
    cursor, seen = 0, []
    while page := stage.call("events", after=cursor, limit=3)["events"]:
        seen += [event["seq"] for event in page]
        cursor = seen[-1]
    assert seen == list(range(1, 9))
    assert stage.call("events", after=8) == {"events": [], "cursor": 8, "newest": 8, "horizon": 0}
    assert stage.call("events", after=100)["cursor"] == 100


def test_a_cursor_that_is_too_old_is_told_the_horizon(build: Build) -> None:
    stage = build(retention__events=2, retention__days=1)
    stage.join("ada")
    for number in range(6):
        stage.call("status", "ada", note=str(number))
    stage.clock.pass_time(2 * DAY)
    assert stage.call("sweep")["events"] == 5
    error = stage.refused("events", after=3)
    assert isinstance(error, errors.CursorTooOld)
    assert error.facts["horizon"] == 5
    assert "5" in error.hint
    assert [event["seq"] for event in stage.call("events", after=5)["events"]] == [6, 7, 8]
    assert [event["seq"] for event in stage.call("events", after=0)["events"]] == [6, 7, 8]


@pytest.mark.parametrize("after", [-1, 1 << 60])
def test_a_cursor_that_can_not_be(stage: Stage, after: int) -> None:
    assert isinstance(stage.refused("events", after=after), errors.BadInput)


# --- health and stats -------------------------------------------------------------------------------------------------


def test_a_healthy_team(stage: Stage) -> None:
    stage.join_all("ada", "bob")
    told = stage.call("health")
    assert (told["status"], told["live"], told["concerns"]) == ("healthy", 2, [])


def test_what_wants_a_look(stage: Stage) -> None:
    gone = stage.process()
    stage.join("ada", process=gone)
    stage.join("bob")
    sent = stage.send("bob", "ada", "Old")
    failed = stage.send("bob", "bob", "Bad")
    stage.call("ack", "bob", ids=[failed["id"]], state="failed")
    stage.call("escalate", "bob", title="Help")
    stage.prober.states[gone] = "dead"
    stage.clock.pass_time(2 * DAY)
    told = stage.call("health")
    assert told["status"] == "degraded"
    words = " ".join(concern["what"] for concern in told["concerns"])
    assert "ada" in words
    assert sent["id"] in words
    assert "failed" in words
    assert "escalation" in words
    assert all(concern["do"] for concern in told["concerns"])


def test_stats(stage: Stage) -> None:
    stage.join_all("ada", "bob")
    stage.send("ada", "bob", "x")
    stage.send("ada", "bob", "y", type="notification", expires=stage.clock.wall + 1)
    stage.clock.pass_time(1)
    told = stage.call("stats")
    assert told["deliveries"] == {"unread": 1, "expired": 1}
    assert told["types"] == {"request": 1, "notification": 1}
    assert told["senders"] == {"ada": 2}
    assert stage.call("health")["unread"] == 1


def test_a_read_of_a_team_that_is_not_there(stage: Stage) -> None:
    for verb in ("who", "feed", "events", "stats", "health", "pending", "inbox", "context", "escalations"):
        stage.call(verb)
    assert stage.rows()["teams"] == []


def test_every_refusal_has_a_hint(stage: Stage) -> None:
    """An agent reads these: each says what to do next."""
    stage.join("ada")
    calls: list[tuple[str, str | None, dict[str, Any]]] = [
        ("join", None, {"name": "ada"}), ("leave", None, {}), ("rename", "ada", {"name": "user"}),
        ("whois", None, {"name": "nobody"}), ("send", "ada", {"to": [], "subject": "x"}),
        ("send", "ada", {"to": ["x"], "subject": "y"}), ("read", "ada", {"id": "x"}), ("ack", "ada", {"ids": ["x"]}),
        ("archive", "ada", {}), ("thread", "ada", {"id": "x"}), ("reply", "ada", {"id": "x", "body": "y"}),
        ("search", "ada", {"query": []}), ("handoff", "ada", {"to": ["ada"], "subject": "x"}),
        ("broadcast", "ada", {"subject": "x", "group": "none"}), ("escalate", "ada", {"title": "x", "level": "god"}),
        ("import_mail", "ada", {"letters": []}), ("events", None, {"after": -1}), ("inbox", None, {"limit": 0}),
        ("send", "ada", {"nonsense": 1}), ("nonsense", "ada", {}), ("receipts", "ada", {"id": "x"}),
    ]  # fmt: skip
    for verb, caller, args in calls:
        error: RookError = stage.refused(verb, caller, **args)
        assert error.hint, f"{verb} {args}: {error}"
        assert error.code.isupper()
