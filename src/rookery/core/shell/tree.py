"""A shell command as a tree of plain values: what a parser hands in, and all that the rules know of syntax.

Words keep the text as it was written, backslashes included; `words` says what they become. A place the parser did not
understand is a `Broken`, so that nothing is passed over in silence.
"""

from typing import Any, ClassVar, TypeAlias, Union, dataclass_transform


@dataclass_transform(frozen_default=True)
class Node:
    """A value with named fields, as `NamedTuple` makes them, whose classes are made ten times as quickly: there are
    many here, and a hook that has to read a command waits for all of them."""

    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.__match_args__ = tuple(cls.__annotations__)

    def __init__(self, *values: Any, **named: Any) -> None:
        vars(self).update(zip(self.__match_args__, values, strict=False), **named)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is as it was made")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._values()!r}"

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)


# --- words ------------------------------------------------------------------------------------------------------------


class Bare(Node):
    """Outside quotes: backslashes, wildcards, braces and a tilde still mean something."""

    raw: str


class Soft(Node):
    """Between double quotes or in a heredoc: only some backslashes mean something."""

    raw: str
    heredoc: bool = False


class Literal(Node):
    """Single quotes, and what needs no reading."""

    text: str


class Ansi(Node):
    """`$'...'`, without its quotes."""

    raw: str


class Quotes(Node):
    """Double quotes: one word comes out, whatever stands in them."""

    parts: tuple["Part", ...]


class Variable(Node):
    """`$name`, `${name}` or `${name<operator><operand>}`."""

    name: str
    operator: str = ""
    operand: str = ""


class Substitution(Node):
    """`$(...)` and backticks, or with `<` and `>` a process substitution."""

    body: "Block"
    kind: str = "$"


class Untold(Node):
    """What is not worked out, with the substitutions in it; `number` where digits come out."""

    raw: str
    inside: tuple["Part", ...] = ()
    number: bool = False


Part: TypeAlias = Bare | Soft | Literal | Ansi | Quotes | Variable | Substitution | Untold


class Word(Node):
    parts: tuple[Part, ...]
    source: str


# --- statements -------------------------------------------------------------------------------------------------------


class Assignment(Node):
    """`value` is what a plain variable is given; for arrays and their elements the name alone counts."""

    name: str
    value: Word
    append: bool = False
    plain: bool = True


class Redirect(Node):
    """`target` of a heredoc or a here-string is the text itself."""

    operator: str
    target: Word


class Call(Node):
    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    source: str


class Declaration(Node):
    """`export`, `declare`, `local`, `readonly`, `typeset`: assignments that are a command."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]


class Redirected(Node):
    body: Union["Statement", None]
    redirects: tuple[Redirect, ...]


class Chain(Node):
    first: "Statement"
    rest: tuple[tuple[str, "Statement"], ...]  # after `&&` or `||`


class Pipeline(Node):
    parts: tuple["Statement", ...]


class Negated(Node):
    body: "Statement"


class Background(Node):
    body: "Statement"


class Subshell(Node):
    body: "Block"


class Group(Node):
    body: "Block"


class If(Node):
    arms: tuple[tuple["Block", "Block"], ...]
    otherwise: "Block"


class Loop(Node):
    test: "Block"
    body: "Block"
    until: bool = False


class For(Node):
    """Without `words` over what is not told: the positional parameters, a menu, arithmetic."""

    name: str
    words: tuple[Word, ...] | None
    body: "Block"


class Case(Node):
    subjects: tuple[Word, ...]
    arms: tuple["Block", ...]


class Function(Node):
    name: str
    body: "Statement"


class Expression(Node):
    """`[[ ]]` and `(( ))`: nothing is written but by what is substituted in it."""

    parts: tuple[Part, ...]


class Broken(Node):
    source: str
    reason: str


Statement: TypeAlias = (
    Call
    | Declaration
    | Redirected
    | Chain
    | Pipeline
    | Negated
    | Background
    | Subshell
    | Group
    | If
    | Loop
    | For
    | Case
    | Function
    | Expression
    | Broken
)
Block: TypeAlias = tuple[Statement, ...]
