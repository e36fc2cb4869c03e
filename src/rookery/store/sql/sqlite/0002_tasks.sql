-- Tasks, their leases and what a claim holds; plans, reviews, claims on outside specs, review items.

CREATE TABLE tasks (
  team           INTEGER NOT NULL,
  n              INTEGER NOT NULL,
  id             TEXT    NOT NULL,            -- task-0001
  title          TEXT    NOT NULL,
  status         TEXT    NOT NULL,
  priority       INTEGER NOT NULL DEFAULT 2,
  rank           INTEGER NOT NULL DEFAULT 1,  -- longest chain of tasks that wait for it, itself included
  plan           TEXT,
  kind           TEXT    NOT NULL DEFAULT '',
  milestone      INTEGER NOT NULL DEFAULT 0,
  assignee       INTEGER,                     -- only this agent may claim it (until assigned_until, if that is set)
  assigned_until INTEGER,
  created_by     INTEGER NOT NULL,
  holder         INTEGER,                     -- of the last lease, kept until someone claims anew
  session        TEXT,
  epoch          INTEGER NOT NULL DEFAULT 0,
  lease_until    INTEGER,
  ttl_ms         INTEGER,
  renewed_at     INTEGER,                     -- when its holder last took or renewed it
  attempts       INTEGER NOT NULL DEFAULT 0,
  why            TEXT    NOT NULL DEFAULT '', -- the reason someone gave for a block
  review         TEXT    NOT NULL DEFAULT '', -- '', wanted, pending, SHIP, NEEDS_WORK, MAJOR_RETHINK
  rounds         INTEGER NOT NULL DEFAULT 0,
  author         INTEGER,                     -- who completed it
  created_at     INTEGER NOT NULL,
  at             INTEGER NOT NULL,
  started        INTEGER,                     -- wall clock, for people
  ended          INTEGER,
  max_tokens     INTEGER,
  tokens         INTEGER NOT NULL DEFAULT 0,
  resources      TEXT    NOT NULL DEFAULT '[]',
  result         TEXT    NOT NULL DEFAULT '{}',
  description    TEXT    NOT NULL DEFAULT '',
  spec           TEXT    NOT NULL DEFAULT '',
  PRIMARY KEY (team, id)
) STRICT;
CREATE INDEX tasks_order ON tasks (team, status, priority DESC, rank DESC, n);
CREATE INDEX tasks_leases ON tasks (team, lease_until) WHERE status = 'in_progress';
CREATE INDEX tasks_held ON tasks (team, holder) WHERE status = 'in_progress';
CREATE INDEX tasks_plan ON tasks (team, plan, status) WHERE plan IS NOT NULL;
CREATE INDEX tasks_judged ON tasks (team, plan) WHERE review = 'pending';
CREATE INDEX tasks_number ON tasks (team, n);

