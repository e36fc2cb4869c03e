"""For a program that is itself a worker: started by `rook spawn --host script --program PATH`, or in a lobby.

    import rookery.worker

    me = rookery.worker.here()
    me.progress(["doing: read the code", "todo: write the tests"])
    if me.ask("Which format?", options=["TOML", "JSON"], recommendation="TOML").choice == 1:
        ...
    me.done("completed", "The header is parsed; two tests cover it.", evidence=["tests/test_header.py"])

It is told who it is by its environment (ROOK_AGENT, ROOK_TEAM, ROOK_WORKER, ROOK_TASK, ROOK_BRIEF ...), and speaks by
the verbs that every worker has. docs/workers-hosts.md has a whole program.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rookery.core import errors

if TYPE_CHECKING:
    from rookery.client.handles import Agent, Team

BRIEF_LIMIT = 1 << 20
SETTLED = ("answered", "withdrawn")


@dataclass(frozen=True)
class Answer:
    """What came of a question. `choice` is the number of the option that was taken, from 1; None if it was words."""

    text: str
    choice: int | None = None
    withdrawn: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Assignment:
    """What a worker that waited was given."""

    task: str
    title: str
    text: str


class Worker:
    def __init__(self, team: "Team", agent: "Agent", environ: Mapping[str, str]) -> None:
        self.team = team
        self.agent = agent
        self.id = environ.get("ROOK_WORKER", "")
        self.run = environ.get("ROOK_RUN", "")
        self.task = environ.get("ROOK_TASK", "")  # empty in a lobby
        self.tree = os.getcwd()  # a worker is started in the folder that it works in
        self._brief = environ.get("ROOK_BRIEF", "")

    def __repr__(self) -> str:
        return f"<Worker {self.id} {self.agent.name} of {self.team.name}>"

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *exc: object) -> None:
        self.team.close()

    @property
    def brief(self) -> str:
        """The text of its task.md; empty if it was given none."""
        if not self._brief:
            return ""
        from rookery.runtime import files

        return files.read_limited(self._brief, BRIEF_LIMIT).decode("utf-8", "replace")

    def progress(self, steps: Sequence[str | Mapping[str, str]] = (), note: str = "") -> dict[str, Any]:
        """Show how far you are: up to 12 steps, each `{"text", "state"}` or a line as `doing: write the tests`."""
        return self._report("progress", steps=list(steps), note=note)

    def ask(
        self,
        question: str,
        *,
        risk: str = "",
        options: Sequence[str] = (),
        recommendation: str = "",
        timeout: float | None = None,
    ) -> Answer:
        """Put a question before whoever started you, and wait for the answer. TimeoutError if none comes in time: the
        question stands, and its answer comes as mail."""
        asked = self._report("ask", question=question, risk=risk, options=list(options), recommendation=recommendation)
        answered = self._until(lambda: self._settled(asked["id"]), timeout)
        if answered is None:
            raise TimeoutError(f"no answer to {asked['id']} within {timeout} s")
        return answered

    def _settled(self, id: str) -> Answer | None:
        found = self.agent.call("question.show", id=id)
        if found["state"] not in SETTLED:
            return None
        return Answer(found.get("answer", ""), found.get("choice"), found["state"] == "withdrawn")

    def done(
        self,
        outcome: str,
        summary: str,
        evidence: Sequence[str] = (),
        *,
        commits: Sequence[str] = (),
        tests: Sequence[str] = (),
        unchanged: str = "",
    ) -> dict[str, Any]:
        """Report your result: completed, findings, proposal or no_evidence, with what shows it."""
        shown = {"evidence": list(evidence), "commits": list(commits), "tests": list(tests)}
        return self._report("done", outcome=outcome, summary=summary, unchanged=unchanged, **shown)

    def fail(self, reason: str) -> dict[str, Any]:
        """Report that you can not go on, and why."""
        return self._report("fail", reason=reason)

    def next(self, timeout: float | None = None) -> Assignment | None:
        """Wait in the lobby for something to do; None if there is nothing within that many seconds, or if there will be
        nothing more: then it is time to end. What was given before counts as given as long as it is not reported."""
        found = self._until(self._assigned, timeout)
        if not isinstance(found, Assignment):
            return None
        self.task = found.task
        return found

    def _assigned(self) -> Assignment | bool | None:
        """What it has to do; True if it is to end."""
        card = self.agent.call("worker.show", id=self.id or self.agent.name)
        if card["wish"]:
            return True
        if not card["task"] or card["report"] in ("done", "failed"):
            return None
        return Assignment(card["task"], card["title"], card["assignment"] or card["title"])

    def _report(self, verb: str, **said: Any) -> dict[str, Any]:
        """As this run: one that was replaced is refused. What was left out is left to the verb."""
        return self.agent.report(verb, **{name: value for name, value in {**said, "run": self.run}.items() if value})

    def _until(self, look: Any, timeout: float | None) -> Any:
        """Woken by the bell of the agent, or by the slow poll."""
        from rookery.client import waiting

        with self.team.client.listen(self.agent.name) as listener:
            return waiting.until(listener, look, timeout_s=timeout, poll_s=self.team.poll_s)


def here(environ: Mapping[str, str] | None = None) -> Worker:
    """The worker that this process is."""
    from rookery.app import connect

    told = os.environ if environ is None else environ
    name = told.get("ROOK_AGENT", "")
    if not name or not told.get("ROOK_WORKER"):
        raise errors.Refused(
            "This process is no worker: ROOK_AGENT and ROOK_WORKER are not set.",
            "Start it by `rook spawn TASK --host script --program PATH`.",
            code="NO_WORKER",
        )
    team = connect(team=told.get("ROOK_TEAM") or None, home=told.get("ROOK_HOME") or None)
    return Worker(team, team.agent(name), told)
