"""Evidence is taken in once, belongs to whoever did it, and can be pointed at."""

from pathlib import Path
from typing import Any

import pytest

from rookery.core import errors, evidence
from rookery.core.caller import Caller, Grant
from tests.support import ledger, workers
from tests.support.stage import DAY, Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    stage = build()
    stage.join_all("ada", "bob")
    return stage


def piece(ref: str = "t:1", kind: str = "command", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "ref": ref, "title": f"{kind} {ref}", **more}


def take(stage: Stage, *found: dict[str, Any], as_: str | None = "ada", **more: Any) -> Any:
    return stage.call("evidence.take", as_, found=list(found), **more)


def listed(stage: Stage, **filters: Any) -> list[str]:
    return [each["short"] for each in stage.call("artifacts", **filters)["artifacts"]]


def worker(stage: Stage, agent: str = "ada", **changed: Any) -> str:
    return workers.write(stage.store.location, agent, workers.built_in("default", **changed))


# --- taken in once ----------------------------------------------------------------------------------------------------


def test_each_kind_has_ids_of_its_own(stage: Stage) -> None:
    found = [piece(f"t:{kind}:{n}", kind) for n in range(2) for kind in evidence.KINDS]
    taken = take(stage, *found)["taken"]
    assert taken == [f"{letter}{n}" for n in (1, 2) for letter in "cefbprtksluo"]
    assert listed(stage) == taken[::-1]


def test_the_same_again_changes_nothing(stage: Stage) -> None:
    first = take(stage, piece("t:1"), piece("t:2"))
    seq = stage.seq()
    again = take(stage, piece("t:2", title="told otherwise"), piece("t:3"), piece("t:3"))
    assert (first["taken"], again["taken"], again["known"]) == (["c1", "c2"], ["c3"], 2)
    assert stage.call("show", ref="c2")["title"] == "command t:2"
    assert take(stage, piece("t:1"))["taken"] == []
    assert stage.seq() == seq + 1, "what is known tells of nothing"


def test_what_is_shown(stage: Stage) -> None:
    take(stage, piece("claude:s:9", "error", body="boom\nbang", data={"exit": 1}, failed=True))
    shown = stage.call("show", ref="e1")
    assert shown == stage.call("show", ref="claude:s:9")
    assert (shown["body"], shown["data"], shown["failed"], shown["by"]) == ("boom\nbang", {"exit": 1}, True, "ada")
    assert stage.refused("show", ref="e2").code == "UNKNOWN_ARTIFACT"


BAD: tuple[Any, ...] = (
    {}, {"kind": "nonsense", "ref": "a:b", "title": "x"}, {"kind": "error", "ref": "e1", "title": "x"},
    {"kind": "error", "ref": "a: b", "title": "x"}, {"kind": "error", "ref": "a:" + "b" * 400, "title": "x"},
    {"kind": "error", "ref": "a:b", "title": 3}, {"kind": "error", "ref": "a:b", "title": "x", "failed": 1},
    {"kind": "error", "ref": "a:b", "title": "x", "file": "/etc/passwd"},
    {"kind": "error", "ref": "a:b", "title": "x", "data": {"x": float("nan")}},
)  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_bad_pieces_leave_nothing(stage: Stage, bad: dict[str, Any]) -> None:
    assert isinstance(stage.refused("evidence.take", "ada", found=[piece("good:1"), bad]), errors.BadInput)


def test_hostile_text_is_taken_as_text(stage: Stage) -> None:
    take(stage, piece("t:1", title="a\nb\x1b[2J", body="x\x00\ud800\x1b]0;t\x07y\r\nz", data={"k\n": ["\x1b[0m"]}))
    shown = stage.call("show", ref="c1")
    assert shown["title"] == "a b"
    assert shown["body"] == "x\ufffdy\nz"
    assert shown["data"] == {"k": [""]}


# --- whose it is ------------------------------------------------------------------------------------------------------


def test_an_agent_tells_of_itself_only(stage: Stage) -> None:
    id = worker(stage, "bob")
    assert isinstance(stage.refused("evidence.take", "ada", found=[piece()], agent="bob"), errors.NotYours)
    assert isinstance(stage.refused("evidence.take", "ada", found=[piece()], worker=id), errors.NotYours)
    assert stage.refused("evidence.take", found=[piece()], agent="nobody").code == "UNKNOWN_AGENT"
    assert stage.refused("evidence.take", found=[piece()], worker="w9").code == "UNKNOWN_WORKER"
    assert stage.refused("evidence.take", "bob", found=[piece()], task="task-0009").code == "UNKNOWN_TASK"
    for who, more in (("bob", {}), ("bob", {"agent": "bob"}), ("system", {"worker": id}), (None, {"worker": id})):
        take(stage, piece(f"t:{who}:{len(more)}"), as_=who, **more)
    shown = stage.call("artifacts", worker="bob")["artifacts"]
    assert {(each["by"], each["worker"]) for each in shown} == {("bob", id)}
    assert len(shown) == 4


