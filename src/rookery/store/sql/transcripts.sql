-- What agent programs write down of their sessions, and how far it was read.

-- name: open_transcript
-- A session speaks of where it is written down; one that goes on is read on from where that was.
INSERT INTO transcripts (team, path, host, host_id, session, at) VALUES (:team, :path, :host, :host_id, :session, :at)
ON CONFLICT (team, path) DO UPDATE SET host = excluded.host, host_id = excluded.host_id, session = excluded.session,
  closed = 0, at = excluded.at;

-- name: store_teams_with_transcripts
-- Teams in which one may hold more than was read.
SELECT t.name FROM teams t WHERE EXISTS (SELECT 1 FROM transcripts r WHERE r.team = t.id AND r.closed = 0)
ORDER BY t.id;

-- name: open_transcripts
-- Those of this machine that may hold more, and whose they are.
SELECT r.path, r.host, r.host_id, r.session, r.place, s.cwd, s.ended_at, a.name FROM transcripts r
JOIN sessions s ON s.team = r.team AND s.id = r.session JOIN agents a ON a.team = s.team AND a.id = s.agent
WHERE r.team = :team AND r.closed = 0 AND s.host = :machine ORDER BY r.session LIMIT :limit;

-- name: read_transcript
-- How far it was read. Fence: it is still of that session, so that one that goes on is not closed.
UPDATE transcripts SET place = :place, closed = :closed, at = :at
WHERE team = :team AND path = :path AND session = :session;

-- name: forget_transcripts
-- Those that were closed long ago.
DELETE FROM transcripts WHERE team = :team AND closed = 1 AND at < :before;

-- name: store_transcript_of_another
-- A record that another team has, or a session of another agent that is not over.
SELECT r.session FROM teams t JOIN transcripts r ON r.team = t.id AND r.path = :path
JOIN sessions s ON s.team = r.team AND s.id = r.session
WHERE r.team <> :team OR (s.agent <> :agent AND s.ended_at IS NULL) LIMIT 1;
