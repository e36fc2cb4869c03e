"""Names of Python code that one change set takes away, renames or calls differently, and that another begins to use.

Lines may be far apart, in files that have nothing in common, and the result still broken: git says nothing of it. What
is found is a hint and no verdict: names are compared, not what they are bound to. A file that does not parse, or is too
large, gives none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from rookery.core.record import NamedTuple

if TYPE_CHECKING:
    import ast

LONGEST = 256 * 1024  # bytes of a file that is read
MOST = 1_000  # names of a change set
OWN = "own"  # the file that uses it has one of that name itself
SUFFIX = ".py"


class How(StrEnum):
    GONE = "gone"
    RENAMED = "renamed"
    CHANGED = "changed"
    USED = "used"


class Symbol(NamedTuple):
    name: str  # as it is used, without what it belongs to
    how: str
    detail: str  # what it is called now, how it is called now, where it went; of a use: OWN or nothing
    path: str
    line: int


class Source(NamedTuple):
    """A file before and after, as bytes; None if it was not there or can not be read."""

    before_path: str
    path: str
    before: bytes | None
    after: bytes | None
    lines: Sequence[tuple[int, int]]  # added: start and length in what it is now


class _Definition(NamedTuple):
    name: str  # last part
    line: int
    call: str | None  # how it is called; None for what is not called
    body: str  # the same for two that differ in nothing but their names


def found(sources: Iterable[Source]) -> list[Symbol]:
    """What a change set takes away and uses, each once for a file; bounded."""
    taken: list[tuple[str, Symbol]] = []
    added: dict[str, str] = {}
    used: list[Symbol] = []
    for source in sources:
        before, after = _parsed(source.before), _parsed(source.after)
        if (source.before is not None and before is None) or (source.after is not None and after is None):
            continue
        old, new = _definitions(before), _definitions(after)
        taken += _taken(source, old, new)
        added |= {name: source.path for name in new.keys() - old.keys()}
        if after is not None:
            used += _used(source, after)
    moved = [_moved(qualified, symbol, added) for qualified, symbol in taken]
    return [*dict.fromkeys(moved), *dict.fromkeys(used)][:MOST]


def _moved(qualified: str, symbol: Symbol, added: Mapping[str, str]) -> Symbol:
    where = added.get(qualified, "")
    return symbol._replace(detail=f"moved to {where}") if symbol.how == How.GONE and where else symbol


# -- reading ---------------------------------------------------------------------------------------------------------


def _parsed(source: bytes | None) -> "ast.Module | None":
    if source is None or len(source) > LONGEST:
        return None
    import ast
    import warnings

    try:
        with warnings.catch_warnings():  # a doubtful escape in someone's text is no news of ours
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _definitions(module: "ast.Module | None") -> dict[str, _Definition]:
    return dict(_defined(module, "")) if module is not None else {}


def _defined(scope: Any, inside: str) -> "Iterator[tuple[str, _Definition]]":
    """What a module or class offers to others: functions, classes and plain names, not what a function keeps to
    itself."""
    import ast

    for node in _statements(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inside + node.name, _Definition(node.name, node.lineno, ast.unparse(node.args), _blank(node))
        elif isinstance(node, ast.ClassDef):
            yield inside + node.name, _Definition(node.name, node.lineno, None, _blank(node))
            yield from _defined(node, f"{inside}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for name in _assigned(node):
                yield inside + name, _Definition(name, node.lineno, None, "")


def _statements(scope: Any) -> Iterator[Any]:
    """Also those under a condition at the top: `if TYPE_CHECKING`, `try` around an import."""
    import ast

    for node in scope.body:
        if isinstance(node, ast.If | ast.Try):
            inner = [*node.body, *node.orelse, *(each for h in getattr(node, "handlers", ()) for each in h.body)]
            yield from _statements(ast.Module(inner, []))
        else:
            yield node


def _assigned(node: Any) -> list[str]:
    import ast

    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [each.id for each in targets if isinstance(each, ast.Name)]


def _blank(node: Any) -> str:
    """A definition without its own name, also where it speaks of itself."""
    import ast

    return ast.unparse(node).replace(node.name, "_")


# -- what is taken away ----------------------------------------------------------------------------------------------


def _taken(
    source: Source, old: Mapping[str, _Definition], new: Mapping[str, _Definition]
) -> list[tuple[str, Symbol]]:  # fmt: skip
    fresh = {each.body: each.name for name, each in new.items() if name not in old and each.body}
    out: list[tuple[str, Symbol]] = []
    for qualified, before in old.items():
        after = new.get(qualified)
        if "." in qualified and qualified.rpartition(".")[0] not in new:
            continue  # whoever uses it speaks of its class, which is gone
        if after is None:
            to = fresh.get(before.body, "") if before.body else ""
            how = How.RENAMED if to and to != before.name else How.GONE
            out.append((qualified, Symbol(before.name, how, to if how is How.RENAMED else "", source.before_path, 0)))
        elif before.call is not None and after.call is not None and before.call != after.call:
            told = f"({before.call}) is now ({after.call})"[:200]
            out.append((qualified, Symbol(before.name, How.CHANGED, told, source.path, after.line)))
    return [
        (qualified, _as_called(qualified, each)) for qualified, each in out if not _is_special(each.name, qualified)
    ]


def _as_called(qualified: str, symbol: Symbol) -> Symbol:
    """Whoever calls `__init__` writes the name of its class."""
    return symbol._replace(name=qualified.split(".")[-2]) if symbol.name == "__init__" else symbol


def _is_special(name: str, qualified: str) -> bool:
    return name.startswith("__") and not (name == "__init__" and "." in qualified)


# -- what is used ----------------------------------------------------------------------------------------------------


def _used(source: Source, module: Any) -> Iterator[Symbol]:
    """Names that stand in added lines, but for those of the language and of the function they stand in."""
    import ast

    own = {each.name for each in _definitions(module).values()}
    hidden = (_local(module) - own) | _builtins()
    added = {line for start, length in source.lines for line in range(start, start + length)}
    for node in ast.walk(module):
        line: int = getattr(node, "lineno", 0)
        for name in _names(node, hidden) if line in added else ():
            if not name.startswith("__"):
                yield Symbol(name, How.USED, OWN if name in own else "", source.path, line)


def _names(node: Any, hidden: AbstractSet[str]) -> list[str]:
    import ast

    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Load) and node.id not in hidden else []
    if isinstance(node, ast.Attribute):
        return [node.attr] if isinstance(node.ctx, ast.Load) else []
    return [each.name.split(".")[-1] for each in node.names] if isinstance(node, ast.ImportFrom) else []


def _local(module: Any) -> set[str]:
    """Arguments, and what is given a value within a function."""
    import ast

    return {
        each.arg if isinstance(each, ast.arg) else each.id
        for each in ast.walk(module)
        if isinstance(each, ast.arg) or (isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    }


@cache
def _builtins() -> frozenset[str]:
    import builtins

    return frozenset(dir(builtins))


# -- one beside the other --------------------------------------------------------------------------------------------


class Hint(NamedTuple):
    """`taken` in one change set, `used` in the other."""

    taken: Symbol
    used: Symbol


def hints(taken: Iterable[Symbol], used: Iterable[Symbol]) -> list[Hint]:
    """A file that has one of that name itself means its own."""
    uses: dict[str, list[Symbol]] = {}
    for each in used:
        if each.how == How.USED:
            uses.setdefault(each.name, []).append(each)
    return [
        Hint(each, use)
        for each in taken
        if each.how != How.USED
        for use in uses.get(each.name, ())
        if use.detail != OWN or use.path == each.path
    ]


def told(hint: Hint, taker: str, user: str) -> str:
    """A line for people."""
    taken, used = hint
    what = {How.GONE: "takes away", How.RENAMED: "renames", How.CHANGED: "changes how to call"}[How(taken.how)]
    to = f" to {taken.detail}" if taken.how == How.RENAMED else f" ({taken.detail})" if taken.detail else ""
    return f"{taker} {what} {taken.name}{to} in {taken.path}; {user} uses it in {used.path}:{used.line}"
