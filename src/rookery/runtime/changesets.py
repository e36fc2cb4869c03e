"""What a worker's worktree holds of its own: committed, told apart from what others did, and held on to by a ref.

A worker that takes in its branch meanwhile has not made what it took in: a change set is what lies between the point
where the worktree parted from that branch last, and its head (H38).
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from rookery.core.errors import Refused
from rookery.core.landing import REFS
from rookery.core.overlap import Shift
from rookery.core.ports import ChangeSet, Touched
from rookery.core.shown import LISTED

from . import hunks, repository, witness
from .git import toplevel
from .repository import NAMES, git, told

COMMITS = 50  # of its commits
_IN_PROGRESS = ("rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD")


class Worktrees:
    """The port made real with git."""

    def __init__(self, own: str = "") -> None:
        self.own = own

    def top(self, folder: str) -> str:
        return toplevel(folder) or ""

    def capture(
        self, tree: str, base: str, author: str, message: str, *, root: str = "", branch: str = "", keep: str = "",
        limit: int = 0,
    ) -> ChangeSet:  # fmt: skip
        _refuse_unfinished(tree)
        _commit_all(tree, author, message)
        head = repository.commit_of(tree)
        onto = branch or repository.branch_of(root or tree)
        start = _parted(tree, base, head, onto)
        files = list(changed_files(tree, start, head))
        if keep and files:
            told(tree, "update-ref", NAMES, f"{keep}/{head}", head)
        return ChangeSet(
            start, head, onto, files[:LISTED], len(files), sum(each["added"] for each in files),
            sum(each["removed"] for each in files), _patch(tree, start, head, limit),
            _commits(tree, start, head),
        )  # fmt: skip

    def touched(self, tree: str, base: str, head: str) -> Touched:
        return Touched(*hunks.touched(tree, base, head))

    def shifts(self, tree: str, base: str, other: str, paths: Sequence[str]) -> dict[str, Shift] | None:
        return hunks.shifts(tree, base, other, paths)

    def unknown_commits(self, where: str, names: Sequence[str]) -> list[str]:
        return witness.unknown_commits(where, names)

    def has_file(self, where: str, written: str) -> bool:
        return witness.has_file(where, written)

    def reclaimable(self, tree: str, root: str, branch: str, captured: str) -> str:
        return reclaimable(tree, root, branch, captured)


def forget(root: str, keep: str, head: str) -> None:
    """Nobody needs to hold on to it any more; one that is gone, or is another by now, is let be."""
    git(root, "update-ref", "-d", NAMES, f"{keep}/{head}", head)


LEFT = "left"  # the name, under those of a worker, of what its worktree held that was nowhere else


def set_free(tree: str, keep: str, author: str, landed: Sequence[str]) -> str:
    """Nothing of a worktree is lost when it goes: it landed, is on a branch, or has a name from now on. What stands in
    the way of that, if anything does. Nobody works there any more."""
    repository.unlock(tree)
    if repository.is_clean(tree) and (repository.commit_of(tree) in landed or not repository.held_back(tree)):
        return ""
    try:
        _refuse_unfinished(tree)
    except Refused as refusal:
        return refusal.message
    _commit_all(tree, author, "What was left in a worktree that nobody works in any more")
    told(tree, "update-ref", NAMES, f"{keep}/{LEFT}", "HEAD")
    return ""


def forget_others(root: str, keep: str, heads: Sequence[str]) -> None:
    """Names of a worker's commits go but for these: of attempts at what has landed, and of reports that a kill kept
    from being made."""
    for line in told(root, "for-each-ref", "--format=%(objectname) %(refname)", NAMES, keep).splitlines():
        head, _, name = line.partition(" ")
        if head not in heads and name != f"{keep}/{LEFT}":
            git(root, "update-ref", "-d", NAMES, name, head)


def forget_worker(root: str, keep: str, needed: Sequence[str]) -> None:
    """Names of all that a worker made go with it, but for commits that are still needed."""
    git(root, "update-ref", "-d", NAMES, f"{keep}/{LEFT}")
    forget_others(root, keep, needed)


def reclaimable(tree: str, root: str, branch: str, captured: str) -> str:
    if not os.path.isdir(tree):
        return ""
    if not repository.is_clean(tree):
        return "there is something that is not committed"
    head = repository.commit_of(tree)
    if head == captured and any(head == kept for kept in _kept(root)):
        return ""
    if branch and repository.tip_of(root, branch) and repository.contains(root, head, f"refs/heads/{branch}"):
        return ""
    return f"its commit {head[:12]} is nowhere else"


def _kept(root: str) -> list[str]:
    return told(root, "for-each-ref", "--format=%(objectname)", REFS).split()


def _commits(tree: str, start: str, head: str) -> list[dict[str, str]]:
    """Its own, without those that it took in."""
    words = ("log", "--first-parent", f"--max-count={COMMITS}", "-z", "--format=%H %h %s", NAMES, f"{start}..{head}")
    lines = [line.split(" ", 2) for line in told(tree, *words).split("\0") if line]
    return [{"sha": sha, "short": short, "subject": subject} for sha, short, subject in lines]


# -- committing ------------------------------------------------------------------------------------------------------


def _refuse_unfinished(tree: str) -> None:
    unmerged = told(tree, *repository.UNMERGED).split("\0")[:-1]
    if unmerged:
        raise Refused(
            f"Conflicts are not resolved yet: {', '.join(_shown(path) for path in unmerged[:5])}.",
            "Resolve them, `git add` them, and report again.", code="UNMERGED",
        )  # fmt: skip
    for name in _IN_PROGRESS:
        place = told(tree, "rev-parse", "--path-format=absolute", "--git-path", name)
        if os.path.lexists(place):
            raise Refused(
                f"git is in the midst of something there ({name}).", "Finish it or abort it, and report again.",
                code="UNFINISHED",
            )  # fmt: skip


def _commit_all(tree: str, author: str, message: str) -> None:
    merging = os.path.lexists(told(tree, "rev-parse", "--path-format=absolute", "--git-path", "MERGE_HEAD"))
    if repository.is_clean(tree) and not merging:
        return
    told(tree, "add", "--all")
    words = ("commit", "--quiet", "--no-verify", "--cleanup=verbatim", "--allow-empty", "--file=-")
    said = git(tree, *words, stdin=message.strip() or "Work", environ=repository.identity(author))
    if said.code:
        raise repository.refusal(words, said)


def _parted(tree: str, base: str, head: str, branch: str) -> str:
    """Where it left the branch last; where that is not known, where it began."""
    for other in (f"refs/heads/{branch}" if branch else "", base):
        said = git(tree, "merge-base", NAMES, other, head) if other else None
        if said is not None and said.code == 0:
            return said.out.strip()
    return base or head


# -- what changed ----------------------------------------------------------------------------------------------------

# No setting of `git diff` decides what is recorded: the same is read again before it lands, perhaps with others.
DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "-l1000", "--diff-algorithm=myers",
        "--ignore-submodules=none", "--submodule=short")  # fmt: skip
_PATCH = ("-p", "-U3", "--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/")


def changed_files(where: str, start: str, head: str, *, as_text: bool = False) -> Iterator[dict[str, Any]]:
    """As text, lines are counted whatever attributes say. Otherwise a file that git calls binary, or that an attribute
    takes for one, is marked: how many lines of it are changed is not known, and recorded as 0."""
    status = {path: (word, before) for word, before, path in _statuses(where, start, head)}
    for added, removed, path in _counts(where, start, head, ("--text",) if as_text else ()):
        word, before = status.get(path, ("M", ""))
        found: dict[str, Any] = {
            "path": _shown(path), "added": int(added) if added.isdecimal() else 0,
            "removed": int(removed) if removed.isdecimal() else 0, "status": word,
        }  # fmt: skip
        if before:
            found["from"] = _shown(before)
        if added == "-":
            found["binary"] = True
        yield found


def _counts(tree: str, start: str, head: str, more: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """`added TAB removed TAB path NUL`, or, of a rename, `added TAB removed TAB NUL from NUL to NUL`."""
    words = iter(told(tree, *DIFF, *more, "--numstat", "-z", NAMES, start, head).split("\0"))
    for word in words:
        if not word:
            continue
        added, removed, path = word.split("\t", 2)
        if not path:
            next(words)
            path = next(words)
        yield added, removed, path


def _statuses(tree: str, start: str, head: str) -> Iterator[tuple[str, str, str]]:
    """(letter, from, to): `M NUL path NUL`, or, of a rename, `R100 NUL from NUL to NUL`."""
    words = iter(told(tree, *DIFF, "--name-status", "-z", NAMES, start, head).split("\0"))
    for word in words:
        if word:
            before = next(words) if word[0] in "RC" else ""
            yield word[0], before, next(words)


def _patch(tree: str, start: str, head: str, limit: int) -> bytes | None:
    """What `git apply` takes; None if it is longer than that. No more than the limit is ever read."""
    data, whole = repository.output(tree, (*DIFF, *_PATCH, NAMES, start, head), limit)
    return data if whole else None


def _shown(path: str) -> str:
    """A name that is no UTF-8, with its bytes spelt out."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
