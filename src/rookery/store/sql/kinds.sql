-- Kinds of workers: those that were registered at run time, and what binds a worker.

-- name: kind_of_worker
-- What binds an agent that is a worker, while it is one.
SELECT id, kind, profile, plan_ok, depth FROM workers WHERE team = :team AND agent = :agent AND state <> 'ended';

-- name: registered_kind
-- One that was registered here.
SELECT kinds.name, kinds.written, kinds.at, agents.name AS set_by FROM kinds
LEFT JOIN agents ON agents.team = kinds.team AND agents.id = kinds.set_by
WHERE kinds.team = :team AND kinds.name = :key;

-- name: registered_kinds
-- All of them.
SELECT kinds.name, kinds.written, kinds.at, agents.name AS set_by FROM kinds
LEFT JOIN agents ON agents.team = kinds.team AND agents.id = kinds.set_by
WHERE kinds.team = :team ORDER BY kinds.name;

-- name: register_kind
-- Anew, or in the place of the one that has that name.
INSERT INTO kinds (team, name, written, set_by, at) VALUES (:team, :key, :written, :set_by, :at)
ON CONFLICT (team, name) DO UPDATE SET written = excluded.written, set_by = excluded.set_by, at = excluded.at;

-- name: drop_kind
-- The file of that name holds again, if there is one.
DELETE FROM kinds WHERE team = :team AND name = :key;

-- name: worker_kind
-- What an agent was made as, if it is a worker, or was one.
SELECT kind FROM workers WHERE team = :team AND agent = :agent;

-- name: spawn_asks_since
-- What messages asked for lately: how many were made of it, and whether this sender was refused.
SELECT coalesce(sum(made), 0) AS made, coalesce(sum(made = 0 AND sender = :sender), 0) AS refused
FROM spawn_asks WHERE team = :team AND at > :after;

-- name: note_spawn_ask
-- One of them.
INSERT INTO spawn_asks (team, at, message, sender, made) VALUES (:team, :now, :message, :sender, :made)
ON CONFLICT DO NOTHING;

-- name: forget_spawn_asks
-- Those that no longer count.
DELETE FROM spawn_asks WHERE team = :team AND at <= :before;

-- name: kind_of_worker_id
-- The same of a worker, live or not.
SELECT id, kind, profile, plan_ok, depth FROM workers WHERE team = :team AND id = :id;
