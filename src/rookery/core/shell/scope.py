"""What the words at one place know: variables, parameters, what a substitution prints."""

import re
from typing import TYPE_CHECKING, Any

from . import holes, words
from .holes import UNKNOWN
from .state import Outcome, State, both
from .tree import Block, Broken, Call, Declaration, Redirect, Substitution, Word

if TYPE_CHECKING:
    from .walk import Walker

# Commands that print variables, aliases, functions or the environment.
_PRINTS_STATE = (
    r"\b(?:dirs|envsubst|printenv|env|set|declare|typeset|alias|export|type|compgen|history|fc)\b|environ|ENV\b|getenv"
)
_PRINTS_FUNCTIONS = r"\b(?:dirs|set|declare|typeset|type|history|fc)\b"
# Their values are parts of the command's own text.
_SET_BY_SHELL = ("BASH_COMMAND", "FUNCNAME", "DIRSTACK", "BASH_ARGV", "BASH_SOURCE", "COPROC", "BASH_EXECUTION_STRING")
# Commands that set a variable whose name is itself a word: `declare "$n=x"`, `export $(cat .env)`, `${!v}`.
_SETS_BY_NAME = r"\b(?:declare|typeset|export|readonly|local)\s[^;&|\n]*[\"'$`]|\$\{!|\bselect\b|\beval\b"
_DESCRIPTORS = 63  # the shell counts down from here


class Scope:
    """An expansion may change the state."""

    def __init__(self, walker: "Walker", state: State) -> None:
        self._walker = walker
        self.state = state
        walker.places.update(dict.fromkeys(state.folders))

    def variable(self, name: str) -> tuple[str, ...] | None:
        told = self._known(self._walker.references.get(name, name))
        if told is None or UNKNOWN in told:
            texts = [self._walker.origins.get(name, ""), *self._walker.given.get(name, ())]
            self._walker.doubts += [text for text in texts if text and text != UNKNOWN]
            if name.partition("[")[0] in _SET_BY_SHELL or sets_by_name(self._walker):
                self._walker.doubts.append(self._walker.whole)
        return told

    def _known(self, name: str) -> tuple[str, ...] | None:
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
        if given is None or number == 0 or any(holes.SPLIT in each for each in given[:number]):
            return None
        return (given[number - 1],) if number <= len(given) else ("",)

    def parameters(self) -> tuple[str, ...] | None:
        return self.state.parameters

    def substitute(self, part: Substitution) -> tuple[str, ...] | None:
        walker = self._walker
        walker.step()
        text = walker.printed(lambda: walker.deeper(lambda: self._apart(part), self.state, ""))
        if part.kind != "$":
            number = _DESCRIPTORS
            while walker.content(f"/dev/fd/{number}") is not None or f"/dev/fd/{number}" in walker.printers:
                number -= 1
            walker.fill(f"/dev/fd/{number}", text if part.kind == "<" else None)
            if part.kind == "<" and text is None:
                walker.printers[f"/dev/fd/{number}"] = with_values(walker, sources(part.body))
            return (f"/dev/fd/{number}",)
        match part.body:
            case (Call((), (Word(source="pwd"),), _),) if "pwd" not in self.state.functions:
                return self.variable("PWD")
            case _ if text is None:
                walker.doubts.append(with_values(walker, sources(part.body)))
                return None
            case _ if walker.is_choice:
                return tuple(dict.fromkeys(text.splitlines()))
            case _:
                return (text.replace("\0", "").rstrip("\n"),)  # a shell drops them

    def _apart(self, part: Substitution) -> Outcome:
        self._walker.apart_from(part.body, self.state, is_fed=part.kind == ">")
        return both(self.state)

    def home(self) -> str | None:
        told = self.state.variables.get("HOME")
        return (told[0] if len(told) == 1 else UNKNOWN) if told else self._walker.world.home

    def separators(self) -> str | None:
        told = self.state.variables.get("IFS")
        return told[0] if told and len(told) == 1 and holes.is_told(told[0]) else None

    def unknown(self, raw: str) -> None:
        """The values of the variables it names may be part of what it becomes."""
        given = self._walker.given
        names = re.findall(r"[A-Za-z_]\w*", raw[:1_000])
        keys = [key for key in given if key.partition("[")[0] in names] if names else []
        texts = [raw, *(value for key in keys for value in (*given[key], key.partition("[")[2].rstrip("]")))]
        if re.match(r"\$?\{?!\w+\[[@*]\]", raw):  # the keys of an array, which are not kept
            texts.append(self._walker.whole)
        if set(raw) & set("@*#123456789"):
            texts += self.state.parameters or ()
        self._walker.doubts.append(" ".join(texts).replace(holes.BREAK, " "))

    def changed(self, name: str) -> None:
        self.assigned(name, None)

    def assigned(self, name: str, values: tuple[str, ...] | None) -> None:
        self.state = self._walker.set(self.state, name, values)
        table, _, key = name.partition("[")
        if table in ("BASH_CMDS", "BASH_ALIASES") and key in ("", "@]"):
            self._walker.suspect(self._walker.whole, self.state)
        elif table in ("BASH_CMDS", "BASH_ALIASES") and values:
            self._walker.aliases[key.removesuffix("]")] = values[-1]

    def operand(self, raw: str) -> tuple[str, ...] | None:
        """What the text becomes; `Unparsed` where it cannot be parsed, so that the caller reads it in another way."""
        if not raw:
            return ("",)
        text = raw if not any(char.isspace() for char in raw) or raw[0] in "\"'" else f'"{raw}"'
        walker = self._walker
        walker.step()
        found: list[tuple[str, ...]] = []

        def read() -> Outcome:
            match walker.world.parse(f"v={text}"):
                case (Call((assignment,), (), _),) if assignment.plain:
                    found.append(words.values(assignment.value, self))
                case _:
                    pass
            return both(self.state)

        walker.deeper(read, self.state, raw)
        if not found:
            raise words.Unparsed(raw)
        return found[0]

    def elements(self, inner: str) -> list[str] | None:
        """The fields between the parentheses of an array; None where they cannot be parsed."""
        match self._walker.world.parse(f"_ {inner}"):
            case (Call((), (_, *listed), _),):
                rows = [words.fields(word, self) for word in listed]
                chosen = [each[-1] if each[-1][:1] and each[-1][0].startswith("[") else each[0] for each in rows]
                return [_without_key(field) for row in chosen for field in row]
            case _:
                return None


