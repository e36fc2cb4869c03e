"""One folder: what is whole is taken once, what never will be is put aside with the reason, nothing is lost."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.core import errors
from rookery.front.maildrop import box as boxes
from rookery.front.maildrop.box import Box
from rookery.runtime import dropbox
from tests.support import drops
from tests.support.drops import Clock, letter, looked, lying, names, put, terms
from tests.support.families import few
from tests.support.procs import child
from tests.support.stage import Stage


class Drop:
    """A folder, the ledger behind it, and the clock that both the folder's looks and nothing else go by."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.folder = folder
        self.clock = Clock()
        self.box = self.another()
        folder.mkdir(parents=True, exist_ok=True)

    def another(self, kind: Callable[..., Box] = Box, **more: Any) -> Box:
        caller = self.stage.caller("system")
        return kind(
            str(self.folder), lambda args: self.stage.client.call("drop", args, caller), terms(**more), self.clock
        )

    def put(self, name: str, written: str | bytes) -> Path:
        return put(self.folder, name, written)

    def look(self, after_s: float = 1.0) -> dict[str, str]:
        """What became of which file."""
        return {each.file: each.state for each in looked(self.box, self.clock, after_s=after_s)}

    def reason(self, name: str) -> str:
        return (self.folder / "rejected" / f"{name}.reason.txt").read_text()

    def inbox(self, agent: str = "bob") -> list[dict[str, Any]]:
        return self.stage.inbox(agent)


@pytest.fixture
def drop(tmp_path: Path) -> Any:
    stage = Stage(tmp_path / "ledger.db")
    stage.join_all("bob")
    yield Drop(stage, tmp_path / "msgs")
    stage.close()


# --- taken ------------------------------------------------------------------------------------------------------------


def test_a_file_becomes_a_message_and_moves(drop: Drop) -> None:
    written = letter("bob", "ada", "# Start\nwith this", type="task", priority="high", status="start")
    drop.put("1102083000-task-ada>bob-abc123.md", written)
    assert drop.look() == {"1102083000-task-ada>bob-abc123.md": "sent"}
    (message,) = drop.inbox()
    assert (message["from"], message["subject"], message["label"], message["priority"]) == (
        "ada",
        "Start",
        "task",
        "high",
    )
    assert (message["context"]["by"], message["context"]["status"]) == ("maildrop", "start")
    assert names(drop.folder) == ["rejected", "sent"]
    assert (drop.folder / "sent" / "1102083000-task-ada>bob-abc123.md").read_text() == written


def test_the_name_of_a_file_says_nothing(drop: Drop) -> None:
    drop.stage.join_all("carol")
    drop.put("1102083000-update-zoe>carol-zzz.md", letter("bob", "ada", type="task", msg_id="abc"))
    drop.look()
    assert [m["from"] for m in drop.inbox()] == ["ada"]
    assert drop.inbox("carol") == []


def test_no_folder_is_no_error_and_makes_none(drop: Drop) -> None:
    drop.folder.rmdir()
    assert drop.look() == {}
    assert not drop.folder.exists()


def test_other_files_are_left_alone(drop: Drop) -> None:
    for name in ("notes.txt", ".hidden.md", "draft.md.tmp", "README"):
        (drop.folder / name).write_text(letter())
    (drop.folder / "folder").mkdir()
    assert drop.look() == {}
    assert set(names(drop.folder)) == {
        ".hidden.md",
        "README",
        "draft.md.tmp",
        "folder",
        "notes.txt",
        "rejected",
        "sent",
    }


def test_in_the_order_they_were_written(drop: Drop) -> None:
    for number, name in enumerate(("z.md", "a.md", "m.md")):
        os.utime(drop.put(name, letter("bob", "ada", f"number {number}")), (1000 + number, 1000 + number))
    drop.look()
    assert [m["subject"] for m in drop.inbox()] == ["number 0", "number 1", "number 2"]


def test_nothing_is_overwritten(drop: Drop) -> None:
    for number in range(3):
        drop.put("same.md", letter("bob", "ada", f"number {number}"))
        assert drop.look() == {"same.md": "sent"}
    kept = [(drop.folder / "sent" / name).read_text() for name in ("same.md", "same-2.md", "same-3.md")]
    assert [text.split("number ")[1].strip() for text in kept] == ["0", "1", "2"]
    assert len(drop.inbox()) == 3


