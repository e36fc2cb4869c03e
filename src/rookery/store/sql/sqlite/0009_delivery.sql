-- How mail reaches a session that does not ask for it: the ways there are, what was tried, and what was given up.

ALTER TABLE turns ADD COLUMN phase    TEXT    NOT NULL DEFAULT '';  -- busy, idle or blocked, as its hooks last told
ALTER TABLE turns ADD COLUMN phase_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN gate     TEXT    NOT NULL DEFAULT '';  -- the dialog it is blocked on, in a word

CREATE TABLE endpoints (                      -- one way to reach an agent
  team       INTEGER NOT NULL,
  agent      INTEGER NOT NULL,
  channel    TEXT    NOT NULL,                -- door, queue, terminal, resume, command, webhook, notify
  session    TEXT    NOT NULL DEFAULT '',     -- whose way it is; empty for those that settings give an agent
  address    TEXT    NOT NULL DEFAULT '{}',   -- what the channel needs to know: a pane, a process, a thread
  host       TEXT    NOT NULL DEFAULT '',     -- the machine it can be used from
  boot       TEXT    NOT NULL DEFAULT '',
  owner      TEXT    NOT NULL DEFAULT '',     -- who delivers there now
  owned_to   INTEGER NOT NULL DEFAULT 0,
  tries      INTEGER NOT NULL DEFAULT 0,      -- since the last hand-over
  next_at    INTEGER NOT NULL DEFAULT 0,      -- not before
  failures   INTEGER NOT NULL DEFAULT 0,      -- of the way itself, in a row
  open_until INTEGER NOT NULL DEFAULT 0,      -- the circuit is open: not used before this, and then once
  reason     TEXT    NOT NULL DEFAULT '',     -- of the last try that did not succeed
  detail     TEXT    NOT NULL DEFAULT '',
  used_at    INTEGER NOT NULL DEFAULT 0,      -- the last hand-over
  PRIMARY KEY (team, agent, channel)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (                       -- tries that did not succeed: each was about the mail after one and up to another
  team    INTEGER NOT NULL,
  agent   INTEGER NOT NULL,
  n       INTEGER NOT NULL,
  made_at INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  channel TEXT    NOT NULL,
  reason  TEXT    NOT NULL,
  detail  TEXT    NOT NULL DEFAULT '',
  counts  INTEGER NOT NULL,                   -- 1: the way failed; 0: the agent was busy, or a person typed
  after_n INTEGER NOT NULL,
  upto_n  INTEGER NOT NULL,
  PRIMARY KEY (team, agent, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE dead_letters (                   -- mail that nobody is woken for any more; it waits in the inbox all the same
  team     INTEGER NOT NULL,
  agent    INTEGER NOT NULL,
  message  INTEGER NOT NULL,                  -- messages.n
  state    TEXT    NOT NULL DEFAULT 'dead',   -- dead, resent, dropped, reached
  reason   TEXT    NOT NULL,
  attempts INTEGER NOT NULL,
  dead_at  INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (team, agent, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX dead_letters_open ON dead_letters (team, dead_at) WHERE state = 'dead';

-- As in the first migration: what a well filled ledger looks like.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('endpoints', 'endpoints', '10000 1000 2 1'),
  ('attempts', 'attempts', '10000 1000 10 1'),
  ('dead_letters', 'dead_letters', '10000 1000 10 1'),
  ('dead_letters', 'dead_letters_open', '1000 100 1');
ANALYZE sqlite_schema; -- read by this connection too
