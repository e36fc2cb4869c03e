-- The stored definition of a team, and what its agents used: counters that a limit is compared with.
-- Costs are whole micro-units of the currency; tokens are input and output together.

ALTER TABLE teams ADD COLUMN flags    INTEGER NOT NULL DEFAULT 0;  -- what must be looked up: 1 a definition, 2 limits
ALTER TABLE teams ADD COLUMN tokens   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE teams ADD COLUMN cost     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE teams ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;  -- tokens of models without a price
ALTER TABLE teams ADD COLUMN told     INTEGER NOT NULL DEFAULT 0;  -- how far the leader was warned: 1 nearly, 2 spent

ALTER TABLE agents ADD COLUMN defined    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN model      TEXT    NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN max_tokens INTEGER;
ALTER TABLE agents ADD COLUMN max_cost   INTEGER;
ALTER TABLE agents ADD COLUMN tokens     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN cost       INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN told       INTEGER NOT NULL DEFAULT 0;

ALTER TABLE tasks ADD COLUMN max_cost INTEGER;
ALTER TABLE tasks ADD COLUMN cost     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN told     INTEGER NOT NULL DEFAULT 0;
CREATE INDEX tasks_used ON tasks (team, tokens DESC, id) WHERE tokens > 0;

UPDATE teams SET flags = 2 WHERE EXISTS (SELECT 1 FROM tasks WHERE tasks.team = teams.id AND max_tokens IS NOT NULL);

CREATE TABLE definitions (                    -- null: not said here, so the settings say it
  team             INTEGER PRIMARY KEY,
  leader           INTEGER,                   -- an agent: it may be renamed
  strict           INTEGER,
  max_tokens       INTEGER,
  max_cost         INTEGER,
  agent_max_tokens INTEGER,                   -- of every agent that has no limit of its own
  agent_max_cost   INTEGER,
  task_max_tokens  INTEGER,                   -- of every task that has no limit of its own
  task_max_cost    INTEGER,
  hard_limit       INTEGER,
  warn_percent     INTEGER
) STRICT;

CREATE TABLE group_members (
  team  INTEGER NOT NULL,
  key   TEXT    NOT NULL,                     -- the group's name folded
  agent INTEGER NOT NULL,
  name  TEXT    NOT NULL,
  PRIMARY KEY (team, key, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage (                          -- what was reported, summed by who used it for what
  team    INTEGER NOT NULL,
  agent   INTEGER NOT NULL,
  task    TEXT    NOT NULL DEFAULT '',
  model   TEXT    NOT NULL DEFAULT '',
  input   INTEGER NOT NULL DEFAULT 0,
  output  INTEGER NOT NULL DEFAULT 0,
  cost    INTEGER NOT NULL DEFAULT 0,
  reports INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (team, agent, task, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_task ON usage (team, task);

CREATE TABLE usage_meters (                   -- the last reading of a counter that only rises
  team   INTEGER NOT NULL,
  agent  INTEGER NOT NULL,
  meter  TEXT    NOT NULL,
  input  INTEGER NOT NULL,
  output INTEGER NOT NULL,
  PRIMARY KEY (team, agent, meter)
) STRICT, WITHOUT ROWID;

-- As in the first migration: what a well filled ledger looks like, so that the planner never reads a whole team.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('tasks', 'tasks_used', '100000 10000 2 1'),
  ('group_members', 'group_members', '10000 1000 20 1'),
  ('usage', 'usage', '1000000 100000 100 2 1'),
  ('usage', 'usage_task', '1000000 100000 2'),
  ('usage_meters', 'usage_meters', '100000 10000 10 1');
ANALYZE sqlite_schema; -- read by this connection too
