"""Health: what the ledger and the machine say, the verdict, and a reason with what to do for everything that is not."""

from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import health as law
from tests.support.stage import DAY, MINUTE, Build, Stage

PANE = {"kind": "tmux", "socket": "/tmp/s", "server": "7 70", "pane": "%3"}
STORE = {"path": "/x", "bytes": 1, "wal_bytes": 1, "whole": True, "seen": "ok"}
DAEMON = {"scope": "home", "state": "running", "pid": 7, "url": "http://127.0.0.1:1", "answers": True, "services": None}
LOG = {"path": "/l", "wanted": True, "bytes": 5, "errors": 0, "last_error": ""}
WELL: dict[str, Any] = {"store": STORE, "daemons": [DAEMON], "logs": [LOG], "disk": {"free_bytes": 1 << 40}}


def served(**how: Any) -> dict[str, Any]:
    """A daemon with one background service."""
    well = {
        "name": "monitor", "state": "running", "parts": 0, "jobs": 0, "looks": 9, "failures": 0, "failures_in_row": 0,
        "restarts": 0, "failing": [], "looking_s": None, "last_success": None, "last_error_at": None, "last_error": "",
    }  # fmt: skip
    return DAEMON | {"services": [well | how]}


@pytest.fixture
def stage(build: Build) -> Stage:
    made = build()
    made.machine.facts = WELL
    return made


def reasons(told: dict[str, Any]) -> list[str]:
    return [each["what"] for each in told["concerns"]]


def change(stage: Stage, statement: str, **values: Any) -> None:
    with apsw.Connection(stage.store.location) as other:
        other.execute(statement, values)


# --- the machine ------------------------------------------------------------------------------------------------------


def test_all_is_well(stage: Stage) -> None:
    stage.join("ada")
    told = stage.call("health")
    assert (told["status"], told["concerns"]) == ("healthy", [])
    assert told["sessions"]["live"] == 1
    assert (told["retries"], told["breakers"]) == ({"total": 0, "bySession": {}, "oldestRetry": None}, [])
    assert (told["store"], told["daemons"], told["recent_errors"]) == (STORE, [DAEMON], 0)


@pytest.mark.parametrize(
    ("part", "level", "word"),
    [
        ({"store": STORE | {"whole": False, "seen": "row 7 missing"}}, "unhealthy", "row 7 missing"),
        ({"store": STORE | {"whole": None, "seen": "not checked to its end in 1 s"}}, "healthy", ""),
        ({"store": STORE | {"wal_bytes": 300 << 20}}, "degraded", "300 MiB"),
        ({"daemons": [DAEMON | {"answers": False}]}, "unhealthy", "does not answer"),
        ({"daemons": [DAEMON | {"state": "stopped", "answers": False}]}, "unhealthy", "is stopped"),
        ({"daemons": []}, "healthy", ""),
        ({"daemons": [served()]}, "healthy", ""),
        ({"daemons": [served(last_error="of yesterday", failures=9)]}, "healthy", ""),
        ({"daemons": [served(state="failing", failures_in_row=1, last_error="OSError: x")]}, "degraded", "OSError: x"),
        ({"daemons": [served(state="failing", failures_in_row=3, failing=["a/b"])]}, "unhealthy", "a/b"),
        ({"daemons": [served(state="ended")]}, "unhealthy", "monitor has ended"),
        ({"daemons": [served(looking_s=601)]}, "degraded", "monitor has hung"),
        ({"logs": [LOG | {"bytes": None}]}, "unhealthy", "is missing"),
        ({"logs": [LOG | {"bytes": None, "wanted": False}]}, "healthy", ""),
        ({"logs": [LOG | {"errors": 3, "last_error": "noon"}]}, "degraded", "3, the last at noon"),
        ({"disk": {"free_bytes": (1 << 30) - 1}}, "degraded", "1,023 MiB"),
        ({"disk": {"free_bytes": (100 << 20) - 1}}, "unhealthy", "99 MiB"),
        ({"disk": {"free_bytes": None}}, "healthy", ""),
    ],
)
def test_what_surrounds_the_ledger(stage: Stage, part: dict[str, Any], level: str, word: str) -> None:
    stage.machine.facts = WELL | part
    told = stage.call("health")
    assert told["status"] == level
    assert word in " ".join(reasons(told))
    assert all(each["do"] for each in told["concerns"])


