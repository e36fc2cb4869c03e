"""Which command a row of words is, and what the shell's own commands do to the shell."""

from collections.abc import Callable

from . import holes, programs, reading, wrappers
from .holes import UNKNOWN
from .options import given, names
from .reading import Reach, moved, under
from .state import Outcome, State, both, join, merge
from .tree import Call
from .walk import Frame, Walker

_PLACES = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin")


def dispatch(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    walker.step()
    name, *rest = words
    if not holes.is_plain(name):
        walker.opaque(reading.UNTOLD_COMMAND, node.source)
        return both(state.lost())
    prefixed = [each.name for each in node.assignments]
    if any(each.startswith("GIT_") or each == "HOME" for each in prefixed):
        walker.opaque(reading.SHELL_CHANGED, node.source)
    if name in state.functions:
        return _functions(walker, words, state, frame, node)
    if name in ("command", "builtin", "time", "exec") and rest and not rest[0].startswith("-"):
        return walker.deeper(lambda: dispatch(walker, rest, state, frame, node), state, node.source)
    if name in BUILTINS:
        return BUILTINS[name](walker, rest, state, frame, node)
    walker.deeper(lambda: _program(walker, words, state, frame, node), state, node.source)
    return both(state)


def _functions(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    outcomes: list[Outcome] = []
    for body in state.functions[words[0]]:
        if body is None:
            walker.deeper(lambda: _program(walker, words, state, frame, node), state, node.source)
            outcomes.append(both(state))
            continue
        inner = walker.assign(node.assignments, state)._replace(parameters=tuple(words[1:]))
        walker.returns.append([])
        walker.locals.append({each.name for each in node.assignments})
        loops, walker.escapes = walker.escapes, []
        outcome = walker.statement(body, inner, frame)
        walker.escapes = loops
        local = walker.locals.pop()
        for returned in walker.returns.pop():
            outcome = merge([outcome, both(returned)])
        outcomes.append(Outcome(_left(outcome.ok, state, local), _left(outcome.failed, state, local)))
    return merge(outcomes)


def _left(inner: State | None, outer: State, local: set[str]) -> State | None:
    """Out of a function: its parameters and local variables are gone."""
    if inner is None:
        return None
    for name in local:
        inner = inner.setting(name, outer.variables.get(name))
    return inner._replace(parameters=outer.parameters)


# --- programs ---------------------------------------------------------------------------------------------------------


class _Site:
    """What a rule is given (site.Site)."""

    def __init__(self, walker: Walker, state: State, frame: Frame, node: Call) -> None:
        self._walker, self._state, self._frame, self._node = walker, state, frame, node

    @property
    def stdin(self) -> str | None:
        return self._frame.stdin

    @property
    def modes(self) -> bool:
        return self._walker.world.modes

    def write(self, field: str, reach: Reach = Reach.FILE) -> None:
        self._walker.write(field, reach, self._state)

    def opaque(self, reason: str, fragment: str = "") -> None:
        self._walker.opaque(reason, fragment or self._node.source)

    def record(self) -> None:
        self._walker.record(self._node.source)

    def run(self, words: list[str], *, reads: bool = False) -> None:
        self._walker.step()
        frame = self._frame if reads else Frame()
        if words:
            self._walker.deeper(
                lambda: _program(self._walker, words, self._state, frame, self._node), self._state, self._node.source
            )

    def shell(self, script: str, parameters: tuple[str, ...]) -> None:
        child = State(self._state.folders, parameters=parameters[1:])
        walker = self._walker
        around = walker.escapes, walker.returns, walker.locals
        walker.escapes, walker.returns, walker.locals = [], [], []
        walker.script(script, child, Frame())
        walker.escapes, walker.returns, walker.locals = around

    def into(self, folder: str) -> "_Site":
        told = holes.is_told(folder)
        folders = tuple(
            under(base, folder) if told and _has_base(base, folder) else UNKNOWN for base in self._state.folders
        )
        return _Site(self._walker, self._state._replace(folders=folders), self._frame, self._node)

    def is_folder(self, field: str) -> bool:
        if not holes.is_told(field):
            return False
        return all(
            _has_base(base, field) and self._walker.is_folder(under(base, field)) for base in self._state.folders
        )


def _has_base(base: str, field: str) -> bool:
    return field.startswith("/") or holes.is_told(base)


def _known_as(name: str) -> str:
    """The name of a program in the table: a path to a place where programs are kept is left off."""
    folder, slash, last = name.rpartition("/")
    if not slash or folder in _PLACES or folder.endswith((".venv/bin", "venv/bin", "node_modules/.bin")):
        return last
    return name


def _program(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    site = _Site(walker, state, frame, node)
    if not holes.is_plain(words[0]):
        site.opaque(reading.UNTOLD_COMMAND)
        return both(state)
    name, rest = _known_as(words[0]), words[1:]
    if not _told(name, rest, site):
        reason = (
            reading.INTERPRETER
            if name in programs.INTERPRETERS
            else reading.ELSEWHERE
            if name in programs.ELSEWHERE
            else reading.PROGRAM_UNKNOWN
        )
        site.opaque(reason, holes.shown(" ".join([words[0], *rest])))
    return both(state)


def _told(name: str, rest: list[str], site: _Site) -> bool:
    rule = programs.rule(name) or wrappers.RULES.get(name) or (wrappers.shell if name in wrappers.SHELLS else None)
    if rule is not None:
        rule(name, rest, site)
    elif name in programs.PLAIN:
        programs.write_plain(name, programs.PLAIN[name], rest, site)
    elif name in programs.MODES:
        if site.modes:
            programs.write_plain(name, programs.MODES[name], rest, site)
    elif name in wrappers.WRAPPERS:
        wrappers.wrapped(name, wrappers.WRAPPERS[name], rest, site)
    elif name in programs.READ_ONLY or name in BUILTINS:
        programs.read_only(name, rest, site)
    elif name in wrappers.RUNNERS and wrappers.runner(name, rest, site):
        pass
    else:
        known = name in programs.INTERPRETERS or name in programs.ELSEWHERE
        return known and programs.is_question(rest)
    return True


# --- the shell's own commands -----------------------------------------------------------------------------------------

Builtin = Callable[[Walker, list[str], State, Frame, Call], Outcome]


def _gone(walker: Walker, state: State, targets: tuple[str, ...], sure: bool) -> Outcome:
    """`cd` to one of the targets. It may fail, unless it surely leads to a folder."""
    folders: dict[str, None] = {}
    for base in state.folders:
        for target in targets:
            lost = (
                not holes.is_told(target) or not _has_base(base, target) or (".." in target and holes.is_wild(target))
            )
            folders[UNKNOWN if lost else moved(base, target)] = None
    there = state._replace(folders=tuple(folders), before=state.folders)
    if len(folders) > 8:
        there = there._replace(folders=(UNKNOWN,))
    walker.places.update(dict.fromkeys(there.folders))
    sure = sure or all(map(walker.is_folder, there.folders))
    return Outcome(there, None if sure else state)


def _cd(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    got = given("L P e @", words)
    if got.strange or got.has("P e @"):
        return Outcome(state._replace(folders=(UNKNOWN,), before=state.folders), state)
    target = got.operands[0] if got.operands else "~"
    if target == "-":
        return _gone(walker, state, state.before, sure=False)
    if target == "~":
        return _gone(walker, state, (walker.world.home or UNKNOWN,), sure=False)
    return _gone(walker, state, (target,), sure=not target.strip("./") and target != "")


def _pushd(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    targets = [word for word in words if word != "--"]
    if len(targets) != 1 or targets[0][:1] in ("-", "+"):
        return both(state._replace(folders=(UNKNOWN,), stack=()))
    outcome = _gone(walker, state, (targets[0],), sure=False)
    there = outcome.ok
    return Outcome(there and there._replace(stack=(state.folders, *state.stack)), outcome.failed)


def _popd(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    if words or not state.stack:
        return both(state._replace(folders=(UNKNOWN,), stack=()))
    return Outcome(state._replace(folders=state.stack[0], before=state.folders, stack=state.stack[1:]), None)


def _exit(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    return both(None)


def _leave_loop(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    for loop in walker.escapes:  # `break 2` among them
        loop.append(state)
    return both(None) if walker.escapes else both(state)


def _return(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    if walker.returns:
        walker.returns[-1].append(state)
        return both(None)
    return both(state)


def _set(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    strict, rest = state.strict, list(words)
    while rest and rest[0][:1] in ("-", "+") and rest[0] not in ("--", "-", "+"):
        word = rest.pop(0)
        named = rest.pop(0) if word.endswith("o") and rest else ""
        if "e" in word[1:] or named == "errexit":
            strict = word[0] == "-"
        if "P" in word or named in ("physical", "posix"):
            walker.opaque(reading.SHELL_CHANGED, node.source)
    state = state._replace(strict=strict)
    if rest:
        state = state._replace(parameters=tuple(rest[1:] if rest[0] in ("--", "-") else rest))
    return Outcome(state, None)


def _shift(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    count = words[0] if words else "1"
    if state.parameters is None or not count.isdecimal() or not all(map(holes.is_told, state.parameters)):
        return both(state._replace(parameters=None))
    return both(state._replace(parameters=state.parameters[int(count) :]))


def _unset(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    functions = state.functions
    for name in words:
        if not name.startswith("-"):
            if "-f" not in words and holes.is_plain(name) and "[" not in name:
                state = walker.set(state, name, ("",))
            if "-v" not in words:
                functions = {key: value for key, value in functions.items() if key != name}
    return both(state._replace(functions=functions))


_NAMING = {
    "read": "r s e p: a: d: n: N: t: u: i: E",
    "mapfile": "t d: n: O: s: u: C: c:",
    "readarray": "t d: n: O: s: u: C: c:",
    "getopts": "",
    "printf": "v:",
    "wait": "n f p:",
}


def _named(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    """Those that set variables whose names they are given."""
    name = node.words[0].source
    spec = _NAMING.get(name, "")
    got = given(spec, words, permute=False)
    names = got.values({"read": "a", "printf": "v", "wait": "p"}.get(name, "none"))
    names += {"printf": [], "wait": [], "getopts": [*got.operands[1:2], "OPTARG", "OPTIND"]}.get(name, got.operands)
    if name in ("read",) and not got.operands:
        names.append("REPLY")
    if got.values("C") or any(not holes.is_plain(each) for each in names):
        walker.opaque(reading.ARGUMENTS_UNKNOWN, node.source)
        return both(state.lost())
    for each in names:
        state = walker.set(state, each, None)
    return both(state)


def _let(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    for word in words:
        for name in "".join(char if char.isalnum() or char == "_" else " " for char in word).split():
            state = walker.set(state, name, None)
    return both(state)


def _eval(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    return walker.script(" ".join(words), state, frame)


def _source(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    walker.opaque(reading.SOURCED, node.source)
    return both(state.lost())


def _trap(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    words = words[1:] if words[:1] == ["--"] else words
    if words and words[0] not in ("-", "", "-p", "-l") and not words[0].isdecimal():
        walker.traps[words[0]] = join(walker.traps.get(words[0]), state) or state
    return both(state)


def _alias(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    if any("=" in word or not holes.is_plain(word) for word in words):
        walker.opaque(reading.SHELL_CHANGED, node.source)
    return both(state)


_SHIFTY = names("expand_aliases autocd cdable_vars cdspell lastpipe sourcepath")


def _shopt(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    if _SHIFTY & set(words) or not all(map(holes.is_plain, words)):
        walker.opaque(reading.SHELL_CHANGED, node.source)
    return both(state)


def _declared(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    """`export $x`, `command export f=x`: whatever they set is not known."""
    for word in words:
        name = word.partition("=")[0]
        if not holes.is_plain(name):
            return both(state.lost()._replace(folders=state.folders))
        state = walker.set(state, name, None)
    return both(state)


def _history(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    if any(word.startswith("-") for word in words):
        walker.opaque(reading.OPTION_UNKNOWN, node.source)
    return both(state)


BUILTINS: dict[str, Builtin] = {
    "cd": _cd, "chdir": _cd, "pushd": _pushd, "popd": _popd, "exit": _exit, "logout": _exit, "break": _leave_loop,
    "continue": _leave_loop, "return": _return, "set": _set, "shift": _shift, "unset": _unset, "let": _let,
    "eval": _eval, "source": _source, ".": _source, "trap": _trap, "alias": _alias, "unalias": _alias, "shopt": _shopt,
    "enable": _source, "history": _history, "fc": _source,
    **dict.fromkeys(_NAMING, _named),
    **dict.fromkeys(("export", "declare", "local", "readonly", "typeset"), _declared),
}  # fmt: skip
