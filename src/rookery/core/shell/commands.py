"""What a program that is run would write: the table is asked, and what is in no table is searched for names."""

import re

from . import holes, programs, reading, settings, wrappers
from .holes import UNKNOWN
from .reading import MayWrite, Reach, moved, under
from .scope import sources, with_values
from .state import Outcome, State, both
from .tree import Call
from .walk import Frame, Walker

_LIKE_INTERPRETER = (
    r"(?i)py|node|ruby|perl|java|test|lint|check|run|bin|cc|cxx|go|cargo|npm|npx|grep|cat|pager|venv|cli"
)
_PLACES = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin")


# Commands that print what a file or a server has: what they are told is no part of what they print.
_PRINTS_FILES = r"\A\s*(?:cat|head|tail|curl|wget|zcat|gunzip|less|ssh|base64|openssl|unzip)\b[^|;&\n]*\Z"


_STDIN = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


class CallSite:
    """What a rule is given (site.Site)."""

    def __init__(
        self, walker: Walker, state: State, frame: Frame, node: Call, given: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self._walker, self._state, self._frame, self._node = walker, state, frame, node
        self._given = given  # variables that a wrapper adds to the environment

    @property
    def stdin(self) -> str | None:
        return self._frame.stdin

    @property
    def choice(self) -> bool:
        return self._frame.choice

    @property
    def modes(self) -> bool:
        return self._walker.world.modes

    @property
    def folder(self) -> str | None:
        folders = self._state.folders
        return folders[0] if len(folders) == 1 and holes.is_told(folders[0]) else None

    @property
    def root(self) -> str | None:
        return self._walker.world.root

    def write(self, field: str, reach: Reach = Reach.FILE, *, itself: bool = False) -> None:
        self._walker.write(field, reach, self._state, itself=itself)

    def opaque(self, reason: str, fragment: str = "") -> None:
        self._walker.opaque(reason, fragment or self._node.source)

    def code(self, text: str, arguments: list[str] | None = None) -> None:
        from . import code

        for target, path in code.made_links(text) if "link" in text else ():
            self.link(path, target, symbolic="symlink" in text)
        judged = code.judge(holes.shown(text))
        if judged is None:
            return
        if re.search(r"/dev/stdin|/fd\b|/proc\b|\bf(?:chmod|chown|truncate)\b|(?:chmod|chown|utime)\(\s{0,9}\d", text):
            self.may_write(self._walker.opened())
        for row in code.embedded(text):
            self.shell(row[0], ()) if len(row) == 1 else self.run(row)
        texts = [judged.text, *self._walker.doubts, *self._walker.filled_data()]
        texts += list(arguments or ()) if judged.arguments else []
        for argument in arguments or () if judged.arguments else ():
            if any(char.isspace() for char in argument):
                self.shell(argument, ())  # the code may run it
        self.may_write([each for each in arguments or () if judged.arguments and not holes.is_told(each)])
        if judged.stdin:
            texts.append(self._fed_text() if self.stdin is None else self.stdin)
        if judged.environment:
            texts += [value for values in self._walker.given.values() for value in values]
            texts += [each.value.source for each in self._node.assignments]
            texts += [value for _, value in self._given]
        self._walker.may_write(MayWrite(self._state.folders, holes.shown("\n".join(texts)), deep=judged.deep))

    def commands(self, text: str) -> None:
        self._walker.suspect(holes.shown(text), self._state)

    def may_write(self, paths: list[str], *, deep: bool = False) -> None:
        told = tuple(path for path in paths if holes.is_told(path))
        if told:
            self._walker.may_write(MayWrite(self._state.folders, paths=told, deep=deep))
        for path in paths:
            if not holes.is_told(path):
                self._walker.may_write_unknown(path, self._state)

    def content(self, field: str) -> str | None:
        if field in _STDIN:
            return self.stdin
        if not holes.is_plain(field) or self.folder is None:
            return None
        content = self._walker.content(under(self.folder, field))
        return content.text if content else None

    def text(self, field: str) -> str | None:
        found = self.content(field)
        if found is None and self.folder is not None and holes.is_plain(field) and field not in _STDIN:
            found = self._walker.disk_text(under(self.folder, field))
        return found

    def fill(self, field: str, text: str | None) -> None:
        if text is not None and self.folder is not None and holes.is_plain(field):
            self._walker.fill(under(self.folder, field), text)

    def plant(self, field: str) -> None:
        self._walker.planted[self.path(field)] = None

    def planted(self) -> list[str]:
        return list(self._walker.planted)

    def path(self, field: str) -> str:
        return under(self.folder or "", field)

    def filled_data(self) -> list[str]:
        return self._walker.filled_data()

    def searched(self, text: str, *, deep: bool = False) -> None:
        if text.strip():
            self._walker.may_write(MayWrite(self._state.folders, holes.shown(text), deep=deep))

    def variable(self, name: str) -> str | None:
        values = self._child().variables.get(name)
        return values[0] if values and len(values) == 1 and holes.is_told(values[0]) else None

    def feeders(self, file: str = "") -> str:
        if file and file not in _STDIN:
            paths: list[str] = [under(folder, file) for folder in self._state.folders if has_base(folder, file)]
            return "\n".join(filter(None, map(self._walker.printer_of, paths)))
        return self._fed_text() if self.stdin is None or not holes.is_told(self.stdin) else ""

    def _fed_text(self) -> str:
        return with_values(self._walker, sources(self._frame.feeders))

    def define(self, name: str, text: str) -> None:
        self._walker.definitions[name] = text

    def definition(self, name: str) -> str | None:
        return self._walker.definitions.get(name)

    def environment(self) -> list[str]:
        return [value for _, value in self.environ()]

    def environ(self) -> list[tuple[str, str]]:
        walker = self._walker
        exported = walker.given if walker.exports_all else walker.exported
        names = dict.fromkeys([*(each.name for each in self._node.assignments), *exported])
        return [*((name, value) for name in names for value in walker.given.get(name, ())), *self._given]

    def filled(self) -> list[str]:
        return self._walker.filled_texts()

    def giving(self, name: str, value: str) -> "CallSite":
        self._walker.set(self._state, name, (value,))
        settings.note(self._walker, name, (value,), self._state)
        return CallSite(self._walker, self._state, self._frame, self._node, (*self._given, (name, value)))

    def _child(self) -> State:
        """Where a shell of its own would begin: with what is exported and what this command is given."""
        walker = self._walker
        around = walker.assign(self._node.assignments, self._state) if self._node.assignments else self._state
        names = [*(around.variables if walker.exports_all else walker.exported)]
        names += [each.name for each in self._node.assignments]
        child = State(self._state.folders)
        for name in names:
            child = child.setting(name, around.variables.get(name))
        for name, value in self._given:
            child = child.setting(name, (value,))
        functions = {name: body for name, body in around.functions.items() if name in walker.exported}
        return child._replace(functions=functions)

    def link(self, field: str, target: str, *, symbolic: bool) -> None:
        if not (holes.is_told(field) and holes.is_told(target)):
            return
        for base in self._state.folders:
            if has_base(base, field) and has_base(base, target):
                path = under(base, field)
                start = path.rpartition("/")[0] if symbolic else base
                self._walker.link(moved("", path) if path.startswith("/") else path, moved(start, target))

    def renamed(self, source: str, target: str) -> None:
        for base in self._state.folders:
            if holes.is_told(source + target) and has_base(base, source) and has_base(base, target):
                for led in self._walker.links_of(under(base, source)):
                    self._walker.link(under(base, target), led)

    def record(self) -> None:
        self._walker.record(self._node.source)

    def fed(self) -> None:
        text = self._fed_text()
        if re.search(_PRINTS_FILES, text):
            self.commands(text)
        else:
            self.searched(text, deep=True)

    def run(self, words: list[str], *, reads: bool = False, fed: bool = False) -> None:
        self._walker.step()
        if fed:
            self._walker.doubts.append(self._fed_text())
        frame = self._frame if reads else Frame()
        if words:
            self._walker.deeper(
                lambda: program(self._walker, words, self._state, frame, self._node, self._given),
                self._state,
                self._node.source,
            )

    def shell(self, script: str, parameters: tuple[str, ...]) -> None:
        texts = [*self._walker.doubts, *map(holes.shown, parameters)]
        for index, value in enumerate(parameters):
            if not holes.is_told(value):
                self._walker.origins[str(index)] = "\n".join(texts)
        child = self._child().given(tuple(map(_one_word, parameters[1:])))
        if parameters and holes.is_told(parameters[0]):
            child = child.setting("0", parameters[:1])
        walker = self._walker
        around = walker.escapes, walker.returns, walker.locals
        walker.escapes, walker.returns, walker.locals = [], [], []
        walker.script(script, child, Frame())
        walker.escapes, walker.returns, walker.locals = around

    def into(self, folder: str) -> "CallSite":
        told = holes.is_told(folder)
        folders = tuple(
            under(base, folder) if told and has_base(base, folder) else UNKNOWN for base in self._state.folders
        )
        return CallSite(self._walker, self._state._replace(folders=folders), self._frame, self._node, self._given)

    def is_folder(self, field: str) -> bool:
        if not holes.is_told(field):
            return False
        return all(has_base(base, field) and self._walker.is_folder(under(base, field)) for base in self._state.folders)


def _one_word(field: str) -> str:
    """An unknown part of a word may split it, but mostly does not."""
    return field if field == holes.SPLIT else field.replace(holes.SPLIT, UNKNOWN)


def has_base(base: str, field: str) -> bool:
    return field.startswith("/") or holes.is_told(base)


def _known_as(name: str) -> str:
    """The name of a program in the table: a path to a place where programs are kept is left off."""
    if re.fullmatch(r"/proc/(?:self|thread-self|\d{1,9})/exe", name):
        return "bash"
    folder, slash, last = name.rpartition("/")
    if last.startswith("git-") and folder.endswith("git-core"):
        return last
    if (
        not slash
        or folder in _PLACES
        or (wrappers.is_command(last) or last in programs.INTERPRETERS)
        or folder.endswith((".venv/bin", "venv/bin", "node_modules/.bin"))
    ):
        return last
    return name


def program(
    walker: Walker,
    words: list[str],
    state: State,
    frame: Frame,
    node: Call,
    given: tuple[tuple[str, str], ...] = (),
) -> Outcome:
    site = CallSite(walker, state, frame, node, given)
    if not holes.is_plain(words[0]):
        return unknown_program(walker, words, state, frame, node)
    name, rest = _known_as(words[0]), words[1:]
    if programs.is_loader(words[0].rpartition("/")[2]):
        name = "ld.so"
    before = walker.emissions
    if walker.is_planted(words[0], state.folders):
        site.opaque(reading.PROGRAM_UNKNOWN)
        site.searched("\n".join(rest))
        _opaque(words[0], words[0].rpartition("/")[2] + " ", rest, site)
    elif not _told(name, rest, site):
        _opaque(words[0], name, rest, site)
    _note_outputs(name, rest, site)
    if walker.planted or name in programs.COMPILERS:
        from . import planted

        planted.note(words[0], name, rest, site)
    if walker.is_captured and walker.emissions == before:
        walker.emit(_printed(name, rest, site, known_files=walker.has_contents))
    return both(state)


def _note_outputs(name: str, rest: list[str], site: CallSite) -> None:
    if not (site.environ() or any(word.startswith("-") for word in rest)):
        return
    from . import outputs

    reader = name in programs.READ_ONLY or name in programs.SHELL_OWN
    outputs.note(name, rest, site, reader=reader, lenient=not reader and not programs.is_declared(name))


# Filters that print something known only where what they read is known; `output` is not imported for them in vain.
_FILTERS = programs.names(
    "head tail sort uniq shuf tac tee grep egrep fgrep rg tr sed cut awk gawk mawk rev base64 xxd"
)


_SEARCHERS = programs.names("grep egrep fgrep rg")


def _printed(name: str, words: list[str], site: CallSite, *, known_files: bool) -> str | None:
    lists = any(word.startswith("-") and "l" in word.lower() for word in words)  # `grep -l` prints names
    # A file, whose text the disk may tell; a search through folders prints what nothing tells.
    searches = name in _SEARCHERS and any(word.startswith("-") and "r" in word.lower() for word in words)
    reads = not searches and any(not word.startswith("-") for word in words)
    if name in _FILTERS and site.stdin is None and not known_files and not lists and not reads:
        return None
    from . import output

    return output.printed(name, words, site)


def _opaque(written: str, name: str, rest: list[str], site: CallSite) -> None:
    from . import interpreters

    reason = (
        reading.INTERPRETER
        if name in programs.INTERPRETERS
        else reading.ELSEWHERE
        if name in programs.ELSEWHERE
        else reading.PROGRAM_UNKNOWN
    )
    script = site.content(written) if "/" in written else None
    if script is not None:
        _run_script(script, rest, site)
        if reason == reading.PROGRAM_UNKNOWN:
            return
    site.opaque(reason, holes.shown(" ".join([written, *rest])))
    if reason == reading.INTERPRETER:
        interpreters.interpreted(name, rest, site)
    elif reason == reading.ELSEWHERE or "/" in name or name in programs.CHECKERS:
        interpreters.named(rest, site)
        if name in ("valgrind", "perf"):
            interpreters.run_by(rest, site)
    else:
        interpreters.unknown(rest, site)


def _run_script(text: str, arguments: list[str], site: CallSite) -> None:
    """A file that this command filled is run: by the program its first line names."""
    first, _, _ = text.partition("\n")
    if first.startswith("#!") and not any(shell in first.split("/")[-1].split() for shell in wrappers.SHELLS):
        site.opaque(reading.INTERPRETER, first)
        site.code(text, arguments)
    else:
        site.shell(text, ("", *arguments))


def _told(name: str, rest: list[str], site: CallSite) -> bool:
    rule = programs.rule(name) or wrappers.RULES.get(name) or (wrappers.shell if name in wrappers.SHELLS else None)
    if rule is not None:
        rule(name, rest, site)
    elif name in programs.PLAIN:
        programs.write_plain(name, programs.PLAIN[name], rest, site)
        for file in rest if name in ("tee", "sponge") else ():
            site.fill(file, site.stdin)
    elif name in programs.MODES:
        for word in rest:
            site.commands(site.content(word) or "")  # a script that this command filled becomes a program
        if site.modes:
            programs.write_plain(name, programs.MODES[name], rest, site)
    elif name in wrappers.WRAPPERS:
        wrappers.wrapped(name, wrappers.WRAPPERS[name], rest, site)
    elif name in programs.READ_ONLY or name in programs.SHELL_OWN:
        programs.read_only(name, rest, site)
    elif name in wrappers.RUNNERS and wrappers.runner(name, rest, site):
        pass
    else:
        known = name in programs.INTERPRETERS or name in programs.ELSEWHERE
        return known and programs.is_question(rest)
    return True


def unknown_program(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    """The program is an expansion. What follows its last slash may tell; otherwise it may write what it is given."""
    name = words[0].rpartition("/")[2]
    site = CallSite(walker, state, frame, node)
    if "/" in words[0] and name and holes.is_plain(name) and wrappers.is_known(name):
        site.opaque(reading.UNTOLD_COMMAND)
        program(walker, [name, *words[1:]], state, frame, node)
        return both(state)
    walker.opaque(reading.UNTOLD_COMMAND, node.source)
    if holes.is_told(words[0]) or not re.search(_LIKE_INTERPRETER, node.words[0].source):  # told: a wildcard
        from . import interpreters

        interpreters.unknown(words[1:], site)
        walker.suspect("\n".join(walker.doubts), state)
    walker.emit(None)
    return both(state.lost())
