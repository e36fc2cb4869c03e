"""Commands really run, in a scratch folder of their own and a built environment; and what that changed on the disk."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from rookery.core import patterns
from rookery.core.shell import Reach, Reading, Write
from tests.shell.confined import confine

FILES = {
    "a": "a\n", "b": "b\nb\n", "c": "c\n", "-odd": "", "x.txt": "x\n", "y.txt": "y\n", "two words.txt": "2\n",
    "d/one": "one\n", "d/two": "two\n", "d/sub/three": "three\n", "src/a.py": "import os\nx = { 'a':1 }\n",
    "src/b.py": "y=2\n", "src/deep/c.py": "z  =  3\n", "old/keep": "", "conf.json": '{"a": 1}',
    "list.txt": "l1\nl2\nl2\n",
    "app/[slug]/page.tsx": "x\n", "script.sh": "echo   hi\n", "script.sed": "s/a/b/\n",
    "fix.patch": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+patched\n",
}  # fmt: skip
TOOLS = ("ruff", "shfmt")  # of our own environment


def template(root: Path) -> Path:
    """The scratch folder that each command gets a copy of: a repository with a branch, and changes in its tree."""
    scratch = root / "template"
    for name, text in FILES.items():
        path = scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (scratch / "empty_dir").mkdir()
    (scratch / "nest" / "inner").mkdir(parents=True)
    with tarfile.open(scratch / "arc.tar", "w") as archive:
        archive.add(scratch / "a", "t/one")
    with zipfile.ZipFile(scratch / "arc.zip", "w") as archive:
        archive.write(scratch / "a", "t/one")
    (root / "tools").mkdir()
    for tool in TOOLS:
        (root / "tools" / tool).symlink_to(Path(sys.executable).with_name(tool))
    (root / "home").mkdir(exist_ok=True)
    script = """
        git init -q -b main --template= . && git add -A && git commit -qm one
        git checkout -qb other && echo other > c && echo o > only_other && git add -A && git commit -qm two
        git checkout -q main
    """
    subprocess.run(["bash", "-ec", script], cwd=scratch, env=environment(root), check=True)
    for name in ("a", "b", "src/a.py"):
        with (scratch / name).open("a") as file:
            file.write("changed\n")
    (scratch / "untracked").mkdir()
    (scratch / "untracked" / "file").write_text("u\n")
    return scratch


def environment(root: Path) -> dict[str, str]:
    return {
        "PATH": f"{root / 'tools'}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(root / "home"),
        "TMPDIR": str(root),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t",
        "GIT_ALLOW_PROTOCOL": "file",
    }  # fmt: skip


def run(command: str, scratch: Path, root: Path) -> set[str]:
    """The paths, relative to the scratch folder, that running the command made, changed or removed."""
    before = snapshot(scratch)
    subprocess.run(
        ["bash", "-c", command],
        cwd=scratch,
        env=environment(root),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=confine(scratch.parent),
        timeout=30,
    )
    after = snapshot(scratch)
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def copied(scratch: Path, to: Path, command: str) -> Path:
    """A copy for one command; the repository comes along where git is asked for."""
    left_out = None if "git" in command else shutil.ignore_patterns(".git")
    shutil.copytree(scratch, to, symlinks=True, ignore=left_out)
    return to


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Folders by being there, files by content, mode and time. What git and ruff keep for themselves is left out."""
    found: dict[str, tuple[object, ...]] = {}
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", ".ruff_cache")]
        for name in folders + names:
            path = os.path.join(here, name)
            if name != ".git":
                found[os.path.relpath(path, folder)] = _state(path)
    return found


def _state(path: str) -> tuple[object, ...]:
    stat = os.lstat(path)
    if os.path.islink(path):
        return ("link", os.readlink(path))
    if os.path.isdir(path):
        return ("folder", stat.st_mode)
    if not os.path.isfile(path):
        return ("other", stat.st_mode)
    return ("file", stat.st_mode, stat.st_mtime_ns, hashlib.sha256(Path(path).read_bytes()).hexdigest())


class Run(NamedTuple):
    command: str
    changed: frozenset[str]
    cwd: str
    home: str


def run_all(commands: list[str], root: Path) -> list[Run]:
    scratch = template(root)

    def one(numbered: tuple[int, str]) -> Run:
        number, command = numbered
        folder = copied(scratch, root / f"run{number}", command)
        changed = frozenset(run(command, folder, root))
        shutil.rmtree(folder)
        return Run(command, changed, str(folder), str(root / "home"))

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, enumerate(commands)))


def uncovered(run: Run, reading: Reading) -> set[str]:
    """What was changed and not foretold; nothing where the reading says that it does not know."""
    if reading.opaque:
        return set()
    return {path for path in run.changed if not any(covers(write, f"{run.cwd}/{path}") for write in reading.writes)}


def covers(write: Write, path: str) -> bool:
    if write.reach is Reach.REPOSITORY:
        return True  # the scratch folder is one
    told = os.path.normpath(write.path)
    beneath = "/" if write.reach is Reach.BENEATH else ""
    if write.pattern:
        return patterns.covers(patterns.parse(told.lstrip("/") + beneath), path.lstrip("/"))
    return path == told or bool(beneath and path.startswith(told.rstrip("/") + "/"))
