-- The docket: evidence of what was done, versions of results, what needs a person, and what was decided.

CREATE TABLE evidence (                       -- artifacts made of what happened: commands, edits, errors, answers ...
  n          INTEGER PRIMARY KEY,             -- in the order they were recorded; the full text index goes by it
  team       INTEGER NOT NULL,
  id         TEXT    NOT NULL,                -- e3, f12: a letter for the kind, and a number of the team's
  ref        TEXT    NOT NULL,                -- what it is of: the same happening recorded again is the same row
  kind       TEXT    NOT NULL,
  worker     TEXT    NOT NULL DEFAULT '',
  agent      INTEGER NOT NULL,
  task       TEXT    NOT NULL DEFAULT '',
  run        TEXT    NOT NULL DEFAULT '',
  title      TEXT    NOT NULL,                -- one line
  body       TEXT    NOT NULL DEFAULT '',     -- as much as a row holds; secrets are taken out before
  bytes      INTEGER NOT NULL DEFAULT 0,      -- of the whole
  digest     TEXT    NOT NULL DEFAULT '',     -- sha256 of the whole
  file       TEXT    NOT NULL DEFAULT '',     -- where the whole is, when the row holds less
  data       TEXT    NOT NULL DEFAULT '{}',   -- exit code, path, line, counts
  failed     INTEGER NOT NULL DEFAULT 0,      -- an error, or a command or test run that did not succeed
  pinned     INTEGER NOT NULL DEFAULT 0,
  told       INTEGER NOT NULL DEFAULT 0,      -- by the agent itself: nobody who watches it has seen it
  held       INTEGER NOT NULL DEFAULT 0,      -- a decision, a result or a bundle names it, or it was shared: it stays
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX evidence_id ON evidence (team, id);
CREATE UNIQUE INDEX evidence_ref ON evidence (team, ref);
CREATE INDEX evidence_worker ON evidence (team, worker, n) WHERE worker <> '';
CREATE INDEX evidence_kind ON evidence (team, kind, n);
CREATE INDEX evidence_task ON evidence (team, task, n) WHERE task <> '';
CREATE INDEX evidence_order ON evidence (team, n);
CREATE INDEX evidence_file ON evidence (team, file) WHERE file <> '';
CREATE INDEX evidence_failed ON evidence (team, n) WHERE failed = 1;
CREATE INDEX evidence_spare ON evidence (team, worker, n) WHERE pinned = 0 AND held = 0; -- what may go, oldest first
CREATE INDEX evidence_age ON evidence (team, created_at) WHERE pinned = 0 AND held = 0;

CREATE TABLE evidence_kept (                  -- how much of whom was let go of (H31)
  team    INTEGER NOT NULL,
  worker  TEXT    NOT NULL,                   -- '': of nobody that Rookery started
  dropped INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (team, worker)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE evidence_fts USING fts5 (
  scope, title, body, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER evidence_indexed AFTER INSERT ON evidence BEGIN
  INSERT INTO evidence_fts (rowid, scope, title, body) VALUES (new.n, 't' || new.team, new.title, new.body);
END;
CREATE TRIGGER evidence_unindexed AFTER DELETE ON evidence BEGIN
  DELETE FROM evidence_fts WHERE rowid = old.n;
END;

CREATE TABLE transcripts (                    -- what agent programs write down of sessions that nobody else reads
  team    INTEGER NOT NULL,
  path    TEXT    NOT NULL,
  host    TEXT    NOT NULL,                   -- the agent program, and its own name for the session
  host_id TEXT    NOT NULL DEFAULT '',
  session TEXT    NOT NULL,                   -- that spoke of it last
  place   TEXT    NOT NULL DEFAULT '',        -- how far it was read
  closed  INTEGER NOT NULL DEFAULT 0,         -- read to its end, after the session was over
  at      INTEGER NOT NULL,
  PRIMARY KEY (team, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX transcripts_closed ON transcripts (team, closed, at);

CREATE TABLE deliverables (                   -- a worker's result: a version is never written again
  team       INTEGER NOT NULL,
  worker     TEXT    NOT NULL,
  version    INTEGER NOT NULL,                -- from 1, per worker
  task       TEXT    NOT NULL DEFAULT '',
  epoch      INTEGER NOT NULL DEFAULT 0,      -- of the task's completion
  run        TEXT    NOT NULL DEFAULT '',
  agent      INTEGER NOT NULL,
  outcome    TEXT    NOT NULL,
  summary    TEXT    NOT NULL,
  change     TEXT    NOT NULL DEFAULT '',     -- change-0001
  head       TEXT    NOT NULL DEFAULT '',     -- the commit that a promotion is bound to
  evidence   TEXT    NOT NULL DEFAULT '[]',   -- refs
  checks     TEXT    NOT NULL DEFAULT '[]',   -- test runs that were recorded for it, with what really came of them
  provenance TEXT    NOT NULL DEFAULT '{}',   -- kind, host, model, base, tokens, duration
  digest     TEXT    NOT NULL,                -- of everything above: what was shown is what is there
  state      TEXT    NOT NULL DEFAULT 'open', -- open, and what became of it: core/docket.py
  file       TEXT    NOT NULL DEFAULT '',     -- as it was written to the disk
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  decided_at INTEGER,
  PRIMARY KEY (team, worker, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliverables_time ON deliverables (team, created_at);
CREATE INDEX deliverables_task ON deliverables (team, task) WHERE task <> '';
CREATE INDEX deliverables_change ON deliverables (team, change) WHERE change <> '';
CREATE INDEX deliverables_file ON deliverables (team, file) WHERE file <> '';

-- What needs a person. `subject` names what exactly is judged: w3/2 is the second result of w3, w3/q1 its first
-- question, w3/x2 the end of its second run, e3 a failed command, item-... anything else.
ALTER TABLE review_items ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE review_items ADD COLUMN worker TEXT NOT NULL DEFAULT '';
ALTER TABLE review_items ADD COLUMN rank INTEGER NOT NULL DEFAULT 50;    -- what comes first: core/docket.py
ALTER TABLE review_items ADD COLUMN risk INTEGER NOT NULL DEFAULT 0;
ALTER TABLE review_items ADD COLUMN otherwise TEXT NOT NULL DEFAULT '';  -- what happens if nobody answers
ALTER TABLE review_items ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE review_items ADD COLUMN closed_at INTEGER;
CREATE INDEX review_items_queue ON review_items (team, pinned DESC, rank, risk DESC, created_at, id) WHERE state = 'open';
CREATE INDEX review_items_subject ON review_items (team, subject) WHERE subject <> '';
CREATE INDEX review_items_worker ON review_items (team, worker, created_at) WHERE worker <> '';

CREATE TABLE decisions (                      -- the log of what was decided; only ever added to
  team       INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  id         TEXT    NOT NULL,                -- decision-0001
  verb       TEXT    NOT NULL,                -- the action
  actor      INTEGER NOT NULL,
  rule       TEXT    NOT NULL DEFAULT '',     -- the policy that decided, when nobody did
  subject    TEXT    NOT NULL,                -- what it was about, exactly
  item       TEXT    NOT NULL DEFAULT '',
  worker     TEXT    NOT NULL DEFAULT '',
  task       TEXT    NOT NULL DEFAULT '',
  head       TEXT    NOT NULL DEFAULT '',     -- the commit that was approved
  choice     TEXT    NOT NULL DEFAULT '',     -- the option
  said       TEXT    NOT NULL DEFAULT '',
  risk       TEXT    NOT NULL DEFAULT '',
  evidence   TEXT    NOT NULL DEFAULT '[]',   -- refs that stood on the card
  effect     TEXT    NOT NULL DEFAULT '{}',   -- what it did: a landing, a message, a run
  waited_ms  INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (team, n),
  UNIQUE (team, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX decisions_worker ON decisions (team, worker, n) WHERE worker <> '';
CREATE INDEX decisions_subject ON decisions (team, subject);
CREATE INDEX decisions_time ON decisions (team, created_at);

CREATE TABLE debt (                           -- results that nobody judged before they were gone
  team       INTEGER NOT NULL,
  worker     TEXT    NOT NULL,
  version    INTEGER NOT NULL,                -- 0: it failed, and reported nothing
  task       TEXT    NOT NULL DEFAULT '',
  summary    TEXT    NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (team, worker, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE rules (                          -- policies: what is decided without a person
  team     INTEGER NOT NULL,
  name     TEXT    NOT NULL,
  position INTEGER NOT NULL,
  matches  TEXT    NOT NULL,                  -- kinds, paths, files, lines, checks, risk, hosts
  verdict  TEXT    NOT NULL DEFAULT 'promote',
  active   INTEGER NOT NULL DEFAULT 1,
  set_by   INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (team, name)
) STRICT, WITHOUT ROWID;

ALTER TABLE changes ADD COLUMN graded INTEGER NOT NULL DEFAULT 0; -- what it touches is kept: it may still land
CREATE INDEX changes_graded ON changes (team, n) WHERE graded = 1;
CREATE INDEX landings_change ON landings (team, change, n);

CREATE VIEW open_changes AS                   -- change sets that may still land, the newest of each piece of work
  SELECT c.team, c.id, c.n, c.base, c.worker, c.task, t.title, w.root, w.machine, w.report, w.state, a.name AS author
  FROM changes c JOIN workers w ON w.team = c.team AND w.id = c.worker
  JOIN agents a ON a.team = w.team AND a.id = w.agent LEFT JOIN tasks t ON t.team = c.team AND t.id = c.task
  WHERE c.graded = 1 AND COALESCE(t.status, '') <> 'canceled'
    AND COALESCE((SELECT l.state FROM landings l WHERE l.team = c.team AND l.change = c.id ORDER BY l.n DESC LIMIT 1), '')
      NOT IN ('landed', 'undoing', 'undone', 'dropped')
    AND NOT EXISTS (SELECT 1 FROM changes d WHERE d.team = c.team AND d.worker = c.worker AND d.n > c.n)
    AND NOT EXISTS (SELECT 1 FROM changes d WHERE d.team = c.team AND d.task = c.task AND d.task <> '' AND d.n > c.n)
    AND NOT EXISTS (SELECT 1 FROM deliverables v WHERE v.team = c.team AND v.change = c.id AND v.change <> ''
      AND v.state IN ('rejected', 'discarded'));

CREATE TABLE hunks (                          -- which lines of which file a change set touches, in its base
  team   INTEGER NOT NULL,
  change TEXT    NOT NULL,
  path   TEXT    NOT NULL,
  start  INTEGER NOT NULL,
  length INTEGER NOT NULL,                    -- 0: added between two lines; below 0: of the whole (core/overlap.py)
  PRIMARY KEY (team, change, path, start)
) STRICT, WITHOUT ROWID;
CREATE INDEX hunks_path ON hunks (team, path);

CREATE TABLE symbols (                        -- names that a change set takes away or renames, and those that it uses
  team   INTEGER NOT NULL,
  change TEXT    NOT NULL,
  name   TEXT    NOT NULL,
  how    TEXT    NOT NULL,                    -- gone, renamed, changed, used
  detail TEXT    NOT NULL DEFAULT '',
  path   TEXT    NOT NULL,
  line   INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (team, change, name, how, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX symbols_name ON symbols (team, name, how);

CREATE TABLE overlaps (                       -- two change sets that touch the same, graded when the later was reported
  team    INTEGER NOT NULL,
  change  TEXT    NOT NULL,
  other   TEXT    NOT NULL,
  grade   INTEGER NOT NULL,                   -- 3 contested lines, 2 adjacent, 1 same file, 0 none but a hint
  paths   TEXT    NOT NULL DEFAULT '[]',
  hints   TEXT    NOT NULL DEFAULT '[]',
  at      INTEGER NOT NULL,
  PRIMARY KEY (team, change, other)
) STRICT, WITHOUT ROWID;
CREATE INDEX overlaps_other ON overlaps (team, other);

CREATE TABLE bundles (                        -- saved packages of evidence; their text and list are files besides
  team        INTEGER NOT NULL,
  n           INTEGER NOT NULL,
  id          TEXT    NOT NULL,               -- bundle-0001
  title       TEXT    NOT NULL,
  header      TEXT    NOT NULL DEFAULT '',    -- orientation for whoever loads it
  summary     TEXT    NOT NULL DEFAULT '',    -- by an agent, when one was asked for it
  items       TEXT    NOT NULL DEFAULT '[]',  -- refs, in order
  entries     TEXT    NOT NULL DEFAULT '[]',  -- what each of them was when it was saved
  summarizer  TEXT    NOT NULL DEFAULT '',    -- the worker that is to sum it up
  worker      TEXT    NOT NULL DEFAULT '',
  task        TEXT    NOT NULL DEFAULT '',
  made_by     INTEGER NOT NULL,
  file        TEXT    NOT NULL DEFAULT '',
  sidecar     TEXT    NOT NULL DEFAULT '',
  digest      TEXT    NOT NULL DEFAULT '',
  state       TEXT    NOT NULL DEFAULT 'saved', -- saved, consumed, deleted
  consumed_by INTEGER,
  consumed_at INTEGER,
  created_at  INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  PRIMARY KEY (team, n),
  UNIQUE (team, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX bundles_file ON bundles (team, file) WHERE file <> '';
CREATE INDEX bundles_sidecar ON bundles (team, sidecar) WHERE sidecar <> '';

CREATE INDEX bundles_summarizer ON bundles (team, summarizer) WHERE summarizer <> '';
CREATE INDEX bundles_past ON bundles (team, consumed_at) WHERE state <> 'saved';

CREATE TABLE loaded (                         -- what stands in an agent's context, as lines that can be expanded
  team       INTEGER NOT NULL,
  agent      INTEGER NOT NULL,
  source     TEXT    NOT NULL,                -- bundle-0001 or w3
  chip       INTEGER NOT NULL,                -- its number there, from 1
  ref        TEXT    NOT NULL,
  mode       TEXT    NOT NULL DEFAULT 'reference', -- reference, full
  line       TEXT    NOT NULL,                -- at most 120 characters
  consume    INTEGER NOT NULL DEFAULT 0,      -- consumed when it is used
  told       INTEGER NOT NULL DEFAULT 0,      -- its line was put before the agent
  used_at    INTEGER,
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (team, agent, source, chip)
) STRICT, WITHOUT ROWID;

CREATE TABLE notified (                       -- how far people were told of what needs them, by each way
  team   INTEGER NOT NULL,
  way    TEXT    NOT NULL,
  cursor INTEGER NOT NULL DEFAULT 0,          -- what was made until then was told
  due_at INTEGER NOT NULL DEFAULT 0,          -- nothing more before that; while somebody tells it, its lease
  owner  TEXT    NOT NULL DEFAULT '',
  at     INTEGER NOT NULL,
  PRIMARY KEY (team, way)
) STRICT, WITHOUT ROWID;

-- Whatever a decision, a result or a bundle names stays, whoever wrote that and however: by its ref or its id.
CREATE TRIGGER decisions_hold AFTER INSERT ON decisions WHEN new.evidence <> '[]' BEGIN
  UPDATE evidence SET held = 1 WHERE team = new.team AND ref IN (SELECT value FROM json_each(new.evidence));
  UPDATE evidence SET held = 1 WHERE team = new.team AND id IN (SELECT value FROM json_each(new.evidence));
END;
CREATE TRIGGER deliverables_hold AFTER INSERT ON deliverables WHEN new.evidence <> '[]' BEGIN
  UPDATE evidence SET held = 1 WHERE team = new.team AND ref IN (SELECT value FROM json_each(new.evidence));
  UPDATE evidence SET held = 1 WHERE team = new.team AND id IN (SELECT value FROM json_each(new.evidence));
END;
CREATE TRIGGER bundles_hold AFTER INSERT ON bundles WHEN new.items <> '[]' BEGIN
  UPDATE evidence SET held = 1 WHERE team = new.team AND ref IN (SELECT value FROM json_each(new.items));
  UPDATE evidence SET held = 1 WHERE team = new.team AND id IN (SELECT value FROM json_each(new.items));
END;
CREATE TRIGGER bundles_hold_more AFTER UPDATE OF items ON bundles WHEN new.items <> '[]' BEGIN
  UPDATE evidence SET held = 1 WHERE team = new.team AND ref IN (SELECT value FROM json_each(new.items));
  UPDATE evidence SET held = 1 WHERE team = new.team AND id IN (SELECT value FROM json_each(new.items));
END;

-- Tasks and decisions are found by their words, too. Their numbers are their team's, so a row of the index has both.
CREATE VIRTUAL TABLE tasks_fts USING fts5 (
  scope, title, body, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER tasks_indexed AFTER INSERT ON tasks BEGIN
  INSERT INTO tasks_fts (rowid, scope, title, body)
  VALUES (new.team << 32 | new.n, 't' || new.team, new.title, new.description || ' ' || new.why || ' ' || new.result);
END;
CREATE TRIGGER tasks_reindexed AFTER UPDATE OF title, description, why, result ON tasks
WHEN (old.title, old.description, old.why, old.result) <> (new.title, new.description, new.why, new.result) BEGIN
  DELETE FROM tasks_fts WHERE rowid = old.team << 32 | old.n;
  INSERT INTO tasks_fts (rowid, scope, title, body)
  VALUES (new.team << 32 | new.n, 't' || new.team, new.title, new.description || ' ' || new.why || ' ' || new.result);
END;
CREATE TRIGGER tasks_unindexed AFTER DELETE ON tasks BEGIN
  DELETE FROM tasks_fts WHERE rowid = old.team << 32 | old.n;
END;
INSERT INTO tasks_fts (rowid, scope, title, body)
SELECT team << 32 | n, 't' || team, title, description || ' ' || why || ' ' || result FROM tasks;

CREATE VIRTUAL TABLE decisions_fts USING fts5 (
  scope, title, body, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER decisions_indexed AFTER INSERT ON decisions BEGIN
  INSERT INTO decisions_fts (rowid, scope, title, body)
  VALUES (new.team << 32 | new.n, 't' || new.team, new.verb || ' ' || new.subject || ' ' || new.choice,
    new.said || ' ' || new.rule || ' ' || new.task || ' ' || new.worker);
END;
CREATE TRIGGER decisions_unindexed AFTER DELETE ON decisions BEGIN
  DELETE FROM decisions_fts WHERE rowid = old.team << 32 | old.n;
END;

-- What was shared before is evidence as well.
INSERT INTO evidence (team, id, ref, kind, agent, task, title, bytes, digest, data, held, created_at, at)
SELECT team, 'o' || row_number() OVER (PARTITION BY team ORDER BY n), id, 'output', agent, task, kind || ' ' || name,
  bytes, digest, json_object('name', name, 'kind', kind), 1, created_at, at
FROM artifacts WHERE kind <> 'run' ORDER BY team, n;
INSERT INTO counters (team, name, value)
SELECT team, 'evidence.o', count(*) FROM evidence WHERE kind = 'output' GROUP BY team;

-- As in the first migration: what a well filled ledger looks like.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('evidence', 'evidence_id', '1000000 100000 1'),
  ('evidence', 'evidence_ref', '1000000 100000 1'),
  ('evidence', 'evidence_worker', '1000000 100000 500 1'),
  ('evidence', 'evidence_kind', '1000000 100000 10000 1'),
  ('evidence', 'evidence_task', '1000000 100000 500 1'),
  ('evidence', 'evidence_order', '1000000 100000 1'),
  ('evidence', 'evidence_file', '100000 10000 1'),
  ('evidence', 'evidence_failed', '100000 10000 1'),
  ('evidence', 'evidence_spare', '1000000 100000 500 1'),
  ('evidence', 'evidence_age', '1000000 100000 1'),
  ('evidence_kept', 'evidence_kept', '10000 1000 1'),
  ('transcripts', 'transcripts', '100000 10000 1'),
  ('transcripts', 'transcripts_closed', '100000 10000 500 1'),
  ('deliverables', 'deliverables', '100000 10000 2 1'),
  ('deliverables', 'deliverables_time', '100000 10000 1'),
  ('deliverables', 'deliverables_task', '100000 10000 2'),
  ('deliverables', 'deliverables_change', '100000 10000 1'),
  ('deliverables', 'deliverables_file', '100000 10000 1'),
  ('review_items', 'review_items_queue', '1000 100 50 20 10 1 1'),
  ('review_items', 'review_items_subject', '100000 10000 1'),
  ('review_items', 'review_items_worker', '100000 10000 2 1'),
  ('decisions', 'decisions', '100000 10000 1'),
  ('decisions', 'sqlite_autoindex_decisions_2', '100000 10000 1'),
  ('decisions', 'decisions_worker', '100000 10000 2 1'),
  ('decisions', 'decisions_subject', '100000 10000 1'),
  ('decisions', 'decisions_time', '100000 10000 1'),
  ('debt', 'debt', '10000 1000 2 1'),
  ('rules', 'rules', '100 10 1'),
  ('changes', 'changes_graded', '1000 100 1'),
  ('landings', 'landings_change', '100000 10000 1 1'),
  ('hunks', 'hunks', '1000000 100000 20 5 1'),
  ('hunks', 'hunks_path', '1000000 100000 20'),
  ('symbols', 'symbols', '1000000 100000 20 5 2 1'),
  ('symbols', 'symbols_name', '1000000 100000 20 10'),
  ('overlaps', 'overlaps', '10000 1000 5 1'),
  ('overlaps', 'overlaps_other', '10000 1000 5'),
  ('bundles', 'bundles', '10000 1000 1'),
  ('bundles', 'sqlite_autoindex_bundles_2', '10000 1000 1'),
  ('bundles', 'bundles_summarizer', '1000 100 1'),
  ('bundles', 'bundles_past', '1000 100 1'),
  ('bundles', 'bundles_file', '10000 1000 1'),
  ('bundles', 'bundles_sidecar', '10000 1000 1'),
  ('loaded', 'loaded', '10000 1000 20 5 1'),
  ('notified', 'notified', '100 10 1');
ANALYZE sqlite_schema; -- read by this connection too