@given(st.lists(st.sampled_from(law.Status), max_size=8))
def test_the_verdict_is_that_of_the_worst(levels: list[law.Status]) -> None:
    found = law.status([law.concern("x", "y", level) for level in levels])
    assert all(law.WORST_LAST.index(found) >= law.WORST_LAST.index(level) for level in levels)
    assert found in (levels or [law.Status.HEALTHY])


def test_without_a_ledger_the_rest_is_still_told() -> None:
    told = law.without_ledger("crew", "it is damaged", "restore it", WELL | {"disk": {"free_bytes": 5}})
    assert told["status"] == "unhealthy"
    assert reasons(told) == ["it is damaged", "disk: 0 MiB are free"]
    assert told["daemons"] == [DAEMON]


# --- sessions ---------------------------------------------------------------------------------------------------------


def test_sessions_by_how_they_are(stage: Stage) -> None:
    dead, stopped = stage.process(), stage.process()
    stage.join("ada", process=dead)
    stage.join("bob", process=stopped)
    stage.join_all("eve", "sue")
    stage.call("status", "sue", note="", task="T")
    stage.clock.pass_time(20 * MINUTE)
    session = stage.call("whois", None, name="sue")["session"]
    stage.call("monitor.report", "system", seen=[{"session": session, "cpu": 0}])
    stage.prober.states |= {dead: "dead", stopped: "stopped"}
    told = stage.call("health")
    assert told["sessions"] == {
        "live": 2, "dead": 2, "terminal-gone": 0, "stopped": 1, "blocked": 0, "stuck": 1, "stalled": 0
    }  # fmt: skip
    assert told["status"] == "degraded"
    assert "gone without leaving: ada, bob" in reasons(told)
    assert "stuck: sue" in reasons(told)


# --- ways and mail ----------------------------------------------------------------------------------------------------


def failing(stage: Stage, times: int) -> None:
    """Mail for an agent whose terminal never takes it."""
    stage.join("bob")
    stage.join("ada", terminal=PANE)
    stage.send("bob", "ada", asks=False)
    for _ in range(times):
        stage.call("delivery.own", "system", agent="ada", channel="terminal", owner="me")
        stage.call("delivery.failed", "system", agent="ada", channel="terminal", owner="me", reason="injection-failed")
        stage.clock.pass_time(31_000)


def test_retries_are_told_as_seed_001_has_them(stage: Stage) -> None:
    failing(stage, 3)
    told = stage.call("health")
    assert (told["retries"]["total"], told["retries"]["bySession"]) == (3, {"ada": 3})
    first = stage.call("health")["retries"]["oldestRetry"]
    assert first is not None
    stage.clock.pass_time(MINUTE)
    assert stage.call("health")["retries"]["oldestRetry"] == first, "the first of them, whatever time it is"
    assert told["status"] == "healthy", "a few tries are no concern"


def test_an_open_breaker(stage: Stage) -> None:
    failing(stage, 5)
    told = stage.call("health")
    assert [(each["agent"], each["channel"], each["state"]) for each in told["breakers"]] == [
        ("ada", "terminal", "open")
    ]
    assert told["status"] == "degraded"
    assert "ada: terminal rests after 5 failures (injection-failed)" in reasons(told)
    stage.call("delivery.done", "system", agent="ada", channel="terminal", owner="me", shown=[], upto=99)
    after = stage.call("health")
    assert (after["breakers"], after["retries"]["total"], after["status"]) == ([], 0, "healthy"), "negative control"


def test_dead_letters(stage: Stage) -> None:
    failing(stage, 20)
    told = stage.call("health")
    assert told["dead_letters"] == 1
    assert "dead letters: 1" in reasons(told)


def test_mail_that_nobody_delivers_is_a_concern_only_without_a_daemon(stage: Stage) -> None:
    stage.join("ada", terminal=PANE)
    stage.send(None, "ada")
    assert stage.call("health")["status"] == "healthy"
    stage.machine.facts = WELL | {"daemons": []}
    assert reasons(stage.call("health")) == ["mail waits for ada, and no daemon delivers it"]
    stage.machine.facts = {}
    assert stage.call("health")["status"] == "healthy", "where nobody looked, nothing is said"


def test_the_oldest_that_waits(stage: Stage) -> None:
    stage.join_all("ada", "bob")
    assert stage.call("health")["oldest_pending"] is None
    sent = stage.send("bob", "ada")
    stage.clock.pass_time(MINUTE)
    stage.send("bob", "ada")
    assert stage.call("health")["oldest_pending"] == {"id": sent["id"], "to": "ada", "waited_s": 60}
    stage.clock.pass_time(DAY)
    assert stage.call("health")["status"] == "degraded"
