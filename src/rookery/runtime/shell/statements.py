"""tree-sitter's tree of a shell command as `core.shell.tree`.

Its grammar has habits that are put right here, so that `core` sees the shell's own structure:

- A redirection after `a && b` or `a | b` is hung on the whole of it; it belongs to the last command.
- Words after a redirection's target are told as further targets; they are arguments.
- What follows a heredoc's mark on its line is told as part of the redirection.
- `[ a > b ]` is told as a comparison; it is a redirection.
- A `-` before a heredoc is left out.
- Backticks in a heredoc, and backticks with backslashes in them, are not looked into.

What it does not understand (an ERROR, something MISSING, a node of a kind not named here) becomes a `Broken`.
"""

import re
from typing import TYPE_CHECKING

from rookery.core.shell import reading, tree
from rookery.core.shell.tree import Block, Broken, Call, Redirect, Redirected, Statement, Word

from .words import DEPTH_LIMIT, Words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

_LINES = ("command", "redirected_statement", "file_redirect", "declaration_command", "unset_command", "concatenation")
_TEXTS = ("string", "heredoc_body")  # what stands between their nodes is read
_SILENT = ("comment", "heredoc_end", "file_descriptor")


class Reader(Words):
    def __init__(self, source: bytes, kept: list[str], parse: "Callable[[bytes], Node]", depth: int = 0) -> None:
        """`kept` are the heredocs that were taken out of the source; `parse` is asked for text within text, too."""
        super().__init__(source, depth)
        self._kept = kept
        self._parse = parse
        self._restored = 0

    def whole(self) -> Block:
        root = self._parse(self.source)
        return (*self.block(root.children), *self.faults(root))

    def again(self, text: str) -> Block:
        if self.depth + 4 >= DEPTH_LIMIT:
            return (Broken(text, reading.NESTED),)
        return Reader(text.encode("utf-8", "surrogatepass"), [], self._parse, self.depth + 4).whole()

    def broken(self, node: "Node") -> Broken:
        return Broken(self.text(node), reading.BROKEN)

    def faults(self, root: "Node") -> "Iterator[Broken]":
        if self._restored != len(self._kept):
            yield Broken("<<", reading.BROKEN)
        if root.has_error:
            yield from (self.broken(node) for node in _errors(root))
        yield from (Broken(text, reading.BROKEN) for text in self.skipped(root))

    def skipped(self, root: "Node") -> "Iterator[str]":
        """What the grammar gets wrong in silence: text between nodes, and nodes that are something else."""
        waiting = [root]
        while waiting:
            node = waiting.pop()
            children = node.children
            waiting += children
            first, last = (0, len(self.source)) if node is root else (node.start_byte, node.end_byte)
            ends = [first, *(each.end_byte for each in children)]
            starts = [*(each.start_byte for each in children), last]
            for end, start in zip(ends, starts, strict=True) if children and node.type not in _TEXTS else ():
                gap = self.between(end, start).replace("\\\n", "")
                if gap.strip() == "-" and node.type == "redirected_statement" and "\n" not in gap:
                    continue  # `python3 - <<X`: the word is read there
                if gap.strip(" \t\n") or ("\n" in gap and node.type in _LINES):
                    yield self.text(node)
            if self.is_misnamed(node):
                yield self.between(max(0, node.start_byte - 1), node.end_byte + 1)

    def is_misnamed(self, node: "Node") -> bool:
        before, behind = self.source[: node.start_byte][-60:], self.source[node.end_byte : node.end_byte + 1]
        match node.type:
            case "variable_assignment":
                return not _is_name(self.text(node.children[0]).partition("[")[0])
            case "file_descriptor":
                return bool(before[-1:].strip(b" \t\n;&|()<>{}")) or not self.text(node).isdecimal()
            case "file_redirect":  # `{name}>`: the shell puts a descriptor into a variable
                reads = self.source[node.start_byte : node.start_byte + 1] == b"<"
                return (
                    not reads
                    and before.endswith(b"}")
                    and _is_name(before.rpartition(b"{")[2][:-1].decode("ascii", "replace"))
                )
            case _:  # `export{a,b}`: a keyword ends where a word does
                return not node.is_named and node.type.isalpha() and bool(behind.strip(b" \t\n;&|()<>"))

    # --- statements ---------------------------------------------------------------------------------------------------

    def block(self, nodes: "list[Node]") -> Block:
        made: list[Statement] = []
        for node in nodes:
            if node.type == "&" and made:
                made[-1] = tree.Background(made[-1])
            elif node.is_named and node.type not in _SILENT and not node.is_missing:
                made.append(self.statement(node))
        return tuple(made)

    def statement(self, node: "Node") -> Statement:
        if self.depth >= DEPTH_LIMIT:
            return Broken(self.text(node), reading.NESTED)
        self.depth += 1
        try:
            make = _STATEMENTS.get(node.type)
            if make is None:
                return self.broken(node)
            return make(self, node)
        finally:
            self.depth -= 1

    def command(self, node: "Node") -> Statement:
        assignments: list[tree.Assignment] = []
        parts: list[Node] = []
        redirects: list[Redirect] = []
        extra: list[Node] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(self.assignment(child))
            elif child.type.endswith("_redirect"):
                made, more = self.redirect(child)
                redirects += made
                extra += more
            elif child.type == "command_name":
                parts += [each for each in child.children if not each.is_missing]
            elif child.type not in ("ERROR", "comment"):
                parts.append(child)
        call = Call(tuple(assignments), tuple(self.words([*parts, *extra])), self.text(node))
        return Redirected(call, tuple(redirects)) if redirects else call

    def redirected(self, node: "Node") -> Statement:
        body: Statement | None = None
        at = node.start_byte
        for child in node.children:
            if self.between(at, child.start_byte).strip() == "-":
                body = _with(body, [], [Word((tree.Bare("-"),), "-")])
            at = child.end_byte
            if child.type in ("file_redirect", "herestring_redirect"):
                redirects, extra = self.redirect(child)
                body, redirects = _numbered(body, redirects, self.between(0, child.start_byte)[-60:])
                body = _with(body, redirects, self.words(extra))
            elif child.type == "heredoc_redirect":
                body = self.heredoc(child, body)
            elif child.is_named and child.type not in ("ERROR", "comment"):
                body = self.statement(child)
        return body if body is not None else self.broken(node)

    def redirect(self, node: "Node") -> "tuple[list[Redirect], list[Node]]":
        """The redirection, and the words that were taken for further targets of it."""
        operator = "".join(each.type for each in node.children if not each.is_named)
        targets = [each for each in node.children if each.is_named and each.type not in ("file_descriptor", "ERROR")]
        if any(each.type == "ERROR" and self.text(each) == ">" for each in node.children) and operator == "<":
            operator = "<>"
        words = self.grouped(targets)
        if operator.endswith("-") or not words:
            return [], targets
        first = words[0]
        number = next((self.text(each) for each in node.children if each.type == "file_descriptor"), "")
        return [Redirect(operator, self.word(first), number)], targets[len(first) :]

    def heredoc(self, node: "Node", body: Statement | None) -> Statement:
        """`cat <<X > file && next`, with the text of X: all of it hangs on the redirection."""
        mark = next((self.text(each) for each in node.children if each.type == "heredoc_start"), "")
        operator = node.children[0].type
        text = next((each for each in node.children if each.type == "heredoc_body"), None)
        made = _with(body, [Redirect(operator, self.here_text(text, mark, operator))], [])
        pending = ""
        for child in node.children:
            if child.type in ("file_redirect", "herestring_redirect"):
                redirects, extra = self.redirect(child)
                made = _with(made, redirects, self.words(extra))
            elif child.type == "pipeline":
                for part in self.block(child.children):
                    made = _piped(made, part)
            elif child.type in ("&&", "||"):
                pending = child.type
            elif pending and child.is_named:
                made = _chained(made, pending, self.statement(child))
                pending = ""
            elif child.is_named and not child.type.startswith("heredoc") and child.type != "ERROR":
                made = _with(made, [], self.words([child]))
        return made

    def here_text(self, node: "Node | None", mark: str, operator: str) -> Word:
        if node is None:
            return Word((), "")
        raw = self.text(node)
        if self._kept and raw.strip().startswith("__heredoc_"):
            number = raw.strip().removeprefix("__heredoc_").removesuffix("_taken_out__")
            if number.isdecimal() and int(number) < len(self._kept):
                self._restored += 1
                return Word((tree.Literal(self._kept[int(number)]),), raw)
        tabs = operator == "<<-"
        if set(mark) & set("'\"\\"):
            plain = "\n".join(line.lstrip("\t") for line in raw.split("\n")) if tabs else raw
            return Word((tree.Literal(plain),), raw)
        return Word(tuple(self.soft_parts(node, heredoc=True)), raw)

    def listed(self, node: "Node") -> Statement:
        rest: list[tuple[str, Node]] = []
        while node.type == "list":  # as deep as it is long
            named = [each for each in node.children if each.is_named and each.type not in ("comment", "ERROR")]
            operator = next((each.type for each in node.children if each.type in ("&&", "||")), "")
            if len(named) != 2 or not operator:
                return self.broken(node)
            rest.append((operator, named[1]))
            node = named[0]
        made = self.statement(node)
        for operator, each in reversed(rest):
            made = _chained(made, operator, self.statement(each))
        return made

    def pipeline(self, node: "Node") -> Statement:
        parts = self.block([each for each in node.children if each.type != "&"])
        made = parts[0] if parts else self.broken(node)
        for part in parts[1:]:
            made = _piped(made, part)
        return made

    def negated(self, node: "Node") -> Statement:
        body = self.block(node.children)
        return tree.Negated(body[0]) if len(body) == 1 else self.broken(node)

    def subshell(self, node: "Node") -> Statement:
        return tree.Subshell(self.block(node.children))

    def compound(self, node: "Node") -> Statement:
        if node.children and node.children[0].type == "((":
            return self.arithmetic(node)
        return tree.Group(self.block(node.children))

    def arithmetic(self, node: "Node") -> Statement:
        return tree.Expression((tree.Untold(self.text(node), tuple(self.substitutions(node)), number=True),))

    def test(self, node: "Node") -> Statement:
        first, last = node.children[0], node.children[-1]
        inner = self.between(first.end_byte, last.start_byte)
        if not inner[:1].isspace() or not inner[-1:].isspace():
            return self.broken(node)  # `[[a` is a word
        if first.type == "[":
            return self.bracket(node, inner)
        return tree.Expression(tuple(self.substitutions(node)), inner)

    def bracket(self, node: "Node", inner: str) -> Statement:
        """`[` is a command like any other, and what compares in `[[` redirects here: so it is read as `test`."""
        match self.again(f"test {inner}"):
            case (Call() | Redirected(Call()) as made,):
                return made
            case _:
                return self.broken(node)

    def when(self, node: "Node") -> Statement:
        arms: list[tuple[Block, Block]] = []
        tests: list[Node] = []
        body: list[Node] = []
        otherwise: Block = ()
        testing = True
        for child in node.children:
            if child.type == "then":
                testing = False
            elif child.type == "elif_clause":
                arms.append(self.elif_arm(child))
            elif child.type == "else_clause":
                otherwise = self.block(child.children)
            elif child.type not in ("if", "fi"):
                (tests if testing else body).append(child)
        return tree.If(((self.block(tests), self.block(body)), *arms), otherwise)

    def elif_arm(self, node: "Node") -> tuple[Block, Block]:
        cut = next((i for i, each in enumerate(node.children) if each.type == "then"), len(node.children))
        return self.block(node.children[:cut]), self.block(node.children[cut:])

    def loop(self, node: "Node") -> Statement:
        body = [each for each in node.children if each.type == "do_group"]
        test = [each for each in node.children if each.type not in ("do_group", "while", "until")]
        inner = self.block(body[0].children) if body else ()
        return tree.Loop(self.block(test), inner, until=node.children[0].type == "until")

    def over(self, node: "Node") -> Statement:
        kinds = [each.type for each in node.children]
        name = next((self.text(each) for each in node.children if each.type == "variable_name"), "")
        body = next((each for each in node.children if each.type in ("do_group", "compound_statement")), None)
        if body is None:
            return self.broken(node)
        end = node.children.index(body)
        start = kinds.index("in") + 1 if "in" in kinds else end
        values = [each for each in node.children[start:end] if each.type not in (";", "\n", "comment", "ERROR")]
        known = "in" in kinds and kinds[0] == "for"
        menu = [] if known else [tree.Expression(tuple(self.substitutions(each))) for each in values]
        inner = tree.For(name, tuple(self.words(values)) if known else None, self.block(body.children))
        return tree.Group((*menu, inner)) if menu else inner

    def counted(self, node: "Node") -> Statement:
        """`for ((;;))`: its expressions run at any time, so before and within."""
        body = next((each for each in node.children if each.type in ("do_group", "compound_statement")), None)
        if body is None:
            return self.broken(node)
        head = [each for each in node.children if each is not body and each.start_byte < body.start_byte]
        raw = self.between(node.start_byte, body.start_byte)
        parts = tuple(part for each in head for part in self.substitutions(each))
        sums = tree.Expression((tree.Untold(raw.removeprefix("for"), parts, number=True),))
        return tree.Group((sums, tree.Loop((sums,), (*self.block(body.children), sums))))

    def case(self, node: "Node") -> Statement:
        subjects: list[Word] = []
        arms: list[Block] = []
        for child in node.children:
            if child.type == "case_item":
                cut = next((i for i, each in enumerate(child.children) if each.type == ")"), 0)
                for each in child.children[:cut]:
                    subjects += [Word((part,), "") for part in self.substitutions(each)]
                arms.append(self.block(child.children[cut:]))
            elif child.is_named and child.type not in ("comment", "ERROR"):
                subjects.append(self.word([child]))
        return tree.Case(tuple(subjects), tuple(arms))

    def function(self, node: "Node") -> Statement:
        name = next((self.text(each) for each in node.children if each.type == "word"), "")
        body = node.child_by_field_name("body")
        if body is None:
            return self.broken(node)
        made = self.statement(body)
        for child in node.children:
            if child.type.endswith("_redirect"):
                redirects, _ = self.redirect(child)
                made = Redirected(made, tuple(redirects))
        return tree.Function(name, made)

    def declaration(self, node: "Node") -> Statement:
        assignments = [self.assignment(each) for each in node.children if each.type == "variable_assignment"]
        words = [each for each in node.children if each.type not in ("variable_assignment", "comment", "ERROR")]
        return tree.Declaration(tuple(assignments), tuple(self.words(words)))

    def unset(self, node: "Node") -> Statement:
        return Call((), tuple(self.words([each for each in node.children if each.type != "ERROR"])), self.text(node))

    def assigned(self, node: "Node") -> Statement:
        children = node.children if node.type == "variable_assignments" else [node]
        made = [self.assignment(each) for each in children if each.type == "variable_assignment"]
        return Call(tuple(made), (), self.text(node))

    def assignment(self, node: "Node") -> tree.Assignment:
        named = node.children[0]
        name = self.text(named).partition("[")[0]
        value = [each for each in node.children[1:] if each.type not in ("=", "+=", "ERROR")]
        plain = named.type == "variable_name" and not any(each.type == "array" for each in value)
        append = any(each.type == "+=" for each in node.children)
        if plain:
            return tree.Assignment(name, self.word(value), append)
        parts = tuple(part for each in node.children for part in self.substitutions(each))
        return tree.Assignment(name, Word(parts, self.text(node)), append, plain=False)


