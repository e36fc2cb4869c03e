-- Messages and deliveries.

-- name: insert_message
-- The message, once, however many get it; no row when the id is taken.
INSERT INTO messages (team, id, seq, thread, reply_to, sender, recipients, type, label, priority, asks, grp, address,
                      created_at, at, expires_at, subject, tags, attachments, payload, context, body)
VALUES (:team, :id, :seq, :thread, :reply_to, :sender, :recipients, :type, :label, :priority, :asks, :grp, :address,
        :now, :at, :expires_at, :subject, :tags, :attachments, :payload, :context, :body)
ON CONFLICT (team, id) DO NOTHING
RETURNING n;

-- name: insert_delivery
-- One mailbox gets it; whether the two ever met is noted for the sender's introduction.
INSERT INTO deliveries (team, agent, message, state, priority, sender, expires_at, first_contact)
SELECT :team, :agent, :message, 'unread', :priority, :sender, :expires_at, NOT EXISTS (
  SELECT 1 FROM deliveries WHERE team = :team AND agent = :agent AND sender = :sender)
RETURNING first_contact;

-- name: restore_message
-- An imported message keeps its age.
INSERT INTO messages (team, id, seq, thread, reply_to, sender, recipients, type, label, priority, asks, grp, address,
                      created_at, at, expires_at, subject, tags, attachments, payload, context, body)
VALUES (:team, :id, :seq, :thread, :reply_to, :sender, 1, :type, :label, :priority, :asks, :grp, :address,
        :created_at, :at, :expires_at, :subject, :tags, :attachments, :payload, :context, :body)
RETURNING n;

-- name: restore_delivery
-- An imported delivery keeps the state it had.
INSERT INTO deliveries (team, agent, message, state, priority, sender, expires_at, read_at, done_at, archived_at)
VALUES (:team, :agent, :message, :state, :priority, :sender, :expires_at, :read_at, :done_at, :archived_at);

-- name: message_exists
-- Is this id taken?
SELECT 1 AS found FROM messages WHERE team = :team AND id = :id;

-- name: message_by_id
-- The whole message.
SELECT m.*, a.name AS sender_name FROM messages m JOIN agents a ON a.team = m.team AND a.id = m.sender
WHERE m.team = :team AND m.id = :id;

-- name: delivery
-- One message in one mailbox.
SELECT * FROM deliveries WHERE team = :team AND agent = :agent AND message = :message;

-- name: deliveries_of
-- Who got a message and how it stands there.
SELECT d.*, a.name FROM deliveries d JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team AND d.message = :message ORDER BY d.agent;

-- name: inbox_unread
-- What waits, most urgent first, then oldest.
SELECT d.agent, d.state, d.first_contact, d.read_at, d.done_at, d.answered_at, d.message AS n, d.priority
FROM deliveries d
WHERE d.team = :team AND d.agent = :agent AND d.state = 'unread'
  AND (d.expires_at IS NULL OR d.expires_at > :now)
ORDER BY d.priority DESC, d.message LIMIT :limit;

