"""Which reserved paths do the opaque parts of a command name?

A name may be spelled with `./` or from the root, be cut by quotes and `+`, be joined from a folder and a file
(`join("src", "a.py")`), or be a glob. So each text is searched in several forms, and a reserved path also counts as
named when its last name stands in the text and the names of its folders do too.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from rookery.core.record import NamedTuple

from . import holes
from .code import COPIED
from .forms import HOLE, forms
from .notes import descriptor
from .reading import MayWrite, Reading, moved

TOKENS_LIMIT = 5_000
FOUND_LIMIT = 50
LINKS_LIMIT = 3
HOLES_LIMIT = 200
PLACES_LIMIT = 200
LOOKED_UP_LIMIT = 400  # paths whose symbolic links are resolved

_TOKEN = re.compile(r"[^\s'\"`()<>|&;,$=:#!{}\x00]++(?!\()")  # the name of a call is no path
_LIKE_PATH = re.compile(r".*/.*|[\w-]+\.\w{1,5}")
_SEPARATORS = set(" \t\n'\"`()<>|&;,$=:#!{}")
_GLOB = frozenset("*?[")
_NAME = re.compile(r"[\w.-]{1,200}")
_SEARCHES = re.compile(r"rglob|walk|\bfind\b|recurs|scandir|readdir|listdir|iterdir|glob\(")
_QUOTED = re.compile(r"""(?<!\.write)(?<!print)\(\s{0,9}['"]([\w.-]{1,99})['"]""")  # the first argument of a call
_MODULES = re.compile(r"__file__|getfile|getsourcefile|find_spec|\.origin|replace\(['\"]\.['\"]")
_MODE = re.compile(r""",\s{0,9}(?:mode\s{0,9}=\s{0,9})?['"][rwax][bt+]{0,2}['"]\s{0,9}\)""")

_FILLS = re.compile(r"%\s{0,3}(\([^()\n]{0,200}\))")  # `"%s/%s" % ("src", "a")`: no mode of a file

Real = Callable[[str], str]


class Named(NamedTuple):
    """A path from the root, or with `pattern` a pattern that someone holds."""

    path: str
    pattern: bool = False


class _Hold:
    def __init__(self, text: str) -> None:
        names = [name for name in text.split("/") if name not in ("", ".")]
        self.folder = text.endswith("/") or names[-1:] == ["**"] or not names
        self.text = text
        self.names = names[:-1] if names[-1:] == ["**"] else names
        self.literal = [name for name in self.names if not _is_wild(name)]
        self.wild = len(self.literal) < len(self.names) or self.folder
        self.stem = self.names[-1].partition(".")[0] or self.names[-1] if self.names else ""

    def segments(self) -> list[str]:
        """With what lies beneath: a path may be a folder."""
        return [*self.names, "**"] if self.folder or not self.names or not _is_wild(self.names[-1]) else self.names


def named(
    reading: Reading,
    held: Sequence[str],
    root: str,
    *,
    cwd: str = "",
    home: str | None = None,
    real: Real | None = None,
) -> list[Named]:
    """The paths beneath `root` that opaque parts name and that one of the patterns `held` covers.

    `real` resolves symbolic links of an absolute path.
    """
    search = _Search([_Hold(text) for text in held], root.rstrip("/"), cwd or root, home, real or (lambda path: path))
    search.links = reading.links
    found: dict[Named, None] = {}
    for part in reading.may_write:
        for each in search.part(part):
            found[each] = None
            if len(found) >= FOUND_LIMIT:
                return list(found)
    paths = {each.path for each in found}
    return [each for each in found if paths.isdisjoint(_above(each.path))]  # `open("a", "w")` is no `a/w`


def places(reading: Reading, cwd: str, home: str | None) -> list[str]:
    """Full paths that the opaque parts name or run in, wherever they lie: for a look at which trees they are in."""
    found: dict[str, None] = {}
    for part in reading.may_write:
        folders = [folder for folder in part.folders if folder.startswith("/") and holes.is_told(folder)] or [cwd]
        found |= dict.fromkeys(map(holes.shown, folders))
        tokens = [*part.paths, *(token for form in forms(part.text) for token in _TOKEN.findall(form) if "/" in token)]
        for token in tokens[:TOKENS_LIMIT]:
            token = home + token[1:] if home and token.startswith("~/") else token
            found |= {moved(folder, holes.shown(token)): None for folder in folders}
        if len(found) > PLACES_LIMIT:
            break
    return [path for path in found if path.startswith("/") and len(path) < 4_000][:PLACES_LIMIT]


def _above(path: str) -> list[str]:
    names = path.split("/")
    return ["/".join(names[:count]) for count in range(1, len(names))]


class _Search:
    def __init__(self, holds: list[_Hold], root: str, cwd: str, home: str | None, real: Real) -> None:
        self._holds, self._root, self._cwd, self._home, self._real = holds, root, cwd, home, real
        self._looked_up = 0
        self._by_first: dict[str, list[_Hold]] = {}
        for hold in holds:
            first = hold.names[0] if hold.names and not _is_wild(hold.names[0]) else ""
            self._by_first.setdefault(first, []).append(hold)
        self.links: tuple[tuple[str, str], ...] = ()

    def part(self, part: MayWrite) -> Iterator[Named]:
        folders = self._folders(part.folders)
        if part.shape:
            yield from self._shaped(part, folders)
            return
        for path in part.paths:
            yield from self._tokens([path], folders, deep=part.deep)
            yield from self._tail(path)
        if part.text:
            yield from self._text(part.text, folders, deep=part.deep)

    def _folders(self, folders: Sequence[str]) -> list[str]:
        told = [folder for folder in folders if holes.is_plain(folder)]
        if len(told) < len(folders) or not told:
            told += [self._cwd, self._root]
        return list(dict.fromkeys(told))

    # --- text ---------------------------------------------------------------------------------------------------------

    def _text(self, text: str, folders: list[str], *, deep: bool) -> Iterator[Named]:
        for form in forms(text):
            tokens = list(dict.fromkeys(map(_cleaned, dict.fromkeys(_TOKEN.findall(form)))))[:TOKENS_LIMIT]
            inside = any(self._is_inside(hold, folders) for hold in self._holds)
            if not (deep or inside or any(self._may_be_named(hold, form, tokens) for hold in self._holds)):
                continue
            quoted = frozenset(_QUOTED.findall(_MODE.sub(" ", form))) if inside else frozenset[str]()
            yield from self._tokens(tokens, folders, deep=deep, loose=True, quoted=quoted)
            yield from self._in_pieces(tokens)
            yield from self._apart(tokens, form)
            if HOLE in form:
                yield from self._with_holes(tokens, text, folders)
            for hold in self._holds:
                if not hold.wild and set(hold.text) & _SEPARATORS and _ends_with_name(form, hold):
                    yield Named(f"{self._root}/{hold.text}")

    def _is_inside(self, hold: _Hold, folders: list[str]) -> bool:
        """Whether a folder that the text runs in is reserved: then every file there is. The whole tree is no folder to
        be in: every quoted word would name a file of it."""
        path = "/".join([self._root, *hold.literal]) if hold.literal and hold.literal == hold.names else ""
        return bool(path) and any(f"{folder}/".startswith(f"{path}/") for folder in folders)

    def _may_be_named(self, hold: _Hold, text: str, tokens: list[str]) -> bool:
        """A quick look before the thorough one."""
        return (
            hold.wild
            or bool(self.links)
            or HOLE in text
            or hold.stem in text
            or any(not _GLOB.isdisjoint(token) for token in tokens)
        )

    def _in_pieces(self, tokens: list[str]) -> Iterator[Named]:
        """The last names of a reserved path in one token, its folders in others."""
        rows = [[name for name in token.split("/") if name not in ("", ".", "..", "~")] for token in tokens]
        words = {name for row in rows for name in row}
        by_last: dict[str, list[list[str]]] = {}
        for row in rows:
            if row:
                by_last.setdefault("" if not _GLOB.isdisjoint(row[-1]) else row[-1], []).append(row)
        for hold in self._holds:
            if hold.folder or len(hold.names) < 2:
                continue
            chosen = rows if _is_wild(hold.names[-1]) else by_last.get(hold.names[-1], []) + by_last.get("", [])
            for row in chosen:
                count = len(row)
                if 0 < count < len(hold.names) and all(map(_meets, row, hold.names[-count:])):
                    rest = [name for name in hold.names[:-count] if not _is_wild(name)]
                    if rest and all(name in words for name in rest) and any(char.isalnum() for char in row[-1]):
                        yield self._made(hold, "/".join(hold.names))
                        break

    def _apart(self, tokens: list[str], form: str) -> Iterator[Named]:
        """The folder of a reserved path in one token, and in another its last name, with or without its ending."""
        spelled = {token.removeprefix("./").removesuffix("/").removeprefix(f"{self._root}/") for token in tokens}
        spelled |= {re.sub(r"^(?:\.\.?/)+", "", token) for token in tokens if token.startswith("../")}
        last_names = {token.rpartition("/")[2] for token in spelled}
        endings = {token.lstrip(".") for token in tokens if token[:1] == "." or token.isalnum()}
        searches, modules = bool(_SEARCHES.search(form)), bool(_MODULES.search(form))
        for hold in self._holds:
            if hold.folder and hold.names and _quotes_folder(form, "/".join(hold.names)):
                yield self._made(hold, "")
            if hold.wild or not hold.names:
                continue
            *above, last = hold.names
            folder, stem = "/".join(above), hold.stem
            ended = last.removeprefix(stem).lstrip(".") in endings and stem != last
            whole = f"{folder}/{stem}" in spelled or (folder in spelled and stem in spelled)
            dotted = ".".join([*above, stem]) in spelled or (
                stem in spelled and not spelled.isdisjoint((folder, f"{COPIED}{folder}"))
            )
            if (
                (above and hold.text in spelled)
                or (last in last_names and above and folder in spelled)
                or (whole and ended)
                or (modules and dotted)
                or (searches and last in spelled)
            ):
                yield Named(f"{self._root}/{hold.text}")

    def _with_holes(self, tokens: list[str], text: str, folders: list[str]) -> Iterator[Named]:
        """A string of code that gets values: they fit, and the text has what they would have to be."""
        shapes = [token for token in tokens if HOLE in token and token.strip(f"{HOLE}./")][:HOLES_LIMIT]
        values = " ".join([_MODE.sub(" ", text), *_FILLS.findall(text)])
        words = set(_NAME.findall(text))
        for token in shapes:
            tail = token.rpartition(HOLE)[2]
            for hold in self._holds:
                if not hold.wild and len(hold.names) > 1 and tail == f"/{hold.text}":
                    yield Named(f"{self._root}/{hold.text}")
                for path in self._resolved(token, folders):
                    if self._is_filled(hold, path, token, values, words):
                        yield self._made(hold, "")
                        break

    def _is_filled(self, hold: _Hold, path: str, token: str, values: str, words: set[str]) -> bool:
        if hold.wild:
            names = [name for name in path.replace(HOLE, "*").split("/") if name]
            return _overlap(names, hold.segments()) and names[: len(hold.literal)] == hold.literal
        if _fits(path, hold.text, values) or path.startswith(f"{hold.text}/"):
            return True
        names = token.split("/")
        count = len(names)
        rest = hold.names[:-count]
        return bool(rest) and _fits(token, "/".join(hold.names[-count:]), values) and words.issuperset(rest)

    # --- paths --------------------------------------------------------------------------------------------------------

    def _tokens(
        self,
        tokens: list[str],
        folders: list[str],
        *,
        deep: bool,
        loose: bool = False,
        quoted: frozenset[str] = frozenset(),
    ) -> Iterator[Named]:
        """`loose`: words of a text, of which only some are paths. Almost any word would be one in a reserved folder, so
        there only those count that look like one or are `quoted`."""
        for token in tokens:
            vague = loose and not _LIKE_PATH.fullmatch(token) and token not in quoted
            for path in self._resolved(token, folders):
                names = [name for name in path.split("/") if name]
                for hold in self._candidates(names):
                    far = hold.wild or len(names) > len(hold.names)
                    if self._covers(hold, names, deep=deep) and not (vague and far and not deep):
                        yield self._made(hold, path)

    def _candidates(self, names: list[str]) -> list[_Hold]:
        """Those that may cover a path: by its first name, where it is no glob."""
        if not names or not _GLOB.isdisjoint(names[0]):
            return self._holds
        return self._by_first.get(names[0], []) + self._by_first.get("", [])

    def _resolved(self, token: str, folders: list[str]) -> Iterator[str]:
        """The token as paths relative to the root, "" for the root itself."""
        if token.startswith("~/") and self._home:
            token = self._home + token[1:]
        token = holes.shown(token)
        if len(token) > 4_000 or not token:
            return
        token = descriptor(token)
        bases = [""] if token.startswith("/") and not token.startswith("/proc/") else folders
        made = {moved(folder, token): None for folder in bases}
        if not _is_wild(token) and self._looked_up < LOOKED_UP_LIMIT:
            self._looked_up += len(made)
            made |= {self._real(path): None for path in made if path.startswith("/")}
        for _ in range(LINKS_LIMIT):  # a link may lead to another
            made |= {
                target + path[len(link) :]: None
                for path in made
                for link, target in self.links
                if f"{path}/".startswith(f"{link}/")
            }
        if _is_wild(token):
            made |= {target: None for link, target in self.links if any(fnmatchcase(link, path) for path in made)}
        for path in made:
            if path == self._root or path.startswith(f"{self._root}/"):
                yield path[len(self._root) + 1 :]

    def _covers(self, hold: _Hold, names: list[str], *, deep: bool) -> bool:
        if hold.folder and not _is_wild("".join(names)) and len(names) <= len(hold.names) and not deep:
            return False  # the folder's own name says nothing of a file in it
        if _overlap(names, hold.segments()):
            return True
        return deep and 0 < len(names) < len(hold.names) and _overlap([*names, "**"], hold.segments())

    def _made(self, hold: _Hold, path: str) -> Named:
        if not hold.wild:
            return Named(f"{self._root}/{hold.text}")
        if path and not _is_wild(path) and len(path.split("/")) > len(hold.names) - (not hold.folder):
            return Named(f"{self._root}/{path}")
        return Named(f"{self._root}/{hold.text}", pattern=True)

    # --- words with holes ---------------------------------------------------------------------------------------------

    def _shaped(self, part: MayWrite, folders: list[str]) -> Iterator[Named]:
        """A target that is not known: the text it came from names a path, and the target may have that form."""
        shape = re.compile("".join(map(_hole, part.shape)), re.DOTALL)
        lost = not all(map(holes.is_told, part.folders))
        for each in self._within(part.text, folders) if part.text else ():
            inside = each.path[len(self._root) + 1 :]
            spellings = [each.path, inside, f"./{inside}"]
            spellings += [each.path[len(folder) + 1 :] for folder in folders if each.path.startswith(f"{folder}/")]
            spellings += [inside.split("/", count)[-1] for count in range(inside.count("/") + 1)] if lost else []
            if each.pattern or any(map(shape.fullmatch, spellings)):
                yield each
        yield from self._tail(part.shape)
        if holes.is_told(part.shape):  # its folder is not known
            yield from self._tokens([part.shape], folders, deep=False)
        else:
            yield from self._partly_known(part.shape, folders)

    def _within(self, text: str, folders: list[str]) -> Iterator[Named]:
        """What a text names from which a value is computed: a part of a word counts too."""
        yield from self._text(text, folders, deep=True)
        spelled = list(forms(text))
        for hold in self._holds:
            if not hold.wild and "/" in hold.text and any(hold.text in form for form in spelled):
                yield Named(f"{self._root}/{hold.text}")

    def _partly_known(self, field: str, folders: list[str]) -> Iterator[Named]:
        """`src/${x}a.py`, `src/$f`: an unknown piece may be anything, if the rest says enough."""
        written = field.replace(holes.SPLIT, holes.UNKNOWN)
        if written.startswith((f"{holes.UNKNOWN}/", f"{holes.MANY}/")) or written.strip("./") == holes.UNKNOWN:
            if self._root not in written:
                return  # any folder of the machine
            written = written[written.index(self._root) :]
        known = len([char for char in written if char.isalnum()])
        for folder in [""] if written.startswith("/") else folders:
            path = moved(folder, written)
            if not path.startswith(f"{self._root}/"):
                continue
            inside = path[len(self._root) + 1 :]
            shape = re.compile("".join(map(_hole, inside)).replace("/.*/", "/(?:.*/)?"), re.DOTALL)
            head = inside.partition(holes.UNKNOWN)[0].rpartition("/")[0]
            for hold in self._holds:
                if hold.wild:
                    names = [re.sub(f"[{holes.UNKNOWN}{holes.MANY}]", "*", name) for name in inside.split("/")]
                    if head.split("/")[: len(hold.literal)] == hold.literal and _overlap(names, hold.segments()):
                        yield self._made(hold, "")
                elif f"{head}/".startswith(f"{hold.text}/") or (
                    shape.fullmatch(hold.text) and (head or 2 * known >= len(hold.text))
                ):
                    yield self._made(hold, "")

    def _tail(self, field: str) -> Iterator[Named]:
        """`$ROOT/src/a.py`: what follows the unknown part is the whole of a reserved path, with its folder."""
        last = max(field.rfind(holes.UNKNOWN), field.rfind(holes.SPLIT))
        tail = field[last + 1 :] if last >= 0 else ""
        names = [name for name in tail.split("/") if name not in ("", ".")]
        if len(names) < 2 or not holes.is_plain(tail):
            return
        for hold in self._holds:
            if _overlap(names, hold.segments()):
                yield self._made(hold, "/".join(names))


def _cleaned(token: str) -> str:
    token = token.strip("\\" if token.count("[") == token.count("]") and token[:1] != "]" else "[]\\").lstrip(
        "@%^*" if "/" not in token and "." not in token else "@%^+-" if "/" in token else "@%^"
    )
    return token[:-1] if token.endswith(".") and not token.endswith("..") and len(token) > 1 else token


def _ends_with_name(text: str, hold: _Hold) -> bool:
    return hold.text in text or (hold.names[-1] in text and all(name in text for name in hold.names))


# --- names ------------------------------------------------------------------------------------------------------------


def _quotes_folder(text: str, folder: str) -> bool:
    """The folder is a string by itself: code makes a path from it."""
    if folder not in text:
        return False
    quoted = rf"""['"](?:\./)?{re.escape(folder)}/?['"]"""
    return bool(re.search(quoted, text))


def _fits(shape: str, path: str, values: str) -> bool:
    """Whether the shape becomes the path with values that the text contains."""
    pieces = shape.split(HOLE)
    if len(pieces) > 6 or not path.startswith(pieces[0]) or not path.endswith(pieces[-1]):
        return False
    found = re.fullmatch("(.{0,200}?)".join(map(re.escape, pieces)), path)
    return found is not None and all(_occurs(value, values) for value in found.groups())


def _occurs(value: str, text: str) -> bool:
    if not value:
        return True
    word = re.escape(value)
    if re.search(rf"(?<![\w{HOLE}]){word}(?!\w)", text):
        return True
    return len(value) <= 2 and bool(re.search(rf"""['"]\w{{0,8}}{word}\w{{0,8}}['"]""", text))


def _hole(char: str) -> str:
    if char in (holes.UNKNOWN, holes.SPLIT, holes.DEEP):
        return ".*"
    return {holes.MANY: "[^/]*", holes.ONE: "[^/]"}.get(char) or re.escape(char)


def _is_wild(name: str) -> bool:
    return "*" in name or "?" in name


def _meets(one: str, other: str) -> bool:
    """Whether two names, either of which may be a glob, have a name in common."""
    if not _is_wild(other):
        return one == other or (not _GLOB.isdisjoint(one) and fnmatchcase(other, one))
    if not _is_wild(one):
        return fnmatchcase(one, other.replace("[", "[[]"))
    heads = [re.split(r"[*?]", name)[0] for name in (one, other)]
    tails = [re.split(r"[*?]", name)[-1] for name in (one, other)]
    return (heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])) and (
        tails[0].endswith(tails[1]) or tails[1].endswith(tails[0])
    )


def _overlap(one: list[str], other: list[str]) -> bool:
    """Whether two rows of names, each with `**` for any number of them, have a path in common."""
    reached = {(0, 0)}
    waiting = [(0, 0)]
    while waiting:
        a, b = waiting.pop()
        if a == len(one) and b == len(other):
            return True
        steps: list[tuple[int, int]] = []
        if one[a : a + 1] == ["**"]:
            steps += [(a + 1, b), (a, b + 1)]
        if other[b : b + 1] == ["**"]:
            steps += [(a, b + 1), (a + 1, b)]
        if not steps and a < len(one) and b < len(other) and _meets(one[a], other[b]):
            steps.append((a + 1, b + 1))
        for step in steps:
            if step not in reached and step[0] <= len(one) and step[1] <= len(other):
                reached.add(step)
                waiting.append(step)
    return False
