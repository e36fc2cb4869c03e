"""Which command a row of words is: a function, an alias, one of the shell's own, or a program."""

from . import holes, reading
from .builtins import BUILTINS
from .commands import program, unknown_program
from .state import Outcome, State, both, merge
from .tree import Call
from .walk import Frame, Walker
from .wrappers import is_known

_PRINTING = ("alias", "set", "export", "readonly", "typeset", "declare", "history", "trap", "hash", "shopt", "dirs")


def dispatch(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    walker.step()
    name, *rest = words
    if not holes.is_plain(name):
        return unknown_program(walker, words, state, frame, node)
    prefixed = [each.name for each in node.assignments]
    if any(each.startswith("GIT_") or each == "HOME" for each in prefixed):
        walker.opaque(reading.SHELL_CHANGED, node.source)
        walker.suspect(" ; ".join(each.value.source for each in node.assignments), state)
    if name in state.functions:
        return _functions(walker, words, state, frame, node)
    if name in walker.aliases and node.words[0].source == name:
        return _aliased(walker, words, state, frame, node)
    if name in ("command", "builtin", "time", "exec") and rest and not rest[0].startswith("-"):
        inner = state if name == "time" else state._replace(functions={})  # they pass functions by
        outcome = walker.deeper(lambda: dispatch(walker, rest, inner, frame, node), inner, node.source)
        return Outcome(*(each and each._replace(functions=state.functions) for each in (outcome.ok, outcome.failed)))
    if name in BUILTINS:
        before = walker.emissions
        outcome = BUILTINS[name](walker, rest, state, frame, node)
        if name in _PRINTING and walker.emissions == before:
            walker.emit(None)
        return outcome
    if _HANDLER in state.functions and not is_known(name):
        _functions(walker, [_HANDLER, *words], state, frame, node)
    walker.deeper(lambda: program(walker, words, state, frame, node), state, node.source)
    return both(state)


_HANDLER = "command_not_found_handle"  # a function that bash calls for a program that it does not find


def _aliased(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    """The alias in place of its name, once; and the program of that name, for aliases may be off."""
    text = walker.aliases.pop(words[0])
    if words[0] not in BUILTINS and is_known(words[0]):
        walker.deeper(lambda: program(walker, words, state, frame, node), state, node.source)
    quoted = ["'" + word.replace("'", "'\\''") + "'" for word in words[1:]]
    outcome = walker.script(" ".join([text, *quoted]), state, frame)
    walker.aliases[words[0]] = text
    return merge([outcome, both(state)])


def _functions(walker: Walker, words: list[str], state: State, frame: Frame, node: Call) -> Outcome:
    outcomes: list[Outcome] = []
    for body in state.functions[words[0]]:
        if body is None:
            walker.deeper(lambda: program(walker, words, state, frame, node), state, node.source)
            outcomes.append(both(state))
            continue
        inner = walker.assign(node.assignments, state).given(tuple(words[1:]))
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
    return inner.given(outer.parameters, outer.variables)
