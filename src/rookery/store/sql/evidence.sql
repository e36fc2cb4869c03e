-- Evidence: what happened, and what was let go of.

-- name: new_evidence
-- Once for each ref: what is known already changes nothing.
INSERT INTO evidence (team, id, ref, kind, worker, agent, task, run, title, body, bytes, digest, file, data, failed, held,
  told, created_at, at)
VALUES (:team, :id, :ref, :kind, :worker, :agent, :task, :run, :title, :body, :bytes, :digest, :file, :data, :failed,
  :held, :told, :now, :at)
RETURNING n;

-- name: evidence_known
-- Was this recorded before?
SELECT n, id FROM evidence WHERE team = :team AND ref = :ref;

-- name: evidence_by_id
-- One piece, by its short id.
SELECT e.*, a.name AS agent_name, r.id AS shared, r.name, r.kind AS shared_kind, r.file AS shared_file
FROM evidence e JOIN agents a ON a.team = e.team AND a.id = e.agent
LEFT JOIN artifacts r ON e.kind = 'output' AND r.team = e.team AND r.id = e.ref
WHERE e.team = :team AND e.id = :id;

-- name: evidence_by_ref
-- One piece, by what it is of.
SELECT e.*, a.name AS agent_name, r.id AS shared, r.name, r.kind AS shared_kind, r.file AS shared_file
FROM evidence e JOIN agents a ON a.team = e.team AND a.id = e.agent
LEFT JOIN artifacts r ON e.kind = 'output' AND r.team = e.team AND r.id = e.ref
WHERE e.team = :team AND e.ref = :ref;

-- name: evidence_by_number
-- One piece, as a search found it.
SELECT e.*, a.name AS agent_name, r.id AS shared, r.name, r.kind AS shared_kind, r.file AS shared_file
FROM evidence e JOIN agents a ON a.team = e.team AND a.id = e.agent
LEFT JOIN artifacts r ON e.kind = 'output' AND r.team = e.team AND r.id = e.ref
WHERE e.team = :team AND e.n = :n;

-- name: evidence_listed
-- Newest first.
SELECT e.*, a.name AS agent_name, r.id AS shared, r.name, r.kind AS shared_kind, r.file AS shared_file
FROM evidence e INDEXED BY evidence_order JOIN agents a ON a.team = e.team AND a.id = e.agent
LEFT JOIN artifacts r ON e.kind = 'output' AND r.team = e.team AND r.id = e.ref
WHERE e.team = :team AND e.at >= :since AND (:form = '' OR r.kind = :form)
ORDER BY e.n DESC LIMIT :limit;

-- name: evidence_of_worker
-- The same of one worker.
SELECT e.*, a.name AS agent_name, r.id AS shared, r.name, r.kind AS shared_kind, r.file AS shared_file
FROM evidence e INDEXED BY evidence_worker JOIN agents a ON a.team = e.team AND a.id = e.agent
LEFT JOIN artifacts r ON e.kind = 'output' AND r.team = e.team AND r.id = e.ref
WHERE e.team = :team AND e.worker = :worker AND e.worker <> '' AND e.at >= :since
  AND (:task = '' OR e.task = :task) AND (:kind = '' OR e.kind = :kind) AND (:failed = 0 OR e.failed = 1)
  AND (:form = '' OR r.kind = :form)
ORDER BY e.n DESC LIMIT :limit;

-- name: evidence_of_task
-- The same of one task.
SELECT e.*, a.name AS agent_name, r.id AS shared, r.name, r.kind AS shared_kind, r.file AS shared_file
FROM evidence e INDEXED BY evidence_task JOIN agents a ON a.team = e.team AND a.id = e.agent
LEFT JOIN artifacts r ON e.kind = 'output' AND r.team = e.team AND r.id = e.ref
WHERE e.team = :team AND e.task = :task AND e.task <> '' AND e.at >= :since
  AND (:kind = '' OR e.kind = :kind) AND (:failed = 0 OR e.failed = 1) AND (:form = '' OR r.kind = :form)
ORDER BY e.n DESC LIMIT :limit;

-- name: evidence_that_failed
-- The same of what did not succeed.
SELECT e.*, a.name AS agent_name, r.id AS shared, r.name, r.kind AS shared_kind, r.file AS shared_file
FROM evidence e INDEXED BY evidence_failed JOIN agents a ON a.team = e.team AND a.id = e.agent
LEFT JOIN artifacts r ON e.kind = 'output' AND r.team = e.team AND r.id = e.ref
WHERE e.team = :team AND e.failed = 1 AND e.at >= :since AND (:kind = '' OR e.kind = :kind)
  AND (:form = '' OR r.kind = :form)
ORDER BY e.n DESC LIMIT :limit;

-- name: evidence_of_kind
-- The same of one kind.
SELECT e.*, a.name AS agent_name, r.id AS shared, r.name, r.kind AS shared_kind, r.file AS shared_file
FROM evidence e INDEXED BY evidence_kind JOIN agents a ON a.team = e.team AND a.id = e.agent
LEFT JOIN artifacts r ON e.kind = 'output' AND r.team = e.team AND r.id = e.ref
WHERE e.team = :team AND e.kind = :kind AND e.at >= :since AND (:form = '' OR r.kind = :form)
ORDER BY e.n DESC LIMIT :limit;

-- name: pin_evidence
-- Pinned or not; nothing changes when it was so.
UPDATE evidence SET pinned = :pinned WHERE team = :team AND n = :n AND pinned <> :pinned;

-- name: spare_evidence
-- How much there is of one bucket that may go, counted no further than it matters.
SELECT count(*) AS kept FROM (
  SELECT 1 FROM evidence INDEXED BY evidence_spare
  WHERE team = :team AND worker = :worker AND pinned = 0 AND held = 0 LIMIT :limit);

-- name: drop_oldest_evidence
-- Past the cap the oldest go, never the newest.
DELETE FROM evidence WHERE n IN (
  SELECT n FROM evidence INDEXED BY evidence_spare
  WHERE team = :team AND worker = :worker AND pinned = 0 AND held = 0 AND n < :newest ORDER BY n LIMIT :limit);

-- name: old_evidence
-- What is past its time.
SELECT n, worker FROM evidence INDEXED BY evidence_age
WHERE team = :team AND pinned = 0 AND held = 0 AND created_at < :before ORDER BY created_at LIMIT :limit;

-- name: remove_evidence
-- One piece goes.
DELETE FROM evidence WHERE team = :team AND n = :n;

-- name: count_dropped
-- How much was let go of is said (H31).
INSERT INTO evidence_kept (team, worker, dropped) VALUES (:team, :worker, :dropped)
ON CONFLICT (team, worker) DO UPDATE SET dropped = evidence_kept.dropped + :dropped;

-- name: evidence_dropped
-- How much of one bucket was let go of.
SELECT dropped FROM evidence_kept WHERE team = :team AND worker = :worker;

-- name: evidence_dropped_of_all
-- The same of the whole team.
SELECT coalesce(sum(dropped), 0) AS dropped FROM evidence_kept WHERE team = :team;
