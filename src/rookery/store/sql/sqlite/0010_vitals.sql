-- What is seen of sessions by whoever watches over them, one row an agent: of its present session, and what was told.

CREATE TABLE vitals (
  team      INTEGER NOT NULL,
  agent     INTEGER NOT NULL,
  session   TEXT    NOT NULL,                 -- whose these are; of another one they say nothing
  cpu       INTEGER,                          -- percent of a core, its children included; null before the second look
  memory    INTEGER,                          -- KiB resident, its children included
  finding   TEXT    NOT NULL DEFAULT '',      -- what was told of it: died, blocked ...; empty while it is well
  moved_at  INTEGER NOT NULL DEFAULT 0,       -- its last movement then: after another one it is told anew
  mailed    TEXT    NOT NULL DEFAULT '',      -- the finding that mail was last sent about, of whichever session
  mailed_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (team, agent)
) STRICT, WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('vitals', 'vitals', '10000 1000 1');
ANALYZE sqlite_schema; -- read by this connection too
