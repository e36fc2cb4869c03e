"""Workers for tests: a real repository and daemon, and programs that say when they began and end when they are told.

Nothing of the code under test is asked what runs: processes are counted in /proc, windows by tmux, worktrees by git.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rookery import app
from rookery.client.port import Client
from tests.support.doors import Running, environment
from tests.support.panes import until
from tests.support.stores import prepared_home
from tests.unit.gitrepo import git, repository

# Each start is a line of its own, written in one piece; then it waits until it is told how to end.
PROGRAM = """\
#!/bin/sh
echo "$ROOK_WORKER $ROOK_RUN $$" >>"{folder}/begun"
echo "hello from $ROOK_WORKER"
{more}
while [ ! -e "{folder}/end-$ROOK_WORKER" ] && [ ! -e "{folder}/end" ]; do sleep 0.05; done
read -r code 2>/dev/null <"{folder}/end-$ROOK_WORKER" || read -r code <"{folder}/end"
echo "bye from $ROOK_WORKER"
exit "$code"
"""
QUICK = {"ROOK_WORKER_HEARTBEAT_S": "0.2", "ROOK_WORKER_GRACE_S": "0.3", "ROOK_WORKER_TERM_S": "2",
         "ROOK_POLL_S": "0.2"}  # fmt: skip


class Site:
    """A home, a repository, and the workers asked for in it."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.folder = folder
        self.repo = repository(folder / "repo")
        self.environ = {**QUICK, **environ}
        self.home = Path(prepared_home(folder / "rook"))
        self.house = app.open_house(cwd=str(self.repo), environ=environment(folder, **self.environ))
        self.program("program")

    @property
    def team(self) -> str:
        return self.house.team

    @property
    def client(self) -> Client:
        return self.house.client

    def program(self, name: str, more: str = "", text: str = PROGRAM) -> str:
        path = self.folder / name
        path.write_text(text.format(folder=self.folder, more=more))
        path.chmod(0o755)
        return str(path)

    def call(self, verb: str, as_: str | None = None, **args: Any) -> Any:
        return self.client.call(verb, args, self.house.caller(as_))

    def spawn(self, assignment: str = "Parse the header", backend: str = "headless", **more: Any) -> str:
        more.setdefault("program", [str(self.folder / "program")])
        return self.call("spawn", assignment=assignment, host="script", backend=backend, **more)["id"]

    def card(self, id: str = "w1") -> dict[str, Any]:
        return self.call("worker.show", id=id)

    def becomes(self, state: str, id: str = "w1", patience_s: float = 60.0) -> dict[str, Any]:
        until(lambda: self.card(id)["state"] == state, lambda: (state, self.card(id), self.log()), patience_s)
        return self.card(id)

    def begun(self, id: str = "w1", times: int = 1) -> list[tuple[str, int]]:
        """The runs whose program began, with its process, once there are so many."""
        until(lambda: len(self.starts(id)) >= times, lambda: (times, self.starts(id), self.card(id), self.log()))
        return self.starts(id)

    def starts(self, id: str = "w1") -> list[tuple[str, int]]:
        path = self.folder / "begun"
        lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return [(run, int(pid)) for worker, run, pid in lines if worker == id]

    def finish(self, code: int = 0, id: str = "") -> None:
        path = self.folder / (f"end-{id}" if id else "end")
        path.with_suffix(".tmp").write_text(f"{code}\n")
        path.with_suffix(".tmp").rename(path)

    def files(self, id: str = "w1") -> Path:
        return self.home / "teams" / self.team / "workers" / id

    def events(self, kind: str) -> list[Mapping[str, Any]]:
        """In order; without a kind all of them."""
        return [each for each in self.call("events", limit=1000)["events"] if kind in ("", each["type"])]

    def log(self) -> str:
        path = self.home / "logs" / "daemon.log"
        return path.read_text()[-3000:] if path.exists() else ""

    # -- what is there, seen from outside ------------------------------------------------------------------------------

    def processes(self, run: str = "") -> dict[int, str]:
        """Processes that carry a run of this home, with their command."""
        found: dict[int, str] = {}
        wanted = f"\0ROOK_HOME={self.home}\0".encode()
        for name in os.listdir("/proc"):
            try:
                data = b"\0" + Path("/proc", name, "environ").read_bytes() if name.isdecimal() else b""
                if wanted in data and (f"\0ROOK_RUN={run}\0" if run else "\0ROOK_RUN=").encode() in data:
                    found[int(name)] = Path("/proc", name, "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
        return {pid: command for pid, command in found.items() if command}  # without one it is a zombie

    def windows(self) -> list[str]:
        socket = self.home / "run" / "tmux"
        if not socket.exists():
            return []
        done = subprocess.run(
            ["tmux", "-S", str(socket), "list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{@rook_run}"],
            capture_output=True, text=True, timeout=30,
        )  # fmt: skip
        return done.stdout.splitlines() if not done.returncode else []

    def worktrees(self) -> list[str]:
        listed = git("worktree", "list", "--porcelain", cwd=self.repo).splitlines()
        return [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")][1:]

    def nothing_runs(self) -> None:
        until(lambda: not self.processes(), self.processes)
        until(lambda: not self.windows(), self.windows)

    def close(self) -> None:
        """Only what this site started, by the run that it carries."""
        for pid in self.processes():
            subprocess.run(["kill", "-9", str(pid)], capture_output=True)
        socket = self.home / "run" / "tmux"
        if socket.exists():
            subprocess.run(["tmux", "-S", str(socket), "kill-server"], capture_output=True, timeout=30)
        self.house.close()

    @contextmanager
    def up(self, *flags: str, program: str = "rookery", **environ: str) -> Generator[Running]:
        daemon = Running(self.repo, *flags, program=program, **{
            "HOME": str(self.folder), "ROOK_HOME": str(self.home), "PATH": os.environ["PATH"], **self.environ, **environ
        })  # fmt: skip
        try:
            yield daemon
        finally:
            daemon.stop()


@contextmanager
def site(**environ: str) -> Generator[Site]:
    """In a folder with a short name: a socket's path may have a hundred bytes."""
    folder = Path(tempfile.mkdtemp(prefix="rook-w-"))
    made = Site(folder, **environ)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)
