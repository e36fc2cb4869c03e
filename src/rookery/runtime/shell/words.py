"""The words of tree-sitter's tree, as parts of `core.shell.tree`."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from rookery.core.shell import reading, tree
from rookery.core.shell.tree import Bare, Block, Broken, Part, Redirect, Redirected, Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

DEPTH_LIMIT = 40  # of commands within commands: the walk has its own, and neither may end in a RecursionError


_NO_NAME = (
    b"",
    b" ",
    b"\t",
    b"\n",
    b"/",
    b".",
    b",",
    b":",
    b"=",
    b'"',
    b"'",
    b";",
    b"|",
    b"&",
    b">",
    b"<",
    b")",
    b"%",
    b"+",
)


class Words(ABC):
    def __init__(self, source: bytes, depth: int) -> None:
        self.source = source
        self.depth = depth

    @abstractmethod
    def block(self, nodes: "list[Node]") -> Block: ...

    @abstractmethod
    def redirect(self, node: "Node") -> "tuple[list[Redirect], list[Node]]": ...

    @abstractmethod
    def again(self, text: str) -> Block:
        """Text within text, parsed for itself; as often as there are levels left."""

    def text(self, node: "Node") -> str:
        return self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", "replace")  # an unclosed quote may end within a character

    def grouped(self, nodes: "list[Node]") -> "list[list[Node]]":
        """Nodes that touch are one word, whatever the grammar takes them for; a joined line is no gap."""
        groups: list[list[Node]] = []
        for node in nodes:
            if groups and not self.between(groups[-1][-1].end_byte, node.start_byte).replace("\\\n", ""):
                groups[-1].append(node)
            else:
                groups.append([node])
        return groups

    def words(self, nodes: "list[Node]") -> list[Word]:
        return [self.word(group) for group in self.grouped(nodes)]

    def word(self, nodes: "list[Node]") -> Word:
        source = self.between(nodes[0].start_byte, nodes[-1].end_byte) if nodes else ""
        return Word(_named([part for node in self.untranslated(nodes) for part in self.parts(node)]), source)

    def untranslated(self, nodes: "list[Node]") -> "list[Node]":
        """`$"..."` is translated, and no translation is loaded: the sign goes."""
        return [node for node in nodes if node.type != "$" or self.source[node.start_byte : node.end_byte + 1] != b'$"']

    def parts(self, node: "Node") -> list[Part]:
        raw = self.text(node)
        if self.depth >= DEPTH_LIMIT:
            return [tree.Substitution((Broken(raw, reading.NESTED),))]
        self.depth += 1
        try:
            return self._parts(node, raw)
        finally:
            self.depth -= 1

    def _parts(self, node: "Node", raw: str) -> list[Part]:
        match node.type:
            case "concatenation":
                return self.concatenated(node)
            case "string" | "translated_string":
                inner = node if node.type == "string" else node.children[-1]
                return [tree.Quotes(tuple(self.soft_parts(inner, heredoc=False)))]
            case "raw_string":
                return [tree.Literal(raw[1:-1])]
            case "ansi_c_string":
                return [tree.Ansi(raw[2:-1])]
            case "simple_expansion" | "expansion":
                return [self.variable(node)]
            case "command_substitution" | "process_substitution":
                return [self.substitution(node)]
            case "arithmetic_expansion":
                return [tree.Untold(raw, tuple(self.substitutions(node)), number=True)]
            case _:
                return self.bare(node, raw)

    def bare(self, node: "Node", raw: str) -> list[Part]:
        inside = tuple(self.substitutions(node))
        expands = raw.endswith("$") and self.source[node.end_byte : node.end_byte + 1] not in _NO_NAME
        if inside or expands or node.type == "extglob_pattern" or set("()") & set(_unprotected(raw)):
            return [tree.Untold(raw, inside)]
        return self.overlooked(raw, Bare)

    def overlooked(self, raw: str, made: "Callable[[str], Part]") -> list[Part]:
        """Text the grammar takes for plain. It does not see `$$` and its like within a word."""
        plain = _unprotected(raw)
        blank = made is Bare and any(char in plain for char in " \t\n")  # it runs words together, too
        if "$" not in plain and "`" not in plain and not blank:
            return [made(raw)]
        if blank or "`" in plain or "$(" in plain or "${" in plain:
            return [tree.Substitution((Broken(raw, reading.BROKEN),))]
        pieces = raw.split("$$")
        if any("$" in _unprotected(piece).rstrip("$") for piece in pieces) or "\\$" in raw:
            return [tree.Untold(raw)]
        number = tree.Untold("$$", number=True)
        return [part for piece in pieces for part in (made(piece), number)][:-1]

    def concatenated(self, node: "Node") -> list[Part]:
        made: list[Part] = []
        at = node.start_byte
        for child in self.untranslated(node.children):
            if child.start_byte > at and child.type != "string":
                made.append(Bare(self.between(at, child.start_byte)))
            made += self.parts(child)
            at = child.end_byte
        return made

    def soft_parts(self, node: "Node", *, heredoc: bool) -> list[Part]:
        """Expansions, and the text between them: the grammar leaves blanks out of it, or adds them to a `$(`."""
        start, end = node.start_byte, node.end_byte
        if not heredoc:
            start, end = start + 1, end - 1
        made: list[Part] = []
        at = start
        if heredoc and node.named_child_count and "`" in _unprotected(self.text(node)):
            made.append(tree.Substitution((Broken(self.text(node), reading.BROKEN),)))
        for child in node.children:
            if child.type in ("string_content", "heredoc_content", '"', "ERROR") or not child.child_count:
                continue
            begins = child.start_byte
            while begins < child.end_byte and self.source[begins : begins + 1].isspace():
                begins += 1
            made += self.soft_text(self.between(at, begins), heredoc=heredoc)
            made += self.parts(child)
            at = child.end_byte
        return made + self.soft_text(self.between(at, max(at, end)), heredoc=heredoc)

    def soft_text(self, raw: str, *, heredoc: bool) -> list[Part]:
        if not raw:
            return []
        if not heredoc or "`" not in raw.replace("\\`", ""):
            return [tree.Soft(raw, heredoc)] if heredoc else self.overlooked(raw, tree.Soft)
        made: list[Part] = []
        outside = True
        for piece in _by_backticks(raw):
            made += [tree.Soft(piece, True) if outside else tree.Substitution(self.again(_unescaped(piece)))]
            outside = not outside
        return made

    def variable(self, node: "Node") -> Part:
        raw = self.text(node).strip()
        inside = tuple(self.substitutions(node))
        if "{" in raw[2:] and not inside:
            return tree.Substitution((Broken(raw, reading.BROKEN),))  # where it ends is another matter
        name, operator, operand = _expansion(raw)
        if name and not inside:
            return tree.Variable(name, operator, operand)
        return tree.Untold(raw, inside)

    def substitution(self, node: "Node") -> Part:
        opened = node.children[0].type if node.children else ""
        raw = self.text(node).strip()
        kind = opened[:1] if opened in ("<(", ">(") else "$"
        if raw.startswith("`") and "\\" in raw:
            return tree.Substitution(self.again(_unescaped(raw[1:-1])))
        redirects = [each for each in node.children if each.type.endswith("_redirect")]
        body = self.block([each for each in node.children if not each.type.endswith("_redirect")])
        for each in redirects:  # `$(< file)`, or `$(> file)`
            body = (*body, Redirected(None, tuple(self.redirect(each)[0])))
        return tree.Substitution(body, kind)

    def substitutions(self, node: "Node") -> list[Part]:
        """Whatever is run somewhere within a node, and the variables that are set by being asked for."""
        made: list[Part] = []
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each.type in ("command_substitution", "process_substitution"):
                made += self.parts(each)
                continue
            if each is not node and each.type in ("expansion", "arithmetic_expansion"):
                made += self.parts(each)
                continue
            waiting += reversed(each.children)
        return made


def _named(parts: list[Part]) -> tuple[Part, ...]:
    """Of `$1/$2` the grammar takes the second sign for itself: it belongs to the digit behind it."""
    made: list[Part] = []
    for part in parts:
        if made and isinstance(part, Bare) and made[-1] == tree.Untold("$") and part.raw[:1].isdecimal():
            made[-1] = tree.Variable(part.raw[0])
            made += [Bare(part.raw[1:])] if part.raw[1:] else []
        else:
            made.append(part)
    return tuple(made)


def _unprotected(raw: str) -> str:
    """Without the characters that a backslash makes plain."""
    if "\\" not in raw:
        return raw
    made: list[str] = []
    at = 0
    while at < len(raw):
        if raw[at] == "\\":
            at += 2
            continue
        made.append(raw[at])
        at += 1
    return "".join(made)


def _by_backticks(raw: str) -> list[str]:
    pieces = [""]
    at = 0
    while at < len(raw):
        if raw[at] == "\\":
            pieces[-1] += raw[at : at + 2]
            at += 2
            continue
        if raw[at] == "`":
            pieces.append("")
        else:
            pieces[-1] += raw[at]
        at += 1
    return pieces


def _unescaped(raw: str) -> str:
    """The text of backticks, where a backslash before three characters goes."""
    made: list[str] = []
    at = 0
    while at < len(raw):
        if raw[at] == "\\" and raw[at + 1 : at + 2] in ("\\", "`", "$"):
            at += 1
        made.append(raw[at])
        at += 1
    return "".join(made)


_OPERATORS = (":-", ":=", ":?", "##", "%%", "-", "=", "?", "%", "#")


def _expansion(raw: str) -> tuple[str, str, str]:
    """Name, operator and operand of `$x`, `${x}`, `${x%.py}`; no name where it is something else."""
    if not raw.startswith("${"):
        return raw[1:], "", ""
    inner = raw[2:-1]
    length = next((i for i, char in enumerate(inner) if not (char.isalnum() or char == "_")), len(inner))
    name, rest = inner[:length], inner[length:]
    if not rest:
        return name, "", ""
    operator = next((each for each in _OPERATORS if rest.startswith(each)), "")
    return (name, operator, rest[len(operator) :]) if name and operator else ("", "", "")
