"""Where a shell stands between two commands, as far as the text tells: folders, variables, functions.

What is possible is kept side by side: after `cd a; ` the shell is in `a`, or still where it was. Two ways that come
together are joined; a variable that only one of them has set has that value or one that is unknown, as every variable
that the text does not set.
"""

from collections.abc import Mapping
from types import MappingProxyType

from rookery.core.record import NamedTuple

from .holes import UNKNOWN
from .tree import Statement

POSSIBILITIES_LIMIT = 16
VARIABLES_LIMIT = 200

Folders = tuple[str, ...]


class State(NamedTuple):
    folders: Folders  # the ones it may be in
    before: Folders = (UNKNOWN,)  # OLDPWD
    stack: tuple[Folders, ...] = ()
    variables: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    functions: Mapping[str, tuple[Statement | None, ...]] = MappingProxyType({})  # None: or the program of that name
    parameters: tuple[str, ...] | None = None
    strict: bool = False  # `set -e`

    def setting(self, name: str, values: tuple[str, ...] | None) -> "State":
        variables = {key: value for key, value in self.variables.items() if key != name}
        if values is not None and len(values) <= POSSIBILITIES_LIMIT and len(variables) < VARIABLES_LIMIT:
            variables[name] = values
        return self._replace(variables=variables)

    def given(
        self, parameters: tuple[str, ...] | None, numbered: Mapping[str, tuple[str, ...]] | None = None
    ) -> "State":
        """With other parameters; `numbered`: variables that hold some of them, each with its alternatives."""
        variables = {name: values for name, values in self.variables.items() if not _is_number(name)}
        variables |= {name: values for name, values in (numbered or {}).items() if _is_number(name)}
        return self._replace(parameters=parameters, variables=variables)

    def lost(self) -> "State":
        """After commands that are not known to us."""
        return State((UNKNOWN,), functions=self.functions)


class Outcome(NamedTuple):
    """How things stand after a command that succeeded, and after one that failed; None where it can not have."""

    ok: State | None
    failed: State | None


def both(state: State | None) -> Outcome:
    return Outcome(state, state)


def after(outcome: Outcome) -> State | None:
    return join(outcome.ok, outcome.failed)


def join(one: State | None, other: State | None) -> State | None:
    if one is None or other is None or one is other:
        return one or other
    same = one.parameters == other.parameters
    variables = _joined_variables(one, other)
    return State(
        folders=_together(one.folders, other.folders) or (UNKNOWN,),
        before=_together(one.before, other.before) or (UNKNOWN,),
        stack=one.stack if one.stack == other.stack else (),
        variables=variables if same else {**variables, **_joined_parameters(one, other)},
        functions=_joined_functions(one, other),
        parameters=one.parameters if same else None,
        strict=one.strict and other.strict,
    )


def merge(outcomes: list[Outcome]) -> Outcome:
    ok: State | None = None
    failed: State | None = None
    for outcome in outcomes:
        ok, failed = join(ok, outcome.ok), join(failed, outcome.failed)
    return Outcome(ok, failed)


def widen(state: State, later: State) -> State:
    """What holds however often a loop ran: what it changes is not known. The same state if it changes nothing."""
    variables = {
        name: values
        for name, values in state.variables.items()
        if name in later.variables and set(later.variables[name]) <= set(values)
    }
    return State(
        folders=state.folders if set(later.folders) <= set(state.folders) else (UNKNOWN,),
        before=state.before if set(later.before) <= set(state.before) else (UNKNOWN,),
        stack=state.stack if later.stack == state.stack else (),
        variables=variables,
        functions=_joined_functions(state, later) if later.functions != state.functions else state.functions,
        parameters=state.parameters if later.parameters == state.parameters else None,
        strict=state.strict and later.strict,
    )


def _together(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...] | None:
    made = tuple(dict.fromkeys(one + other))
    return made if len(made) <= POSSIBILITIES_LIMIT else None


def _joined_variables(one: State, other: State) -> dict[str, tuple[str, ...]]:
    made: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys((*one.variables, *other.variables)):
        values = _together(one.variables.get(name, (UNKNOWN,)), other.variables.get(name, (UNKNOWN,)))
        if values is not None:
            made[name] = values
    return made


def _joined_parameters(one: State, other: State) -> dict[str, tuple[str, ...]]:
    """Two rows of parameters do not fit into one. Each of them by itself is a variable then, named by its number."""
    rows = [_numbered(one), _numbered(other)]
    names = dict.fromkeys((*rows[0], *rows[1]))
    joined = {name: _together(rows[0].get(name, (UNKNOWN,)), rows[1].get(name, (UNKNOWN,))) for name in names}
    return {name: values for name, values in joined.items() if values is not None}


def _numbered(state: State) -> dict[str, tuple[str, ...]]:
    if state.parameters is None:
        return {name: values for name, values in state.variables.items() if _is_number(name)}
    return {str(number): (value,) for number, value in enumerate(state.parameters, 1)}


def _is_number(name: str) -> bool:
    return name.isdecimal() and name != "0"


def _joined_functions(one: State, other: State) -> dict[str, tuple[Statement | None, ...]]:
    names = one.functions.keys() | other.functions.keys()
    made: dict[str, tuple[Statement | None, ...]] = {}
    for name in names:
        bodies = list(one.functions.get(name, (None,)))
        bodies += [body for body in other.functions.get(name, (None,)) if not any(body is each for each in bodies)]
        made[name] = tuple(bodies)
    return made
