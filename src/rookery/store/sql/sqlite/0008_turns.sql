-- What hooks know of a session: how far its mail was put before it, and what is to be looked at after a command.

CREATE TABLE turns (
  team       INTEGER NOT NULL,
  session    TEXT    NOT NULL,
  host       TEXT    NOT NULL DEFAULT '',     -- the agent program, and its own name for the session
  host_id    TEXT    NOT NULL DEFAULT '',
  transcript TEXT    NOT NULL DEFAULT '',
  handed_to  INTEGER NOT NULL DEFAULT 0,      -- messages.n: mail up to here was put before it
  held_to    INTEGER NOT NULL DEFAULT 0,      -- mail up to here has held a stop
  holds      INTEGER NOT NULL DEFAULT 0,      -- stops held in a row
  watch      TEXT    NOT NULL DEFAULT '',     -- what others' files looked like before a command that does not tell
  PRIMARY KEY (team, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX turns_host ON turns (team, host, host_id);

-- As in the first migration: what a well filled ledger looks like.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('turns', 'turns', '100000 10000 1'),
  ('turns', 'turns_host', '100000 10000 2000 1');
ANALYZE sqlite_schema; -- read by this connection too
