"""What the shell's own commands do to the shell."""

import re
from collections.abc import Callable
from functools import partial

from . import holes, reading
from .commands import CallSite, has_base
from .holes import UNKNOWN
from .options import given, names
from .reading import MayWrite, moved
from .scope import sources
from .state import Outcome, State, both, join
from .tree import Call
from .walk import Frame, Walker

Builtin = Callable[[Walker, list[str], State, Frame, Call], Outcome]


def _gone(walker: Walker, state: State, targets: tuple[str, ...], sure: bool) -> Outcome:
    """`cd` to one of the targets. It may fail, unless it surely leads to a folder."""
    folders: dict[str, None] = {}
    for base in state.folders:
        for target in targets:
            lost = not holes.is_told(target) or not has_base(base, target) or (".." in target and holes.is_wild(target))
            folders[UNKNOWN if lost else moved(base, target)] = None
            if lost:
                walker.folder_doubts.append(" ".join([*walker.doubts, holes.shown(target)]))
    there = state._replace(folders=tuple(folders), before=state.folders)
    if len(folders) > 8:
        there = there._replace(folders=(UNKNOWN,))
    walker.places.update(dict.fromkeys(there.folders))
    sure = sure or all(map(walker.is_folder, there.folders))
    return Outcome(there, None if sure else state)


