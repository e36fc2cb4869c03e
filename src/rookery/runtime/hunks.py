"""Which lines a change set touches, and what of its Python code it takes away or uses: read from git, in bounded size.

By `diff-tree` with the settings that merges use, so that what git would call a conflict is seen as one; nobody's own
settings of `git diff` reach it. What is too large is said to be so (`overlap.OPAQUE`), never left out.
"""

from collections.abc import Iterator, Mapping, Sequence

from rookery.core import overlap, symbols
from rookery.core.overlap import Hunk, Shift
from rookery.core.record import NamedTuple

from . import repository
from .repository import NAMES, git, told

PATCH_LIMIT = 16 * 1024 * 1024  # bytes of a diff that are read
FILES = 2_000  # of a change set; beyond, it may touch anything
LINES = 500  # places of a file that are told apart
PARSED = 200  # Python files of a change set that are looked into
_DIFF = ("diff-tree", "-r", "--no-commit-id", "--no-ext-diff", "--no-textconv", "--no-color", "-M", "-l400",
         "--no-rename-empty", "--ignore-submodules=none")  # fmt: skip
_PATCH = ("-p", "-U0", "--inter-hunk-context=0", "--histogram", "--no-indent-heuristic", "--src-prefix=a/",
          "--dst-prefix=b/")  # fmt: skip
_PLAIN = ("100644", "100755")  # what git merges by lines; links and submodules it does not

Lines = tuple[int, int, int, int]  # start and length before, start and length after


class File(NamedTuple):
    """One file of a diff."""

    status: str  # A, D, M, R, T
    before: str  # its name on either side; the same but for a rename
    after: str
    modes: tuple[str, str]
    lines: Sequence[Lines]
    opaque: bool


def touched(tree: str, base: str, head: str) -> tuple[dict[str, list[Hunk]], list[symbols.Symbol]]:
    """By the lines of its base; and names, each with how it is concerned."""
    files = differences(tree, base, head)
    if len(files) > FILES:
        return {overlap.EVERYTHING: [overlap.OPAQUE]}, []
    unmerged = _unmergeable(tree, [each.before for each in files])
    found: dict[str, dict[Hunk, None]] = {}
    for file in files:
        for path, hunk in _places(file, file.before in unmerged):
            found.setdefault(_shown(path), {})[hunk] = None
    return {path: list(hunks) for path, hunks in found.items()}, symbols.found(_sources(tree, base, head, files))


def shifts(tree: str, base: str, other: str, paths: Sequence[str]) -> dict[str, Shift] | None:
    """What became of these files between the two, as far as it matters; None if the other is not of this repository."""
    if not repository.has_commit(tree, other):
        return None
    wanted = set(paths)
    named = [each for each in _named(tree, base, other) if {_shown(each.before), _shown(each.after)} & wanted]
    files = _with_lines(tree, base, other, named, [path for each in named for path in (each.before, each.after)])
    return {path: shift for file in files for path, shift in _shifts(file)}


def _shifts(file: File) -> Iterator[tuple[str, Shift]]:
    before, after = _shown(file.before), _shown(file.after)
    opaque = file.opaque or file.status not in "MR" or len(file.lines) > LINES
    yield before, Shift(after, () if opaque else file.lines, opaque)
    if after != before:  # what is put there here meets what is there already
        yield after, Shift(after, (), True)


# -- places ----------------------------------------------------------------------------------------------------------


def _places(file: File, unmerged: bool) -> Iterator[tuple[str, Hunk]]:
    if file.opaque or unmerged or file.status in "DT" or len(file.lines) > LINES:
        yield file.before, overlap.OPAQUE
    else:
        for start, length, _, _ in file.lines:
            yield file.before, Hunk(start, length)
    if file.status == "R" or file.modes[0] != file.modes[1]:
        yield file.before, overlap.ENTRY
    if file.status in "AR":
        yield from _put(file.after)
    if file.status == "R":
        for folder in set(_folders(file.before)) - set(_folders(file.after)):
            yield folder, overlap.ENTRY


def _put(path: str) -> Iterator[tuple[str, Hunk]]:
    """A new file: another of that name, or a folder, can not be there as well."""
    yield path, Hunk(0, 0)
    yield f"{path}/", overlap.OPAQUE
    for folder in _folders(path):
        yield folder, overlap.PLACED


def _folders(path: str) -> list[str]:
    """Those that it is in, with the top; each ends in a slash, and no file does."""
    parts = path.split("/")[:-1]
    return ["/", *("/".join(parts[: n + 1]) + "/" for n in range(len(parts)))]