def test_filters(stage: Stage) -> None:
    stage.call("task.add", title="Fix")
    id = worker(stage, "bob")
    take(stage, piece("t:1"), piece("t:2", "error", failed=True), task="task-0001")
    stage.clock.pass_time(DAY)
    take(stage, piece("t:3", failed=True), piece("t:4", "edit"), as_="bob")
    assert listed(stage) == ["f1", "c2", "e1", "c1"]
    assert listed(stage, worker=id) == ["f1", "c2"]
    assert listed(stage, worker=id, kind="command", failed=True) == ["c2"]
    assert listed(stage, task="task-0001") == ["e1", "c1"]
    assert listed(stage, task="task-0001", failed=True) == ["e1"]
    assert listed(stage, kind="command") == ["c2", "c1"]
    assert listed(stage, failed=True) == ["c2", "e1"]
    assert listed(stage, since=stage.clock.wall_ms() - 1000) == ["f1", "c2"]
    assert listed(stage, limit=1) == ["f1"]
    assert listed(stage, kind="patch") == []


# --- long texts -------------------------------------------------------------------------------------------------------


def files(stage: Stage) -> list[Path]:
    return sorted((Path(stage.store.location).parent / "teams" / "crew" / "artifacts" / "evidence").glob("*"))


def test_a_long_body_keeps_its_ends_and_is_one_file(stage: Stage) -> None:
    body = "first\n" + "x" * 50_000 + "\nlast"
    take(stage, piece("t:1", body=body), piece("t:2", body=body), piece("t:3", body="short"))
    shown = stage.call("show", ref="c1")
    assert shown["body"].startswith("first")
    assert shown["body"].endswith("last")
    assert "left out" in shown["body"]
    assert (len(shown["body"]) <= 8_192, shown["whole"], shown["bytes"]) == (True, False, len(body))
    assert stage.call("show", ref="c2", full=True)["body"] == body
    assert len(files(stage)) == 1
    assert stage.call("show", ref="c3", full=True)["body"] == "short"
    files(stage)[0].write_text("other")
    with pytest.raises(errors.StoreCorrupt):
        stage.call("show", ref="c1", full=True)


def test_a_caller_can_not_name_the_file(stage: Stage) -> None:
    ready = [{"kind": "error", "ref": "a:b", "title": "x", "body": "", "data": "{}", "failed": 0, "bytes": 1,
              "digest": "", "secrets": 0, "file": "../../etc/passwd"}]  # fmt: skip
    assert take(stage, piece("t:1"), ready=ready)["taken"] == ["c1"]
    assert not stage.call("show", ref="c1")["file"]


def test_what_is_shared_is_evidence(stage: Stage) -> None:
    stage.call("artifacts.add", "ada", name="s.md", kind="summary", content="all is well")
    (each,) = stage.call("artifacts")["artifacts"]
    assert (each["id"], each["short"], each["kind"], each["name"]) == ("artifact-0001", "o1", "summary", "s.md")
    shown = stage.call("show", ref="artifact-0001")
    assert shown["body"] == "all is well"
    assert stage.call("show", ref="o1") == shown
    assert stage.call("show", ref="o1", full=True)["body"] == "all is well"
    assert stage.call("artifacts.show", id="artifact-0001")["content"] == "all is well"


# --- pinning ----------------------------------------------------------------------------------------------------------


def test_only_a_person_or_the_leader_pins(stage: Stage) -> None:
    take(stage, piece())
    assert isinstance(stage.refused("pin", "ada", refs=["c1"]), errors.NotYours)
    assert stage.call("pin", refs=["c1", "t:1"]) == {"pinned": True, "changed": ["c1"], "ids": ["c1"]}
    assert stage.call("pin", refs=["c1"])["changed"] == []
    assert stage.call("show", ref="c1")["pinned"]
    assert stage.call("unpin", refs=["c1"])["changed"] == ["c1"]
    assert stage.refused("pin", refs=["c1", "c7"]).code == "UNKNOWN_ARTIFACT"
    assert ledger.ask(stage.store.location, "SELECT sum(pinned) FROM evidence") == [(0,)]


def test_a_result_is_shown_as_evidence_is(stage: Stage) -> None:
    with ledger.look(stage.store.location) as db:
        db.execute(
            "INSERT INTO deliverables (team, worker, version, agent, outcome, summary, digest, created_at, at)"
            " SELECT team, 'w1', 2, id, 'completed', 'The parser works', 'd', 1, 1 FROM agents WHERE name = 'ada'"
        )
    shown = stage.call("show", ref="w1/2")
    assert (shown["kind"], shown["title"], shown["body"]) == (
        "result",
        "completed: The parser works",
        "The parser works",
    )
    assert stage.refused("show", ref="w1/3").code == "UNKNOWN_ARTIFACT"


def test_by_a_token_an_agent_tells_of_itself(stage: Stage) -> None:
    made = stage.call("token.new", agent="ada")
    ((ada,),) = ledger.ask(stage.store.location, "SELECT id FROM agents WHERE name = 'ada'")
    mine = Caller(grant=Grant("crew", made["id"], "agent", ada, "ada"))
    assert stage.call("evidence.take", mine, found=[piece()])["taken"] == ["c1"]
    assert stage.call("show", ref="c1")["by"] == "ada"
    assert isinstance(stage.refused("evidence.take", mine, found=[piece("t:2")], agent="bob"), errors.NotYours)
    reader = stage.call("token.new", read_only=True)
    assert stage.refused("evidence.take", Caller(grant=Grant("crew", reader["id"], "viewer")), found=[piece("t:3")])
