"""Real git repositories for tests, made in an environment that no setting of the machine reaches."""

import atexit
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path


def git(*words: str, cwd: Path) -> str:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@localhost",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@localhost",
    }
    command = ["git", "-c", "protocol.file.allow=always", *words]
    done = subprocess.run(command, cwd=cwd, env=environ, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(path: Path) -> Path:
    """A repository with one commit on `main`: made once in a process, copied for every other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(_made(), path, symlinks=True)
    return path


@cache
def _made() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="rook-repository-")
    atexit.register(folder.cleanup)
    path = Path(folder.name)
    git("init", "-q", "-b", "main", cwd=path)
    git("config", "maintenance.auto", "false", cwd=path)  # the git of a killed worker would leave its lock
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=path)
    return path