# --- once -------------------------------------------------------------------------------------------------------------


def test_an_id_is_an_idempotency_key(drop: Drop) -> None:
    for name in ("one.md", "again.md"):
        drop.put(name, letter("bob", "ada", msg_id="abc123"))
        assert drop.look() == {name: "sent"}
    assert len(drop.inbox()) == 1
    drop.put("other.md", letter("bob", "ada", "Another text", msg_id="abc123"))
    assert drop.look() == {"other.md": "rejected"}
    assert "another call" in drop.reason("other.md")
    drop.put("theirs.md", letter("bob", "zoe", msg_id="abc123"))
    assert drop.look() == {"theirs.md": "sent"}, "an id is its sender's own"


def test_without_an_id_two_files_are_two_messages(drop: Drop) -> None:
    for _ in range(2):
        drop.put("again.md", letter("bob", "ada", "Build, please"))
        drop.look()
    assert len(drop.inbox()) == 2


def test_two_that_look_at_once_make_one_message(drop: Drop) -> None:
    """The second has read the file when the first has sent and moved it: it is told of the same message."""
    drop.put("one.md", letter("bob", "ada", msg_id="x"))
    drop.put("bad.md", "no front matter")
    first, second = drop.box, drop.another()
    for box in (first, second):
        list(box.look())
    drop.clock.now += 1
    real = boxes.dropbox.Dropbox.keep
    raced: list[str] = []

    def keep(self: dropbox.Dropbox, name: str, *args: Any) -> str:
        if not raced:
            raced.append(name)
            list(first.look())
        return real(self, name, *args)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(boxes.dropbox.Dropbox, "keep", keep)
        told = list(second.look())
    assert raced
    assert [each.file for each in told] == [], "the other one told of them"
    assert len(drop.inbox()) == 1
    assert names(drop.folder / "sent") == ["one.md"]
    assert names(drop.folder / "rejected") == ["bad.md", "bad.md.reason.txt"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "point", few(["after_lock", "before_commit", "after_commit", "before_ring", "before the move"], "before the move")
)
def test_killed_anywhere_it_is_one_message(tmp_path: Path, point: str) -> None:
    """Also between commit and move, with and without an id of its own."""
    import rookery
    from tests.support.stores import prepared_home

    home, root = prepared_home(tmp_path / "home"), tmp_path / "work"
    msgs = root / ".rook" / "msgs"
    put(msgs, "a.md", letter("bob", "ada", "with an id", msg_id="a1"))
    put(msgs, "b.md", letter("bob", "ada", "without one"))
    with rookery.connect(team="crew", home=home, cwd=str(root)) as team:
        team.join("bob").leave()
        deed = drops.take_and_die_before_the_move if point == "before the move" else drops.take_and_die
        more = {} if point == "before the move" else {"point": point}
        for _ in range(2):  # it dies twice: each time at the first file that is not dealt with
            with child(deed, None, home=home, root=str(root), **more) as doomed:
                assert doomed.kill_said() == []
        assert lying(msgs) == ["a.md", "b.md"]
        with child(drops.one_pass, None, home=home, root=str(root)) as second:
            assert sorted(each["state"] for each in second.finish()) == ["sent", "sent"]
        assert [m.subject for m in team.agent("bob").inbox()] == ["with an id", "without one"]
    assert lying(msgs) == []
    assert lying(msgs / "sent") == ["a.md", "b.md"]


def test_a_store_that_does_not_answer_leaves_it_where_it_is(drop: Drop) -> None:
    drop.put("a.md", letter())

    def busy(_args: Any) -> Any:
        raise errors.StoreBusy("The store is busy.")

    box = Box(str(drop.folder), busy, terms(), drop.clock)
    with pytest.raises(errors.StoreBusy):
        looked(box, drop.clock)
    assert lying(drop.folder) == ["a.md"]
    assert drop.look() == {"a.md": "sent"}


