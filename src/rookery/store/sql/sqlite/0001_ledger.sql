-- The first schema: the ledger, the mesh and the mail. Every key is led by the team.
-- Times ending in _at are ledger milliseconds (monotonic); `at` is the wall clock, for people only.

CREATE TABLE teams (
  id         INTEGER PRIMARY KEY,
  name       TEXT    NOT NULL UNIQUE,
  seq        INTEGER NOT NULL DEFAULT 0,      -- number of the newest event
  horizon    INTEGER NOT NULL DEFAULT 0,      -- events up to here may be gone
  touched_at INTEGER NOT NULL,
  swept_at   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE clock (                          -- where CLOCK_MONOTONIC stood against the wall, once per boot
  boot      TEXT    PRIMARY KEY,
  offset_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
  team  INTEGER NOT NULL,
  name  TEXT    NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (team, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  team    INTEGER NOT NULL,
  seq     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  type    TEXT    NOT NULL,
  actor   TEXT    NOT NULL,
  target  TEXT    NOT NULL DEFAULT '',        -- whom or what it concerns, for people
  ref     TEXT    NOT NULL DEFAULT '',        -- id of the row it tells about
  preview TEXT    NOT NULL DEFAULT '',
  data    TEXT    NOT NULL DEFAULT '{}',
  PRIMARY KEY (team, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
  team       INTEGER NOT NULL,
  id         INTEGER NOT NULL,
  name       TEXT    NOT NULL,
  key        TEXT    NOT NULL,                -- the name folded: unique whatever the case
  role       TEXT    NOT NULL DEFAULT '',
  is_human   INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  left_at    INTEGER,                         -- said goodbye; null while it is expected back
  epoch      INTEGER NOT NULL DEFAULT 0,      -- raised by every new session: fences the old one
  session    TEXT,                            -- its newest session, null before the first
  PRIMARY KEY (team, id),
  UNIQUE (team, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  team           INTEGER NOT NULL,
  id             TEXT    NOT NULL,
  agent          INTEGER NOT NULL,
  epoch          INTEGER NOT NULL,
  program        TEXT    NOT NULL DEFAULT '', -- which host program speaks
  pid            INTEGER,
  started        TEXT    NOT NULL DEFAULT '', -- its start time: a reused pid is another process
  boot           TEXT    NOT NULL DEFAULT '',
  host           TEXT    NOT NULL DEFAULT '',
  cwd            TEXT    NOT NULL DEFAULT '',
  branch         TEXT    NOT NULL DEFAULT '',
  model          TEXT    NOT NULL DEFAULT '',
  spec           TEXT    NOT NULL DEFAULT '',
  coordination   TEXT    NOT NULL DEFAULT 'unlimited',
  joined_at      INTEGER NOT NULL,
  at             INTEGER NOT NULL,
  heartbeat_at   INTEGER NOT NULL,
  activity_at    INTEGER NOT NULL,
  task           TEXT    NOT NULL DEFAULT '', -- what it says it works on
  note           TEXT    NOT NULL DEFAULT '', -- its own status text
  sent           INTEGER NOT NULL DEFAULT 0,
  tool_calls     INTEGER NOT NULL DEFAULT 0,
  tokens         INTEGER NOT NULL DEFAULT 0,
  files_modified INTEGER NOT NULL DEFAULT 0,
  stuck_told     INTEGER NOT NULL DEFAULT 0,
  ended_at       INTEGER,
  end_reason     TEXT    NOT NULL DEFAULT '', -- left, taken over, ended
  PRIMARY KEY (team, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_process ON sessions (team, pid, boot);

CREATE TABLE activity (                       -- recent doings, kept only as long as auto-status looks back
  team   INTEGER NOT NULL,
  agent  INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  kind   TEXT    NOT NULL,
  target TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX activity_recent ON activity (team, agent, seen_at);

CREATE TABLE messages (
  n           INTEGER PRIMARY KEY,
  team        INTEGER NOT NULL,
  id          TEXT    NOT NULL,
  seq         INTEGER NOT NULL,               -- its event's number: the order of the mail
  thread      TEXT    NOT NULL,               -- id of the first message of the conversation
  reply_to    TEXT,
  sender      INTEGER NOT NULL,
  recipients  INTEGER NOT NULL,
  type        TEXT    NOT NULL,
  label       TEXT    NOT NULL DEFAULT '',    -- the sender's own word for the type
  priority    INTEGER NOT NULL,
  asks        INTEGER NOT NULL,               -- wants an answer
  grp         TEXT    NOT NULL DEFAULT '',
  address     TEXT    NOT NULL,               -- as the sender wrote it
  created_at  INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  expires_at  INTEGER,
  subject     TEXT    NOT NULL,
  tags        TEXT    NOT NULL DEFAULT '[]',
  attachments TEXT    NOT NULL DEFAULT '[]',
  payload     TEXT    NOT NULL DEFAULT '{}',
  context     TEXT    NOT NULL DEFAULT '{}',
  body        TEXT    NOT NULL                -- last: lists never walk its overflow pages
) STRICT;
CREATE UNIQUE INDEX messages_id ON messages (team, id);
CREATE INDEX messages_thread ON messages (team, thread, seq);

CREATE TABLE deliveries (
  team          INTEGER NOT NULL,
  agent         INTEGER NOT NULL,
  message       INTEGER NOT NULL,             -- messages.n
  state         TEXT    NOT NULL DEFAULT 'unread',
  priority      INTEGER NOT NULL,
  sender        INTEGER NOT NULL,
  first_contact INTEGER NOT NULL DEFAULT 0,
  expires_at    INTEGER,
  read_at       INTEGER,
  answered_at   INTEGER,
  done_at       INTEGER,
  archived_at   INTEGER,
  reason        TEXT    NOT NULL DEFAULT '',
  PRIMARY KEY (team, agent, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_inbox ON deliveries (team, agent, state, priority DESC, message);
CREATE INDEX deliveries_sender ON deliveries (team, agent, sender, message);
CREATE INDEX deliveries_message ON deliveries (team, message);
CREATE INDEX deliveries_expiry ON deliveries (team, expires_at)
  WHERE expires_at IS NOT NULL AND state IN ('unread', 'read');
CREATE INDEX deliveries_archive ON deliveries (team, archived_at) WHERE archived_at IS NOT NULL;

CREATE TABLE receipts (                       -- what happened to a delivery after it was accepted
  team    INTEGER NOT NULL,
  message INTEGER NOT NULL,
  agent   INTEGER NOT NULL,
  seq     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  stage   TEXT    NOT NULL,
  channel TEXT    NOT NULL DEFAULT '',
  detail  TEXT    NOT NULL DEFAULT '',
  PRIMARY KEY (team, message, agent, seq, stage)
) STRICT, WITHOUT ROWID;

CREATE TABLE escalations (
  team      INTEGER NOT NULL,
  id        TEXT    NOT NULL,
  title     TEXT    NOT NULL,
  reason    TEXT    NOT NULL,
  level     TEXT    NOT NULL,
  priority  INTEGER NOT NULL,
  raised_by INTEGER NOT NULL,
  raised_at INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  message   TEXT    NOT NULL,
  state     TEXT    NOT NULL DEFAULT 'open',
  answer    TEXT,                             -- id of the message that closed it
  PRIMARY KEY (team, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX escalations_message ON escalations (team, message);

CREATE TABLE idempotency (
  team       INTEGER NOT NULL,
  key        TEXT    NOT NULL,
  agent      INTEGER NOT NULL,
  digest     TEXT    NOT NULL,
  result     TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (team, agent, key)
) STRICT, WITHOUT ROWID;

-- Dialect: full text. PostgreSQL has a tsvector column here. `scope` holds the team, so that one team's
-- search never ranks another's mail.
CREATE VIRTUAL TABLE messages_fts USING fts5 (
  scope, subject, body, tags, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER messages_indexed AFTER INSERT ON messages BEGIN
  INSERT INTO messages_fts (rowid, scope, subject, body, tags)
  VALUES (new.n, 't' || new.team, new.subject, new.body, new.tags);
END;
CREATE TRIGGER messages_unindexed AFTER DELETE ON messages BEGIN
  DELETE FROM messages_fts WHERE rowid = old.n;
END;

-- What a well filled ledger looks like, told to the planner once and for all. Every key begins with the team, and without
-- this SQLite takes a team for ten rows and reads all of its mail where an index would lead to the one message.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('agents', 'agents', '10000 1000 1'),
  ('agents', 'sqlite_autoindex_agents_2', '10000 1000 1'),
  ('sessions', 'sessions', '100000 10000 1'),
  ('sessions', 'sessions_process', '100000 10000 2 1'),
  ('activity', 'activity_recent', '10000 1000 10 1'),
  ('events', 'events', '1000000 100000 1'),
  ('messages', 'messages_id', '1000000 100000 1'),
  ('messages', 'messages_thread', '1000000 100000 4 1'),
  ('deliveries', 'deliveries', '1000000 100000 1000 1'),
  ('deliveries', 'deliveries_inbox', '1000000 100000 1000 200 50 1'),
  ('deliveries', 'deliveries_sender', '1000000 100000 1000 100 1'),
  ('deliveries', 'deliveries_message', '1000000 100000 2'),
  ('deliveries', 'deliveries_expiry', '1000 500 2'),
  ('deliveries', 'deliveries_archive', '100000 10000 2'),
  ('receipts', 'receipts', '1000000 100000 2 2 1 1'),
  ('escalations', 'escalations', '10000 1000 1'),
  ('escalations', 'escalations_message', '10000 1000 1'),
  ('idempotency', 'idempotency', '10000 1000 10 1');
ANALYZE sqlite_schema; -- read by this connection too
