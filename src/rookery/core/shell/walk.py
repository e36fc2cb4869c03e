"""Follows a command through its statements, and notes what each of them would write.

Nothing is run and no condition is decided: both branches count, a loop is followed until nothing new can happen, and
a command that may fail goes on both ways. So what is reported may be more than what happens, never less, as long as
nothing was opaque.
"""

import re
from collections.abc import Callable
from itertools import product

from rookery.core.record import NamedTuple

from . import holes, reading, redirects, settings, words
from .holes import UNKNOWN
from .notes import Notes, TooMuch, World
from .reading import MayWrite
from .scope import Scope
from .state import Outcome, State, after, both, join, merge, widen
from .tree import (
    Assignment,
    Background,
    Block,
    Broken,
    Call,
    Case,
    Chain,
    Declaration,
    Expression,
    For,
    Function,
    Group,
    If,
    Loop,
    Negated,
    Pipeline,
    Redirected,
    Statement,
    Subshell,
    Word,
)

DEPTH_LIMIT = 60  # of statements within statements, functions and scripts among them
VECTORS_LIMIT = 64  # ways to read the words of one command
ROUNDS_LIMIT = 10
ELEMENTS_LIMIT = 20  # of an array that are known by their number


class Frame(NamedTuple):
    """What a statement is given besides the state."""

    stdin: str | None = None
    checked: bool = False  # a condition: `set -e` does not end the shell here
    feeders: Block = ()  # what prints its standard input
    choice: bool = False  # of standard input perhaps not every line is there
    doubts: tuple[str, ...] = ()  # the texts behind its unknown parts


Dispatch = Callable[["Walker", list[str], State, Frame, Call], Outcome]


