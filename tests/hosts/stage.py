"""One run of a real program: folders of its own, an environment built from nothing, a network with loopback only.

    stage = Stage(tmp_path, ALL["claude"])
    stage.rules(deny=("secret.txt", "held by wren"))
    run = stage.play([program.write(stage.project / "a.txt", "hello\n"), say("done")])
    assert run.told("...")

`play` fails where the program did not end well or did not follow the script to its end; what it said then stands in the
failure, and the folder with the whole transcript is kept by pytest.
"""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.hosts.install import search_path, wanted, whole
from tests.hosts.model.script import Asked, Move, Parts
from tests.hosts.programs.port import Place, Program

ROOT = Path(__file__).parents[2]
INSTALLED = wanted()  # before any test changes HOME
DEADLINE_S = 150.0  # a turn takes 1 to 8 s, and 70 with six at once beside other work on two cores
JAIL_MARGIN_S = 8.0  # for the jail to end what is left and write down the outcome
TAIL = 2_000


class Run(NamedTuple):
    code: int | None
    """None: it was ended at its deadline."""
    seconds: float
    left_behind: list[str]
    stdout: str
    stderr: str
    requests: list[dict[str, Any]]
    hooks: list[dict[str, Any]]

    @property
    def asked(self) -> list[Asked]:
        """The requests of the conversation itself."""
        views = [Asked(**request["asked"]) for request in self.requests if "asked" in request]
        return [view for view in views if view.tools]

    @property
    def heard(self) -> list[str]:
        """Everything the model was told, request by request: each holds what the one before it held."""
        return ["\n".join(asked.results + asked.texts) for asked in self.asked]

    @property
    def results(self) -> list[str]:
        """What the tools answered, as the last request tells it."""
        return self.asked[-1].results

    def told(self, text: str) -> bool:
        """Whether the model was told this by its last request, in a tool's result or beside it."""
        return any(text in said for said in self.asked[-1].results + self.asked[-1].texts)

    def given(self, moment: str) -> list[dict[str, Any]]:
        """What the hooks were given at one moment."""
        return [hook["given"] for hook in self.hooks if hook["moment"] == moment]

    def complaint(self) -> str:
        answers = [request["answer"] for request in self.requests if "answer" in request]
        if self.code is None:
            return "it was ended at its deadline"
        if self.code:
            return f"it ended with {self.code}"
        if unmet := [answer["unmet"] for answer in answers if answer["unmet"]]:
            return f"the model was not told {unmet[0]!r}"
        if any(answer["over"] for answer in answers):
            return "it asked the model for more than the script has"
        return ""


class Stage:
    def __init__(self, base: Path, program: Program, project: Path | None = None) -> None:
        """In a repository of its own, or in a given one that others work in too."""
        self.program = program
        self.home = base / "agent-home"
        self.project = project or base / "project"
        self.folder = base / "rig"
        self._temp = base / "temp"
        for folder in (self.home, self.folder, self._temp):
            folder.mkdir(parents=True)
        self.place = Place(self.home, self.project, self.folder, sys.executable)
        if project is None:
            self.project.mkdir()
            subprocess.run(["git", "init", "--quiet"], cwd=self.project, env={"PATH": os.defpath}, check=True)
        self.rules()
        program.settle(self.place)

    def rules(self, greeting: str = "", deny: tuple[str, str] | None = None, context: str = "", hold: str = "") -> None:
        """What the rig's own hook answers; see answering/hook.py."""
        denied = {"path": deny[0], "reason": deny[1]} if deny else None
        rules = {"greeting": greeting, "deny": denied, "context": context, "hold": hold}
        (self.folder / "rules.json").write_text(json.dumps(rules))

    def play(
        self,
        moves: Sequence[Move],
        prompt: str = "Do what the script says.",
        environ: Mapping[str, str] | None = None,
    ) -> Run:
        run = self.start(self.program.command(prompt), moves, self.program.environment() | dict(environ or {}))
        if complaint := run.complaint():
            raise AssertionError(
                f"{self.program.name}: {complaint}. All of it is in {self.folder}.\n"
                f"--- stdout\n{run.stdout[-TAIL:]}\n--- stderr\n{run.stderr[-TAIL:]}"
            )
        return run

    def start(
        self,
        command: Sequence[str],
        moves: Sequence[Move] | Parts = (),
        environ: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> Run:
        """Any command at all, in the place of the program, and no judgement of how it ended."""
        (self.folder / "script.json").write_text(json.dumps(dict(moves) if isinstance(moves, Mapping) else list(moves)))
        spec = {
            "folder": str(self.folder),
            "command": list(command),
            "cwd": str(self.project),
            "env": self.built() | dict(environ or {}),
            "deadline_s": deadline_s,
        }
        (self.folder / "spec.json").write_text(json.dumps(spec))
        self._jail(deadline_s)
        return self._outcome()

    def built(self) -> dict[str, str]:
        """The whole environment of the program but for its own variables: nothing of the caller's is in it."""
        return {
            "HOME": str(self.home),
            "TMPDIR": str(self._temp),  # beside HOME: Codex refuses a home below it
            "PATH": search_path(INSTALLED),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
        }

    def _jail(self, deadline_s: float) -> None:
        jail = [*unshare(), sys.executable, "-m", "tests.hosts.jail", str(self.folder / "spec.json")]
        environ = {"PATH": os.defpath, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(jail, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL)
        try:
            code = process.wait(deadline_s + JAIL_MARGIN_S)
        finally:
            process.terminate()
            process.wait()
        assert code == 0, f"the jail itself failed with {code}"

    def _outcome(self) -> Run:
        outcome = json.loads((self.folder / "outcome.json").read_text())
        return Run(
            **outcome,
            stdout=(self.folder / "stdout").read_text(errors="replace"),
            stderr=(self.folder / "stderr").read_text(errors="replace"),
            requests=lines(self.folder / "requests.jsonl"),
            hooks=lines(self.folder / "hooks.jsonl"),
        )


def lines(path: Path) -> list[dict[str, Any]]:
    """Whole lines: the last one may be just being written."""
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []


def unshare() -> list[str]:
    """Root may make a network of its own; another user first becomes root of a user namespace of its own."""
    return ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]


@functools.cache
def lacking() -> str:
    """Why no program can be run here; empty where one can."""
    if not sys.platform.startswith("linux"):
        return "the agent programs are tested on Linux only: their network namespace is Linux's"
    if not whole(INSTALLED):
        return f"the agent programs are not installed in {INSTALLED}: run make hosts"
    try:
        tried = subprocess.run([*unshare(), "true"], capture_output=True, text=True)
    except FileNotFoundError:
        return "the command unshare is missing: install the package util-linux"
    if tried.returncode:
        return f"this user may not make a network namespace, run as root: {tried.stderr.strip()}"
    return ""
