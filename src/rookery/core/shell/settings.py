"""Variables that change what a shell or a program does: those whose value is run, and attributes of variables."""

import re
from typing import TYPE_CHECKING

from . import code, holes, reading
from .reading import MayWrite
from .state import State

if TYPE_CHECKING:
    from .walk import Walker

# Their value is a command, or names a file of commands.
_RUN = (  # compiled when a variable is first set
    r"PS[0-4]|PROMPT_COMMAND|(?:BASH_)?ENV|\w*EDITOR|VISUAL|\w*PAGER|BROWSER|LESSOPEN|LESSCLOSE|MAKEFLAGS|\w*_COMMAND|"
    r"\w*_RSH|GIT_\w+|PERL5DB|BASH_FUNC_\S+|LUA_INIT\w*|\w*INIT|RUBYOPT|PYTHONBREAKPOINT|\w*_CMD|\w*_PROGRAM|\w*_WRAPPER|"
    r"\w*OPTS|\w*OPTIONS|LD_PRELOAD|PYTHONSTARTUP|PERL5OPT|SHELL"
)


def note(walker: "Walker", name: str, values: tuple[str, ...], state: State) -> None:
    """A value that may be run is searched: by the name of its variable, or because it has a substitution in quotes."""
    if name == "PATH":
        walker.searched_in[name] = None
    for value in values:
        if not re.fullmatch(_RUN, name) and "$(" not in value and "`" not in value:
            continue
        paths = [reading.under(folder, value) for folder in state.folders] if holes.is_plain(value) else []
        content = next(filter(None, map(walker.content, paths)), None)
        if content is None:
            walker.suspect(holes.shown(value), state)
            if code.judge(holes.shown(value)) is not None:
                walker.may_write(MayWrite(state.folders, holes.shown(value)))
        else:
            walker.apart_from(walker.world.parse(content.text), State(state.folders))
            walker.may_write(MayWrite(state.folders, content.text))  # or it is a script of another language


def declared(walker: "Walker", name: str, flags: str, state: State) -> State:
    """`declare -l x=A`: lower case, upper case, another variable's name; else the value is not known."""
    values = state.variables.get(name)
    if values and "n" in flags and values[0].isidentifier():
        walker.references[name] = values[0]
        return state
    if values and set(flags) & set("lu") and all(map(holes.is_plain, values)):
        change = str.lower if "l" in flags else str.upper
        return walker.set(state, name, tuple(map(change, values)))
    walker.doubts += values or ()
    return walker.set(state, name, None)
