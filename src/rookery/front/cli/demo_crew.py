"""The workers of `rook demo`, each a process that the daemon started: they know what every worker is told, and speak by
`rookery.worker` and the public API. What a model would think up is written down (`demo_project`); all else is real.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

import rookery.worker
from rookery.client import waiting
from rookery.client.handles import Message
from rookery.core import errors
from rookery.runtime import children, files, repository
from rookery.wake.port import EVERYONE
from rookery.worker import Worker

from . import demo_project as project
from .demo_project import MEASURES, Work

PATIENCE_S = 30.0
WANTED = f"May I have {MEASURES}?"
CODE, TESTS = "textstat/", "tests/test_"


class GaveUp(Exception):
    """It can not go on, and says why."""


# -- hands -----------------------------------------------------------------------------------------------------------


def _write(me: Worker, work: Work) -> None:
    for name, text in work.files.items():
        path = os.path.join(me.tree, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        files.write_atomic(path, text.encode(), 0o644)


def _enter(me: Worker, work: Work) -> None:
    """Its lines in the file that everybody wants."""
    path = os.path.join(me.tree, MEASURES)
    text = files.read_limited(path, 1 << 20).decode()
    files.write_atomic(path, text.replace(work.below, work.below + work.lines).encode(), 0o644)


def _report(me: Worker, work: Work) -> None:
    """With the tests that really ran in its worktree."""
    code, said, complaint = children.answer(
        [sys.executable, *project.CHECK], "", environ=dict(os.environ), cwd=me.tree, limit_s=PATIENCE_S
    )
    if code:
        raise GaveUp(f"The tests fail: {(said + complaint).strip()[-300:]}")
    me.done("completed", work.summary, list(work.files), tests=["python -m unittest: passed"])


def _letter(me: Worker, from_whom: str = "", subject: str = "") -> Message:
    """The next letter of that kind; others are put aside."""
    while waiting_mail := me.agent.wait(PATIENCE_S):
        for message in waiting_mail:
            message.ack()
            if from_whom == message.sender or (subject and message.subject == subject):
                return message
    raise GaveUp(f"No mail came within {PATIENCE_S:.0f} s.")


# -- implementers ----------------------------------------------------------------------------------------------------


def plain(work: Work) -> Callable[[Worker], None]:
    def deed(me: Worker) -> None:
        me.progress(["doing: write it", "todo: run the tests"])
        _write(me, work)
        _report(me, work)

    return deed


def count(me: Worker) -> None:
    """Has the shared file first, and gives it up when it is asked for it."""
    with me.agent.reserve(MEASURES, reason="words and sentences go in"):
        me.progress(["doing: count, and enter it among the measures", "todo: run the tests"])
        _write(me, project.COUNT)
        _enter(me, project.COUNT)
        asked = _letter(me, subject=WANTED)
    asked.reply('It is yours: my two lines are below "how much it is". Please leave those as they are.')
    _report(me, project.COUNT)


def length(me: Worker) -> None:
    """Is refused the shared file, and asks whoever has it."""
    me.progress(["doing: measure words", "todo: enter it among the measures", "todo: run the tests"])
    _write(me, project.LENGTH)
    _until(me, lambda: me.agent.call("reservations")["reservations"])  # the scene: someone has it
    try:
        hold = me.agent.reserve(MEASURES, reason="the length of words goes in")
    except errors.Refused as refusal:
        hold = _asked_for(me, refusal)
    with hold:
        _enter(me, project.LENGTH)
    _report(me, project.LENGTH)


def _asked_for(me: Worker, refusal: errors.Refused) -> Any:
    me.progress(note=refusal.message)
    holder = refusal.facts["holder"]
    me.agent.send(holder, WANTED, f"I was refused: {refusal.message}")
    _letter(me, from_whom=holder)
    return me.agent.reserve(MEASURES, reason="the length of words goes in", wait=PATIENCE_S)


def _until(me: Worker, look: Callable[[], Any]) -> Any:
    with me.team.client.listen(EVERYONE) as listener:
        found = waiting.until(listener, look, timeout_s=PATIENCE_S, poll_s=0.2)
    if not found:
        raise GaveUp(f"Nothing happened within {PATIENCE_S:.0f} s.")
    return found


def common(me: Worker) -> None:
    answer = me.ask(
        'Are "The" and "the" one word?', risk="low", options=["one word", "two words"],
        recommendation="one word: people count so",
    )  # fmt: skip
    plain(project.common(one_word=answer.choice != 2))(me)


def reading(me: Worker) -> None:
    """At first without a test. What a review sent back is read, and done."""
    sent_back = [note for note in me.agent.call("task.show", id=me.task)["notes"] if note["kind"] == "review"]
    plain(project.READING if sent_back else project.READING_FIRST)(me)


DEEDS: dict[str, Callable[[Worker], None]] = {
    "Split a text into words": plain(project.SPLIT),
    "A text to try it on": plain(project.SAMPLE),
    "Read a file, or standard input": plain(project.SOURCE),
    "Count words and sentences": count,
    "Average length of a word": length,
    "The most common words": common,
    "Reading time": reading,
    "The command, and how to use it": plain(project.COMMAND),
}


# -- reviewers -------------------------------------------------------------------------------------------------------


def review(me: Worker) -> None:
    """One rule, looked up in the commit itself: code comes with a test of its own."""
    change = me.agent.call("changes.show", id=me.agent.call("changes", task=me.task)["changes"][0]["id"])
    missing = [test for test in map(_test_of, change["files"]) if test and not _is_in(me, change["head"], test)]
    if missing:
        said = f"{', '.join(missing)} is missing. What of an empty text, and of a short one?"
        me.agent.call("task.review", id=me.task, verdict="NEEDS_WORK", feedback=said)
    else:
        me.agent.call("task.review", id=me.task, verdict="SHIP", feedback="Does what was asked, and is tested.")


def _test_of(file: dict[str, Any]) -> str:
    name, _ = os.path.splitext(os.path.basename(file["path"]))
    return f"{TESTS}{name.strip('_')}.py" if file["path"].startswith(CODE) and file["status"] == "A" else ""


def _is_in(me: Worker, commit: str, path: str) -> bool:
    return repository.git(me.tree, "cat-file", "-e", f"{commit}:{path}").code == 0


# -- the process -----------------------------------------------------------------------------------------------------


def main() -> int:
    with rookery.worker.here() as me:
        if me.agent.call("worker.show", id=me.id)["role"] == "review":
            review(me)
            return 0
        while (given := me.next()) is not None:
            try:
                DEEDS[given.title](me)
            except (GaveUp, KeyError, errors.RookError) as error:
                me.fail(f"{given.title}: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
