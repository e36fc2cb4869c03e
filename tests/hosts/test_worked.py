"""Real Claude Code and Codex as workers: asked for, started by a real daemon, working, judged by another, and landed.

The daemon runs in the network of the scripted model, with both programs set up in one home, and everything else is as
a person has it: `rook spawn`, `rook crew run`. What the programs need to find their model is named in the setting
`worker.environment`. Nobody ran `rook init` in the repository.
"""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rookery.hosts import trust
from tests.hosts import tui
from tests.hosts.crew import ROOK, SERVER, SETTLE_S, Crew, install_hooks
from tests.hosts.model.script import Asked, Move, Parts, expect, say
from tests.hosts.programs import ALL
from tests.hosts.stage import DEADLINE_S, Run, Stage, lines
from tests.support.panes import until
from tests.unit.gitrepo import git

pytestmark = [pytest.mark.hosts, pytest.mark.tmux]
HOSTS = ("claude", "codex")
PATIENCE_S = 100.0  # less than the jail's own deadline
SUMMARY = "Wrote made.txt with one line in it, as the task says, and read it again."
FEEDBACK = "made.txt is there with the line that the task asks for; nothing else was touched."
CHECK = ("--check", "test", "--check=-s", "--check", "made.txt")
REVIEWER = """\
---
name: reviewer
host: {host}
read_only: true
---
Judge it.
"""
PLAN = """\
# The files
- [ ] The file
  Make the file made.txt
"""
QUICK = {"ROOK_WORKER_HEARTBEAT_S": "0.5", "ROOK_WORKER_GRACE_S": "1", "ROOK_WORKER_TERM_S": "2", "ROOK_POLL_S": "0.5"}


class Site:
    """A repository, a daemon beside the scripted model, and the programs that it starts as workers."""

    def __init__(self, base: Path) -> None:
        self.crew = Crew(base)
        self.repo, self.home = self.crew.repo, self.crew.home
        self.stage = Stage(base / "both", ALL["claude"], self.repo)
        ALL["codex"].settle(self.stage.place)
        tui.claude(self.stage.place, trusted=True)
        tui.codex(self.stage.place, trusted=True)
        (self.stage.home / ".profile").write_text(f'PATH="{self.crew.bin}:$PATH"\n')
        self._ran: list[Run] = []

    def trust_hooks(self) -> None:
        """As a person does with /hooks in Codex."""
        path = self.repo / ".codex" / "hooks.json"
        with (self.stage.home / ".codex" / "config.toml").open("a") as config:
            config.write("\n[hooks.state]\n")
            for _, name, digest in trust.codex_hooks(str(path), json.loads(path.read_text())):
                config.write(f'"{name}" = {{ trusted_hash = "{digest}" }}\n')

    def environ(self) -> dict[str, str]:
        """Of the daemon. Its workers get of it what is named, and nothing else."""
        built = self.stage.built()
        own = {name: value for host in HOSTS for name, value in ALL[host].environment().items()}
        paths = {"PATH": f"{self.crew.bin}{os.pathsep}{built['PATH']}", "ROOK_HOME": str(self.home)}
        return built | own | paths | QUICK | {"ROOK_WORKER_ENVIRONMENT": ",".join(own)}

    @contextmanager
    def up(self, parts: Parts) -> Generator[None]:
        """A daemon, for as long as this lasts; nothing of it or its workers is left afterwards."""
        thread = threading.Thread(target=self._run, args=(parts,), daemon=True)
        thread.start()
        try:
            until(lambda: self._is_up() or not thread.is_alive(), "the daemon")
            assert self._is_up(), f"the daemon did not start: {self._ran}"
            yield
        except BaseException as error:
            error.add_note(self.log())
            raise
        finally:
            if thread.is_alive():
                self.rook("down")
            thread.join(DEADLINE_S)
        (run,) = self._ran
        assert (run.code, run.left_behind) == (0, []), f"{run.stdout}\n{run.stderr}"

    def _run(self, parts: Parts) -> None:
        self._ran.append(self.stage.start(["rook", "up", "--port", "0", "--json"], parts, self.environ()))

    def _is_up(self) -> bool:
        return (self.home / "run" / "runtime.json").exists()

    # -- what a person commands ----------------------------------------------------------------------------------------

    def rook(self, *words: str) -> Any:
        environ = self.crew.environ() | {"HOME": str(self.stage.home)}
        done = subprocess.run(
            [str(ROOK), *words, "--json"], cwd=self.repo, env=environ, capture_output=True, text=True, timeout=SETTLE_S
        )
        assert done.returncode == 0, f"rook {words}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout)

    def worker(self, id: str = "w1") -> dict[str, Any]:
        return self.rook("worker", "show", id)

    def becomes(self, id: str, **wanted: str) -> dict[str, Any]:
        def is_so() -> bool:
            card = self.worker(id)
            return all(card[name] == value for name, value in wanted.items())

        until(is_so, lambda: (wanted, self.worker(id), self.log()), PATIENCE_S)
        return self.worker(id)

    def peek(self, id: str) -> str:
        return "\n".join(self.rook("peek", id)["lines"])

    def tree(self, id: str = "w1") -> Path:
        return self.home / "teams" / "rig" / "workers" / id / "workspace"

    # -- what happened -------------------------------------------------------------------------------------------------

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.rook("events", "--limit", "1000")["events"] if event["type"] == kind]

    def landed(self, name: str) -> str:
        """A file on the branch, whatever lies in the working copy."""
        done = subprocess.run(
            ["git", "show", f"HEAD:{name}"], cwd=self.repo, env={"PATH": os.defpath}, capture_output=True, text=True
        )
        return done.stdout

    def evidence(self, id: str) -> dict[str, list[str]]:
        """The titles of what was recorded of it, by kind, the oldest first."""
        found: dict[str, list[str]] = {}
        for each in reversed(self.rook("artifacts", "--worker", id)["artifacts"]):
            found.setdefault(each["kind"], []).append(each["title"])
        return found

    def asked(self) -> list[Asked]:
        requests = lines(self.stage.folder / "requests.jsonl")
        return [Asked(**request["asked"]) for request in requests if "asked" in request]

    def unmet(self) -> list[str]:
        answers = [each["answer"] for each in lines(self.stage.folder / "requests.jsonl") if "answer" in each]
        return [each["unmet"] or "more than the script has" for each in answers if each["unmet"] or each["over"]]

    def log(self) -> str:
        paths = [self.home / "logs" / "daemon.log", *sorted(self.home.glob("teams/*/workers/*/runs/*/*.[ln]*"))]
        told = [f"--- {path}\n{path.read_text(errors='replace')[-3000:]}" for path in paths if path.is_file()]
        told += [self.peek(worker["id"]) for worker in self.rook("workers")["workers"]]
        return "\n".join([*told, str(self.unmet())])


