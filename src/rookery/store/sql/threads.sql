-- Discussions: who takes part, and which tasks they are about.

-- name: new_thread
-- A discussion under the team's next number.
INSERT INTO threads (team, n, id, title, created_by, created_at, at) VALUES (:team, :n, :id, :title, :created_by, :now, :at);

-- name: discussion
-- One discussion.
SELECT t.id, t.title, t.at, t.task, coalesce(t.updated, t.at) AS updated, a.name AS creator_name FROM threads t JOIN agents a ON a.team = t.team AND a.id = t.created_by
WHERE t.team = :team AND t.id = :id;

-- name: discussions
-- All of them or those about a task, newest first.
SELECT t.id, t.title, t.at, a.name AS creator_name FROM threads t JOIN agents a ON a.team = t.team AND a.id = t.created_by
WHERE t.team = :team AND (:task = '' OR EXISTS (
  SELECT 1 FROM thread_tasks l WHERE l.team = t.team AND l.thread = t.id AND l.task = :task))
ORDER BY t.n DESC LIMIT :limit;

-- name: add_thread_member
-- Whoever speaks or is spoken to takes part.
INSERT INTO thread_members (team, thread, agent, n)
SELECT :team, :thread, :agent, coalesce(max(n), 0) + 1 FROM thread_members WHERE team = :team AND thread = :thread
ON CONFLICT (team, thread, agent) DO NOTHING;

-- name: thread_members
-- Who takes part.
SELECT a.id, a.name FROM thread_members m JOIN agents a ON a.team = m.team AND a.id = m.agent
WHERE m.team = :team AND m.thread = :thread ORDER BY m.n, a.id;

-- name: link_thread
-- What it is about; once is enough.
INSERT INTO thread_tasks (team, thread, task) VALUES (:team, :thread, :task) ON CONFLICT (team, thread, task) DO NOTHING;

-- name: touch_thread
-- Something was said or linked: when, and which task was linked last.
UPDATE threads SET updated = :at, task = coalesce(:task, task) WHERE team = :team AND id = :thread;

-- name: threads_about
-- Discussions whose title, task or participant contains a text in lower case, oldest first; an empty text finds all.
SELECT t.id FROM threads t WHERE t.team = :team AND (
  instr(lower(t.title), :part) > 0
  OR EXISTS (SELECT 1 FROM thread_tasks l WHERE l.team = t.team AND l.thread = t.id AND instr(lower(l.task), :part) > 0)
  OR EXISTS (SELECT 1 FROM thread_members m JOIN agents a ON a.team = m.team AND a.id = m.agent
             WHERE m.team = t.team AND m.thread = t.id AND instr(lower(a.name), :part) > 0))
ORDER BY t.n LIMIT :limit;

-- name: thread_tasks
-- The tasks it is about.
SELECT task FROM thread_tasks WHERE team = :team AND thread = :thread ORDER BY task;

-- name: recipient_names
-- Who got a message.
SELECT a.name FROM deliveries d JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team AND d.message = :message ORDER BY d.agent;

-- name: concerned
-- Whom a task concerns, and how it stands.
SELECT a.name, t.status FROM tasks t
JOIN agents a ON a.team = t.team AND a.id IN (t.created_by, t.holder, t.assignee, t.author)
WHERE t.team = :team AND t.id = :id ORDER BY a.id;

-- name: notices_after
-- The log after a cursor; of a message whether this agent got it, and then what it says.
SELECT e.seq, e.at, e.type, e.actor, e.target, e.ref, e.preview, e.data, d.agent AS got,
       CASE WHEN d.agent IS NOT NULL THEN m.thread END AS thread,
       CASE WHEN d.agent IS NOT NULL THEN substr(m.body, 1, 500) END AS body,
       CASE WHEN d.agent IS NOT NULL AND m.thread LIKE 'thread-%' THEN m.body END AS content
FROM events e LEFT JOIN messages m ON e.type = 'message' AND m.team = e.team AND m.id = e.ref
LEFT JOIN deliveries d ON d.team = e.team AND d.agent = :agent AND d.message = m.n
WHERE e.team = :team AND e.seq > :cursor ORDER BY e.seq LIMIT :limit;

-- name: inbox_from
-- The event after which an agent gets the task events of the whole team; null if it has never polled.
SELECT inbox_from AS seq FROM agents WHERE team = :team AND id = :agent;

-- name: open_inbox
-- From here on it gets the task events of the whole team. Once: an earlier number stays.
UPDATE agents SET inbox_from = :seq WHERE team = :team AND id = :agent AND inbox_from IS NULL;

-- name: store_teams
-- Every team of the store; those that only ever were asked about are not there.
SELECT name, seq, tokens, cost FROM teams ORDER BY name LIMIT 10000;