-- name: inbox_filtered
-- The mailbox through filters; the states are taken one by one so that each comes in index order. A page begins after
-- the last message of the one before: what comes or goes meanwhile neither hides nor repeats another.
SELECT d.agent, d.state, d.first_contact, d.read_at, d.done_at, d.answered_at, d.message AS n, d.priority
FROM deliveries d JOIN messages m ON m.n = d.message
WHERE d.team = :team AND d.agent = :agent AND d.state = :state
  AND d.priority <= :page_priority AND (d.priority < :page_priority OR d.message > :page_message)
  AND (:expired = 1 OR d.expires_at IS NULL OR d.expires_at > :now OR d.state NOT IN ('unread', 'read'))
  AND d.priority >= :min_priority
  AND (:types = '' OR :types LIKE '%,' || m.type || ',%')
  AND (:sender = 0 OR d.sender = :sender)
  AND (:tag = '' OR m.tags LIKE :tag_like ESCAPE '\')
  AND m.at >= :since AND m.seq > :after
ORDER BY d.priority DESC, d.message LIMIT :limit;

-- name: message_card
-- A message as lists show it; the body no longer than asked for.
SELECT m.n, m.id, m.seq, m.thread, m.reply_to, m.type, m.label, m.priority, m.asks, m.grp, m.address, m.created_at, m.at,
       m.expires_at, m.subject, m.tags, m.attachments, m.payload, m.context, m.recipients, m.sender,
       a.name AS sender_name, substr(m.body, 1, :chars) AS body, length(m.body) AS body_length
FROM messages m JOIN agents a ON a.team = m.team AND a.id = m.sender
WHERE m.n = :n;

-- name: delivery_read
-- Fence of `read`.
UPDATE deliveries SET state = 'read', read_at = :now
WHERE team = :team AND agent = :agent AND message = :message
  AND state = 'unread' AND (expires_at IS NULL OR expires_at > :now);

-- name: delivery_process
-- Fence of `process`.
UPDATE deliveries SET state = 'processing', read_at = coalesce(read_at, :now), reason = ''
WHERE team = :team AND agent = :agent AND message = :message
  AND (state = 'failed' OR (state IN ('unread', 'read') AND (expires_at IS NULL OR expires_at > :now)));

-- name: delivery_complete
-- Fence of `complete`.
UPDATE deliveries SET state = 'completed', read_at = coalesce(read_at, :now), done_at = :now, reason = :reason
WHERE team = :team AND agent = :agent AND message = :message
  AND (state IN ('processing', 'failed')
       OR (state IN ('unread', 'read') AND (expires_at IS NULL OR expires_at > :now)));

-- name: delivery_fail
-- Fence of `fail`.
UPDATE deliveries SET state = 'failed', read_at = coalesce(read_at, :now), reason = :reason
WHERE team = :team AND agent = :agent AND message = :message
  AND (state = 'processing' OR (state IN ('unread', 'read') AND (expires_at IS NULL OR expires_at > :now)));

-- name: delivery_archive
-- Fence of `archive`.
UPDATE deliveries SET state = 'archived', archived_at = :now
WHERE team = :team AND agent = :agent AND message = :message
  AND (state IN ('read', 'completed', 'failed', 'expired')
       OR (state = 'unread' AND expires_at IS NOT NULL AND expires_at <= :now));

-- name: delivery_answered
-- A reply is an answer: whoever asked need wait no longer.
UPDATE deliveries SET answered_at = :now
WHERE team = :team AND agent = :agent AND message = :message AND answered_at IS NULL;

-- name: completed_deliveries
-- What `archive --completed` puts away.
SELECT message AS n FROM deliveries WHERE team = :team AND agent = :agent AND state = 'completed' LIMIT :limit;

-- name: add_receipt
-- What happened to a delivery.
INSERT INTO receipts (team, message, agent, seq, at, stage, channel, detail)
VALUES (:team, :message, :agent, :seq, :at, :stage, :channel, :detail);

-- name: receipts_of_delivery
-- When, by the wall clock, one delivery took its steps; those of an import all came with one event.
SELECT stage, at FROM receipts WHERE team = :team AND message = :message AND agent = :agent ORDER BY seq, at;

-- name: receipts_of
-- The history of a message in every mailbox.
SELECT r.agent, r.seq, r.at, r.stage, r.channel, r.detail FROM receipts r
WHERE r.team = :team AND r.message = :message ORDER BY r.agent, r.seq, CASE r.stage WHEN 'seen' THEN 0 ELSE 1 END;

-- name: thread_messages
-- A conversation, newest first (the reader turns it around).
SELECT n FROM messages WHERE team = :team AND thread = :thread ORDER BY seq DESC LIMIT :limit;

-- name: thread_people
-- Who takes part in a conversation.
SELECT a.name FROM agents a WHERE a.team = :team AND (
  a.id IN (SELECT sender FROM messages WHERE team = :team AND thread = :thread)
  OR a.id IN (SELECT d.agent FROM deliveries d JOIN messages m ON m.n = d.message
              WHERE d.team = :team AND m.team = :team AND m.thread = :thread))
ORDER BY a.id;

-- name: pending_counts
-- Unread mail by priority.
SELECT priority, count(*) AS waiting FROM deliveries
WHERE team = :team AND agent = :agent AND state = 'unread' AND (expires_at IS NULL OR expires_at > :now)
GROUP BY priority;

-- name: unacknowledged
-- What was handed to an agent and is still open: a new session of it takes this over.
SELECT count(*) AS waiting FROM deliveries WHERE team = :team AND agent = :agent
  AND (state = 'processing' OR (state IN ('unread', 'read') AND (expires_at IS NULL OR expires_at > :now)));

-- name: unread_by_sender
-- From whom unread mail waits.
SELECT a.name, count(*) AS waiting FROM deliveries d JOIN agents a ON a.team = d.team AND a.id = d.sender
WHERE d.team = :team AND d.agent = :agent AND d.state = 'unread' AND (d.expires_at IS NULL OR d.expires_at > :now)
GROUP BY a.name ORDER BY waiting DESC, a.name;

-- name: exchange
-- The latest messages from one agent to another.
SELECT message AS n FROM deliveries
WHERE team = :team AND agent = :agent AND sender = :sender ORDER BY message DESC LIMIT :limit;

-- name: new_escalation
-- A problem put before the leader or the person.
INSERT INTO escalations (team, id, title, reason, level, priority, raised_by, raised_at, at, message)
VALUES (:team, :id, :title, :reason, :level, :priority, :raised_by, :now, :at, :message);

-- name: close_escalation
-- Fence: an answer closes it once.
UPDATE escalations SET state = 'closed', answer = :answer WHERE team = :team AND message = :message AND state = 'open';

-- name: escalation_of
-- The escalation a message carries.
SELECT id, state FROM escalations WHERE team = :team AND message = :message;

-- name: escalation
-- One escalation by its id.
SELECT id, state, title, message FROM escalations WHERE team = :team AND id = :id;

-- name: escalations
-- Open ones first, newest first.
SELECT e.*, a.name AS raised_by_name FROM escalations e JOIN agents a ON a.team = e.team AND a.id = e.raised_by
WHERE e.team = :team AND (:state = '' OR e.state = :state) ORDER BY e.state DESC, e.id DESC LIMIT :limit;

-- name: overdue
-- Deliveries past their time that no sweep has written down.
SELECT d.agent, d.message AS n, a.name, m.id FROM deliveries d
JOIN agents a ON a.team = d.team AND a.id = d.agent JOIN messages m ON m.n = d.message
WHERE d.team = :team AND d.expires_at IS NOT NULL AND d.state IN ('unread', 'read') AND d.expires_at <= :now
LIMIT :limit;

-- name: expire_delivery
-- Fence of expiry.
UPDATE deliveries SET state = 'expired' WHERE team = :team AND agent = :agent AND message = :message
  AND state IN ('unread', 'read') AND expires_at <= :now;

-- name: removable_messages
-- Archived everywhere for long, answered by nothing that stays, and no escalation speaks of it.
SELECT DISTINCT d.message AS n, m.id FROM deliveries d JOIN messages m ON m.n = d.message
WHERE d.team = :team AND d.archived_at IS NOT NULL AND d.archived_at < :before
  AND NOT EXISTS (SELECT 1 FROM deliveries o WHERE o.team = d.team AND o.message = d.message
                  AND (o.archived_at IS NULL OR o.archived_at >= :before))
  AND NOT EXISTS (SELECT 1 FROM messages r WHERE r.team = m.team AND r.thread = m.thread AND r.n <> m.n AND EXISTS (
                  SELECT 1 FROM deliveries o WHERE o.team = r.team AND o.message = r.n
                  AND (o.archived_at IS NULL OR o.archived_at >= :before)))
  AND NOT EXISTS (SELECT 1 FROM escalations e WHERE e.team = m.team AND e.message = m.id AND e.state = 'open')
LIMIT :limit;

-- name: remove_deliveries
-- A message goes with its deliveries ...
DELETE FROM deliveries WHERE team = :team AND message = :n;

-- name: remove_receipts
-- ... its receipts ...
DELETE FROM receipts WHERE team = :team AND message = :n;

-- name: remove_message
-- ... and its text and search index.
DELETE FROM messages WHERE n = :n AND team = :team;

-- name: count_mail
-- How much mail there is, by state; what lapsed counts as expired, written down or not.
SELECT CASE WHEN state IN ('unread', 'read') AND expires_at <= :now THEN 'expired' ELSE state END AS state,
       count(*) AS times
FROM deliveries WHERE team = :team GROUP BY 1;

-- name: count_types
-- How much mail there is, by type.
SELECT type, count(*) AS times FROM messages WHERE team = :team GROUP BY type;

-- name: busiest_senders
-- Who writes most.
SELECT a.name, count(*) AS times FROM messages m JOIN agents a ON a.team = m.team AND a.id = m.sender
WHERE m.team = :team GROUP BY a.name ORDER BY times DESC, a.name LIMIT 10;

-- name: oldest_waiting
-- The unread message that has waited longest.
SELECT m.id, m.created_at, a.name FROM deliveries d JOIN messages m ON m.n = d.message
JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team AND d.state = 'unread' AND (d.expires_at IS NULL OR d.expires_at > :now)
ORDER BY m.n LIMIT 1;

-- name: all_deliveries
-- Every delivery in order, for the export; resumed after the last one seen.
SELECT d.*, a.name AS recipient FROM deliveries d JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team AND (d.message > :after_message OR (d.message = :after_message AND d.agent > :after_agent))
ORDER BY d.message, d.agent LIMIT :limit;

-- name: thread_deliveries
-- The same for one conversation, by its messages' event numbers.
SELECT d.*, m.seq, a.name AS recipient FROM messages m
JOIN deliveries d ON d.team = m.team AND d.message = m.n JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE m.team = :team AND m.thread = :thread AND m.seq >= :after_message
  AND (m.seq > :after_message OR d.agent > :after_agent)
ORDER BY m.seq, d.agent LIMIT :limit;

-- name: one_delivery
-- The delivery of a message that only one got, or, of several, the one of that agent.
SELECT d.*, a.name AS recipient FROM deliveries d JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team AND (:agent = 0 OR d.agent = :agent) AND d.message = (
  SELECT n FROM messages WHERE team = :team AND id = :id AND (recipients = 1) = (:agent = 0));
