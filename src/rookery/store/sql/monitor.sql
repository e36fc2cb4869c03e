-- How sessions are: what a watcher of this machine looks at, and what was told.

-- name: store_teams_watched
-- Teams in which an agent of this machine has a process.
SELECT t.name FROM teams t WHERE EXISTS (
  SELECT 1 FROM agents a JOIN sessions s ON s.team = a.team AND s.id = a.session
  WHERE a.team = t.id AND s.host = :host AND s.pid IS NOT NULL
    AND (s.ended_at IS NULL OR (s.end_reason = 'died' AND s.ended_at > :since)))
ORDER BY t.id;

-- name: watched
-- The sessions of this machine that have a process, and those that were found dead a while ago, with all that is known.
SELECT a.id, a.name, a.key, a.role, a.is_human, a.epoch, a.session, a.left_at, s.pid, s.started, s.boot, s.host, s.cwd,
       s.branch, s.model, s.program, s.spec, s.coordination, s.heartbeat_at, s.activity_at, s.joined_at, s.ended_at,
       s.end_reason, s.task, s.stuck_told, coalesce(t.host, '') AS agent_program, coalesce(t.phase, '') AS phase,
       coalesce(t.phase_at, 0) AS phase_at, coalesce(t.gate, '') AS gate, coalesce(e.address, '') AS terminal,
       v.session AS seen_session, v.cpu, v.memory, coalesce(v.finding, '') AS finding,
       coalesce(v.moved_at, 0) AS moved_at, coalesce(v.mailed, '') AS mailed, coalesce(v.mailed_at, 0) AS mailed_at,
       (SELECT k.id FROM tasks k WHERE k.team = a.team AND k.holder = a.id AND k.status = 'in_progress' LIMIT 1) AS held,
       EXISTS (SELECT 1 FROM runs r WHERE r.team = a.team AND r.session = a.session AND r.session <> '') AS supervised
FROM agents a JOIN sessions s ON s.team = a.team AND s.id = a.session
LEFT JOIN turns t ON t.team = a.team AND t.session = a.session
LEFT JOIN endpoints e ON e.team = a.team AND e.agent = a.id AND e.channel = 'terminal' AND e.session = a.session
LEFT JOIN vitals v ON v.team = a.team AND v.agent = a.id
WHERE a.team = :team AND a.is_human = 0 AND s.host = :host AND s.pid IS NOT NULL
  AND (s.ended_at IS NULL OR (s.end_reason = 'died' AND s.ended_at > :since))
ORDER BY a.id LIMIT :limit;

-- name: put_vitals
-- What was seen and what was told, of this session from now on.
INSERT INTO vitals (team, agent, session, cpu, memory, finding, moved_at, mailed, mailed_at)
VALUES (:team, :agent, :session, :cpu, :memory, :finding, :moved_at, :mailed, :mailed_at)
ON CONFLICT (team, agent) DO UPDATE SET session = excluded.session, cpu = excluded.cpu, memory = excluded.memory,
  finding = excluded.finding, moved_at = excluded.moved_at, mailed = excluded.mailed,
  mailed_at = excluded.mailed_at;

-- name: vitals_shown
-- What is known of each agent's present session besides its own word.
SELECT a.id AS agent, coalesce(t.phase, '') AS phase, coalesce(t.gate, '') AS gate, v.cpu, v.memory,
       coalesce(v.finding, '') AS finding
FROM agents a LEFT JOIN turns t ON t.team = a.team AND t.session = a.session
LEFT JOIN vitals v ON v.team = a.team AND v.agent = a.id AND v.session = a.session
WHERE a.team = :team AND a.session IS NOT NULL;

-- name: open_review_item
-- What is asked about something, and not settled.
SELECT id, title FROM review_items WHERE team = :team AND ref = :ref AND state = 'open' LIMIT 1;

-- name: asking_mail
-- Mail that wants an answer from an agent, and has none.
SELECT d.message AS n, m.id, m.sender, m.thread, m.subject, m.type, m.label, m.priority, m.body, m.payload, m.context,
       m.attachments, m.tags, m.grp, m.expires_at, s.name AS sender_name
FROM deliveries d JOIN messages m ON m.n = d.message JOIN agents s ON s.team = m.team AND s.id = m.sender
WHERE d.team = :team AND d.agent = :agent AND d.state IN ('unread', 'read') AND d.answered_at IS NULL AND m.asks = 1
  AND (d.expires_at IS NULL OR d.expires_at > :now) AND m.type <> 'escalation'
ORDER BY d.message LIMIT :limit;

-- name: retrying
-- Ways that were tried in vain since they last worked, and those that rest.
SELECT a.name, e.channel, e.tries, e.failures, e.open_until, e.reason, e.detail,
       (SELECT min(x.at) FROM attempts x WHERE x.team = e.team AND x.agent = e.agent AND x.channel = e.channel
          AND x.made_at > e.used_at) AS oldest
FROM endpoints e JOIN agents a ON a.team = e.team AND a.id = e.agent
WHERE e.team = :team AND (e.tries > 0 OR e.open_until > 0) AND (e.session = '' OR e.session = a.session)
ORDER BY a.name, e.channel LIMIT :limit;
