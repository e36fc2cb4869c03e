-- Agents and their sessions.

-- name: agent_by_key
-- An agent with its newest session.
SELECT a.id, a.name, a.key, a.role, a.is_human, a.epoch, a.session, a.created_at, a.left_at,
       s.pid, s.started, s.boot, s.host, s.cwd, s.branch, s.model, s.program, s.heartbeat_at, s.activity_at, s.joined_at,
       s.ended_at, s.coordination, s.sent
FROM agents a LEFT JOIN sessions s ON s.team = a.team AND s.id = a.session
WHERE a.team = :team AND a.key = :key;

-- name: agent_by_session
-- The agent a session was for, whether or not it still is. `due`: has half the time of anything it holds gone by?
SELECT a.id, a.name, a.key, a.role, a.is_human, a.epoch, a.session, a.created_at, a.left_at,
       s.id AS asked, s.end_reason, s.pid, s.started, s.boot, s.host, s.cwd, s.branch, s.model, s.program,
       s.heartbeat_at, s.activity_at, s.joined_at, s.ended_at, s.coordination, s.sent,
       EXISTS (SELECT 1 FROM tasks t WHERE t.team = s.team AND t.holder = s.agent AND t.status = 'in_progress'
               AND t.lease_until < :now + t.ttl_ms / 2)
       OR EXISTS (SELECT 1 FROM reservations r WHERE r.team = s.team AND r.agent = s.agent AND r.task IS NULL
                  AND r.expires_at < :now + r.ttl_ms / 2) AS due
FROM sessions s JOIN agents a ON a.team = s.team AND a.id = s.agent
WHERE s.team = :team AND s.id = :session;

-- name: sessions_of_process
-- Which sessions a process was bound to, newest first.
SELECT s.id, s.ended_at, s.end_reason, a.name, a.session FROM sessions s
JOIN agents a ON a.team = s.team AND a.id = s.agent
WHERE s.team = :team AND s.pid = :pid AND s.boot = :boot AND s.started = :started AND s.host = :host
ORDER BY s.joined_at DESC, s.id DESC LIMIT 20;

-- name: agent_names
-- Names to suggest when one is unknown.
SELECT name FROM agents WHERE team = :team ORDER BY id DESC LIMIT 1000;

-- name: agent_roles
-- Roles to suggest when one is unknown.
SELECT DISTINCT role FROM agents WHERE team = :team AND role <> '' AND left_at IS NULL;

-- name: agents_of_group
-- Agents whose address lies in a group.
SELECT id, name FROM agents WHERE team = :team AND key >= :low AND key < :high ORDER BY id;

-- name: agents_expected
-- Everyone who has not said goodbye.
SELECT id, name FROM agents WHERE team = :team AND left_at IS NULL AND is_human = 0 ORDER BY id;

-- name: new_agent
-- A durable address, from its first mail or its first join on.
INSERT INTO agents (team, id, name, key, role, is_human, created_at)
SELECT :team, coalesce(max(id), 0) + 1, :name, :key, :role, :is_human, :now FROM agents WHERE team = :team
RETURNING id;

-- name: new_session
-- One run of an agent.
INSERT INTO sessions (team, id, agent, epoch, program, pid, started, boot, host, cwd, branch, model, spec, coordination,
                      joined_at, at, heartbeat_at, activity_at)
VALUES (:team, :id, :agent, :epoch, :program, :pid, :started, :boot, :host, :cwd, :branch, :model, :spec, :coordination,
        :now, :at, :now, :now);

-- name: bind_session
-- Fence: only whoever saw the current epoch may raise it.
UPDATE agents SET session = :session, epoch = :epoch + 1, left_at = NULL,
  role = CASE WHEN :role = '' THEN role ELSE :role END, is_human = :is_human
WHERE team = :team AND id = :id AND epoch = :epoch;

-- name: refresh_session
-- The same process joined again: what it says of itself may have changed.
UPDATE sessions SET heartbeat_at = :now, activity_at = :now,
  cwd = CASE WHEN :cwd = '' THEN cwd ELSE :cwd END, branch = CASE WHEN :branch = '' THEN branch ELSE :branch END,
  model = CASE WHEN :model = '' THEN model ELSE :model END, spec = CASE WHEN :spec = '' THEN spec ELSE :spec END
