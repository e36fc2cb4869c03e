"""Workers that are models: the same tools, read as reports. Through real `rook mcp` processes."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.runtime import process, repository
from tests.support import ledger
from tests.tools.conftest import TEAM, Seats
from tests.unit.gitrepo import repository as new_repository

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
SUMMARY = "The header parser now rejects lines without a colon, and the three tests that cover it pass."


def becomes_worker(home: Path, tmp_path: Path, name: str) -> Path:
    """The agent, which holds task-0001, is a worker from now on; where it works."""
    root, tree = new_repository(tmp_path / "repo"), tmp_path / "tree"
    base = repository.commit_of(str(root))
    repository.add_worktree(str(root), str(tree), base)
    with closing(ledger.look(f"{home}/rookery.db")) as db:
        ((team, agent),) = db.execute("SELECT team, id FROM agents WHERE name = ?", (name,))
        ((boss,),) = db.execute("SELECT id FROM agents WHERE name = 'boss'")
        row = {
            "team": team, "n": 9, "id": "w9", "agent": agent, "kind": "default", "host": "script",
            "backend": "headless", "profile": '{"can_spawn": true}', "machine": process.host_name(), "root": str(root),
            "tree": str(tree),
            "base": base, "task": "task-0001", "title": "Parse", "asked_by": boss, "state": "running", "run": "run-1",
            "created_at": 0, "at": 0,
        }  # fmt: skip
        db.execute(f"INSERT INTO workers ({', '.join(row)}) VALUES ({', '.join(':' + key for key in row)})", row)
    return tree


async def test_a_model_reports_as_a_worker(seats: Seats, home: Any, tmp_path: Path) -> None:
    with rookery.connect(home=str(home), team=TEAM, cwd=str(tmp_path)) as team:
        team.add_task("Parse the header")
    async with seats() as boss, seats(ROOK_RUN="run-1") as model:
        await boss.call("join", name="boss")
        await model.call("join", name="ada")
        await model.call("claim", id="task-0001")
        tree = becomes_worker(home, tmp_path, "ada")
        assert (await model.call("claim")).startswith("You hold task-0001"), "what it holds, and nothing besides"
        told = await model.call("progress", steps=["done: read it", "doing: the parser"], said="found the place")
        assert told == "w9: 1 of 2 steps done."

        asked = await model.call(
            "ask", title="Which format?", body="Both are used.", options=["JSON", "YAML"], risk="high"
        )
        question = asked.split()[0]
        assert "was put before boss" in asked
        mail = await boss.call("inbox")
        assert "| | Which format?" in mail
        assert await boss.call("send", reply_to=question, body="2") == f"{question} of ada is answered."
        assert (await boss.refused("send", reply_to=question, body="1")).startswith("QUESTION_ANSWERED")
        assert "| | YAML" in await model.call("inbox")

        plan = (await model.call("ask", title="First the parser.", plan=True)).split()[0]
        assert (await boss.refused("send", reply_to=plan, body="fine")).startswith("BAD_ANSWER")
        await boss.call("send", reply_to=plan, body="approve: but keep it small")

        vague = await model.refused("done", summary="fixed it")
        assert vague.startswith("NOT_A_RESULT: That is not a result yet.")
        assert "an outcome" in vague
        (tree / "header.py").write_text("x\n")
        args: dict[str, Any] = {"outcome": "completed", "summary": SUMMARY, "tests": ["pytest -q: 3 passed"]}
        done = await model.call("done", **args)
        assert done == "w9 reported done. task-0001 is completed. Nothing is left to do."
        assert await model.call("done", **args) == done, "once more is the same"
        assert (await model.refused("fail", reason="it does not work after all")).startswith("REPORTED")
        assert f"| | {SUMMARY}" in await boss.call("inbox")


async def test_a_reviewer_gives_its_verdict_as_its_report(seats: Seats, home: Any, tmp_path: Path) -> None:
    with rookery.connect(home=str(home), team=TEAM, cwd=str(tmp_path)) as team:
        team.call("task.add", title="Parse the header", review=True)
        async with seats() as boss, seats() as author, seats(ROOK_RUN="run-1") as model:
            await boss.call("join", name="boss")
            await author.call("join", name="bob")
            await model.call("join", name="ada")
            await author.call("claim", id="task-0001")
            await author.call("done", summary=SUMMARY, tests=["pytest -q: 3 passed"])
            becomes_worker(home, tmp_path, "ada")
            assert (await model.refused("done", outcome="SHIP", summary="Good.")).startswith("NOT_A_RESULT")
            with closing(ledger.look(f"{home}/rookery.db")) as db:
                db.execute("UPDATE workers SET role = 'review'")
            shown = await model.call("tasks", id="task-0001")
            assert f"| {SUMMARY}" in shown, "what it is to judge"
            assert (await model.refused("done", outcome="completed", summary=SUMMARY)).startswith("VERDICT_WANTED")
            await model.call("done", outcome="SHIP", summary="The three tests fail without the change.")
        (review,) = team.call("task.show", id="task-0001")["reviews"]
        assert (review["verdict"], review["reviewer"]) == ("SHIP", "ada")
        assert team.call("worker.show", id="w9")["report"] == "done"


async def test_a_worker_starts_a_worker_and_others_keep_their_words(seats: Seats, home: Any, tmp_path: Path) -> None:
    with rookery.connect(home=str(home), team=TEAM, cwd=str(tmp_path)) as team:
        team.add_task("Parse the header")
        async with seats() as boss, seats(ROOK_RUN="run-1") as model:
            await boss.call("join", name="boss")
            await model.call("join", name="ada")
            await model.call("claim", id="task-0001")
            becomes_worker(home, tmp_path, "ada")
            told = await model.call("spawn", assignment="Write the tests of the parser", host="script")
            assert told.startswith("w1 (")
            assert team.call("worker.show", id="w1")["parent"] == "w9"
            escalated = await boss.call("ask", title="Which format?", options=["JSON", "YAML"], recommendation="JSON")
            assert "was put before the person" in escalated
            letter = team.call("inbox", whole=True)["messages"][0]
            assert "Option 2: YAML" in letter["body"]
            assert "Recommended: JSON" in letter["body"]
