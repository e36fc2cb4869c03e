"""Several agents in one repository with one ledger: real programs with scripted models, and one that the test acts.

    with Crew(tmp_path) as crew:
        crew.raven("reserve", paths=["held.txt"], reason="mending it")
        wren = crew.member(ALL["claude"], "BrightWren")
        install_hooks(wren.program.executable, crew.repo, wren.environ)
        run = wren.play([program.edit(...), crew.meanwhile("release", "held.txt"), program.edit(...), say("done")])

SwiftRaven is a process of its own beside the programs, alive as long as the crew: a session belongs to a process and
to all below it, so that an agent which is the test itself would be every program that the test starts. What happens in
the middle of a turn is a `rook` command that says her name, run while the model thinks (`meanwhile`).
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import rookery
from tests.hosts.model.script import Move, meanwhile
from tests.hosts.programs import Program
from tests.hosts.stage import Run, Stage
from tests.hosts.tui import FREE, Tui, settled
from tests.support.procs import Child, children, environment, hear, say
from tests.support.stores import prepared_home

RAVEN = "SwiftRaven"
ROOK = Path(sys.executable).with_name("rook")
SERVER = "rook"
"""What the programs call Rookery's MCP server."""
SETTLE_S = 60.0


class Crew:
    def __init__(self, base: Path, *names: str) -> None:
        """A repository with one commit, a home for the ledger, and the names of who will work there."""
        self.base = base
        self.repo = base / "repo"
        self.home = base / "rook"
        self.bin = base / "bin"
        self.bin.mkdir()
        (self.bin / "rook").symlink_to(ROOK)
        self.repo.mkdir()
        known = "".join(f'{name} = {{ role = "builder" }}\n' for name in (RAVEN, *names))
        (self.repo / "rookery.toml").write_text(f'team = "rig"\n\n[agents]\n{known}')
        (self.repo / "held.txt").write_text("as it was\n")
        self._commit()
        prepared_home(self.home)

    def __enter__(self) -> Self:
        act = {"name": RAVEN, "home": str(self.home), "repo": str(self.repo)}
        with ExitStack() as stack:
            (self._raven,) = stack.enter_context(children(Child(act_as, environment(HOME=str(self.base)), **act)))
            assert self._raven.hear() == "ready"
            self._alive = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._alive.close()

    def member(self, program: Program, name: str) -> "Member":
        return Member(self, program, name)

    def raven(self, verb: str, **args: Any) -> Any:
        """SwiftRaven calls a verb, now."""
        self._raven.say(json.dumps([verb, args]))
        answer = self._raven.hear()
        assert "refused" not in answer, answer
        return answer["result"]

    def person(self, *command: str) -> Any:
        """What a `rook` command answers the person who gives it."""
        done = subprocess.run(
            [str(ROOK), *command], cwd=self.repo, env=self.environ(), capture_output=True, check=True, timeout=SETTLE_S
        )
        return json.loads(done.stdout)

    def meanwhile(self, *command: str, name: str = RAVEN) -> Move:
        """A `rook` command that someone else gives while a model thinks."""
        return meanwhile([str(ROOK), *command, "--as", name], self.environ(), str(self.repo))

    def environ(self) -> dict[str, str]:
        """What everyone in the crew has in common."""
        return {"HOME": str(self.base), "PATH": f"{self.bin}{os.pathsep}{os.defpath}", "ROOK_HOME": str(self.home)}

    def _commit(self) -> None:
        who = {f"GIT_{part}_{what}": "raven" for part in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "The nest"]):
            subprocess.run(["git", *command], cwd=self.repo, env={"PATH": os.defpath, **who}, check=True)


class Member:
    """One real program in the crew, and the agent it is."""

    def __init__(self, crew: Crew, program: Program, name: str) -> None:
        self.program = program
        self.name = name
        self.repo = crew.repo
        self.stage = Stage(crew.base / name, program, crew.repo)
        built = self.stage.built()
        paths = {"PATH": f"{crew.bin}{os.pathsep}{built['PATH']}"}
        self.environ = built | program.environment() | paths | {"ROOK_HOME": str(crew.home), "ROOK_AGENT": name}
        # Codex runs commands in a login shell, which may begin with a PATH of its own.
        (self.stage.home / ".profile").write_text(f'PATH="{crew.bin}:$PATH"\n')

    def play(self, moves: Sequence[Move], prompt: str = "Do what the script says.") -> Run:
        return self.stage.play(moves, prompt, self.environ)

    def play_beside_daemon(self, moves: Sequence[Move], environ: Mapping[str, str]) -> Run:
        """The same with `rook up` in the program's own network, which writes down every request."""
        script = 'rook up --detach >/dev/null || exit 9; "$@"; code=$?; rook down >/dev/null; exit $code'
        command = ["sh", "-c", script, "sh", *self.program.command("Do what the script says.")]
        run = self.stage.start(command, moves, {**self.environ, "ROOK_LOG_REQUESTS": "true", **environ})
        assert not run.complaint(), f"{run.complaint()}\n{run.stdout}\n{run.stderr}"
        return run

    def at_terminal(self, moves: list[Move], words: list[str] | None = None) -> Tui:
        """The program at a terminal, where it waits for its user."""
        return Tui(settled(self.stage), moves, words or FREE[self.program.executable], self.environ)

    def add_mcp(self) -> None:
        """Rookery's tools, entered by the rig. Codex gives a server nothing of its own environment, so it is said."""
        said = [f"{name}={self.environ[name]}" for name in ("ROOK_HOME", "ROOK_AGENT")]
        self.program.add_mcp(self.stage.place, SERVER, ["env", *said, str(ROOK), "mcp"])

    def mcp(self, tool: str, **args: Any) -> list[Move]:
        return self.program.mcp(SERVER, tool, args)


def install_hooks(host: str, repo: Path, env: Mapping[str, str], *flags: str) -> None:
    """Hooks, and the entry of the MCP server, as a user gets them."""
    done = subprocess.run(
        [str(ROOK), "init", "--host", host, "--yes", *flags],
        cwd=repo,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SETTLE_S,
    )
    assert done.returncode == 0, f"rook init --host {host} failed: {done.stdout}{done.stderr}"


# --- inside the process of SwiftRaven ---


def act_as(name: str, home: str, repo: str) -> None:
    """Join, then call one verb for each line that is heard."""
    with rookery.connect(home=home, cwd=repo) as team:
        me = team.join(name)
        say("ready")
        while asked := hear():
            verb, args = json.loads(asked)
            try:
                say({"result": me.call(verb, **args)})
            except rookery.RookError as error:
                say({"refused": f"{error.code}: {error}"})