CREATE TABLE task_deps (
  team INTEGER NOT NULL,
  task TEXT    NOT NULL,
  dep  TEXT    NOT NULL,
  PRIMARY KEY (team, task, dep)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_deps_back ON task_deps (team, dep, task);

CREATE TABLE task_log (                       -- dated notes: progress, blocks, failures, reviews
  team INTEGER NOT NULL,
  task TEXT    NOT NULL,
  seq  INTEGER NOT NULL,
  at   INTEGER NOT NULL,
  kind TEXT    NOT NULL,
  by   TEXT    NOT NULL,
  note TEXT    NOT NULL,
  PRIMARY KEY (team, task, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE reviews (
  team     INTEGER NOT NULL,
  task     TEXT    NOT NULL,
  epoch    INTEGER NOT NULL,                  -- of the completion that was judged
  reviewer INTEGER NOT NULL,
  verdict  TEXT    NOT NULL,
  feedback TEXT    NOT NULL DEFAULT '',
  revision TEXT    NOT NULL DEFAULT '',       -- the commit that was judged
  at       INTEGER NOT NULL,
  PRIMARY KEY (team, task, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE plans (
  team       INTEGER NOT NULL,
  id         TEXT    NOT NULL,
  goal       TEXT    NOT NULL,
  spec       TEXT    NOT NULL DEFAULT '',
  owner      INTEGER NOT NULL,
  status     TEXT    NOT NULL DEFAULT 'active',
  strict     INTEGER NOT NULL DEFAULT 1,      -- dependencies bind; otherwise they only advise
  review     INTEGER NOT NULL DEFAULT 0,      -- its tasks are reviewed before their dependents start
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (team, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE spec_claims (                    -- work claimed in someone else's document
  team       INTEGER NOT NULL,
  spec       TEXT    NOT NULL,
  item       TEXT    NOT NULL,
  agent      INTEGER NOT NULL,
  session    TEXT,
  reason     TEXT    NOT NULL DEFAULT '',
  claimed_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  ended      INTEGER,
  summary    TEXT,
  PRIMARY KEY (team, spec, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX spec_claims_agent ON spec_claims (team, agent) WHERE ended IS NULL;

CREATE TABLE reservations (
  team       INTEGER NOT NULL,
  id         TEXT    NOT NULL,
  pattern    TEXT    NOT NULL,
  root       TEXT    NOT NULL,                -- the literal path before the first wildcard
  mode       TEXT    NOT NULL DEFAULT 'exclusive',
  agent      INTEGER NOT NULL,
  session    TEXT,
  task       TEXT,
  epoch      INTEGER NOT NULL DEFAULT 0,
  reason     TEXT    NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (team, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_root ON reservations (team, root);
CREATE INDEX reservations_task ON reservations (team, task) WHERE task IS NOT NULL;
CREATE INDEX reservations_agent ON reservations (team, agent);

CREATE TABLE review_items (                   -- what needs a person or an owner
  team       INTEGER NOT NULL,
  id         TEXT    NOT NULL,
  kind       TEXT    NOT NULL,                -- question, failure, result
  ref        TEXT    NOT NULL,
  title      TEXT    NOT NULL,
  detail     TEXT    NOT NULL DEFAULT '',
  asked_by   INTEGER NOT NULL,
  asked_of   INTEGER NOT NULL,
  state      TEXT    NOT NULL DEFAULT 'open',
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (team, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX review_items_open ON review_items (team, state, created_at);
CREATE INDEX review_items_ref ON review_items (team, ref);

-- As in the first migration: what a well filled ledger looks like, so that the planner never reads a whole team.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('tasks', 'sqlite_autoindex_tasks_1', '1000000 100000 1'),
  ('tasks', 'tasks_order', '1000000 100000 20000 5000 500 1'),
  ('tasks', 'tasks_leases', '10000 1000 2'),
  ('tasks', 'tasks_held', '10000 1000 2'),
  ('tasks', 'tasks_plan', '500000 50000 500 100'),
  ('tasks', 'tasks_judged', '1000 100 10'),
  ('tasks', 'tasks_number', '1000000 100000 1'),
  ('task_deps', 'task_deps', '1000000 100000 2 1'),
  ('task_deps', 'task_deps_back', '1000000 100000 2 1'),
  ('task_log', 'task_log', '1000000 100000 5 1'),
  ('reviews', 'reviews', '100000 10000 2 1'),
  ('plans', 'plans', '10000 1000 1'),
  ('spec_claims', 'spec_claims', '10000 1000 100 1'),
  ('spec_claims', 'spec_claims_agent', '1000 100 1'),
  ('reservations', 'reservations', '100000 10000 1'),
  ('reservations', 'reservations_root', '100000 10000 2'),
  ('reservations', 'reservations_task', '100000 10000 3'),
  ('reservations', 'reservations_agent', '100000 10000 10'),
  ('review_items', 'review_items', '100000 10000 1'),
  ('review_items', 'review_items_open', '100000 10000 100 1'),
  ('review_items', 'review_items_ref', '100000 10000 2');
ANALYZE sqlite_schema; -- read by this connection too
