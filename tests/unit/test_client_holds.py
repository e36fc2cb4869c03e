"""Reservations and slots in Python: how a block ends, and how a lost one shows."""

import threading
from collections.abc import Generator
from pathlib import Path

import pytest

import rookery
from rookery.client.handles import Agent, Team
from rookery.client.holds import Hold
from tests.support import hands
from tests.support.stores import prepared_home


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Team]:
    monkeypatch.setenv("ROOK_GUARD_TTL_LOW_S", "0.001")
    with hands.house(prepared_home(tmp_path / "h")) as team:
        yield team


@pytest.fixture
def me(team: Team) -> Agent:
    return team.join("ada")


def held(team: Team) -> list[tuple[str, str]]:
    return [(row["path"], row["agent"]) for row in team.call("reservations")["reservations"]]


def test_a_block(team: Team, me: Agent) -> None:
    with me.reserve("src/api/**", "docs/", reason="the API") as hold:
        assert held(team) == [("docs/", "ada"), ("src/api/**", "ada")]
        assert hold.paths == ["src/api/**", "docs/"]
        hold.renew()
        assert hold.lost is None
    assert held(team) == []
    assert hold.finished


def test_without_a_block(team: Team, me: Agent) -> None:
    hold = me.reserve("src/")
    hold.release("done with it")
    assert [e["preview"] for e in team.feed() if e["type"] == "release"] == ["done with it"]


def test_a_block_that_breaks_gives_back_and_says_why(team: Team, me: Agent) -> None:
    with pytest.raises(ZeroDivisionError), me.reserve("src/"):
        raise ZeroDivisionError("oh")
    assert held(team) == []
    assert [e["preview"] for e in team.feed() if e["type"] == "release"] == ["ZeroDivisionError: oh"]


def test_blocks_in_blocks(team: Team, me: Agent) -> None:
    with me.reserve("src/"):
        with me.reserve("src/"), me.reserve("src/x.py"):
            pass
        assert held(team) == [("src/", "ada")]


def test_others_are_refused_meanwhile(team: Team, me: Agent) -> None:
    bob = team.join("bob")
    with me.reserve("src/", reason="mine"):
        with pytest.raises(rookery.Refused) as caught:
            bob.reserve("src/x")
        assert caught.value.code == "RESERVED"
        assert caught.value.facts["holder"] == "ada"
    with bob.reserve("src/x"):
        pass


def use_until_lost(hold: Hold) -> None:
    with hold:
        while hold.lost is None:  # the background finds out
            hold._client.call("stats", {}, hold._caller._replace(session=None, agent=None))
        with pytest.raises(rookery.LeaseLost):
            hold.renew()


def lose(hold: Hold) -> rookery.LeaseLost:
    with pytest.raises(rookery.LeaseLost) as caught:
        use_until_lost(hold)
    return caught.value


@pytest.mark.parametrize("paths", [("src/",), ("src/", "docs/")])
def test_a_block_that_lost_it(team: Team, me: Agent, paths: tuple[str, ...]) -> None:
    """All of it, or a part."""
    hold = me.reserve(*paths, ttl_ms=200)
    team.call("release", paths=["src/"], force=True)
    assert lose(hold).code == "LEASE_EXPIRED"


def test_a_session_that_was_put_out_lost_it(team: Team, me: Agent) -> None:
    hold = me.reserve("src/", ttl_ms=200)
    team.join("ada", takeover=True)
    assert lose(hold).code == "SESSION_FENCED"


def test_whoever_must_know_is_called(team: Team, me: Agent) -> None:
    told = threading.Event()
    hold = me.reserve("src/", ttl_ms=200)
    hold.on_lost = told.set
    team.call("release", paths=["src/"], force=True)
    assert told.wait(30)
    assert hold.lost is not None


def test_a_handle_without_a_session(team: Team) -> None:
    """It is held by this process all the same."""
    with team.agent("user").reserve("src/"):
        assert held(team) == [("src/", "user")]
    assert held(team) == []


def test_slots(team: Team, me: Agent) -> None:
    bob = team.join("bob")
    with me.slot("build", reason="make test") as hold:
        assert hold.paths == ["build"]
        with pytest.raises(rookery.Refused):
            bob.slot("build")
    with bob.slot("build", wait=5):
        pass


def test_waiting_until_it_is_given_back(team: Team, me: Agent, tmp_path: Path) -> None:
    """By a thread of this process, on a connection of its own."""
    hold, granted = me.reserve("src/"), threading.Event()

    def wait() -> None:
        with hands.house(str(tmp_path / "h")) as other, other.join("bob").reserve("src/x", wait=30):
            granted.set()

    waiter = threading.Thread(target=wait)
    waiter.start()
    for _ in team.follow():
        if ("src/x", "bob") in held(team):
            break
    hold.release()
    waiter.join(30)
    assert granted.is_set()
