"""Follows a command through its statements, and notes what each of them would write.

Nothing is run and no condition is decided: both branches count, a loop is followed until nothing new can happen, and
a command that may fail goes on both ways. So what is reported may be more than what happens, never less, as long as
nothing was opaque.
"""

from collections.abc import Callable
from itertools import product

from rookery.core.record import NamedTuple

from . import holes, reading, words
from .holes import UNKNOWN
from .reading import Opaque, Reach, Reading, Write
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
    Redirect,
    Redirected,
    Statement,
    Subshell,
    Substitution,
    Word,
)

STEPS_LIMIT = 20_000  # statements and programs followed; nested loops multiply
DEPTH_LIMIT = 60  # of statements within statements, functions and scripts among them
WRITES_LIMIT = 1_000
VECTORS_LIMIT = 64  # ways to read the words of one command
ROUNDS_LIMIT = 10

Parse = Callable[[str], Block]
Looks = Callable[[str], bool]


class Frame(NamedTuple):
    """What a statement is given besides the state."""

    stdin: str | None = None
    checked: bool = False  # a condition: `set -e` does not end the shell here


class World(NamedTuple):
    """What the caller knows: how to parse, where home is, and whether a path is a folder (False: it may be)."""

    parse: Parse
    home: str | None = None
    is_folder: Looks | None = None
    modes: bool = True


class TooMuch(Exception):
    pass


Dispatch = Callable[["Walker", list[str], State, Frame, Call], Outcome]


