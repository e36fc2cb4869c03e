-- What only SQLite says this way. PostgreSQL has the same names in its own file.

-- name: search_messages
-- Full text with ranking: the subject counts five times, tags three times.
SELECT m.n, bm25(messages_fts, 0.0, 5.0, 1.0, 3.0) AS rank FROM messages_fts
JOIN messages m ON m.n = messages_fts.rowid
WHERE messages_fts MATCH :match AND m.team = :team
  AND (:agent = 0 OR m.sender = :agent OR EXISTS (
       SELECT 1 FROM deliveries d WHERE d.team = m.team AND d.agent = :agent AND d.message = m.n))
ORDER BY rank, m.n DESC LIMIT :limit;

-- name: search_threads
-- Full text in discussions, their titles among it.
SELECT m.n, bm25(messages_fts, 0.0, 5.0, 1.0, 3.0) AS rank FROM messages_fts
JOIN messages m ON m.n = messages_fts.rowid JOIN threads t ON t.team = m.team AND t.id = m.thread
WHERE messages_fts MATCH :match AND m.team = :team
ORDER BY rank, m.n DESC LIMIT :limit;

-- name: search_evidence
-- Full text: the newest that match, ranked by their words and by what they are.
SELECT n, rank FROM (
  SELECT e.n, bm25(evidence_fts, 0.0, 4.0, 1.0) * coalesce(json_extract(:weights, '$.' || e.kind), 1.0)
    * CASE WHEN e.failed = 1 THEN :failed_weight ELSE 1.0 END
    * CASE WHEN e.pinned = 1 THEN :pinned_weight ELSE 1.0 END AS rank
  FROM evidence_fts CROSS JOIN evidence e ON e.n = evidence_fts.rowid
  WHERE evidence_fts MATCH :match AND e.team = :team AND e.at >= :since AND (:kind = '' OR e.kind = :kind)
    AND (:worker = '' OR e.worker = :worker) AND (:task = '' OR e.task = :task) AND (:failed = 0 OR e.failed = 1)
  ORDER BY evidence_fts.rowid DESC LIMIT :looked)
ORDER BY rank, n DESC LIMIT :limit;

-- name: search_tasks
-- Full text in tasks, with what came of them.
SELECT t.id, t.title, t.status, t.description, t.result, t.why, t.at, bm25(tasks_fts, 0.0, 4.0, 1.0) AS rank
FROM tasks_fts CROSS JOIN tasks t ON t.team = :team AND t.n = tasks_fts.rowid & 4294967295
WHERE tasks_fts MATCH :match AND t.at >= :since ORDER BY rank, t.n DESC LIMIT :limit;

-- name: search_decisions
-- Full text in the log of decisions.
SELECT d.*, a.name AS actor_name, bm25(decisions_fts, 0.0, 4.0, 1.0) AS rank
FROM decisions_fts CROSS JOIN decisions d ON d.team = :team AND d.n = decisions_fts.rowid & 4294967295
JOIN agents a ON a.team = d.team AND a.id = d.actor
WHERE decisions_fts MATCH :match AND d.at >= :since AND (:worker = '' OR d.worker = :worker)
  AND (:task = '' OR d.task = :task) ORDER BY rank, d.n DESC LIMIT :limit;
