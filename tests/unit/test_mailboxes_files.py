"""Seed 004's file tree: what an export writes an import reads, and nothing hostile gets in or leads out."""

import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.app import House, open_house
from rookery.bridge import mailboxes
from rookery.bridge.message import local
from rookery.core import errors, times
from tests.support.stage import HOUR, Stage
from tests.support.stores import prepared_home

Opener = Callable[[str], House]
KEYS = [
    "id", "from_agent", "to_agent", "swarm_name", "type", "subject", "body", "payload", "priority", "created_at",
    "expires_at", "status", "read_at", "completed_at", "reply_to", "thread_id", "context", "attachments", "tags",
]  # fmt: skip


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Opener]:
    """Teams, each in a home of its own."""
    opened: dict[str, House] = {}

    def get(team: str) -> House:
        if team not in opened:
            environ = {"ROOK_HOME": prepared_home(tmp_path / f"home-{team}"), "HOME": str(tmp_path)}
            opened[team] = open_house(cwd=str(tmp_path), environ=environ, team=team)
        return opened[team]

    yield get
    for each in opened.values():
        each.close()


def call(house: House, verb: str, agent: str, **args: Any) -> Any:
    return house.client.call(verb, args, house.caller(agent, open_addresses=True))


def send(house: House, to: str | list[str], subject: str = "Hello", sender: str = "amy", **more: Any) -> str:
    return call(house, "send", sender, to=[to] if isinstance(to, str) else to, subject=subject, **more)["id"]


def export(house: House, folder: Path) -> dict[str, Any]:
    return mailboxes.export(house.client, house.caller("user"), str(folder))


def load(house: House, folder: Path) -> dict[str, Any]:
    return mailboxes.load(house.client, house.caller("user"), str(folder))


def tree(folder: Path) -> dict[str, Any]:
    return {str(path.relative_to(folder)): json.loads(path.read_bytes()) for path in sorted(folder.rglob("*.json"))}


def letter(**changes: Any) -> dict[str, Any]:
    """A file as seed 004 shows it."""
    return {
        "id": "MSG-abc123def456", "from_agent": "architect", "to_agent": "implementer", "swarm_name": "swarm_dev",
        "type": "handoff", "subject": "Implement it", "body": "Work handoff", "payload": {}, "priority": 2,
        "created_at": "2026-01-03T14:30:00", "expires_at": None, "status": "unread", "read_at": None,
        "completed_at": None, "reply_to": None, "thread_id": None, "context": {"job_id": None},
        "attachments": ["workspace/DESIGN.md"], "tags": ["handoff"],
    } | changes  # fmt: skip


def put(folder: Path, content: Any, place: str = "implementer/inbox/MSG-abc123def456.json") -> Path:
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


# -- out ---------------------------------------------------------------------------------------------------------


def test_a_file_per_message_in_a_folder_per_agent(house: Opener, tmp_path: Path) -> None:
    team = house("a")
    waiting = send(team, "dev/bob", priority="high", payload={"n": 1}, tags=["x"], group="dev")
    done = send(team, "dev/bob", "Second")
    call(team, "ack", "dev/bob", ids=[done])
    call(team, "archive", "dev/bob", ids=[done])
    out = tmp_path / "out"
    assert export(team, out) == {"exported": 2, "inbox": 1, "archive": 1, "agents": 1}
    written = tree(out)
    assert list(written) == [f"dev_bob/archive/{done}.json", f"dev_bob/inbox/{waiting}.json"]
    first = written[f"dev_bob/inbox/{waiting}.json"]
    assert list(first) == KEYS
    assert (first["from_agent"], first["to_agent"], first["swarm_name"]) == ("amy", "dev/bob", "dev")
    assert (first["type"], first["priority"], first["status"]) == ("request", 3, "unread")
    assert (first["payload"], first["tags"], first["thread_id"]) == ({"n": 1}, ["x"], None)
    assert written[f"dev_bob/archive/{done}.json"]["status"] == "archived"
    assert {path.stat().st_mode & 0o077 for path in [out, *out.rglob("*")]} == {0}