# --- whole files only -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_that_someone_writes_is_not_read(drop: Drop) -> None:
    """However long the writer pauses, and though what is there already looks whole."""
    first, second = letter("bob", "ada", "First half"), "and the second\n"
    with child(drops.write_slowly, None, path=str(drop.folder / "slow.md"), parts=[first, second]) as writer:
        assert writer.hear() == "wrote"
        assert drop.look(after_s=5) == {}
        assert [each.why for each in drop.box.waiting] == ["someone is writing it"]
        writer.say()
        assert writer.hear() == "wrote"
        assert drop.look(after_s=5) == {}
        writer.say()
        assert writer.hear() == "closed"
        writer.finish()
    assert drop.look() == {"slow.md": "sent"}
    assert drop.inbox()[0]["body"] == "First half\nand the second"


def test_a_writer_that_stops_half_way_is_told_of_once(drop: Drop) -> None:
    with child(drops.write_slowly, None, path=str(drop.folder / "slow.md"), parts=[letter(), "more"]) as writer:
        assert writer.hear() == "wrote"
        assert drop.look(after_s=31) == {"slow.md": "late"}
        assert drop.look(after_s=100) == {}
        writer.say()
        assert writer.hear() == "wrote"
        assert drop.look(after_s=31) == {"slow.md": "late"}, "it went on, and stopped again"
        writer.kill()
    assert drop.look() == {"slow.md": "sent"}, "its writer is gone: what it closed by dying is all there will be"


def test_without_the_kernels_word_a_file_has_to_rest_longer(drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dropbox, "_nobody_writes", lambda _: None)
    drop.put("a.md", letter())
    assert drop.look(after_s=boxes.UNSURE_S / 2) == {}
    assert drop.look(after_s=boxes.UNSURE_S) == {"a.md": "sent"}


