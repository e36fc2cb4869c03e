-- Shared outputs: rows that name files.

-- name: new_artifact
-- A file that is on the disk already.
INSERT INTO artifacts (team, n, id, name, kind, task, agent, file, bytes, digest, created_at, at)
VALUES (:team, :n, :id, :name, :kind, :task, :agent, :file, :bytes, :digest, :now, :at);

-- name: artifact
-- One of them.
SELECT r.id, r.name, r.kind, r.task, r.file, r.bytes, r.digest, r.at, a.name AS agent_name
FROM artifacts r JOIN agents a ON a.team = r.team AND a.id = r.agent WHERE r.team = :team AND r.id = :id;

-- name: runs_kept
-- What was kept of runs, newest first.
SELECT r.id, r.name, r.kind, r.task, r.file, r.bytes, r.digest, r.at, a.name AS agent_name
FROM artifacts r JOIN agents a ON a.team = r.team AND a.id = r.agent
WHERE r.team = :team AND r.kind = 'run' ORDER BY r.n DESC LIMIT :limit;

-- name: runs_kept_of_task
-- The same for one task.
SELECT r.id, r.name, r.kind, r.task, r.file, r.bytes, r.digest, r.at, a.name AS agent_name
FROM artifacts r JOIN agents a ON a.team = r.team AND a.id = r.agent
WHERE r.team = :team AND r.task = :task AND r.kind = 'run' ORDER BY r.n DESC LIMIT :limit;

-- name: named_file
-- Does anything refer to this file?
SELECT 1 AS named FROM artifacts WHERE team = :team AND file = :file
UNION ALL SELECT 1 FROM evidence WHERE team = :team AND file = :file AND file <> ''
UNION ALL SELECT 1 FROM deliverables WHERE team = :team AND file = :file AND file <> ''
UNION ALL SELECT 1 FROM bundles WHERE team = :team AND file = :file AND file <> ''
UNION ALL SELECT 1 FROM bundles WHERE team = :team AND sidecar = :file AND sidecar <> '' LIMIT 1;

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
