-- How mail reaches whoever does not ask for it: what waits, what was tried, what was given up.

-- name: reachable
-- Every agent with a way to it and mail it was not shown. Two looks, as in `turns`: before anything was handed over the
-- inbox is short, later what came since is.
SELECT a.id, a.name, a.is_human, a.session, a.left_at, s.pid, s.started, s.boot, s.host, s.heartbeat_at, s.ended_at,
       coalesce(t.host, '') AS program, coalesce(s.program, '') AS ran,
       coalesce(t.transcript, '') AS transcript,
       coalesce(t.phase, '') AS phase, coalesce(t.phase_at, 0) AS phase_at,
       coalesce(t.gate, '') AS gate, coalesce(t.handed_to, 0) AS handed_to
FROM (SELECT DISTINCT agent FROM endpoints WHERE team = :team AND (:agent = 0 OR agent = :agent)) AS e
CROSS JOIN agents a ON a.team = :team AND a.id = e.agent
LEFT JOIN sessions s ON s.team = a.team AND s.id = a.session
LEFT JOIN turns t ON t.team = a.team AND t.session = coalesce(a.session, 'agent:' || a.id)
WHERE CASE WHEN coalesce(t.handed_to, 0) = 0 THEN EXISTS (
        SELECT 1 FROM deliveries d WHERE d.team = a.team AND d.agent = a.id AND d.state = 'unread'
          AND (d.expires_at IS NULL OR d.expires_at > :now)
          AND NOT EXISTS (SELECT 1 FROM dead_letters x WHERE x.team = d.team AND x.agent = d.agent
                          AND x.message = d.message AND x.state IN ('dead', 'dropped')))
      ELSE EXISTS (
        SELECT 1 FROM deliveries d WHERE d.team = a.team AND d.agent = a.id AND d.message > t.handed_to
          AND d.state = 'unread' AND (d.expires_at IS NULL OR d.expires_at > :now)
          AND NOT EXISTS (SELECT 1 FROM dead_letters x WHERE x.team = d.team AND x.agent = d.agent
                          AND x.message = d.message AND x.state IN ('dead', 'dropped'))) END
ORDER BY a.id LIMIT :limit;

-- name: oldest_pending
-- The first message that an agent was not shown, and how many there are (counted up to a limit).
SELECT min(p.message) AS first, max(p.message) AS last, count(*) AS waiting, max(p.priority) AS priority,
       min(p.created_at) AS since
FROM (SELECT d.message, d.priority, m.created_at FROM deliveries d JOIN messages m ON m.n = d.message
      WHERE d.team = :team AND d.agent = :agent AND d.message > :after AND d.state = 'unread'
        AND (d.expires_at IS NULL OR d.expires_at > :now)
        AND NOT EXISTS (SELECT 1 FROM dead_letters x WHERE x.team = d.team AND x.agent = d.agent
                        AND x.message = d.message AND x.state IN ('dead', 'dropped'))
      ORDER BY d.message LIMIT :limit) AS p;

-- name: endpoints_of
-- The ways to an agent: those of its present session, and those that settings gave it.
SELECT e.* FROM endpoints e JOIN agents a ON a.team = e.team AND a.id = e.agent
WHERE e.team = :team AND e.agent = :agent AND (e.session = '' OR e.session = a.session);

-- name: ways_to
-- The same, with how its session is: what `send` tells.
SELECT e.channel, e.address, e.host, e.boot, e.next_at, e.failures, e.open_until, coalesce(t.phase, '') AS phase,
       coalesce(t.host, '') AS program
FROM endpoints e JOIN agents a ON a.team = e.team AND a.id = e.agent
LEFT JOIN turns t ON t.team = e.team AND t.session = a.session
WHERE e.team = :team AND e.agent = :agent AND (e.session = '' OR e.session = a.session);

-- name: own_endpoint
-- Fence: one deliverer at a time. Whoever has it may keep it; one that is not heard of has lost it.
UPDATE endpoints SET owner = :owner, owned_to = :until
WHERE team = :team AND agent = :agent AND channel = :channel AND (owner = '' OR owner = :owner OR owned_to <= :now);

-- name: other_owner
-- Does anyone else deliver to this agent, by whichever way?
SELECT owner FROM endpoints WHERE team = :team AND agent = :agent AND owner <> '' AND owner <> :owner AND owned_to > :now
LIMIT 1;

-- name: leave_endpoint
-- Done here, for now.
UPDATE endpoints SET owner = '', owned_to = 0
WHERE team = :team AND agent = :agent AND channel = :channel AND owner = :owner;

