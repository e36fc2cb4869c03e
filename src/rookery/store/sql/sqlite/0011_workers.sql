-- Workers: sessions that Rookery starts and watches over; their runs, questions and change sets; crews; landings.

CREATE TABLE workers (
  team        INTEGER NOT NULL,
  n           INTEGER NOT NULL,
  id          TEXT    NOT NULL,               -- w1
  agent       INTEGER NOT NULL,               -- its address; one worker an agent
  kind        TEXT    NOT NULL,
  profile     TEXT    NOT NULL DEFAULT '{}',  -- the kind as it was when the worker was made: what binds it
  host        TEXT    NOT NULL,               -- the agent program behind it
  backend     TEXT    NOT NULL,               -- tmux, pty or headless
  model       TEXT    NOT NULL DEFAULT '',
  machine     TEXT    NOT NULL,               -- where it runs: only a keeper there starts and ends it
  root        TEXT    NOT NULL,               -- the working copy it was asked for in
  tree        TEXT    NOT NULL DEFAULT '',    -- its own worktree; empty: it works in the root
  base        TEXT    NOT NULL DEFAULT '',    -- the commit its worktree began at
  task        TEXT    NOT NULL DEFAULT '',    -- what it is for now; empty while it waits in the lobby
  title       TEXT    NOT NULL DEFAULT '',
  assignment  TEXT    NOT NULL DEFAULT '',    -- in the words of whoever asked
  parent      TEXT    NOT NULL DEFAULT '',    -- the worker that asked for it
  asked_by    INTEGER NOT NULL,
  depth       INTEGER NOT NULL DEFAULT 0,
  crew        TEXT    NOT NULL DEFAULT '',
  role        TEXT    NOT NULL DEFAULT '',    -- in a crew: work, review, plan, lobby
  judges      INTEGER NOT NULL DEFAULT 0,     -- of a reviewer: the epoch of the completion it is asked about
  seed        TEXT    NOT NULL DEFAULT '',    -- the session of its program that it goes on from
  extra       TEXT    NOT NULL DEFAULT '{}',  -- what the request said besides: lenses, context, entity_refs, message
  state       TEXT    NOT NULL,               -- queued, starting, running, stopping, ended
  wish        TEXT    NOT NULL DEFAULT '',    -- '', stop, kill, respawn: what a keeper is to do next
  wish_why    TEXT    NOT NULL DEFAULT '',
  wish_at     INTEGER NOT NULL DEFAULT 0,     -- since when: how patient to be with it
  report      TEXT    NOT NULL DEFAULT '',    -- '', asking, done, failed: what it said last
  outcome     TEXT    NOT NULL DEFAULT '',    -- of done: completed, findings, proposal, no_evidence
  summary     TEXT    NOT NULL DEFAULT '',
  board       TEXT    NOT NULL DEFAULT '[]',  -- its list of steps, up to 12
  plan_ok     INTEGER NOT NULL DEFAULT 0,     -- a plan gate was opened
  run         TEXT    NOT NULL DEFAULT '',    -- its newest run
  runs        INTEGER NOT NULL DEFAULT 0,
  crashes     INTEGER NOT NULL DEFAULT 0,     -- in a row
  not_before  INTEGER NOT NULL DEFAULT 0,     -- of the next start
  nudged      INTEGER NOT NULL DEFAULT 0,     -- once told that it ended a turn without a word
  loaded_at   INTEGER,                        -- in whose context its result stands
  warned      TEXT    NOT NULL DEFAULT '',    -- what was told of its silence or its waiting
  seen_at     INTEGER NOT NULL DEFAULT 0,     -- somebody judged its result, or looked at it
  owner       TEXT    NOT NULL DEFAULT '',    -- the keeper that has it
  owned_to    INTEGER NOT NULL DEFAULT 0,
  created_at  INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  reported_at INTEGER,
  ended_at    INTEGER,
  evicted_at  INTEGER,                        -- no longer among those that are shown
  PRIMARY KEY (team, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX workers_number ON workers (team, n) WHERE evicted_at IS NULL;
CREATE UNIQUE INDEX workers_agent ON workers (team, agent);
CREATE INDEX workers_live ON workers (team, state, n) WHERE state <> 'ended';
CREATE INDEX workers_task ON workers (team, task) WHERE task <> '';
CREATE INDEX workers_crew ON workers (team, crew, state) WHERE crew <> '';
CREATE INDEX workers_parent ON workers (team, parent) WHERE parent <> '';
CREATE INDEX workers_machine ON workers (machine, team) WHERE state <> 'ended';
CREATE INDEX workers_ended ON workers (team, ended_at) WHERE state = 'ended';

CREATE TABLE runs (                           -- one start of a worker's program
  team       INTEGER NOT NULL,
  id         TEXT    NOT NULL,                -- run-...: in the environment of all its processes, so that they can be found
  worker     TEXT    NOT NULL,
  n          INTEGER NOT NULL,                -- of this worker, from 1
  token      TEXT    NOT NULL DEFAULT '',     -- token-0001: ended with the run
  session    TEXT    NOT NULL DEFAULT '',     -- the agent's, while it runs
  pid        INTEGER,
  started    TEXT    NOT NULL DEFAULT '',
  boot       TEXT    NOT NULL DEFAULT '',
  machine    TEXT    NOT NULL DEFAULT '',
  terminal   TEXT    NOT NULL DEFAULT '{}',   -- a tmux pane or a held terminal; empty for headless
  model      TEXT    NOT NULL DEFAULT '',
  input      INTEGER NOT NULL DEFAULT 0,      -- tokens
  output     INTEGER NOT NULL DEFAULT 0,
  cost       INTEGER NOT NULL DEFAULT 0,
  record     TEXT    NOT NULL DEFAULT '',     -- what was kept of it: artifact-0001 artifact-0002
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  ended_at   INTEGER,
  exit_code  INTEGER,                         -- null: it is not known
  reason     TEXT    NOT NULL DEFAULT '',     -- ended, crashed, stopped, killed, lost, not-started
  tail       TEXT    NOT NULL DEFAULT '',     -- its last lines, shortened
  PRIMARY KEY (team, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX runs_worker ON runs (team, worker, n);
CREATE INDEX runs_open ON runs (machine, boot) WHERE ended_at IS NULL;
CREATE INDEX runs_session ON runs (team, session) WHERE session <> '';

CREATE INDEX artifacts_runs ON artifacts (team, created_at) WHERE kind = 'run';

CREATE TABLE questions (                      -- what a worker asked, and the answer that is bound to it
  team       INTEGER NOT NULL,
  id         TEXT    NOT NULL,                -- q-...
  worker     TEXT    NOT NULL,
  kind       TEXT    NOT NULL DEFAULT 'ask',  -- ask, plan
  question   TEXT    NOT NULL,
  risk       TEXT    NOT NULL DEFAULT '',     -- low, medium, high
  options    TEXT    NOT NULL DEFAULT '[]',
  advice     TEXT    NOT NULL DEFAULT '',     -- what the worker recommends
  asked_of   INTEGER NOT NULL,
  item       TEXT    NOT NULL DEFAULT '',     -- its review item
  state      TEXT    NOT NULL DEFAULT 'open', -- open, answered, withdrawn
  answer     TEXT    NOT NULL DEFAULT '',
  choice     INTEGER,                         -- which option, from 1
  approved   INTEGER,                         -- of a plan: 1 or 0
  answered_by INTEGER,
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  answered_at INTEGER,
  PRIMARY KEY (team, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX questions_worker ON questions (team, worker, created_at);
CREATE INDEX questions_open ON questions (team, created_at) WHERE state = 'open';

CREATE TABLE changes (                        -- a change set: what a worktree holds when its worker reports
  team       INTEGER NOT NULL,
  id         TEXT    NOT NULL,                -- change-0001
  n          INTEGER NOT NULL,
  worker     TEXT    NOT NULL,
  task       TEXT    NOT NULL DEFAULT '',
  epoch      INTEGER NOT NULL DEFAULT 0,      -- of the task's completion
  base       TEXT    NOT NULL,                -- commit ids
  head       TEXT    NOT NULL,
  branch     TEXT    NOT NULL DEFAULT '',     -- the one it is to land on, as far as that was known
  files      TEXT    NOT NULL DEFAULT '[]',   -- [{path, added, removed, status}]: the first of them
  paths      INTEGER NOT NULL DEFAULT 0,      -- how many there are
  added      INTEGER NOT NULL DEFAULT 0,
  removed    INTEGER NOT NULL DEFAULT 0,
  checks     TEXT    NOT NULL DEFAULT '[]',   -- what was run on it, and what came of that
  patch      TEXT    NOT NULL DEFAULT '',     -- artifact-0001
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (team, n),
  UNIQUE (team, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX changes_worker ON changes (team, worker, n);
CREATE INDEX changes_task ON changes (team, task, n) WHERE task <> '';

CREATE TABLE landings (                       -- the merge queue
  team       INTEGER NOT NULL,
  id         TEXT    NOT NULL,                -- land-0001
  n          INTEGER NOT NULL,
  change     TEXT    NOT NULL,
  task       TEXT    NOT NULL DEFAULT '',
  worker     TEXT    NOT NULL,
  machine    TEXT    NOT NULL,                -- where the repository is
  root       TEXT    NOT NULL,
  branch     TEXT    NOT NULL,                -- the one that moves
  head       TEXT    NOT NULL,                -- what lands: the commit that was judged
  state      TEXT    NOT NULL,                -- queued, working, landed, failed, undoing, undone, dropped
  step       TEXT    NOT NULL DEFAULT '',     -- of one that is worked on: merging, checking, moving
  expected   TEXT    NOT NULL DEFAULT '',     -- where the branch stood, and the commit it is to move to:
  result     TEXT    NOT NULL DEFAULT '',     --   written before it moves, so that whoever goes on knows
  undo       TEXT    NOT NULL DEFAULT '',     -- the commit that takes it back
  reason     TEXT    NOT NULL DEFAULT '',     -- why it failed, or what it waits for
  told       TEXT    NOT NULL DEFAULT '',     -- what a person was told of its waiting
  log        TEXT    NOT NULL DEFAULT '',     -- artifact-0001
  tries      INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0,
  owner      TEXT    NOT NULL DEFAULT '',
  owned_to   INTEGER NOT NULL DEFAULT 0,
  asked_by   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  landed_at  INTEGER,
  PRIMARY KEY (team, n),
  UNIQUE (team, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX landings_once ON landings (team, change) WHERE state NOT IN ('undone', 'dropped');
CREATE INDEX landings_open ON landings (team, n) WHERE state IN ('queued', 'working', 'undoing');
CREATE INDEX landings_machine ON landings (machine, team) WHERE state IN ('queued', 'working', 'undoing');
CREATE INDEX landings_task ON landings (team, task) WHERE task <> '';

CREATE TABLE crews (                          -- a plan that is worked off
  team       INTEGER NOT NULL,
  id         TEXT    NOT NULL,                -- crew-0001
  n          INTEGER NOT NULL,
  plan       TEXT    NOT NULL,
  machine    TEXT    NOT NULL,
  root       TEXT    NOT NULL,
  limits     TEXT    NOT NULL DEFAULT '{}',   -- workers, lobby, attempts, tokens, cost, until
  terms      TEXT    NOT NULL DEFAULT '{}',   -- host, kinds, backend, worktree, review, land, check, autonomous
  state      TEXT    NOT NULL,                -- running, stopping, finished, stopped, failed
  why        TEXT    NOT NULL DEFAULT '',
  started_by INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  ended_at   INTEGER,
  PRIMARY KEY (team, n),
  UNIQUE (team, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX crews_plan ON crews (team, plan) WHERE state IN ('running', 'stopping');
CREATE INDEX crews_machine ON crews (machine, team) WHERE state IN ('running', 'stopping');

CREATE TABLE kinds (                          -- registered at run time; the others are files
  team    INTEGER NOT NULL,
  name    TEXT    NOT NULL,                   -- folded: unique whatever the case
  written TEXT    NOT NULL,                   -- the Markdown
  set_by  INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (team, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE spawn_asks (                     -- workers that messages asked for in the last minute: what bounds a flood
  team    INTEGER NOT NULL,
  at      INTEGER NOT NULL,                   -- ledger time
  message TEXT    NOT NULL,
  sender  INTEGER NOT NULL,
  made    INTEGER NOT NULL,                   -- how many were made; 0: it was refused
  PRIMARY KEY (team, at, message)
) STRICT, WITHOUT ROWID;

-- As in the first migration: what a well filled ledger looks like.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('workers', 'workers', '100000 10000 1'),
  ('workers', 'workers_number', '50000 5000 1'),
  ('workers', 'workers_agent', '100000 10000 1'),
  ('workers', 'workers_live', '1000 100 20 1'),
  ('workers', 'workers_task', '100000 10000 2'),
  ('workers', 'workers_crew', '100000 10000 200 50'),
  ('workers', 'workers_parent', '10000 1000 2'),
  ('workers', 'workers_machine', '1000 500 100'),
  ('workers', 'workers_ended', '100000 10000 1'),
  ('runs', 'runs', '200000 20000 1'),
  ('runs', 'runs_worker', '200000 20000 2 1'),
  ('runs', 'runs_open', '1000 500 100'),
  ('runs', 'runs_session', '200000 20000 1'),
  ('artifacts', 'artifacts_runs', '100000 10000 1'),
  ('questions', 'questions', '100000 10000 1'),
  ('questions', 'questions_worker', '100000 10000 2 1'),
  ('questions', 'questions_open', '1000 100 1'),
  ('changes', 'changes', '100000 10000 1'),
  ('changes', 'sqlite_autoindex_changes_2', '100000 10000 1'),
  ('changes', 'changes_worker', '100000 10000 2 1'),
  ('changes', 'changes_task', '100000 10000 2 1'),
  ('landings', 'landings', '100000 10000 1'),
  ('landings', 'sqlite_autoindex_landings_2', '100000 10000 1'),
  ('landings', 'landings_once', '100000 10000 1'),
  ('landings', 'landings_open', '1000 100 1'),
  ('landings', 'landings_task', '100000 10000 1'),
  ('landings', 'landings_machine', '1000 500 100'),
  ('crews', 'crews', '10000 1000 1'),
  ('crews', 'sqlite_autoindex_crews_2', '10000 1000 1'),
  ('crews', 'crews_plan', '100 10 1'),
  ('crews', 'crews_machine', '100 50 10'),
  ('kinds', 'kinds', '1000 100 1'),
  ('spawn_asks', 'spawn_asks', '1000 100 1 1');
ANALYZE sqlite_schema; -- read by this connection too
