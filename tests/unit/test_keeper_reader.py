"""Records of agents read on by a keeper: each happening once, whoever reads, whenever, and wherever it was killed."""

import asyncio
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rookery.core import errors
from rookery.core.evidence import Found
from rookery.keeper import giving
from rookery.keeper.metering import Meter
from rookery.keeper.reader import Reader
from rookery.runtime import starting
from tests.support import recorded
from tests.support.stage import Build, Stage

KINDS = {"command": 3, "edit": 3, "test": 2, "commit": 1, "response": 1, "code": 1, "prompt": 1}
LINES = recorded.lines("transcripts", "claude")


class Verbs:
    """The verbs of a stage; some of them may be refused for a while."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.refusing: dict[str, errors.RookError] = {}
        self.called: list[str] = []

    async def teams(self) -> list[str]:
        return self._stage.call("transcripts.teams", "system")["teams"]

    async def call(self, team: str, verb: str, args: Mapping[str, Any]) -> Any:
        self.called.append(verb)
        if verb in self.refusing:
            raise self.refusing[verb]
        return self._stage.call(verb, "system", **args)


@pytest.fixture
def stage(build: Build) -> Stage:
    return build()


class Session:
    """An agent at a terminal of its own, whose program writes its session down."""

    def __init__(self, stage: Stage, folder: Path, name: str = "ada") -> None:
        self.stage = stage
        self.path = folder / name / "s-1.jsonl"
        self.path.parent.mkdir()
        self.process = stage.process()
        self.start()

    def start(self, path: Path | str | None = None, host: str = "claude") -> None:
        caller = self.stage.caller(None, process=self.process, lineage=(self.process,), cwd=recorded.ROOT)
        self.stage.call("turn.start", caller, host=host, host_id="s-1", transcript=str(path or self.path), name="ada")

    def write(self, *lines: str, end: str = "\n") -> None:
        with self.path.open("a") as file:
            file.write("\n".join(lines) + end)

    def leave(self) -> None:
        self.stage.call("leave", self.stage.caller("ada", lineage=(self.process,)))


@pytest.fixture
def session(stage: Stage, tmp_path: Path) -> Session:
    return Session(stage, tmp_path)


def look(stage: Stage, reader: Reader | None = None, times: int = 1) -> Reader:
    reader = reader or Reader(Verbs(stage), every_s=1)
    for _ in range(times):
        asyncio.run(reader.look())
    return reader


def kinds(stage: Stage) -> Counter[str]:
    return Counter(each["kind"] for each in stage.call("artifacts", limit=200)["artifacts"])


def open_ones(stage: Stage) -> list[dict[str, Any]]:
    return stage.call("transcripts.due", "system")["transcripts"]


def test_what_an_agent_does_is_evidence_of_it_as_it_is_written_down(stage: Stage, session: Session) -> None:
    reader = look(stage)
    assert not kinds(stage), "there is no file yet"
    for at in range(0, len(LINES), 7):
        session.write(*LINES[at : at + 7])
        look(stage, reader)
    assert kinds(stage) == KINDS
    found = stage.call("artifacts", limit=200)["artifacts"]
    assert {each["by"] for each in found} == {"ada"}
    assert {each["data"].get("path") for each in found} >= {"calc.py", "calc_test.py"}, "relative to where it works"


def test_whoever_comes_after_a_kill_goes_on_from_there_and_adds_nothing_twice(stage: Stage, session: Session) -> None:
    for at in range(0, len(LINES), 5):
        session.write(*LINES[at : at + 5])
        look(stage)  # each time another one
    look(stage)
    assert kinds(stage) == KINDS
    (there,) = open_ones(stage)
    assert int(there["place"].split(":")[1]) == session.path.stat().st_size, "and not from the beginning"


def test_one_killed_before_it_wrote_down_how_far_it_was_reads_again_in_vain(stage: Stage, session: Session) -> None:
    session.write(*LINES)
    verbs = Verbs(stage)
    verbs.refusing = {"transcripts.read": errors.StoreBusy("busy", "later")}
    with pytest.raises(errors.StoreBusy):
        look(stage, Reader(verbs, every_s=1))
    assert kinds(stage) == KINDS
    assert open_ones(stage)[0]["place"] == ""
    before = stage.seq()
    look(stage)
    assert kinds(stage) == KINDS
    assert [event["type"] for event in stage.events() if event["seq"] > before] == [], "nothing was new"


def test_a_call_is_read_with_its_answer_even_by_another_one(stage: Stage, session: Session) -> None:
    """The place that is written down stays before a call that waits. The control: its end would be the file's."""
    asked = next(n for n, line in enumerate(LINES) if "toolu_0005" in line and '"tool_use"' in line)
    session.write(*LINES[: asked + 1])
    look(stage)
    assert kinds(stage)["test"] == 0
    place = int(open_ones(stage)[0]["place"].split(":")[1] or 0) if open_ones(stage)[0]["place"] else 0
    assert place < session.path.stat().st_size
    session.write(*LINES[asked + 1 :])
    look(stage)
    assert kinds(stage) == KINDS


