"""Named queries: every statement lives in `sql/*.sql` under `-- name: x`, followed by a line that says why it exists.

One text serves both dialects. Where they truly differ, `sql/<dialect>.sql` holds the statement under the same name
and wins.
"""

import os

_HERE = os.path.join(os.path.dirname(__file__), "sql")


def load(dialect: str) -> dict[str, str]:
    """All statements for a dialect, by name."""
    shared = sorted(f for f in os.listdir(_HERE) if f.endswith(".sql") and f != f"{dialect}.sql")
    others = [f for f in shared if f[:-4] not in ("sqlite", "postgres")]
    own = [f"{dialect}.sql"] if os.path.exists(os.path.join(_HERE, f"{dialect}.sql")) else []
    statements: dict[str, str] = {}
    for file in others:
        for name, text in parse(_read(file)):
            if name in statements:
                raise ValueError(f"{file}: the query {name} is named twice")
            statements[name] = text
    for file in own:
        statements.update(parse(_read(file)))
    return statements


def parse(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for part in text.split("-- name:")[1:]:
        head, _, rest = part.partition("\n")
        lines = [line for line in rest.split("\n") if not line.startswith("--")]
        found.append((head.strip(), "\n".join(lines).strip().rstrip(";")))
    return found


def migrations(dialect: str) -> list[tuple[int, str, str]]:
    """(number, name, text), in order; the numbers have no gaps."""
    folder = os.path.join(_HERE, dialect)
    files = sorted(f for f in os.listdir(folder) if f.endswith(".sql"))
    steps = [(int(f[:4]), f[5:-4], os.path.join(dialect, f)) for f in files]
    if [n for n, _, _ in steps] != list(range(1, len(steps) + 1)):
        raise ValueError(f"migrations of {dialect} are not numbered 1..{len(steps)}")
    return [(number, name, _read(file)) for number, name, file in steps]


def latest(dialect: str) -> int:
    """The newest schema this program knows, without reading the files."""
    return sum(1 for f in os.listdir(os.path.join(_HERE, dialect)) if f.endswith(".sql"))


def _read(file: str) -> str:
    with open(os.path.join(_HERE, file), encoding="utf-8") as handle:
        return handle.read()