_STATEMENTS: "dict[str, Callable[[Reader, Node], Statement]]" = {
    "command": Reader.command,
    "redirected_statement": Reader.redirected,
    "list": Reader.listed,
    "pipeline": Reader.pipeline,
    "negated_command": Reader.negated,
    "subshell": Reader.subshell,
    "compound_statement": Reader.compound,
    "test_command": Reader.test,
    "if_statement": Reader.when,
    "while_statement": Reader.loop,
    "for_statement": Reader.over,
    "c_style_for_statement": Reader.counted,
    "case_statement": Reader.case,
    "function_definition": Reader.function,
    "declaration_command": Reader.declaration,
    "unset_command": Reader.unset,
    "variable_assignment": Reader.assigned,
    "variable_assignments": Reader.assigned,
}


def _with(body: Statement | None, redirects: list[Redirect], words: list[Word]) -> Statement:
    """Redirections and arguments where they belong: at the last command."""
    if not redirects and not words and body is not None:
        return body
    match body:
        case tree.Chain(first, rest):
            operator, last = rest[-1]
            return tree.Chain(first, (*rest[:-1], (operator, _with(last, redirects, words))))
        case tree.Pipeline(parts):
            return tree.Pipeline((*parts[:-1], _with(parts[-1], redirects, words)))
        case tree.Negated(inner):
            return tree.Negated(_with(inner, redirects, words))
        case Redirected(inner, before):
            return Redirected(_with(inner, [], words) if words else inner, (*before, *redirects))
        case Call():
            call = Call(body.assignments, (*body.words, *words), body.source)
            return Redirected(call, tuple(redirects)) if redirects else call
        case _:
            made = Redirected(body, tuple(redirects))
            if words:  # a compound command has no arguments
                return tree.Group((made, Broken(words[0].source, reading.BROKEN)))
            return made


