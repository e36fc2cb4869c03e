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
