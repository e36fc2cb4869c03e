"""What is noted while a command is followed: writes, opaque parts, links it makes, files it fills, what it prints."""

import re
from collections.abc import Callable

from rookery.core.record import NamedTuple

from . import holes, reading
from .reading import MayWrite, Opaque, Reach, Reading, Write
from .state import State
from .tree import Block

STEPS_LIMIT = 20_000  # statements and programs followed; nested loops multiply
WRITES_LIMIT = 1_000
LINKS_LIMIT = 100
SEARCHED_LIMIT = 1 << 22  # characters of opaque parts
OWN_DESCRIPTORS = 20  # from here on the shell's own, for `>(...)`
PRINTED_LIMIT = 1 << 20  # characters of what one part prints

_CACHES = frozenset(("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".DS_Store"))
_DESCRIPTOR = rf"/proc/(?:self|thread-self|{holes.MANY}|\d+)(?:/task/[^/]+)?/fd/"
_STANDARD = {"/dev/stdin": "/dev/fd/0", "/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}
_DOCUMENTS = (".md", ".txt", ".rst", ".csv", ".html", ".log", ".diff", ".patch")
_CODE = (".py", ".pyw", ".js", ".mjs", ".cjs", ".ts", ".sh", ".bash", ".pl", ".pm", ".rb", ".php", ".lua", ".mk", ".c",
         ".h", ".cc", ".cpp", ".rs", ".go", ".java", ".cmake", ".el", ".tcl", ".R", ".awk",
         ".sed", "akefile")  # fmt: skip
# What prints the names of files anywhere in the working tree.
_LISTS_TREE = (
    r"\bgit\b[^|;&\n]{0,300}(?:\bls-files\b|\bls-tree\b|\bgrep\b[^|;&\n]{0,99}\s(?:-\w*[lLz]|--files-with)|--name-only|"
    r"--name-status|\bstatus\b[^|;&\n]{0,99}\s-)|\brg\b[^|;&\n]{0,99}\s(?:-\w*l|--files)|\b(?:fd|fdfind|ag)\s"
)

Parse = Callable[[str], Block]
Looks = Callable[[str], bool]
Reads = Callable[[str], str | None]


class World(NamedTuple):
    """What the caller knows: how to parse, where home and the working tree are, whether a path is a folder (False: it
    may be), and the text of a small file (None: it is not known)."""

    parse: Parse
    home: str | None = None
    is_folder: Looks | None = None
    modes: bool = True
    root: str | None = None
    read_text: Reads | None = None


class TooMuch(Exception):
    pass


class Content(NamedTuple):
    """The text this command put into a file; `whole`: nothing else is in it."""

    text: str
    whole: bool


def descriptor(field: str) -> str:
    """One spelling for a descriptor of the command itself."""
    if field.startswith("/proc/"):
        return re.sub(_DESCRIPTOR, "/dev/fd/", field, count=1)
    return _STANDARD.get(field, field)


def _is_loadable(path: str, text: str) -> bool:
    return bool(text.strip()) and (not path.endswith(_DOCUMENTS) or path.endswith("CMakeLists.txt"))


def _is_cache(path: str) -> bool:
    """What tools keep for themselves beside the files: nobody reserves it."""
    names = path.rsplit("/", 2)
    return names[-1].endswith((".pyc", ".pyo")) or not _CACHES.isdisjoint(names[-2:])


class Notes:
    def __init__(self, world: World) -> None:
        self.world = world
        self._writes: dict[Write, None] = {}
        self._opaque: dict[Opaque, None] = {}
        self._records: dict[str, None] = {}
        self._may_write: dict[MayWrite, None] = {}
        self._steps = 0
        self._searched = 0
        self._links: dict[str, dict[str, None]] = {}
        self._contents: dict[str, Content] = {}
        self._sink: list[str | None] | None = None
        self.emissions = 0
        self.is_choice = False  # of what was last printed, perhaps not every line is
        self.doubts: list[str] = []  # the texts behind unknown words of the command at hand
        self.folder_doubts: list[str] = []  # the texts behind folders that are not known
        self.aliases: dict[str, str] = {}
        self.definitions: dict[str, str] = {}  # aliases of git
        self.searched_in: dict[str, None] = {}  # PATH, once it was set
        self.has_computed_names: bool | None = None  # does it set variables by names that are words themselves?
        self.planted: dict[str, None] = {}  # files this command wrote that a later program may load

    def reading(self) -> Reading:
        return Reading(
            tuple(sorted(self._writes)), tuple(sorted(self._opaque)), tuple(sorted(self._records)),
            tuple(self._may_write), tuple((path, target) for path in self._links for target in self._links[path]),
        )  # fmt: skip

    def step(self) -> None:
        self._steps += 1
        if self._steps > STEPS_LIMIT:
            raise TooMuch

    # --- writes -------------------------------------------------------------------------------------------------------

    def write(self, field: str, reach: Reach, state: State, *, itself: bool = False) -> None:
        """`itself`: a link at that path is replaced or removed, not followed."""
        field = descriptor(field)
        if field.startswith("/dev/fd/") and self._links:
            for path in self._descriptor_leads(field):
                self._note_through(path, Write(path, holes.shown(field), reach))
            return
        for folder in state.folders:
            made = reading.write_at(folder, field, reach)
            if isinstance(made, str):
                self.opaque(made, holes.shown(field))
                self._may_write_shape(field, folder)
            elif made is not None and not _is_cache(made.path):
                self._note(made)
                for path in self._followed(made, itself=itself) if self._links else ():
                    self._note_through(path, made)

    def _descriptor_leads(self, field: str) -> list[str]:
        """The files that a descriptor of this command is open on: any of them if the number is unknown."""
        found = self._followed(Write(field, field), itself=False)
        number = field.removeprefix("/dev/fd/")
        if found or number in ("1", "2") or (number.isdecimal() and int(number) >= OWN_DESCRIPTORS):
            return found
        return self.opened()

    def _note_through(self, path: str, made: Write) -> None:
        """A write that a link leads to; what the link was made of may have been a wildcard."""
        led = reading.write_at("", path, made.reach) if holes.is_wild(path) else None
        pattern = made.pattern and ("*" in path or "?" in path)
        self._note(led if isinstance(led, Write) else made._replace(path=path, pattern=pattern))

    def _note(self, made: Write) -> None:
        if len(self._writes) >= WRITES_LIMIT:
            raise TooMuch
        self._writes[made] = None
        if made.path in self._contents:
            self._contents[made.path] = self._contents[made.path]._replace(whole=False)

    def opaque(self, reason: str, fragment: str) -> None:
        if len(self._opaque) < WRITES_LIMIT:
            self._opaque[Opaque(reason, reading.clipped(fragment))] = None

    def may_write(self, part: MayWrite) -> None:
        if part in self._may_write:
            return
        self._searched += len(part.text) + 1
        if self._searched > SEARCHED_LIMIT:
            raise TooMuch
        self._may_write[part] = None

    def may_write_unknown(self, field: str, state: State) -> None:
        """A path with unknown parts, which a program of which too little is known may write."""
        for folder in state.folders:
            self._may_write_shape(field, folder)

    def _may_write_shape(self, field: str, folder: str) -> None:
        texts = self.doubts if holes.is_told(folder) else [*self.doubts, *self.folder_doubts, field]
        text = holes.shown("\n".join(texts))
        self.may_write(MayWrite((folder,), text, shape=field))
        if not field.strip(holes.UNKNOWN + holes.SPLIT) and holes.is_told(folder) and re.search(_LISTS_TREE, text):
            self._note(Write(folder, reading.clipped(text), Reach.BENEATH))

    def give_up(self, reason: str, command: str) -> None:
        """The rest is not followed: all of the text may write what it names."""
        self.opaque(reason, command)
        self._may_write[MayWrite((), command, deep=True)] = None

    def record(self, fragment: str) -> None:
        if len(self._records) < WRITES_LIMIT:
            self._records[reading.clipped(fragment)] = None

    def is_folder(self, path: str) -> bool:
        """Whether it surely is one when the command gets there: nothing so far may have changed that."""
        if self.world.is_folder is None or not holes.is_plain(path) or self._opaque:
            return False
        touched = any(each.pattern or f"{path}/".startswith(f"{each.path}/") for each in self._writes)
        return not touched and self.world.is_folder(path)

    def has_written(self, paths: set[str]) -> bool:
        from fnmatch import fnmatchcase

        shown = [holes.shown(path) for path in paths]
        return any(
            each.path in paths or (each.pattern and any(fnmatchcase(path, each.path) for path in shown))
            for each in self._writes
        )

    def is_planted(self, name: str, folders: tuple[str, ...]) -> bool:
        """Whether this command itself put a program of that name there, by a copy or a link."""
        if not self._writes:
            return False
        if "/" in name:
            paths = {reading.under(folder, name) for folder in folders}
            return any(each.path in paths and each.path not in self._contents for each in self._writes)
        return "PATH" in self.searched_in and any(each.path.rpartition("/")[2] == name for each in self._writes)

    # --- links --------------------------------------------------------------------------------------------------------

    def link(self, path: str, target: str) -> None:
        """From here on a write to `path`, or beneath it, is one to `target` as well."""
        path, target = descriptor(path), descriptor(target)
        if "/bin/" in f"{path}{target}/" or "/.bin" in path:
            self.planted[path] = None
        if len(self._links) < LINKS_LIMIT and path != target:
            self._links.setdefault(path, {})[target] = None

    def links_of(self, path: str) -> list[str]:
        return list(self._links.get(path, ()))

    def _followed(self, write: Write, *, itself: bool) -> list[str]:
        """Where a write leads by links that were made before it."""
        found: list[str] = []
        waiting = [write.path, *(self._covered(write.path) if write.pattern and not itself else ())]
        while waiting and len(found) < LINKS_LIMIT:
            each = waiting.pop()
            for link, targets in self._links.items():
                if each.startswith(f"{link}/") or (each == link and not itself):
                    made = [target + each[len(link) :] for target in targets]
                    made = [one for one in made if one not in found and one != write.path]
                    found += made
                    waiting += made
        return found

    def _covered(self, pattern: str) -> list[str]:
        from fnmatch import fnmatchcase

        return [link for link in self._links if fnmatchcase(link, pattern.replace("[", "[[]"))]

    # --- the text of files and pipes ----------------------------------------------------------------------------------

    def fill(self, path: str, text: str | None, *, append: bool = False) -> None:
        """The command puts this text into a file."""
        if not reading.is_device(path) and (path.endswith(_CODE) if text is None else _is_loadable(path, text)):
            self.planted[path] = None
        before = self._contents.get(path)
        if text is None:
            self._contents.pop(path, None)
        elif append:
            self._contents[path] = Content((before.text if before else "") + text, bool(before and before.whole))
        else:
            self._contents[path] = Content(text, whole=True)

    def content(self, path: str) -> Content | None:
        return self._contents.get(path)

    def filled_texts(self) -> list[str]:
        return [each.text for path, each in self._contents.items() if not path.endswith(_DOCUMENTS)]

    def filled_data(self) -> list[str]:
        """The texts of files that are neither documents nor code: what code may read names from."""
        return [each.text for path, each in self._contents.items() if not path.endswith((*_DOCUMENTS, *_CODE))]

    def disk_text(self, path: str) -> str | None:
        """What a file contains when the command gets there, as far as nothing before may have changed it."""
        if self.world.read_text is None or not holes.is_plain(path) or self._opaque:
            return None
        changed = any(each.pattern or f"{path}/".startswith(f"{each.path}/") for each in self._writes)
        return None if changed else self.world.read_text(path)

    def opened(self) -> list[str]:
        """Files that a descriptor of this command leads to."""
        return [target for path, targets in self._links.items() if path.startswith("/dev/fd/") for target in targets]

    @property
    def has_contents(self) -> bool:
        return bool(self._contents)

    def emit(self, text: str | None) -> None:
        """What a part prints; None where the text does not tell."""
        self.emissions += 1
        if self._sink is not None and text != "":
            self._sink.append(text)

    @property
    def is_captured(self) -> bool:
        return self._sink is not None

    def printed(self, run: Callable[[], object]) -> str | None:
        """What is printed while `run` runs; None where that is not known."""
        around, self._sink, self.is_choice = self._sink, [], False
        try:
            run()
            texts = self._sink
        finally:
            self._sink = around
        known = [text for text in texts if text is not None]
        if len(known) < len(texts) or sum(map(len, known)) > PRINTED_LIMIT:
            return None
        return "".join(known)

    def choice(self, before: int) -> None:
        """After parts of which perhaps not all ran: each of the lines may be printed. Without lines it is unknown."""
        texts = self._sink[before:] if self._sink is not None else []
        if len(texts) > 1 and self._sink is not None:
            self.is_choice = True
            if not all(text is not None and text.endswith("\n") for text in texts):
                self._sink.append(None)

    def sunk(self) -> int:
        return len(self._sink or ())