-- name: endpoint_worked
-- It was used, and it works.
UPDATE endpoints SET tries = 0, next_at = 0, failures = 0, open_until = 0, reason = '', detail = '', used_at = :now
WHERE team = :team AND agent = :agent AND channel = :channel;

-- name: endpoint_failed
-- It was used, and nothing was handed over.
UPDATE endpoints SET tries = :tries, next_at = :next_at, failures = :failures, open_until = :open_until,
  reason = :reason, detail = :detail
WHERE team = :team AND agent = :agent AND channel = :channel;

-- name: endpoint_again
-- Tried at once, whatever was before.
UPDATE endpoints SET tries = 0, next_at = 0, failures = 0, open_until = 0 WHERE team = :team AND agent = :agent;

-- name: set_endpoint
-- A way that settings give an agent.
INSERT INTO endpoints (team, agent, channel, address, host, boot) VALUES (:team, :agent, :channel, :address, :host, :boot)
ON CONFLICT (team, agent, channel) DO UPDATE SET address = excluded.address, host = excluded.host, boot = excluded.boot;

-- name: settled_endpoints
-- Those that settings gave.
SELECT e.agent, e.channel, a.name FROM endpoints e JOIN agents a ON a.team = e.team AND a.id = e.agent
WHERE e.team = :team AND e.session = '' AND e.host = :host;

-- name: drop_endpoint
-- It is no longer there.
DELETE FROM endpoints WHERE team = :team AND agent = :agent AND channel = :channel AND session = :session;

-- name: note_attempt
-- A try that did not succeed, and the mail it was about.
INSERT INTO attempts (team, agent, n, made_at, at, channel, reason, detail, counts, after_n, upto_n)
SELECT :team, :agent, coalesce(max(n), 0) + 1, :now, :at, :channel, :reason, :detail, :counts, :after_n, :upto_n
FROM attempts WHERE team = :team AND agent = :agent;

-- name: worn_out
-- Mail up to here was tried so often: the failure so many back was about it too, and every one since.
SELECT upto_n FROM attempts WHERE team = :team AND agent = :agent AND counts = 1 AND upto_n > :after AND made_at >= :since
ORDER BY n DESC LIMIT 1 OFFSET :others;

-- name: attempts_on
-- What was tried for one message.
SELECT at, channel, reason, detail, counts FROM attempts
WHERE team = :team AND agent = :agent AND after_n < :message AND upto_n >= :message ORDER BY n LIMIT :limit;

-- name: count_attempts
-- How often.
SELECT count(*) AS times FROM attempts
WHERE team = :team AND agent = :agent AND after_n < :message AND upto_n >= :message AND made_at >= :since;

-- name: fresh_since
-- When tries for an agent were last begun anew.
SELECT max(dead_at) AS at FROM dead_letters WHERE team = :team AND agent = :agent AND state = 'resent';

-- name: sweep_attempts
-- Tries are kept for a while, and while a dead letter speaks of them.
DELETE FROM attempts WHERE team = :team AND (agent, n) IN (
  SELECT t.agent, t.n FROM attempts t WHERE t.team = :team AND t.made_at < :before AND NOT EXISTS (
    SELECT 1 FROM dead_letters x WHERE x.team = t.team AND x.agent = t.agent AND x.state = 'dead'
      AND x.message > t.after_n AND x.message <= t.upto_n) LIMIT :limit);

-- name: pending_upto
-- What an agent was not shown, up to a message.
SELECT d.message AS n, m.id, m.asks, m.subject, m.sender, s.name AS sender_name, m.created_at FROM deliveries d
JOIN messages m ON m.n = d.message JOIN agents s ON s.team = m.team AND s.id = m.sender
WHERE d.team = :team AND d.agent = :agent AND d.message > :after AND d.message <= :upto AND d.state = 'unread'
  AND (d.expires_at IS NULL OR d.expires_at > :now)
  AND NOT EXISTS (SELECT 1 FROM dead_letters x WHERE x.team = d.team AND x.agent = d.agent
                  AND x.message = d.message AND x.state IN ('dead', 'dropped'))
ORDER BY d.message LIMIT :limit;

-- name: bury
-- Nobody is woken for it any more.
INSERT INTO dead_letters (team, agent, message, reason, attempts, dead_at, at)
VALUES (:team, :agent, :message, :reason, :attempts, :now, :at)
ON CONFLICT (team, agent, message) DO UPDATE SET state = 'dead', reason = excluded.reason,
  attempts = excluded.attempts, dead_at = excluded.dead_at, at = excluded.at;

