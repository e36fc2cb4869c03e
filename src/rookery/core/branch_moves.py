"""git commands in which a worker would move the branch that its change lands on: found in their text, before they run.

Worktrees share their branches, so `git push . HEAD:main` in one would land its work unseen. This is a net against eager
agents, as `deciding_commands` is: text can be hidden.
"""

import re
from collections.abc import Iterator, Sequence
from posixpath import isabs, join, normpath

from rookery.core.record import NamedTuple

TEXT_LIMIT = 1 << 17  # characters; a longer command is judged by its beginning
_ENDS = re.compile(r"[;&|\n()`]+")
_QUOTES = re.compile(r"[\"'\\]")
_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path")
_PLACES = ("--git-dir", "--work-tree", "GIT_DIR", "GIT_WORK_TREE")
# What changes the branch that is checked out where it runs.
_COMMITS = frozenset((
    "commit", "merge", "rebase", "reset", "cherry-pick", "revert", "am", "pull", "checkout", "switch", "update-ref",
    "branch", "symbolic-ref", "stash", "restore", "apply", "read-tree", "fast-import",
))  # fmt: skip
_LISTS = ("--list", "--show-current", "-a", "-r", "-v", "-vv", "--contains", "--merged")
_FORCES = ("-f", "--force", "-m", "-M", "-c", "-C", "-d", "-D", "--move", "--copy", "--delete", "--set-upstream-to")
_ALL = ("--all", "--mirror", "--branches")
_OVERRIDES = ("-B", "-C", "--force-create", "--ignore-other-worktrees")


class Git(NamedTuple):
    name: str  # commit, push ...
    words: Sequence[str]
    is_outside: bool  # it works in another tree than the worker's


def find(command: str, branch: str, tree: str) -> str:
    """The git command that moves `branch` from a worker's worktree `tree`; "" if there is none."""
    text = _QUOTES.sub("", command[:TEXT_LIMIT])
    for said, call in _calls(text, tree):
        if _moves(call, branch):
            return said[:120]
    return ""


def denial(part: str, branch: str) -> str:
    return (
        f"Rookery: not run. `{part}` changes {branch} or another working copy. Your change lands there once it was "
        "reviewed.\nWork in your own worktree, commit there if you like, and report: `rook done`."
    )


def _calls(text: str, tree: str) -> Iterator[tuple[str, Git]]:
    here = tree
    for part in _ENDS.split(text):
        words = part.split()
        if words[:1] in (["cd"], ["pushd"]) and len(words) > 1:
            here = _resolve(here, words[1])
        place = next((n for n, word in enumerate(words) if word == "git" or word.endswith("/git")), None)
        if place is not None:
            before = [word.partition("=")[2] for word in words[:place] if word.partition("=")[0] in _PLACES]
            yield part.strip(), _parsed(words[place + 1 :], here, before, tree)


def _parsed(words: Sequence[str], here: str, places: Sequence[str], tree: str) -> Git:
    rest = iter(words)
    found, name = list(places), ""
    for word in rest:
        option, _, value = word.partition("=")
        if not word.startswith("-"):
            name = word
            break
        if option in _WITH_VALUE:
            value = value or next(rest, "")
            if option == "-C":
                here = _resolve(here, value)
            elif option in _PLACES:
                found.append(value)
    stands = [here, *(_resolve(here, each) for each in found)]
    return Git(name, list(rest), not all(each == tree or each.startswith(f"{tree}/") for each in stands))


def _resolve(here: str, path: str) -> str:
    """Where a relative path leads. One with a variable in it is taken as it is written."""
    return normpath(path if isabs(path) else join(here, path))


def _moves(call: Git, branch: str) -> bool:
    name, words = call.name, call.words
    if call.is_outside and name in _COMMITS:
        return not (name == "branch" and (not words or any(word in _LISTS for word in words)))
    names = (branch, f"heads/{branch}", f"refs/heads/{branch}")
    if name in ("push", "fetch", "pull"):
        wanted = [word.lstrip("+") for word in words if name == "push" or ":" in word]
        return (name == "push" and any(word in _ALL for word in words)) or any(
            word.rpartition(":")[2] in names for word in wanted
        )
    if name in ("update-ref", "symbolic-ref"):
        return "--stdin" in words or (any(word in names for word in words) and len(words) > 1)
    if name == "branch":
        return any(word in _FORCES for word in words) and any(word in names for word in words)
    return (
        name in ("checkout", "switch", "worktree")
        and any(word in _OVERRIDES or word in ("-f", "--force") for word in words)
        and any(word in names for word in words)
        and "--" not in words
    )