def _numbered(
    body: Statement | None, redirects: list[Redirect], before: str
) -> tuple[Statement | None, list[Redirect]]:
    """`cp a b 0< c`, `exec {fd}< c`: the grammar takes the number for a word of the command."""
    if not (isinstance(body, Call) and len(body.words) > 1 and redirects):
        return body, redirects
    last = body.words[-1].source
    if not re.fullmatch(r"\d{1,3}|\{\w+\}", last) or not before.endswith((f" {last}", f"\t{last}")):
        return body, redirects
    return body._replace(words=body.words[:-1]), [redirects[0]._replace(descriptor=last), *redirects[1:]]


def _piped(before: Statement, behind: Statement) -> Statement:
    """`a && b | c || d`: the pipe is between b and c."""
    if isinstance(before, tree.Chain):
        operator, last = before.rest[-1]
        joined = _piped(last, behind)
        if isinstance(joined, tree.Chain):
            return tree.Chain(before.first, (*before.rest[:-1], (operator, joined.first), *joined.rest))
        return tree.Chain(before.first, (*before.rest[:-1], (operator, joined)))
    if isinstance(behind, tree.Chain):
        return tree.Chain(_piped(before, behind.first), behind.rest)
    if isinstance(before, tree.Negated):
        return tree.Negated(_piped(before.body, behind))
    left = before.parts if isinstance(before, tree.Pipeline) else (before,)
    right = behind.parts if isinstance(behind, tree.Pipeline) else (behind,)
    return tree.Pipeline((*left, *right))


def _chained(before: Statement, operator: str, behind: Statement) -> Statement:
    first, rest = (before.first, before.rest) if isinstance(before, tree.Chain) else (before, ())
    if isinstance(behind, tree.Chain):
        return tree.Chain(first, (*rest, (operator, behind.first), *behind.rest))
    return tree.Chain(first, (*rest, (operator, behind)))


# --- small ------------------------------------------------------------------------------------------------------------


def _is_name(text: str) -> bool:
    return text.isidentifier() and text.isascii()


def _errors(root: "Node") -> "Iterator[Node]":
    """What was not understood; but an empty command after an assignment is one, and `<>` is read."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        parent = node.parent
        if node.is_error:
            reads_and_writes = parent is not None and parent.type == "file_redirect" and node.text == b">"
            if not reads_and_writes:
                yield parent if parent is not None and parent.type != "program" else node
        elif node.is_missing and (parent is None or parent.type != "command_name"):
            yield parent if parent is not None else node
        elif node.has_error:
            waiting += reversed(node.children)
