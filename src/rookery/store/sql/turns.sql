-- What hooks know of a session, and the mail it has not seen.

-- name: turn
-- How far a session's mail was put before it.
SELECT handed_to, held_to, holds, watch, phase, gate FROM turns WHERE team = :team AND session = :session;

-- name: begin_turns
-- A session of an agent program is known by that program's name for it too.
INSERT INTO turns (team, session, host, host_id, transcript) VALUES (:team, :session, :host, :host_id, :transcript)
ON CONFLICT (team, session) DO UPDATE SET host = excluded.host, host_id = excluded.host_id,
  transcript = excluded.transcript;

-- name: hand_over
-- Cursors only go forward.
INSERT INTO turns (team, session, handed_to, held_to, holds) VALUES (:team, :session, :handed_to, :held_to, :holds)
ON CONFLICT (team, session) DO UPDATE SET
  handed_to = CASE WHEN excluded.handed_to > turns.handed_to THEN excluded.handed_to ELSE turns.handed_to END,
  held_to = CASE WHEN excluded.held_to > turns.held_to THEN excluded.held_to ELSE turns.held_to END,
  holds = excluded.holds;

-- name: set_phase
-- Where the program is, as it told last. Nothing is written where that is known already.
INSERT INTO turns (team, session, phase, gate, phase_at) VALUES (:team, :session, :phase, :gate, :now)
ON CONFLICT (team, session) DO UPDATE SET phase = excluded.phase, gate = excluded.gate, phase_at = excluded.phase_at
WHERE turns.phase <> excluded.phase OR turns.gate <> excluded.gate;

-- name: keep_watch
-- What others' files look like now.
INSERT INTO turns (team, session, watch) VALUES (:team, :session, :watch)
ON CONFLICT (team, session) DO UPDATE SET watch = excluded.watch;

-- name: agent_of_host
-- Who was last known to an agent program under its own name for the session.
SELECT a.name, t.session FROM turns t JOIN sessions s ON s.team = t.team AND s.id = t.session
JOIN agents a ON a.team = s.team AND a.id = s.agent
WHERE t.team = :team AND t.host = :host AND t.host_id = :host_id ORDER BY s.joined_at DESC LIMIT 1;

-- name: hosts_heard
-- The last sign of life of each agent program that has hooks here.
SELECT t.host, max(s.heartbeat_at) AS at FROM turns t JOIN sessions s ON s.team = t.team AND s.id = t.session
WHERE t.team = :team AND t.host <> '' GROUP BY t.host ORDER BY t.host;

-- name: mail_after
-- Unread mail that came after a message; of very much the oldest part, so that no look is long.
SELECT d.agent, d.state, d.first_contact, d.read_at, d.done_at, d.answered_at, d.n, d.priority FROM (
  SELECT agent, state, first_contact, read_at, done_at, answered_at, message AS n, priority, expires_at FROM deliveries
  WHERE team = :team AND agent = :agent AND message > :after ORDER BY message LIMIT :limit) AS d
WHERE d.state = 'unread' AND (d.expires_at IS NULL OR d.expires_at > :now) ORDER BY d.priority DESC, d.n;

-- name: unanswered_after
-- Open mail that is urgent or asks for an answer, the same way.
SELECT d.agent, d.state, d.first_contact, d.read_at, d.done_at, d.answered_at, d.n, d.priority FROM (
  SELECT agent, state, first_contact, read_at, done_at, answered_at, message AS n, priority, expires_at FROM deliveries
  WHERE team = :team AND agent = :agent AND message > :after ORDER BY message LIMIT :limit) AS d
JOIN messages m ON m.n = d.n
WHERE d.state IN ('unread', 'read') AND (d.expires_at IS NULL OR d.expires_at > :now) AND d.answered_at IS NULL
  AND (m.asks = 1 OR d.priority >= :urgent) ORDER BY d.priority DESC, d.n;

-- name: unanswered
-- The same of all that is open.
SELECT d.agent, d.state, d.first_contact, d.read_at, d.done_at, d.answered_at, d.message AS n, d.priority
FROM deliveries d JOIN messages m ON m.n = d.message
WHERE d.team = :team AND d.agent = :agent AND d.state IN ('unread', 'read')
  AND (d.expires_at IS NULL OR d.expires_at > :now) AND d.answered_at IS NULL AND (m.asks = 1 OR d.priority >= :urgent)
ORDER BY d.priority DESC, d.message LIMIT :limit;

-- name: newest_delivery
-- The last message that came to an agent.
SELECT max(message) AS n FROM deliveries WHERE team = :team AND agent = :agent;

-- name: last_looked_at
-- The last message of such a part.
SELECT max(n) AS n FROM (SELECT message AS n FROM deliveries
  WHERE team = :team AND agent = :agent AND message > :after ORDER BY message LIMIT :limit) AS looked;