@pytest.fixture
def site() -> Generator[Site]:
    """Neither in memory nor below /tmp: to Codex's sandbox the one is not there, and the other may be written."""
    with tempfile.TemporaryDirectory(prefix="rook-worked-", dir="/var/tmp") as base:
        yield Site(Path(base))


def part(id: str) -> str:
    """What only the conversation of this worker holds."""
    return f"the Rookery worker {id}."


def made(host: str, tree: Path) -> list[Move]:
    """It has its brief and was greeted by its name; it edits in its worktree, reports, and ends its turn."""
    program = ALL[host]
    done = {"outcome": "completed", "summary": SUMMARY, "evidence": ["made.txt"]}
    return [
        expect("| Make the file made.txt"),
        expect("Rookery: you are "),
        *program.mcp(SERVER, "claim", {"id": "task-0001"}),
        program.write(tree / "made.txt", "made\n"),
        *program.mcp(SERVER, "done", done),
        say("All done."),
    ]


def made_by_shell(tree: Path) -> list[Move]:
    """The same for Claude Code at a terminal, where it does not wait for its servers to be ready."""
    program, done = ALL["claude"], f"rook done --outcome completed -m '{SUMMARY}' --evidence made.txt"
    moves = [program.bash("rook task claim task-0001"), program.write(tree / "made.txt", "made\n"), program.bash(done)]
    return [expect("| Make the file made.txt"), *moves, say("All done.")]


def silent(host: str, tree: Path) -> list[Move]:
    """It ends its turn without a word, is told so, and reports."""
    moves = made(host, tree)
    return [*moves[:-2], say("I think I am done."), expect("rook done"), *moves[-2:]]


def judged(host: str) -> list[Move]:
    """It looks at what the task says and gives its verdict, in the way that its program has."""
    program = ALL[host]
    by_tool = [*program.mcp(SERVER, "tasks", {"id": "task-0001"}), expect(SUMMARY),
               *program.mcp(SERVER, "done", {"outcome": "SHIP", "summary": FEEDBACK})]  # fmt: skip
    by_shell = [program.bash("rook task show task-0001 --json"), expect(SUMMARY),
                program.bash(f"rook task review task-0001 SHIP -m '{FEEDBACK}'")]  # fmt: skip
    return [
        expect("git diff"),
        *(by_tool if host == "codex" else by_shell),
        expect("task-0001"),
        say("Judged."),
    ]