WHERE team = :team AND id = :session AND ended_at IS NULL;

-- name: end_session
-- Fence: a session ends once.
UPDATE sessions SET ended_at = :now, end_reason = :reason WHERE team = :team AND id = :session AND ended_at IS NULL;

-- name: agent_left
-- It said goodbye: broadcasts to the team pass it by until it returns.
UPDATE agents SET left_at = :now WHERE team = :team AND id = :id;

-- name: rename_agent
-- The address changes, the agent stays: its mail follows.
UPDATE agents SET name = :name, key = :key WHERE team = :team AND id = :id;

-- name: former_name
-- Who was called that before.
SELECT a.name FROM former_names f JOIN agents a ON a.team = f.team AND a.id = f.agent WHERE f.team = :team AND f.key = :key;

-- name: former_names
-- What this agent was called before.
SELECT key FROM former_names WHERE team = :team AND agent = :agent;

-- name: keep_former_name
-- Whoever looks for the old name is told the new one.
INSERT INTO former_names (team, key, agent) VALUES (:team, :key, :agent)
ON CONFLICT (team, key) DO UPDATE SET agent = excluded.agent;

-- name: forget_former_name
-- Someone lives under that name again.
DELETE FROM former_names WHERE team = :team AND key = :key;

-- name: beat
-- Every verb is a heartbeat of the session that calls it.
UPDATE sessions SET heartbeat_at = :now, activity_at = :now, stuck_told = 0
WHERE team = :team AND id = :session AND ended_at IS NULL;

-- name: beat_sent
-- The same, and the message counts against the session's budget.
UPDATE sessions SET heartbeat_at = :now, activity_at = :now, stuck_told = 0, sent = sent + :count
WHERE team = :team AND id = :session AND ended_at IS NULL;

-- name: count_sent
-- The message counts, and nothing else: who sent it is not known to live.
UPDATE sessions SET sent = sent + :count WHERE team = :team AND id = :session AND ended_at IS NULL;

-- name: heartbeat
-- Presence only: a machine's tick is not the agent's activity.
UPDATE sessions SET heartbeat_at = :now WHERE team = :team AND id = :session AND ended_at IS NULL;

-- name: set_note
-- What an agent says of itself.
UPDATE sessions SET note = :note, task = coalesce(:task, task) WHERE team = :team AND id = :session AND ended_at IS NULL;

-- name: count_stats
-- Cumulative numbers of a session.
UPDATE sessions SET tool_calls = tool_calls + :tool_calls, tokens = tokens + :tokens,
  files_modified = files_modified + :files_modified, activity_at = :now, heartbeat_at = :now, stuck_told = 0
WHERE team = :team AND id = :session AND ended_at IS NULL;

-- name: note_activity
-- A recent doing, for the status that is told automatically.
INSERT INTO activity (team, agent, seen_at, kind, target) VALUES (:team, :agent, :now, :kind, :target);

-- name: forget_activity
-- Only the recent counts.
DELETE FROM activity WHERE team = :team AND agent = :agent AND seen_at < :before;

-- name: same_activity
-- Was this very thing done a moment ago? Then the feed need not say it again.
SELECT 1 AS found FROM activity
WHERE team = :team AND agent = :agent AND seen_at >= :since AND kind = :kind AND target = :target LIMIT 1;

-- name: recent_activity
-- How often each agent did what, recently.
SELECT agent, kind, count(*) AS times FROM activity WHERE team = :team AND seen_at >= :since GROUP BY agent, kind;

-- name: present
-- Everyone with a session that has not ended, or all agents.
SELECT a.id, a.name, a.role, a.is_human, a.epoch, a.session, a.created_at, a.left_at,
       s.pid, s.started, s.boot, s.host, s.cwd, s.branch, s.model, s.program, s.spec, s.joined_at, s.heartbeat_at,
       s.activity_at, s.task, s.note, s.sent, s.tool_calls, s.tokens, s.files_modified, s.ended_at, s.coordination,
       (SELECT count(*) FROM (SELECT 1 FROM deliveries d WHERE d.team = a.team AND d.agent = a.id AND d.state = 'unread'
                              AND (d.expires_at IS NULL OR d.expires_at > :now) LIMIT 1000) AS waiting) AS unread
