"""A second parser: shfmt's tree of a command as `core.shell.tree`. It shares no line with the one that is tested.

blocks = shfmt.parsed(commands)     # one process for all of them; None where shfmt refuses one
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rookery.core.shell import tree
from rookery.core.shell.tree import Bare, Block, Call, Part, Redirect, Redirected, Statement, Word

SHFMT = str(Path(sys.executable).with_name("shfmt"))


def parsed(commands: list[str]) -> list[Block | None]:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(parse, commands))


def parse(command: str) -> Block | None:
    source = command.encode()
    told = subprocess.run([SHFMT, "--to-json", "-ln", "bash"], input=source, capture_output=True)
    if told.returncode:
        return None
    return Reader(source).block(json.loads(told.stdout).get("Stmts", []))


class Reader:
    def __init__(self, source: bytes) -> None:
        self.source = source

    def text(self, node: dict[str, Any]) -> str:
        return self.source[node["Pos"]["Offset"] : node["End"]["Offset"]].decode()

    def block(self, nodes: list[dict[str, Any]] | None) -> Block:
        return tuple(self.statement(node) for node in nodes or [])

    def statement(self, node: dict[str, Any]) -> Statement:
        made = self.command(node["Cmd"], node) if node.get("Cmd") else None
        redirects = tuple(each for redirect in node.get("Redirs", []) for each in self.redirect(redirect))
        if redirects or made is None:
            made = Redirected(made, redirects)
        if node.get("Negated"):
            made = tree.Negated(made)
        return tree.Background(made) if node.get("Background") or node.get("Coprocess") else made

    def redirect(self, node: dict[str, Any]) -> list[Redirect]:
        operator, word = node["Op"], node["Word"]
        if operator in ("<<", "<<-"):
            return [Redirect(operator, self.heredoc(node, operator))]
        if operator.endswith("&") and self.text(word) == "-":
            return []
        return [Redirect(operator, self.word(word), (node.get("N") or {}).get("Value", ""))]

    def heredoc(self, node: dict[str, Any], operator: str) -> Word:
        body = node.get("Hdoc") or {"Parts": [], "Pos": {"Offset": 0}, "End": {"Offset": 0}}
        quoted = set(self.text(node["Word"])) & set("'\"\\")
        if quoted:
            return Word(tuple(tree.Literal(part["Value"]) for part in body.get("Parts", [])), "")
        parts = [
            tree.Soft(part["Value"], True) if part["Type"] == "Lit" else self.part(part)
            for part in body.get("Parts", [])
        ]
        return Word(tuple(parts), "")

    # --- commands -----------------------------------------------------------------------------------------------------

    def command(self, node: dict[str, Any], stmt: dict[str, Any]) -> Statement:
        return getattr(self, "on_" + node["Type"])(node)

    def on_CallExpr(self, node: dict[str, Any]) -> Statement:
        assignments = tuple(self.assignment(each) for each in node.get("Assigns", []))
        return Call(assignments, tuple(self.word(each) for each in node.get("Args", [])), self.text(node))

    def on_Subshell(self, node: dict[str, Any]) -> Statement:
        return tree.Subshell(self.block(node.get("Stmts")))

    def on_Block(self, node: dict[str, Any]) -> Statement:
        return tree.Group(self.block(node.get("Stmts")))

    def on_IfClause(self, node: dict[str, Any]) -> Statement:
        arms: list[tuple[Block, Block]] = []
        at: dict[str, Any] | None = node
        while at is not None and at.get("Cond"):
            arms.append((self.block(at["Cond"]), self.block(at.get("Then"))))
            at = at.get("Else")
        return tree.If(tuple(arms), self.block(at.get("Then")) if at else ())

    def on_WhileClause(self, node: dict[str, Any]) -> Statement:
        return tree.Loop(self.block(node.get("Cond")), self.block(node.get("Do")), bool(node.get("Until")))

    def on_ForClause(self, node: dict[str, Any]) -> Statement:
        loop, body = node["Loop"], self.block(node.get("Do"))
        if loop["Type"] == "CStyleLoop":
            sums = tree.Expression((tree.Untold(self.text(loop), tuple(self.inside(loop)), number=True),))
            return tree.Group((sums, tree.Loop((sums,), (*body, sums))))
        words = tuple(self.word(each) for each in loop.get("Items", []))
        if node.get("Select") or "InPos" not in loop:
            menu = [tree.Expression(tuple(self.inside(each))) for each in loop.get("Items", [])]
            return tree.Group((*menu, tree.For(loop["Name"]["Value"], None, body)))
        return tree.For(loop["Name"]["Value"], words, body)

    def on_CaseClause(self, node: dict[str, Any]) -> Statement:
        subjects = [self.word(node["Word"])]
        for item in node.get("Items", []):
            subjects += [Word((part,), "") for each in item.get("Patterns", []) for part in self.inside(each)]
        return tree.Case(tuple(subjects), tuple(self.block(item.get("Stmts")) for item in node.get("Items", [])))

    def on_BinaryCmd(self, node: dict[str, Any]) -> Statement:
        left, right = self.statement(node["X"]), self.statement(node["Y"])
        if node["Op"] in ("|", "|&"):
            return tree.Pipeline((*self.pipes(left), *self.pipes(right)))
        first, rest = (left.first, left.rest) if isinstance(left, tree.Chain) else (left, ())
        return tree.Chain(first, (*rest, (node["Op"], right)))

    def pipes(self, node: Statement) -> tuple[Statement, ...]:
        return node.parts if isinstance(node, tree.Pipeline) else (node,)

    def on_FuncDecl(self, node: dict[str, Any]) -> Statement:
        name = node["Name"]["Value"] if node.get("Name") else ""
        return tree.Function(name, self.statement(node["Body"]))

    def on_ArithmCmd(self, node: dict[str, Any]) -> Statement:
        return tree.Expression((tree.Untold(self.text(node), tuple(self.inside(node)), number=True),))

    def on_TestClause(self, node: dict[str, Any]) -> Statement:
        return tree.Expression(tuple(self.inside(node)))

    def on_DeclClause(self, node: dict[str, Any]) -> Statement:
        words: list[Word] = [Word((Bare(node["Variant"]["Value"]),), node["Variant"]["Value"])]
        assignments: list[tree.Assignment] = []
        for each in node.get("Args", []):
            if each.get("Naked"):
                name = (each.get("Name") or {}).get("Value", "")
                words.append(self.word(each["Value"]) if each.get("Value") else Word((Bare(name),), self.text(each)))
            else:
                assignments.append(self.assignment(each))
        return tree.Declaration(tuple(assignments), tuple(words))

    def on_LetClause(self, node: dict[str, Any]) -> Statement:
        word = Word((tree.Literal(self.text(node)),), self.text(node))
        return Call((), (Word((Bare("let"),), "let"), word), self.text(node))

    def on_TimeClause(self, node: dict[str, Any]) -> Statement:
        return self.statement(node["Stmt"]) if node.get("Stmt") else Call((), (), "")

    def on_CoprocClause(self, node: dict[str, Any]) -> Statement:
        return tree.Background(self.statement(node["Stmt"]))

    def assignment(self, node: dict[str, Any]) -> tree.Assignment:
        value = node.get("Value")
        plain = not node.get("Array") and not node.get("Index")
        word = self.word(value) if value and plain else Word(tuple(self.inside(node)), self.text(node))
        return tree.Assignment(node["Name"]["Value"], word, bool(node.get("Append")), plain)

    # --- words --------------------------------------------------------------------------------------------------------

    def word(self, node: dict[str, Any]) -> Word:
        return Word(tuple(self.part(part) for part in node.get("Parts", [])), self.text(node))

    def part(self, node: dict[str, Any]) -> Part:
        match node["Type"]:
            case "Lit":
                return Bare(node["Value"])
            case "SglQuoted":
                return tree.Ansi(node.get("Value", "")) if node.get("Dollar") else tree.Literal(node.get("Value", ""))
            case "DblQuoted":
                return tree.Quotes(
                    tuple(
                        tree.Soft(part["Value"]) if part["Type"] == "Lit" else self.part(part)
                        for part in node.get("Parts", [])
                    )
                )
            case "ParamExp":
                return self.parameter(node)
            case "CmdSubst":
                return tree.Substitution(self.block(node.get("Stmts")))
            case "ProcSubst":
                return tree.Substitution(self.block(node.get("Stmts")), node["Op"][0])
            case "ArithmExp":
                return tree.Untold(self.text(node), tuple(self.inside(node)), number=True)
            case "BraceExp":
                return Bare(self.text(node))
            case _:
                return tree.Untold(self.text(node), tuple(self.inside(node)))

    def parameter(self, node: dict[str, Any]) -> Part:
        name, exp = node["Param"]["Value"], node.get("Exp")
        odd = any(node.get(key) for key in ("Excl", "Length", "Width", "Index", "Slice", "Repl", "Names"))
        inside = self.inside(node)
        if odd or inside:
            return tree.Untold(self.text(node), tuple(inside))
        if exp is None:
            return tree.Variable(name)
        operand = self.text(exp["Word"]) if exp.get("Word") else ""
        return tree.Variable(name, exp["Op"], operand)

    def inside(self, node: Any) -> list[Part]:
        """Whatever is run, or asked for, anywhere within."""
        if isinstance(node, list):
            return [part for each in node for part in self.inside(each)]
        if not isinstance(node, dict):
            return []
        made: list[Part] = []
        for value in node.values():
            if isinstance(value, dict) and value.get("Type") in ("CmdSubst", "ProcSubst", "ArithmExp"):
                made.append(self.part(value))
            elif isinstance(value, list):
                for each in value:
                    if isinstance(each, dict) and each.get("Type") in ("CmdSubst", "ProcSubst", "ArithmExp"):
                        made.append(self.part(each))
                    else:
                        made += self.inside(each)
            else:
                made += self.inside(value)
        return made
