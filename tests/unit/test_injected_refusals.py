"""H44: a refusal at any statement of any verb leaves nothing behind, whether it ends the verb or the verb survives it.

A scene is played (tests/support/verb_scenes.py); before each of its calls, the same call is made once for every
statement that writes, and that statement is refused instead. Either the whole call is refused and the ledger is as it
was, or the verb goes on: then a savepoint (`tx.attempt`) took back what the refused part had written. A verb that
catches a refusal in any other way is found here. The scenes call every verb that writes.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from rookery.core import errors
from rookery.core.errors import RookError
from rookery.service.tx import Tx
from rookery.service.verbs import TABLE, VERBS
from rookery.store.sqlite import SqliteTransaction
from tests.support import ledger
from tests.support.families import few
from tests.support.stage import Build, Stage
from tests.support.verb_scenes import SCENES

MOST = 200  # more statements than any call has
WRITES = ("INSERT", "UPDATE", "DELETE")


class Injected(
    errors.TooLarge, errors.UnknownName, errors.NameTaken, errors.SessionFenced, errors.NotYours, errors.LeaseLost,
    errors.BudgetSpent, errors.CursorTooOld,
):  # fmt: skip
    """A refusal of every kind: whichever kind a verb catches, it catches this one."""


class Undo(Exception):
    """The verb survived: what it did is looked at and not kept."""


class Walk:
    """Plays the calls of a stage; without `refuses` it only notes which verbs wrote."""

    def __init__(self, stage: Stage, monkeypatch: pytest.MonkeyPatch, *, refuses: bool = True) -> None:
        self.written: set[str] = set()  # verbs whose call changed the ledger
        self.walked: set[str] = set()  # verbs of which a statement was refused
        self.survivors: set[str] = set()
        self.refused = 0
        self._refuses = refuses
        self._stage = stage
        self._call = stage.call
        self._write = stage.store.write
        self._at = 0  # the statement that is refused; 0: none
        self._count = 0
        self._taken_back = False
        self._patch(monkeypatch)

    def _patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run, all_rows, savepoint = SqliteTransaction.run, SqliteTransaction._rows, SqliteTransaction.savepoint
        walk = self

        def counted_run(tx: SqliteTransaction, query: str, /, **params: Any) -> int:
            walk._meet(tx, query)
            return run(tx, query, **params)

        def counted_rows(tx: SqliteTransaction, query: str, params: dict[str, Any]) -> Any:
            walk._meet(tx, query)
            return all_rows(tx, query, params)

        def watched(tx: SqliteTransaction, work: Callable[[], Any]) -> Any:
            before = ledger.everything_in(tx._connection) if walk._at else {}
            try:
                return savepoint(tx, work)
            except Injected:
                assert ledger.everything_in(tx._connection) == before, "the attempt left something behind"
                walk._taken_back = True
                raise

        monkeypatch.setattr(SqliteTransaction, "run", counted_run)
        monkeypatch.setattr(SqliteTransaction, "_rows", counted_rows)
        monkeypatch.setattr(SqliteTransaction, "savepoint", watched)
        monkeypatch.setattr(self._stage.store, "write", self._judged)
        monkeypatch.setattr(self._stage, "call", self.call)

    def _meet(self, tx: SqliteTransaction, query: str) -> None:
        if self._at and tx.writable and tx._queries[query].lstrip().upper().startswith(WRITES):
            self._count += 1
            if self._count == self._at:
                raise Injected("Refused by the test.", code="INJECTED")

    def _judged(self, team: str, work: Callable[[Any], Any]) -> Any:
        if not self._at:
            return self._write(team, work)

        def survives(db: Any) -> Any:
            work(db)
            raise Undo

        return self._write(team, survives)

    def call(self, verb: str, as_: Any = None, **args: Any) -> Any:
        if not VERBS[verb].writes:
            return self._call(verb, as_, **args)
        before = self._stage.rows()
        if self._refuses:
            self._walk(verb, as_, args, before)
        answer = self._call(verb, as_, **args)
        self.written |= {verb} if self._stage.rows() != before else set()
        return answer

    def _walk(self, verb: str, as_: Any, args: dict[str, Any], before: Any) -> None:
        for at in range(1, MOST):
            self._at, self._count, self._taken_back, reached = at, 0, False, False
            try:
                self._call(verb, as_, **args)
            except Undo:
                reached = self._count >= at
                assert self._taken_back or not reached, f"{verb} caught a refusal at statement {at} without tx.attempt"
                self.survivors |= {verb} if reached else set()
            except RookError:
                reached = self._count >= at
                self.refused += reached
            finally:
                self._at = 0
            assert self._stage.rows() == before, f"{verb}, refused at statement {at}, left rows behind"
            if not reached:
                return
            self.walked.add(verb)
        raise AssertionError(f"{verb} has {MOST} statements or more")


@pytest.fixture
def walk(build: Build, monkeypatch: pytest.MonkeyPatch) -> Walk:
    return Walk(build(), monkeypatch)


@pytest.mark.parametrize("name", few(SCENES, "mail", "crew", "reserved task"))
def test_h44_a_refusal_at_any_statement_leaves_nothing(
    name: str, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = SCENES[name]
    with monkeypatch.context() as patched:
        walk = Walk(build(**scene.settings), patched)
        scene.play(walk._stage)
    assert walk.refused > 0
    assert scene.survives in {"", *walk.survivors}
    assert sorted(walk.written - walk.walked) == [], "these write by statements that are not seen here"


def test_h44_the_scenes_call_every_verb_that_writes(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new verb that writes gets a call in a scene."""
    written: set[str] = set()
    for scene in SCENES.values():
        with monkeypatch.context() as patched:
            walk = Walk(build(**scene.settings), patched, refuses=False)
            scene.play(walk._stage)
        written |= walk.written
    assert sorted({each.name for each in TABLE if each.writes} - written) == []


def test_the_injected_refusal_is_of_every_kind() -> None:
    kinds = {each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, RookError)}
    refusals = {each for each in kinds if issubclass(each, (errors.BadInput, errors.Refused))}
    assert refusals - set(Injected.__mro__) == set()


@pytest.mark.parametrize("kind", [errors.Refused, errors.LeaseLost, errors.BadInput])
def test_a_refusal_that_is_caught_without_an_attempt_is_found(
    kind: type[RookError], walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: `status` calls code that swallows what it is refused."""

    def swallow(tx: Tx) -> None:
        with suppress(kind):
            tx.event("first", "ada")
            tx.event("second", "ada")

    stage = walk._stage
    stage.join("ada")
    monkeypatch.setattr(Tx, "beat", swallow)
    with pytest.raises(AssertionError, match=r"without tx\.attempt"):
        stage.call("status", "ada", note="x")
