-- Tokens for programs that come over HTTP: as one agent, or only to look. Their text is nowhere, only its SHA-256.

CREATE TABLE tokens (
  team       INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  id         TEXT    NOT NULL,                -- token-0001
  digest     TEXT    NOT NULL,
  kind       TEXT    NOT NULL,                -- agent, read
  agent      INTEGER,                         -- whom it proves; nobody for a reader
  note       TEXT    NOT NULL DEFAULT '',
  created_by INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  PRIMARY KEY (team, n),
  UNIQUE (team, id),
  CHECK ((kind = 'agent') = (agent IS NOT NULL))
) STRICT, WITHOUT ROWID;
-- The one key that no team leads: a token tells which team it is for.
CREATE UNIQUE INDEX tokens_digest ON tokens (digest);

-- As in the first migration: what a well filled ledger looks like, so that the planner never reads a whole team.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('tokens', 'tokens', '10000 1000 1'),
  ('tokens', 'sqlite_autoindex_tokens_2', '10000 1000 1'),
  ('tokens', 'tokens_digest', '10000 1');
ANALYZE sqlite_schema; -- read by this connection too
