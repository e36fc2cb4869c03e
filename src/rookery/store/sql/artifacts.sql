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
WHERE r.team = :team AND (r.kind = :kind OR :kind = '' AND r.kind <> 'run') ORDER BY r.n DESC LIMIT :limit;

-- name: artifacts_of_task
-- The same for one task.
SELECT r.id, r.name, r.kind, r.task, r.file, r.bytes, r.digest, r.at, a.name AS agent_name
FROM artifacts r JOIN agents a ON a.team = r.team AND a.id = r.agent
WHERE r.team = :team AND r.task = :task AND (r.kind = :kind OR :kind = '' AND r.kind <> 'run') ORDER BY r.n DESC LIMIT :limit;

-- name: artifact_of_file
-- Does anything refer to this file?
SELECT id FROM artifacts WHERE team = :team AND file = :file;

-- name: old_runs
-- What was kept of runs, and is past its time.
SELECT n, file FROM artifacts WHERE team = :team AND kind = 'run' AND created_at < :before
ORDER BY created_at LIMIT :limit;

-- name: remove_artifact
-- A row whose file goes after the commit.
DELETE FROM artifacts WHERE team = :team AND n = :n;

-- name: run_recorded
-- Fence: a run is recorded once. With what it used.
UPDATE runs SET record = :record, model = CASE WHEN :model = '' THEN model ELSE :model END,
  input = max(input, :input), output = max(output, :output)
WHERE team = :team AND id = :id AND worker = :worker AND record = '';
