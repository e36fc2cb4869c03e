"""Inboxes can be rebuilt: the audit export alone gives what the live verbs answer, after any run of verbs."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.bridge import audit
from rookery.core import times
from rookery.core.caller import Caller
from rookery.core.errors import RookError
from tests.support import ledger
from tests.support.rebuild import Line, Rebuilt
from tests.support.stage import DAY, HOUR, Stage

AGENTS = ("ada", "bob", "eve", "lead")
MAIL = ("id", "seq", "from", "to", "type", "priority", "thread", "reply_to", "asks", "group", "created_at",
        "expires_at", "state", "read_at", "completed_at", "answered_at", "subject")  # fmt: skip


class Run:
    """A team doing things at random, repeatable from its seed. What a rule refuses is passed over."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.stage = stage
        self.dice = random.Random(seed)
        self.agents: list[str] = [*AGENTS]
        self.letters: list[str] = []
        self.tasks: list[str] = []
        self.threads: list[str] = []
        self.lines: list[Line] = []
        self.refused = self.done = 0
        stage.join_all(*AGENTS)

    def steps(self, count: int, export_every: int = 10) -> "Run":
        for _ in range(count):
            self.stage.clock.pass_time(self.dice.randrange(1, 90_000))  # no two deeds at one moment
            try:
                self.dice.choice(DEEDS)(self)
                self.done += 1
            except RookError:
                self.refused += 1
            if self.dice.randrange(export_every) == 0:
                self.export()
        self.export()
        return self

    def export(self) -> None:
        since = self.lines[-1]["seq"] if self.lines else 0
        for page in audit.pages(self.stage.client, Caller("user"), since):
            self.lines += [json.loads(line) for line in page.lines.splitlines()]

    def who(self) -> str:
        return self.dice.choice(self.agents)

    def some(self, known: list[str]) -> str:
        return self.dice.choice(known[-8:]) if known else "none-0001"

    def call(self, verb: str, as_: str, **args: Any) -> Any:
        return self.stage.call(verb, as_, **args)


# --- what a team does -------------------------------------------------------------------------------------------------


def send(run: Run) -> None:
    to = run.dice.sample(run.agents, run.dice.randrange(1, 4))
    expires = run.stage.clock.wall + run.dice.randrange(HOUR) if run.dice.random() < 0.3 else None
    priority, kind = (
        run.dice.choice(["low", "normal", "urgent"]),
        run.dice.choice(["request", "notification", "prompt"]),
    )
    subject = f"s{run.done}" * run.dice.choice([1, 60])
    sent = run.call("send", run.who(), to=to, subject=subject, body="b", priority=priority, type=kind, expires=expires)
    run.letters.append(sent["id"])


def broadcast(run: Run) -> None:
    run.letters.append(run.call("broadcast", run.who(), subject="all", body="x")["id"])


def lying(run: Run) -> tuple[str, str]:
    """A message and an agent in whose mailbox it lies."""
    found = ledger.ask(run.stage.store.location, "SELECT m.id, a.name FROM deliveries d JOIN messages m "
                       "ON m.n = d.message JOIN agents a ON a.id = d.agent ORDER BY m.n DESC LIMIT 40")  # fmt: skip
    return run.dice.choice(found) if found else ("MSG-none", run.who())


def reply(run: Run) -> None:
    id, who = lying(run)
    run.letters.append(run.call("reply", who, id=id, body="yes")["id"])


def read(run: Run) -> None:
    id, who = lying(run)
    run.call("read", who, id=id)


def ack(run: Run) -> None:
    id, who = lying(run)
    run.call("ack", who, ids=[id], state=run.dice.choice(["completed", "processing", "failed"]))


def archive(run: Run) -> None:
    id, who = lying(run)
    run.call("archive", who, ids=[id])


def escalate(run: Run) -> None:
    run.letters.append(run.call("escalate", run.who(), title="help")["id"])


def discuss(run: Run) -> None:
    made = run.call("thread.new", run.who(), title="talk", participants=[run.who()], body="first")
    run.threads.append(made["id"])
    run.letters.append(made["message"]["id"])


def say(run: Run) -> None:
    run.letters.append(run.call("thread.post", run.who(), id=run.some(run.threads), body="more")["id"])


def poll(run: Run) -> None:
    run.call("notices.open", run.who())