def test_exporting_again_changes_only_what_changed(house: Opener, tmp_path: Path) -> None:
    team, out = house("a"), tmp_path / "out"
    one, other = send(team, "bob"), send(team, "bob", "Second")
    call(team, "read", "bob", id=one)
    export(team, out)
    before = tree(out)
    export(team, out)
    assert tree(out) == before
    call(team, "archive", "bob", ids=[one])
    export(team, out)
    assert sorted(tree(out)) == [f"bob/archive/{one}.json", f"bob/inbox/{other}.json"]


def test_times_in_files_do_not_move_with_the_clocks(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "stage.db")
    stage.join_all("amy", "bob")
    expires = stage.clock.wall + HOUR
    id = stage.send("amy", "bob", expires=expires)["id"]
    stage.clock.pass_time(1000)
    stage.clock.jump(8 * HOUR)  # the lid was closed: the ledger's clock stood still
    read_at = stage.clock.wall
    stage.call("read", "bob", id=id)
    stage.call("reply", "bob", id=id, body="Yes")
    pages: list[Any] = []
    for _ in range(3):
        pages.append(tree_of(stage, tmp_path / f"out-{len(pages)}"))
        stage.clock.pass_time(777)
        stage.clock.jump(-3 * HOUR)
    assert pages[0] == pages[1] == pages[2]
    first = next(content for name, content in pages[0].items() if name.endswith(f"{id}.json"))
    assert first["read_at"] == local(times.iso(read_at)).isoformat()
    assert first["expires_at"] == local(times.iso(expires)).isoformat()
    stage.close()


def tree_of(stage: Stage, folder: Path) -> dict[str, Any]:
    mailboxes.export(stage.client, stage.caller("user"), str(folder))
    return tree(folder)


def test_a_message_to_several_becomes_a_file_for_each(house: Opener, tmp_path: Path) -> None:
    team = house("a")
    id = send(team, ["bob", "cleo"])
    call(team, "read", "bob", id=id)
    call(team, "reply", "cleo", id=id, body="Yes")
    export(team, tmp_path / "out")
    written = list(tree(tmp_path / "out").values())
    copies = [each for each in written if each["type"] == "request"]
    assert sorted((each["to_agent"], each["status"]) for each in copies) == [("bob", "read"), ("cleo", "read")]
    assert len({each["id"] for each in copies} | {id}) == 3
    assert {each["thread_id"] for each in written} == {id}
    assert load(team, tmp_path / "out") == {"imported": 0, "skipped": 3}


@pytest.mark.parametrize("place", ["bob", "bob/inbox", "bob/archive"])
def test_an_export_does_not_leave_its_folder(house: Opener, tmp_path: Path, place: str) -> None:
    team, out, outside = house("a"), tmp_path / "out", tmp_path / "outside"
    send(team, "bob")
    outside.mkdir()
    (out / place).parent.mkdir(parents=True, exist_ok=True)
    (out / place).symlink_to(outside, target_is_directory=True)
    with pytest.raises(errors.StoreUnusable, match="not a folder"):
        export(team, out)
    assert list(outside.iterdir()) == []


def test_a_symlink_in_the_place_of_a_file_is_replaced(house: Opener, tmp_path: Path) -> None:
    team, out = house("a"), tmp_path / "out"
    id = send(team, "bob")
    target = tmp_path / "precious"
    target.write_text("kept")
    (out / "bob" / "inbox").mkdir(parents=True)
    (out / "bob" / "inbox" / f"{id}.json").symlink_to(target)
    export(team, out)
    assert target.read_text() == "kept"
    assert tree(out)[f"bob/inbox/{id}.json"]["id"] == id


