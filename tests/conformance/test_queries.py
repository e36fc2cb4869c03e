"""Named queries: each has a purpose and a use, each that is used exists. And nothing but apsw opens the database."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from rookery.core import mail
from rookery.store import queries
from tests.support.procs import ROOT

SQL = Path(queries.__file__).parent / "sql"
SOURCES = sorted((ROOT / "src").rglob("*.py"))
VERBS = {"one", "all", "run"}
KNOWS = re.compile(r"\b(tx|db|_queries)\b")


@cache
def nodes_of_sources() -> tuple[tuple[Path, ast.AST], ...]:
    """Everything in the program's sources that these tests ask about, with its file: read and walked once. Only files
    that know a transaction have any, and walking all of them takes seconds."""
    kinds = (ast.Call, ast.Subscript, ast.Constant, ast.JoinedStr, ast.Import)
    texts = ((file, file.read_text()) for file in SOURCES)
    knowing = ((file, ast.parse(text)) for file, text in texts if KNOWS.search(text))
    return tuple((file, node) for file, tree in knowing for node in ast.walk(tree) if isinstance(node, kinds))


def names_of(node: ast.expr) -> list[str]:
    """The names an expression can stand for: a constant, or an f-string with the step of a delivery in it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "{step}" for part in node.values]
        return ["".join(map(str, parts)).replace("{step}", step) for step in mail.STEPS]
    return []


def names_asked_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VERBS:
        asked = isinstance(node.func.value, ast.Name) and node.func.value.id in ("tx", "db", "self")
        return names_of(node.args[0]) if asked and node.args else []
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "_queries":
        return names_of(node.slice)
    return []


def asked_for() -> dict[str, str]:
    """Every name given straight to `one`, `all` or `run`, or looked up in the loaded statements, with its place."""
    found: dict[str, str] = {}
    for file, node in nodes_of_sources():
        found.update((name, file.name) for name in names_asked_by(node))
    return found


def mentioned() -> set[str]:
    """Every text in the sources that could be a name, wherever it stands."""
    return {
        name
        for _, node in nodes_of_sources()
        if isinstance(node, ast.Constant | ast.JoinedStr)
        for name in names_of(node)
    }


@pytest.mark.slow
def test_the_scan_finds_what_it_looks_for() -> None:
    asked = asked_for()
    assert {"append_event", "store_clock", "delivery_read", "delivery_archive", "insert_message"} <= asked.keys()
    assert len(asked) > 50


def test_every_name_used_in_the_code_exists() -> None:
    known = queries.load("sqlite")
    assert {name: place for name, place in asked_for().items() if name not in known} == {}


def test_every_query_is_used() -> None:
    assert sorted(set(queries.load("sqlite")) - mentioned()) == []


def headers(text: str) -> list[tuple[str, str]]:
    lines = text.split("\n")
    return [(line, lines[index + 1]) for index, line in enumerate(lines) if line.startswith("-- name:")]


@pytest.mark.parametrize("file", sorted(SQL.glob("*.sql")), ids=lambda file: file.name)
def test_every_query_says_what_it_is_for(file: Path) -> None:
    text = file.read_text()
    assert text.startswith("-- "), "a file begins with what it is about"
    found = headers(text)
    assert found
    for name, purpose in found:
        assert re.fullmatch(r"-- name: [a-z][a-z0-9_]*", name), name
        assert re.fullmatch(r"-- \S.{5,116}", purpose), f"{name} has no line of purpose"


def test_a_query_is_one_statement() -> None:
    for name, text in queries.load("sqlite").items():
        assert text, name
        assert ";" not in text, f"{name} is more than one statement"


def test_a_query_names_its_team() -> None:
    """Every key is led by the team; only the store's own queries, and what is reached by a row number, are not."""
    for name, text in queries.load("sqlite").items():
        if not name.startswith("store_") and name != "message_card":
            assert ":team" in text, f"{name} does not say whose rows it touches"


def test_two_queries_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("a.sql", "b.sql"):
        (tmp_path / file).write_text("-- x\n\n-- name: twice\n-- Why.\nSELECT 1;\n")
    monkeypatch.setattr(queries, "_HERE", str(tmp_path))
    with pytest.raises(ValueError, match="twice"):
        queries.load("sqlite")


def test_a_dialects_own_query_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared.sql").write_text("-- name: x\n-- Why.\nSELECT 1;\n")
    (tmp_path / "sqlite.sql").write_text("-- name: x\n-- Why.\nSELECT 2;\n")
    (tmp_path / "postgres.sql").write_text("-- name: x\n-- Why.\nSELECT 3;\n")
    monkeypatch.setattr(queries, "_HERE", str(tmp_path))
    assert queries.load("sqlite") == {"x": "SELECT 2"}
    assert queries.load("postgres") == {"x": "SELECT 3"}


def test_migrations_have_numbers_without_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sqlite").mkdir()
    for file in ("0001_a.sql", "0003_c.sql"):
        (tmp_path / "sqlite" / file).write_text("SELECT 1;")
    monkeypatch.setattr(queries, "_HERE", str(tmp_path))
    with pytest.raises(ValueError, match="numbered"):
        queries.migrations("sqlite")


def imports_another_sqlite(text: str) -> bool:
    if "sqlite3" not in text:  # most files, and parsing all of them takes seconds
        return False
    names: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return any(name.partition(".")[0] in ("sqlite3", "_sqlite3", "pysqlite3") for name in names)


def test_h39_nothing_imports_another_sqlite() -> None:
    """A second SQLite library in the process drops the locks of the first; tests and measurements are no exception."""
    files = [file for folder in ("src", "tests", "bench") for file in sorted((ROOT / folder).rglob("*.py"))]
    assert [str(file) for file in files if imports_another_sqlite(file.read_text())] == []


@pytest.mark.parametrize(
    "text", ["import os, sqlite3", "def f():\n    from sqlite3.dbapi2 import connect", "import _sqlite3"]
)
def test_control_another_sqlite_is_seen(text: str) -> None:
    assert imports_another_sqlite(text)
    assert not imports_another_sqlite(text.replace("sqlite3", "mysqlite3"))


def test_h39_only_the_store_imports_apsw() -> None:
    importers = {
        file.relative_to(ROOT / "src" / "rookery").parts[0]
        for file, node in nodes_of_sources()
        if isinstance(node, ast.Import) and any(alias.name == "apsw" for alias in node.names)
    }
    assert importers == {"store"}


def test_sql_lives_in_sql_files() -> None:
    """Outside the store no text of the sources is a statement."""
    statement = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE|PRAGMA) ")
    found = [
        f"{file.name}:{node.lineno}"
        for file, node in nodes_of_sources()
        if "store" not in file.parts
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and statement.match(node.value)
    ]
    assert found == []
