"""Repositories that want to run something: each trap leaves a mark if any of what it set up is run."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.unit.gitrepo import git, repository

HOOKS = (
    "post-checkout", "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-merge-commit", "post-merge",
    "pre-rebase", "post-rewrite", "reference-transaction", "post-index-change",
)  # fmt: skip
ATTRIBUTES = "*.txt filter=trap merge=trap diff=trap\n"
LINES = [f"line {n}\n" for n in range(20)]


class Yard:
    """A repository with two branches that touch the same file, a worker's worktree of it, and a mark."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = repository(folder / "repo")
        self.mark = folder / "mark"
        self.program = folder / "trap.sh"
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.mark}\nexit 0\n')
        self.program.chmod(0o755)
        self.tree = folder / "tree"
        (self.root / ".gitattributes").write_text(ATTRIBUTES)
        self.first = self.commit(a="".join(LINES), b="b\n")
        self.second = self.commit(a="".join([*LINES[:-1], "the end\n"]))

    def commit(self, **files: str) -> str:
        for name, text in files.items():
            (self.root / f"{name}.txt").write_text(text)
        git("add", "--all", cwd=self.root)
        git("commit", "-q", "-m", "more", cwd=self.root)
        return git("rev-parse", "HEAD", cwd=self.root)

    def config(self, key: str, value: str, *where: str) -> None:
        git("config", *where, key, value, cwd=self.root)

    @property
    def is_marked(self) -> bool:
        return self.mark.exists()


class Trap(NamedTuple):
    plant: Callable[[Yard], None]
    spring: tuple[str, ...] = ()  # words of a plain git that falls into it, in the repository
    environ: Callable[[Yard], Mapping[str, str]] = lambda _: {}  # of the daemon


