-- Bundles of evidence, and what of them and of workers' results stands in agents' contexts.

-- name: bundle_result_latest
-- The newest result of a worker.
SELECT d.*, a.name AS agent_name FROM deliverables d JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team AND d.worker = :worker ORDER BY d.version DESC LIMIT 1;

-- name: bundle_result
-- One of them.
SELECT d.*, a.name AS agent_name FROM deliverables d JOIN agents a ON a.team = d.team AND a.id = d.agent
WHERE d.team = :team AND d.worker = :worker AND d.version = :version;

-- name: new_bundle
-- Saved: what is in it does not change.
INSERT INTO bundles (team, n, id, title, header, items, entries, worker, task, made_by, file, sidecar, digest,
  summarizer, created_at, at)
VALUES (:team, :n, :id, :title, :header, :items, :entries, :worker, :task, :made_by, :file, :sidecar, :digest,
  :summarizer, :now, :at);

-- name: bundle
-- One of them, with who made it and who took it.
SELECT b.*, a.name AS maker, c.name AS consumer FROM bundles b
JOIN agents a ON a.team = b.team AND a.id = b.made_by
LEFT JOIN agents c ON c.team = b.team AND c.id = b.consumed_by
WHERE b.team = :team AND b.id = :id;

-- name: bundles_listed
-- Newest first; those that were consumed only for whoever asks for all.
SELECT b.*, a.name AS maker, c.name AS consumer FROM bundles b
JOIN agents a ON a.team = b.team AND a.id = b.made_by
LEFT JOIN agents c ON c.team = b.team AND c.id = b.consumed_by
WHERE b.team = :team AND (b.state = 'saved' OR :every = 1 AND b.state = 'consumed') ORDER BY b.n DESC LIMIT :limit;

-- name: bundle_of_summarizer
-- The bundle that a worker was asked to sum up.
SELECT id FROM bundles WHERE team = :team AND summarizer = :worker AND summarizer <> '' AND state <> 'deleted';

-- name: sum_up_bundle
-- What an agent says of it, once.
UPDATE bundles SET summary = :summary, digest = :digest WHERE team = :team AND id = :id AND summary = '';

-- name: consume_bundle
-- Fence: once, while it is there.
UPDATE bundles SET state = 'consumed', consumed_by = :by, consumed_at = :now
WHERE team = :team AND id = :id AND state = 'saved';

-- name: delete_bundle
-- Its items are named no more; the row stays until it is swept, so that it can be told what became of it.
UPDATE bundles SET state = 'deleted', items = '[]', entries = '[]', consumed_by = :by, consumed_at = :now
WHERE team = :team AND id = :id AND state <> 'deleted';

-- name: bundles_past
-- Consumed or deleted so long ago that they go.
SELECT n, id, file, sidecar, state FROM bundles
WHERE team = :team AND state <> 'saved' AND consumed_at < :before ORDER BY n LIMIT :limit;

-- name: remove_bundle
-- A row whose files go after the commit.
DELETE FROM bundles WHERE team = :team AND n = :n;

-- name: load_chip
-- A line in an agent's context.
INSERT INTO loaded (team, agent, source, chip, ref, mode, line, consume, created_at, at)
VALUES (:team, :agent, :source, :chip, :ref, :mode, :line, :consume, :now, :at);

-- name: unload_source
-- Out of one agent's context.
DELETE FROM loaded WHERE team = :team AND agent = :agent AND source = :source;

-- name: unload_everywhere
-- Out of everyone's.
DELETE FROM loaded WHERE team = :team AND source = :source;

-- name: loaded_of
-- All that stands in an agent's context.
SELECT source, chip, ref, mode, line, consume, told, used_at, at FROM loaded
WHERE team = :team AND agent = :agent ORDER BY source, chip LIMIT :limit;

-- name: loaded_untold
-- What was not put before it yet.
SELECT source, chip, ref, mode, line, consume, told, used_at, at FROM loaded
WHERE team = :team AND agent = :agent AND told = 0 ORDER BY source, chip LIMIT :limit;

-- name: loaded_chip
-- One of its references.
SELECT source, chip, ref, mode, line, consume, told, used_at, at FROM loaded
WHERE team = :team AND agent = :agent AND source = :source AND chip = :chip;

-- name: forget_told
-- A session begins that has seen none of it.
UPDATE loaded SET told = 0 WHERE team = :team AND agent = :agent AND told = 1;

-- name: told_chip
-- Its line was put before the agent.
UPDATE loaded SET told = 1 WHERE team = :team AND agent = :agent AND source = :source AND chip = :chip;

-- name: use_chip
-- It was shown whole: from now on it is a line again.
UPDATE loaded SET told = 1, mode = 'reference', used_at = coalesce(used_at, :now)
WHERE team = :team AND agent = :agent AND source = :source AND chip = :chip;
