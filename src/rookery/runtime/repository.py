"""git, run: worktrees made and taken away, commits looked up.

Argument vectors only. `gitpolicy` decides what git itself may run. Names of commits and branches stand behind
`--end-of-options`, or before `--` where git does not take that, so that none of them is read as an option.
"""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from rookery.core.errors import Refused
from rookery.core.record import NamedTuple
from rookery.core.text import plain

from . import gitpolicy

NOWHERE = "rookery.invalid"
UNMERGED = ("diff", "--name-only", "--diff-filter=U", "-z", "--no-ext-diff", "--no-textconv",
            "--ignore-submodules=dirty")  # fmt: skip
NAMES = "--end-of-options"  # what follows is a name


class Said(NamedTuple):
    code: int
    out: str
    err: str


def git(where: str, *words: str, stdin: str = "", environ: Mapping[str, str] | None = None) -> Said:
    """Run in a folder, whatever GIT_ variables say elsewhere. Nothing is asked of a person; no editor opens."""
    code, out, err = gitpolicy.run(where, words, stdin.encode("utf-8", "surrogateescape"), environ)
    return Said(code, _text(out), _text(err))


def output(where: str, words: Sequence[str], limit: int) -> tuple[bytes, bool]:
    """What git prints, no more than that of it; and whether it is all."""
    data = gitpolicy.read(where, words, limit + 1)
    return data[:limit], len(data) <= limit


def blobs(where: str, ids: Sequence[str]) -> dict[str, bytes]:
    """Contents of objects, which whoever calls knows to be few and small."""
    return {id: data for id, (_, data) in objects(where, ids).items()}


def objects(where: str, ids: Sequence[str]) -> dict[str, tuple[bytes, bytes]]:
    """(type, content) of each that git can read: `id type size LF content LF`. git does not check their hashes."""
    found: dict[str, tuple[bytes, bytes]] = {}
    _, rest, _ = gitpolicy.run(where, ("cat-file", "--batch"), "".join(f"{id}\n" for id in ids).encode())
    at = 0
    for id in ids:
        end = rest.find(b"\n", at)
        words, at = rest[at : max(end, at)].split(b" "), end + 1 if end >= 0 else len(rest)
        if len(words) == 3:
            found[id], at = (words[1], rest[at : at + int(words[2])]), at + int(words[2]) + 1
    return found


def identity(name: str) -> dict[str, str]:
    """Whoever made a commit: by an address that leads nowhere."""
    address = f"{name.replace('/', '.')}@{NOWHERE}"
    who = {"NAME": name, "EMAIL": address}
    return {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in who.items()}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def told(where: str, *words: str, environ: Mapping[str, str] | None = None) -> str:
    """What git says, without the end of its last line; a refusal with its own words if it fails."""
    said = git(where, *words, environ=environ)
    if said.code:
        raise refusal(words, said)
    return said.out.rstrip("\n")


def refusal(words: Sequence[str], said: Said) -> Refused:
    why = plain(said.err or said.out).strip()[-500:] or f"exit {said.code}"
    return Refused(f"git {words[0]} failed: {why}", "Run it by hand in the repository to see more.", code="GIT_FAILED")


def commit_of(where: str, name: str = "HEAD") -> str:
    """The commit that a name stands for."""
    return told(where, "rev-parse", "--verify", "--quiet", NAMES, f"{name}^{{commit}}")


def branch_of(where: str) -> str:
    """The branch that is checked out there; "" if none is."""
    said = git(where, "symbolic-ref", "--quiet", "--short", "HEAD")
    return said.out.strip() if said.code == 0 else ""


def has_commit(where: str, commit: str) -> bool:
    return git(where, "cat-file", "-e", NAMES, f"{commit}^{{commit}}").code == 0


def tip_of(where: str, branch: str) -> str:
    """The commit a branch is at; "" if there is no such branch."""
    said = git(where, "rev-parse", "--verify", "--quiet", NAMES, f"refs/heads/{branch}^{{commit}}")
    return said.out.strip() if said.code == 0 else ""