def _hooks(yard: Yard, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in HOOKS:
        (folder / name).write_text(f"#!/bin/sh\nexec {yard.program} {name}\n")
        (folder / name).chmod(0o755)


def _hooks_elsewhere(yard: Yard) -> None:
    _hooks(yard, yard.folder / "hooks")
    yard.config("core.hooksPath", str(yard.folder / "hooks"))


def _set(*pairs: tuple[str, str]) -> Callable[[Yard], None]:
    """Settings of the repository; TRAP stands for the program."""

    def plant(yard: Yard) -> None:
        for key, value in pairs:
            yard.config(key, value.replace("TRAP", str(yard.program)))

    return plant


def _included(yard: Yard) -> None:
    (yard.folder / "more").write_text(f'[filter "trap"]\n\tclean = {yard.program}\n\tsmudge = {yard.program}\n')
    yard.config("include.path", str(yard.folder / "more"))


def _per_worktree(yard: Yard) -> None:
    yard.config("extensions.worktreeConfig", "true")
    yard.config("filter.trap.clean", str(yard.program), "--worktree")
    yard.config("filter.trap.smudge", str(yard.program), "--worktree")


def _by_info(yard: Yard) -> None:
    (yard.root / ".git" / "info" / "attributes").write_text("* filter=other\n")
    _set(("filter.other.clean", "TRAP"), ("filter.other.smudge", "TRAP"), ("filter.other.required", "true"))(yard)


def _by_attributes_file(yard: Yard) -> None:
    (yard.folder / "attributes").write_text("* filter=other\n")
    yard.config("core.attributesFile", str(yard.folder / "attributes"))
    _set(("filter.other.process", "TRAP"), ("filter.other.clean", "TRAP"), ("filter.other.smudge", "TRAP"))(yard)


def _odd_name(yard: Yard) -> None:
    """A name with the sign that separates a key from its value."""
    (yard.root / ".git" / "info" / "attributes").write_text("* filter=a=b.c\n")
    _set(("filter.a=b.c.clean", "TRAP"), ("filter.a=b.c.smudge", "TRAP"))(yard)


def _signed(yard: Yard) -> None:
    _set(("commit.gpgSign", "true"), ("log.showSignature", "true"), ("gpg.program", "TRAP"),
         ("merge.verifySignatures", "true"))(yard)  # fmt: skip
    text = subprocess.run(
        ["git", "cat-file", "commit", "HEAD"], cwd=yard.root, capture_output=True, check=True
    ).stdout.replace(b"\n\n", b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1)
    words = ["git", "hash-object", "-t", "commit", "-w", "--stdin"]
    made = subprocess.run(words, cwd=yard.root, input=text, capture_output=True, check=True).stdout.decode().strip()
    git("update-ref", "refs/heads/main", made, cwd=yard.root)


def _promised(url: str, *pairs: tuple[str, str]) -> Callable[[Yard], None]:
    """A partial clone: whatever is missing is fetched from there."""
    return _set(
        ("core.repositoryformatversion", "1"), ("extensions.partialClone", "far"), ("remote.far.url", url),
        ("remote.far.promisor", "true"), ("remote.far.fetch", "+refs/heads/*:refs/remotes/far/*"), *pairs,
    )  # fmt: skip


def _submodule(yard: Yard) -> None:
    """A repository inside the tree, which a worker may make: its own settings, and a tree that asks for them."""
    inner = repository(yard.root / "inner")
    (inner / ".gitattributes").write_text("* filter=trap\n")
    (inner / "x").write_text("x\n")
    git("add", "--all", cwd=inner)
    git("commit", "-q", "-m", "x", cwd=inner)
    for key in ("filter.trap.clean", "filter.trap.smudge", "core.fsmonitor", "core.sshCommand"):
        git("config", key, str(yard.program), cwd=inner)
    (yard.root / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n')
    git("add", "--all", cwd=yard.root)
    git("commit", "-q", "-m", "with a submodule", cwd=yard.root)
    os.utime(inner / "x", (1, 1))
    (inner / "x").write_text("y\n")
    _set(("submodule.recurse", "true"), ("submodule.inner.update", "!TRAP"), ("submodule.inner.url", "./inner"))(yard)


def _inherited(yard: Yard) -> Mapping[str, str]:
    other = yard.folder / "global"
    other.write_text(f'[filter "trap"]\n\tclean = {yard.program}\n\tsmudge = {yard.program}\n')
    return {
        "GIT_CONFIG_GLOBAL": str(other), "GIT_EXTERNAL_DIFF": str(yard.program), "GIT_SSH_COMMAND": str(yard.program),
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": str(yard.program),
        "GIT_PAGER": str(yard.program), "GIT_EDITOR": str(yard.program), "GIT_DIR": str(yard.folder / "nowhere"),
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor'='{yard.program}'", "GIT_ASKPASS": str(yard.program),
    }  # fmt: skip


TRAPS: Mapping[str, Trap] = {
    "hooks": Trap(lambda yard: _hooks(yard, yard.root / ".git" / "hooks"), ("checkout", "-q", "--detach")),
    "hooks elsewhere": Trap(_hooks_elsewhere, ("checkout", "-q", "--detach")),
    "hooks in settings": Trap(_set(("hook.trap.command", "TRAP"), ("hook.trap.event", "pre-commit"))),
    "fsmonitor": Trap(_set(("core.fsmonitor", "TRAP")), ("status",)),
    "clean": Trap(_set(("filter.trap.clean", "TRAP")), ("add", "--all")),
    "smudge": Trap(_set(("filter.trap.smudge", "TRAP")), ("checkout", "-q", "-f", "HEAD~1")),
    "process": Trap(_set(("filter.trap.process", "TRAP")), ("checkout", "-q", "-f", "HEAD~1")),
    "included": Trap(_included, ("checkout", "-q", "-f", "HEAD~1")),
    "per worktree": Trap(_per_worktree, ("checkout", "-q", "-f", "HEAD~1")),
    "by info": Trap(_by_info, ("checkout", "-q", "-f", "HEAD~1")),
    "by a file of attributes": Trap(_by_attributes_file, ("checkout", "-q", "-f", "HEAD~1")),
    "an odd name": Trap(_odd_name, ("checkout", "-q", "-f", "HEAD~1")),
    "merge driver": Trap(_set(("merge.trap.driver", "TRAP %A %O %B")), ("cherry-pick", "other")),
    "external diff": Trap(_set(("diff.external", "TRAP")), ("diff", "HEAD~1")),
    "diff driver": Trap(_set(("diff.trap.command", "TRAP")), ("diff", "HEAD~1")),
    "textconv": Trap(_set(("diff.trap.textconv", "TRAP")), ("diff", "HEAD~1")),
    "signatures": Trap(_signed, ("log", "-1")),
    "pager and editor": Trap(_set(("core.pager", "TRAP"), ("pager.log", "TRAP"), ("core.editor", "TRAP"),
                                  ("sequence.editor", "TRAP"), ("alias.status", "!TRAP")),
                             ("commit", "--allow-empty")),
    "ssh": Trap(_promised("ssh://127.0.0.1:1/x", ("core.sshCommand", "TRAP")), ("cat-file", "-e", "1" * 40)),
    "a program as remote": Trap(_promised("ext::TRAP", ("protocol.ext.allow", "always")), ("cat-file", "-e", "1" * 40)),
    "upload-pack": Trap(_promised("/", ("remote.far.uploadpack", "TRAP")), ("cat-file", "-e", "1" * 40)),
    "submodule": Trap(_submodule, ("status",)),
    "environment": Trap(lambda _: None, ("status",), _inherited),
}  # fmt: skip
