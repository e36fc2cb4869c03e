-- Reservations on their own, slots, and the line of those who wait for either. One row is one path or slot; the rows of
-- one request are granted together. A request that waits is the same rows in another state, so one look finds both.

ALTER TABLE reservations ADD COLUMN kind TEXT NOT NULL DEFAULT 'path';      -- path or slot
ALTER TABLE reservations ADD COLUMN state TEXT NOT NULL DEFAULT 'held';     -- held or waiting
ALTER TABLE reservations ADD COLUMN request TEXT NOT NULL DEFAULT '';       -- granted together; empty for a task's paths
ALTER TABLE reservations ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;        -- the place in line: an event number
ALTER TABLE reservations ADD COLUMN ttl_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reservations ADD COLUMN renewed_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reservations ADD COLUMN bound INTEGER NOT NULL DEFAULT 0;       -- it is the keeper's, not the session's
ALTER TABLE reservations ADD COLUMN keeper_pid INTEGER;                     -- the process that waits for it or keeps it
ALTER TABLE reservations ADD COLUMN keeper_started TEXT NOT NULL DEFAULT '';
ALTER TABLE reservations ADD COLUMN keeper_boot TEXT NOT NULL DEFAULT '';
ALTER TABLE reservations ADD COLUMN keeper_host TEXT NOT NULL DEFAULT '';
ALTER TABLE reservations ADD COLUMN tree TEXT NOT NULL DEFAULT '';          -- the working tree it was taken in
ALTER TABLE reservations ADD COLUMN told TEXT NOT NULL DEFAULT '';          -- agents whose waiting the holder was told of

DROP INDEX reservations_root;
CREATE INDEX reservations_root ON reservations (team, kind, root);
CREATE INDEX reservations_request ON reservations (team, request) WHERE request <> '';
CREATE INDEX reservations_ends ON reservations (team, expires_at) WHERE task IS NULL;
CREATE INDEX reservations_line ON reservations (team, turn) WHERE state = 'waiting';

-- Each with its agent and the process that answers for it: its own keeper, else its session's.
CREATE VIEW holds AS
SELECT r.team, r.id, r.kind, r.state, r.request, r.turn, r.pattern, r.root, r.mode, r.agent, r.session, r.task, r.epoch,
       r.reason, r.created_at, r.at, r.expires_at, r.ttl_ms, r.renewed_at, r.bound, r.tree, r.told, a.name,
       s.ended_at, s.heartbeat_at, s.cwd, s.branch,
       CASE WHEN r.keeper_pid IS NULL THEN s.pid ELSE r.keeper_pid END AS pid,
       CASE WHEN r.keeper_pid IS NULL THEN s.started ELSE r.keeper_started END AS started,
       CASE WHEN r.keeper_pid IS NULL THEN s.boot ELSE r.keeper_boot END AS boot,
       CASE WHEN r.keeper_pid IS NULL THEN s.host ELSE r.keeper_host END AS host
FROM reservations r JOIN agents a ON a.team = r.team AND a.id = r.agent
LEFT JOIN sessions s ON s.team = r.team AND s.id = r.session;

CREATE TABLE slots (                          -- capacities set by hand; the others stand in the settings
  team     INTEGER NOT NULL,
  name     TEXT    NOT NULL,
  capacity INTEGER NOT NULL,
  set_by   INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (team, name)
) STRICT, WITHOUT ROWID;

-- As in the migrations before: what a well filled ledger looks like.
DELETE FROM sqlite_stat1 WHERE tbl = 'reservations' AND idx = 'reservations_root';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('reservations', 'reservations_root', '100000 10000 5000 2'),
  ('reservations', 'reservations_request', '100000 10000 3'),
  ('reservations', 'reservations_ends', '100000 10000 2'),
  ('reservations', 'reservations_line', '1000 100 2'),
  ('slots', 'slots', '1000 100 1');
ANALYZE sqlite_schema;
