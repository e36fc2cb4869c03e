"""Where git looks for its hooks. Only git knows: its settings come from several files, and include each other."""

import os
from collections.abc import Mapping

from rookery.core.errors import Refused

from . import git


def folder(repository: git.Repository, environ: Mapping[str, str]) -> str:
    """The folder of this repository's hooks; refused where it may be that of other repositories too."""
    import subprocess

    clean = {name: value for name, value in environ.items() if not name.startswith("GIT_")}  # the user's own settings
    asked = ["git", "rev-parse", "--path-format=absolute", "--git-path", "hooks"]
    try:
        told = subprocess.run(asked, cwd=repository.top, env=clean, capture_output=True, check=True, timeout=10).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise Refused(f"git does not tell where its hooks are: {error}.", "See that `git status` works here.") from None
    found = os.path.normpath(os.path.join(repository.top, os.fsdecode(told.removesuffix(b"\n"))))
    if not any(_below(found, home) for home in (repository.common, repository.top)):
        raise Refused(
            f"git's hooks are in {found}, outside this repository: others may use them too.",
            "Add `git diff --cached --name-only --no-renames -z | rook can-commit` to its pre-commit yourself.",
            code="SHARED_HOOKS",
        )
    return found


def _below(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))