# -- one worker ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
def test_a_worker_makes_a_change_and_a_turn_without_a_report_is_held_once(site: Site, host: str) -> None:
    with site.up({part("w1"): silent(host, site.tree())}):
        site.rook("task", "add", "The file", "-m", "Make the file made.txt")
        site.rook("spawn", "task-0001", "--host", host, "--backend", "headless")
        card = site.becomes("w1", state="ended")
        assert (site.unmet(), len(site.events("worker.nudged"))) == ([], 1)
        assert (card["report"], card["outcome"], card["exit_code"]) == ("done", "completed", 0)
        (run,) = card["runs"]
        assert run["tokens"] == {"input": 50, "output": 25}, "five answers of the model"
        task = site.rook("task", "show", "task-0001")
        assert (task["status"], task["author"], task["attempts"]) == ("completed", card["name"], 1)
        assert [change["worker"] for change in site.rook("changes")["changes"]] == ["w1"]
        assert not (site.repo / "made.txt").exists(), "it worked in a tree of its own"
        found = site.evidence("w1")
        assert {"edit", "response", "status", "commit"} <= found.keys()
        assert found["edit"][0].startswith("made.txt")
        assert found["response"] == ["I think I am done.", "All done."]


@pytest.mark.parametrize("host", HOSTS)
def test_a_worker_that_only_reads_is_kept_from_writing_by_the_guard(site: Site, host: str) -> None:
    program = ALL[host]
    found = {"outcome": "findings", "summary": "held.txt says that it is as it was, in its first and only line.",
             "evidence": ["held.txt"]}  # fmt: skip
    moves = [
        program.write(site.repo / "made.txt", "made\n"),
        program.bash("echo more >> held.txt"),
        expect("of the kind scout only reads"),
        *program.mcp(SERVER, "done", found),
        say("All done."),
    ]
    with site.up({part("w1"): moves}):
        site.rook("spawn", "What does held.txt say?", "--kind", "scout", "--host", host, "--backend", "headless")
        card = site.becomes("w1", state="ended")
        assert site.unmet() == []
        assert (card["report"], card["outcome"], card["tree"]) == ("done", "findings", None)
    assert (site.repo / "held.txt").read_text() == "as it was\n"
    assert not (site.repo / "made.txt").exists()


def test_a_worker_at_a_terminal_rests_when_it_has_reported_and_ends_when_it_is_told(site: Site) -> None:
    with site.up({part("w1"): made_by_shell(site.tree())}):
        site.rook("task", "add", "The file", "-m", "Make the file made.txt")
        site.rook("spawn", "task-0001", "--host", "claude", "--backend", "tmux")
        card = site.becomes("w1", report="done")
        until(lambda: "All done." in site.peek("w1"), site.log)
        assert (card["state"], card["outcome"], site.worker()["state"]) == ("running", "completed", "running")
        site.rook("stop", "w1")
        card = site.becomes("w1", state="ended")
        found = site.evidence("w1")  # out of its session's record
        assert found["edit"] == ["made.txt +1 -0"]
        assert [title.partition(" -")[0] for title in found["command"]] == ["rook task claim task-0001", "rook done"]
        assert "All done." in found["response"]
        (run,) = card["runs"]
        assert (site.unmet(), run["tokens"]) == ([], {"input": 40, "output": 20}), "read from its own record"


@pytest.mark.parametrize("host", HOSTS)
def test_a_worker_reports_and_is_kept_from_the_folders_of_others(site: Site, host: str) -> None:
    """Codex keeps its commands from writing there, to the ledger too: it reports by tools. Claude Code keeps its own
    tools from it, unless somebody allows that."""
    program, other = ALL[host], site.home / "teams" / "rig" / "workers" / "w9"
    other.mkdir(parents=True)
    if host == "codex":
        tries = [program.bash(f"echo made > {path}/made.txt; echo tried") for path in (other, site.home / "run")]
        moves = [*tries, *made(host, site.tree())[2:]]
    else:
        tries = [program.write(path / "made.txt", "made\n") for path in (other, site.home / "run")]
        moves = [*tries, *made_by_shell(site.tree())[1:]]
    with site.up({part("w1"): moves}):
        site.rook("task", "add", "The file", "-m", "Make the file made.txt")
        site.rook("spawn", "task-0001", "--host", host, "--backend", "headless")
        card = site.becomes("w1", state="ended")
        assert (card["report"], card["outcome"]) == ("done", "completed"), site.log()
        assert not (other / "made.txt").exists()
        assert not (site.home / "run" / "made.txt").exists()


