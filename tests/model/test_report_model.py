"""The report of a worker beside a model of it: asked, answered, done, failed, ended and claimed anew, in any order, by
anyone, again and again."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rookery.core.errors import RookError
from tests.support.reporting import SUMMARY, TEST, Shop
from tests.support.stage import Stage

WORDS = st.sampled_from(["Which format?", "Which place?", "Whose name?"])
REASON = "the compiler is not installed here"


class Reports(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="rook-reports-"))
        self.stage = Stage(self.folder / "ledger.db")
        self.shop = Shop(self.stage, self.folder)
        self.open: dict[str, str] = {}  # words of an open question, and its id
        self.closed: list[str] = []
        self.settled: tuple[str, str] | None = None
        self.over = False

    @initialize()
    def begins(self) -> None:
        self.stage.join_all("ada", "bob")
        self.id = self.shop.worker(as_="ada")
        self.shop.write(self.id)

    def attempt(self, verb: str, as_: Any = None, **args: Any) -> Any:
        try:
            return self.stage.call(verb, as_ if as_ is not None else self.shop.caller(self.id), **args)
        except RookError as error:
            return error

    @rule(words=WORDS)
    def ask(self, words: str) -> None:
        told = self.attempt("ask", question=words)
        if self.over:
            assert told.code == "NOT_A_WORKER"
        elif self.settled:
            assert told.code == "REPORTED"
        elif words in self.open:
            assert (told["id"], told["replayed"]) == (self.open[words], True)
        else:
            self.open[words] = told["id"]

    @rule(data=st.data(), who=st.sampled_from(["ada", "bob", "user", "self"]))
    def answer(self, data: Any, who: str) -> None:
        known = [*self.open.values(), *self.closed]
        if not known:
            return
        id = data.draw(st.sampled_from(known))
        told = self.attempt("answer", self.shop.caller(self.id) if who == "self" else who, id=id, said=f"by {who}")
        if who == "self":
            assert isinstance(told, RookError)
            assert told.code in ("OWN_QUESTION", "SESSION_FENCED")
        elif who == "bob":
            assert told.code == "NOT_ASKED"
        elif id in self.open.values():
            assert told["state"] == "answered"
            self.open = {words: other for words, other in self.open.items() if other != id}
            self.closed.append(id)
        else:
            refused = isinstance(told, RookError)
            assert told.code in ("QUESTION_ANSWERED", "QUESTION_WITHDRAWN") if refused else told["replayed"]

    @rule(more=st.sampled_from(["", " Empty lines are refused as well."]))
    def done(self, more: str) -> None:
        self.report("done", SUMMARY + more, outcome="completed", summary=SUMMARY + more, tests=[TEST])

    @rule(more=st.sampled_from(["", ", nor is another"]))
    def fail(self, more: str) -> None:
        self.report("failed", REASON + more, reason=REASON + more)

    def report(self, report: str, words: str, **args: Any) -> None:
        told = self.attempt("done" if report == "done" else "fail", **args)
        if self.over:
            assert told.code == "NOT_A_WORKER"
        elif self.settled == (report, words):
            assert told["replayed"] is True
        elif self.settled:
            assert told.code == "REPORTED"
        else:
            assert (told["report"], told["summary"]) == (report, words)
            self.settled = (report, words)
            self.withdraw()

    @rule()
    def vague(self) -> None:
        told = self.attempt("done", outcome="completed", summary="done")
        assert told.code in ("NOT_A_RESULT", "REPORTED", "NOT_A_WORKER")

    @rule()
    def someone_else_reports(self) -> None:
        assert self.attempt("fail", "bob", reason=REASON).code == "NOT_A_WORKER"

    @rule()
    def an_older_run_reports(self) -> None:
        assert self.attempt("fail", reason=REASON, run="run-older").code in ("RUN_OVER", "NOT_A_WORKER")

    @rule()
    def comes_back(self) -> None:
        """A failed task is opened again by its owner, and the worker claims it."""
        if self.over or not self.settled or self.settled[0] != "failed":
            return
        self.stage.call("task.reset", "ada", id="task-0001")
        told = self.attempt("task.claim", id="task-0001")
        assert told["taskId"] == "task-0001"
        self.settled = None

    @rule()
    def ended(self) -> None:
        if not self.over:
            self.shop.over(self.id)
            self.over = True
            self.withdraw()

    def withdraw(self) -> None:
        self.closed += self.open.values()
        self.open = {}

    @invariant()
    def is_as_it_should_be(self) -> None:
        if not hasattr(self, "id"):
            return
        card = self.shop.card(self.id)
        expected = self.settled[0] if self.settled else "asking" if self.open else ""
        assert card["report"] == expected
        waiting = self.stage.call("questions")["questions"]
        assert {each["id"] for each in waiting} == set(self.open.values())
        task = self.stage.call("task.show", id="task-0001")
        if self.settled:
            assert task["status"] == {"done": "completed", "failed": "failed"}[self.settled[0]]
        elif not self.over:
            assert task["status"] == "in_progress"

    def teardown(self) -> None:
        self.stage.close()
        shutil.rmtree(self.folder)


TestReports = Reports.TestCase
TestReports.settings = settings(max_examples=8, stateful_step_count=15, deadline=None)
