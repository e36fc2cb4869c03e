"""What was there before the docket is found by it: shared outputs are evidence, and tasks are in the index."""

from pathlib import Path

import apsw

from rookery.store import queries


def test_shared_outputs_and_tasks_of_an_older_ledger(tmp_path: Path) -> None:
    fresh = apsw.Connection(str(tmp_path / "old.db"))
    for _, _, text in queries.migrations("sqlite")[:11]:
        fresh.execute(text)
    fresh.execute("INSERT INTO teams (id, name, touched_at) VALUES (7, 't', 0)")
    fresh.execute(
        "INSERT INTO tasks (team, n, id, title, status, created_by, created_at, at)"
        " VALUES (7, 1, 'task-0001', 'needle', 'todo', 1, 0, 0)"
    )
    for n, kind in ((1, "patch"), (2, "run"), (3, "summary")):
        fresh.execute(
            "INSERT INTO artifacts VALUES (7, ?, 'artifact-000' || ?, 'n', ?, '', 1, 'f', 1, 'd', 0, 0)", (n, n, kind)
        )
    fresh.execute(queries.migrations("sqlite")[11][2])
    assert list(fresh.execute("SELECT id, ref, title, held FROM evidence ORDER BY n")) == [
        ("o1", "artifact-0001", "patch n", 1), ("o2", "artifact-0003", "summary n", 1),
    ]  # fmt: skip
    assert list(fresh.execute("SELECT value FROM counters WHERE team = 7 AND name = 'evidence.o'")) == [(2,)]
    for table in ("tasks_fts", "evidence_fts"):
        word = "needle" if table == "tasks_fts" else "patch"
        assert len(list(fresh.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", (f"scope:t7 {word}",)))) == 1
    fresh.close()
