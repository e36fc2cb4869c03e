-- Who calls from which process, and settings that only the user changes.

-- name: store_program
-- Is this process an agent program that this store has seen? Asked of every process above a caller.
SELECT how, above FROM programs WHERE host = :host AND boot = :boot AND pid = :pid AND started = :started;

-- name: store_note_program
-- An agent program, seen for the first time.
INSERT INTO programs (host, boot, pid, started, how, above, seen_at)
VALUES (:host, :boot, :pid, :started, :how, :above, :now)
ON CONFLICT (host, boot, pid, started) DO NOTHING;

-- name: store_drop_programs
-- Programs of earlier boots of this machine: none of them runs any more.
DELETE FROM programs WHERE host = :host AND boot <> :boot;

-- name: store_run
-- The worker that a run marker names, in whatever team.
SELECT r.id, r.worker, r.pid, r.started, r.team = :team AS here, a.name AS agent FROM runs r
JOIN workers w ON w.team = r.team AND w.id = r.worker LEFT JOIN agents a ON a.team = w.team AND a.id = w.agent
WHERE r.id = :id LIMIT 1;

-- name: store_setting
-- A setting of the store itself.
SELECT value FROM store_settings WHERE name = :name;

-- name: store_put_setting
-- Set by the user, for all teams.
INSERT INTO store_settings (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: store_is_new
-- Has nothing happened yet in any team of this store, and no agent program been seen?
SELECT NOT EXISTS (SELECT 1 FROM teams WHERE seq > 0) AND NOT EXISTS (SELECT 1 FROM programs) AS fresh;

-- name: sessions_of_agent
-- The processes that sessions of this agent were bound to, newest first.
SELECT pid, started, boot, host FROM sessions WHERE team = :team AND agent = :agent AND pid IS NOT NULL
ORDER BY joined_at DESC LIMIT 50;

-- name: agent_is_vouched_for
-- Does a process of some machine, a worker or a token stand for this agent? Sessions over HTTP have no machine.
SELECT EXISTS (SELECT 1 FROM sessions WHERE team = :team AND agent = :agent AND host <> '' AND host NOT LIKE 'http:%')
    OR EXISTS (SELECT 1 FROM workers WHERE team = :team AND agent = :agent)
    OR EXISTS (SELECT 1 FROM tokens WHERE team = :team AND agent = :agent AND revoked_at IS NULL
               AND (expires_at IS NULL OR expires_at > :now)) AS vouched;

-- name: recent_refusal
-- The same attempt by the same agent a moment ago: recorded once, not in every turn of a loop.
SELECT seq FROM events WHERE team = :team AND seq > :floor AND type = 'authority.refused' AND actor = :actor
AND ref = :ref AND target = :target AND at > :since ORDER BY seq DESC LIMIT 1;