def rename(run: Run) -> None:
    if run.dice.random() < 0.3:
        old = run.who()
        run.call("rename", old, name=f"{old[:3]}{run.done}")
        run.agents[run.agents.index(old)] = f"{old[:3]}{run.done}"


def import_mail(run: Run) -> None:
    if run.dice.random() > 0.3:
        return
    wall, state = run.stage.clock.wall, run.dice.choice(["unread", "read", "completed"])
    run.call("import_mail", "user", letters=[{
        "id": f"MSG-old{run.done}", "from": run.who(), "to": run.who(), "type": "request", "priority": 2,
        "subject": "old", "body": "b", "state": state, "payload": {}, "context": {}, "attachments": [], "tags": [],
        "thread": None, "reply_to": None, "group": None, "at": wall - DAY, "expires_at": None,
        "read_at": wall - HOUR if state != "unread" else None,
        "completed_at": wall - 1 if state == "completed" else None,
    }])  # fmt: skip
    run.letters.append(f"MSG-old{run.done}")


def add(run: Run) -> None:
    deps = [run.some(run.tasks)] if run.tasks and run.dice.random() < 0.4 else []
    assignee = run.who() if run.dice.random() < 0.2 else ""
    milestone = bool(deps) and run.dice.random() < 0.2
    made = run.call("task.add", run.who(), title="t", deps=deps, assignee=assignee, milestone=milestone,
                    review=run.dice.random() < 0.3)  # fmt: skip
    run.tasks.append(made["id"])


def claim(run: Run) -> None:
    run.call("task.claim", run.who(), next=True, ttl_ms=run.dice.choice([60_000, 600_000]))


def end(run: Run) -> None:
    held = ledger.ask(run.stage.store.location, "SELECT t.id, a.name FROM tasks t JOIN agents a ON a.id = t.holder "
                      "WHERE t.status = 'in_progress'")  # fmt: skip
    if held:
        id, holder = run.dice.choice(held)
        verb, args = run.dice.choice([("done", {}), ("fail", {"reason": "r"}), ("block", {"reason": "r"}),
                                      ("release", {}), ("progress", {"said": "p"}), ("done", {})])  # fmt: skip
        run.call(f"task.{verb}", holder, id=id, **args)


STEERING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("assign", {}), ("cancel", {"tree": True}), ("unblock", {}), ("reset", {}), ("reset", {"tree": True}),
    ("delete", {}), ("split", {"titles": ["x"]}), ("revise", {"tree": True}), ("revise", {"no_deps": True}),
)  # fmt: skip


def steer(run: Run) -> None:
    verb, args = run.dice.choice(STEERING)
    args = {"to": run.who()} if verb == "assign" else args
    run.call(f"task.{verb}", run.dice.choice(["user", "user", run.who()]), id=run.some(run.tasks), **args)


def judge(run: Run) -> None:
    verdict = run.dice.choice(["SHIP", "NEEDS_WORK", "MAJOR_RETHINK"])
    for task in run.tasks[-8:]:
        run.call("task.review", "user", id=task, verdict=verdict, feedback="f")


def wait(run: Run) -> None:
    run.stage.clock.pass_time(run.dice.choice([HOUR, 12 * HOUR]))
    run.call("sweep", "user")
    run.call("settle", "user")


DEEDS: tuple[Callable[[Run], None], ...] = (
    send, send, send, broadcast, reply, reply, read, read, ack, ack, archive, archive, escalate, discuss, say, poll,
    rename, import_mail, add, add, add, claim, claim, end, end, end, steer, judge, wait,
)  # fmt: skip


# --- live and rebuilt -------------------------------------------------------------------------------------------------


def differences(run: Run, lines: list[Line]) -> list[str]:
    """Where inboxes made of these lines differ from the live answers."""
    bodies = dict(ledger.ask(run.stage.store.location, "SELECT id, body FROM messages"))
    kept = {seq for (seq,) in ledger.ask(run.stage.store.location, "SELECT seq FROM events")}
    rebuilt = Rebuilt(lines, lambda id: bodies.get(id, ""))
    found: list[str] = []
    for agent in (*run.agents, "user"):
        told = [notice for notice in rebuilt.notices(agent) if notice["seq"] in kept]
        found += [f"notices of {agent}"] if told != live_notices(run.stage, agent) else []
        now = times.iso(run.stage.clock.wall)
        found += [f"mail of {agent}"] if rebuilt.mail(agent, now) != live_mail(run.stage, agent) else []
    rows = dict(ledger.ask(run.stage.store.location, "SELECT id, status FROM tasks"))
    return found + (["tasks"] if rebuilt.statuses() != rows else [])