@pytest.mark.slow
def test_negative_control_without_the_kernels_word_half_a_file_is_read(
    drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that pauses for longer than anybody waits: only the lease tells that it is not done."""
    monkeypatch.setattr(dropbox, "_nobody_writes", lambda _: True)
    with child(
        drops.write_slowly, None, path=str(drop.folder / "s.md"), parts=[letter("bob", "ada", "Half"), "x"]
    ) as w:
        assert w.hear() == "wrote"
        assert drop.look(after_s=5) == {"s.md": "sent"}
    assert drop.inbox()[0]["body"] == "Half"


def test_a_file_that_just_changed_is_left_for_a_moment(drop: Drop) -> None:
    """A writer that opens, appends and closes again and again is between two words most of the time."""
    path = drop.put("a.md", letter("bob", "ada", "one"))
    assert drop.look(after_s=0.01) == {}
    for word in ("two", "three"):
        with path.open("a") as file:
            file.write(word)
        assert drop.look(after_s=0.01) == {}
    assert drop.look() == {"a.md": "sent"}
    assert drop.inbox()[0]["body"] == "one\ntwothree"


@pytest.mark.parametrize("written", ["", "---\nto: bob\n", "---\nto: bob\nfrom: ada\n---\nna\u00efve"[:-3] + "\xc3"])
def test_what_is_not_whole_is_waited_for_and_then_put_aside(drop: Drop, written: str) -> None:
    path = drop.put("a.md", written.encode("latin-1"))
    assert drop.look(after_s=29) == {}
    assert drop.box.waiting[0].why.startswith("it is not whole")
    path.write_text(letter())
    assert drop.look() == {"a.md": "sent"}, "it went on"
    drop.put("b.md", written.encode("latin-1"))
    assert drop.look(after_s=31) == {"b.md": "rejected"}


# --- put aside --------------------------------------------------------------------------------------------------------

BAD: dict[str, tuple[str | bytes, str]] = {
    "plain.md": ("Hello", "no front matter"),
    "yaml.md": ("---\nto: [bob\n---\nx", "no YAML"),
    "list.md": ("---\n- to\n---\nx", "no mapping"),
    "twice.md": ("---\nto: bob\nto: eve\nfrom: ada\n---\nx", "twice"),
    "laughs.md": ("---\na: &a [x,x]\nto: *a\n---\nx", "alias"),
    "nobody.md": (letter("nobody"), "No agent named nobody"),
    "near.md": (letter("bib"), "Did you mean bob"),
    "group.md": (letter("broadcast:nowhere"), "No group named nowhere"),
    "noone.md": ("---\nfrom: ada\n---\nx", "to is missing"),
    "unsigned.md": ("---\nto: bob\n---\nx", "from is missing"),
    "person.md": (letter("bob", "user"), "can not be from 'user'"),
    "system.md": (letter("bob", "System"), "can not be from 'System'"),
    "inside.md": (letter("bob", "core/user"), "can not be from 'core/user'"),
    "path.md": (letter("bob", "../../etc"), "slashes|name"),
    "escape.md": (letter("bob", '"\\e[2J"'), "control character"),
    "type.md": (letter("bob", "ada", type="order"), "No message type"),
    "priority.md": (letter("bob", "ada", priority="now"), "No priority"),
    "lens.md": (letter("bob", "ada", lens="stratgic"), "Did you mean strategic"),
    "rounds.md": (letter("bob", "ada", self_modify="6"), "1 to 5"),
    "clears.md": (letter("bob", "ada", type="update", clear_before="true"), "clears nobody"),
    "spawn.md": (letter("bob", "ada", "x", "spawn: research\n"), "spawn is no mapping"),
    "latin.md": ("---\nto: bob\nfrom: ada\n---\n\xe9t\xe9 ".encode("latin-1"), "not UTF-8"),
    "nul.md": (letter("bob", "ada", "a\0b"), "NUL"),
    "large.md": ("---\nto: bob\nfrom: ada\n---\n" + "x" * drops.LIMIT, "bytes"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_put_aside_with_the_reason(drop: Drop, name: str) -> None:
    written, said = BAD[name]
    drop.put(name, written)
    before = drop.stage.rows()
    assert drop.look() == {name: "rejected"}
    assert drop.stage.rows() == before, "it left something in the ledger"
    reason = drop.reason(name)
    assert re.search(said, reason), reason
    assert reason.rstrip("\n").isprintable()
    raw = written.encode() if isinstance(written, str) else written
    assert (drop.folder / "rejected" / name).read_bytes() == raw
    assert lying(drop.folder) == []


def test_negative_control_the_letters_that_the_bad_ones_are_made_of_are_good(drop: Drop) -> None:
    good = [letter(), letter("bob", "core/core"), letter("bob", "ada", lens="strategic"), letter("user", "ada"),
            letter("bob", "ada", type="task", clear_before="true", self_modify="5"),
            letter("bob", "ada", "x", "spawn:\n  mesh: research\n"), letter("bob", "ada", "x" * 5000)]  # fmt: skip
    for number, written in enumerate(good):
        drop.put(f"{number}.md", written)
    assert set(drop.look().values()) == {"sent"}


def test_what_is_no_file_is_not_followed(drop: Drop, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(letter())
    (drop.folder / "link.md").symlink_to(secret)
    (drop.folder / "dangling.md").symlink_to(tmp_path / "nothing")
    (drop.folder / "folder.md").mkdir()
    (drop.folder / "folder.md" / "kept").write_text("kept")
    os.mkfifo(drop.folder / "pipe.md")
    assert set(drop.look().values()) == {"rejected"}
    aside = drop.folder / "rejected"
    assert os.readlink(aside / "link.md") == str(secret)
    assert secret.read_text() == letter()
    assert (aside / "folder.md" / "kept").read_text() == "kept"
    assert "symlink" in drop.reason("link.md")
    assert len(names(aside)) == 8
    assert drop.inbox() == []


@pytest.mark.parametrize("name", [b"a\x1b[2Jb.md", b"new\nline.md", b"\xff\xfe.md", "r\u202etl.md".encode()])
def test_a_name_that_steers_a_terminal_is_put_aside_under_another(drop: Drop, name: bytes) -> None:
    (drop.folder / os.fsdecode(name)).write_text(letter())
    assert set(drop.look().values()) == {"rejected"}
    kept = names(drop.folder / "rejected")
    assert len(kept) == 2
    assert all(each.isprintable() for each in kept)
    assert drop.inbox() == []


def test_a_long_name_is_cut_where_it_is_kept(drop: Drop) -> None:
    (drop.folder / ("n" * 252 + ".md")).write_text(letter())
    assert set(drop.look().values()) == {"rejected"}
    assert all(len(each) < 255 for each in names(drop.folder / "rejected"))


def test_a_link_where_a_folder_of_ours_belongs_takes_nothing(drop: Drop, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (drop.folder / "sent").symlink_to(elsewhere)
    drop.put("a.md", letter())
    with pytest.raises(errors.StoreUnusable, match="symlink"):
        drop.look()
    assert names(elsewhere) == []
    assert lying(drop.folder) == ["a.md"]
    assert drop.inbox() == []


def test_the_ledger_under_another_name_is_not_opened(drop: Drop) -> None:
    """H39: closing a descriptor of it would drop the locks of this very process."""
    from rookery.runtime import files

    database = drop.stage.store.location
    os.link(database, drop.folder / "ledger.md")
    with files.kept_closed(database):
        box = drop.another(limit=1 << 40)
        assert [each.state for each in looked(box, drop.clock)] == ["rejected"]
    assert "the ledger itself" in drop.reason("ledger.md")


# --- anything at all --------------------------------------------------------------------------------------------------

FIELDS = st.sampled_from(["to", "from", "type", "status", "msg-id", "timestamp", "subject", "priority", "reply-to",
                          "lens", "clear-before", "self-modify", "other"])  # fmt: skip
WORDS = ["bob", "ada", "user", "task", "high", "true", "3", "sceptic", "broadcast:all", "any:dev", "a/b", "[bob, ada]",
         "{a: b}", "''", "x: y", "!!int 3", "\\x00", '"\\0"', '"\\ud800"']  # fmt: skip
VALUES = st.sampled_from(WORDS) | st.text(max_size=20)
REARS = st.sampled_from(["", "---\nspawn:\n  mesh: x\n---\n", "---\nspawn: {kind: y, lens: [a, {b: c}]}\n---\n",
                         "---\nentity_refs: {a: b}\n---\n", "---\nspawn:\n---"])  # fmt: skip
FRONTS = st.dictionaries(FIELDS, VALUES, max_size=13).map(
    lambda given: "".join(f"{name}: {value}\n" for name, value in {"to": "bob", "from": "ada", **given}.items())
)
LETTERS = st.builds("---\n{}---\n{}\n{}".format, FRONTS, st.text(max_size=30), REARS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=LETTERS.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=200))
def test_anything_at_all_is_taken_or_put_aside(drop: Drop, data: bytes) -> None:
    """Whatever a file says, no look ends by it: the next file is taken as ever."""
    drop.put("any.md", data)
    assert drop.look(after_s=31).get("any.md") in ("sent", "rejected")
    assert lying(drop.folder) == []


# --- which folders ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["../out", "/tmp", "~", "linked", "linked/msgs"])
def test_a_repository_can_not_name_a_folder_outside_itself(tmp_path: Path, folder: str) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "linked").symlink_to(tmp_path)
    with pytest.raises(errors.StoreUnusable, match="out of the workspace"):
        dropbox.place_of(str(root), folder, trusted=False)
    assert os.path.isabs(dropbox.place_of(str(root), folder, trusted=True))


def test_a_folder_inside_is_taken_as_it_is(tmp_path: Path) -> None:
    assert dropbox.place_of(str(tmp_path), ".ai/tx/msgs", trusted=False) == str(tmp_path / ".ai/tx/msgs")


def test_a_look_that_takes_long_overtakes_nobody(drop: Drop) -> None:
    """While the first are taken, later ones come of age; they are not taken before those between."""
    drop.put("000.md", letter("bob", "ada", "number 0"))
    list(drop.box.look())
    for number in range(1, 9):
        drop.put(f"{number:03d}.md", letter("bob", "ada", f"number {number}"))
        os.utime(drop.folder / f"{number:03d}.md", ns=(10**18, 10**18 + number))
    os.utime(drop.folder / "000.md", ns=(10**18, 10**18))
    list(drop.box.look())
    drop.clock.now += 1.0
    drop.put("009.md", letter("bob", "ada", "number 9"))
    for _ in drop.box.look():
        drop.clock.now += 1.0  # each takes that long
    drop.clock.now += 1.0
    list(drop.box.look())
    assert [each["subject"] for each in drop.inbox()] == [f"number {number}" for number in range(10)]
