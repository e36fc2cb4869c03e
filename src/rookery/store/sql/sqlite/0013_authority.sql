-- Who may decide: agent programs seen on a machine, settings of the store itself, roles of tokens, and the process that
-- really called, beside the name it acted under.

CREATE TABLE programs (                       -- processes known to be agent programs; what is below them is theirs
  host    TEXT    NOT NULL,
  boot    TEXT    NOT NULL,
  pid     INTEGER NOT NULL,
  started TEXT    NOT NULL,                   -- its start time: a reused pid is another process
  how     TEXT    NOT NULL,                   -- run, hook, mcp, join
  above   TEXT    NOT NULL DEFAULT '',        -- the nearest agent program above it, as `pid:started`
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (host, boot, pid, started)
) STRICT, WITHOUT ROWID;

CREATE TABLE store_settings (                 -- settings that only the user changes, for every team of the store
  name  TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE events ADD COLUMN caller TEXT NOT NULL DEFAULT '{}'; -- the session, run and process that really called

CREATE TABLE tokens_with_roles (
  team       INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  id         TEXT    NOT NULL,                -- token-0001
  digest     TEXT    NOT NULL,
  kind       TEXT    NOT NULL,                -- operator, agent, viewer
  agent      INTEGER,                         -- whom an agent's token proves
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
INSERT INTO tokens_with_roles
SELECT team, n, id, digest, CASE kind WHEN 'read' THEN 'viewer' ELSE kind END, agent, note, created_by, created_at, at,
       expires_at, revoked_at FROM tokens;
DROP TABLE tokens;
ALTER TABLE tokens_with_roles RENAME TO tokens;
CREATE UNIQUE INDEX tokens_digest ON tokens (digest);

CREATE INDEX runs_id ON runs (id);              -- a run marker tells neither team nor worker
CREATE INDEX sessions_agent ON sessions (team, agent, joined_at);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('runs', 'runs_id', '100000 1'),
  ('sessions', 'sessions_agent', '100000 10000 10 1'),
  ('programs', 'programs', '10000 10000 1000 2 1'),
  ('store_settings', 'store_settings', '10 1'),
  ('tokens', 'tokens', '10000 1000 1'),
  ('tokens', 'sqlite_autoindex_tokens_2', '10000 1000 1'),
  ('tokens', 'tokens_digest', '10000 1');
ANALYZE sqlite_schema; -- read by this connection too
