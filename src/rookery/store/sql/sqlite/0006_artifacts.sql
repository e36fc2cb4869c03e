-- Shared outputs: what a file in the artifacts folder is, and by its hash that it still is that. And keys by their age.

CREATE TABLE artifacts (
  team       INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  id         TEXT    NOT NULL,                -- artifact-0001
  name       TEXT    NOT NULL,
  kind       TEXT    NOT NULL,
  task       TEXT    NOT NULL DEFAULT '',
  agent      INTEGER NOT NULL,
  file       TEXT    NOT NULL,                -- relative to the home
  bytes      INTEGER NOT NULL,
  digest     TEXT    NOT NULL,                -- sha256
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (team, n),
  UNIQUE (team, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_task ON artifacts (team, task, n);
CREATE INDEX artifacts_file ON artifacts (team, file);

CREATE INDEX idempotency_age ON idempotency (team, created_at);

-- As in the first migration: what a well filled ledger looks like.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('artifacts', 'artifacts', '100000 10000 1'),
  ('artifacts', 'sqlite_autoindex_artifacts_2', '100000 10000 1'),
  ('artifacts', 'artifacts_task', '100000 10000 5 1'),
  ('artifacts', 'artifacts_file', '100000 10000 1'),
  ('idempotency', 'idempotency_age', '10000 1000 1');
ANALYZE sqlite_schema; -- read by this connection too
