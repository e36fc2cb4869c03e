"""A shell command as a tree of plain values: what a parser hands in, and all that the rules know of syntax.

Words keep the text as it was written, backslashes included; `words` says what they become. A place the parser did not
understand is a `Broken`, so that nothing is passed over in silence.
"""

from typing import TypeAlias, Union

from rookery.core.record import NamedTuple

# --- words ------------------------------------------------------------------------------------------------------------


class Bare(NamedTuple):
    """Outside quotes: backslashes, wildcards, braces and a tilde still mean something."""

    raw: str


class Soft(NamedTuple):
    """Between double quotes or in a heredoc: only some backslashes mean something."""

    raw: str
    heredoc: bool = False


class Literal(NamedTuple):
    """Single quotes, and what needs no reading."""

    text: str


class Ansi(NamedTuple):
    """`$'...'`, without its quotes."""

    raw: str


class Quotes(NamedTuple):
    """Double quotes: one word comes out, whatever stands in them."""

    parts: tuple["Part", ...]


class Variable(NamedTuple):
    """`$name`, `${name}` or `${name<operator><operand>}`."""

    name: str
    operator: str = ""
    operand: str = ""


class Substitution(NamedTuple):
    """`$(...)` and backticks, or with `<` and `>` a process substitution."""

    body: "Block"
    kind: str = "$"


class Untold(NamedTuple):
    """What is not worked out, with the substitutions in it; `number` where digits come out."""

    raw: str
    inside: tuple["Part", ...] = ()
    number: bool = False


Part: TypeAlias = Bare | Soft | Literal | Ansi | Quotes | Variable | Substitution | Untold


class Word(NamedTuple):
    parts: tuple[Part, ...]
    source: str


# --- statements -------------------------------------------------------------------------------------------------------


class Assignment(NamedTuple):
    """`value` is what a plain variable is given; for arrays and their elements the name alone counts."""

    name: str
    value: Word
    append: bool = False
    plain: bool = True


class Redirect(NamedTuple):
    """`target` of a heredoc or a here-string is the text itself; `descriptor`: the number before the operator."""

    operator: str
    target: Word
    descriptor: str = ""


class Call(NamedTuple):
    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    source: str


class Declaration(NamedTuple):
    """`export`, `declare`, `local`, `readonly`, `typeset`: assignments that are a command."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]


class Redirected(NamedTuple):
    body: Union["Statement", None]
    redirects: tuple[Redirect, ...]


class Chain(NamedTuple):
    first: "Statement"
    rest: tuple[tuple[str, "Statement"], ...]  # after `&&` or `||`


class Pipeline(NamedTuple):
    parts: tuple["Statement", ...]


class Negated(NamedTuple):
    body: "Statement"


class Background(NamedTuple):
    body: "Statement"


class Subshell(NamedTuple):
    body: "Block"


class Group(NamedTuple):
    body: "Block"


class If(NamedTuple):
    arms: tuple[tuple["Block", "Block"], ...]
    otherwise: "Block"


class Loop(NamedTuple):
    test: "Block"
    body: "Block"
    until: bool = False


class For(NamedTuple):
    """Without `words` over what is not told: the positional parameters, a menu, arithmetic."""

    name: str
    words: tuple[Word, ...] | None
    body: "Block"


class Case(NamedTuple):
    subjects: tuple[Word, ...]
    arms: tuple["Block", ...]


class Function(NamedTuple):
    name: str
    body: "Statement"


class Expression(NamedTuple):
    """`[[ ]]` and `(( ))`: nothing is written but by what is substituted in it. `source`: the text of a `[[ ]]`."""

    parts: tuple[Part, ...]
    source: str = ""


class Broken(NamedTuple):
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
