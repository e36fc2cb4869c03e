"""Two repositories beside each other, `repo` and `elsewhere`, and a plain folder `h`, for the commands of *.jsonl.

In `repo` an agent has reserved `src/a.py` and the folder `lib`. The hook is asked as another agent of that team, as an
agent of `elsewhere`, or as an agent that no team knows. Each command is then executed; `/base` in it stands for the
folder with the repositories.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rookery.front.cli.call import Call, Reply
from tests.shell.confined import confine
from tests.support import fastdoor

BASE = "/base"
HELD = ("src/a.py", "lib")
_PATCH = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-v = 2\n+v = 3\n"
_FILES = {
    "src/a.py": "v = 1\n", "src/b.py": "w = 2\n", "lib/x.py": "x = 1\n", "other/o.txt": "o\n", "README.md": "read\n",
    "Makefile": "all:\n\t@echo made\nw:\n\techo w > $(T)\n", ".gitignore": "tmp\n",
}  # fmt: skip
_UNTRACKED = {"tmp/list": "src/a.py\n", "tmp/a.py": "t = 1\n", "tmp/src/a.py": "t = 2\n", "tmp/p.diff": _PATCH}
_HISTORY = """
git init -q -b main --template= . && mkdir -p .git/hooks
git config core.checkStat minimal && git config core.trustctime false  # the repository is copied
git add -A && git commit -qm one
echo 'v = 2' > src/a.py && git commit -qam two
echo more >> README.md && git commit -qam three
git checkout -qb side && echo 'v = 3' > src/a.py && git commit -qam side && git checkout -q main
echo 'v = 5' > src/a.py && git stash -q
"""


class Known(NamedTuple):
    """One line of such a file. `nameless`: why its text does not name what it writes; then it is not denied."""

    group: str
    cwd: str
    command: str
    nameless: str = ""

    @property
    def agent(self) -> str:
        """Who asks, if not an agent that belongs where the command runs."""
        return "nobody" if self.group.startswith("O ") else ""


def load(name: str = "let_through.jsonl") -> list[Known]:
    lines = Path(__file__).with_name(name).read_text().splitlines()
    rows = map(json.loads, lines)
    return [Known(each["class"], each["cwd"], each["command"], each.get("nameless", "")) for each in rows]


class Repositories:
    def __init__(self, above: Path) -> None:
        self.base = above / "base"
        self._above, self._template = above, above / "template"
        self.environ = {"HOME": str(above), "ROOK_HOME": str(above / "home")}
        self._make()
        shutil.copytree(self._template, self.base, symlinks=True)
        for name in ("holder", "asker"):
            self.rook("repo", "join", name)
        self.rook("elsewhere", "join", "guest")
        self.rook("repo", "reserve", *HELD, "--as", "holder")

    def _make(self) -> None:
        repo, elsewhere = self._template / "repo", self._template / "elsewhere"
        for name, text in _FILES.items():
            _put(repo / name, text)
        _put(elsewhere / "e.txt", "e\n")
        tools = self._above / "tools"
        tools.mkdir()
        (tools / "ruff").symlink_to(Path(sys.executable).with_name("ruff"))
        run = {"env": self.environment(), "check": True}
        subprocess.run(["bash", "-ec", _HISTORY], cwd=repo, **run)
        made = "git init -q -b main --template= . && git add -A && git commit -qm one"
        subprocess.run(["bash", "-ec", made], cwd=elsewhere, **run)
        for name, text in _UNTRACKED.items():
            _put(repo / name, text)
        with zipfile.ZipFile(repo / "tmp/z.zip", "w") as packed:
            packed.write(repo / "tmp/src/a.py", "src/a.py")
        with tarfile.open(repo / "tmp/t.tar", "w") as archive:
            archive.add(repo / "tmp/src/a.py", "src/a.py")
        (self._template / "repolink").symlink_to("repo")
        (self._template / "h").mkdir()

    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self._above / 'tools'}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/sbin",
            "HOME": str(self._above), "TMPDIR": str(self._above), "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t",
            "TERM": "xterm", "USER": "u", "HOSTNAME": "h",
        }  # fmt: skip

    def rook(self, folder: str, *argv: str, stdin: str = "", **environ: str) -> Reply:
        call = Call(list(argv), str(self.base / folder), self.environ | environ, lambda: stdin, print, peer=0)
        reply = fastdoor.whole(call)
        assert reply.code == 0, reply.err
        return reply

    def text(self, command: str) -> str:
        return command.replace(BASE, str(self.base))

    def hook(self, moment: str, command: str, cwd: str = f"{BASE}/repo", agent: str = "") -> dict[str, str]:
        """What the hook answers to an agent: by default one that belongs where the command runs."""
        folder = self.text(cwd)
        known = agent or ("guest" if cwd.endswith(("elsewhere", "/h")) else "asker")
        event = {
            "hook_event_name": moment, "cwd": folder, "session_id": "s", "tool_use_id": "t", "tool_name": "Bash",
            "tool_input": {"command": self.text(command)}, "tool_response": {},
        }  # fmt: skip
        here = os.path.relpath(folder, self.base)
        reply = self.rook(here, "hook", "claude", stdin=json.dumps(event), ROOK_AGENT=known)
        return json.loads(reply.out)["hookSpecificOutput"] if reply.out else {}

    def denial(self, command: str, cwd: str = f"{BASE}/repo", agent: str = "") -> str:
        answer = self.hook("PreToolUse", command, cwd, agent)
        return answer.get("permissionDecisionReason", "") if answer.get("permissionDecision") == "deny" else ""

    def execute(self, command: str, cwd: str = f"{BASE}/repo", then: Callable[[], None] | None = None) -> bool:
        """Whether the command changed what is reserved; `then` is called before everything is put back."""
        before = self._state()
        shell = ["unshare", "-m"] if "mount" in command and os.geteuid() == 0 else []
        with subprocess.Popen(
            [*shell, "bash", "-c", self.text(command)],
            cwd=self.text(cwd),
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=confine(self.base.parent),
        ) as process:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        changed = self._state() != before
        if then is not None:
            then()
        self._restore()
        return changed

    def _state(self) -> dict[str, object]:
        repo = self.base / "repo"
        paths = [repo / "src/a.py", repo / "lib", *(repo / "lib").rglob("*")]
        return {str(path): _state(path) for path in paths if path.is_symlink() or path.exists()}

    def _restore(self) -> None:
        """The same folders with their old contents."""
        for here in (self.base, self.base / "repo", self.base / "elsewhere"):
            if here.is_symlink() or not here.is_dir():
                here.mkdir()
            for name in os.listdir(here):
                path = here / name
                if path.is_symlink() or not path.is_dir():
                    path.unlink()
                elif here != self.base or name not in ("repo", "elsewhere"):
                    shutil.rmtree(path)
        shutil.copytree(self._template, self.base, symlinks=True, dirs_exist_ok=True)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _state(path: Path) -> object:
    if path.is_symlink():
        return os.readlink(path)
    stat = path.stat()
    return (stat.st_mode, path.read_bytes(), stat.st_mtime_ns) if path.is_file() else stat.st_mode