def common_folder(where: str) -> str:
    """What all worktrees of a repository share."""
    return os.path.realpath(told(where, "rev-parse", "--path-format=absolute", "--git-common-dir"))


# Of what is missing on the disk git is told to forget one entry, and never to prune: a prune takes an entry that is
# being made just now for one that is missing, and then two are made in one place.
LINKED = "160000 "  # the mode of a submodule in an index
FORGET = ("--force", "--force")  # also one whose making was interrupted


# -- worktrees -------------------------------------------------------------------------------------------------------


HALF_MADE = "/commondir"  # git fails over an entry that another git is just making
AGAIN_S, AGAIN_FOR_S = 0.05, 30.0


def _beside_others(root: str, *words: str, environ: Mapping[str, str] | None = None) -> Said:
    """A command about worktrees, said again while git reads what another one is writing there."""
    ends = time.monotonic() + AGAIN_FOR_S
    while True:
        said = git(root, "worktree", *words, environ=environ)
        if not said.code or HALF_MADE not in said.err or time.monotonic() > ends:
            return said
        time.sleep(AGAIN_S)


def add_worktree(root: str, path: str, commit: str, environ: Mapping[str, str] | None = None) -> None:
    """A detached worktree at that commit; one that is there already at this path is left as it is."""
    if os.path.lexists(os.path.join(path, ".git")):
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    said = _beside_others(root, "add", "--quiet", *FORGET, "--detach", NAMES, path, commit, environ=environ)
    if said.code:
        raise refusal(("worktree",), said)


def remove_worktree(root: str, path: str) -> None:
    """With whatever is in it: whoever calls has looked. A worktree that is gone is none."""
    said = _beside_others(root, "remove", *FORGET, NAMES, path)
    if said.code and os.path.lexists(path):
        raise refusal(("worktree",), said)


def unlock(tree: str) -> None:
    """What a git that was killed left locked. Only where it is known that none runs."""
    folder = told(tree, "rev-parse", "--path-format=absolute", "--git-dir")
    for name in ("index.lock", "HEAD.lock"):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))


def checked_out(root: str, branch: str) -> str:
    """The worktree in which a branch is checked out; "" if in none. One whose folder is gone does not count."""
    said, path = _beside_others(root, "list", "--porcelain", "-z"), ""
    if said.code:
        raise refusal(("worktree",), said)
    for line in said.out.split("\0"):
        word, _, value = line.partition(" ")
        if word == "worktree":
            path = value
        elif word == "branch" and value == f"refs/heads/{branch}" and os.path.isdir(path):
            return path
    return ""


def is_clean(tree: str) -> bool:
    """Nothing there that is not committed, in submodules too; ignored files do not count.

    git would look into a submodule with that one's own configuration, so each is looked at by itself.
    """
    if told(tree, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty"):
        return False
    return all(is_clean(each) for each in _submodules(tree))


def _submodules(tree: str) -> list[str]:
    """Repositories that are checked out inside a tree, as its index has them: `mode id stage TAB path NUL`."""
    listed = git(tree, "ls-files", "--stage", "-z").out.split("\0")
    paths = (line.partition("\t")[2] for line in listed if line.startswith(LINKED))
    return [place for path in paths if os.path.lexists(os.path.join(place := os.path.join(tree, path), ".git"))]


def held_back(tree: str) -> str:
    """What a worktree holds that is nowhere else; "" if it can go. A commit counts as kept that any branch, tag or
    other name of the repository has."""
    if not is_clean(tree):
        return "changes that are not committed"
    head = commit_of(tree)
    named = told(tree, "for-each-ref", "--count=1", "--format=%(refname)", f"--contains={head}")
    return "" if named else f"commits that no branch has ({head[:12]})"


def contains(root: str, commit: str, branch: str) -> bool:
    """Has that branch this commit?"""
    return git(root, "merge-base", "--is-ancestor", NAMES, commit, branch).code == 0
