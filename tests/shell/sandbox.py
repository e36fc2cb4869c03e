"""A project with a reserved file: the hook decides about a command, then the command is executed there.

The project is put back from a template before each command. Every command runs in the same folder, so that absolute
paths in it mean the same to the hook and to the shell.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from rookery.front.cli.call import Call, Reply
from tests.shell.confined import confine
from tests.support import fastdoor

HELD = "src/a.py"
FILES = {
    HELD: "import os\nx = { 'a':1 }\nz = 3\n",
    "src/b.py": "y = 2\n",
    "src/c.js": "console.log(1)\n",
    "other.txt": "other\n",
    "docs/note.md": "note\n",
    "main.c": "int main(void) { return 0; }\n",
    "README.md": "read me\n",
    "tests/test_ok.py": "def test_ok():\n    assert True\n",
    "Makefile": "all:\n\t@echo made\ntest:\n\t@echo ok\n",
    "package.json": '{"name": "p", "scripts": {"test": "echo ok", "lint": "echo lint"}}\n',
    "data.csv": "a,b\n1,2\n3,4\n",
    "fix.patch": "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,3 +1,3 @@\n import os\n-x = { 'a':1 }\n+x = 9\n z = 3\n",
    "tools/run.sh": 'echo ran "$@"\n',
    "hex.txt": "78790a\n",
    "hello.s": ".globl f\nf:\n  ret\n",
}
TOOLS = ("ruff", "shfmt")


class Ran(NamedTuple):
    changed: bool  # the reserved file
    code: int


class Sandbox:
    def __init__(self, above: Path) -> None:
        self.above = above
        self.root = above / "project"
        self._template = above / "template"
        self.environ = {"HOME": str(above), "ROOK_HOME": str(above / "home"), "ROOK_TEAM": "crew"}
        self._made()
        for name in ("holder", "asker"):
            self.rook("join", name)
        self.rook("reserve", HELD, "--reason", "mine", "--as", "holder")

    def _made(self) -> None:
        for name, text in FILES.items():
            path = self._template / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self._template / "rookery.toml").touch()
        tools = self.above / "tools"
        tools.mkdir()
        for tool in TOOLS:
            (tools / tool).symlink_to(Path(sys.executable).with_name(tool))
        script = "git init -q -b main --template= . && git add -A && git commit -qm one && echo 'w = 4' >> src/a.py"
        subprocess.run(["bash", "-ec", script], cwd=self._template, env=self.environment(), check=True)
        shutil.copytree(self._template, self.root, symlinks=True)

    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.above / 'tools'}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.above), "TMPDIR": str(self.above), "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t",
            "PYTHONDONTWRITEBYTECODE": "1", "TERM": "dumb",
        }  # fmt: skip

    def rook(self, *argv: str, stdin: str = "") -> Reply:
        reply = fastdoor.whole(Call(list(argv), str(self.root), self.environ, lambda: stdin, print, peer=0))
        assert reply.code == 0, reply.err
        return reply

    def denial(self, command: str, folder: str = ".") -> str:
        """Why the hook denies the command to one who has not reserved the file; "" if it does not."""
        event = {
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command},
            "cwd": str(self.root / folder),
        }  # fmt: skip
        reply = self.rook("hook", "claude", "--as", "asker", stdin=json.dumps(event))
        answer = json.loads(reply.out)["hookSpecificOutput"] if reply.out else {}
        return answer.get("permissionDecisionReason", "") if answer.get("permissionDecision") == "deny" else ""

    def execute(self, command: str, folder: str = ".") -> Ran:
        before = self._state()
        with subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.root / folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=confine(self.above),
        ) as process:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        changed = self._state() != before
        self._restore()
        return Ran(changed, process.returncode or 0)

    def _state(self) -> tuple[object, ...]:
        path = self.root / HELD
        if path.is_symlink() or not path.is_file():
            return ("gone", path.is_symlink(), path.exists())
        stat = path.stat()
        return (path.read_bytes(), stat.st_mode, stat.st_mtime_ns)

    def _restore(self) -> None:
        """The same folder with its old contents: other processes, and the store, know it by its path."""
        for name in os.listdir(self.root):
            path = self.root / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        shutil.copytree(self._template, self.root, symlinks=True, dirs_exist_ok=True)
