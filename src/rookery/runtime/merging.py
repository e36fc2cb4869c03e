"""How a commit gets onto a branch: joined to its tip without a working tree, looked at, checked out, moved, reverted.

A branch is moved only from where it was seen to stand. Where a person has it checked out, their own copy is brought
forward with it, and git refuses to write over what they have not committed.
"""

import os
from contextlib import suppress

from rookery.core.errors import Refused
from rookery.core.landing import Next, Seen, Strategy, next_move
from rookery.core.record import NamedTuple
from rookery.core.text import plain

from . import repository
from .repository import NAMES, Said, git, told

NAME = "rookery"  # who makes the commits of a landing
SHOWN = 10  # conflicting files that are named


class Joined(NamedTuple):
    result: str = ""  # the commit that the branch would become; where it stood already if all of it was there
    conflict: str = ""  # why there is none


class Moved(NamedTuple):
    next: Next
    waits: str = ""  # why the branch could not be moved, though it stands where it stood


class Work(NamedTuple):
    """One change, to be joined."""

    head: str
    author: str
    message: str


def look(root: str, branch: str, result: str) -> Seen:
    tip = repository.tip_of(root, branch)
    if not tip:
        raise Refused(f"There is no branch {branch} in {root}.", "`git branch` lists them.", code="NO_BRANCH")
    exists = bool(result) and repository.has_commit(root, result)
    return Seen(tip, exists and repository.contains(root, result, tip), exists)


# -- joining ---------------------------------------------------------------------------------------------------------


