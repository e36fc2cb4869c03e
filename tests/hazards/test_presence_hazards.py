"""What broke in other systems' presence, names and files, and what is promised here (H17 to H20)."""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.client.handles import Team
from rookery.runtime import process
from tests.support import crew, ledger
from tests.support.families import few
from tests.support.procs import Child, child, children, digest, environment, start_together

OWN = environment(HOME="/x")
NOBODY = 65534


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "h")


# --- H17: names -------------------------------------------------------------------------------------------------------


def raced(racers: tuple[Child, ...], words: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """How both joined, and which of them can speak once both have."""
    for racer in racers:
        racer.say(words)
    joined = [racer.hear() for racer in racers]
    for racer in racers:
        racer.say("speak")
    return joined, [racer.hear() for racer in racers]


@pytest.mark.slow
def test_h17_of_two_that_race_for_a_name_one_gets_it(home: str) -> None:
    with children(*(Child(crew.race, OWN, home=home) for _ in range(2))) as racers:
        for racer in racers:
            assert racer.hear() == "ready"
        for number in range(12):
            joined, spoke = raced(racers, f"name{number}")
            assert sorted(joined, key=str) == [{"joined": 1}, {"refused": "NAME_TAKEN"}]
            winner = joined.index({"joined": 1})
            assert "spoke" in spoke[winner]
            assert spoke[1 - winner] == {"silent": True}
    assert ledger.ask(f"{home}/rookery.db", "SELECT count(*) FROM sessions WHERE ended_at IS NULL") == [(12,)]


@pytest.mark.slow
def test_h17_of_two_that_take_over_the_loser_is_fenced(home: str) -> None:
    with children(*(Child(crew.race, OWN, home=home) for _ in range(2))) as racers:
        for racer in racers:
            assert racer.hear() == "ready"
        for number in range(12):
            joined, spoke = raced(racers, f"name{number} takeover")
            assert sorted(each["joined"] for each in joined) == [1, 2]
            winner = joined.index({"joined": 2})
            assert "spoke" in spoke[winner]
            assert spoke[1 - winner] == {"refused": "SESSION_FENCED"}
    rows = ledger.ask(
        f"{home}/rookery.db", "SELECT agent, count(*) FROM sessions WHERE ended_at IS NULL GROUP BY agent"
    )
    assert [count for _, count in rows] == [1] * 12
    assert ledger.faults(f"{home}/rookery.db") == []


# --- H18: processes ---------------------------------------------------------------------------------------------------


def join_as(team: Team, name: str, identity: tuple[int, str], **more: Any) -> dict[str, Any]:
    """Bind a name to some process, as `rook join` does for the shell above it."""
    caller = team._caller._replace(process=identity, **more)  # pyright: ignore[reportPrivateUsage]
    return team.client.call("join", {"name": name}, caller)


def liveness(team: Team, name: str) -> str:
    return next(card["liveness"] for card in team.who(all=True) if card["name"] == name)


def identity(pid: int) -> tuple[int, str]:
    found = process.identify(pid)
    assert found
    return found


def test_h18_a_reused_pid_is_another_process(home: str) -> None:
    """A record whose pid now belongs to init, or to this very process: its start time is another."""
    with crew.house(home) as team:
        for name, pid in (("old", 1), ("older", os.getpid())):
            _, started = identity(pid)
            clock, _, space = started.partition("@")
            other = f"{int(clock) + 1}@{space}" if space else str(int(clock) + 1)
            join_as(team, name, (pid, other))
            assert liveness(team, name) == "dead"
            assert team.join(name).joined["arrival"] == "return"


def test_h18_the_same_process_is_alive(home: str) -> None:
    with crew.house(home) as team:
        join_as(team, "me", identity(os.getpid()))
        join_as(team, "init", identity(1))
        assert (liveness(team, "me"), liveness(team, "init")) == ("live", "live")


@pytest.mark.slow
def test_h18_another_users_process_is_alive(home: str) -> None:
    """It can not be signalled from here by everyone, and lives all the same."""
    uid = NOBODY if os.geteuid() == 0 else None
    with crew.house(home) as team, child(crew.sleep_as, OWN, uid=uid) as other:
        assert other.hear() == "ready"
        join_as(team, "other", identity(other.pid))
        assert liveness(team, "other") == "live"
        with pytest.raises(rookery.NameTaken):
            team.join("other")
        other.kill()
        assert liveness(team, "other") == "dead"
    assert os.geteuid() == 0 or process.state(*identity(1)) == "running"  # root's, whoever we are


@pytest.mark.slow
def test_h18_a_zombie_is_dead(home: str) -> None:
    with crew.house(home) as team, child(crew.leave_a_zombie, OWN) as parent:
        pid = parent.hear()
        join_as(team, "worker", identity(pid))
        assert liveness(team, "worker") == "live"
        parent.say("x")
        assert parent.hear() == "zombie"
        assert liveness(team, "worker") == "dead"


@pytest.mark.slow
def test_h18_a_stopped_process_is_not_live_until_it_goes_on(home: str) -> None:
    with crew.house(home) as team, child(crew.sleep_as, OWN, uid=None) as other:
        assert other.hear() == "ready"
        join_as(team, "worker", identity(other.pid))
        other.stop()
        assert liveness(team, "worker") == "stopped"
        assert [card["name"] for card in team.who()] == []
        other.signal(signal.SIGCONT)
        os.waitid(os.P_PID, other.pid, os.WCONTINUED)
        assert liveness(team, "worker") == "live"


@pytest.mark.parametrize("where", [{"boot": "another"}, {"host": "elsewhere"}], ids=["boot", "host"])
def test_h18_a_pid_means_something_here_and_now_only(home: str, where: dict[str, str]) -> None:
    """Our own identity, recorded on another machine or in another boot: the heartbeat decides, not our process."""
    with crew.house(home) as team:
        join_as(team, "far", identity(os.getpid()), **where)
        assert liveness(team, "far") == "live"
        ledger.ask(f"{home}/rookery.db", "UPDATE sessions SET heartbeat_at = heartbeat_at - 61000")
        assert liveness(team, "far") == "lapsed"


# --- H19: damage ------------------------------------------------------------------------------------------------------


def overwrite(path: str, offset: int, data: bytes) -> None:
    """Nothing has the database open here."""
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def replace(path: str, data: bytes) -> None:
    Path(path).write_bytes(data)


def truncate(path: str, size: int) -> None:
    os.truncate(path, size)


def spoil_table(name: str) -> Callable[[str], None]:
    def spoil(path: str) -> None:
        (root,) = ledger.ask(path, "SELECT rootpage FROM sqlite_schema WHERE name = :name", name=name)[0]
        (size,) = ledger.ask(path, "PRAGMA page_size")[0]
        overwrite(path, (root - 1) * size, b"\xde\xad\xbe\xef" * (size // 4))

    return spoil


DAMAGE: dict[str, Callable[[str], None]] = {
    "garbage": lambda path: overwrite(path, 0, b"\x00garbage" * 1_000),
    "text": lambda path: replace(path, b'{"agents": []}\n'),
    "two bytes": lambda path: replace(path, b"{}"),
    "half a header": lambda path: truncate(path, 50),
    "a page": lambda path: truncate(path, 4_096),
    "deliveries": spoil_table("deliveries"),
    "events": spoil_table("events"),
    "the schema": lambda path: overwrite(path, 100, b"\xff" * 3_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", few(sorted(DAMAGE), "garbage", "deliveries"))
def test_h19_a_damaged_ledger_is_named_and_left_alone(home: str, damage: str) -> None:
    path = f"{home}/rookery.db"
    with crew.house(home) as team:
        me = team.join("ada")
        for number in range(20):
            me.send("ada", str(number), "body " * 500)
    DAMAGE[damage](path)
    before = digest(path)
    for use in (send_and_follow, look_and_follow, join_and_follow):
        with pytest.raises(rookery.StoreCorrupt) as caught:
            use(home)
        assert path in caught.value.message
        assert "backup" in caught.value.hint
        assert digest(path) == before, f"{use.__name__} wrote into a damaged ledger"


def send_and_follow(home: str) -> None:
    with crew.house(home) as team:
        team.agent("ada").call("events")
        team.agent("ada").send("ada", "x")


def look_and_follow(home: str) -> None:
    with crew.house(home) as team:
        team.agent("ada").inbox()
        team.call("events")


def join_and_follow(home: str) -> None:
    with crew.house(home) as team:
        team.call("events")
        team.call("inbox")
        team.join("ada", takeover=True)


BAD_SETTINGS = [b"team = ", b"\xff\xfe\x00", b'{"team": "x"}', b"[mesh\n", b"mesh.stuck_s = 'soon'", b"unknown = 1"]


@pytest.mark.parametrize("content", BAD_SETTINGS, ids=repr)
@pytest.mark.parametrize("place", ["repository", "user"])
def test_h19_a_damaged_settings_file_is_named_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, place: str, content: bytes
) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    file = repo / "rookery.toml" if place == "repository" else tmp_path / "config" / "rookery" / "config.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    with pytest.raises(rookery.BadInput) as caught:
        rookery.connect(cwd=str(repo), home=home)
    assert str(file) in caught.value.message
    assert caught.value.hint
    assert file.read_bytes() == content
    assert not Path(home).exists(), "nothing was made before the settings were understood"


# --- H20: no lock files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [4, pytest.param(12, marks=pytest.mark.slow)])
def test_h20_many_processes_write_and_everything_arrives(home: str, number: int) -> None:
    with crew.house(home) as team:
        reader = team.join("reader")
        writers = [Child(crew.write_home, OWN, home=home, name=f"w{n}", count=15) for n in range(number)]
        with children(*writers):
            start_together(writers)
            sent = [id for writer in writers for id in writer.finish()]
            found = reader.inbox(limit=1_000)
            assert len(sent) == len(set(sent)) == number * 15
            assert {message.id for message in found} == set(sent)
            kept = sorted(str(path.relative_to(home)) for path in Path(home).rglob("*") if not path.is_dir())
            assert kept == ["rookery.db", "rookery.db-queue", "rookery.db-shm", "rookery.db-wal", "rookery.db.made"]
    assert ledger.faults(f"{home}/rookery.db", sent=sent) == []


@pytest.mark.slow
def test_h20_nothing_is_left_behind_by_killed_processes(home: str) -> None:
    """No stale lock to be judged, removed, and removed wrongly: the kernel lets go with the process."""
    writers = [Child(crew.write_home, OWN, home=home, name=f"w{number}", count=1_000) for number in range(4)]
    with crew.house(home) as team:
        team.join("reader")
        with children(*writers):
            start_together(writers)
            for writer in writers:
                writer.hear()
                writer.kill()
        assert team.agent("reader").send("reader", "At once").status == "accepted"
        names = sorted(path.name for path in Path(home).rglob("*") if not path.is_dir())
        assert [name for name in names if not re.fullmatch(r"rookery\.db(-wal|-shm|-queue|\.made)?", name)] == []