@pytest.mark.parametrize("host", HOSTS)
def test_h42_a_worker_does_not_decide_for_the_user(site: Site, host: str) -> None:
    """Neither itself nor in a window of the user's: its hook reads the command, and is told why it does not run."""
    program = ALL[host]
    tries = [
        "rook --as user verdict w1/1 promote",
        "tmux new-window 'rook verdict w1/1 promote'",
        "rook rule add mine --path '**' --checks any --risk high",
    ]
    attempts = [move for command in tries for move in (program.bash(command), expect("decides for the user"))]
    branch = git("branch", "--show-current", cwd=site.repo).strip()
    attempts += [program.bash(f"git push . HEAD:{branch}"), expect("once it was reviewed")]
    *moves, end = made(host, site.tree())
    with site.up({part("w1"): [*moves, *attempts, end]}):
        site.rook("task", "add", "The file", "-m", "Make the file made.txt")
        site.rook("spawn", "task-0001", "--host", host, "--backend", "headless")
        card = site.becomes("w1", state="ended")
        assert (site.unmet(), card["report"]) == ([], "done")
        assert (site.rook("land", "list")["landings"], site.rook("rule", "list")["rules"]) == ([], [])
        assert [item["subject"] for item in site.rook("docket")["items"]] == ["w1/1"], "it waits for the user"
        site.rook("verdict", "w1/1", "promote")
        until(lambda: site.landed("made.txt") == "made\n", site.log)


@pytest.mark.parametrize("host", HOSTS)
def test_hooks_that_the_repository_has_are_not_given_twice(site: Site, host: str) -> None:
    """Those that Codex does not trust do not count: it does not run them. Here it does, in the worktree too."""
    environ = site.crew.environ() | {"HOME": str(site.stage.home)}
    install_hooks(host, site.repo, environ)
    git("add", ".", cwd=site.repo)
    git("commit", "--quiet", "--message", "Hooks", cwd=site.repo)
    if host == "codex":
        site.trust_hooks()
    with site.up({part("w1"): [say("I think I am done."), say("Let me be.")]}):
        site.rook("spawn", "Look around", "--host", host, "--backend", "headless")
        site.becomes("w1", state="ended")
        first, *_ = site.asked()
        assert (site.unmet(), len(site.events("worker.nudged"))) == ([], 1)
        assert "\n".join(first.texts).count("Rookery: you are ") == 1


# -- a crew ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("host", "other", "backend"), [("claude", "codex", "headless"), ("codex", "claude", "tmux")])
def test_a_crew_of_two_programs_makes_a_change_judges_it_and_lands_it(
    site: Site, host: str, other: str, backend: str
) -> None:
    (site.crew.base / "reviewer.md").write_text(REVIEWER.format(host=other))
    (site.crew.base / "plan.md").write_text(PLAN)
    # It may be told of the verdict before it is stopped, while it rests: then it has a word to say to that.
    script = [*made(host, site.tree()), say("Good to hear.")]
    with site.up({part("w1"): script, part("w2"): judged(other)}):
        site.rook("kinds", "add", str(site.crew.base / "reviewer.md"))
        how = ("--host", host, "--backend", backend, "--workers", "1", *CHECK, "--detach")
        site.rook("crew", "run", str(site.crew.base / "plan.md"), *how)
        until(lambda: site.rook("crew", "status", "crew-0001")["state"] == "finished", site.log, PATIENCE_S)
        assert (site.unmet(), site.landed("made.txt")) == ([], "made\n")
        one, two = (site.becomes(id, state="ended") for id in ("w1", "w2"))
        assert [(each["host"], each["role"], each["report"]) for each in (one, two)] == [
            (host, "work", "done"), (other, "review", "done")
        ]  # fmt: skip
        used = [each["runs"][0]["tokens"]["output"] for each in (one, two)]
        assert (used[0] in (20, 25), used[1] > 0) == (True, True), (
            "a reviewer is stopped once it has judged, before its last words"
        )
        task = site.rook("task", "show", "task-0001")
        assert (task["status"], task["author"]) == ("completed", one["name"])
        assert [(each["verdict"], each["reviewer"]) for each in task["reviews"]] == [("SHIP", two["name"])]
        assert len(site.events("task.done")) == 1
        assert [each["state"] for each in site.rook("land", "list")["landings"]] == ["landed"]