def join(root: str, tree: str, onto: str, work: Work, strategy: str) -> Joined:
    """What `onto` becomes with this work. Nothing but objects is written, but for a rebase, which needs a tree."""
    if not repository.has_commit(root, work.head):
        return Joined(conflict=f"its commit {work.head[:12]} is no longer in the repository")
    if repository.contains(root, work.head, onto):
        return Joined(onto)
    merged = git(root, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", NAMES, onto, work.head)
    if merged.code == 1:
        return Joined(conflict=f"it conflicts in {_named(merged.out)}")
    if merged.code:
        raise _too_old(merged)
    content = merged.out.split("\0", 1)[0].strip()
    if content == told(root, "rev-parse", "--verify", NAMES, f"{onto}^{{tree}}"):
        return Joined(onto)  # others did the same
    if strategy == Strategy.REBASE:
        return _rebased(root, tree, onto, work, content)
    parents = ["-p", onto] if strategy == Strategy.SQUASH else ["-p", onto, "-p", work.head]
    author = {key: value for key, value in repository.identity(work.author).items() if "AUTHOR" in key}
    who = {**repository.identity(NAME), **(author if strategy == Strategy.SQUASH else {})}
    made = git(root, "commit-tree", *parents, NAMES, content, stdin=work.message, environ=who)
    if made.code:
        raise repository.refusal(("commit-tree",), made)
    return Joined(made.out.strip())


def _named(out: str) -> str:
    """The first is the tree; the others are files."""
    files = list(dict.fromkeys(name for name in out.split("\0")[1:] if name))
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    return ", ".join(_shown(name) for name in files[:SHOWN]) + more


def _shown(path: str) -> str:
    return plain(path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"), keep_newlines=False)


def _too_old(said: Said) -> Refused:
    version = git("/", "version").out.strip()
    if "usage:" in said.err or "unknown option" in said.err:
        return Refused(f"{version} can not merge without a working tree.", "Landing needs git 2.38.", code="OLD_GIT")
    return repository.refusal(("merge-tree",), said)


def _rebased(root: str, tree: str, onto: str, work: Work, content: str) -> Joined:
    """`content` is the merged tree. Merge commits are not replayed, so the commits alone can come to another one."""
    start = told(root, "merge-base", NAMES, onto, work.head)
    checkout(root, tree, work.head)
    words = ("rebase", "--quiet", "--no-verify", "--onto", onto, NAMES, start)
    said = git(tree, *words, environ={key: v for key, v in repository.identity(NAME).items() if "COMMITTER" in key})
    if said.code == 0:
        made = repository.commit_of(tree)
        same = told(root, "rev-parse", "--verify", NAMES, f"{made}^{{tree}}") == content
        return Joined(made) if same else Joined(conflict="its commits, replayed one by one, do not come to what it is")
    conflicts = git(tree, *repository.UNMERGED).out
    git(tree, "rebase", "--abort")
    if not conflicts:
        raise repository.refusal(words, said)
    return Joined(conflict=f"it conflicts, commit by commit, in {_named(chr(0) + conflicts)}")


# -- a working tree of our own ---------------------------------------------------------------------------------------


def checkout(root: str, tree: str, commit: str) -> None:
    """The tree at that commit, without anything that was left there but what is ignored; made anew if it is broken."""
    try:
        _put(root, tree, commit)
    except Refused:
        _remove(root, tree)
        _put(root, tree, commit)


def _put(root: str, tree: str, commit: str) -> None:
    repository.add_worktree(root, tree, commit)
    _unlock(tree)
    for word in ("rebase", "revert", "merge"):
        git(tree, word, "--abort")
    found = repository.commit_of(root, commit)
    told(tree, "checkout", "--quiet", "--force", "--detach", found, "--")
    told(tree, "clean", "-ffdq")


def _unlock(tree: str) -> None:
    """A lock that someone of us left who was killed: nobody else works in this tree."""
    place = told(tree, "rev-parse", "--path-format=absolute", "--git-path", "index.lock")
    with suppress(FileNotFoundError):
        os.unlink(place)


def _remove(root: str, tree: str) -> None:
    import shutil

    if git(root, "worktree", "remove", *repository.FORGET, NAMES, tree).code:
        shutil.rmtree(tree, ignore_errors=True)


# -- moving ----------------------------------------------------------------------------------------------------------


def move(root: str, branch: str, expected: str, result: str) -> Moved:
    """From where it was seen to stand, or not at all. Can be done again after a crash at any point of it."""
    next = next_move(expected, result, look(root, branch, result))
    if next is not Next.MOVE:
        return Moved(next)
    where = repository.checked_out(root, branch)
    if where:
        words = ("merge", "--ff-only", "--quiet", "--no-stat", NAMES, result)
        said = git(where, *words, environ=repository.identity(NAME))
    else:
        said = git(root, "update-ref", "-m", "landing", NAMES, f"refs/heads/{branch}", result, expected)
    after = next_move(expected, result, look(root, branch, result))
    if after is not Next.MOVE:
        return Moved(after)
    return Moved(Next.MOVE, _refused(where or root, branch, said))


def _refused(where: str, branch: str, said: Said) -> str:
    """Why git would not: mostly, what a person has there and did not commit."""
    names = [line.strip() for line in said.err.splitlines() if line.startswith("\t")]
    if names:
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return (
            f"{branch} is checked out in {where}, where {', '.join(_shown(name) for name in names[:SHOWN])}{more} "
            "would be written over"
        )
    words = " ".join(plain(said.err or said.out).split())[:300]
    return f"git would not move {branch} in {where}: {words or f'exit {said.code}'}"


# -- taking back -----------------------------------------------------------------------------------------------------


def revert(root: str, tree: str, tip: str, expected: str, result: str, message: str) -> Joined:
    """A commit after `tip` that takes back what lies between the two; its only parent is `tip`."""
    checkout(root, tree, tip)
    parents = told(root, "rev-list", "--parents", "-n", "1", NAMES, result).split()[1:]
    chosen = ["-m", "1", NAMES, result] if len(parents) > 1 else [NAMES, f"{expected}..{result}"]
    said = git(tree, "revert", "--no-commit", *chosen, environ=repository.identity(NAME))
    if said.code:
        conflicts = git(tree, *repository.UNMERGED).out
        git(tree, "revert", "--abort")
        if conflicts:
            return Joined(conflict=f"what came after it touches {_named(chr(0) + conflicts)}")
        raise repository.refusal(("revert",), said)
    content = told(tree, "write-tree")
    if content == told(root, "rev-parse", "--verify", NAMES, f"{tip}^{{tree}}"):
        return Joined(conflict="nothing of it is left on the branch")
    made = git(root, "commit-tree", "-p", tip, NAMES, content, stdin=message, environ=repository.identity(NAME))
    if made.code:
        raise repository.refusal(("commit-tree",), made)
    return Joined(made.out.strip())


def parent_of(root: str, commit: str) -> str:
    return told(root, "rev-parse", "--verify", NAMES, f"{commit}^1")
