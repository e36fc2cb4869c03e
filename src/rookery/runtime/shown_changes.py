"""What a change set really changes, read from the repository and never from its author's worktree.

    files       the recorded files and lines are those between base and head
    patch       applied to the base, it gives the tree of the head
    landing     where the branch has more, or less, than the base: every line that the landing changes was in the patch
    objects     contents that are read have the hash that their id says

No attribute of the repository counts here: files are compared as text, whatever `.gitattributes` says of them.
"""

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rookery.core import shown
from rookery.core.text import plain

from . import changesets, gitpolicy, hunks, repository
from .repository import NAMES, git, told

BATCH = 64 * 1024 * 1024  # bytes of objects that are read at once; a larger object is not hashed
LINES_LIMIT = 64 * 1024 * 1024  # bytes of a diff that are compared line by line
LINKED = "160000"  # a submodule: its commit is no object of this repository
_MODES = (b"old mode ", b"new mode ", b"new file mode ", b"deleted file mode ")


def difference(root: str, record: shown.Record, patch: bytes | None, onto: str, result: str) -> str:
    """Why what would land is not what was shown; "" if it is. The branch goes from `onto` to `result`."""
    base, head = record.base, record.head
    for name in (base, head):  # a branch would be another commit later
        if not repository.has_commit(root, name) or repository.commit_of(root, name) != name:
            return f"{name[:40]} is no commit of the repository"
    return plain(
        shown.difference(record, list(changesets.changed_files(root, base, head, as_text=True)))
        or _patch_differs(root, base, head, patch)
        or _lands_more(root, base, head, onto, result)
        or _forged(root, ((base, head), (onto, result)))
    )


# -- the patch -------------------------------------------------------------------------------------------------------


def _patch_differs(root: str, base: str, head: str, patch: bytes | None) -> str:
    """Applied in an index of its own; nothing but objects is written."""
    if patch is None:
        return ""
    with tempfile.TemporaryDirectory(prefix="rook-index-") as folder:
        own = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        told(root, "read-tree", NAMES, base, environ=own)
        words = ("apply", "--cached", "--whitespace=nowarn", "--no-ignore-whitespace", "-")
        if gitpolicy.run(root, words, patch, own)[0]:
            return "its patch can not be applied to its base"
        made = told(root, "write-tree", environ=own)
    return "" if made == _tree(root, head) else "its patch is not what it changes"


def _tree(root: str, commit: str) -> str:
    return told(root, "rev-parse", "--verify", NAMES, f"{commit}^{{tree}}")


# -- the landing -----------------------------------------------------------------------------------------------------


def _lands_more(root: str, base: str, head: str, onto: str, result: str) -> str:
    """Where the change set still parts from the branch at its base, git merges just what lies between base and head."""
    parted = git(root, "merge-base", "--all", NAMES, onto, head)
    if parted.out.split() == [base]:
        return ""
    allowed, lands = _lines(root, base, head), _lines(root, onto, result)
    if allowed is None or lands is None:
        return f"it no longer parts from the branch at {base[:12]}, and is too large to compare"
    files = [name.decode("utf-8", "backslashreplace") for name in dict.fromkeys(name for name, _ in lands - allowed)]
    if not files:
        return ""
    named = ", ".join(files[: shown.NAMED])
    return f"it no longer parts from the branch at {base[:12]}, and would change more than was shown: {named}"


def _lines(root: str, before: str, after: str) -> Counter[tuple[bytes, bytes]] | None:
    """(file, changed line or mode) of a diff; None if it is too large."""
    words = (*changesets.DIFF, "--no-renames", "--text", "-p", "-U0", "--no-prefix", NAMES, before, after)
    out, whole = repository.output(root, words, LINES_LIMIT)
    return Counter(_changed_lines(out)) if whole else None


def _changed_lines(out: bytes) -> Iterator[tuple[bytes, bytes]]:
    name, left = b"", 0
    for line in out.split(b"\n"):
        if left:
            if not line.startswith(b"\\"):
                left -= 1
                yield name, line
        elif line.startswith(b"diff --git "):
            names = line.removeprefix(b"diff --git ")  # the same name twice, with a space between
            name = names[: len(names) // 2]
        elif line.startswith(b"@@ "):
            _, removed, _, added = hunks.header(line)
            left = removed + added
        elif line.startswith(_MODES):
            yield name, line


# -- objects ---------------------------------------------------------------------------------------------------------


def _forged(root: str, ranges: Sequence[tuple[str, str]]) -> str:
    """git does not hash what it reads. An object whose content was replaced would be read as if it were real."""
    ids = dict.fromkeys(id for before, after in ranges for id in _objects(root, before, after))
    for batch in _batches(root, list(ids)):
        found = repository.objects(root, batch)
        for id in batch:
            if id not in found or _hash(id, *found[id]) != id:
                return f"the content of object {id[:12]} is not what its id says"
    return ""


def _hash(id: str, kind: bytes, data: bytes) -> str:
    method = hashlib.sha1 if len(id) == 40 else hashlib.sha256
    return method(b"%s %d\0%s" % (kind, len(data), data), usedforsecurity=False).hexdigest()


def _objects(root: str, before: str, after: str) -> Iterator[str]:
    """The commits of a range, and the folders and files in which its ends differ."""
    yield from (before, after, _tree(root, before), _tree(root, after))
    yield from told(root, "rev-list", NAMES, f"{before}..{after}").split()
    words = iter(told(root, "diff-tree", "-r", "-t", "--raw", "-z", "--no-renames", NAMES, before, after).split("\0"))
    for word in words:
        if word.startswith(":"):
            modes, ids = (parts := word[1:].split(" "))[:2], parts[2:4]
            yield from (id for mode, id in zip(modes, ids, strict=True) if mode != LINKED and id.strip("0"))
            next(words)


def _batches(root: str, ids: Sequence[str]) -> Iterator[list[str]]:
    """As many as fit into memory at once. What git can not find is told by the one who reads it."""
    said = git(root, "cat-file", "--batch-check", stdin="".join(f"{id}\n" for id in ids))
    batch: list[str] = []
    total = 0
    sizes = [line.rpartition(" ")[2] for line in said.out.splitlines()]
    for id, written in zip_longest(ids, sizes[: len(ids)], fillvalue=""):
        size = int(written) if written.isdecimal() else 0
        if size > BATCH:
            continue
        if total + size > BATCH:
            yield batch
            batch, total = [], 0
        batch.append(id)
        total += size
    if batch:
        yield batch
