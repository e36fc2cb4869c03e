-- The log: appended by every verb, read by everyone with a cursor.

-- name: append_event
-- What happened, under the team's next number.
INSERT INTO events (team, seq, at, type, actor, target, ref, preview, data, caller)
VALUES (:team, :seq, :at, :type, :actor, :target, :ref, :preview, :data, :caller);

-- name: events_after
-- What a follower has not seen yet, oldest first.
SELECT seq, at, type, actor, target, ref, preview, data, caller FROM events
WHERE team = :team AND seq > :cursor ORDER BY seq LIMIT :limit;

-- name: events_newest
-- The last events, newest first: the feed reads backwards from here.
SELECT seq, at, type, actor, target, ref, preview, data, caller FROM events
WHERE team = :team AND seq > :floor AND seq < :before ORDER BY seq DESC LIMIT :limit;

-- name: ledger_position
-- Where the log stands and how far back it reaches.
SELECT seq, horizon, swept_at FROM teams WHERE id = :team;

-- name: raise_counter
-- The next number of a kind, per team.
INSERT INTO counters (team, name, value) VALUES (:team, :name, 1)
ON CONFLICT (team, name) DO UPDATE SET value = counters.value + 1
RETURNING value;

-- name: remembered
-- The answer given before under this idempotency key, while it is kept.
SELECT digest, result FROM idempotency WHERE team = :team AND agent = :agent AND key = :key AND created_at > :after;

-- name: remember
-- Keep an answer so that a repeat gets the same one; one that is past its time makes room.
INSERT INTO idempotency (team, key, agent, digest, result, created_at)
VALUES (:team, :key, :agent, :digest, :result, :now)
ON CONFLICT (team, agent, key) DO UPDATE SET digest = excluded.digest, result = excluded.result,
  created_at = excluded.created_at;

-- name: sweep_ended
-- Note the sweep, so that the next one waits its turn.
UPDATE teams SET swept_at = :now WHERE id = :team;

-- name: sweep_idempotency
-- Keys are remembered for a while, not for ever.
DELETE FROM idempotency WHERE team = :team AND (agent, key) IN (
  SELECT agent, key FROM idempotency WHERE team = :team AND created_at <= :upto ORDER BY created_at LIMIT :limit);

-- name: sweep_events
-- Old events go, except those that tell of a message that is still kept.
DELETE FROM events WHERE team = :team AND seq <= :upto AND seq > :horizon AND NOT EXISTS (
  SELECT 1 FROM messages WHERE messages.team = events.team AND messages.id = events.ref);

-- name: sweep_boundary
-- The newest event that is both old enough and beyond the number that is kept anyway.
SELECT max(seq) AS upto FROM (
  SELECT seq FROM events WHERE team = :team AND seq > :horizon AND seq <= :newest AND at < :before ORDER BY seq LIMIT :batch
) AS old;

-- name: raise_horizon
-- From here on a cursor below the horizon is told so.
UPDATE teams SET horizon = :upto WHERE id = :team AND horizon < :upto;

-- name: team_owner
-- Which repository owns the team, and whether anything happened in it yet.
SELECT owner, owner_path, seq, horizon FROM teams WHERE id = :team;

-- name: own_team
-- The team belongs to this repository from now on.
UPDATE teams SET owner = :owner, owner_path = :path WHERE id = :team;