def sets_by_name(walker: "Walker") -> bool:
    """Looked up once: the text may be long."""
    if walker.has_computed_names is None:
        walker.has_computed_names = bool(re.search(_SETS_BY_NAME, walker.whole))
    return walker.has_computed_names


def _without_key(field: str) -> str:
    """`[key]=value` of an associative array is the value."""
    _, found, value = field.partition("]=")
    return value if field.startswith("[") and found else field


def sources(block: Block) -> str:
    """The text of the commands in a block and of the files they read, for a search of names."""
    found: list[str] = []
    waiting: list[Any] = list(block)
    while waiting and len(found) < 1_000:
        node = waiting.pop()
        match node:
            case Call(_, _, source):
                found.append(source)
            case Broken(source, _):
                found.append(source)
            case Redirect(_, target):
                found.append(target.source)
            case Declaration(assignments, declared):
                found += [each.value.source for each in assignments]
                found.append(" ".join(each.source for each in declared))
            case tuple():
                waiting += node
            case _:
                pass
    return "\n".join(reversed(found))


def with_values(walker: "Walker", text: str) -> str:
    """The text of a command that prints something unknown; with all this command sets, if it prints that."""
    text = "\n".join([text, *walker.filled_data()])
    if not re.search(_PRINTS_STATE, text):
        return text
    values = [value for values in walker.given.values() for value in values if value != UNKNOWN]
    functions = [walker.whole] if re.search(_PRINTS_FUNCTIONS, text) else []
    return "\n".join([text, *values, *walker.aliases.values(), *functions])