def _unmergeable(tree: str, paths: Sequence[str]) -> set[str]:
    """Files of which the repository says that they are not merged by lines."""
    if not paths:
        return set()
    said = git(tree, "check-attr", "--stdin", "-z", "merge", stdin="\0".join(paths))
    words = said.out.split("\0")
    return {path for path, value in zip(words[::3], words[2::3], strict=False) if value in ("unset", "binary")}


# -- the diff --------------------------------------------------------------------------------------------------------


def differences(tree: str, before: str, after: str) -> list[File]:
    named = _named(tree, before, after)
    return named if len(named) > FILES else _with_lines(tree, before, after, named, ())


def _named(tree: str, before: str, after: str) -> list[File]:
    """`:mode mode id id status NUL path NUL`, or, of a rename, with two paths."""
    words = iter(told(tree, *_DIFF, "--raw", "-z", NAMES, before, after).split("\0"))
    found: list[File] = []
    for word in words:
        if word:
            old, new, _, _, status = word[1:].split(" ")
            first = next(words)
            second = next(words) if status[0] in "RC" else first
            odd = any(mode not in _PLAIN and mode != "000000" for mode in (old, new))
            found.append(File(status[0], first, second, (old, new), (), odd))
    return found


def _with_lines(tree: str, before: str, after: str, named: Sequence[File], only: Sequence[str]) -> list[File]:
    if not named:
        return []
    paths = ("--", *(f":(literal){path}" for path in dict.fromkeys(only))) if only else ()
    out, whole = repository.output(tree, (*_DIFF, *_PATCH, NAMES, before, after, *paths), PATCH_LIMIT)
    sections = list(_sections(out))
    if not whole and sections:
        sections[-1] = None  # where it was cut
    expected = sum(2 if each.status == "T" else 1 for each in named)
    if whole and len(sections) != expected:
        return [each._replace(opaque=True) for each in named]
    return list(_joined(named, sections))


def _joined(named: Sequence[File], sections: Sequence[list[Lines] | None]) -> Iterator[File]:
    """Sections come in the order of the names; one that changed its type has two."""
    at = 0
    for file in named:
        lines = sections[at] if at < len(sections) else None
        at += 2 if file.status == "T" else 1
        opaque = file.opaque or lines is None or file.status == "T"
        yield file._replace(lines=() if opaque or lines is None else lines, opaque=opaque)


def _sections(out: bytes) -> Iterator[list[Lines] | None]:
    """For each file of a diff its places; None of one that is not text. Lines of content begin with + - or \\."""
    lines: list[Lines] | None = []
    begun = False
    for line in out.split(b"\n"):
        if line.startswith(b"diff --git "):
            if begun:
                yield lines
            lines, begun = [], True
        elif line.startswith((b"Binary files ", b"GIT binary patch")):
            lines = None
        elif line.startswith(b"@@ ") and lines is not None:
            lines.append(header(line))
    if begun:
        yield lines


def header(line: bytes) -> Lines:
    """`@@ -start,length +start,length @@`; a length that is left out is 1."""
    _, before, after, _ = line.split(b" ", 3)
    (start, _, length), (start2, _, length2) = before[1:].partition(b","), after[1:].partition(b",")
    return int(start), int(length or 1), int(start2), int(length2 or 1)


# -- Python ----------------------------------------------------------------------------------------------------------


def _sources(tree: str, base: str, head: str, files: Sequence[File]) -> Iterator[symbols.Source]:
    python = [each for each in files if each.after.endswith(symbols.SUFFIX) or each.before.endswith(symbols.SUFFIX)]
    chosen = [each for each in python if not each.opaque][:PARSED]
    asked = [name for each in chosen for name in (f"{base}:{each.before}", f"{head}:{each.after}")]
    texts = _contents(tree, [name for name in asked if "\n" not in name])
    for file in chosen:
        before, after = texts.get(f"{base}:{file.before}"), texts.get(f"{head}:{file.after}")
        added = [(start, length) for _, _, start, length in file.lines if length]
        yield symbols.Source(_shown(file.before), _shown(file.after), before, after, added)


def _contents(tree: str, names: Sequence[str]) -> Mapping[str, bytes | None]:
    """The content of each that is there and not too large."""
    if not names:
        return {}
    sizes = git(
        tree, "cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", stdin="\n".join(names) + "\n"
    )
    small: dict[str, str] = {}
    for name, line in zip(names, sizes.out.splitlines(), strict=False):
        words = line.split(" ")
        if len(words) == 3 and words[1] == "blob" and words[2].isdecimal() and int(words[2]) <= symbols.LONGEST:
            small[name] = words[0]
    found = repository.blobs(tree, list(dict.fromkeys(small.values())))
    return {name: found.get(id) for name, id in small.items()}


def _shown(path: str) -> str:
    """A name that is no UTF-8, with its bytes spelt out."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
