-- Shared outputs: rows that name files.

-- name: new_artifact
-- A file that is on the disk already.
INSERT INTO artifacts (team, n, id, name, kind, task, agent, file, bytes, digest, created_at, at)
VALUES (:team, :n, :id, :name, :kind, :task, :agent, :file, :bytes, :digest, :now, :at);

-- name: artifact
-- One of them.
SELECT r.id, r.name, r.kind, r.task, r.file, r.bytes, r.digest, r.at, a.name AS agent_name
FROM artifacts r JOIN agents a ON a.team = r.team AND a.id = r.agent WHERE r.team = :team AND r.id = :id;

-- name: artifacts
-- Newest first.
SELECT r.id, r.name, r.kind, r.task, r.file, r.bytes, r.digest, r.at, a.name AS agent_name
FROM artifacts r JOIN agents a ON a.team = r.team AND a.id = r.agent
WHERE r.team = :team AND (:kind = '' OR r.kind = :kind) ORDER BY r.n DESC LIMIT :limit;

-- name: artifacts_of_task
-- The same for one task.
SELECT r.id, r.name, r.kind, r.task, r.file, r.bytes, r.digest, r.at, a.name AS agent_name
FROM artifacts r JOIN agents a ON a.team = r.team AND a.id = r.agent
WHERE r.team = :team AND r.task = :task AND (:kind = '' OR r.kind = :kind) ORDER BY r.n DESC LIMIT :limit;

-- name: artifact_of_file
-- Does anything refer to this file?
SELECT id FROM artifacts WHERE team = :team AND file = :file;