class Walker:
    def __init__(self, world: World, dispatch: Dispatch) -> None:
        self.world = world
        self._dispatch = dispatch
        self._writes: dict[Write, None] = {}
        self._opaque: dict[Opaque, None] = {}
        self._records: dict[str, None] = {}
        self._steps = 0
        self._depth = 0
        self.escapes: list[list[State]] = []  # by `break` and `continue`, of the loops around
        self.returns: list[list[State]] = []  # of the functions around
        self.locals: list[set[str]] = []
        self.traps: dict[str, State] = {}
        self.places: dict[str, None] = {}  # every folder that was ever possible
        self.given: dict[str, dict[str, None]] = {}  # every value that a variable ever had

    def reading(self) -> Reading:
        return Reading(tuple(sorted(self._writes)), tuple(sorted(self._opaque)), tuple(sorted(self._records)))

    # --- what is noted ------------------------------------------------------------------------------------------------

    def write(self, field: str, reach: Reach, state: State) -> None:
        for folder in state.folders:
            made = reading.write_at(folder, field, reach)
            if isinstance(made, str):
                self.opaque(made, holes.shown(field))
            elif made is not None:
                if len(self._writes) >= WRITES_LIMIT:
                    raise TooMuch
                self._writes[made] = None

    def opaque(self, reason: str, fragment: str) -> None:
        if len(self._opaque) < WRITES_LIMIT:
            self._opaque[Opaque(reason, reading.clipped(fragment))] = None

    def record(self, fragment: str) -> None:
        if len(self._records) < WRITES_LIMIT:
            self._records[reading.clipped(fragment)] = None

    def is_folder(self, path: str) -> bool:
        """Whether it surely is one when the command gets there: nothing so far may have changed that."""
        if self.world.is_folder is None or not holes.is_plain(path) or self._opaque:
            return False
        touched = any(each.pattern or f"{path}/".startswith(f"{each.path}/") for each in self._writes)
        return not touched and self.world.is_folder(path)

    def step(self) -> None:
        self._steps += 1
        if self._steps > STEPS_LIMIT:
            raise TooMuch

    def deeper(self, run: Callable[[], Outcome], state: State, fragment: str) -> Outcome:
        """A level down; where there are too many, what is there is not read."""
        if self._depth >= DEPTH_LIMIT:
            self.opaque(reading.NESTED, fragment)
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
                return Outcome(state._replace(functions={**state.functions, name: (body,)}), None)
            case Broken(source, reason):
                self.opaque(reason, source)
                return both(state.lost())
            case _:
                return self._compound(node, state, frame)

    def _compound(self, node: Statement, state: State, frame: Frame) -> Outcome:
        match node:
            case If():
                return self._if(node, state, frame)
            case Loop():
                return self._loop(node, state, frame)
            case For():
                return self._for(node, state, frame)
            case Case():
                return self._case(node, state, frame)
            case Declaration():
                return self._declaration(node, state)
            case Expression(parts):
                scope = Scope(self, state)
                words.touch(parts, scope)
                return both(scope.state)
            case _:
                return both(state.lost())

    def apart(self, body: Block, state: State, frame: Frame) -> None:
        """In a process of its own: what it writes counts, where it goes does not."""
        loops, self.escapes = self.escapes, []
        functions, self.returns = self.returns, []
        self.block(body, state, frame)
        self.escapes, self.returns = loops, functions

    def _chain(self, node: Chain, state: State, frame: Frame) -> Outcome:
        inner = frame._replace(checked=True)
        outcome = self.statement(node.first, state, inner)
        for index, (operator, statement) in enumerate(node.rest):
            last = frame if index == len(node.rest) - 1 else inner
            entry = outcome.ok if operator == "&&" else outcome.failed
            step = both(None) if entry is None else self.statement(statement, entry, last)
            if operator == "&&":
                outcome = Outcome(step.ok, join(outcome.failed, step.failed))
            else:
                outcome = Outcome(join(outcome.ok, step.ok), step.failed)
        return outcome

    def _pipeline(self, parts: Block, state: State, frame: Frame) -> Outcome:
        stdin = frame.stdin
        for part in parts:
            self.apart((part,), state, Frame(stdin))
            stdin = self._printed(part, state)
        return both(state)

    def _printed(self, part: Statement, state: State) -> str | None:
        """`cat` hands on the heredoc it is given."""
        match part:
            case Redirected(Call((), (Word(source="cat"),), _), (redirect,)) if redirect.operator.startswith("<<"):
                return self._heredoc(redirect, state)
            case _:
                return None

    def _redirected(self, node: Redirected, state: State, frame: Frame) -> Outcome:
        for redirect in node.redirects:
            if redirect.operator.startswith("<<"):
                frame = frame._replace(stdin=self._heredoc(redirect, state))
            elif redirect.operator == "<":
                frame = frame._replace(stdin=None)
                self.fields(redirect.target, state)
            else:
                self._redirect(redirect, state)
        if node.body is None:
            return both(state)
        return self.statement(node.body, state, frame)

    def _heredoc(self, redirect: Redirect, state: State) -> str | None:
        texts = words.values(redirect.target, Scope(self, state))
        return texts[0] if len(texts) == 1 else None

    def _redirect(self, redirect: Redirect, state: State) -> None:
        for row in self.fields(redirect.target, state):
            for field in row:
                if redirect.operator.endswith("&") and (field == "-" or field.rstrip("-").isdecimal()):
                    continue  # another descriptor
                self.write(field, Reach.FILE, state)

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
        if node.words is None or not all(map(holes.is_told, values)) or len(values) > 32:
            values = [UNKNOWN]
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
        scope = Scope(self, state)
        rows = [words.fields(word, scope) for word in node.words]
        state = scope.state
        if not node.words:
            return both(self.assign(node.assignments, state))
        for assignment in node.assignments:
            words.values(assignment.value, scope)
        count = 1
        for alternatives in rows:
            count *= len(alternatives)
        if count > VECTORS_LIMIT:
            self.opaque(reading.TOO_MANY, node.source)
            return both(state.lost())
        outcomes: list[Outcome] = []
        for chosen in product(*rows):
            vector = [field for row in chosen for field in row]
            outcomes.append(self._dispatch(self, vector, state, frame, node) if vector else both(state))
        return merge(outcomes)

    def assign(self, assignments: tuple[Assignment, ...], state: State) -> State:
        for assignment in assignments:
            scope = Scope(self, state)
            values = words.values(assignment.value, scope)
            state = scope.state
            if assignment.append:
                before = state.variables.get(assignment.name)
                values = None if before is None else tuple(old + new for old in before for new in values)
            state = self.set(state, assignment.name, values if assignment.plain else None)
            if assignment.name in SHELL_VARIABLES or assignment.name.startswith("GIT_"):
                self.opaque(reading.SHELL_CHANGED, f"{assignment.name}=")
        return state

    def set(self, state: State, name: str, values: tuple[str, ...] | None) -> State:
        self.given.setdefault(name, {}).update(dict.fromkeys(values or (UNKNOWN,)))
        return state.setting(name, values)

    def _declaration(self, node: Declaration, state: State) -> Outcome:
        names = [word.source for word in node.words]
        given = self.assign(node.assignments, state)
        if names[:1] == ["local"] and not self.locals:
            return both(state)  # an error outside a function
        state = given
        if self.locals and names[:1] != ["export"]:
            self.locals[-1].update(assignment.name for assignment in node.assignments)
            self.locals[-1].update(names[1:])
        odd = any(name.startswith(("-", "+")) and set(name) & set("niaAlu") for name in names[1:])
        for name in [each.name for each in node.assignments] if odd else []:
            state = self.set(state, name, None)
        for name in names[1:]:
            if not name.startswith("-") and names[0] != "export" and names[0] != "readonly":
                state = self.set(state, name, None)
        for word in node.words:
            self.fields(word, state)
        return both(state)

    def finish(self) -> None:
        """Traps run at any time: in any folder, with any value of a variable."""
        done: set[str] = set()
        while waiting := self.traps.keys() - done:  # a trap may set another
            script = min(waiting)
            done.add(script)
            anywhere = State(tuple(self.places), functions=self.traps[script].functions)
            for name, values in self.given.items():
                anywhere = anywhere.setting(name, None if UNKNOWN in values else tuple(values))
            self.script(script, anywhere, Frame())

    def script(self, text: str, state: State, frame: Frame) -> Outcome:
        """Text that is read as commands, in this shell."""
        if not holes.is_plain(text):
            self.opaque(reading.UNTOLD_COMMAND, holes.shown(text))
            return both(state.lost())
        return self.deeper(lambda: self.block(self.world.parse(text), state, frame), state, text)