FROM agents a LEFT JOIN sessions s ON s.team = a.team AND s.id = a.session
WHERE a.team = :team AND (:everyone = 1 OR (a.left_at IS NULL AND s.id IS NOT NULL AND s.ended_at IS NULL))
ORDER BY a.id;

-- name: present_one
-- One agent, as among everyone.
SELECT a.id, a.name, a.role, a.is_human, a.epoch, a.session, a.created_at, a.left_at,
       s.pid, s.started, s.boot, s.host, s.cwd, s.branch, s.model, s.program, s.spec, s.joined_at, s.heartbeat_at,
       s.activity_at, s.task, s.note, s.sent, s.tool_calls, s.tokens, s.files_modified, s.ended_at, s.coordination,
       (SELECT count(*) FROM (SELECT 1 FROM deliveries d WHERE d.team = a.team AND d.agent = a.id AND d.state = 'unread'
                              AND (d.expires_at IS NULL OR d.expires_at > :now) LIMIT 1000) AS waiting) AS unread
FROM agents a LEFT JOIN sessions s ON s.team = a.team AND s.id = a.session
WHERE a.team = :team AND a.id = :agent;

-- name: newest_sessions
-- Who came last and has not ended. It looks at so many sessions and no more, however many there were.
SELECT a.id, a.name, a.session, s.pid, s.started, s.boot, s.host, s.heartbeat_at, s.ended_at
FROM (SELECT team, id, agent, pid, started, boot, host, heartbeat_at, ended_at FROM sessions
      WHERE team = :team ORDER BY id DESC LIMIT :limit) AS s
JOIN agents a ON a.team = s.team AND a.id = s.agent AND a.session = s.id
WHERE s.ended_at IS NULL AND a.left_at IS NULL
ORDER BY s.id DESC;

-- name: silent_sessions
-- Sessions of this machine that nothing was heard of and that hold nothing: has their process gone?
SELECT a.name, s.id AS session, s.pid, s.started, s.boot, s.host, s.heartbeat_at, s.ended_at
FROM agents a JOIN sessions s ON s.team = a.team AND s.id = a.session
WHERE a.team = :team AND s.ended_at IS NULL AND s.pid IS NOT NULL AND s.host = :host AND s.heartbeat_at < :before
  AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.team = a.team AND t.holder = a.id AND t.status = 'in_progress')
  AND NOT EXISTS (SELECT 1 FROM reservations r WHERE r.team = a.team AND r.agent = a.id AND r.expires_at > :now)
ORDER BY s.heartbeat_at LIMIT :limit;

-- name: stuck_candidates
-- Sessions that have work and have been silent for long, not told yet.
SELECT a.name, a.id AS agent, s.id, s.task, s.activity_at FROM sessions s
JOIN agents a ON a.team = s.team AND a.session = s.id
WHERE s.team = :team AND s.ended_at IS NULL AND s.task <> '' AND s.stuck_told = 0 AND s.activity_at < :before LIMIT 100;

-- name: told_stuck
-- Once is enough until it moves again.
UPDATE sessions SET stuck_told = 1 WHERE team = :team AND id = :session;

-- name: candidates_for_role
-- Who could take a message for a role: presence, load and shared history.
SELECT a.id, a.name, a.session, s.pid, s.started, s.boot, s.host, s.heartbeat_at, s.ended_at,
       (SELECT count(*) FROM (SELECT 1 FROM deliveries d WHERE d.team = a.team AND d.agent = a.id
          AND (d.state = 'processing' OR (d.state IN ('unread', 'read')
            AND (d.expires_at IS NULL OR d.expires_at > :now))) LIMIT 1000) AS waiting) AS load,
       (SELECT count(*) FROM (SELECT 1 FROM deliveries d WHERE d.team = a.team AND d.agent = a.id
          AND d.sender = :sender LIMIT 1000) AS shared) AS shared
FROM agents a LEFT JOIN sessions s ON s.team = a.team AND s.id = a.session
WHERE a.team = :team AND a.role = :role AND a.left_at IS NULL AND a.id <> :sender;
