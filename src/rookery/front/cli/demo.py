"""`rook demo`: a crew of scripted workers on a little repository, from the plan to the last landing, shown live.

Everything is real but the thinking: a daemon, workers in processes and worktrees of their own, the ledger, git, and a
check that runs the project's tests. All of it is in one folder of its own, which is gone afterwards.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from rookery.client import waiting
from rookery.core import errors
from rookery.runtime import children, files, repository, runs
from rookery.wake.port import EVERYONE

from . import daemon
from . import demo_project as project
from .call import Desk, Options, Reply
from .router import answer
from .show_demo import Screen
from .special_tasks import plan_of

WORKERS = 3
TIME_LIMIT_S = 120.0  # it takes some 15 s; a machine that is busy with other things has its time
LOOK_S = 0.5
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH")
TEAM = "demo"
# Workers that wait for nothing are ended at once.
SETTINGS = {"ROOK_TEAM": TEAM, "ROOK_WORKER_GRACE_S": "1", "ROOK_WORKER_TERM_S": "1"}
BROKEN = ("land.failed", "task.failed", "worker.failed", "worker.crashed", "crew.stopped", "crew.failed", "plan.failed")
NOBODY = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def run(desk: Desk, read: dict[str, Any]) -> Reply:
    if desk.call.peer:  # a process of its own: whoever ends it has it tidy up
        children.end_as_interrupted()
    with files.scratch("rookery-demo-", keep=read["keep"], keep_after=errors.RookError) as folder:
        try:
            with _stage(desk, folder) as stage:
                result = _Demo(desk, stage, by_hand=read["interactive"]).play()
        except errors.RookError as error:
            raise _failed(error, folder) from error
    result["folder"] = folder if read["keep"] else None
    return answer(desk, "demo", result)


def _failed(error: errors.RookError, folder: str) -> errors.RookError:
    where = f"ROOK_HOME={folder}/home ROOK_TEAM={TEAM}"
    hint = f"What happened is in {folder}: `{where} rook feed`, `{where} rook workers --all`, home/logs/daemon.log."
    return errors.RookError(f"The demo did not get through: {error.message}", hint, code="DEMO_FAILED")


# -- the stage -------------------------------------------------------------------------------------------------------


@contextmanager
def _stage(desk: Desk, folder: str) -> Generator[Desk]:
    """A repository and a home in the folder, and a daemon that ends with the block, with all that it started."""
    environ = {name: desk.call.environ[name] for name in KEPT_VARIABLES if name in desk.call.environ}
    environ |= {"HOME": folder, "ROOK_HOME": f"{folder}/home", **SETTINGS}
    repo = os.path.join(folder, "textstat")
    _repository(repo)
    # Quiet: what is shown here is shown by this command. The demo decides with an operator's token, as a script does;
    # a store in which nothing has happened yet gives one to whoever makes it.
    call = desk.call._replace(environ=environ, cwd=repo, peer=0)
    first = Desk(call, Options(json=True))
    environ["ROOK_TOKEN"] = first.verb("token.new", {"role": "operator", "note": "the demo"})["token"]
    first.close()
    stage = Desk(call, Options(json=True))
    try:
        with children.undisturbed():
            daemon.ensure(stage)
        yield stage
    finally:
        with children.undisturbed():
            _clear(stage)
        stage.close()


def _repository(repo: str) -> None:
    for name, text in project.BEFORE.items():
        path = os.path.join(repo, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        files.write_atomic(path, text.encode(), 0o644)
    for words in (("init", "--quiet", "--initial-branch=main"), ("config", "user.name", "you"),
                  ("config", "user.email", "you@rookery.invalid"), ("add", "--all"),
                  ("commit", "--quiet", "--message=A plan, and the place where measures go")):  # fmt: skip
        repository.told(repo, *words, environ=NOBODY)


def _clear(stage: Desk) -> None:
    """The daemon ends its workers; if it is gone already, they are ended by what their processes carry."""
    try:
        daemon.down(stage, {"workspace_root": None, "keep_workers": False})
    except errors.RookError:
        with suppress(errors.RookError):
            for card in stage.verb("workers", {"all": True})["workers"]:
                for each in stage.verb("worker.show", {"id": card["id"]})["runs"]:
                    runs.end(each["id"], None, 0.0)


# -- the play --------------------------------------------------------------------------------------------------------


class _Demo:
    def __init__(self, desk: Desk, stage: Desk, *, by_hand: bool) -> None:
        self._stage = stage
        self._screen = Screen(desk)
        self._ask = desk.call.ask if by_hand and not desk.options.json else None
        self._began = monotonic()
        self._events: list[dict[str, Any]] = []
        self._landed = 0

    def play(self) -> dict[str, Any]:
        plan = plan_of(self._stage, os.path.join(self._stage.call.cwd, "plan.md"), review=True)["id"]
        self._screen.opening(self._stage.verb("plan.graph", {"id": plan})["graph"])
        self._began = monotonic()
        crew = self._stage.verb("crew.run", {
            "plan": plan, "workers": WORKERS, "lobby": WORKERS, "host": "script", "backend": "headless",
            "program": [sys.executable, "-P", "-m", "rookery.front.cli.demo_crew"],
            "check": [sys.executable, *project.CHECK],
        })["id"]  # fmt: skip
        try:
            self._follow(crew)
        finally:
            self._screen.close()
        return self._told(plan, crew, monotonic() - self._began)

    def _follow(self, crew: str) -> None:
        """Its log as it grows, to the end; the picture below it as it changes."""
        with self._stage.house.client.listen(EVERYONE) as listener:
            while not any(event["type"] == "crew.finished" for event in self._events):
                news = waiting.until(listener, self._news, timeout_s=LOOK_S, poll_s=LOOK_S) or []
                for event in news:
                    self._events.append(event)
                    self._happened(event)
                self._screen.board(self._stage.verb("crew.status", {"id": crew}), self._landed, self._elapsed())
                if not daemon.is_up(self._stage):
                    raise errors.RookError("its daemon is gone")
                if self._elapsed() > TIME_LIMIT_S and self._ask is None:
                    raise errors.RookError(f"it is not through after {TIME_LIMIT_S:.0f} s")

    def _elapsed(self) -> float:
        return monotonic() - self._began

    def _news(self) -> list[dict[str, Any]]:
        after = self._events[-1]["seq"] if self._events else 0
        return self._stage.verb("events", {"after": after})["events"]

    def _happened(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        if kind in BROKEN:
            raise errors.RookError(f"{kind} {event['ref']}: {event['preview']}")
        if kind == "worker.started":
            self._started(event)
        elif kind == "worker.progress" and " is held by " in event["preview"]:
            self._say("refused", event["actor"], event["preview"])
        elif kind == "message" and event["actor"] != "system" and not event["target"].startswith("user"):
            self._mail(event)
        elif kind == "worker.asked":
            self._asked(event)
        elif kind == "worker.answered":
            self._say("answer", "you", event["preview"])
        elif kind == "task.review" and event["preview"].startswith("NEEDS_WORK"):
            self._sent_back(event)
        elif kind == "land.landed":
            self._landed += 1
            self._say("landed", event["actor"], event["preview"])

    def _say(self, kind: str, who: str, what: str) -> None:
        self._screen.moment(self._elapsed(), kind, who, what)

    def _started(self, event: dict[str, Any]) -> None:
        card = self._stage.verb("worker.show", {"id": event["ref"]})
        if card["role"] == "lobby":
            self._say("worker", card["name"], f"{card['id']}: a process and a worktree of its own")

    def _mail(self, event: dict[str, Any]) -> None:
        letters = self._stage.verb("thread", {"id": event["ref"]})["messages"]
        letter = next(each for each in letters if each["id"] == event["ref"])
        self._say("mail", event["actor"], f"to {letter['to']}: {letter['body' if letter['reply_to'] else 'subject']}")

    def _sent_back(self, event: dict[str, Any]) -> None:
        notes = self._stage.verb("task.show", {"id": event["ref"]})["notes"]
        said = next(note["note"] for note in notes if note["kind"] == "review")
        title = event["preview"].partition(" ")[2]
        self._say("sent back", event["actor"], f"{title}: {said.partition(': ')[2]}")

    def _asked(self, event: dict[str, Any]) -> None:
        """The person's part: shown, then answered by the person, or by the demo in their place."""
        question = self._stage.verb("question.show", {"id": event["ref"]})
        options = "  ".join(f"{number} {option}" for number, option in enumerate(question["options"], 1))
        self._say("question", event["actor"], f"{question['question']}  {options}")
        if self._ask is None:
            self._screen.note("the demo answers for you: 1, as it recommends (--interactive lets you)")
            self._stage.verb("answer", {"id": question["id"], "option": 1})
            return
        self._screen.close()
        chosen = ""
        while chosen not in ("1", "2"):
            chosen = self._ask("Your answer, 1 or 2: ").strip() or "1"
        self._stage.verb("answer", {"id": question["id"], "option": int(chosen)})

    # -- what came of it ---------------------------------------------------------------------------------------------

    def _told(self, plan: str, crew: str, seconds: float) -> dict[str, Any]:
        verb, repo = self._stage.verb, self._stage.call.cwd
        tasks = verb("plan.show", {"id": plan})["tasks"]
        landings = [each for each in verb("land.list", {})["landings"] if each["state"] == "landed"]
        checks = [verb("changes.show", {"id": each["change"]})["checks"] for each in landings]
        green = sum(bool(each) and each[-1]["exit"] == 0 for each in checks)
        done = sum(each["status"] == "completed" for each in tasks)
        if not done == len(landings) == green == len(tasks):
            raise errors.RookError(f"{done} of {len(tasks)} tasks are done, {len(landings)} landed, {green} green")
        names = {card["id"]: card for card in verb("workers", {"all": True})["workers"] if card["crew"] == crew}
        return {
            "team": TEAM, "tasks": done, "landings": len(landings), "green": green, "seconds": round(seconds, 1),
            "workers": [card["name"] for card in names.values() if card["role"] == "lobby"],
            "reviews": self._count("task.review"), "sent_back": self._count("task.review", "NEEDS_WORK"),
            "questions": self._count("worker.answered"), "refused": self._count("worker.progress", " is held by "),
            "messages": self._count("message"), "events": self._events[-1]["seq"],
            "log": repository.told(repo, "log", "--graph", "--oneline", "--no-decorate").splitlines(),
            "made": self._made(repo),
        }  # fmt: skip

    def _count(self, kind: str, words: str = "") -> int:
        return sum(event["type"] == kind and words in event["preview"] for event in self._events)

    def _made(self, repo: str) -> list[str]:
        """The program that the crew wrote, run."""
        argv = [sys.executable, "-m", "textstat", "samples/rooks.txt"]
        environ = {**self._stage.call.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        code, said, complaint = children.answer(argv, "", environ=environ, cwd=repo, limit_s=TIME_LIMIT_S)
        if code:
            raise errors.RookError(f"what was made does not run: {complaint.strip()[-300:]}")
        return said.splitlines()