-- name: dead_letters
-- Those that nobody settled, the newest first.
SELECT x.message, x.agent, x.state, x.reason, x.attempts, x.at, a.name AS recipient, m.id, m.subject, s.name AS sender
FROM dead_letters x JOIN messages m ON m.n = x.message JOIN agents a ON a.team = x.team AND a.id = x.agent
JOIN agents s ON s.team = m.team AND s.id = m.sender
WHERE x.team = :team AND x.state = 'dead' ORDER BY x.dead_at DESC, x.message DESC LIMIT :limit;

-- name: all_dead_letters
-- Also those that were resent, dropped or came through.
SELECT x.message, x.agent, x.state, x.reason, x.attempts, x.at, a.name AS recipient, m.id, m.subject, s.name AS sender
FROM dead_letters x JOIN messages m ON m.n = x.message JOIN agents a ON a.team = x.team AND a.id = x.agent
JOIN agents s ON s.team = m.team AND s.id = m.sender
WHERE x.team = :team ORDER BY x.dead_at DESC, x.message DESC LIMIT :limit;

-- name: dead_letter
-- Every mailbox in which a message is dead.
SELECT x.message, x.agent, x.state, x.reason, x.attempts, x.at, a.name AS recipient, m.id, m.subject, s.name AS sender
FROM messages m CROSS JOIN deliveries d ON d.team = m.team AND d.message = m.n
CROSS JOIN dead_letters x ON x.team = d.team AND x.agent = d.agent AND x.message = d.message
JOIN agents a ON a.team = x.team AND a.id = x.agent JOIN agents s ON s.team = m.team AND s.id = m.sender
WHERE m.team = :team AND m.id = :id AND (:agent = 0 OR x.agent = :agent) ORDER BY a.name;

-- name: settle_dead
-- Fence: a dead letter is settled once.
UPDATE dead_letters SET state = :state, dead_at = :now WHERE team = :team AND agent = :agent AND message = :message AND state = 'dead';

-- name: dead_reached
-- It came with the next mail after all.
UPDATE dead_letters SET state = 'reached' WHERE team = :team AND agent = :agent AND message <= :upto AND state = 'dead';

-- name: unannounced
-- How much mail between two messages was never put before its reader.
SELECT count(*) AS waiting FROM deliveries d
WHERE d.team = :team AND d.agent = :agent AND d.message > :after AND d.message <= :upto AND d.state = 'unread'
  AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.team = d.team AND r.message = d.message AND r.agent = d.agent
                  AND r.stage IN ('handed-over', 'announced'));

-- name: announce
-- It was counted in what was put before its reader, without its text.
INSERT INTO receipts (team, message, agent, seq, at, stage, channel, detail)
SELECT d.team, d.message, d.agent, :seq, :at, 'announced', :channel, '' FROM deliveries d
WHERE d.team = :team AND d.agent = :agent AND d.message > :after AND d.message <= :upto AND d.state = 'unread'
  AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.team = d.team AND r.message = d.message AND r.agent = d.agent
                  AND r.stage IN ('handed-over', 'announced'));

-- name: counted_dead
-- Dead letters that nobody has settled.
SELECT count(*) AS times FROM dead_letters WHERE team = :team AND state = 'dead';

-- name: messages_told
-- Messages in the order of the log, for a look at what was not answered.
SELECT e.seq, m.n, m.id, m.created_at, m.asks, m.subject, m.type, m.sender, s.name AS sender_name FROM events e
LEFT JOIN messages m ON m.team = e.team AND m.id = e.ref AND e.type = 'message'
LEFT JOIN agents s ON s.team = m.team AND s.id = m.sender
WHERE e.team = :team AND e.seq > :after ORDER BY e.seq LIMIT :limit;

-- name: open_deliveries
-- Who has not dealt with a message.
SELECT d.agent, d.state, a.name FROM deliveries d JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team AND d.message = :message AND d.state IN ('unread', 'read', 'expired') AND d.answered_at IS NULL
ORDER BY a.id LIMIT 20;

-- name: counter
-- A number that is kept.
SELECT value FROM counters WHERE team = :team AND name = :name;

-- name: set_counter
-- Put forward, never back.
INSERT INTO counters (team, name, value) VALUES (:team, :name, :value)
ON CONFLICT (team, name) DO UPDATE SET value = excluded.value WHERE excluded.value > counters.value;

-- name: long_tried
-- Mail up to here was tried for the first time that long ago.
SELECT upto_n FROM attempts WHERE team = :team AND agent = :agent AND made_at <= :before AND made_at >= :since AND upto_n > :after
ORDER BY n DESC LIMIT 1;

-- name: is_dead
-- Was this given up before?
SELECT 1 AS found FROM dead_letters WHERE team = :team AND agent = :agent AND message = :message;

-- name: store_teams_with
-- Teams whose row has this flag.
SELECT name FROM teams WHERE flags & :flag <> 0 ORDER BY id;
