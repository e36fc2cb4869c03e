-- Reservations, slots, and those who wait for either. `holds` is a view: the row, its agent, and who answers for it.

-- name: new_reservation
-- A path or slot: taken, or waited for.
INSERT INTO reservations (team, id, kind, state, request, turn, pattern, root, mode, agent, session, task, epoch, reason,
                          created_at, at, expires_at, ttl_ms, renewed_at, bound, keeper_pid, keeper_started, keeper_boot,
                          keeper_host, tree)
VALUES (:team, :id, :kind, :state, :request, :turn, :pattern, :root, :mode, :agent, :session, :task, :epoch, :reason,
        :now, :at, :expires_at, :ttl_ms, :now, :bound, :keeper_pid, :keeper_started, :keeper_boot, :keeper_host, :tree);

-- name: reservations_at
-- Paths with exactly this root.
SELECT * FROM holds WHERE team = :team AND kind = 'path' AND root = :root;

-- name: reservations_below
-- Paths whose root lies beneath a folder.
SELECT * FROM holds WHERE team = :team AND kind = 'path' AND root >= :low AND root < :high;

-- name: slot_rows
-- Who has a slot, and who waits for it.
SELECT * FROM holds WHERE team = :team AND kind = 'slot' AND root = :name ORDER BY turn, created_at, id;

-- name: request_rows
-- What was asked for together.
SELECT * FROM holds WHERE team = :team AND request = :request AND request <> '' ORDER BY id;

-- name: holds_of_agent
-- Everything an agent has or waits for, besides the paths of its tasks.
SELECT * FROM holds WHERE team = :team AND agent = :agent AND task IS NULL ORDER BY created_at, id;

-- name: paths_of_task
-- What a task holds.
SELECT * FROM holds WHERE team = :team AND task = :task;

-- name: anyone_waits
-- Mostly nobody does, and then nobody need be rung.
SELECT 1 AS found FROM reservations WHERE team = :team AND state = 'waiting' AND turn > 0 LIMIT 1;

-- name: lapsed_holds
-- Leases that are over, oldest first.
SELECT * FROM holds WHERE team = :team AND task IS NULL AND expires_at <= :now ORDER BY expires_at LIMIT :limit;

-- name: standing_holds
-- Leases that go on, for a look at whether their holders do.
SELECT * FROM holds WHERE team = :team AND task IS NULL AND expires_at > :now ORDER BY expires_at LIMIT :limit;

-- name: list_holds
-- Everything held and waited for, for people.
SELECT * FROM holds WHERE team = :team AND kind = :kind AND (:agent = 0 OR agent = :agent)
ORDER BY root, created_at, id LIMIT :limit;

-- name: anyone_holds_elsewhere
-- Is a path held in another working tree than this, or in this one by another team?
SELECT 1 AS found WHERE
  EXISTS (SELECT 1 FROM reservations WHERE kind = 'path' AND state = 'held' AND tree > '' AND tree < :tree)
  OR EXISTS (SELECT 1 FROM reservations WHERE kind = 'path' AND state = 'held' AND tree > :tree)
  OR EXISTS (SELECT 1 FROM reservations WHERE kind = 'path' AND state = 'held' AND tree IN ('', :tree) AND team < :team)
  OR EXISTS (SELECT 1 FROM reservations WHERE kind = 'path' AND state = 'held' AND tree IN ('', :tree) AND team > :team);

-- name: store_trees_at
-- Which of these folders are working trees in which something is held, and by which teams.
SELECT DISTINCT t.name AS team, r.tree FROM reservations r JOIN teams t ON t.id = r.team
WHERE r.kind = 'path' AND r.state = 'held' AND r.tree IN (SELECT value FROM json_each(:folders)) LIMIT :limit;

-- name: store_trees_below
-- Working trees beneath a folder in which something is held, and by which teams.
SELECT DISTINCT t.name AS team, r.tree FROM reservations r JOIN teams t ON t.id = r.team
WHERE r.kind = 'path' AND r.state = 'held' AND r.tree >= :low AND r.tree < :high LIMIT :limit;

-- name: grant_request
-- Its turn has come. What the session keeps is no longer the waiting process's.
UPDATE reservations SET state = 'held', turn = 0, created_at = :now, at = :at, renewed_at = :now,
  expires_at = :now + ttl_ms, keeper_pid = CASE WHEN bound = 1 THEN keeper_pid END
WHERE team = :team AND request = :request AND request <> '' AND state = 'waiting';

-- name: keep_place
-- Whoever waits says so now and then.
UPDATE reservations SET expires_at = :until
WHERE team = :team AND request = :request AND request <> '' AND state = 'waiting' AND expires_at > :now;

-- name: renew_request
-- Fence of `hold.renew`: its agent, while it is held.
UPDATE reservations SET expires_at = :now + :ttl_ms, ttl_ms = :ttl_ms, renewed_at = :now
WHERE team = :team AND request = :request AND request <> '' AND agent = :agent AND state = 'held'
  AND (expires_at > :now OR :now < renewed_at + :extensions * ttl_ms);

-- name: renew_hold
-- Asked for again: it begins anew.
UPDATE reservations SET expires_at = :now + :ttl_ms, ttl_ms = :ttl_ms, renewed_at = :now, reason = :reason
WHERE team = :team AND id = :id;

-- name: rebind_request
-- Another process keeps it from now on.
UPDATE reservations SET keeper_pid = :pid, keeper_started = :started, keeper_boot = :boot, keeper_host = :host
WHERE team = :team AND request = :request AND request <> '' AND bound = 1;

-- name: extend_hold
-- Its holder's process runs: it goes on instead of being taken.
UPDATE reservations SET expires_at = :until WHERE team = :team AND id = :id;

-- name: renew_holds
-- Anything a session does renews what it holds, once half its time is over.
UPDATE reservations SET expires_at = :now + ttl_ms, renewed_at = :now
WHERE team = :team AND agent = :agent AND session = :session AND task IS NULL AND state = 'held' AND bound = 0
  AND expires_at < :now + ttl_ms / 2 AND (expires_at > :now OR (:local = 1 AND :now < renewed_at + :extensions * ttl_ms));

-- name: move_hold
-- It passes to another agent.
UPDATE reservations SET agent = :agent, session = :session, expires_at = :now + ttl_ms, renewed_at = :now, bound = 0,
  keeper_pid = NULL, request = :request
WHERE team = :team AND id = :id;

-- name: drop_hold
-- It is free again.
DELETE FROM reservations WHERE team = :team AND id = :id;

-- name: note_told
-- The holder knows by now who waits.
UPDATE reservations SET told = :told WHERE team = :team AND id = :id;

-- name: slots
-- Capacities that were set by hand.
SELECT s.name, s.capacity, a.name AS set_by FROM slots s JOIN agents a ON a.team = s.team AND a.id = s.set_by
WHERE s.team = :team ORDER BY s.name;

-- name: slot
-- One of those capacities.
SELECT capacity FROM slots WHERE team = :team AND name = :name;

-- name: set_slot
-- A capacity by hand.
INSERT INTO slots (team, name, capacity, set_by, at) VALUES (:team, :name, :capacity, :agent, :at)
ON CONFLICT (team, name) DO UPDATE SET capacity = excluded.capacity, set_by = excluded.set_by, at = excluded.at;

-- name: unset_slot
-- Back to what the settings say.
DELETE FROM slots WHERE team = :team AND name = :name;