def test_a_torn_line_is_read_when_it_is_whole_and_a_foreign_one_passed_over(stage: Stage, session: Session) -> None:
    reader = look(stage)
    session.write("no json", "[1]", *LINES[:20])
    session.write(LINES[20][: len(LINES[20]) // 2], end="")
    look(stage, reader)
    session.write(LINES[20][len(LINES[20]) // 2 :], *LINES[21:])
    look(stage, reader)
    assert kinds(stage) == KINDS


def test_a_session_that_is_over_is_read_to_its_end_and_then_let_be(stage: Stage, session: Session) -> None:
    """Without a daemon, too: whoever comes finds it. One that goes on is read on."""
    session.write(*LINES[:30])
    session.leave()
    assert [each["over"] for each in open_ones(stage)] == [True]
    reader = look(stage)
    assert open_ones(stage) == []
    assert stage.call("transcripts.teams", "system")["teams"] == []
    look(stage, reader)
    session.start()
    session.write(*LINES[30:])
    look(stage, reader)
    assert kinds(stage) == KINDS


def test_a_session_that_begins_anew_in_another_file_leaves_the_first_one_to_be_read(
    stage: Stage, session: Session, tmp_path: Path
) -> None:
    session.write(*LINES)
    other = tmp_path / "other" / "s-1.jsonl"
    other.parent.mkdir()
    session.start(other)  # as after /clear
    other.write_text(
        "".join(line.replace("toolu_", "other_") + "\n" for line in LINES if "Bash" in line or "tool_result" in line)
    )
    look(stage, times=2)
    assert kinds(stage)["test"] == 4
    assert kinds(stage)["prompt"] == 1


@pytest.mark.parametrize("what", ["ledger", "folder", "pipe", "nothing", "forbidden", "linked", "passwd"])
def test_a_record_that_is_none_is_left_alone(stage: Stage, session: Session, tmp_path: Path, what: str) -> None:
    """A hook may name anything; the ledger itself among it (H39). Others are read all the same."""
    path = tmp_path / what / "s-1.jsonl"
    path.parent.mkdir()
    if what == "ledger":
        path.symlink_to(stage.store.location)
    elif what == "linked":
        (tmp_path / "elsewhere").write_text("\n".join(LINES).replace("toolu_", "other_"))
        os.link(tmp_path / "elsewhere", path)
    elif what == "passwd":
        path = Path("/etc/passwd")
    elif what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "forbidden":
        path.write_text(LINES[0])
        path.chmod(0)
    session.write(*LINES)
    session.start(path)
    look(stage, times=2)
    assert kinds(stage) == KINDS


def test_a_program_whose_record_is_not_known_is_not_read(stage: Stage, session: Session, tmp_path: Path) -> None:
    session.start(tmp_path / "x", host="opencode")
    (tmp_path / "x").write_text(LINES[0])
    look(stage)
    assert not kinds(stage)


# -- what is given, and what is not taken ----------------------------------------------------------------------------


def found(n: int, **more: Any) -> Found:
    return Found("command", f"claude:s:{n}", f"make {n}", **more)


def gives(stage: Stage, waiting: list[Found], verbs: Verbs | None = None) -> int:
    return asyncio.run(giving.give(verbs or Verbs(stage), "crew", waiting, {"agent": "ada"}))


def test_what_is_refused_for_what_it_is_does_not_keep_the_rest_waiting(stage: Stage) -> None:
    stage.join("ada")
    waiting = [found(1), Found("riddle", "claude:s:2", "?"), found(3), Found("command", "no ref", "x"), found(4)]
    assert gives(stage, waiting) == 5
    assert waiting == []
    assert kinds(stage) == {"command": 3}


def test_what_a_busy_ledger_does_not_take_waits(stage: Stage) -> None:
    stage.join("ada")
    verbs = Verbs(stage)
    verbs.refusing["evidence.take"] = errors.StoreBusy("busy", "later")
    waiting = [found(n) for n in range(3)]
    assert gives(stage, waiting, verbs) == 0
    assert len(waiting) == 3
    verbs.refusing.clear()
    assert gives(stage, waiting, verbs) == 3
    assert kinds(stage) == {"command": 3}


@pytest.mark.slow
def test_batches_are_bounded_in_number_and_in_size(stage: Stage) -> None:
    stage.join("ada")
    verbs = Verbs(stage)
    gives(stage, [found(n) for n in range(giving.MANY + 1)], verbs)
    assert verbs.called == ["evidence.take"] * 2
    verbs.called.clear()
    large = "x" * (giving.BYTES // 2 + 1)
    gives(stage, [found(n, body=large) for n in range(100, 103)], verbs)
    assert verbs.called == ["evidence.take"] * 3


# -- the meter of a worker -------------------------------------------------------------------------------------------


def meter(tmp_path: Path, lines: list[str], name: str = "output.ndjson") -> tuple[Meter, Path]:
    where = starting.Place(str(tmp_path), str(tmp_path))
    stream = tmp_path / name
    stream.write_text("".join(f"{line}\n" for line in lines))
    return Meter("claude", where, "run-1", recorded.ROOT), stream


def counted(meter: Meter) -> Counter[str]:
    return Counter(each.kind for each in meter.found)


def test_a_meter_counts_tokens_and_finds_evidence_in_the_same_lines(tmp_path: Path) -> None:
    lines = recorded.lines("streams", "claude")
    one, stream = meter(tmp_path, lines[:9])
    assert one.look("")
    with stream.open("a") as file:
        file.write("\n".join(lines[9:]) + "\n")
    assert one.look("")
    assert not one.look("")
    one.over()
    assert (one.tally.input, one.tally.output, one.tally.calls, one.tally.failures) == (90, 45, 8, 2)
    assert counted(one) == {kind: count for kind, count in KINDS.items() if kind != "prompt"}
    assert all(each.ref.startswith(("claude:run-1:", "git:")) for each in one.found)


def test_a_stream_that_is_another_or_was_shortened_is_read_from_its_beginning(tmp_path: Path) -> None:
    """And counts nothing twice: sums are those of what is there (H32)."""
    lines = recorded.lines("streams", "claude")
    one, stream = meter(tmp_path, lines)
    one.look("")
    refs = {each.ref for each in one.found}
    os.truncate(stream, 0)
    with stream.open("a") as file:
        file.write("\n".join(lines[:12]) + "\n")
    one.look("")
    assert one.tally.calls < 8
    aside = tmp_path / "aside"
    aside.write_text("\n".join(lines) + "\n")
    aside.rename(stream)
    one.look("")
    assert one.tally.calls == 8
    assert {each.ref for each in one.found} == refs


def test_a_meter_that_nobody_takes_from_reads_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.keeper.metering.HELD", 3)
    monkeypatch.setattr("rookery.keeper.metering.PIECE", 2_000)
    one, _ = meter(tmp_path, recorded.lines("streams", "claude"))
    assert one.look("")
    held = len(one.found)
    assert not one.look("")
    assert len(one.found) == held
    while one.found:
        one.found.clear()
        one.look("")
    assert one.tally.calls == 8


def test_a_record_at_a_terminal_is_read_like_a_stream_and_nothing_that_may_not_be(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    record.write_text("\n".join(LINES) + "\n")
    one = Meter("claude", starting.Place(str(tmp_path), str(tmp_path)), "run-1", recorded.ROOT)
    assert not one.look(str(tmp_path / "not-there"))
    assert one.look(str(record))
    assert counted(one) == KINDS
    assert not one.look(str(tmp_path)), "a folder"