def test_an_export_into_a_file_is_refused(house: Opener, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(errors.StoreUnusable):
        export(house("a"), tmp_path / "out")
    with pytest.raises(errors.BadInput):
        export(house("a"), tmp_path / "a\0b")


# -- in ----------------------------------------------------------------------------------------------------------


def test_a_file_of_seed_004_is_taken_in(house: Opener, tmp_path: Path) -> None:
    team = house("a")
    put(tmp_path / "in", letter())
    (tmp_path / "in" / "implementer" / "archive").mkdir()
    assert load(team, tmp_path / "in") == {"imported": 1, "skipped": 0}
    (message,) = call(team, "inbox", "implementer")["messages"]
    assert (message["id"], message["from"], message["type"]) == ("MSG-abc123def456", "architect", "handoff")
    assert (message["group"], message["attachments"]) == ("swarm_dev", ["workspace/DESIGN.md"])
    assert load(team, tmp_path / "in") == {"imported": 0, "skipped": 1}


def test_what_stands_in_the_file_counts_not_where_it_lies(house: Opener, tmp_path: Path) -> None:
    team = house("a")
    put(tmp_path / "in", letter(to_agent="dev/critic"), "somebody/archive/MSG-x.json")
    load(team, tmp_path / "in")
    assert [each["state"] for each in call(team, "inbox", "dev/critic")["messages"]] == ["unread"]


def test_only_message_files_are_looked_at(house: Opener, tmp_path: Path) -> None:
    for place in (
        "bob/inbox/notes.txt",
        "bob/inbox/MSG-1.json.tmp",
        "bob/MSG-1.json",
        "MSG-1.json",
        ".x/inbox/MSG-1.json",
    ):
        put(tmp_path / "in" / "bob", b"not a message", place)
    assert load(house("a"), tmp_path / "in") == {"imported": 0, "skipped": 0}


def test_a_file_name_that_is_no_text_does_not_matter(house: Opener, tmp_path: Path) -> None:
    put(tmp_path / "in", letter())
    box = os.fsencode(tmp_path / "in" / "implementer" / "inbox")
    os.rename(os.path.join(box, b"MSG-abc123def456.json"), os.path.join(box, b"MSG-\xff\x1b.json"))
    assert load(house("a"), tmp_path / "in")["imported"] == 1


def test_defaults_may_be_left_out(house: Opener, tmp_path: Path) -> None:
    needed = ("id", "from_agent", "to_agent", "type", "subject", "body", "priority", "created_at")
    put(tmp_path / "in", {name: letter()[name] for name in needed})
    assert load(house("a"), tmp_path / "in")["imported"] == 1


def test_mail_of_long_ago_keeps_its_order_and_its_state(house: Opener, tmp_path: Path) -> None:
    team = house("a")
    for number, status in enumerate(("unread", "read", "processing", "completed", "failed", "archived")):
        when = f"2026-01-0{9 - number}T10:00:00"
        changed = letter(id=f"MSG-{number}", status=status, created_at=when, read_at=when if number else None)
        put(tmp_path / "in", changed, f"implementer/inbox/MSG-{number}.json")
    load(team, tmp_path / "in")
    found = call(team, "inbox", "implementer", all=True)["messages"]
    assert [(each["id"], each["state"]) for each in found] == [
        ("MSG-5", "archived"), ("MSG-4", "failed"), ("MSG-3", "completed"), ("MSG-2", "processing"),
        ("MSG-1", "read"), ("MSG-0", "unread"),
    ]  # fmt: skip
    stages = call(team, "receipts", "user", id="MSG-1")["recipients"][0]["receipts"]
    assert stages[1] == {"stage": "seen", "at": found[4]["read_at"], "channel": "import"}


def test_an_expired_message_stays_expired(house: Opener, tmp_path: Path) -> None:
    team = house("a")
    put(tmp_path / "in", letter(expires_at="2026-01-04T00:00:00"))
    load(team, tmp_path / "in")
    assert call(team, "inbox", "implementer")["messages"] == []
    export(team, tmp_path / "out")
    assert list(tree(tmp_path / "out").values()) == [letter(expires_at="2026-01-04T00:00:00")]


# -- there and back ----------------------------------------------------------------------------------------------

NAMES = ("amy", "bob", "dev/cleo", "user", "system")
steps = st.lists(
    st.tuples(
        st.sampled_from(["send", "send", "reply", "read", "processing", "completed", "failed", "archive"]),
        st.integers(0, 30),
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
    ),
    min_size=1,
    max_size=15,
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_there_and_back_gives_the_same_files(tmp_path: Path, steps: list[Any]) -> None:
    here, there = Stage(tmp_path / "here.db", team="here"), Stage(tmp_path / "there.db", team="there")
    try:
        play(here, steps)
        there.clock.jump(5 * HOUR)
        first = tree_of(here, tmp_path / "first")
        counts = mailboxes.load(there.client, there.caller("user"), str(tmp_path / "first"))
        assert counts == {"imported": len(first), "skipped": 0}
        there.clock.pass_time(12_345)
        assert tree_of(there, tmp_path / "second") == first
        for stage in (here, there):
            again = mailboxes.load(stage.client, stage.caller("user"), str(tmp_path / "first"))
            assert again == {"imported": 0, "skipped": len(first)}
    finally:
        here.close()
        there.close()
        for name in ("first", "second"):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
        for path in tmp_path.glob("*.db*"):
            path.unlink()


def play(stage: Stage, steps: list[Any]) -> None:
    """Steps that the law refuses are not taken."""
    sent: list[tuple[str, list[str]]] = []
    for verb, number, people, words in steps:
        stage.clock.pass_time(1 + number)
        id, readers = sent[number % len(sent)] if sent else ("MSG-none", people)
        try:
            if verb == "send":
                asked = {
                    "body": words,
                    "payload": {"words": words},
                    "expires": stage.clock.wall + number if number % 5 else None,
                }
                caller = stage.caller(people[0], open_addresses=True)
                done = stage.send(caller, people, priority=["low", "normal", "high"][number % 3], **asked)
                sent.append((done["id"], people))
            elif verb == "reply":
                done = stage.call("reply", readers[0], id=id, body=words, mark_read=bool(number % 2))
                sent.append((done["id"], [each["name"] for each in done["recipients"]]))
            elif verb == "read":
                stage.call("read", readers[-1], id=id)
            elif verb == "archive":
                stage.call("archive", readers[-1], ids=[id])
            else:
                stage.call("ack", readers[-1], ids=[id], state=verb)
        except errors.Refused:
            pass


# -- what is refused ---------------------------------------------------------------------------------------------

HOSTILE: dict[str, Any] = {
    "broken": b'{"id": "MSG-abc',
    "empty": b"",
    "not utf-8": b'{"id": "\xff"}',
    "a list": [],
    "a string": "MSG-abc123def456",
    "deep": b"[" * 100_000,
    "nan": json.dumps(letter(payload={"n": float("nan")})).encode(),
    "infinity": json.dumps(letter(priority=float("inf"))).encode(),
    "digits": b'{"priority": ' + b"9" * 5000 + b"}",
    "missing id": {name: value for name, value in letter().items() if name != "id"},
    "null sender": letter(from_agent=None),
    "id is a path": letter(id="../../../etc/passwd"),
    "id is a path inside": letter(id="MSG-../x"),
    "id with a slash": letter(id="MSG-a/b"),
    "id too long": letter(id="MSG-" + "a" * 65),
    "id without prefix": letter(id="abc123"),
    "id with a newline": letter(id="MSG-abc\n"),
    "id with NUL": letter(id="MSG-a\0"),
    "id is a number": letter(id=7),
    "recipient is a path": letter(to_agent="../../root"),
    "recipient is a group": letter(to_agent="broadcast:swarm_dev"),
    "two slashes": letter(to_agent="a/b/c"),
    "sender with escape": letter(from_agent="\x1b[2J"),
    "no sender": letter(from_agent=""),
    "unknown type": letter(type="gossip"),
    "type of another system": letter(type="task"),
    "unknown status": letter(status="lost"),
    "status expired": letter(status="expired"),
    "priority 5": letter(priority=5),
    "priority 0": letter(priority=0),
    "priority true": letter(priority=True),
    "priority a word": letter(priority="high"),
    "payload a list": letter(payload=[1]),
    "context a string": letter(context="all of it"),
    "tags not strings": letter(tags=[1]),
    "empty tag": letter(tags=[""]),
    "attachments a string": letter(attachments="a.md"),
    "no such time": letter(created_at="yesterday"),
    "time a number": letter(created_at=1767450600),
    "before 1970": letter(created_at="1901-01-01T00:00:00"),
    "the year one": letter(read_at="0001-01-01T00:00:00"),
    "long subject": letter(subject="x" * 501),
    "lone surrogate": json.dumps(letter(body="\ud800")).encode(),
    "NUL in the body": letter(body="a\0b"),
    "thread of two lines": letter(thread_id="a\nb"),
    "huge body": letter(body="x" * 1_100_000),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_bad_file_is_named_and_nothing_is_taken_in(house: Opener, tmp_path: Path, content: Any) -> None:
    team = house("a")
    put(tmp_path / "in", letter(id="MSG-good", created_at="2020-01-01T00:00:00"), "critic/inbox/MSG-good.json")
    put(tmp_path / "in", content)
    before = call(team, "stats", "user")
    with pytest.raises(errors.BadInput, match=r"^1 of 2 .*implementer/inbox/MSG-abc123def456\.json: ") as caught:
        load(team, tmp_path / "in")
    assert caught.value.hint
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600
    assert call(team, "stats", "user") == before


def test_ten_problems_are_told_at_once(house: Opener, tmp_path: Path) -> None:
    for number in range(25):
        put(tmp_path / "in", letter(id=f"MSG-{number}", type="gossip"), f"bob/inbox/MSG-{number:02d}.json")
    with pytest.raises(errors.BadInput, match=r"^25 of 25 .* And 15 more") as caught:
        load(house("a"), tmp_path / "in")
    assert len(caught.value.facts["problems"]) == 10


def test_problems_that_the_ledger_sees_are_told_at_once_too(house: Opener, tmp_path: Path) -> None:
    put(tmp_path / "in", letter(id="MSG-1", to_agent=".."), "bob/inbox/MSG-1.json")
    put(tmp_path / "in", letter(id="MSG-2"), "bob/inbox/MSG-2.json")
    put(tmp_path / "in", letter(id="MSG-2"), "bob/inbox/MSG-3.json")
    with pytest.raises(errors.BadInput, match=r"2 of 3 .*MSG-1\.json: .*MSG-3\.json: MSG-2 is also in bob/inbox/MSG-2"):
        load(house("a"), tmp_path / "in")


def test_a_file_that_is_too_large_is_not_read(house: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailboxes, "FILE_LIMIT", 1000)
    put(tmp_path / "in", letter(body="x" * 1000))
    with pytest.raises(errors.BadInput, match="more than 1,000 bytes"):
        load(house("a"), tmp_path / "in")


@pytest.mark.parametrize("place", ["bob", "bob/inbox", "bob/archive", "bob/inbox/MSG-1.json"])
def test_symlinks_are_not_followed(house: Opener, tmp_path: Path, place: str) -> None:
    secret = put(tmp_path / "secret", letter(), "implementer/inbox/MSG-1.json")
    link = tmp_path / "in" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(secret if place.endswith(".json") else secret.parent)
    with pytest.raises(errors.BadInput, match=f"{place}: It is a symlink"):
        load(house("a"), tmp_path / "in")


def test_pipes_and_folders_are_no_messages(house: Opener, tmp_path: Path) -> None:
    box = tmp_path / "in" / "bob" / "inbox"
    (box / "MSG-1.json").mkdir(parents=True)
    os.mkfifo(box / "MSG-2.json")
    (tmp_path / "in" / "bob" / "archive").write_text("")
    with pytest.raises(errors.BadInput, match=r"^3 of 3 .*archive: .*MSG-1\.json: .*MSG-2\.json: "):
        load(house("a"), tmp_path / "in")


@pytest.mark.parametrize("name", ["nowhere", "a\0b"])
def test_a_folder_that_is_not_there_is_told(house: Opener, tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.BadInput, match="can not be read"):
        load(house("a"), tmp_path / name)


def test_only_the_person_exports_and_imports(house: Opener, tmp_path: Path) -> None:
    team = house("a")
    send(team, "bob")
    for act in (mailboxes.export, mailboxes.load):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(errors.NotYours):
            act(team.client, team.caller("bob"), str(tmp_path / "x"))


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=10)
    | st.sampled_from(["MSG-1", "..", "read"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
numbers = itertools.count()


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(KEYS), anything, max_size=4))
def test_any_file_is_taken_in_or_refused(house: Opener, tmp_path: Path, changes: dict[str, Any]) -> None:
    team = house("a")
    put(tmp_path / "in", letter(id=f"MSG-{next(numbers)}") | changes)
    try:
        load(team, tmp_path / "in")
    except errors.BadInput:
        return
    assert load(team, tmp_path / "in") == {"imported": 0, "skipped": 1}
    export(team, tmp_path / "out")
    assert load(team, tmp_path / "out")["imported"] == 0