def live_notices(stage: Stage, agent: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    page: dict[str, Any] = {"nextSince": 0, "more": True}
    while page["more"]:
        page = stage.call("notices", agent, since=max(page["nextSince"], 0), limit=50)
        found += page["events"]
    return found


def live_mail(stage: Stage, agent: str) -> dict[str, dict[str, Any]]:
    cards = stage.call("inbox", agent, all=True, limit=1000)["messages"]
    cut = {"subject": 200, "to": 300}  # as the log tells them
    return {c["id"]: {name: c[name][: cut[name]] if name in cut else c[name] for name in MAIL} for c in cards}


def run_once(seed: int, steps: int, export_every: int = 10, **more: Any) -> list[str]:
    with TemporaryDirectory() as folder:
        stage = Stage(Path(folder) / "ledger.db", retention__archive_days=1, **more)
        try:
            run = Run(stage, seed).steps(steps, export_every)
            assert run.done > steps / 3, "most of it was refused"
            return differences(run, run.lines)
        finally:
            stage.close()


@pytest.mark.slow
@settings(max_examples=4)
@given(seed=st.integers(0, 1 << 32))
def test_inboxes_are_rebuilt_from_the_audit(seed: int) -> None:
    assert run_once(seed, 80) == []


@pytest.mark.slow
@settings(max_examples=10)
@given(seed=st.integers(0, 1 << 32))
def test_inboxes_are_rebuilt_after_long_runs(seed: int) -> None:
    assert run_once(seed, 300) == []


@pytest.mark.slow
@settings(max_examples=10)
@given(seed=st.integers(0, 1 << 32))
def test_an_audit_that_was_kept_outlives_the_log(seed: int) -> None:
    """The ledger lets go of old events; the lines that were exported in time still tell of all mail."""
    assert run_once(seed, 200, export_every=1, retention__events=30, retention__days=0) == []


# --- controls ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    stage = Stage(tmp_path_factory.mktemp("told") / "ledger.db")
    yield Run(stage, seed=7).steps(250)
    stage.close()


@pytest.mark.slow
def test_the_run_of_the_controls_is_rebuilt(told: Run) -> None:
    assert differences(told, told.lines) == []


@pytest.mark.slow
def test_control_a_message_that_is_missing_is_noticed(told: Run) -> None:
    sent = [n for n, line in enumerate(told.lines) if line["type"] == "message" and line["data"]["to"]]
    assert len(sent) > 20
    for n in sent[::5]:
        assert differences(told, told.lines[:n] + told.lines[n + 1 :]), told.lines[n]


@pytest.mark.parametrize(
    "type",
    ["mail_read", "mail_completed", "mail_failed", "mail_archived", "rename", "task_start", "task_done",
     "task_created", "task_assigned"],
)  # fmt: skip
def test_control_an_event_that_is_missing_is_noticed(told: Run, type: str) -> None:
    """Of each kind at least one: a step that another one followed may leave no trace, and expiry follows from time."""
    kind = [n for n, line in enumerate(told.lines) if line["type"] == type]
    assert kind, "the run has none of these"
    assert any(differences(told, told.lines[:n] + told.lines[n + 1 :]) for n in kind)


@pytest.mark.parametrize("change", ["to", "priority", "thread", "actor", "ts", "seq", "order"])
def test_control_an_event_that_was_altered_is_noticed(told: Run, change: str) -> None:
    n = next(n for n, line in enumerate(told.lines) if line["type"] == "message" and len(line["data"]["to"]) == 1)
    line = json.loads(json.dumps(told.lines[n]))
    lines = [*told.lines]
    if change == "order":
        lines[n], lines[n + 1] = lines[n + 1], lines[n]
        lines = [{**each, "seq": number} for number, each in enumerate(lines, start=1)]
    elif change == "seq":
        line["seq"] += 1
    elif change in line["data"]:
        line["data"][change] = ["eve"] if change == "to" and line["data"]["to"] != ["eve"] else "ada"
    else:
        line[change] = "someone"
    if change != "order":
        lines[n] = line
    assert differences(told, lines)