SHELL_VARIABLES = ("IFS", "CDPATH", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "LD_PRELOAD", "HOME", "PWD", "OLDPWD")


class Scope:
    """What the words at one place know; an expansion may change it."""

    def __init__(self, walker: Walker, state: State) -> None:
        self._walker = walker
        self.state = state
        walker.places.update(dict.fromkeys(state.folders))

    def variable(self, name: str) -> tuple[str, ...] | None:
        if name in self.state.variables:
            return self.state.variables[name]
        if name.isdecimal():
            return self._parameter(int(name))
        if name == "HOME":
            return None if self._walker.world.home is None else (self._walker.world.home,)
        if name in ("PWD", "OLDPWD"):
            folders = self.state.folders if name == "PWD" else self.state.before
            return folders if all(map(holes.is_told, folders)) else None
        return None

    def _parameter(self, number: int) -> tuple[str, ...] | None:
        given = self.state.parameters
        if given is None or number == 0 or not all(map(holes.is_told, given)):
            return None
        return (given[number - 1],) if number <= len(given) else ("",)

    def parameters(self) -> tuple[str, ...] | None:
        return self.state.parameters

    def substitute(self, part: Substitution) -> tuple[str, ...] | None:
        walker = self._walker
        walker.step()
        walker.deeper(lambda: self._apart(part.body), self.state, "")
        if part.kind != "$":
            return ("/dev/fd/63",)
        match part.body:
            case (Call((), (Word(source="pwd"),), _),) if "pwd" not in self.state.functions:
                return self.variable("PWD")
            case _:
                return None

    def _apart(self, body: Block) -> Outcome:
        self._walker.apart(body, self.state, Frame())
        return both(self.state)

    def home(self) -> str | None:
        return self._walker.world.home

    def changed(self, name: str) -> None:
        self.state = self._walker.set(self.state, name, None)