class Walker(Notes):
    def __init__(self, world: World, dispatch: Dispatch) -> None:
        super().__init__(world)
        self._dispatch = dispatch
        self._depth = 0
        self.whole = ""  # the text of the command
        self._suspected: set[tuple[str, tuple[str, ...]]] = set()
        self.escapes: list[list[State]] = []  # by `break` and `continue`, of the loops around
        self.returns: list[list[State]] = []  # of the functions around
        self.locals: list[set[str]] = []
        self.traps: dict[str, State] = {}
        self.places: dict[str, None] = {}  # every folder that was ever possible
        self.given: dict[str, dict[str, None]] = {}  # every value that a variable ever had
        self.exported: dict[str, None] = {}
        self.exports_all = False  # `set -a`
        self.references: dict[str, str] = {}  # `declare -n`
        self.defined: dict[str, Statement] = {}  # every function
        self.printers: dict[str, str] = {}  # of `<(...)`, the text of its commands
        self.origins: dict[str, str] = {}  # of a variable whose value is unknown, the text it came from

    def deeper(self, run: Callable[[], Outcome], state: State, fragment: str) -> Outcome:
        """A level down; where there are too many, what is there is not read."""
        if self._depth >= DEPTH_LIMIT:
            self.opaque(reading.NESTED, fragment)
            self.suspect(fragment or self.whole, state)
            self.emit(None)
            return both(state.lost())
        self._depth += 1
        try:
            return run()
        finally:
            self._depth -= 1

    # --- statements ---------------------------------------------------------------------------------------------------

    def block(self, block: Block, state: State | None, frame: Frame) -> Outcome:
        outcome = both(state) if state is None else Outcome(state, None)
        for index, statement in enumerate(block):
            if state is None:
                return both(None)
            outcome = self.statement(statement, state, frame)
            if index < len(block) - 1:
                ends = state.strict and not frame.checked and isinstance(statement, Call | Redirected)
                state = outcome.ok if ends else after(outcome)
        return outcome

    def statement(self, node: Statement, state: State, frame: Frame) -> Outcome:
        self.step()
        return self.deeper(lambda: self._statement(node, state, frame), state, "")

    def _statement(self, node: Statement, state: State, frame: Frame) -> Outcome:
        match node:
            case Call():
                return self._call(node, state, frame)
            case Redirected():
                return self._redirected(node, state, frame)
            case Chain():
                return self._chain(node, state, frame)
            case Pipeline(parts):
                return self._pipeline(parts, state, frame)
            case Negated(body):
                ok, failed = self.statement(body, state, frame._replace(checked=True))
                return Outcome(failed, ok)
            case Background(body):
                self.apart((body,), state, Frame())
                return both(state)
            case Subshell(body):
                self.apart(body, state, frame)
                return both(state)
            case Group(body):
                return self.block(body, state, frame)
            case Function(name, body):
                self.defined[name] = body
                return Outcome(state._replace(functions={**state.functions, name: (body,)}), None)
            case Broken(source, reason):
                self.opaque(reason, source)
                self.suspect(f"> {source}" if source[:1].isdecimal() else source, state)  # `3<<< text`
                self.suspect(self.whole, state)  # names may be given in other parts
                self.emit(None)
                return both(state.lost())
            case _:
                return self._compound(node, state, frame)

    def _compound(self, node: Statement, state: State, frame: Frame) -> Outcome:
        match node:
            case If():
                return self._either(lambda: self._if(node, state, frame))
            case Loop():
                return self._either(lambda: self._loop(node, state, frame))
            case For():
                return self._for(node, state, frame)
            case Case():
                return self._either(lambda: self._case(node, state, frame))
            case Declaration():
                return self._declaration(node, state)
            case Expression():
                return self._expression(node, state)
            case _:
                return both(state.lost())

    def _expression(self, node: Expression, state: State) -> Outcome:
        """An index of an array is run, between quotes too; `=~` sets `BASH_REMATCH` to parts of the text."""
        scope = Scope(self, state)
        words.touch(node.parts, scope)
        state = scope.state
        if "$(" in node.source or "`" in node.source:
            self.suspect(node.source, state)
        if "=~" in node.source:
            scope.unknown(node.source)
            for name in ("BASH_REMATCH", "BASH_REMATCH[@]", *(f"BASH_REMATCH[{index}]" for index in range(10))):
                state = self.set(state, name, None)
            self.doubts.pop()
        return both(state)

    def _either(self, run: Callable[[], Outcome]) -> Outcome:
        """Parts of which perhaps not all run."""
        before = self.sunk()
        outcome = run()
        self.choice(before)
        return outcome

    def suspect(self, text: str, state: State) -> None:
        """Shell text that is not followed: it may write what it names."""
        from . import code

        if (text, state.folders) not in self._suspected and code.shell_may_write(text):
            self.may_write(MayWrite(state.folders, text, deep=True))
        self._suspected.add((text, state.folders))

    def apart_from(self, body: Block, state: State, *, is_fed: bool = False) -> None:
        """`is_fed`: what it reads is printed somewhere in this command."""
        self.apart(body, state, Frame(feeders=(Broken(self.whole, reading.SOURCED),) if is_fed else ()))

    def apart(self, body: Block, state: State, frame: Frame) -> None:
        """In a process of its own: what it writes counts, where it goes does not."""
        loops, self.escapes = self.escapes, []
        functions, self.returns = self.returns, []
        self.block(body, state, frame)
        self.escapes, self.returns = loops, functions

    def _chain(self, node: Chain, state: State, frame: Frame) -> Outcome:
        inner = frame._replace(checked=True)
        before = self.sunk()
        outcome = self.statement(node.first, state, inner)
        for index, (operator, statement) in enumerate(node.rest):
            last = frame if index == len(node.rest) - 1 else inner
            entry = outcome.ok if operator == "&&" else outcome.failed
            step = both(None) if entry is None else self.statement(statement, entry, last)
            if operator == "&&":
                outcome = Outcome(step.ok, join(outcome.failed, step.failed))
            else:
                outcome = Outcome(join(outcome.ok, step.ok), step.failed)
        if any(operator == "||" for operator, _ in node.rest):
            self.choice(before)
        return outcome

    def _pipeline(self, parts: Block, state: State, frame: Frame) -> Outcome:
        stdin, feeders, choice = frame.stdin, frame.feeders, frame.choice
        for index, part in enumerate(parts):
            inner = Frame(stdin, feeders=feeders, choice=choice)
            if index == len(parts) - 1:
                self.apart((part,), state, inner)
            else:
                stdin = self.printed(lambda part=part, inner=inner: self.apart((part,), state, inner))
                feeders, choice = parts[: index + 1], choice or self.is_choice
        return both(state)

    def _redirected(self, node: Redirected, state: State, frame: Frame) -> Outcome:
        around, self.doubts = self.doubts, []
        filled: list[tuple[str, bool]] = []
        taken = False
        for redirect in node.redirects:
            if redirect.operator.startswith("<<") and redirect.descriptor not in ("", "0"):
                self.fill(f"/dev/fd/{redirect.descriptor}", redirects.heredoc(self, redirect, state))
            elif redirect.operator.startswith("<<"):
                text = redirects.heredoc(self, redirect, state)
                unknown = text is None or not holes.is_told(text)
                feeders = (Broken(redirect.target.source, reading.SOURCED),) if unknown else ()
                frame = frame._replace(stdin=text, feeders=feeders)
            elif redirect.operator == "<":
                redirects.open_descriptor(self, redirect, state)
                if redirect.descriptor in ("", "0"):
                    frame = frame._replace(
                        stdin=redirects.text_of(self, redirect, state), feeders=redirects.writers(self, redirect, state)
                    )
            else:
                fields = redirects.write_target(self, redirect, state)
                if redirect.descriptor in ("", "1"):
                    taken = True
                    filled += [(field, redirect.operator.endswith(">>")) for field in fields]
        frame = frame._replace(doubts=(*frame.doubts, *self.doubts))
        self.doubts = around
        if node.body is None:
            text = frame.stdin if any(each.operator == "<" for each in node.redirects) else ""
            redirects.fill(self, filled, text, state) if taken else self.emit(text)
            return both(state)
        if not taken:
            return self.statement(node.body, state, frame)
        outcomes: list[Outcome] = []
        text = self.printed(lambda: outcomes.append(self.statement(node.body or node, state, frame)))
        redirects.fill(self, filled, text, state)
        if any(each.descriptor == "2" and each.target.source == "1" for each in node.redirects):
            self.emit(None)  # what it says to stderr goes on
        return outcomes[0]

    def printer_of(self, path: str) -> str:
        """The text of the commands that may have written this path; "" if none of this command's did."""
        return self.printers.get(path) or (self.whole if self.has_written({path}) else "")

    def fields(self, word: Word, state: State) -> list[list[str]]:
        return words.fields(word, Scope(self, state))

    def _if(self, node: If, state: State, frame: Frame) -> Outcome:
        entry: State | None = state
        outcomes: list[Outcome] = []
        for test, body in node.arms:
            if entry is None:
                break
            tested = self.block(test, entry, frame._replace(checked=True))
            if tested.ok is not None:
                outcomes.append(self.block(body, tested.ok, frame))
            entry = tested.failed
        outcomes.append(self.block(node.otherwise, entry, frame))
        return merge(outcomes)

    def _case(self, node: Case, state: State, frame: Frame) -> Outcome:
        scope = Scope(self, state)
        for subject in node.subjects:
            words.fields(subject, scope)
        outcomes = [both(scope.state)]
        before: State | None = None
        for arm in node.arms:
            outcomes.append(self.block(arm, join(scope.state, before), frame))
            before = after(outcomes[-1])  # `;&` falls through
        return merge(outcomes)

    # --- loops --------------------------------------------------------------------------------------------------------

    def _loop(self, node: Loop, state: State, frame: Frame) -> Outcome:
        def once(entry: State) -> tuple[State | None, State | None]:
            tested = self.block(node.test, entry, frame._replace(checked=True))
            goes_on, ends = (tested.failed, tested.ok) if node.until else (tested.ok, tested.failed)
            body = both(None) if goes_on is None else self.block(node.body, goes_on, frame)
            return ends, after(body)

        return self._repeated(once, state)

    def _for(self, node: For, state: State, frame: Frame) -> Outcome:
        scope = Scope(self, state)
        rows = [row for word in node.words or () for row in words.fields(word, scope)]
        values = [field for row in rows for field in row]
        if node.words is None and state.parameters is not None:
            values = list(state.parameters)
        elif node.words is None or len(values) > 32:
            values = [UNKNOWN]
        if not all(map(holes.is_told, values)):
            values = [value if holes.is_told(value) else UNKNOWN for value in values]
            # Parameters that were not followed: they may be any word of the command.
            self.origins[node.name] = self.whole if node.words is None else "\n".join(self.doubts)
        entry: State | None = scope.state
        exits = None if values and holes.is_plain("".join(values)) else scope.state
        for value in values:
            if entry is not None:
                entry = after(self._round(node, value, entry, frame))
                exits = join(exits, entry)  # after any of them: by `break`, or because a class was one name
        return both(exits)

    def _round(self, node: For, value: str, state: State, frame: Frame) -> Outcome:
        def once(entry: State) -> tuple[State | None, State | None]:
            body = self.block(node.body, self.set(entry, node.name, (value,)), frame)
            return after(body), after(body)

        if not holes.is_plain(value):
            return self._repeated(once, state)
        self.escapes.append([])
        ended, _ = once(state)
        for escaped in self.escapes.pop():
            ended = join(ended, escaped)
        return both(ended)

    def _repeated(self, once: Callable[[State], tuple[State | None, State | None]], state: State) -> Outcome:
        exits: State | None = None
        for _ in range(ROUNDS_LIMIT):
            self.escapes.append([])
            ended, back = once(state)
            for escaped in self.escapes.pop():
                exits, back = join(exits, escaped), join(back, escaped)
            exits = join(exits, ended)
            wider = state if back is None else widen(state, back)
            if wider == state:
                return both(exits)
            state = wider
        raise TooMuch

    # --- commands -----------------------------------------------------------------------------------------------------

    def _call(self, node: Call, state: State, frame: Frame) -> Outcome:
        around, self.doubts = self.doubts, list(frame.doubts)
        try:
            return self._called(node, state, frame)
        finally:
            self.doubts = around

    def _called(self, node: Call, state: State, frame: Frame) -> Outcome:
        scope = Scope(self, state)
        rows = [words.fields(word, scope) for word in node.words]
        state = scope.state
        if not node.words:
            return both(self.assign(node.assignments, state))
        for assignment in node.assignments:
            values = words.values(assignment.value, scope)
            settings.note(self, assignment.name, values, state)
            self.given.setdefault(assignment.name, {}).update(dict.fromkeys(values))
        count = 1
        for alternatives in rows:
            count *= len(alternatives)
        if count > VECTORS_LIMIT:
            self.opaque(reading.TOO_MANY, node.source)
            self.suspect(node.source, state)
            return both(state.lost())
        outcomes: list[Outcome] = []
        before = self.sunk()
        for chosen in product(*rows):
            vector = [field for row in chosen for field in row]
            outcome = self._dispatch(self, vector, state, frame, node) if vector else both(state)
            outcomes.append(_with_last(outcome, vector))
        if count > 1:
            self.choice(before)
        return merge(outcomes)

    def assign(self, assignments: tuple[Assignment, ...], state: State) -> State:
        for assignment in assignments:
            scope = Scope(self, state)
            if not assignment.plain:
                state = self._array(assignment, scope)
                continue
            values = words.values(assignment.value, scope)
            state = scope.state
            if assignment.append:
                before = state.variables.get(assignment.name)
                values = None if before is None else tuple(old + new for old in before for new in values)
            state = self.set(state, assignment.name, values)
            settings.note(self, assignment.name, values or (), state)
            if assignment.name == "OLDPWD":
                state = state._replace(before=values or (UNKNOWN,))
            if assignment.name in SHELL_VARIABLES or assignment.name.startswith("GIT_"):
                self.opaque(reading.SHELL_CHANGED, f"{assignment.name}=")
        return state

    def _array(self, assignment: Assignment, scope: Scope) -> State:
        """`a=(x y)`, `a+=(z)`, `a[1]=w`: an array is one value, with `BREAK` between its elements."""
        from . import expansions

        name, source = assignment.name, assignment.value.source
        key, whole = f"{name}[@]", None
        inner = expansions.elements(source)
        if inner is not None:
            listed = scope.elements(inner)
            before = scope.state.variables.get(key, ("",))[0] if assignment.append else ""
            row = [*(before.split(holes.BREAK) if before else []), *(listed or [])]
            whole = None if listed is None else (holes.BREAK.join(row),)
            scope.assigned(name, tuple(row[:1]) if row and whole else None)
            for index, element in enumerate(row[:ELEMENTS_LIMIT] if whole else []):
                scope.assigned(f"{name}[{index}]", (element,))
        elif source.startswith(f"{name}[") and "]=" in source:
            index, _, raw = source[len(name) + 1 :].partition("]=")
            words.touch(assignment.value.parts, scope)
            values = words.operand(raw, scope)
            scope.assigned(f"{name}[{index.strip(chr(34) + chr(39))}]", values)
            before = scope.state.variables.get(key, ("",))
            if values is not None:
                whole = tuple(holes.BREAK.join(filter(None, (old, new))) for old in before for new in values)
        if whole is None:
            words.touch(assignment.value.parts, scope)
            scope.assigned(name, None)
        scope.assigned(key, whole)
        return scope.state

    def set(self, state: State, name: str, values: tuple[str, ...] | None) -> State:
        if values is None or not all(map(holes.is_told, values)):
            self.origins[name] = "\n".join(self.doubts)
        self.given.setdefault(name, {}).update(dict.fromkeys(values or (UNKNOWN,)))
        return state.setting(name, values)

    def _declaration(self, node: Declaration, state: State) -> Outcome:
        names = [word.source for word in node.words]
        given = self.assign(node.assignments, state)
        if names[:1] == ["local"] and not self.locals:
            return both(state)  # an error outside a function
        state = given
        if names[:1] == ["export"] or {"-x", "-gx"} & set(names):
            self.exported.update(dict.fromkeys([*(each.name for each in node.assignments), *names[1:]]))
        if self.locals and names[:1] != ["export"]:
            self.locals[-1].update(assignment.name for assignment in node.assignments)
            self.locals[-1].update(names[1:])
        flags = "".join(name[1:] for name in names[1:] if name.startswith(("-", "+")))
        for name in [each.name for each in node.assignments] if set(flags) & set("niaAlu") else []:
            state = settings.declared(self, name, flags, state)
        for name in names[1:]:
            if not name.startswith("-") and names[0] != "export" and names[0] != "readonly":
                state = self.set(state, name, None)
        for word in node.words:
            if "=" in word.source or "\\" in word.source:
                self.doubts.append(word.source)
                name = re.sub(r"[\"'\\]", "", word.source).partition("=")[0].rstrip("+")
                state = self.set(state, name, None)
                self.given.setdefault(name, {})[word.source.partition("=")[2].strip("\"'")] = None
            self.fields(word, state)
            if "$(" in word.source or "`" in word.source:
                self.suspect(word.source, state)  # an index of an array is run
        if not node.assignments:
            self.emit(None)  # `declare -p x`
        return both(state)

    def finish(self) -> None:
        """Traps run at any time: in any folder, with any value of a variable."""
        done: set[str] = set()
        while waiting := self.traps.keys() - done:  # a trap may set another
            script = min(waiting)
            done.add(script)
            known = {name: (body,) for name, body in self.defined.items()}
            anywhere = State(tuple(self.places), functions={**known, **self.traps[script].functions})
            for name, values in self.given.items():
                anywhere = anywhere.setting(name, None if UNKNOWN in values else tuple(values))
            self.script(script, anywhere, Frame())

    def script(self, text: str, state: State, frame: Frame) -> Outcome:
        """Text that is read as commands, in this shell."""
        if not holes.is_plain(text):
            self.opaque(reading.UNTOLD_COMMAND, holes.shown(text))
            self.suspect("\n".join([holes.shown(text), *self.doubts]), state)
            self.emit(None)
            return both(state.lost())
        return self.deeper(lambda: self.block(self.world.parse(text), state, frame), state, text)


def _with_last(outcome: Outcome, vector: list[str]) -> Outcome:
    """`$_` is the last word of the command before."""
    if not vector:
        return outcome
    ok, failed = outcome
    there = ok and ok.setting("_", (vector[-1],))
    return Outcome(there, there if failed is ok else failed and failed.setting("_", (vector[-1],)))


SHELL_VARIABLES = ("IFS", "CDPATH", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "LD_PRELOAD", "HOME", "PWD", "OLDPWD")
