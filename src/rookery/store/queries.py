"""Named queries: every statement lives in `sql/*.sql` under `-- name: x`, followed by a line that says why it exists.

One text serves both dialects. Where they truly differ, `sql/<dialect>.sql` holds the statement under the same name
and wins.
"""

import os
from functools import cache

_HERE = os.path.join(os.path.dirname(__file__), "sql")


def load(dialect: str) -> dict[str, str]:
    """All statements for a dialect, by name."""
    others = [f for f in _names(_HERE) if f[:-4] not in ("sqlite", "postgres")]
    own = [f for f in _names(_HERE) if f == f"{dialect}.sql"]
    statements: dict[str, str] = {}
    for file in others:
        for name, text in parse(_read(file)):
            if name in statements:
                raise ValueError(f"{file}: the query {name} is named twice")
            statements[name] = text
    for file in own:
        statements.update(parse(_read(file)))
    return statements


@cache
def parse(text: str) -> tuple[tuple[str, str], ...]:
    """(name, statement) of a file. Once for each text: a process that keeps many connections opens them often."""
    found: list[tuple[str, str]] = []
    for part in text.split("-- name:")[1:]:
        head, _, rest = part.partition("\n")
        while rest.startswith("--"):
            rest = rest.partition("\n")[2]
        if "\n--" in rest:  # few have more than the lines above them, and every command waits for all of this
            rest = "\n".join(line for line in rest.split("\n") if not line.startswith("--"))
        found.append((head.strip(), rest.strip().rstrip(";")))
    return tuple(found)


def migrations(dialect: str) -> list[tuple[int, str, str]]:
    """(number, name, text), in order; the numbers have no gaps."""
    folder = os.path.join(_HERE, dialect)
    steps = [(int(f[:4]), f[5:-4], os.path.join(dialect, f)) for f in _names(folder)]
    if [n for n, _, _ in steps] != list(range(1, len(steps) + 1)):
        raise ValueError(f"migrations of {dialect} are not numbered 1..{len(steps)}")
    return [(number, name, _read(file)) for number, name, file in steps]


def latest(dialect: str) -> int:
    """The newest schema this program knows, without reading the files."""
    return len(_names(os.path.join(_HERE, dialect)))


def _read(file: str) -> str:
    return _text(os.path.join(_HERE, file))


@cache
def _text(path: str) -> str:
    """The program's own text: read once, whatever becomes of the process's rights afterwards."""
    with open(path, encoding="utf-8") as handle:
        return handle.read()


@cache
def _names(folder: str) -> tuple[str, ...]:
    return tuple(sorted(name for name in os.listdir(folder) if name.endswith(".sql")))