def _cd(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    got = given("L P e @", words)
    if node.source.split()[-1:] == ["~-"]:
        return _gone(walker, state, state.before, sure=False)
    if got.strange or (got.has("P") and any(".." in each for each in got.operands)):
        walker.folder_doubts += [node.source, *walker.doubts]
        return Outcome(state._replace(folders=(UNKNOWN,), before=state.folders), state)
    target = got.operands[0] if got.operands else "~"
    if target == "-":
        return _gone(walker, state, state.before, sure=False)
    if target == "~":
        home = state.variables.get("HOME") or (walker.world.home or UNKNOWN,)
        return _gone(walker, state, home, sure=False)
    targets = tuple(got.operands)  # only one of several counts: the others are expansions that may be empty
    found = [f"{place}/{each}" for each in targets if not each.startswith(("/", ".")) for place in _search_path(walker)]
    gone = _gone(walker, state, (*targets, *found), sure=not target.strip("./") and target != "" and len(targets) == 1)
    return gone if len(targets) == 1 else Outcome(gone.ok, state)  # it refuses two


def _search_path(walker: Walker) -> list[str]:
    """The folders of every CDPATH that was set."""
    return [place for value in walker.given.get("CDPATH", ()) for place in value.split(":") if place]


def _pushd(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    targets = [word for word in words if word != "--"]
    if len(targets) != 1 or targets[0][:1] in ("-", "+"):
        known = [folder for folders in (state.folders, *state.stack) for folder in folders]
        return both(state._replace(folders=tuple(dict.fromkeys(known))[:8] or (UNKNOWN,)))
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
        if "a" in word[1:] or named == "allexport":
            walker.exports_all = True
        if "P" in word or named in ("physical", "posix"):
            walker.opaque(reading.SHELL_CHANGED, node.source)
    state = state._replace(strict=strict)
    if rest:
        state = state.given(tuple(rest[1:] if rest[0] in ("--", "-") else rest))
        if not all(map(holes.is_told, rest)):
            walker.origins.update(dict.fromkeys(map(str, range(1, 10)), "\n".join(walker.doubts)))
    return Outcome(state, None)


def _shift(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    count = words[0] if words else "1"
    if state.parameters is None or not count.isdecimal() or not all(map(holes.is_told, state.parameters)):
        return both(state.given(None))
    return both(state.given(state.parameters[int(count) :]))


def _unset(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    functions = state.functions
    if any("$(" in word or "`" in word for word in words):
        walker.suspect(node.source, state)  # an index of an array is run
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


def _named(name: str, walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    """Those that set variables whose names they are given."""
    spec = _NAMING.get(name, "")
    got = given(spec, words, permute=False)
    names = got.values({"read": "a", "printf": "v", "wait": "p"}.get(name, "none"))
    names += {"printf": [], "wait": [], "getopts": [*got.operands[1:2], "OPTARG", "OPTIND"]}.get(name, got.operands)
    if name in ("read",) and not got.operands:
        names.append("REPLY")
    if any("$(" in each or "`" in each for each in words):
        walker.suspect(node.source, state)  # an index of an array is run
    if got.values("C") or any(not holes.is_plain(each) for each in names):
        walker.opaque(reading.ARGUMENTS_UNKNOWN, node.source)
        walker.suspect(node.source, state)
        return both(state.lost())
    if name == "getopts":
        walker.doubts.append(node.source)
        told = tuple(each for each in got.operands[2:] if not each.startswith("-"))
        return both(walker.set(state, "OPTARG", told or None))
    if name == "printf":
        from . import output

        text = output.formatted(got.operands)
        if not names:
            walker.emit(text)
        for each in names:
            state = walker.set(state, each, None if text is None else (text,))
        return both(state)
    separators = walker.assign(node.assignments, state).variables.get("IFS") or state.variables.get("IFS")
    if separators and frame.stdin is not None and separators[0].strip():
        marks = dict.fromkeys(map(ord, separators[0].strip()), " ")
        frame = frame._replace(stdin=frame.stdin.translate(marks))
    return both(_taken(walker, name, names, got.has("a"), state, frame))


def _taken(walker: Walker, name: str, names: list[str], array: bool, state: State, frame: Frame) -> State:
    """`read` and `mapfile`: the lines of standard input, where they are known. Any of them may be the one."""
    if frame.stdin is None and frame.feeders:
        walker.doubts.append(sources(frame.feeders))
    elif frame.stdin is None and re.search(r"\bcoproc\b|\bexec\b[^;\n]*<", walker.whole):
        walker.doubts.append(walker.whole)
    known = name in ("read", "mapfile", "readarray") and frame.stdin is not None and "\0" not in frame.stdin
    lines = [line for line in (frame.stdin or "").split("\n") if line.strip()] if known else []
    if name in ("mapfile", "readarray") or array:
        items = lines if name != "read" else [item for line in lines for item in line.split()]
        for each in names or ["MAPFILE"]:
            state = walker.set(state, f"{each}[@]", (holes.BREAK.join(items),) if known else None)
            state = walker.set(state, each, tuple(items[:1]) or None)
        return state
    for index, each in enumerate(names):
        rows = [line.strip().split(None, len(names) - 1) for line in lines]
        values = tuple(dict.fromkeys(row[index] if index < len(row) else "" for row in rows))
        state = walker.set(state, each, values if values and len(values) <= 16 else None)
    return state


def _let(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    if any("$(" in word or "`" in word for word in words):
        walker.suspect(node.source, state)
    for word in words:
        for name in "".join(char if char.isalnum() or char == "_" else " " for char in word).split():
            state = walker.set(state, name, None)
    return both(state)


def _eval(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    return walker.script(" ".join(words), state, frame)


def _source(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    site = CallSite(walker, state, frame, node)
    text = site.content(words[0]) if words else None
    if text is not None:
        if not words[1:]:
            return walker.script(text, state, Frame())
        inner = walker.script(text, state.given(tuple(words[1:])), Frame())
        ok, failed = (each and each.given(state.parameters, state.variables) for each in (inner.ok, inner.failed))
        return Outcome(ok, failed)
    if words[:1] in (["/dev/stdin"], ["-"]) and frame.stdin is not None:
        return walker.script(frame.stdin, state, Frame())
    walker.opaque(reading.SOURCED, node.source)
    walker.emit(None)
    return both(state.lost())


def _trap(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    words = words[1:] if words[:1] == ["--"] else words
    if words and words[0] not in ("-", "", "-p", "-l") and not words[0].isdecimal():
        walker.traps[words[0]] = join(walker.traps.get(words[0]), state) or state
    return both(state)


def _alias(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    for word in words:
        name, equals, text = word.partition("=")
        if not holes.is_plain(word):
            walker.opaque(reading.SHELL_CHANGED, node.source)
            walker.suspect(" ".join([holes.shown(word), *walker.doubts]), state)
        elif equals and name:
            walker.aliases[name] = text
            if text[-1:].isspace():
                walker.suspect(walker.whole, state)  # the word after it is an alias too
    return both(state)


_SHIFTY = names("autocd cdable_vars cdspell lastpipe sourcepath")
_MATCHING = names("extglob nocaseglob nocasematch dotglob globstar")


def _shopt(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    if _SHIFTY & set(words) or not all(map(holes.is_plain, words)):
        walker.opaque(reading.SHELL_CHANGED, node.source)
    if _MATCHING & set(words):
        walker.suspect(walker.whole, state)  # wildcards mean more from here on
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
        walker.suspect(" ".join(words), state)
        paths = [*walker.given.get("HISTFILE", ()), *(word for word in words if not word.startswith("-"))]
        walker.may_write(MayWrite(state.folders, paths=tuple(paths)))
    return both(state)


def _runs_text(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    """`complete -C COMMAND`, `test -v 'x[$(...)]'`, `bind -x`: what they are given may be run."""
    walker.suspect(node.source, state)
    walker.emit("" if node.words[0].source in ("test", "[") else None)
    return both(state)


def _hash(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    """`hash -p PATH NAME`: another program of that name."""
    if "-p" in words and len(words) >= 3:
        walker.aliases[words[-1]] = words[-2]
    return both(state)


def _test(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    if any("$(" in word or "`" in word for word in words):
        return _runs_text(walker, words, state, frame, node)
    walker.emit("")
    return both(state)


BUILTINS: dict[str, Builtin] = {
    "cd": _cd, "chdir": _cd, "pushd": _pushd, "popd": _popd, "exit": _exit, "logout": _exit, "break": _leave_loop,
    "continue": _leave_loop, "return": _return, "set": _set, "shift": _shift, "unset": _unset, "let": _let,
    "eval": _eval, "source": _source, ".": _source, "trap": _trap, "alias": _alias, "unalias": _alias, "shopt": _shopt,
    "enable": _source, "history": _history, "fc": _source, "complete": _runs_text, "compgen": _runs_text,
    "bind": _runs_text, "hash": _hash, "test": _test, "[": _test,
    **{name: partial(_named, name) for name in _NAMING},
    **dict.fromkeys(("export", "declare", "local", "readonly", "typeset"), _declared),
}  # fmt: skip
