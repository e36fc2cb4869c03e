"""One search over artifacts, messages, tasks and decisions: by their words, by what they are, in one team."""

from typing import Any

import pytest

from rookery.core import errors
from tests.support import ledger, workers
from tests.support.stage import DAY, Build, Stage


@pytest.fixture
def stage(build: Build) -> Stage:
    stage = build()
    stage.join_all("ada", "bob")
    return stage


def piece(ref: str, kind: str = "command", title: str = "needle", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "ref": ref, "title": title, **more}


def take(stage: Stage, *found: dict[str, Any], as_: str = "ada") -> list[str]:
    return stage.call("evidence.take", as_, found=list(found))["taken"]


def ids(stage: Stage, query: str, place: str = "artifacts", as_: str | None = None, **more: Any) -> list[str]:
    return [hit["id"] for hit in stage.call("search", as_, query=[query], **more)[place]]


def decide(stage: Stage, n: int, said: str, worker: str = "") -> None:
    """As the docket will."""
    with ledger.look(stage.store.location) as db:
        db.execute(
            "INSERT INTO decisions (team, n, id, verb, actor, subject, said, worker, created_at, at) "
            "SELECT t.id, ?, 'decision-' || ?, 'promote', a.id, 'w1/1', ?, ?, 1, 1 FROM teams t JOIN agents a "
            "ON a.team = t.id AND a.name = 'ada'", (n, n, said, worker),
        )  # fmt: skip


def test_all_four_are_searched(stage: Stage) -> None:
    take(stage, piece("t:1", body="the needle is in a body"))
    stage.send("ada", "bob", "needle in a letter")
    stage.call("task.add", title="Find the needle", description="in the haystack")
    decide(stage, 1, "the needle was found")
    found = stage.call("search", query=["needle"])
    assert {name: len(hits) for name, hits in found.items() if name != "query"} == {
        "artifacts": 1, "messages": 1, "tasks": 1, "decisions": 1,
    }  # fmt: skip
    hits = [*found["artifacts"], *found["decisions"], *found["tasks"]]
    assert all("needle" in hit["snippet"].lower() for hit in hits)
    assert ids(stage, "haystack", "tasks") == ["task-0001"]
    for places in (["tasks,decisions"], ["tasks", "decisions"]):
        some = stage.call("search", query=["needle"], places=places)
        assert [name for name in some if name != "query" and some[name]] == ["tasks", "decisions"]
    assert isinstance(stage.refused("search", query=["x"], places=["nowhere"]), errors.BadInput)


def test_what_it_is_decides_between_equal_words(stage: Stage) -> None:
    order = ("error", "edit", "command", "code", "bundle", "prompt", "response")
    take(stage, *(piece(f"t:{kind}", kind) for kind in order))
    assert ids(stage, "needle") == ["e1", "f1", "c1", "b1", "u1", "p1", "r1"]
    take(stage, piece("t:failed", "response", failed=True))
    assert ids(stage, "needle").index("r2") < ids(stage, "needle").index("p1"), "what failed counts more"
    stage.call("pin", refs=["r1"])
    assert ids(stage, "needle")[0] in ("r1", "e1")
    assert ids(stage, "needle").index("r1") < ids(stage, "needle").index("f1"), "and so does what was pinned"


def test_a_title_counts_more_than_a_body(stage: Stage) -> None:
    take(stage, piece("t:1", title="other", body="needle"), piece("t:2"), piece("t:3", title="x", body="needle " * 3))
    assert ids(stage, "needle")[0] == "c2"


def test_filters(stage: Stage) -> None:
    workers.write(stage.store.location, "bob", workers.built_in("default"))
    stage.call("task.add", title="needle")
    take(stage, piece("t:1"), piece("t:2", "error", failed=True))
    stage.clock.pass_time(DAY)
    take(stage, piece("t:3", "edit"), piece("t:4", failed=True), as_="bob")
    decide(stage, 1, "needle", "w1")
    stage.send("ada", "bob", "needle")
    assert sorted(ids(stage, "needle", kind="command")) == ["c1", "c2"]
    assert sorted(ids(stage, "needle", failed=True)) == ["c2", "e1"]
    assert sorted(ids(stage, "needle", worker="bob")) == ["c2", "f1"]
    assert sorted(ids(stage, "needle", since=stage.clock.wall_ms() - 1000)) == ["c2", "f1"]
    assert len(ids(stage, "needle", limit=1)) == 1
    work = stage.call("search", query=["needle"], worker="w1")
    assert (len(work["decisions"]), work["tasks"], work["messages"]) == (1, [], [])
    assert stage.call("search", query=["needle"], failed=True)["decisions"] == []


def test_mail_is_ones_own_as_before(stage: Stage) -> None:
    stage.send("ada", "bob", "needle")
    stage.join("cat")
    assert ids(stage, "needle", "messages", as_="cat") == []
    assert stage.refused("search", "cat", query=["needle"], everyone=True).code == "NOT_YOURS"
    assert len(ids(stage, "needle", "messages")) == 1


def test_never_anothers_team(build: Build) -> None:
    stage = build()
    other = Stage(stage.store.location, team="other", store=stage.store, clock=stage.clock)
    for each in (stage, other):
        each.join("ada")
        each.call("task.add", title="needle")
        take(each, piece("t:1"))
    decide(stage, 1, "needle")
    assert ledger.ask(stage.store.location, "SELECT count(*) FROM decisions") == [(2,)], "one in each"
    found = other.call("search", query=["needle"])
    assert [len(found[place]) for place in ("artifacts", "tasks", "decisions")] == [1, 1, 1]
    take(other, piece("t:2", title="secretive"))
    assert ids(stage, "secretive") == []
    assert other.call("search", query=["secretive"])["artifacts"][0]["id"] == "c2"


def test_what_changes_or_goes_is_found_as_it_is(stage: Stage) -> None:
    stage.call("task.add", title="needle")
    stage.call("task.revise", id="task-0001", title="thread")
    assert (ids(stage, "needle", "tasks"), ids(stage, "thread", "tasks")) == ([], ["task-0001"])
    stage.call("task.delete", id="task-0001")
    assert ids(stage, "thread", "tasks") == []
    take(stage, piece("t:1"))
    stage.clock.pass_time(91 * DAY)
    stage.call("sweep")
    assert ids(stage, "needle") == []


def test_words_are_never_operators(stage: Stage) -> None:
    take(stage, piece("t:1", title="a AND b"))
    for query in ('scope : t1 OR "', "NEAR(a b)", "title : a*", "{body} : x", "^a -b"):
        stage.call("search", query=[query])


def test_secrets_are_not_found(stage: Stage) -> None:
    word = "hunter" + "2Zq9"
    take(stage, piece("t:1", body=f"password={word}", data={"token": word}))
    assert ids(stage, word) == []
    assert ids(stage, "needle") == ["c1"]
    assert not ledger.ask(stage.store.location, "SELECT 1 FROM evidence WHERE body || data LIKE :w", w=f"%{word}%")
